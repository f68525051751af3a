"""Split text into sentences, clauses and list items, with their positions.

Pure; uses only punctuation, list markers and conjunctions. Both languages share the code, because answers mix them
("建议做CT, MRI and 心电图").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# A sentence ends at a line break, at full-width or unambiguous ASCII punctuation, or at a full stop that is followed by
# white space and does not belong to a list marker ("1.") or a common abbreviation.
_SENTENCE_END = re.compile(
    r"\n+|[。！？；;!?…]+|\*\*+|(?<!\b[A-Za-z])(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\betc)(?<!\be\.g)"
    r"(?<!\bi\.e)(?<!\bNo(?=\.\s?\d))(?<!^\d)(?<!^\d\d)\.(?=\s|$|[A-Z])",
    re.MULTILINE,
)

# Between items: commas, the Chinese enumeration comma, colons before text, dashes with spaces, conjunctions, and words
# that introduce examples. Common words that contain 和, 及 or 与 are not split.
_ITEM_END = re.compile(
    r",(?!\d{3}\b)|[，、：]|:(?=\s|$)|(?<!\s)\s++[-–—]+\s+|[(（\[【](?![A-Za-z0-9αβγ+./ -]{1,12}[)）\]】])|(?<![A-Za-z0-9+])[)）\]】]"
    r"|(?<!\s)\s++(?:and/or|and|or|nor|as well as|along with|such as|including|for example|e\.g\.?,?|i\.e\.?,?|but|because|while"
    r"|whereas|followed by)\s+"
    r"|以及|或者|还有|并且|而且|同时|此外|另外|其次|包括|例如|比如|因为|由于|但是|然而"
    r"|(?<![饱温缓平中总柔暖祥随谐])和(?![缓谐平解睦蔼气])|(?<![以涉普波累顾殃危触提推闻扪])及(?![时早其格至])"
    r"|(?<![参给赋])与(?!其|否)|(?<![即倘假设])或(?!许|多|少)|(?<=[\w)）])等(?=[，、。；的药检措治方症]|$)",
    re.IGNORECASE,
)

_MARKER = re.compile(
    r"^(?:\s|[-*•·●▪>#]|\*\*|[(（]?\d{1,2}(?:[.、)）](?!\d)|．)|[①-⑳]|[(（]?[一二三四五六七八九十]{1,2}[、)）．])+"
)
_BRACKETS = {")": "(", "）": "（", "]": "[", "】": "【"}
_TRIM = " \t\r\n\u3000*_#`\"'“”‘’·•.,;:!?，。；：！？、-–—…"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text. For pieces made by this module, `text == source[start:end]`.

    Attributes:
        text: The wording of the stretch.
        start, end: Its position, as character offsets.
        possible: Whether the words before it call it possible: every name in "it could be gout or an infection".
    """

    text: str
    start: int
    end: int
    possible: bool = False


def split_sentences(text: str) -> Iterator[Piece]:
    """Yield the sentences and lines of a text, without list markers and surrounding punctuation."""
    yield from _split(text, 0, _SENTENCE_END)


def split_items(sentence: Piece) -> Iterator[Piece]:
    """Yield the items of a sentence, as separated by commas, conjunctions and brackets."""
    yield from _split(sentence.text, sentence.start, _ITEM_END)


def _split(text: str, offset: int, boundary: re.Pattern[str]) -> Iterator[Piece]:
    start = 0
    for end, following in [*((m.start(), m.end()) for m in boundary.finditer(text)), (len(text), len(text))]:
        if piece := trim_piece(text, start, end, offset=offset):
            yield piece
        start = following


def trim_piece(text: str, start: int, end: int, *, offset: int = 0) -> Piece | None:
    """Return `text[start:end]` without list markers and outer punctuation, or None if nothing is left.

    The position of `text` in its source, `offset`, is added to those of the piece.
    """
    if marker := _MARKER.match(text[start:end]):
        start += marker.end()
    while start < end and text[start] in _TRIM:
        start += 1
    # Opening brackets are never trimmed, so a bracket without an opening one stays without it.
    unopened = [closing for closing, opening in _BRACKETS.items() if text.find(opening, start, end) < 0]
    while start < end and (text[end - 1] in _TRIM or text[end - 1] in unopened):
        end -= 1
    if start == end or not any(char.isalnum() for char in text[start:end]):
        return None
    return Piece(text[start:end], offset + start, offset + end)
