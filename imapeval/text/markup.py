"""Text without its layout: Markdown, HTML and what nobody sees go, and every character knows where it came from."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
)
"""Characters that are not seen: they can neither divide a word nor hide one."""

_BLOCKS = "p|br|li|ul|ol|div|h[1-6]|tr|table|thead|tbody|hr|blockquote|pre|section|article|dl|dt|dd"
_INLINE = "b|i|u|s|a|em|strong|span|mark|small|sub|sup|code|font|td|th|img|abbr|cite|del|ins|q|kbd|samp|var"
# Attributes are limited, so that a "<" without an end is not searched for far.
_TAG = re.compile(rf"<!--.{{0,2000}}?-->|</?(?:(?P<block>{_BLOCKS})|{_INLINE})(?:\s[^<>]{{0,500}})?/?>", re.I | re.S)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_MARKDOWN = re.compile(
    r"!?\[(?P<label>[^\[\]\n]{1,200})\]\([^()\s]{1,500}\)"  # links and images
    r"|\*{2,3}|_{2,3}|~~|`{1,3}"
    r"|(?<![\w*])\*(?=[^\s*\d])|(?<=[^\s*])\*(?![\w*])|(?<!\w)_(?=[^\s_])|(?<=[^\s_])_(?!\w)"
    r"|^[ \t]*#{1,6}[ \t]+|^[ \t]*>[ \t]?|^[ \t]*(?:[-*_][ \t]*){3,}$",
    re.MULTILINE,
)


class EditedText:
    """A text with some stretches replaced, which knows where the rest comes from.

    Args:
        text: The original.
        edits: What is replaced: (start, end, what stands there instead), in order, without overlap.

    Attributes:
        text: The text after the edits.
    """

    def __init__(self, text: str, edits: Iterable[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        # Where each part begins, here and in the original, and whether it is the original's or a replacement.
        self._starts: list[int] = []
        self._origins: list[tuple[int, bool]] = []
        length = done = 0
        for start, end, by in (*edits, (len(text), len(text), "")):
            for part, origin, kept in ((text[done:start], done, True), (by, start, False)):
                if part:
                    parts.append(part)
                    self._starts.append(length)
                    self._origins.append((origin, kept))
                    length += len(part)
            done = end
        self.text = "".join(parts)

    def origin(self, place: int) -> int:
        """Return where a character stands in the original; of a replacement, where what it replaces begins."""
        part = bisect_right(self._starts, place) - 1
        origin, kept = self._origins[part]
        return origin + (place - self._starts[part]) * kept


class PlainText:
    """A text without its layout.

    Markdown emphasis, headings, links and rules, HTML tags and entities, and invisible characters go; a text all in
    capitals is written small. What is left says the same to a reader.

    Args:
        text: The original.

    Attributes:
        text: What is left.

    >>> PlainText("**Rest** the <b>left</b> knee &amp; ankle").text
    'Rest the left knee & ankle'
    """

    def __init__(self, text: str) -> None:
        self._layers = [EditedText(text, ((found.start(), found.end(), "") for found in INVISIBLE.finditer(text)))]
        for find in (_find_html, _find_markdown):
            self._layers.append(EditedText(self._layers[-1].text, find(self._layers[-1].text)))
        plain = self._layers[-1].text
        # Letter by letter, because of a few letters the small form has two characters.
        self.text = "".join(c.lower() if len(c.lower()) == 1 else c for c in plain) if _shouts(plain) else plain

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the plain text, not empty, stands in the original, as [start, end)."""
        first, last = start, end - 1
        for layer in reversed(self._layers):
            first, last = layer.origin(first), layer.origin(last)
        return first, last + 1


def _find_html(text: str) -> Iterator[tuple[int, int, str]]:
    found = [(tag.start(), tag.end(), "\n" if tag["block"] else "") for tag in _TAG.finditer(text)]
    found += [(entity.start(), entity.end(), html.unescape(entity[0])) for entity in _ENTITY.finditer(text)]
    end = 0
    for edit in sorted(found):
        if edit[0] >= end:
            end = edit[1]
            yield edit


def _find_markdown(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _MARKDOWN.finditer(text):
        if found["label"]:
            # The label itself is the original's.
            yield found.start(), found.start("label"), ""
            yield found.end("label"), found.end(), ""
        else:
            yield found.start(), found.end(), ""


_LEAST_CAPITALS = 12
"""Latin letters from which a text that is all capitals is no abbreviation."""


def _shouts(text: str) -> bool:
    letters = [char for char in text if char.isascii() and char.isalpha()]
    return len(letters) >= _LEAST_CAPITALS and not any(map(str.islower, letters))
