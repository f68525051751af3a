"""Statistics of robustness as pure functions of weighted rows, for the bootstrap.

A row of weight w stands for w equal rows, as everywhere in `imapeval.study`: that is what a resample is.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.icc import measure_icc
from imapeval.study.arrays import divide, find_signs
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats

_ROWS_AT_ONCE = 1024
"""Rows of the n x n matrix of pairs that are held at a time: 20 MB at n = 5,000, as `coefficients` has it."""

_ROUNDING = 1e-13
"""Share of a number that may be rounding: a few hundred units in the last place of 53 bits."""


def weighted_mean(values: Floats, weights: Floats) -> Floats:
    """Return the mean of values, shape (n,), by each row of weights, shape (m, n), none of which is all 0."""
    return (weights @ values) / weights.sum(axis=1)


def weighted_sd(values: Floats, weights: Floats) -> Floats:
    """Return the standard deviation of values, shape (n,), by each row of weights, shape (m, n); NaN for one row."""
    # Near 0, so that the difference of the sums keeps its digits.
    centred, size = values - values.mean(), weights.sum(axis=1)
    squares = weights @ centred**2
    apart = squares - (weights @ centred) ** 2 / size
    # Exactly 0 where only equal values have weight.
    return np.sqrt(divide(np.where(apart > _ROUNDING * squares, apart, 0), size - 1))


def reversed_pairs_share(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return the share of pairs of rows that stand one way round in x and the other way round in y. O(n^2).

    Pairs that are equal in x have no order to lose and do not count; pairs that are equal in y alone count, and are not
    reversed. The share has the shape (m,), NaN where all of x is equal.
    """
    # Single precision halves memory and time, and is exact here: every sum is a whole number below 2**24.
    small = weights.astype(np.float32)
    against, ordered = np.zeros(len(weights)), np.zeros(len(weights))
    for start in range(0, len(x), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        order = np.sign(x[block, None] - x[None, :]).astype(np.float32)
        turned = (order * np.sign(y[block, None] - y[None, :]) < 0).astype(np.float32)
        against += (weights[:, block] * (small @ turned.T)).sum(axis=1)
        ordered += (weights[:, block] * (small @ np.abs(order).T)).sum(axis=1)
    return divide(against, ordered)


def weighted_icc(table: Floats, weights: Floats) -> Floats:
    """Return ICC(1): the share of the variance of scores that lies between the units. The rest lies within them.

    It is `measure_icc`, model 1, of repetitions in place of raters. The table has a row per unit and a column per
    repetition; NaN where there is no score, at least one in each row. The ICC, shape (m,), is at most 1, and below 0
    where units differ less than their repetitions do; NaN where all scores are equal, there is one unit, or none was
    repeated.
    """
    statistic = measure_icc(table, model=1)
    if isinstance(statistic, Undefined):
        return np.full(len(weights), np.nan)
    return statistic.compute(statistic.data, weights)


def within_unit_sd(table: Floats, weights: Floats) -> Floats:
    """Return the standard deviation within a unit, the root of its mean square, shape (m,); NaN for none."""
    there = ~np.isnan(table)
    filled = np.where(there, table, 0)
    sizes = there.sum(axis=1).astype(np.float64)
    apart = np.where(there, table - (filled.sum(axis=1) / sizes)[:, None], 0)
    # What is left of equal scores is rounding.
    apart[np.abs(apart) <= _ROUNDING * np.abs(filled).max()] = 0
    return np.sqrt(divide(weights @ (apart**2).sum(axis=1), weights @ (sizes - 1)))


def reversed_systems_share(table: Floats, systems: Counts, weights: Floats) -> Floats:
    """Return how often two systems swap places from one repetition to another, shape (m,).

    A system's place is by its mean score. Of all pairs of systems and pairs of repetitions it is the share in which one
    system is ahead in one repetition and behind in the other; NaN where a system has no unit. The table, without gaps,
    has a row per unit and a column per repetition, at least two; units have the numbers of their systems.
    """
    membership = np.eye(int(systems.max()) + 1)[systems]
    counts = weights @ membership
    sums = np.stack([weights @ (membership * column[:, None]) for column in table.T])
    means = divide(sums, counts)
    swapped = [
        find_signs(means[one, :, a] - means[one, :, b]) * find_signs(means[other, :, a] - means[other, :, b]) < 0
        for one, other in combinations(range(table.shape[1]), 2)
        for a, b in combinations(range(membership.shape[1]), 2)
    ]
    return np.where((counts > 0).all(axis=1), np.mean(swapped, axis=0), np.nan)
