"""ROUGE (Lin 2004): n-grams, longest common subsequence, skip-bigrams.

The tokens are those of the package rouge-score, and the counts equal its own. It spends 90% of its time on the table of
the longest common subsequence; here rows of the table are integers used as bit vectors, which is far faster.

A response of one token has no bigram, so ROUGE-2 and ROUGE-S are 0, even for the same single token, as in the package.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Literal

from imapeval.metrics.base import Example, Metric, computed, fixed, option, range_parts
from imapeval.metrics.lexical.tokens import (
    EXAMPLE_TEXTS,
    LANGUAGES,
    NO_REFERENCE_TOKENS,
    make_ngrams,
    split_for_rouge,
)
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.metrics.base import Case
    from imapeval.metrics.lexical.tokens import Tokens

_FORMULA = (
    "F = 2 P R / (P + R); P = shared / number in the response, R = shared / number in the reference; what is counted: "
)

_MEASURES = ("fmeasure", "recall", "precision")

MAX_GAP = 100
"""Limits the number of pairs of a text to a hundred times its words."""


_Overlap = tuple[int, int, int]
"""How much two texts share, and how much the reference and the response have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rouge(Metric):
    """A variant of ROUGE; parts `precision`, `recall` and `fmeasure`, of which `measure` is the score."""

    range = (0.0, 1.0)
    part_ranges = range_parts(shares=_MEASURES)
    languages = LANGUAGES
    citation = "Lin 2004, ROUGE; package rouge-score"

    measure: str = option("the part that is the score: fmeasure, recall or precision", "fmeasure")
    stem_en: bool = fixed(True)
    tokens_zh: str = fixed("char")
    rouge_score: str = field(default_factory=lambda: metadata.version("rouge-score"))

    def __post_init__(self) -> None:
        if self.measure not in _MEASURES:
            raise ValueError(f"measure is {self.measure!r}; allowed are {', '.join(_MEASURES)}")

    def score(self, case: Case) -> Outcome:
        expected = split_for_rouge(case.reference, case.lang)
        if not expected:
            return NO_REFERENCE_TOKENS
        given = split_for_rouge(case.response, case.lang)
        shared, in_reference, in_response = self._measure_overlap(expected, given)
        parts = {
            "precision": shared / max(1, in_response),
            "recall": shared / max(1, in_reference),
            # Equal to 2 P R / (P + R), but rounded only once: answers with the same share have the same score.
            "fmeasure": 2 * shared / max(1, in_reference + in_response),
        }
        return Score(parts[self.measure], parts)

    @abstractmethod
    def _measure_overlap(self, expected: Tokens, given: Tokens) -> _Overlap:
        """Compare the tokens of the reference with those of the response."""


@dataclass(frozen=True, slots=True)
class RougeN(_Rouge):
    """ROUGE-N: shared n-grams, each counted as often as in the text with fewer of it."""

    order: Literal[1, 2]

    @computed
    def name(self) -> str:
        return f"rouge{self.order}"

    @computed
    def summary(self) -> str:
        return f"ROUGE-{self.order}: shared {'words' if self.order == 1 else 'word pairs'}"

    @computed
    def formula(self) -> str:
        return _FORMULA + ("words" if self.order == 1 else "runs of 2 words")

    @computed
    def example(self) -> Example | None:
        step, score = {
            1: ("shared: take, the, tablets, food; P = 4/5, R = 4/5", 0.8),
            2: ("shared: take the, the tablets; P = 2/4, R = 2/4", 0.5),
        }[self.order]
        return Example(*EXAMPLE_TEXTS, (step, f"F = {score}"), score)

    def _measure_overlap(self, expected: Tokens, given: Tokens) -> _Overlap:
        return _intersect(Counter(make_ngrams(expected, self.order)), Counter(make_ngrams(given, self.order)))


@dataclass(frozen=True, slots=True)
class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence of the whole texts."""

    name = "rougeL"
    summary = "ROUGE-L: longest common subsequence"
    formula = _FORMULA + "words; shared are those of the longest common subsequence"
    example = Example(*EXAMPLE_TEXTS, ("longest: take ... the ... tablets; P = 3/5, R = 3/5", "F = 0.6"), 0.6)

    def _measure_overlap(self, expected: Tokens, given: Tokens) -> _Overlap:
        return measure_common_subsequence(expected, given), len(expected), len(given)


@dataclass(frozen=True, slots=True)
class RougeS(_Rouge):
    """ROUGE-S: shared ordered pairs of words with at most `gap` words between them.

    4 is the gap of ROUGE-S4 in Lin's tables; with 0 it is ROUGE-2.
    """

    name = "rougeS"
    summary = "ROUGE-S: shared word pairs with gaps"
    example = Example(
        *EXAMPLE_TEXTS,
        ("shared: take the, take ... tablets, the tablets; P = 3/10, R = 3/10", "F = 0.3"),
        0.3,
    )

    gap: int = option(f"maximum number of words between the two of a pair, 0..{MAX_GAP}", 4)

    @computed
    def formula(self) -> str:
        return f"{_FORMULA}pairs of words in their order, at most {self.gap} words between the two"

    def __post_init__(self) -> None:
        _Rouge.__post_init__(self)
        if not 0 <= self.gap <= MAX_GAP:
            raise ValueError(f"gap is {self.gap}; allowed are 0..{MAX_GAP}")

    def _measure_overlap(self, expected: Tokens, given: Tokens) -> _Overlap:
        return _intersect(_count_skip_bigrams(expected, self.gap), _count_skip_bigrams(given, self.gap))


def measure_common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    A row of the usual table grows by 0 or 1 from cell to cell, so it is stored as bits (0 where it grows), and each row
    follows from the one before in four integer operations (Hyyrö 2004, Bit-parallel LCS-length computation revisited).
    Time grows with len(a) * len(b) / 30, memory with the distinct common tokens times len(a) / 8 bytes.
    """
    common = set(b)
    masks: dict[str, int] = {}
    for index, token in enumerate(a):
        if token in common:
            masks[token] = masks.get(token, 0) | 1 << index
    row = full = (1 << len(a)) - 1
    for token in b:
        if found := masks.get(token):
            kept = row & found
            # What is carried beyond the row's end is cut off: it would only make the number longer.
            row = (row + kept | row - kept) & full
    return len(a) - row.bit_count()


def _count_skip_bigrams(tokens: Tokens, gap: int) -> Counter[Sequence[str]]:
    pairs: Counter[Sequence[str]] = Counter()
    for distance in range(1, gap + 2):
        pairs.update(zip(tokens, tokens[distance:], strict=False))
    return pairs


def _intersect(expected: Counter[Sequence[str]], given: Counter[Sequence[str]]) -> _Overlap:
    # A loop over one text's n-grams: the operator & would make a Counter of the result first.
    both = sum(min(count, given[ngram]) for ngram, count in expected.items() if ngram in given)
    return both, expected.total(), given.total()
