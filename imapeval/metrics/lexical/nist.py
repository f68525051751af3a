"""NIST (Doddington 2002) of single answers, by nltk.

An n-gram weighs what it tells: log2(count of its first n-1 tokens / its count), counted in the reference. A single
reference is all that is counted here, so a word that it has once weighs log2 of its length, and longer n-grams of words
that stand there once weigh nothing: scores of long references are higher, and the score is no share of anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import Metric
from imapeval.metrics.lexical.bleu import TOKENIZERS
from imapeval.metrics.lexical.tokens import NO_REFERENCE_TOKENS, split_for_bleu
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case


@dataclass(frozen=True, slots=True)
class Nist(Metric):
    """Sentence NIST up to 5-grams, on BLEU's tokens.

    A response of fewer than 5 tokens has no n-gram of the longer orders; they count 0 (nltk divides by zero there).
    """

    name = "nist"
    summary = "sentence NIST: n-grams weighed by their rarity in the reference"
    range = (0.0, None)
    citation = "Doddington 2002, NIST; package nltk"

    order: int = 5
    tokens_en: str = TOKENIZERS["en"]
    tokens_zh: str = TOKENIZERS["zh"]
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))
    nltk: str = field(default_factory=lambda: metadata.version("nltk"))

    def score(self, case: Case) -> Outcome:
        """Score one case; see `Metric.score`."""
        from nltk.translate import nist_score  # pyright: ignore[reportMissingTypeStubs]

        tokens = self.tokens_zh if case.lang == "zh" else self.tokens_en
        expected, given = split_for_bleu(case.reference, tokens), split_for_bleu(case.response, tokens)
        if not expected:
            return NO_REFERENCE_TOKENS
        if not given:
            return Score(0.0)
        library: Any = nist_score
        return Score(float(library.sentence_nist([expected], given, n=min(self.order, len(given)))))
