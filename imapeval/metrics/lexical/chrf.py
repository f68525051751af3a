"""Sentence chrF (Popović 2015), by sacrebleu."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import Example, Metric, option
from imapeval.metrics.lexical.tokens import LANGUAGES
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case

MAX_WORD_ORDER = 4
"""Word n-grams longer than those of BLEU hardly ever match in single answers."""


@dataclass(frozen=True, slots=True)
class Chrf(Metric):
    """Sentence chrF2 (0..100): character n-grams, the same for all languages; with `word_order` 2 it is chrF++."""

    name = "chrf"
    summary = "chrF2, 0..100: character n-grams"
    formula = (
        "100 x 5 P R / (4 P + R); P and R are the shares of the response's and of the reference's character N-grams "
        "that both have, without spaces, as means over N = 1..6"
    )
    example = Example(
        "pain",
        "pains",
        (
            "the reference has no 5-gram, so N = 1..4",
            "P = (4/5 + 3/4 + 2/3 + 1/2) / 4 = 0.6792",
            "R = (4/4 + 3/3 + 2/2 + 1/1) / 4 = 1",
            "100 x 5 x 0.6792 x 1 / (4 x 0.6792 + 1) = 91.37",
        ),
        91.3677,
    )
    range = (0.0, 100.0)
    languages = LANGUAGES
    citation = "Popović 2015, chrF; package sacrebleu"

    char_order: int = 6
    word_order: int = option(f"length of the longest word n-gram, 0..{MAX_WORD_ORDER}; 2 is chrF++", 0)
    beta: int = 2
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))

    def __post_init__(self) -> None:
        if not 0 <= self.word_order <= MAX_WORD_ORDER:
            raise ValueError(f"word_order is {self.word_order}; allowed are 0..{MAX_WORD_ORDER}")

    def score(self, case: Case) -> Outcome:
        scorer = _open_chrf(self.char_order, self.word_order, self.beta)
        return Score(float(scorer.sentence_score(case.response, [case.reference]).score))


@lru_cache
def _open_chrf(char_order: int, word_order: int, beta: int) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order=char_order, word_order=word_order, beta=beta)
