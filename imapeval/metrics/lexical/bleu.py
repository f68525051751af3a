"""Sentence BLEU (Papineni et al. 2002), as sacrebleu computes it.

The n-grams are counted here, once for all orders; tokens, smoothing and formula are sacrebleu's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

from imapeval.metrics.base import Example, Metric, computed, fixed, range_parts
from imapeval.metrics.lexical.tokens import (
    EXAMPLE_TEXTS,
    LANGUAGES,
    TOKENIZERS,
    choose_tokenizer,
    make_ngrams,
    split_for_bleu,
)
from imapeval.types import Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.metrics.base import Case
    from imapeval.types import Sample

ORDERS = 4
"""Longest n-grams of BLEU: Papineni et al. 2002."""

_CORPUS_BLOCK = 1000
"""Samples whose n-grams are counted at a time: sacrebleu keeps the counts of each one until the end."""

_EXAMPLE_STEPS = (
    "p1 = 4/5 = 80 (take, the, tablets, food)",
    "p2 = 2/4 = 50 (take the, the tablets)",
    "p3 = 1/3 = 33.33 (take the tablets)",
    "p4 = 0/2, counted as (1/2)/2 = 25",
)

_EXAMPLE_PRECISIONS = (
    4 / 5,
    (4 / 5 * 2 / 4) ** (1 / 2),
    (4 / 5 * 2 / 4 / 3) ** (1 / 3),
    (4 / 5 * 2 / 4 / 3 / 4) ** (1 / 4),
)
"""Geometric means of p1 up to pN."""


@dataclass(frozen=True, slots=True)
class Bleu(Metric):
    """Sentence BLEU up to an order (0..100); parts `bp` (brevity penalty) and the n-gram precisions `p1`.. (0..100)."""

    range = (0.0, 100.0)
    part_ranges = range_parts(shares=("bp",)) | dict.fromkeys(("p1", "p2", "p3", "p4"), (0.0, 100.0))
    languages = LANGUAGES
    citation = "Papineni et al. 2002, BLEU; package sacrebleu"
    mean_of = "sentence BLEU"

    order: int
    tokens_en: str = fixed(TOKENIZERS["en"])
    tokens_zh: str = fixed(TOKENIZERS["zh"])
    smooth: Literal["exp"] = "exp"
    effective_order: bool = True
    sacrebleu: str = field(default_factory=lambda: metadata.version("sacrebleu"))

    @computed
    def name(self) -> str:
        return "bleu" if self.order == ORDERS else f"bleu{self.order}"

    @computed
    def summary(self) -> str:
        return f"sentence BLEU, n-grams up to {self.order}, 0..100"

    @computed
    def formula(self) -> str:
        precisions = " ".join(f"p{order}" for order in range(1, self.order + 1))
        mean = "p1" if self.order == 1 else f"({precisions})^(1/{self.order})"
        return (
            f"BP x {mean}; pN is the share of the response's N-grams that the reference has, in percent (the first "
            "that would be 0 is 1/2 of an N-gram, the next 1/4), BP = min(1, exp(1 - tokens of the reference / tokens "
            "of the response)). A run's mean is of single answers; corpus BLEU is given beside it"
        )

    @computed
    def example(self) -> Example | None:
        steps, score = _EXAMPLE_STEPS[: self.order], 100 * _EXAMPLE_PRECISIONS[self.order - 1]
        return Example(*EXAMPLE_TEXTS, (*steps, f"BP = exp(1 - 5/5) = 1; BLEU = {score:.4g}"), score)

    def score(self, case: Case) -> Outcome:
        from sacrebleu.metrics.bleu import BLEU

        library: Any = BLEU
        correct, total, given, expected = _count(case.reference, case.response, choose_tokenizer(case.lang))
        result = library.compute_bleu(
            list(correct[: self.order]),
            list(total[: self.order]),
            given,
            expected,
            smooth_method=self.smooth,
            effective_order=self.effective_order,
            max_ngram_order=self.order,
        )
        precisions = {f"p{order}": float(value) for order, value in enumerate(result.precisions, 1)}
        return Score(float(result.score), {"bp": float(result.bp), **precisions})

    def score_corpus(self, samples: Sequence[Sample]) -> float | None:
        """Return sacrebleu's corpus BLEU, over all references of a sample; None for several languages."""
        from sacrebleu.metrics.bleu import BLEU

        if not samples:
            return None
        lang = samples[0].lang
        library: Any = BLEU
        # Some methods of smoothing change the counts, so it is left to the end.
        counter = library(tokenize=choose_tokenizer(lang), smooth_method="none", max_ngram_order=self.order)
        sums = [0] * (2 + 2 * self.order)
        for start in range(0, len(samples), _CORPUS_BLOCK):
            block = samples[start : start + _CORPUS_BLOCK]
            if any(sample.lang != lang or not sample.references for sample in block):
                return None
            # Where samples have unequal numbers of references, sacrebleu takes None for those that are not there.
            streams = [*zip_longest(*(sample.references for sample in block))]
            found = counter.corpus_score([sample.response for sample in block], streams)
            counts = (found.sys_len, found.ref_len, *found.counts, *found.totals)
            sums = [before + count for before, count in zip(sums, counts, strict=True)]
        given, expected, *ngrams = sums
        whole = library.compute_bleu(
            ngrams[: self.order],
            ngrams[self.order :],
            given,
            expected,
            smooth_method=self.smooth,
            max_ngram_order=self.order,
        )
        return float(whole.score)


@lru_cache(maxsize=256)  # more pairs than a batch of 64 samples has, raw and on imaps
def _count(reference: str, response: str, tokenizer: str) -> tuple[tuple[int, ...], tuple[int, ...], int, int]:
    """Return the numbers that sacrebleu's `compute_bleu` takes, in its order.

    They are, by order, those of the response's n-grams that the reference has, and of all of them; then those of the
    response's and of the reference's tokens.
    """
    expected, given = split_for_bleu(reference, tokenizer), split_for_bleu(response, tokenizer)
    correct: list[int] = []
    for order in range(1, ORDERS + 1):
        left = Counter(make_ngrams(expected, order))
        found = 0
        for ngram in make_ngrams(given, order):
            if left.get(ngram):  # each of the reference's n-grams is found once only
                left[ngram] -= 1
                found += 1
        correct.append(found)
    total = tuple(max(0, len(given) - start) for start in range(ORDERS))
    return tuple(correct), total, len(given), len(expected)
