"""Pearson's r, and Spearman's rho, which is Pearson's r of the average ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.base import MAX_CELLS, Coefficient, InfluencedCoefficient, Sums, group_ties

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats, WholeNumbers


class Pearson(Coefficient):
    """Pearson's r."""

    name = "pearson"
    title = "Pearson's r"
    source = (
        "Pearson 1896, Mathematical Contributions to the Theory of Evolution III: Regression, Heredity, and Panmixia, "
        "Philosophical Transactions of the Royal Society A 187"
    )

    def weighted(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        return self.resample(x[None], y[None], weights, codes=np.arange(len(x)))[:, 0, 0]

    def resample(
        self, x: Floats, y: Floats, drawn: WholeNumbers, *, codes: Counts, epsilon: Floats | None = None
    ) -> Floats:
        at_once = max(1, MAX_CELLS // (x.shape[1] * (len(x) + len(y))))
        blocks = [drawn[start : start + at_once, codes] for start in range(0, len(drawn), at_once)]
        return np.concatenate([self._sum(x[None], y[None], block.astype(np.float64)).combine() for block in blocks])

    def in_groups(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> Floats:
        there = ~(np.isnan(x) | np.isnan(y))
        x, y = (np.where(there, side, 0.0)[:, None] for side in (x, y))
        return self._sum(x, y, there.astype(np.float64)).combine()[:, 0, 0]

    def with_influences(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        a, b = (self.centre(side[None], np.ones((1, len(x))))[0] for side in (x, y))
        return Sums(a @ b, a @ a, b @ b).influence(Sums(a * b, a * a, b * b))

    def centre(self, side: Floats, weights: Floats) -> Floats:
        """Return numbers minus their weighted mean; exactly 0 where all numbers with positive weight are equal.

        `side` has the shape (m, n), or (1, n) for the same numbers under all weights.
        """
        near = side - side.mean(axis=-1, keepdims=True)
        size = np.maximum(weights.sum(axis=-1, keepdims=True), 1)
        centred = near - (weights * near).sum(axis=-1, keepdims=True) / size
        # Equal numbers leave only rounding error, which is set to 0.
        rounding = 8 * np.spacing(np.abs(side).max(axis=-1, keepdims=True))
        varies = np.where(weights > 0, np.abs(centred), 0).max(axis=-1, keepdims=True) > rounding
        return np.where(varies, centred, 0.0)

    def _sum(self, x: Floats, y: Floats, weights: Floats) -> Sums:
        """Return the sums of products, shapes (m, p, q).

        x has the shape (m, p, n), or (1, p, n) for the same numbers under all weights, y (m, q, n) or (1, q, n).
        """
        a, b = (
            np.stack([self.centre(side[:, column], weights) for column in range(side.shape[1])], axis=1)
            for side in (x, y)
        )
        weighted = b * weights[:, None]
        x_spread = ((a * a) @ weights[:, :, None])[..., 0]
        y_spread = np.einsum("mqn,mqn->mq", b, weighted)
        return Sums(a @ weighted.transpose(0, 2, 1), x_spread[:, :, None], y_spread[:, None, :])


class Spearman(Pearson):
    """Spearman's rho."""

    name = "spearman"
    title = "Spearman's rho"
    source = (
        "Spearman 1904, The Proof and Measurement of Association between Two Things, American Journal of Psychology 15"
    )

    def centre(self, side: Floats, weights: Floats) -> Floats:
        """Return the average rank of each number minus the mean rank; exact for whole-number weights."""
        return group_ties(side, weights).rank()

    def with_influences(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        (x_level, a), (y_level, b) = (_rank(side) for side in (x, y))
        # Adding a copy of row k raises the ranks of the rows above it by 1 and of those tied with it by 1/2.
        change = Sums(
            a * b + _sum_above(x_level, b) + _sum_above(y_level, a),
            a * a + 2 * _sum_above(x_level, a),
            b * b + 2 * _sum_above(y_level, b),
        )
        return Sums(a @ b, a @ a, b @ b).influence(change)


def _rank(side: Floats) -> tuple[Counts, Floats]:
    """Return the place of each number among the different ones, and its average rank less the mean rank."""
    _, level, size = np.unique(side, return_inverse=True, return_counts=True)
    return level, (np.cumsum(size) - (size + len(side)) / 2)[level]


def _sum_above(level: Counts, values: Floats) -> Floats:
    """Return for each row the sum of the values of the rows above it, and half of those tied with it."""
    by_level = np.bincount(level, weights=values)
    return (by_level.sum() - np.cumsum(by_level) + by_level / 2)[level]


def average_ranks(side: Floats) -> Floats:
    """Return the average ranks, 1..n."""
    return _rank(side)[1] + (len(side) + 1) / 2
