"""Rank correlations with ties: Spearman's rho and Kendall's tau-b, of one sample and of many resamples at once.

Both equal scipy's `spearmanr` and `kendalltau`, which the core install does without. The weighted forms treat a row
of weight w as w equal rows: that is what a bootstrap resample is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from imapeval.study.findings import CoefficientName
    from imapeval.study.resample import Floats


MIN_ROWS = 3
"""Two rows always correlate perfectly or not at all."""

_ROWS_AT_ONCE = 1024
"""Rows of the n x n sign matrix that are held at a time: 20 MB at n = 5,000."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no coefficient, because."""

    reason: str


Coefficient: TypeAlias = float | Undefined


def spearman(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """Return Spearman's rho: Pearson's correlation of the average ranks.

    Args:
        x: Finite numbers.
        y: Finite numbers, as many.

    Returns:
        -1..1; `Undefined` with fewer than `MIN_ROWS` rows or where x or y is constant.

    Raises:
        ValueError: The lengths differ or a number is not finite.
    """
    return _compute(weigh_spearman, x, y)


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """Return Kendall's tau-b, which corrects for ties on both sides. Vectorised O(n^2).

    Args:
        x: Finite numbers.
        y: Finite numbers, as many.

    Returns:
        -1..1; `Undefined` with fewer than `MIN_ROWS` rows or where x or y is constant.

    Raises:
        ValueError: The lengths differ or a number is not finite.
    """
    return _compute(weigh_kendall_tau_b, x, y)


def weigh_spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Spearman's rho for each row of whole-number weights, shape (m, n); NaN where x or y is constant."""
    total = weights.sum(axis=1, keepdims=True)
    # The mean rank is known, and exact in floating point: a constant side gives a spread of exactly 0.
    x_ranks, y_ranks = (_rank(side, weights) - (total + 1) / 2 for side in (x, y))
    together = (weights * x_ranks * y_ranks).sum(axis=1)
    x_spread, y_spread = ((weights * ranks**2).sum(axis=1) for ranks in (x_ranks, y_ranks))
    return _divide(together, x_spread, y_spread)


def weigh_kendall_tau_b(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Kendall's tau-b for each row of whole-number weights, shape (m, n); NaN where x or y is constant."""
    # Single precision halves memory and time, and is exact here: every sum is a whole number below 2**24.
    small = weights.astype(np.float32)
    surplus = np.zeros(len(weights))
    for start in range(0, len(x), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        signs = _signs(x, block) * _signs(y, block)
        surplus += (weights[:, block] * (small @ signs.T)).sum(axis=1)
    # `surplus` counts every pair of rows twice, once in each order, so the pairs are counted twice as well.
    x_pairs, y_pairs = (_untied_pairs(side, weights) for side in (x, y))
    return _divide(surplus, x_pairs, y_pairs)


BY_NAME: dict[CoefficientName, Callable[[Floats, Floats, Floats], Floats]] = {
    "spearman": weigh_spearman,
    "kendall_tau_b": weigh_kendall_tau_b,
}


def undefined(x: Floats, y: Floats, *, names: tuple[str, str] = ("x", "y")) -> Undefined | None:
    """Return why neither coefficient exists, or None where both do."""
    if len(x) < MIN_ROWS:
        return Undefined(f"{len(x)} rows are fewer than {MIN_ROWS}")
    for side, name in ((x, names[0]), (y, names[1])):
        if (side == side[0]).all():
            return Undefined(f"{name} is constant ({side[0]:g})")
    return None


def _compute(weigh: Callable[[Floats, Floats, Floats], Floats], x: Sequence[float], y: Sequence[float]) -> Coefficient:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"x has {len(a)} rows and y has {len(b)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("x and y must be finite; leave out rows without a number")
    return undefined(a, b) or float(weigh(a, b, np.ones((1, len(a))))[0])


def _rank(side: Floats, weights: Floats) -> Floats:
    """Return the average rank of each row in each weighting, shape (m, n)."""
    order = np.argsort(side, kind="stable")
    level, last = _levels(side[order])
    up_to = weights[:, order].cumsum(axis=1)[:, last]
    size = np.diff(up_to, axis=1, prepend=0)
    ranks = np.empty_like(weights)
    ranks[:, order] = (up_to - (size - 1) / 2)[:, level]
    return ranks


def _untied_pairs(side: Floats, weights: Floats) -> Floats:
    """Return the number of ordered pairs of rows that differ on this side, shape (m,)."""
    order = np.argsort(side, kind="stable")
    _, last = _levels(side[order])
    size = np.diff(weights[:, order].cumsum(axis=1)[:, last], axis=1, prepend=0)
    return weights.sum(axis=1) ** 2 - (size**2).sum(axis=1)


def _levels(ordered: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of the run of equal values each row stands in, and where each run ends."""
    ends = np.append(ordered[1:] != ordered[:-1], True)
    return np.cumsum(ends) - ends, np.flatnonzero(ends)


def _signs(side: Floats, block: slice) -> npt.NDArray[np.float32]:
    return np.sign(side[block, None] - side[None, :]).astype(np.float32)


def _divide(together: Floats, x_spread: Floats, y_spread: Floats) -> Floats:
    defined = (x_spread > 0) & (y_spread > 0)
    # Two roots, not the root of the product, which loses digits where both are large.
    by = np.sqrt(x_spread) * np.sqrt(y_spread)
    coefficient = np.divide(together, by, out=np.full_like(together, np.nan), where=defined)
    return np.clip(coefficient, -1.0, 1.0)
