"""What all statistics of agreement are: a function of how often each answer counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.arrays import Floats
    from imapeval.study.bootstrap import Interval

RELATIVE_ZERO = 1e-12
"""A variation below this share of what it was computed from is rounding: doubles hold 16 digits, and sums over
100,000 answers lose up to three."""


@dataclass(frozen=True, slots=True)
class AgreementStatistic:
    """A measure of agreement: what each answer brings, and what is made of it.

    Attributes:
        data: Of the answers, shape (answers, k).
        compute: Of the data and of whole-number weights, shape (m, answers): the value under each row of weights,
            shape (m,); NaN where it is undefined. An answer of weight w stands for w equal ones.
        n: Answers that say something, such as those with two ratings.
        raters: Raters that went in.
        bounds: What the value lies between.
        formula: The ends of an interval that is known without resampling, from the confidence; None where none is.
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
        """With every answer counted once; NaN where it is undefined."""
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
    """Return the ratings of each answer, lowest first, and how many it has: for where it does not matter who rated.

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
