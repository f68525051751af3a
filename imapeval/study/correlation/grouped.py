"""Coefficients of many small groups at once, such as the answers to each question or the means of each system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.pairs import tie_tolerance

if TYPE_CHECKING:
    from imapeval.study.bootstrap import Floats
    from imapeval.study.data.findings import CoefficientName

_CELLS = 2_000_000
"""Most pairs of rows at a time: 16 MB an array."""


def correlate_groups(name: CoefficientName, x: Floats, y: Floats, *, epsilon: float = 0.0) -> Floats:
    """Return the coefficient within each group.

    Args:
        name: Which; any but soft pairwise accuracy.
        x: The scores, shape (groups, k); rows where a side is NaN are left out.
        y: The ratings, shape (groups, k).
        epsilon: The tie threshold of x; for pairwise accuracy only.

    Returns:
        Shape (groups,); NaN where a side is constant, and for pairwise accuracy where there is no pair.
    """
    groups, k = x.shape
    reach = tie_tolerance(x, epsilon)
    at_once = max(1, _CELLS // k**2)
    parts = [
        _correlate(name, x[start : start + at_once], y[start : start + at_once], reach)
        for start in range(0, groups, at_once)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def _correlate(name: CoefficientName, x: Floats, y: Floats, reach: float) -> Floats:
    there = ~(np.isnan(x) | np.isnan(y))
    x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
    if name == "pearson":
        return _correlate_products(x, y, there)
    both = there[:, :, None] & there[:, None, :]
    x_signs, y_signs = (_signs(side, both, by) for side, by in ((x, reach), (y, 0.0)))
    if name == "spearman":
        # A row's rank is how many more rows are below it than above it, up to a shift and a factor.
        return _correlate_products(x_signs.sum(axis=2), y_signs.sum(axis=2), there)
    if name == "pairwise_accuracy":
        size = there.sum(axis=1)
        pairs = size * (size - 1.0)
        right = ((x_signs == y_signs) & both).sum(axis=(1, 2)) - size  # each row agrees with itself
        return np.divide(right, pairs, out=np.full(len(x), np.nan), where=pairs > 0)
    surplus = (x_signs * y_signs).sum(axis=(1, 2))
    if name == "kendall_tau_c":
        fewest = np.minimum(_count_levels(x_signs, both, there), _count_levels(y_signs, both, there))
        return np.divide(
            surplus * fewest,
            there.sum(axis=1) ** 2.0 * (fewest - 1),
            out=np.full(len(x), np.nan),
            where=fewest > 1,
        )
    x_apart, y_apart = (np.abs(signs).sum(axis=(1, 2)) for signs in (x_signs, y_signs))
    return _divide(surplus, x_apart, y_apart)


def _signs(side: Floats, both: np.ndarray, reach: float) -> Floats:
    apart = side[:, :, None] - side[:, None, :]
    return np.where(both & (np.abs(apart) > reach), np.sign(apart), 0.0)


def _correlate_products(x: Floats, y: Floats, there: np.ndarray) -> Floats:
    size = np.maximum(there.sum(axis=1, keepdims=True), 1)
    a, b = (np.where(there, side - side.sum(axis=1, keepdims=True) / size, 0.0) for side in (x, y))
    # What is left of a constant side is rounding.
    a, b = (
        np.where(np.abs(centred).max(axis=1, keepdims=True) > 8 * np.spacing(np.abs(side).max()), centred, 0.0)
        for centred, side in ((a, x), (b, y))
    )
    return _divide((a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1))


def _count_levels(signs: Floats, both: np.ndarray, there: np.ndarray) -> Floats:
    """Return how many different numbers each group has: rows that no earlier row equals."""
    equal = both & (signs == 0)
    earlier = np.tril(equal, k=-1).any(axis=2)
    return (there & ~earlier).sum(axis=1).astype(np.float64)


def _divide(together: Floats, x_spread: Floats, y_spread: Floats) -> Floats:
    defined = (x_spread > 0) & (y_spread > 0)
    by = np.sqrt(x_spread * y_spread)
    return np.clip(np.divide(together, by, out=np.full_like(together, np.nan), where=defined), -1.0, 1.0)
