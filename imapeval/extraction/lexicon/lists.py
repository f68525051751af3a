"""The lines and list items of a text, and which of them belong to the list that a heading introduces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.extraction.lexicon.clauses import Piece

# The beginning of a line, with the marker of a list item.
_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?P<kind>[-*•·●▪–—✅✓✔☑❌✗✘✖🚫⛔]|(?P<circled>[①-⑳])"
    r"|(?P<open>[(（]?)(?:(?P<digits>\d{1,2})|(?P<chinese>[一二三四五六七八九十]{1,2}))(?P<close>[.、)）．])|)"
)
_NUMBERS = ("digits", "chinese", "circled")
_NUMBER_AT_END = re.compile(r"(?P<number>[①-⑳]|\d{1,2}(?=[)）.、．])|[a-h](?=[)）]))(?P<close>[)）.、．])?\s*$")
_MAX_NUMBER_CHARACTERS = 10
"""Characters before an item within a line that are searched for its number."""
_PRONOUN = re.compile(r"(?:it|this|that|they|these|there|you|we|I)\b|[这它]", re.IGNORECASE)
_SEMICOLON = re.compile(r"\s*[;；]\s*")
COLON = re.compile(r"[)）]?[:：]")
"""A colon, with a closing bracket before it."""
_CROSS = re.compile("[❌✗✘✖🚫⛔]")
MAX_PLAIN_CHARACTERS = 60
"""Longest item without a marker, in characters; a longer line is a sentence."""
_PLAIN_END = re.compile(r"[ \t]*+[,，、;；]?[ \t]*+(?:\n|\Z)")


@dataclass(frozen=True, slots=True)
class Line:
    """How a line begins, or an item that is numbered within a line.

    Attributes:
        indent: Indentation, in characters; that of an item within a line is larger than the line's.
        kind: Marker of a list item without its number; "" for none.
        inline: Whether it is within a line.
        starts_over: Whether it is the first of the items within a line.
    """

    indent: int
    kind: str
    inline: bool = False
    starts_over: bool = False

    @classmethod
    def read(cls, text: str) -> Line:
        if (found := _LINE.match(text)) is None:
            return cls(0, "")
        numbers = (f"{found['open'] or ''}{name}{found['close'] or ''}" for name in _NUMBERS if found[name])
        return cls(len(found["indent"]), next(numbers, found["kind"]))

    def read_inline(self, text: str) -> Line | None:
        """Return the number of an item at the end of a stretch of this line; None if there is none."""
        found = _NUMBER_AT_END.search(text, max(0, len(text) - _MAX_NUMBER_CHARACTERS))
        if found is None:
            return None
        return Line(
            self.indent + 1,
            f"inline {found['close'] or ''}",
            inline=True,
            starts_over=found["number"] in ("1", "a", "①"),
        )

    def is_below(self, heading: Line) -> bool:
        """Return whether an item belongs to the list of a heading, which may be an item itself."""
        return self.kind != heading.kind or self.indent > heading.indent


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence and its place in the lines of a text.

    Attributes:
        sentence: The sentence.
        between: The text between it and the sentence before it.
        line: How its line begins.
        item: How the list item begins that this sentence opens; None if the sentence is within an item.
        plain: Whether it is a short line of its own without a full stop, which may be an item without a marker.
        crossed: Whether its marker is a cross.
    """

    sentence: Piece
    between: str
    line: Line
    item: Line | None
    plain: bool = False
    crossed: bool = False


@dataclass(slots=True)
class HeadedList:
    """The list that a heading introduces.

    Attributes:
        governor: Words of the heading that deny, or advise against, each item; "" once the list has ended.
        heading: The line of the heading, if the list is below it.
        first: The line of the first item.
        goes_on: Whether the last sentence belongs to the list.
        bare: Whether the heading is a mere "do not".
        case: What the heading restricts the list to, such as a group of people or a severity (`frames.names_case`); ""
            once the list has ended.
    """

    governor: str
    heading: Line | None = None
    first: Line | None = None
    goes_on: bool = True
    bare: bool = False
    case: str = ""

    def govern(self, place: Place) -> tuple[str, str]:
        """Return the governor of the next sentence, and its case; "" for both if it does not belong to the list."""
        self.goes_on = self._includes(place)
        # Within an item, what follows its first sentence does not end the list.
        if not self.goes_on and (place.item or not self.heading):
            self.governor = self.case = ""
        return (self.governor, self.case) if self.goes_on else ("", "")

    def _includes(self, place: Place) -> bool:
        item = place.item
        if item is None:
            follows = (self.goes_on or not self.heading) and _SEMICOLON.fullmatch(place.between)
            # "Avoid: alcohol; eat: rice"
            own = COLON.search(place.sentence.text) or _PRONOUN.match(place.sentence.text)
            return bool(follows) and not own
        if not self.heading or (item.starts_over and self.first and self.first.inline):
            return False
        if not (self.first or item).kind:
            # Items without markers stand directly below their heading, and below each other.
            self.first = item
            return not item.kind and place.plain and place.between.count("\n") == 1
        if not item.kind:
            return False
        self.first = self.first or item
        return item.is_below(self.heading) and (item.kind == self.first.kind or item.indent > self.first.indent)


def locate_sentences(text: str) -> Iterator[Place]:
    """Yield the sentences of a text without markup, with their places, but not numbers that stand alone."""
    line = Line(0, "")
    end = 0
    for sentence in split_sentences(text):
        between = text[end : sentence.start]
        opens_line = end == 0 or "\n" in between
        if opens_line and sentence.text.isdigit():
            continue  # the number of an item that is indented
        if opens_line:
            line = Line.read(between.rpartition("\n")[2])
        plain = opens_line and _is_plain_item(text, sentence.start, sentence.end)
        crossed = opens_line and _CROSS.search(between, between.rfind("\n") + 1) is not None
        item = line if opens_line else line.read_inline(between)
        yield Place(sentence, between, line, item, plain=plain, crossed=crossed)
        end = sentence.end


def _is_plain_item(text: str, start: int, end: int) -> bool:
    """Return whether a stretch at the beginning of a line is short and ends the line without a full stop."""
    return end - start <= MAX_PLAIN_CHARACTERS and _PLAIN_END.match(text, end) is not None
