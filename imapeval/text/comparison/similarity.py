"""How similar the wordings of two phrases are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from imapeval.text.phrases import parse_phrase

if TYPE_CHECKING:
    from imapeval.text.phrases import Phrase

SAME_SUBJECT = 0.6
"""Two phrases have the same subject if they share at least this part of the longer one's words, so that a different
polarity, amount or side contradicts. A lower threshold would find more contradictions, but would take "do not have iron
deficiency anemia" for the opposite of "anemia"."""
SAME_FRAME = 0.4
"""Two phrases, each with words that the other lacks, are the same frame with a different filling if they share at least
this part of their words."""


@dataclass(frozen=True, slots=True)
class WordingSimilarity:
    """How similar two wordings are.

    Attributes:
        overlap: Dice coefficient of their tokens, 0..1: English content words, Chinese bigrams.
        weight: Factor for any measure of similarity, 0..1: 0 if one phrase affirms and the other denies, or they differ
            by a code, below 1 if the same frame has a different filling ("hold the tooth by the crown" and "by the root").
    """

    overlap: float
    weight: float


def measure_wording_similarity(reference: str, response: str) -> WordingSimilarity:
    """Measure how similar two wordings are.

    >>> measure_wording_similarity("steam inhalation", "some steam inhalation for ten minutes")
    WordingSimilarity(overlap=1.0, weight=1.0)
    >>> measure_wording_similarity("rest the knee", "do not rest the knee").weight
    0.0
    """
    a, b = parse_phrase(reference), parse_phrase(response)
    overlap = 2 * len(a.tokens & b.tokens) / (len(a.tokens) + len(b.tokens)) if a.tokens and b.tokens else 0.0
    # Advice to have less of something contradicts neither allowing it nor advising against it.
    opposed = a.stance.denies != b.stance.denies and not (a.stance.asks_for_less or b.stance.asks_for_less)
    if opposed or differ_by_code(a, b):
        return WordingSimilarity(overlap, 0.0)
    frame = measure_overlap(a.words, b.words)
    replaced = frame >= SAME_FRAME and a.words - b.words and b.words - a.words
    return WordingSimilarity(overlap, 1 - frame / 2 if replaced else 1.0)


_CODE = re.compile(r"[a-z]|lettera|[ivx]{2,5}|(?!\d+s$)(?=\d*[a-z])(?=[a-z]*\d)[a-z\d]+", re.ASCII)
"""A letter, a Roman numeral, or letters with digits: a vertebra, a blood group, a factor, a gene, a stage (T2N0M0)."""
_VERTEBRA = re.compile(r"[ctls]\d{1,2}")
_DIGITS = re.compile(r"\d+")
_GENUS = re.compile(r"\b[A-Z]\. ?[a-z]")


def differ_by_code(a: Phrase, b: Phrase) -> bool:
    """Return whether two phrases name different things by codes of one kind, and otherwise say the same.

    >>> [differ_by_code(parse_phrase("L4-L5 disc herniation"), parse_phrase(text))
    ...  for text in ("L5-S1 disc herniation", "disc herniation", "HER2 disc herniation")]
    [True, False, False]
    """
    ours, theirs = a.words - b.words, b.words - a.words
    if not (ours and theirs and all(map(_CODE.fullmatch, ours | theirs))) or _GENUS.search(f"{a.text} {b.text}"):
        return False
    # Other letters may be another name of the same: HER2 and ERBB2. Vitamin D3 is a vitamin D.
    return {*map(_find_kind, ours)} == {*map(_find_kind, theirs)} and not any(
        one.startswith(other) or other.startswith(one) or _DIGITS.findall(one) == _DIGITS.findall(other) != []
        for one, other in product(ours, theirs)
    )


def _find_kind(code: str) -> str:
    """Return the kind of a code: "vertebra", its letters with 0 in place of digits, "numeral" or "letter"."""
    if _VERTEBRA.fullmatch(code):
        return "vertebra"
    return (
        _DIGITS.sub("0", code) if any(map(str.isdigit, code)) else "numeral" if len(code) in range(2, 6) else "letter"
    )


def measure_overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the larger set that is in the other; 1 if both are empty."""
    return len(a & b) / max(len(a), len(b)) if a or b else 1.0
