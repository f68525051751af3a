"""Plain text without Markdown, HTML and invisible characters, with a mapping of positions back to the original."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from typing import TYPE_CHECKING

from imapeval.text.language import HAN, detect_lang, has_chinese

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\uffa0\U000e0000-\U000e01ef]+"
)
"""Invisible characters, which must neither split nor hide a word."""

# Full-width letters, digits and signs, except the commas, full stops, colons and brackets of ordinary Chinese, which
# make no difference.
_WIDE = "\uff02-\uff07\uff0a\uff0b\uff0d-\uff19\uff1c-\uff1e\uff20-\uff5e\u3000\u2019"
_IS_WIDE = re.compile(f"[{_WIDE}]")
_SPACES = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3164"
"""Spaces of other widths, which do not break a line or are thinner: between a number and its unit, for example; and
characters that look like one (Braille without dots, the Hangul filler)."""
# Cyrillic letters that look like Latin ones (confusables.txt of Unicode Technical Standard 39). Not the Greek ones,
# which are also the capitals of β and μ.
_LOOKALIKES = str.maketrans(
    "\u0430\u0441\u0501\u0435\u04bb\u0456\u0458\u043e\u0440\u051b\u0455\u051d\u0445\u0443"
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0425\u0423",
    "acdehijopqswxyABCEHIJKMOPSTXY",
)
# The mathematical alphabets, bold or script, which replace formatting ("𝗔𝘃𝗼𝗶𝗱").
_ALPHABETS = [chr(code) for code in (*range(0x2100, 0x2150), *range(0x1D400, 0x1D800))]
_PLAIN = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if _IS_WIDE.match(chr(code))},
    **{ord(c): plain for c in _ALPHABETS if len(plain := unicodedata.normalize("NFKC", c)) == 1 and plain.isalnum()},
    **dict.fromkeys((0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x2800, 0x3000, 0x3164), 32),
    0x2019: 39,
}
_MARKS = str.maketrans("，：；！？（）", ",:;!?()")
"""Chinese punctuation, which occurs in an English text only if all of it is full-width."""
_IS_ODD = re.compile(f"[{_WIDE}{_SPACES}\u2100-\u214f\U0001d400-\U0001d7ff]")
_HAS_LOOKALIKE = re.compile(f"[{''.join(map(chr, _LOOKALIKES))}]")
_WORD = re.compile(r"\w+")
_CYRILLIC = re.compile("[\u0400-\u052f]")

_BLOCKS = "p|br|li|ul|ol|div|h[1-6]|tr|table|thead|tbody|hr|blockquote|pre|section|article|dl|dt|dd"
_INLINE = "b|i|u|s|a|em|strong|span|mark|small|sub|sup|code|font|td|th|img|abbr|cite|del|ins|q|kbd|samp|var"
# Attributes have a maximum length to keep matching linear after an unclosed "<".
_TAG = re.compile(
    rf"(?P<power>(?<=10)<sup>(?=[-−–]?\d))|(?P<cell></t[dh]>\s{{0,80}}<t[dh](?:\s[^<>]{{0,500}})?>)|<!--.{{0,2000}}?-->|</?(?:(?P<block>{_BLOCKS})|{_INLINE})(?:\s[^<>]{{0,500}})?/?>",
    re.I | re.S,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,30});")
_MARKDOWN = re.compile(
    r"!?\[(?P<label>[^\[\]\n]{1,200})\]\([^()\s]{1,500}\)"  # links and images
    r"|(?!(?<=10)\*\*\d)\*{2,3}|_{2,3}|~~|`{1,3}"
    r"|(?<![\w*])\*(?=[^\s*\d])|(?<=[^\s*])\*(?![\w*])|(?<!\w)_(?=[^\s_])|(?<=[^\s_])_(?!\w)"
    # A sign before an amount is no quotation mark: "> 102 cm".
    r"|^[ \t]*#{1,6}[ \t]+|^[ \t]*>(?![ \t]?(?:=|(?!\d{1,2}[.)]\s)\d))[ \t]?|^[ \t]*(?:[-*_][ \t]*){3,}$",
    re.MULTILINE,
)


# Not between two steps: 清洗↓消毒, or in a line of its own.
_ARROW = re.compile(
    rf"(?P<step>^[ \t]*+[↑↓]++[ \t]*+$)|(?!(?<=[{HAN}])[↑↓]+[{HAN}])(?P<han>(?<=[{HAN}]))?(?P<word>(?<=[\w)]) ?)?"
    r"(?:(?P<up>↑+)|↓+)(?P<before>(?=[\w(]))?",
    re.MULTILINE,
)

# The result of a test: in brackets, as "+ve", or bare at the end of an item ("rash +"), where a single one that does not
# stand directly behind a Chinese name may be a dash. Not the charge of an ion (K+), nor a grade (++).
_RESULT = re.compile(
    r"(?<=\w)(?:\s?[(（]\s?(?:(?P<plus>[+＋])|[-－–−])\s?[)）](?!-)|[ :：]{1,2}(?:(?P<positive>[+＋])|[-－−])ve\b"
    rf"|(?:(?P<bare>:?[ \t])|(?<=[{HAN}])[:：]?)(?:(?P<last>[+＋])|[-－–−])(?=[ \t]*(?:[,，、;；。.|]|$)))",
    re.MULTILINE,
)

# A value that the writer takes back, and the one that is meant: "20 mg daily - sorry, I meant 40 mg", 20毫克，更正：10毫克.
_CORRECTION = re.compile(
    r"(?P<old>(?<![\d.])\d[\d.]*+\s?(?P<unit>[a-zA-Zμµ%℃]{1,8}|毫克|微克|克|毫升|单位|小时|[片粒滴次天周])(?![a-z]))(?P<between>[^\d\n]{0,30}?)"
    r"(?P<marker>[\s,，.。;；–—-]{1,4}(?:correction|i mean|i meant|make that|scratch that|sorry|更正|纠正|不对|口误|写错了)"
    r"[\s,，:：]{0,3}(?:i mean|i meant|make that|应该?[是为]|是)?[\s,，:：]{0,2})(?P<new>\d[\d.]*\s?(?P=unit)(?![a-z]))",
    re.IGNORECASE,
)
_INSULIN = re.compile(r"insulin|basal|bolus|prandial|mealtime|sliding|glargine|aspart|lispro|detemir", re.I)
_LINE = re.compile(r"[^\n]+")
_LINE_END = re.compile("\r\n?")
# Tabs separate the cells of a table.
_WRAP = re.compile(r"(?<=[\w,])[^\S\n\t]*+\n[^\S\n\t]*+(?=[a-z])|[^\S\n\t]{2,}")
_REDACTION = re.compile(r"(?<![^\S\n])[^\S\n]*+\(\s*attachments? removed\b[^()\n]{0,60}\)", re.IGNORECASE)


def fold_confusables(text: str) -> str:
    """Return the text with letters, digits and signs in their ordinary form, one character for one.

    Full-width and mathematical characters become ordinary ones, and Cyrillic look-alikes Latin ones.

    >>> fold_confusables("ａｖｏｉｄ 𝗮𝘃𝗼𝗶𝗱 \u0430v\u043eid")
    'avoid avoid avoid'
    """
    if text.isascii():
        return text
    if _IS_ODD.search(text):
        text = text.translate(_PLAIN)
    return _WORD.sub(_fold_to_latin, text) if _HAS_LOOKALIKE.search(text) else text


def _fold_to_latin(word: re.Match[str]) -> str:
    """Return a word with Latin letters, unless other letters show that it is Russian."""
    latin = word[0].translate(_LOOKALIKES)
    return word[0] if _CYRILLIC.search(latin) else latin


class EditedText:
    """A text with some stretches replaced, and the mapping of its positions to the original.

    Args:
        text: The original.
        edits: The replacements as (start, end, new text), in order, without overlap.

    Attributes:
        text: The text after the edits.
    """

    def __init__(self, text: str, edits: Iterable[tuple[int, int, str]]) -> None:
        parts: list[str] = []
        # Start of each part in the edited text; start and end of each in the original, and whether it was kept.
        self._starts: list[int] = []
        self._origins: list[tuple[int, int, bool]] = []
        length = done = 0
        for start, end, by in (*edits, (len(text), len(text), "")):
            for part, origin, until, kept in ((text[done:start], done, start, True), (by, start, end, False)):
                if part:
                    parts.append(part)
                    self._starts.append(length)
                    self._origins.append((origin, until, kept))
                    length += len(part)
            done = end
        self.text = "".join(parts)

    def to_original(self, place: int) -> int:
        """Return the original position of a character; for a replacement, the start of what it replaces."""
        part = bisect_right(self._starts, place) - 1
        origin, _, kept = self._origins[part]
        return origin + (place - self._starts[part]) * kept

    def end_in_original(self, place: int) -> int:
        """Return the original position after a character; for a replacement, the end of what it replaces."""
        _, until, kept = self._origins[bisect_right(self._starts, place) - 1]
        return self.to_original(place) + 1 if kept else until


class PlainText:
    """A text without its layout.

    Markdown emphasis, headings, links and rules, HTML tags and entities, invisible characters and notes of removed
    attachments are removed; a text in capitals is lower-cased; unusual forms of letters become ordinary ones; arrows
    become "high" or "low", and the signs of results "positive" or "negative"; a value that the writer takes back is
    replaced by the corrected one.

    Args:
        text: The original.
        unwrap: Whether several blanks, or a line break within a sentence, are one blank.

    Attributes:
        text: The plain text.

    >>> PlainText("**Rest** the <b>left</b> knee &amp; ankle").text
    'Rest the left knee & ankle'
    """

    def __init__(self, text: str, *, unwrap: bool = False) -> None:
        self._layers = [EditedText(text, ((found.start(), found.end(), "") for found in INVISIBLE.finditer(text)))]
        for find in (
            _find_line_ends,
            _find_html,
            _find_markdown,
            _find_redactions,
            _find_arrows,
            _find_results,
            _find_corrections,
            *((_find_wraps,) if unwrap else ()),
        ):
            self._layers.append(EditedText(self._layers[-1].text, find(self._layers[-1].text)))
        plain = fold_confusables(self._layers[-1].text)
        if not (plain.isascii() or has_chinese(plain)):
            plain = plain.translate(_MARKS)
        # Letter by letter, because the lower case of a few letters has two characters.
        self.text = (
            "".join(c.lower() if len(c.lower()) == 1 else c for c in plain) if _is_all_capitals(plain) else plain
        )

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """Return the original [start, end) of a non-empty stretch of the plain text."""
        for layer in reversed(self._layers):
            start, end = layer.to_original(start), layer.end_in_original(end - 1)
        return start, end


def _find_line_ends(text: str) -> Iterator[tuple[int, int, str]]:
    """Find the line ends of Windows and of old Macs."""
    return ((found.start(), found.end(), "\n") for found in _LINE_END.finditer(text))


def _find_html(text: str) -> Iterator[tuple[int, int, str]]:
    found = [(tag.start(), tag.end(), _replace_tag(tag)) for tag in _TAG.finditer(text)]
    found += [
        (entity.start(), entity.end(), INVISIBLE.sub("", html.unescape(entity[0]))) for entity in _ENTITY.finditer(text)
    ]
    end = 0
    for edit in sorted(found):
        if edit[0] >= end:
            end = edit[1]
            yield edit


def _replace_tag(tag: re.Match[str]) -> str:
    if tag["power"]:
        return "^"
    if tag["cell"]:
        return "\t"
    if not tag["block"]:
        return ""
    return "\n- " if tag[0][:3].lower() == "<li" else "\n"


def _find_markdown(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _MARKDOWN.finditer(text):
        if found["label"]:
            # The label itself is kept.
            yield found.start(), found.start("label"), ""
            yield found.end("label"), found.end(), ""
        else:
            yield found.start(), found.end(), ""


def _find_arrows(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _ARROW.finditer(text):
        if found["step"] is not None:
            level = ""
        elif found["han"] is not None:
            level = "升高" if found["up"] else "降低"
        else:
            level = "high" if found["up"] else "low"
            level = f" {level}" if found["word"] is not None else f"{level} " if found["before"] is not None else level
        yield found.start(), found.end(), level


def _find_results(text: str) -> Iterator[tuple[int, int, str]]:
    words = ("阳性", "阴性") if has_chinese(text) else (" positive", " negative")
    for line in _LINE.finditer(text):
        found = list(_RESULT.finditer(text, *line.span()))
        dash = sum(result["bare"] is not None for result in found) == 1
        for result in found:
            if not (dash and result["bare"] is not None):
                positive = result["plus"] or result["positive"] or result["last"]
                space = " " if words[0][0] == " " and text[result.end() : result.end() + 1].isalnum() else ""
                yield result.start(), result.end(), words[not positive] + space


def _find_corrections(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _CORRECTION.finditer(text):
        # A correction dose of insulin is one more dose.
        if "correction" in found["marker"].lower() and _INSULIN.search(text, max(0, found.start() - 80), found.end()):
            continue
        yield *found.span("old"), found["new"]
        yield found.start("marker"), found.end(), ""


def _find_wraps(text: str) -> Iterator[tuple[int, int, str]]:
    """Find what counts as one blank: several, and line breaks within a sentence.

    A line that begins with a small letter goes on with the sentence of the line before it, unless its writer uses no
    capitals.
    """
    continued = -1  # where a line begins that goes on with the one before it
    for found in _WRAP.finditer(text):
        if (line_end := found[0].find("\n")) >= 0:
            begin = text.rfind("\n", 0, found.start()) + 1
            if begin != continued and not text[begin : found.start()].lstrip()[:1].isupper():
                continue
            continued = found.start() + line_end + 1
        yield found.start(), found.end(), " "


_LONE_RESULT = re.compile(r"\s{0,9}[(（]\s?(?:(?P<positive>[+＋])|[-－–−])\s?[)）]\s{0,9}")


def spell_signs(text: str) -> str:
    """Return a text with words in place of arrows that say what is high or low, and of the signs of results.

    >>> spell_signs("TSH ↑, ↓ T4"), spell_signs("血钙↑"), spell_signs("压痛（-）"), spell_signs("fever -, rash +")
    ('TSH high, low T4', '血钙升高', '压痛阴性', 'fever negative, rash positive')
    """
    if result := _LONE_RESULT.fullmatch(text):
        return "positive" if result["positive"] else "negative"
    for find in (_find_arrows, _find_results):
        text = EditedText(text, find(text)).text
    return text


def _find_redactions(text: str) -> Iterator[tuple[int, int, str]]:
    """Find what data sets write in place of a file: "(attachment removed to protect patient identity)"."""
    return ((found.start(), found.end(), "") for found in _REDACTION.finditer(text))


_MIN_CAPITALS = 12
"""An English text all in capitals with at least this many letters is not an abbreviation; capitals in a Chinese one are."""


def _is_all_capitals(text: str) -> bool:
    letters = [char for char in text if char.isascii() and char.isalpha()]
    return len(letters) >= _MIN_CAPITALS and not any(map(str.islower, letters)) and detect_lang(text) == "en"
