"""Coefficients of weighted rows: many columns with many others, in many resamples at once.

A row of weight w counts as w equal rows: that is what a bootstrap resample is. Every column is ranked once per
resample, whatever it is correlated with, and the rest is matrix products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.study.correlation.pairs import tie_tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from imapeval.study.bootstrap import Counts, Floats
    from imapeval.study.data.findings import CoefficientName

    Singles = npt.NDArray[np.float32]
    Drawn = npt.NDArray[np.number[Any]]


_CELLS = 4_000_000
"""Most numbers of a matrix at a time: 32 MB."""


def weighted_correlation(
    name: CoefficientName,
    x: Floats,
    y: Floats,
    drawn: Drawn,
    *,
    codes: Counts,
    epsilon: Floats | None = None,
) -> Floats:
    """Return the coefficient of each column of x with each of y in each resample.

    Args:
        name: Which; any but soft pairwise accuracy.
        x: The scores, finite, shape (p, n).
        y: The ratings, finite, shape (q, n).
        drawn: How often each cluster of rows was drawn, shape (m, clusters).
        codes: The cluster of each row, a column of `drawn`, shape (n,).
        epsilon: Tie thresholds for pairwise accuracy, shape (p, q); None stands for 0.

    Returns:
        Shape (m, p, q); NaN where x or y is constant among the rows drawn.
    """
    if name in ("spearman", "pearson"):
        prepare = _rank if name == "spearman" else _centre
        at_once = max(1, _CELLS // (x.shape[1] * (len(x) + len(y))))
        parts = [
            _weigh_products(x, y, drawn[start : start + at_once, codes].astype(np.float64), prepare)
            for start in range(0, len(drawn), at_once)
        ]
        return np.concatenate(parts)
    if name == "pairwise_accuracy":
        return _weigh_accuracy(x, y, drawn, codes, np.zeros((len(x), len(y))) if epsilon is None else epsilon)
    return _weigh_kendall(name, x, y, drawn, codes)


def _weigh_products(x: Floats, y: Floats, weights: Floats, prepare: Callable[[Floats, Floats], Floats]) -> Floats:
    """Correlate what `prepare` makes of a column: shape (m, n), with the weighted mean 0."""
    a, b = (np.stack([prepare(column, weights) for column in side], axis=1) for side in (x, y))
    weighed = b * weights[:, None, :]
    together = a @ weighed.transpose(0, 2, 1)
    b_spread = np.einsum("mqn,mqn->mq", b, weighed)
    a_spread = ((a * a) @ weights[:, :, None])[:, :, 0]
    return _divide(together, a_spread[:, :, None], b_spread[:, None, :])


def _rank(side: Floats, weights: Floats) -> Floats:
    """Return the average rank of each row in each weighting, less their mean: shape (m, n)."""
    order = np.argsort(side, kind="stable")
    level, last = _levels(side[order])
    up_to = weights[:, order].cumsum(axis=1)[:, last]
    size = np.diff(up_to, axis=1, prepend=0)
    ranks = np.empty_like(weights)
    # The mean rank is known, and exact in floating point: a constant side gives a spread of exactly 0.
    ranks[:, order] = (up_to - (size - 1) / 2 - (up_to[:, -1:] + 1) / 2)[:, level]
    return ranks


def _centre(side: Floats, weights: Floats) -> Floats:
    near = side - side.mean()
    centred = near - (weights @ near / np.maximum(weights.sum(axis=1), 1))[:, None]
    # Where only equal numbers were drawn, what is left of them is rounding.
    rounding = 8 * np.spacing(np.abs(side).max())
    drawn_apart = np.where(weights > 0, np.abs(centred), 0).max(axis=1, keepdims=True) > rounding
    return np.where(drawn_apart, centred, 0.0)


def _weigh_kendall(name: CoefficientName, x: Floats, y: Floats, drawn: Drawn, codes: Counts) -> Floats:
    y_signs = [_signs(column, 0.0) for column in y]
    # The sums count every pair of rows twice, once in each order; so do the pairs that are told apart.
    surplus = np.stack(
        [
            _sum_pairs([signs * others for others in y_signs], drawn, codes)
            for signs in (_signs(column, 0.0) for column in x)
        ],
        axis=1,
    )
    weights = drawn[:, codes].astype(np.float64)
    total = weights.sum(axis=1)
    if name == "kendall_tau_c":
        levels = [np.stack([(_level_sizes(column, weights) > 0).sum(axis=1) for column in side], 1) for side in (x, y)]
        fewest = np.minimum(levels[0][:, :, None], levels[1][:, None, :])
        scale = np.divide(fewest, fewest - 1, out=np.full(fewest.shape, np.nan), where=fewest > 1)
        return surplus * scale / np.maximum(total, 1)[:, None, None] ** 2
    x_tied, y_tied = (
        np.stack([(_level_sizes(column, weights) ** 2).sum(axis=1) for column in side], 1) for side in (x, y)
    )
    pairs = total[:, None] ** 2
    return _divide(surplus, (pairs - x_tied)[:, :, None], (pairs - y_tied)[:, None, :])


def _weigh_accuracy(x: Floats, y: Floats, drawn: Drawn, codes: Counts, epsilon: Floats) -> Floats:
    y_signs = [_signs(column, 0.0) for column in y]
    by_metric: list[Floats] = []
    for column, thresholds in zip(x, epsilon.tolist(), strict=True):
        same = [
            (_signs(column, tie_tolerance(column, threshold)) == signs).astype(np.float32)
            for threshold, signs in zip(thresholds, y_signs, strict=True)
        ]
        for matrix in same:
            np.fill_diagonal(matrix, 0)  # a row is no pair with its own copies
        by_metric.append(_sum_pairs(same, drawn, codes))
    right = np.stack(by_metric, axis=1)
    weights = drawn[:, codes].astype(np.float64)
    pairs = (weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1))[:, None, None]
    return np.divide(right, pairs, out=np.full_like(right, np.nan), where=pairs > 0)


def _sum_pairs(of: Sequence[Singles], drawn: Drawn, codes: Counts) -> Floats:
    """Return the sums over all ordered pairs of rows drawn of some matrices of shape (n, n): shape (m, matrices)."""
    clusters = drawn.shape[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    present = codes[order][starts]
    # Rows of a cluster are drawn together: their pairs are added up once, before all resamples.
    wide = np.zeros((clusters, len(of), clusters), dtype=np.float32)
    for number, matrix in enumerate(of):
        ordered = matrix[order][:, order]
        if len(starts) < len(order):
            ordered = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
        wide[present[:, None], number, present] = ordered
    flat = wide.reshape(clusters, -1)
    at_once = max(1, _CELLS // flat.shape[1])
    parts: list[Floats] = []
    for start in range(0, len(drawn), at_once):
        # Single precision halves memory and time, and is exact here: the sums are whole numbers below 2**24 for
        # fewer than 4,096 rows.
        weights = drawn[start : start + at_once].astype(np.float32)
        by_row = (weights @ flat).reshape(len(weights), len(of), clusters)
        parts.append((by_row @ weights[:, :, None])[:, :, 0].astype(np.float64))
    return np.concatenate(parts)


def _signs(side: Floats, reach: float) -> Singles:
    apart = side[:, None] - side[None, :]
    return np.sign(np.where(np.abs(apart) > reach, apart, 0.0)).astype(np.float32)


def _level_sizes(side: Floats, weights: Floats) -> Floats:
    """Return how much weight lies on each different number, shape (m, levels)."""
    order = np.argsort(side, kind="stable")
    _, last = _levels(side[order])
    return np.diff(weights[:, order].cumsum(axis=1)[:, last], axis=1, prepend=0)


def _levels(ordered: Floats) -> tuple[Counts, Counts]:
    """Return the number of the run of equal values each row stands in, and where each run ends."""
    ends = np.append(ordered[1:] != ordered[:-1], True)
    return np.cumsum(ends) - ends, np.flatnonzero(ends)


def _divide(together: Floats, x_spread: Floats, y_spread: Floats) -> Floats:
    defined = (x_spread > 0) & (y_spread > 0)
    # Two roots, not the root of the product, which loses digits where both are large.
    by = np.sqrt(x_spread) * np.sqrt(y_spread)
    coefficient = np.divide(together, by, out=np.full_like(together, np.nan), where=defined)
    return np.clip(coefficient, -1.0, 1.0)
