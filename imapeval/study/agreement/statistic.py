"""Agreement statistics as functions of the answers' weights, and their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import leave_out_clusters
from imapeval.study.intervals.quantiles import normal_quantile
from imapeval.study.intervals.shares import score_interval, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.intervals import Interval

RELATIVE_ZERO = 1e-12
"""A variation below this share of what it was computed from is rounding: doubles hold 16 digits, and sums over
100,000 answers lose up to three."""


@dataclass(frozen=True, slots=True)
class AgreementStatistic:
    """A statistic of agreement: data per answer, and a function of data and weights.

    Attributes:
        data: Data of the answers, shape (answers, k).
        compute: Takes the data and whole-number weights, shape (m, answers); returns the value under each row of
            weights, shape (m,), NaN where it is undefined. An answer of weight w stands for w equal ones.
        n: Number of informative answers, such as those with two ratings.
        raters: Number of raters used.
        bounds: Lowest and highest possible value.
        is_share: Every answer counts as right or wrong; if answers are independent, Wilson's interval applies as is.
        information: How many such answers each answer is worth if the jackknife variance is 0.
        at_most: Whether that is also the most each answer can be worth (`intervals.score_interval`).
        note: What was left out, or None.
    """

    data: Floats
    compute: Callable[[Floats, Floats], Floats]
    n: int
    raters: int
    bounds: tuple[float, float] = (-1.0, 1.0)
    is_share: bool = False
    information: float = 1.0
    at_most: bool = False
    note: str | None = None

    @property
    def value(self) -> float:
        """The value with every answer counted once; NaN if undefined."""
        return float(self.compute(self.data, np.ones((1, len(self.data))))[0])


def from_sums(combine: Callable[[Floats], Floats]) -> Callable[[Floats, Floats], Floats]:
    """Return the computation of a statistic that is a function of sums over answers.

    `combine` maps the sums of the data's columns, shape (m, k), to the statistic, shape (m,).
    """
    return lambda data, weights: combine(weights @ data)


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
    raters = count_raters(ratings)
    if raters < 2:
        return Undefined(f"{raters or 'no'} rater{'' if raters == 1 else 's'}; agreement is between two or more")
    if not ((~np.isnan(ratings)).sum(axis=1) >= 2).any():
        return Undefined("no answer was rated by two raters")
    return None


def explain_unmeasurable_or_constant(ratings: Floats) -> Undefined | None:
    """Return the reason of `explain_unmeasurable`, or that all ratings are equal, so that chance agreement is 1."""
    if reason := explain_unmeasurable(ratings):
        return reason
    given = ratings[~np.isnan(ratings)]
    if (given == given[0]).all():
        return Undefined(f"all ratings are {given[0]:g}; agreement beyond chance needs differences between answers")
    return None


def count_raters(ratings: Floats) -> int:
    """Return how many raters gave a rating."""
    return int((~np.isnan(ratings)).any(axis=0).sum())


def count_information(ratings: Floats) -> float:
    """Return how many yes-or-no answers with an even chance each answer is worth to a chance-corrected coefficient.

    With k raters an answer is k / 2 pairs' worth. Where nearly all ratings are of one category, most answers say
    little: raters who guess would agree on them. A pair then counts in proportion to how often guesses differ, 1 where
    that is half the time or more.
    """
    _, counts = np.unique(ratings[~np.isnan(ratings)], return_counts=True)
    differing = 1 - float(((counts / counts.sum()) ** 2).sum())
    given = (~np.isnan(ratings)).sum(axis=1)
    return min(1.0, 2 * differing) * float(given[given >= 2].mean()) / 2


MAX_GROUPS = 2000
"""Maximum number of jackknife groups of questions. Grouping does not change the variance, as questions are
independent; from this many groups it is estimated to within 3%."""


def find_intervals(statistics: Sequence[AgreementStatistic], ratings: Floats, codes: Counts) -> list[Interval | None]:
    """Return the interval of each statistic by the jackknife over questions (`intervals.score_interval`).

    The statistics have a value and are about the same answers, whose questions the codes number from 0. Answers that
    were rated alike, by the same raters, are counted together: on a grid there are few different ones. None where there
    is only one question, or the statistic is undefined without almost any single question.
    """
    questions = int(codes.max()) + 1
    if questions < 2:
        return [None] * len(statistics)
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

    left_out = leave_out_clusters(compute, codes[order], most=MAX_GROUPS)
    independent = questions == len(codes)
    return [
        wilson_interval(statistic.value, statistic.n, quantile=normal_quantile(CONFIDENCE))
        if statistic.is_share and independent
        else score_interval(
            statistic.value,
            column,
            bounds=statistic.bounds,
            size=statistic.information * min(questions, statistic.n),
            at_most=statistic.information * statistic.n if statistic.at_most else np.inf,
        )
        for statistic, column in zip(statistics, left_out.T, strict=True)
    ]
