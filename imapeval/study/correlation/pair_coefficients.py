"""Coefficients that count pairs of answers: Kendall's tau-b and tau-c, and pairwise accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.base import MAX_CELLS, Coefficient, InfluencedCoefficient, Sums, group_ties
from imapeval.study.correlation.pairs import count_pairs, tie_tolerance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Counts, Float32s, Floats, WholeNumbers
    from imapeval.study.correlation.pairs import PairCounts


class KendallTauB(Coefficient):
    """Kendall's tau-b, which corrects for ties on both sides.

    The sums are over ordered pairs of rows, so that every pair counts twice.
    """

    name = "kendall_tau_b"
    title = "Kendall's tau-b"
    source = "Kendall 1945, The Treatment of Ties in Ranking Problems, Biometrika 33"
    counts_pairs = True

    def weighted(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        return self.resample(x[None], y[None], weights, codes=np.arange(len(x)))[:, 0, 0]

    def resample(
        self, x: Floats, y: Floats, drawn: WholeNumbers, *, codes: Counts, epsilon: Floats | None = None
    ) -> Floats:
        thresholds = np.zeros((len(x), len(y))) if epsilon is None else epsilon
        y_signs = [_signs(column, 0.0) for column in y]
        by_column: list[Floats] = []
        for column, own in zip(x, thresholds.tolist(), strict=True):
            x_signs = {threshold: _signs(column, tie_tolerance(column, threshold)) for threshold in set(own)}
            compared = [self._compare(x_signs[threshold], signs) for threshold, signs in zip(own, y_signs, strict=True)]
            by_column.append(_sum_drawn_pairs(compared, drawn, codes))
        return self._scale(np.stack(by_column, axis=1), x[None], y[None], drawn[:, codes].astype(np.float64)).combine()

    def in_groups(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> Floats:
        reach = tie_tolerance(x, epsilon)
        at_once = max(1, MAX_CELLS // 2 // x.shape[1] ** 2)
        parts = [np.empty(0)]
        for start in range(0, len(x), at_once):
            block = slice(start, start + at_once)
            there = ~(np.isnan(x[block]) | np.isnan(y[block]))
            a, b = (np.where(there, side[block], 0.0) for side in (x, y))
            both = there[:, :, None] & there[:, None, :]
            together = np.where(both, self._compare(_signs(a, reach), _signs(b, 0.0)), 0.0).sum(
                axis=(1, 2), dtype=np.float64
            )
            sums = self._scale(together[:, None, None], a[:, None], b[:, None], there.astype(np.float64))
            parts.append(sums.combine()[:, 0, 0])
        return np.concatenate(parts)

    def with_influences(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        pairs = count_pairs(x, y, epsilon=epsilon)
        counted = self._count(pairs).astype(np.float64)
        shape = 1, 1, 1
        sums = self._scale(counted.sum().reshape(shape), x[None, None], y[None, None], np.ones((1, len(x))))
        total = Sums(*(side.reshape(()) for side in sums))
        return total.influence(Sums(2 * counted, *self._change_spread(pairs, total)))

    def _compare(self, x_signs: Float32s, y_signs: Float32s) -> Float32s:
        """Return the contribution of each ordered pair of rows, shape (..., n, n)."""
        return x_signs * y_signs

    def _count(self, pairs: PairCounts) -> Counts:
        """Return the summed contributions of each row's pairs, shape (n,)."""
        return pairs.concordant - pairs.discordant

    def _scale(self, together: Floats, x: Floats, y: Floats, weights: Floats) -> Sums:
        """Return the sums behind the coefficient, from the summed contributions of the pairs, shape (m, p, q).

        x has the shape (m, p, n), or (1, p, n) for the same numbers under all weights, y (m, q, n) or (1, q, n).
        """
        total = weights.sum(axis=1, keepdims=True) ** 2
        x_spread, y_spread = (
            total - np.stack([group_ties(column, weights).sum_squares() for column in side.swapaxes(0, 1)], axis=1)
            for side in (x, y)
        )
        return Sums(together, x_spread[:, :, None], y_spread[:, None, :])

    def _change_spread(self, pairs: PairCounts, sums: Sums) -> tuple[Floats, Floats]:
        """Return the derivatives of both spreads by the weights of the rows, shapes (n,)."""
        x_change, y_change = (2.0 * (len(tied) - 1 - tied) for tied in (pairs.tied_x, pairs.tied_y))
        return x_change.astype(np.float64), y_change.astype(np.float64)


class KendallTauC(KendallTauB):
    """Kendall's (Stuart's) tau-c, for scales of different lengths."""

    name = "kendall_tau_c"
    title = "Kendall's tau-c"
    source = (
        "Stuart 1953, The Estimation and Comparison of Strengths of Association in Contingency Tables, Biometrika 40"
    )

    def _scale(self, together: Floats, x: Floats, y: Floats, weights: Floats) -> Sums:
        levels = [
            np.stack([group_ties(column, weights).count_weighted() for column in side.swapaxes(0, 1)], axis=1)
            for side in (x, y)
        ]
        fewest = np.maximum(np.minimum(levels[0][:, :, None], levels[1][:, None, :]), 1)
        spread = weights.sum(axis=1)[:, None, None] ** 2 * (fewest - 1) / fewest
        return Sums(together, spread, spread)

    def _change_spread(self, pairs: PairCounts, sums: Sums) -> tuple[Floats, Floats]:
        n = len(pairs.tied_x)
        change = np.full(n, 2 * sums.x_spread / n)
        return change, change


class PairwiseAccuracy(KendallTauB):
    """The share of pairs that scores and ratings order alike, ties being right where both have them.

    acc_eq of Deutsch, Foster and Freitag 2023, "Ties Matter" (equation 7).
    """

    name = "pairwise_accuracy"
    title = "pairwise accuracy"
    source = (
        "Deutsch, Foster and Freitag 2023, Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie "
        "Calibration, EMNLP"
    )
    bounds = (0.0, 1.0)
    min_rows = 2
    calibrates_ties = True

    def _compare(self, x_signs: Float32s, y_signs: Float32s) -> Float32s:
        # A row forms no pair with its own copies.
        return (x_signs == y_signs).astype(np.float32) - np.eye(x_signs.shape[-1], dtype=np.float32)

    def _count(self, pairs: PairCounts) -> Counts:
        return pairs.concordant + pairs.tied_both

    def _scale(self, together: Floats, x: Floats, y: Floats, weights: Floats) -> Sums:
        pairs = (weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1))[:, None, None]
        return Sums(together, pairs, pairs)

    def _change_spread(self, pairs: PairCounts, sums: Sums) -> tuple[Floats, Floats]:
        change = np.full(len(pairs.tied_x), 2 * (len(pairs.tied_x) - 1.0))
        return change, change


class PairsInOrder(KendallTauB):
    """The share of pairs of unequal ratings that the scores put in the same order; equal scores count half.

    Harrell's C (Harrell, Lee and Mark 1996, Statistics in Medicine 15, 361-387) without censoring: (D + 1) / 2, with D
    Somers' d of the scores given the ratings.
    """

    name = "pairs_in_order"
    title = "share of pairs in the right order"
    source = "Harrell, Lee and Mark 1996, Multivariable Prognostic Models, Statistics in Medicine 15"
    bounds = (0.0, 1.0)
    min_rows = 2

    def _compare(self, x_signs: Float32s, y_signs: Float32s) -> Float32s:
        # Numerator and denominator are doubled, so that all values are whole numbers.
        return x_signs * y_signs + np.abs(y_signs)

    def _count(self, pairs: PairCounts) -> Counts:
        return pairs.concordant - pairs.discordant + len(pairs.tied_y) - 1 - pairs.tied_y

    def _scale(self, together: Floats, x: Floats, y: Floats, weights: Floats) -> Sums:
        spread = 2 * super()._scale(together, x, y, weights).y_spread
        return Sums(together, spread, spread)

    def _change_spread(self, pairs: PairCounts, sums: Sums) -> tuple[Floats, Floats]:
        _, change = super()._change_spread(pairs, sums)
        return 2 * change, 2 * change


def _sum_drawn_pairs(compared: Sequence[Float32s], drawn: WholeNumbers, codes: Counts) -> Floats:
    """Return the sums of matrices, shape (n, n), over all ordered pairs of drawn rows: shape (m, matrices)."""
    clusters = drawn.shape[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    present = codes[order][starts]
    # Rows of a cluster are drawn together, so their pairs are summed once, before resampling.
    wide = np.zeros((clusters, len(compared), clusters), dtype=np.float32)
    for number, matrix in enumerate(compared):
        ordered = matrix[order][:, order]
        if len(starts) < len(order):
            ordered = np.add.reduceat(np.add.reduceat(ordered, starts, axis=0), starts, axis=1)
        wide[present[:, None], number, present] = ordered
    flat = wide.reshape(clusters, -1)
    at_once = max(1, MAX_CELLS // flat.shape[1])
    parts: list[Floats] = []
    for start in range(0, len(drawn), at_once):
        # Single precision halves memory and time. Sums of whole numbers are exact in it up to 2**24: for up to 4,096
        # rows drawn, 2,896 in `PairsInOrder`, whose pairs count up to 2; for more, to seven digits.
        weights = drawn[start : start + at_once].astype(np.float32)
        by_row = (weights @ flat).reshape(len(weights), len(compared), clusters)
        parts.append((by_row @ weights[:, :, None])[:, :, 0].astype(np.float64))
    return np.concatenate(parts)


def _signs(side: Floats, reach: float) -> Float32s:
    """Return how each pair of rows is ordered, shape (..., n, n): -1, 1, or 0 where no more than reach apart."""
    apart = side[..., :, None] - side[..., None, :]
    return np.sign(np.where(np.abs(apart) > reach, apart, 0.0)).astype(np.float32)
