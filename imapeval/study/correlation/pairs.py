"""Counts concordant, discordant and tied pairs in O(n log n), and calibrates tie thresholds.

Kendall's coefficients and pairwise accuracy are shares of such pairs. A pair is concordant where both sides order it
alike, discordant where they order it the other way round, and tied on a side that does not tell the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats

_PAIRS = 500_000
"""Maximum number of pairs searched for a tie threshold: 1,000 answers. Of more, a random sample is
taken, in which a share of pairs has a standard error below .0008."""

_SAMPLE_SEED = 0
"""Seed of that sample: the threshold depends on the data, not on the seed of a bootstrap."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """For each row, the number of other rows with which it forms a pair of each kind. Shapes (n,).

    Attributes:
        concordant, discordant: Pairs that both sides order alike, and in opposite ways.
        tied_x, tied_y: Pairs tied on that side, tied on the other or not.
        tied_both: Pairs tied on both sides.
    """

    concordant: Counts
    discordant: Counts
    tied_x: Counts
    tied_y: Counts
    tied_both: Counts


def count_pairs(x: Floats, y: Floats, *, epsilon: float = 0.0) -> PairCounts:
    """Count the pairs of each row by kind; rows whose x differ by no more than epsilon are tied on x."""
    n = len(x)
    # Rows are counted in the order of x, so that successive look-ups are close together in memory.
    order = np.argsort(x)
    ordered = x[order]
    reach = tie_tolerance(x, epsilon)
    before = np.searchsorted(ordered, ordered - reach, side="left")
    up_to = np.searchsorted(ordered, ordered + reach, side="right")
    _, level, size = np.unique(y[order], return_inverse=True, return_counts=True)
    lower = np.concatenate([[0], np.cumsum(size)])[level]
    not_higher = lower + size[level]
    below = _RangeCounter(level, levels=len(size))
    x_below_y_below, x_below_y_not_above = below.count(before, level), below.count(before, level + 1)
    x_not_above_y_below, x_not_above_y_not_above = below.count(up_to, level), below.count(up_to, level + 1)
    tied_both = (x_not_above_y_not_above - x_not_above_y_below) - (x_below_y_not_above - x_below_y_below)
    counts = np.empty((5, n), dtype=np.int64)
    counts[:, order] = (
        x_below_y_below + (n - up_to) - (not_higher - x_not_above_y_not_above),
        (before - x_below_y_not_above) + (lower - x_not_above_y_below),
        up_to - before - 1,
        size[level] - 1,
        tied_both - 1,
    )
    return PairCounts(*counts)


def tie_tolerance(x: Floats, epsilon: float) -> float:
    """Return the threshold with room for rounding: it is itself a difference of two x, which must count as tied."""
    return epsilon + _rounding(x) if epsilon > 0 else 0.0


def _rounding(x: Floats) -> float:
    """Return how much two equal differences of these numbers may differ by rounding."""
    return 4 * float(np.spacing(np.nanmax(np.abs(x), initial=0.0)))


class _RangeCounter:
    """Counts how many of the first k numbers are below v, for many k and v at once.

    A wavelet matrix (Claude and Navarro 2012, "The Wavelet Matrix"): the numbers bit by bit, highest first, zeros
    sorted before ones after each bit.
    """

    def __init__(self, numbers: Counts, *, levels: int) -> None:
        self._ones: list[Counts] = []
        self._bits = range(levels.bit_length() - 1, -1, -1)
        for bit in self._bits:
            one = (numbers >> bit) & 1
            self._ones.append(np.concatenate([[0], np.cumsum(one)]))
            numbers = np.concatenate([numbers[one == 0], numbers[one == 1]])

    def count(self, first: Counts, value: Counts) -> Counts:
        """Return for each query how many of the `first` numbers are below `value`, 0..levels. Shapes (queries,)."""
        count, start, end = np.zeros_like(first), np.zeros_like(first), first
        for bit, ones in zip(self._bits, self._ones, strict=True):
            is_one = ((value >> bit) & 1).astype(bool)
            start_ones, end_ones = ones[start], ones[end]
            start_zeros, end_zeros = start - start_ones, end - end_ones
            count += np.where(is_one, end_zeros - start_zeros, 0)
            zeros = len(ones) - 1 - ones[-1]
            start = np.where(is_one, zeros + start_ones, start_zeros)
            end = np.where(is_one, zeros + end_ones, end_zeros)
        return count


def calibrate_ties(x: Floats, y: Floats, *, groups: Counts | None = None) -> Floats:
    """Return the tie thresholds, shape (p, q), that give metrics their highest pairwise accuracy.

    Scores that differ by no more than the threshold then count as tied, so that metrics with and without ties can be
    compared (Deutsch, Foster and Freitag 2023, "Ties Matter", section 5 and algorithm 1). All differences are tried,
    and 0; of equally good thresholds the smallest is taken.

    Scores have the shape (p, n), ratings (q, n), both finite. Only rows of one group form pairs, and the mean of the
    groups' accuracies is made the highest; without groups all rows are one.
    """
    thresholds = np.zeros((len(x), len(y)))
    codes = np.zeros(x.shape[1], dtype=np.int64) if groups is None else groups
    first, second = _pair_up(x.shape[1], codes)
    if not len(first):
        return thresholds
    share = np.ones(len(first)) if groups is None else 1 / np.bincount(codes[first])[codes[first]]
    y_signs = [np.sign(side[first] - side[second]) for side in y]
    for p, side in enumerate(x):
        difference = side[first] - side[second]
        apart, x_sign = np.abs(difference), np.sign(difference)
        order = np.argsort(apart)
        apart = apart[order]
        last = np.append(np.diff(apart) > _rounding(side), True)
        tried = np.append(0.0, apart[last])
        for q, y_sign in enumerate(y_signs):
            gain = ((y_sign == 0).astype(np.float64) - (x_sign == y_sign)) * share
            gains = np.append(0.0, np.cumsum(gain[order])[last])
            # Gains are sums of fractions such as 1/3, so those of equally good thresholds differ by rounding.
            thresholds[p, q] = tried[np.argmax(gains >= gains.max() - 1e-9)]
    return thresholds


def _pair_up(n: int, groups: Counts) -> tuple[Counts, Counts]:
    """Return the rows of the pairs within groups, or of a sample of them."""
    order = np.argsort(groups, kind="stable")
    place = np.arange(n)
    ends = np.searchsorted(groups[order], groups[order], side="right")
    partners = ends - place - 1
    total = int(partners.sum())
    if total <= _PAIRS:
        first = np.repeat(place, partners)
        offset = np.arange(total) - np.repeat(np.cumsum(partners) - partners, partners)
    else:
        generator = np.random.default_rng(_SAMPLE_SEED)
        picked = np.sort(generator.integers(total, size=_PAIRS))  # neighbours are found faster
        first = np.searchsorted(np.cumsum(partners), picked, side="right")
        offset = picked - (np.cumsum(partners) - partners)[first]
    return order[first], order[first + 1 + offset]
