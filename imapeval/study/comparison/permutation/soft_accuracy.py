"""Metric against metric by soft pairwise accuracy (`correlation.soft_pairwise_accuracy`)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.study.bootstrap import RESAMPLES, iterate_resamples
from imapeval.study.comparison.permutation.swaps import Contrast, average_dimensions, count_extreme, draw_swaps
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.soft_pairwise_accuracy import (
    approximate_p_values,
    normal_p_values,
    permutation_p_values,
    soft_accuracy,
)
from imapeval.study.data.findings import MIN_SYSTEMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, Float32s, MetricPairs

_PAIRS = 128
"""Pairs of metrics at a time: their permuted p-values then stay in the processor's cache."""


def contrast_soft_accuracy(
    answers: ComparedAnswers, pairs: MetricPairs, *, seed: int, permutations: int, confidence: float = 0.95
) -> Contrast:
    """Compare metrics by their soft pairwise accuracy.

    As in the Metrics Shared Task of WMT, scores are given mean 0 and variance 1 over all answers and swapped between
    the metrics, but those of a question together. Several answers of a system to a question are averaged first. The
    accuracies are those of `correlate`; the test and the interval, a percentile bootstrap of questions, take the normal
    approximation of the p-values that an accuracy is made of, in place of 1,000 permutations for each permutation.
    Intervals say something from `MIN_SYSTEMS` systems on; of fewer they are as wide as can be.

    Args:
        answers: With finite scores.
        pairs: Which metrics are compared.
        seed: Random seed.
        permutations: Number of permutations, and of resamples, but of these `RESAMPLES` at most.
        confidence: Confidence level.
    """
    questions, dimensions = int(answers.questions.max()) + 1, answers.ratings.shape[1]
    metrics, count, resamples = answers.scores.shape[1], len(pairs.first), min(permutations, RESAMPLES)
    cells = _build(answers)
    values, near = np.full((dimensions, metrics), np.nan), np.full((dimensions, metrics), np.nan)
    replicates = np.full((resamples, dimensions, metrics), np.nan)
    for cell in cells:
        generator = np.random.default_rng(seed)
        exact = [permutation_p_values(*pair, generator=generator) for pair in combinations(cell.systems, 2)]
        numbers = np.concatenate(cell.systems)
        constant = np.nanmax(numbers, axis=0) == np.nanmin(numbers, axis=0)
        found = cell.accuracies(np.stack(exact, axis=-1))
        values[cell.dimensions] = np.where(constant[:metrics] | constant[metrics:, None], np.nan, found)
        near[cell.dimensions] = cell.accuracies(cell.once)
        if len(cell.systems) < MIN_SYSTEMS:
            continue
        at = 0
        for drawn in iterate_resamples(questions, seed=seed, resamples=resamples):
            part = approximate_p_values(cell.systems, drawn.astype(np.float64))
            replicates[at : at + len(drawn), cell.dimensions] = cell.accuracies(part)
            at += len(drawn)
    use = ~np.isnan(values[:, pairs.first]) & ~np.isnan(values[:, pairs.second])
    defined = use.astype(np.int64)
    first, second, one, other = (
        average_dimensions(np.where(use, table[:, side], 0.0), defined)
        for table in (values, near)
        for side in (pairs.first, pairs.second)
    )
    apart = one - other
    larger = np.zeros(apart.shape, dtype=np.int64)
    for swaps in draw_swaps(questions, seed=seed, permutations=permutations):
        swapped = [cell.swap(swaps) for cell in cells]
        for block in _block_pairs(count):
            sums = np.zeros((dimensions, len(swaps), len(pairs.first[block])))
            for cell, moments in zip(cells, swapped, strict=True):
                sums[cell.dimensions] = cell.contrast(moments, pairs.first[block], pairs.second[block])
            sums = np.where(use[:, None, block], sums, 0.0).swapaxes(1, 2)
            larger[:, block] += count_extreme(sums, apart[:, block], defined[:, block])
    known = ~np.isnan(apart) & (questions > 1)
    low, high = _find_ends(replicates, pairs, use, tail=(1 - confidence) / 2)
    return Contrast(
        first=first,
        second=second,
        low=np.where(known, low, np.nan),
        high=np.where(known, high, np.nan),
        p=np.where(np.isnan(apart), np.nan, (larger + 1) / (permutations + 1)),
        groups=np.append(np.ones(dimensions, dtype=np.int64), dimensions),
        defined=np.concatenate([defined, defined.sum(axis=0, keepdims=True)]),
    )


class _Moments(NamedTuple):
    """Sums over questions of m metrics' numbers and of their squares, before a swap, and with the swaps' signs.

    The scores of two metrics and their squares, swapped, are half of the sum of the two and half of their difference
    with a sign: so the sums of all pairs follow from those of the metrics.

    Attributes:
        sums, squares: Shape (m,).
        signed_sums, signed_squares: Shape (b, m).
        size: Number of questions.
    """

    sums: Floats
    squares: Floats
    signed_sums: Floats
    signed_squares: Floats
    size: int

    def swap(self, first: Counts, second: Counts, side: int) -> tuple[Floats, Floats]:
        """Return the sums and the squares of pairs of metrics, of the first one's side or, for -1, of the other's."""
        sums, squares = (
            (plain[first] + plain[second]) / 2 + side * (signed[:, first] - signed[:, second]) / 2
            for plain, signed in ((self.sums, self.signed_sums), (self.squares, self.signed_squares))
        )
        return sums, np.maximum(squares, 0.0)


@dataclass(frozen=True, slots=True)
class _Cell:
    """Dimensions in which the same answers are rated.

    Attributes:
        dimensions: Which.
        systems: By system the means by question of standard scores, then ratings: shape (questions, m + dimensions).
        once: The p-values of all pairs of systems, by the normal approximation, shape (m + dimensions, pairs).
    """

    dimensions: list[int]
    systems: list[Floats]
    once: Floats

    def accuracies(self, ps: Floats) -> Floats:
        """Return soft accuracies of p-values of shape (..., m + dimensions, pairs): shape (..., dimensions, m)."""
        metrics = ps.shape[-2] - len(self.dimensions)
        return soft_accuracy(ps[..., metrics:, :], ps[..., :metrics, :])

    def swap(self, swaps: Float32s) -> list[tuple[_Moments, ...]]:
        """Return for each pair of systems the moments of their differences, or of each where none can be taken."""
        signs, metrics = swaps.astype(np.float64), self.systems[0].shape[1] - len(self.dimensions)
        found: list[tuple[_Moments, ...]] = []
        for one, other in combinations([system[:, :metrics] for system in self.systems], 2):
            has_one, has_other = ~np.isnan(one[:, 0]), ~np.isnan(other[:, 0])
            if (shared := has_one & has_other).any():
                found.append((_add_up(one - other, signs, shared),))
            else:
                found.append((_add_up(one, signs, has_one), _add_up(other, signs, has_other)))
        return found

    def contrast(self, moments: Sequence[tuple[_Moments, ...]], first: Counts, second: Counts) -> Floats:
        """Return the differences in accuracy of pairs of metrics after swaps, shape (dimensions, b, p)."""
        ratings = self.once[-len(self.dimensions) :]
        total = np.zeros((len(self.dimensions), len(moments[0][0].signed_sums), len(first)))
        for number, of_pair in enumerate(moments):
            for side in (1, -1):
                ps = normal_p_values(*_standardise([one.swap(first, second, side) for one in of_pair], of_pair))
                for d, rating in enumerate(ratings[:, number].tolist()):
                    total[d] -= side * np.abs(ps - rating)
        return total / len(moments)


def _add_up(numbers: Floats, signs: Floats, there: np.ndarray) -> _Moments:
    if not there.all():
        numbers, signs = numbers[there], signs[:, there]
    squares = numbers**2
    return _Moments(numbers.sum(axis=0), squares.sum(axis=0), signs @ numbers, signs @ squares, len(numbers))


def _standardise(sums: Sequence[tuple[Floats, Floats]], moments: Sequence[_Moments]) -> tuple[Floats, Floats]:
    """Return the differences between two systems, and their variances when permuted."""
    if len(sums) == 1:
        return sums[0]
    (x, xx), (y, yy) = sums
    sizes = [one.size for one in moments]
    total = sum(sizes)
    spread = np.maximum((xx + yy) / total - ((x + y) / total) ** 2, 0)
    return x / sizes[0] - y / sizes[1], spread * total / (sizes[0] * sizes[1])


def _build(answers: ComparedAnswers) -> list[_Cell]:
    """Return the cells with enough systems."""
    questions = int(answers.questions.max()) + 1
    spread = answers.scores.std(axis=0)
    scores = (answers.scores - answers.scores.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores[:, (answers.scores == answers.scores[0]).all(axis=0)] = 0.0
    rated = ~np.isnan(answers.ratings)
    alike: dict[bytes, list[int]] = {}
    for dimension, there in enumerate(rated.T):
        alike.setdefault(there.tobytes(), []).append(dimension)
    cells: list[_Cell] = []
    for dimensions in alike.values():
        there = rated[:, dimensions[0]]
        systems: list[Floats] = []
        for system in np.unique(answers.systems[there]).tolist():
            rows = there & (answers.systems == system)
            columns = np.column_stack([scores[rows], answers.ratings[rows][:, dimensions]])
            codes = answers.questions[rows]
            sums = np.stack([np.bincount(codes, column, minlength=questions) for column in columns.T], axis=1)
            size = np.bincount(codes, minlength=questions)[:, None]
            systems.append(np.divide(sums, size, out=np.full_like(sums, np.nan), where=size > 0))
        if len(systems) >= find_coefficient("soft_pairwise_accuracy").min_rows:
            once = approximate_p_values(systems, np.ones((1, questions)))[0]
            cells.append(_Cell(dimensions, systems, once))
    return cells


def _block_pairs(count: int) -> Iterator[slice]:
    for start in range(0, count, _PAIRS):
        yield slice(start, min(count, start + _PAIRS))


def _find_ends(replicates: Floats, pairs: MetricPairs, use: np.ndarray, *, tail: float) -> tuple[Floats, Floats]:
    """Return both ends of the intervals, shape (d + 1, p).

    Args:
        replicates: Accuracies in each resample, shape (b, d, m); an undefined one counts as the lowest possible
            difference for the lower end and as the highest for the upper end.
        pairs: Which metrics are compared.
        use: Which pairs have accuracies, shape (d, p).
        tail: Share of the resamples beyond each end.
    """
    ends = np.empty((2, len(use) + 1, use.shape[1]))
    for block in _block_pairs(use.shape[1]):
        apart = replicates[..., pairs.first[block]] - replicates[..., pairs.second[block]]
        for side, (at, fill) in enumerate(((tail, -1.0), (1 - tail, 1.0))):
            filled = np.where(np.isnan(apart), fill, apart) * use[:, block]
            together = filled.sum(axis=1, keepdims=True) / np.maximum(use[:, block].sum(axis=0), 1)
            ends[side][:, block] = np.quantile(np.concatenate([filled, together], axis=1), at, axis=0)
    return ends[0], ends[1]
