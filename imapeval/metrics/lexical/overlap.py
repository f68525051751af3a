"""Exact match and token F1, as in SQuAD, and the length ratio."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING

from imapeval.metrics.base import Example, Metric, fixed, range_parts
from imapeval.metrics.lexical.tokens import (
    EXAMPLE_TEXTS,
    LANGUAGES,
    NO_REFERENCE_TOKENS,
    TOKENIZERS,
    choose_tokenizer,
    split_for_bleu,
    split_for_squad,
)
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from imapeval.metrics.base import Case

_SQUAD = "Rajpurkar et al. 2016, SQuAD"


@dataclass(frozen=True, slots=True)
class ExactMatch(Metric):
    """1 if both texts have the same words in the same order, else 0.

    English words are SQuAD's: without case, punctuation and articles; French ones likewise, with "2,5" as "2.5".
    Chinese is compared by character, without case, punctuation and white space.
    """

    name = "exact-match"
    summary = "1 where the words are the same, else 0 (SQuAD)"
    formula = "1 if the texts have the same words in the same order, without case, punctuation and articles; else 0"
    example = Example("Take the tablets.", "take tablets", ("take tablets = take tablets", "1"), 1.0)
    range = (0.0, 1.0)
    languages = LANGUAGES
    citation = _SQUAD
    revision = "2"

    tokens_en: str = fixed("squad")
    tokens_zh: str = fixed("char")

    def score(self, case: Case) -> Outcome:
        expected = split_for_squad(case.reference, case.lang)
        return Score(float(expected == split_for_squad(case.response, case.lang))) if expected else NO_REFERENCE_TOKENS


@dataclass(frozen=True, slots=True)
class TokenF1(Metric):
    """F1 of the bags of words (0..1), on the words of `ExactMatch`; parts `precision` and `recall`."""

    name = "token-f1"
    summary = "F1 of the words, whatever their order (SQuAD)"
    formula = "2 x shared words / (words of the reference + words of the response), without case, punctuation, articles"
    example = Example(*EXAMPLE_TEXTS, ("shared: take, tablets, food, of 4 words each", "2 x 3 / (4 + 4) = 0.75"), 0.75)
    range = (0.0, 1.0)
    part_ranges = range_parts(shares=("precision", "recall"))
    languages = LANGUAGES
    citation = _SQUAD
    revision = "2"

    tokens_en: str = fixed("squad")
    tokens_zh: str = fixed("char")

    def score(self, case: Case) -> Outcome:
        expected, given = split_for_squad(case.reference, case.lang), split_for_squad(case.response, case.lang)
        if not expected:
            return NO_REFERENCE_TOKENS
        shared = (Counter(expected) & Counter(given)).total()
        parts = {"precision": shared / max(1, len(given)), "recall": shared / len(expected)}
        return Score(2 * shared / (len(expected) + len(given)), parts)


@dataclass(frozen=True, slots=True)
class LengthRatio(Metric):
    """Tokens of the response per token of the reference; parts `response_tokens` and `reference_tokens`.

    It does not measure quality, but shows how far ratings or other metrics follow length. "Higher is better" is
    nominal: with `--references best` the shortest reference counts.
    """

    name = "length-ratio"
    summary = "tokens of the response per token of the reference"
    formula = "tokens of the response / tokens of the reference; a full stop is a token"
    example = Example("take tablets with food", "take the tablets with some food", ("6 / 4 = 1.5",), 1.5)
    range = (0.0, None)
    part_ranges = range_parts(counts=("response_tokens", "reference_tokens"))
    languages = LANGUAGES
    citation = "package sacrebleu (its `ratio`)"

    tokens_en: str = fixed(TOKENIZERS["en"])
    tokens_zh: str = fixed(TOKENIZERS["zh"])
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))

    def score(self, case: Case) -> Outcome:
        tokenizer = choose_tokenizer(case.lang)
        expected, given = (len(split_for_bleu(text, tokenizer)) for text in (case.reference, case.response))
        if not expected:
            return NO_REFERENCE_TOKENS
        return Score(given / expected, {"response_tokens": float(given), "reference_tokens": float(expected)})
