"""Coefficients of one pair of columns and how much each row moves them, in O(n log n).

The influence of a row is the derivative of the coefficient by the row's weight, at weight 1: the empirical influence
function over n (Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, section 6.3, "infinitesimal
jackknife"). Influences of rows that belong together are added. The root of the sum of their squares is a standard
error, and their skewness is the acceleration of a BCa interval (Efron 1987, section 6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.study.correlation.pairs import count_pairs

if TYPE_CHECKING:
    from imapeval.study.bootstrap import Floats
    from imapeval.study.data.findings import CoefficientName


class InfluencedCoefficient(NamedTuple):
    """A coefficient, NaN where it is undefined, and the influence of each row on it, shape (n,)."""

    value: float
    rows: Floats


def correlate_with_influences(
    name: CoefficientName, x: Floats, y: Floats, *, epsilon: float = 0.0
) -> InfluencedCoefficient:
    """Return a coefficient and the influences of the rows.

    Args:
        name: Which; any but soft pairwise accuracy.
        x: The scores, finite, shape (n,).
        y: The ratings, finite, shape (n,).
        epsilon: The tie threshold of x; for pairwise accuracy only.
    """
    if name == "pearson":
        return _influence_products(x - x.mean(), y - y.mean())
    if name == "spearman":
        return _influence_spearman(x, y)
    if name == "pairwise_accuracy":
        return _influence_accuracy(x, y, epsilon)
    return _influence_kendall(name, x, y)


def average_ranks(side: Floats) -> Floats:
    """Return the average ranks, 1..n."""
    _, level, size = np.unique(side, return_inverse=True, return_counts=True)
    return (np.cumsum(size) - (size - 1) / 2)[level]


def _influence_products(
    a: Floats, b: Floats, a_more: Floats | float = 0.0, b_more: Floats | float = 0.0
) -> InfluencedCoefficient:
    """Return Pearson's correlation of two centred columns.

    The last two are what the sums of a b, of a^2 and of b^2 gain because a row's weight moves the others' ranks.
    """
    together, a_spread, b_spread = float(a @ b), float(a @ a), float(b @ b)
    if not (a_spread > 0 and b_spread > 0):
        return InfluencedCoefficient(np.nan, np.zeros(len(a)))
    by = np.sqrt(a_spread) * np.sqrt(b_spread)
    value = together / by
    rows = a * b / by - value * (a * a / a_spread + b * b / b_spread) / 2
    return InfluencedCoefficient(float(np.clip(value, -1.0, 1.0)), rows + a_more + b_more)


def _influence_spearman(x: Floats, y: Floats) -> InfluencedCoefficient:
    middle = (len(x) + 1) / 2
    a, b = average_ranks(x) - middle, average_ranks(y) - middle
    plain = _influence_products(a, b)
    if np.isnan(plain.value):
        return plain
    a_spread, b_spread = float(a @ a), float(b @ b)
    by = np.sqrt(a_spread) * np.sqrt(b_spread)
    # One more of row k lifts the ranks of the rows above it by 1 and of those tied with it by 1/2.
    a_more = _sum_above(x, b) / by - plain.value * _sum_above(x, a) / a_spread
    b_more = _sum_above(y, a) / by - plain.value * _sum_above(y, b) / b_spread
    return InfluencedCoefficient(plain.value, plain.rows + a_more + b_more)


def _sum_above(side: Floats, values: Floats) -> Floats:
    """Return for each row the sum of the values of the rows above it, and half of those tied with it."""
    _, level = np.unique(side, return_inverse=True)
    by_level = np.bincount(level, weights=values)
    return (by_level.sum() - np.cumsum(by_level) + by_level / 2)[level]


def _influence_kendall(name: CoefficientName, x: Floats, y: Floats) -> InfluencedCoefficient:
    n = len(x)
    pairs = count_pairs(x, y)
    surplus = (pairs.concordant - pairs.discordant).astype(np.float64)
    total = float(surplus.sum())
    if name == "kendall_tau_c":
        levels = min(len(np.unique(x)), len(np.unique(y)))
        if levels < 2:
            return InfluencedCoefficient(np.nan, np.zeros(n))
        scale = levels / (levels - 1) / n**2
        return InfluencedCoefficient(total * scale, 2 * scale * (surplus - total / n))
    x_apart, y_apart = n - 1.0 - pairs.tied_x, n - 1.0 - pairs.tied_y
    x_total, y_total = float(x_apart.sum()), float(y_apart.sum())
    if not (x_total > 0 and y_total > 0):
        return InfluencedCoefficient(np.nan, np.zeros(n))
    by = np.sqrt(x_total) * np.sqrt(y_total)
    value = total / by
    rows = 2 * surplus / by - value * (x_apart / x_total + y_apart / y_total)
    return InfluencedCoefficient(float(np.clip(value, -1.0, 1.0)), rows)


def _influence_accuracy(x: Floats, y: Floats, epsilon: float) -> InfluencedCoefficient:
    n = len(x)
    if n < 2:
        return InfluencedCoefficient(np.nan, np.zeros(n))
    pairs = count_pairs(x, y, epsilon=epsilon)
    right = (pairs.concordant + pairs.tied_both).astype(np.float64)
    value = float(right.sum()) / (n * (n - 1))
    return InfluencedCoefficient(value, 2 * (right - value * (n - 1)) / (n * (n - 1)))
