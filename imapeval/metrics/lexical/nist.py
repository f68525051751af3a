"""Sentence NIST (Doddington 2002), by nltk.

The weight of an n-gram is its information: log2(count of its first n-1 tokens / its count), counted in the one
reference. A word that occurs once therefore has the weight log2 of the reference's length, and longer n-grams of such
words have none: scores are higher for long references and have no fixed maximum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import Example, Metric, fixed
from imapeval.metrics.lexical.tokens import (
    EXAMPLE_TEXTS,
    LANGUAGES,
    NO_REFERENCE_TOKENS,
    TOKENIZERS,
    choose_tokenizer,
    split_for_bleu,
)
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case


@dataclass(frozen=True, slots=True)
class Nist(Metric):
    """Sentence NIST up to 5-grams, on BLEU's tokens.

    Orders for which a response of fewer than 5 tokens has no n-gram count 0 (nltk divides by zero).
    """

    name = "nist"
    summary = "sentence NIST: rare n-grams of the reference weigh more"
    formula = (
        "length penalty x sum over N = 1..5 of (sum of info of the shared N-grams / N-grams of the response); "
        "info = log2(how often the reference has the N-gram without its last word / with it), for a word log2(words of "
        "the reference / how often it has the word)"
    )
    example = Example(
        *EXAMPLE_TEXTS,
        (
            "N = 1: 4 shared words, info log2(5/1) = 2.322 each: 4 x 2.322 / 5 = 1.858",
            "N = 2..5: info log2(1/1) = 0; penalty 1, as the lengths are equal",
            "1.858",
        ),
        4 * math.log2(5) / 5,
    )
    range = (0.0, None)
    languages = LANGUAGES
    citation = "Doddington 2002, NIST; package nltk"

    order: int = 5
    tokens_en: str = fixed(TOKENIZERS["en"])
    tokens_zh: str = fixed(TOKENIZERS["zh"])
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))
    nltk: str = field(default_factory=lambda: metadata.version("nltk"))

    def score(self, case: Case) -> Outcome:
        from nltk.translate import nist_score  # pyright: ignore[reportMissingTypeStubs]

        tokenizer = choose_tokenizer(case.lang)
        expected, given = split_for_bleu(case.reference, tokenizer), split_for_bleu(case.response, tokenizer)
        if not expected:
            return NO_REFERENCE_TOKENS
        if not given:
            return Score(0.0)
        library: Any = nist_score
        return Score(float(library.sentence_nist([expected], given, n=min(self.order, len(given)))))
