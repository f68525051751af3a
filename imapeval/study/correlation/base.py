"""The interface of correlation coefficients, and the formula that the built-in ones share.

Every coefficient of this package is a sum over rows, or over pairs of rows, divided by the spread of both sides:

    together / sqrt(x spread * y spread)

They differ in what they sum (`product_moment`, `pair_coefficients`). The influence of a row on a coefficient follows
from the derivatives of the sums by the row's weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats, WholeNumbers
    from imapeval.study.correlation.estimates import Columns, Estimates

MIN_ROWS = 3
"""Minimum number of rows: two always correlate perfectly or not at all."""

MAX_CELLS = 4_000_000
"""Maximum number of values held in a matrix at a time: 32 MB."""


class Sums(NamedTuple):
    """The sums behind a coefficient. Their shapes broadcast to the shape of the coefficients."""

    together: Floats
    x_spread: Floats
    y_spread: Floats

    @property
    def _norm(self) -> Floats:
        # Two roots, because the product overflows where both are large; equal spreads need none and stay exact.
        roots = np.sqrt(self.x_spread) * np.sqrt(self.y_spread)
        return np.where(self.x_spread == self.y_spread, self.x_spread, roots)

    def combine(self) -> Floats:
        """Return the coefficients, -1..1; NaN where a side does not vary."""
        defined = (self.x_spread > 0) & (self.y_spread > 0)
        found = np.divide(self.together, self._norm, out=np.full_like(self.together, np.nan), where=defined)
        return np.clip(found, -1.0, 1.0)

    def influence(self, change: Sums) -> InfluencedCoefficient:
        """Return the coefficient of one pair of columns and its derivative by each row's weight.

        `change` holds the derivatives of the sums by the weights of the rows, shape (n,) each.
        """
        value = float(self.combine())
        if np.isnan(value):
            return InfluencedCoefficient(value, np.zeros(len(change.together)))
        rows = change.together / self._norm
        rows -= value / 2 * (change.x_spread / self.x_spread + change.y_spread / self.y_spread)
        return InfluencedCoefficient(value, rows)


class InfluencedCoefficient(NamedTuple):
    """A coefficient, NaN where it is undefined, and the influence of each row on it, shape (n,)."""

    value: float
    rows: Floats


class Coefficient:
    """A coefficient of agreement between scores and ratings.

    A subclass defines the attributes and `weighted`; the other methods call it repeatedly. The built-in coefficients
    override them with faster ones.

    Attributes:
        name: Name in options, tables and files.
        title: Name for display.
        source: Publication that describes it, as the page of a study names it; "" for none.
        bounds: Lowest and highest possible value.
        min_rows: Minimum number of answers (or systems, at system level).
        counts_pairs: Whether it is a share of pairs of answers (see `intervals` for the consequence).
        calibrates_ties: Whether it takes the threshold up to which scores count as tied (`pairs.calibrate_ties`).
        system_level_only: Whether it compares systems, not answers.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str] = ""
    bounds: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    min_rows: ClassVar[int] = MIN_ROWS
    counts_pairs: ClassVar[bool] = False
    calibrates_ties: ClassVar[bool] = False
    system_level_only: ClassVar[bool] = False

    def weighted(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        """Return the coefficient under each row of weights, shape (m,); NaN where it is undefined.

        Args:
            x: The scores, finite, shape (n,).
            y: The ratings, finite, shape (n,).
            weights: Whole numbers, shape (m, n): a row of weight w counts as w equal rows.
        """
        raise NotImplementedError

    def resample(
        self, x: Floats, y: Floats, drawn: WholeNumbers, *, codes: Counts, epsilon: Floats | None = None
    ) -> Floats:
        """Return the coefficient of each column of x with each of y in each resample.

        Args:
            x: The scores, finite, shape (p, n).
            y: The ratings, finite, shape (q, n).
            drawn: How often each cluster of rows was drawn, shape (m, clusters).
            codes: The cluster of each row, a column of `drawn`, shape (n,).
            epsilon: Tie thresholds where the coefficient calibrates ties, shape (p, q); None stands for 0.

        Returns:
            Shape (m, p, q); NaN where x or y is constant among the rows drawn.
        """
        weights = drawn[:, codes].astype(np.float64)
        return np.stack([np.stack([self.weighted(a, b, weights) for b in y], axis=-1) for a in x], axis=1)

    def in_groups(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> Floats:
        """Return the coefficient within each of many small groups.

        Args:
            x: The scores, shape (groups, k); rows where a side is NaN are left out.
            y: The ratings, shape (groups, k).
            epsilon: The tie threshold of x where the coefficient calibrates ties.

        Returns:
            Shape (groups,); NaN where it is undefined.
        """
        there = ~(np.isnan(x) | np.isnan(y))
        groups = zip(x, y, there, strict=True)
        found = [self.weighted(a[at], b[at], np.ones((1, at.sum())))[0] if at.any() else np.nan for a, b, at in groups]
        return np.array(found, dtype=np.float64)

    def with_influences(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        """Return the coefficient and how much each row moves it.

        The influence of a row is the derivative of the coefficient by the row's weight, at weight 1: the empirical
        influence function over n (Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, section 6.3,
        "infinitesimal jackknife"). Influences of rows that belong together are added. The root of the sum of their
        squares is a standard error, and their skewness is the acceleration of a BCa interval (Efron 1987, section 6).

        Unless a subclass overrides this, each row is left out in turn (the jackknife), in O(n^2).

        Args:
            x: The scores, finite, shape (n,).
            y: The ratings, finite, shape (n,).
            epsilon: The tie threshold of x where the coefficient calibrates ties.
        """
        n = len(x)
        value = float(self.weighted(x, y, np.ones((1, n)))[0])
        if np.isnan(value):
            return InfluencedCoefficient(value, np.zeros(n))
        at_once = max(1, MAX_CELLS // n)
        parts = [
            self.weighted(x, y, 1.0 - np.eye(min(at_once, n - start), n, k=start)) for start in range(0, n, at_once)
        ]
        left_out = np.concatenate(parts)
        return InfluencedCoefficient(value, np.nan_to_num(np.nanmean(left_out) - left_out))

    def estimate_between_systems(self, columns: Columns, *, seed: int, resamples: int) -> Estimates | None:
        """Return estimates between systems; None for those of the systems' means (`group_correlation`)."""
        return None


class TieGroups(NamedTuple):
    """The groups of equal numbers in a side, in ascending order.

    Attributes:
        level: The group of each row, shape (m, n) or (1, n).
        size: Weight of each group, shape (m, groups); 0 for a group that does not exist.
        middle: Average rank in each group less the mean rank of all, shape (m, groups).
    """

    level: Counts
    size: Floats
    middle: Floats

    def rank(self) -> Floats:
        """Return the average rank of each row less the mean rank of all, shape (m, n)."""
        if len(self.level) == 1:
            return np.take(self.middle, self.level[0], axis=1)
        return np.take_along_axis(self.middle, self.level, axis=1)

    def count_weighted(self) -> Counts:
        """Return the number of groups with positive weight, shape (m,)."""
        return (self.size > 0).sum(axis=1)

    def sum_squares(self) -> Floats:
        """Return the sum of the squared weights of the groups, shape (m,)."""
        return (self.size**2).sum(axis=1)


def group_ties(side: Floats, weights: Floats) -> TieGroups:
    """Group the equal numbers in a side, of shape (m, n), or (1, n) for the same numbers under all weights."""
    order = np.argsort(side, axis=1, kind="stable")
    ordered = np.take_along_axis(side, order, axis=1)
    changes = ordered[:, 1:] != ordered[:, :-1]
    ordered_level = np.zeros_like(order)
    np.cumsum(changes, axis=1, out=ordered_level[:, 1:])
    level = np.empty_like(order)
    np.put_along_axis(level, order, ordered_level, axis=1)
    if len(side) == 1:
        last = np.flatnonzero(np.append(changes, True))
        up_to = np.take(np.take(weights, order[0], axis=1).cumsum(axis=1), last, axis=1)
        size = np.diff(up_to, axis=1, prepend=0.0)
    else:
        cells = level + side.shape[1] * np.arange(len(side))[:, None]
        summed = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=cells.size)
        size = summed.astype(np.float64, copy=False).reshape(cells.shape)
        up_to = size.cumsum(axis=1)
    return TieGroups(level, size, up_to - (size + up_to[:, -1:]) / 2)
