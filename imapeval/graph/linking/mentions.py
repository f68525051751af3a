"""Finds names of the graph in running text: longest match, left to right, with positions."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from imapeval.text.language import has_chinese
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.graph.model import ConceptType
    from imapeval.graph.store.graph import Graph
    from imapeval.types import Lang

_MAX_WORDS_EN = 8  # 99.9% of the names in answers are shorter
_MAX_CHARACTERS_ZH = 20
# With subscripts ("B₁₂") and the marks of decomposed letters. Superscripts belong to a word only before a chemical
# element ("¹³C"); elsewhere they refer to a footnote.
_WORD = re.compile(
    r"(?:[⁰¹²³⁴-⁹]{1,3}(?=[A-Z][a-z]?(?![\w\u0300-\u036f])))?"
    r"[A-Za-z0-9À-ÖØ-öø-ÿα-ω₀-₉\u0300-\u036f]+(?:[.'’][A-Za-z0-9]+)*[+%]?"
)
# A name never extends across a comma or the end of a sentence or line. A bracket ends English names only: in Chinese an
# abbreviation in brackets may belong to the name, as "Hp" in "幽门螺杆菌(Hp)感染". The period of "H. pylori" and
# "St. John's wort" ends no sentence, but the one after "hepatitis A" may: notes go on in lower case.
_BREAKS = ",;:!?，；：！？。、\n\r"
_LETTERED = ("factor", "group", "hepatitis", "immunoglobulin", "influenza", "protein", "troponin", "type", "vitamin")
_NO_GENUS = "".join(rf"(?<!(?i:{word}) [A-Z])" for word in _LETTERED)
_STRETCH = re.compile(
    rf"(?:[^.()\[\]（）［］【】{re.escape(_BREAKS)}]"
    rf"|\.(?=\S)|(?<=\b[A-Z]){_NO_GENUS}\.(?= [a-z])|(?<=\bSt)\.(?= [A-Z]))+"
)
_LATIN = re.compile(r"[A-Za-z0-9₀-₉]")


@dataclass(frozen=True, slots=True)
class Mention:
    """A name of the graph at `text[start:end]`.

    Attributes:
        concepts: Ids of the concepts with that name, likeliest first.
        types: Their types, in the same order.
    """

    text: str
    start: int
    end: int
    concepts: tuple[str, ...]
    types: tuple[ConceptType, ...]


class MentionScanner:
    """Finds names of the graph in text. Chinese text is also scanned for English names, but not vice versa."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def scan(self, text: str, *, lang: Lang) -> list[Mention]:
        """Return the mentions in `text`, non-overlapping, in order; the longest name at each place wins."""
        found = self._scan_chinese(text) if lang == "zh" and has_chinese(text) else self._scan_english(text)
        return [
            Mention(text[start:end], start, end, concepts, tuple(self._graph.concept(one).type for one in concepts))
            for start, end, concepts in found
        ]

    def _scan_english(self, text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        table = self._graph.mention_table("en")
        for stretch in _STRETCH.finditer(text):
            words = [(m.start(), m.end(), normalise(m.group())) for m in _WORD.finditer(text, *stretch.span())]
            first = 0
            while first < len(words):
                for size in range(min(_MAX_WORDS_EN, len(words) - first), 0, -1):
                    concepts = table.get(" ".join(word for _, _, word in words[first : first + size]))
                    if concepts:
                        yield words[first][0], words[first + size - 1][1], concepts
                        first += size
                        break
                else:
                    first += 1

    def _scan_chinese(self, text: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        chinese, english = self._graph.mention_table("zh"), self._graph.mention_table("en")
        letters, places = _fold(text)
        # "β" is four letters: a name begins and ends with a whole character of the text.
        whole = [True, *(one != other for one, other in pairwise(places)), True]
        start = 0
        while start < len(letters):
            for end in range(min(len(letters), start + _MAX_CHARACTERS_ZH), start + 1, -1):
                key = letters[start:end]
                concepts = chinese.get(key) or english.get(key)
                if not concepts or not whole[start] or not whole[end]:
                    continue
                if not _cuts_word(text, places[start]) and not _cuts_word(text, places[end - 1] + 1):
                    yield places[start], places[end - 1] + 1, concepts
                    start = end
                    break
            else:
                start += 1


def _fold(text: str) -> tuple[str, list[int]]:
    """Return a Chinese text in normal form, with a line end at each break, and the position of each character in it.

    Character by character, because normalising every window would take twenty times as long. English plurals,
    possessives and British spellings stay as they are, unlike with `normalise`.
    """
    letters: list[str] = []
    places: list[int] = []
    gap = False
    for place, char in enumerate(text):
        if unicodedata.combining(char):
            continue  # a mark of the letter before it
        if char in _BREAKS:
            form = "\n"
        elif char == "." and text[max(0, place - 1) : place].isdigit() and text[place + 1 : place + 2].isdigit():
            form = "."
        else:
            form = normalise(char)
        if not form:
            gap = True
            continue
        if gap and letters and not has_chinese(letters[-1] + form):
            letters.append(" ")
            places.append(place - 1)
        gap = False
        letters += form
        places += [place] * len(form)
    return "".join(letters), places


def _cuts_word(text: str, at: int) -> bool:
    """Return whether position `at` lies inside a run of Latin letters or digits."""
    return 0 < at < len(text) and bool(_LATIN.match(text[at - 1]) and _LATIN.match(text[at]))
