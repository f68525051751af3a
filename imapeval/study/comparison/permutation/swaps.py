"""Draws the swaps of permutation tests of two metrics, and counts extreme differences.

Deutsch, Dror and Roth 2021, "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods"
(TACL 9), section 5: if two metrics are equally good, they are exchangeable. PERM-INPUTS swaps the scores of
all answers to a question, or of none. This keeps answers to one question together. The metrics are put on one
scale first. `other_systems` does the same with systems (PERM-SYSTEMS).

A swap is a sign, -1 where it happens: products of signs with what the answers add to a coefficient then give all
permutations of all pairs of metrics at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from imapeval.study.intervals.quantiles import small_sample_quantile

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from imapeval.study.arrays import Counts, Float32s, Floats

_Number = TypeVar("_Number", bound=np.generic)

MAX_CELLS = 4_000_000
"""Maximum number of signs in a block: 16 MB. More would not fit into the processor's cache."""

MAX_PERMUTATIONS = 512
"""Maximum number of permutations in a block: each pair of metrics needs results of this length."""

MANY_QUESTIONS = 2_000
"""Number of questions beyond which p comes from the normal distribution, not from permutations: a
permuted difference is then a sum of n independent terms of either sign, whose kurtosis, the first moment that is not
that of a normal distribution, is off by about 1 / n."""

TOLERANCE = 1e-5
"""A permuted difference that is this much smaller counts as equal: it is a sum of single-precision numbers."""


@dataclass(frozen=True, slots=True)
class ComparedAnswers:
    """Answers that all metrics at hand scored.

    Attributes:
        scores: Scores, finite, high is good, shape (n, m).
        ratings: Ratings, shape (n, d); NaN where there is none.
        questions: Question of each answer, numbered from 0 without gaps, shape (n,).
        systems: System of each answer, numbered from 0 without gaps, shape (n,).
    """

    scores: Floats
    ratings: Floats
    questions: Counts
    systems: Counts

    def take(self, rows: Counts) -> ComparedAnswers:
        """Return some of the answers, questions and systems numbered anew."""
        questions, systems = (
            np.unique(numbers[rows], return_inverse=True)[1] for numbers in (self.questions, self.systems)
        )
        return ComparedAnswers(self.scores[rows], self.ratings[rows], questions, systems)


@dataclass(frozen=True, slots=True)
class MetricPairs:
    """Which metrics are compared, as columns of the scores: `first` with `second`, shape (p,) each."""

    first: Counts
    second: Counts


class Contrast(NamedTuple):
    """Two metrics side by side, for each pair and dimension; the last row is the mean over dimensions.

    Attributes:
        first, second: Their coefficients, shape (d + 1, p); NaN where there is none.
        low, high: Ends of the difference's interval, shape (d + 1, p), which may lie beyond what is possible.
        p: Two-sided p-values, above 0, shape (d + 1, p).
        groups: Number of coefficients that could enter the mean, shape (d + 1,).
        defined: Number of coefficients that did, shape (d + 1, p).
    """

    first: Floats
    second: Floats
    low: Floats
    high: Floats
    p: Floats
    groups: Counts
    defined: Counts


def draw_swaps(units: int, *, seed: int, permutations: int) -> Iterator[Float32s]:
    """Yield the signs of all permutations, some at a time: shape (b, units).

    Raises:
        ValueError: `permutations` is not positive.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, not {permutations}")
    generator = np.random.default_rng(seed)
    at_once = max(1, min(MAX_PERMUTATIONS, MAX_CELLS // units))
    for start in range(0, permutations, at_once):
        rows = min(at_once, permutations - start)
        yield generator.integers(0, 2, size=(rows, units), dtype=np.int8).astype(np.float32) * 2 - 1


def count_extreme(permuted: Floats | Float32s, observed: Floats, counts: Floats | Counts) -> Counts:
    """Return how many permuted differences are as far from 0 as the observed one, shape (d + 1, p).

    `permuted` holds sums over what is averaged, shape (d, p, b), `counts`, shape (d, p), what they are divided by; the
    last row of `observed` is over all dimensions. An undefined difference (NaN) counts as extreme, so that it cannot
    make one look rare.
    """
    least = (np.abs(observed) - TOLERANCE) * add_total(counts.astype(np.float64))
    single = least.astype(np.float32)[..., None]
    near = [
        (np.abs(sums) < at).sum(axis=-1) for sums, at in zip([*permuted, permuted.sum(axis=0)], single, strict=True)
    ]
    return permuted.shape[-1] - np.stack(near)


def add_total(table: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Append the sum over dimensions: shape (d, ...) in, (d + 1, ...) out."""
    return np.concatenate([table, table.sum(axis=0, keepdims=True)])


def average_dimensions(sums: Floats, counts: Floats | Counts) -> Floats:
    """Divide, dimension by dimension and over all of them: shape (d, ...) in, (d + 1, ...) out; NaN for 0 / 0."""
    by = add_total(counts.astype(np.float64))
    return add_total(sums) / np.where(by > 0, by, np.nan)


def find_reach(errors: Floats, questions: Counts, confidence: float) -> Floats:
    """Return how far intervals reach to each side; NaN with fewer than two questions.

    `errors` are standard errors computed with the number of questions that have a coefficient, `questions`.
    """
    quantiles = np.vectorize(partial(small_sample_quantile, confidence=confidence), otypes=[float])(questions)
    return errors * quantiles


def find_normal_p(difference: Floats, spread: Floats) -> Floats:
    """Return two-sided p-values, above 0."""
    normal = NormalDist()
    far = np.divide(np.abs(difference), spread, out=np.zeros_like(spread), where=spread > 0)
    # Beyond some 38 spreads the distribution function is 0 in floating point.
    p = [max(2 * normal.cdf(-z), np.finfo(float).tiny) for z in far.ravel().tolist()]
    return np.array(p).reshape(far.shape)
