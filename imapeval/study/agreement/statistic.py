"""A statistic of agreement as a function of the answers' weights, and its BCa interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import Interval, compute_replicates, iterate_resamples
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.intervals import bca_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Counts, Floats

RELATIVE_ZERO = 1e-12
"""A variation below this share of what it was computed from is rounding: doubles hold 16 digits, and sums over
100,000 answers lose up to three."""


@dataclass(frozen=True, slots=True)
class AgreementStatistic:
    """A statistic of agreement: data per answer, and a function of data and weights.

    Attributes:
        data: Of the answers, shape (answers, k).
        compute: Of the data and of whole-number weights, shape (m, answers): the value under each row of weights,
            shape (m,); NaN where it is undefined. An answer of weight w stands for w equal ones.
        n: Number of informative answers, such as those with two ratings.
        raters: Number of raters used.
        bounds: Lowest and highest possible value.
        formula: Computes an interval from the confidence level without resampling; None if there is no formula.
        note: What was left out, or None.
    """

    data: Floats
    compute: Callable[[Floats, Floats], Floats]
    n: int
    raters: int
    bounds: tuple[float, float] = (-1.0, 1.0)
    formula: Callable[[float], Interval] | None = None
    note: str | None = None

    @property
    def value(self) -> float:
        """The value with every answer counted once; NaN if undefined."""
        return float(self.compute(self.data, np.ones((1, len(self.data))))[0])


def from_sums(combine: Callable[[Floats], Floats]) -> Callable[[Floats, Floats], Floats]:
    """Return the computation of a statistic that is a function of sums over answers.

    Args:
        combine: The sums of the data's columns, shape (m, k), to the statistic, shape (m,).
    """
    return lambda data, weights: combine(weights @ data)


def divide(above: Floats, below: Floats) -> Floats:
    """Return the quotient; NaN where `below` is not above 0."""
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def sort_ratings(ratings: Floats) -> tuple[Floats, Floats]:
    """Return the ratings of each answer, lowest first, and their number, for statistics that ignore who rated.

    Returns:
        Shape (answers, most ratings of an answer), NaN last; and shape (answers,).
    """
    counts = (~np.isnan(ratings)).sum(axis=1).astype(np.float64)
    most = int(counts.max(initial=0))
    return np.sort(ratings, axis=1)[:, :most], counts


def explain_unmeasurable(ratings: Floats) -> Undefined | None:
    """Return why no agreement can be measured: no answer has two ratings. None where one has.

    Raises:
        ValueError: `ratings` is not of shape (answers, raters), or one is infinite.
    """
    if ratings.ndim != 2:
        raise ValueError(f"ratings have the shape (answers, raters), not {ratings.shape}")
    if np.isinf(ratings).any():
        raise ValueError("ratings are finite or NaN")
    raters = int((~np.isnan(ratings)).any(axis=0).sum())
    if raters < 2:
        return Undefined(f"{raters or 'no'} rater{'' if raters == 1 else 's'}; agreement is between two or more")
    if not ((~np.isnan(ratings)).sum(axis=1) >= 2).any():
        return Undefined("no answer was rated by two raters")
    return None


def explain_unmeasurable_or_constant(ratings: Floats) -> Undefined | None:
    """Return `refuse`'s reason, or that all ratings are the same: chance alone would then agree as often."""
    if reason := explain_unmeasurable(ratings):
        return reason
    given = ratings[~np.isnan(ratings)]
    if (given == given[0]).all():
        return Undefined(f"all ratings are {given[0]:g}; agreement beyond chance needs differences between answers")
    return None


def count_raters(ratings: Floats) -> int:
    """Return how many raters gave a rating."""
    return int((~np.isnan(ratings)).any(axis=0).sum())


_MOST_GROUPS = 2000
"""Groups of questions that are left out, one at a time, for the acceleration of BCa: as many values as a bootstrap
has. The third moment of their influences is about that of the questions', as both are sums of independent parts."""


def bootstrap_intervals(
    statistics: Sequence[AgreementStatistic],
    ratings: Floats,
    codes: Counts,
    *,
    seed: int,
    resamples: int,
    confidence: float,
) -> list[Interval]:
    """Return the BCa interval of each statistic (`intervals.bca_ends`); one draw of questions serves all.

    A resample in which a statistic is undefined counts as its lowest possible value for the lower end and as its
    highest for the upper end. Answers that were rated alike, by the same raters, are counted together: on a grid there
    are few different ones.

    Args:
        statistics: Defined ones, of the same answers.
        ratings: Of those, shape (answers, raters).
        codes: The question of each answer, numbered from 0; two or more different ones.
        seed: Random seed for the draws.
        resamples: Number of resamples.
        confidence: Confidence level, above 0 and below 1.
    """
    _, flat = np.unique(ratings, return_inverse=True)
    _, first, alike = np.unique(flat.reshape(ratings.shape), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(alike, kind="stable")
    starts = np.searchsorted(alike[order], np.arange(len(first)))
    data = [statistic.data[first] for statistic in statistics]

    def compute(weights: Floats) -> Floats:
        gathered = np.add.reduceat(weights, starts, axis=1)
        return np.column_stack(
            [statistic.compute(rows, gathered) for statistic, rows in zip(statistics, data, strict=True)]
        )

    questions = int(codes.max()) + 1
    blocks = iterate_resamples(questions, seed=seed, resamples=resamples)
    replicates = np.concatenate([compute_replicates(compute, drawn, codes[order]) for drawn in blocks])
    groups = min(questions, _MOST_GROUPS)
    left_out = compute_replicates(compute, 1 - np.eye(groups, dtype=np.int64), codes[order] % groups)
    # A value that is undefined without a group contributes nothing to the skewness.
    influences = np.nan_to_num(left_out.mean(axis=0) - left_out)
    bounds = np.array([statistic.bounds for statistic in statistics])
    lows, highs = (np.where(np.isnan(replicates), bound, replicates) for bound in bounds.T)
    ends = bca_intervals(
        np.array([statistic.value for statistic in statistics]),
        lows,
        highs,
        influences=influences,
        clusters=np.full(len(statistics), questions),
        confidence=confidence,
    )
    return [Interval(low, high) for low, high in zip(*(side.tolist() for side in ends), strict=True)]
