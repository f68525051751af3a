"""Metric against metric by soft pairwise accuracy (`correlation.soft_pairwise_accuracy`)."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import iterate_resamples
from imapeval.study.comparison.permutation.swaps import Contrast, average_dimensions, count_extreme, draw_swaps
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.soft_pairwise_accuracy import (
    approximate_p_values,
    normal_p_values,
    permutation_p_values,
    soft_accuracy,
)

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, Float32s, MetricPairs


def contrast_soft_accuracy(
    answers: ComparedAnswers, pairs: MetricPairs, *, seed: int, permutations: int, confidence: float = 0.95
) -> Contrast:
    """Compare metrics by their soft pairwise accuracy.

    As in the Metrics Shared Task of WMT, scores are given mean 0 and variance 1 over all answers and swapped between
    the metrics, but those of a question together. Several answers of a system to a question are averaged first. The
    accuracies are those of `correlate`; the test and the interval, a percentile bootstrap of questions, take the normal
    approximation of the p-values that an accuracy is made of, in place of 1,000 permutations for each permutation.

    Args:
        answers: With finite scores.
        pairs: Which metrics are compared.
        seed: Random seed.
        permutations: Number of permutations, and of resamples.
        confidence: Confidence level.
    """
    questions, dimensions, count = int(answers.questions.max()) + 1, answers.ratings.shape[1], len(pairs.first)
    values = np.full((dimensions, answers.scores.shape[1]), np.nan)
    observed = np.zeros((dimensions, count))
    replicates = np.full((dimensions, permutations, count), np.nan)
    tables = [_average(answers, dimension) for dimension in range(dimensions)]
    ratings: list[Floats] = []
    for d, systems in enumerate(tables):
        ratings.append(np.empty(0))
        if len(systems) < find_coefficient("soft_pairwise_accuracy").min_rows:
            continue
        generator = np.random.default_rng(seed)
        exact = np.stack([permutation_p_values(*pair, generator=generator) for pair in combinations(systems, 2)], -1)
        constant = np.nanmax(np.concatenate(systems), axis=0) == np.nanmin(np.concatenate(systems), axis=0)
        found = soft_accuracy(exact[:-1], exact[-1:])[:, 0]
        values[d] = np.where(constant[:-1] | constant[-1], np.nan, found)
        once = approximate_p_values(systems, np.ones((1, questions)))
        ratings[d] = once[:, -1:]
        near = soft_accuracy(once[:, :-1], ratings[d])[0, :, 0]
        observed[d] = near[pairs.first] - near[pairs.second]
        at = 0
        for drawn in iterate_resamples(questions, seed=seed, resamples=permutations):
            part = approximate_p_values(systems, drawn.astype(np.float64))
            accuracies = soft_accuracy(part[:, :-1], part[:, -1:])[..., 0]
            replicates[d, at : at + len(drawn)] = accuracies[:, pairs.first] - accuracies[:, pairs.second]
            at += len(drawn)
    use = ~np.isnan(values[:, pairs.first]) & ~np.isnan(values[:, pairs.second])
    defined = use.astype(np.int64)
    first, second = (
        average_dimensions(np.where(use, values[:, side], 0.0), defined) for side in (pairs.first, pairs.second)
    )
    apart = average_dimensions(np.where(use, observed, 0.0), defined)
    larger = np.zeros(apart.shape, dtype=np.int64)
    for swaps in draw_swaps(questions, seed=seed, permutations=permutations):
        sums = np.zeros((dimensions, count, len(swaps)))
        for d, p in np.argwhere(use).tolist():
            sums[d, p] = _swap(tables[d], int(pairs.first[p]), int(pairs.second[p]), swaps, ratings[d])
        larger += count_extreme(sums, apart, defined)
    known = ~np.isnan(apart) & (questions > 1)
    tail = (1 - confidence) / 2
    ends = [_find_end(replicates, use, at, fill) for at, fill in ((tail, -1.0), (1 - tail, 1.0))]
    return Contrast(
        first=first,
        second=second,
        low=np.where(known, ends[0], np.nan),
        high=np.where(known, ends[1], np.nan),
        p=np.where(np.isnan(apart), np.nan, (larger + 1) / (permutations + 1)),
        groups=np.append(np.ones(dimensions, dtype=np.int64), dimensions),
        defined=np.concatenate([defined, defined.sum(axis=0, keepdims=True)]),
    )


def _average(answers: ComparedAnswers, dimension: int) -> list[Floats]:
    """Return by system the means by question of standard scores, then ratings: shape (questions, m + 1)."""
    questions = int(answers.questions.max()) + 1
    spread = answers.scores.std(axis=0)
    scores = (answers.scores - answers.scores.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores[:, (answers.scores == answers.scores[0]).all(axis=0)] = 0.0
    columns = np.column_stack([scores, answers.ratings[:, dimension]])
    rated = ~np.isnan(answers.ratings[:, dimension])
    found: list[Floats] = []
    for system in np.unique(answers.systems[rated]).tolist():
        rows = rated & (answers.systems == system)
        codes: Counts = answers.questions[rows]
        sums = np.stack([np.bincount(codes, column[rows], minlength=questions) for column in columns.T], axis=1)
        size = np.bincount(codes, minlength=questions)[:, None]
        found.append(np.divide(sums, size, out=np.full_like(sums, np.nan), where=size > 0))
    return found


def _swap(systems: list[Floats], first: int, second: int, swaps: Float32s, ratings: Floats) -> Floats:
    """Return the difference in accuracy of two metrics in each permutation, shape (b,)."""
    signs = swaps.astype(np.float64)
    accuracies: list[Floats] = []
    for side in (signs, -signs):
        ps = np.stack([_swap_pair(*pair, first, second, side) for pair in combinations(systems, 2)], axis=-1)
        accuracies.append(soft_accuracy(ps[:, None, :], ratings)[:, 0, 0])
    return accuracies[0] - accuracies[1]


def _swap_pair(one: Floats, other: Floats, first: int, second: int, signs: Floats) -> Floats:
    """Return the p-values of two systems by the first metric's scores, swapped with the second's, shape (b,)."""
    middles = [(system[:, first] + system[:, second]) / 2 for system in (one, other)]
    halves = [(system[:, first] - system[:, second]) / 2 for system in (one, other)]
    has = [~np.isnan(middle) for middle in middles]
    if (shared := has[0] & has[1]).any():
        middle, half = ((sides[0] - sides[1])[shared] for sides in (middles, halves))
        return normal_p_values(*_sum(middle, half, signs[:, shared]))
    sizes = [int(there.sum()) for there in has]
    (x, xx), (y, yy) = (
        _sum(middle[there], half[there], signs[:, there])
        for middle, half, there in zip(middles, halves, has, strict=True)
    )
    total = sum(sizes)
    spread = np.maximum((xx + yy) / total - ((x + y) / total) ** 2, 0)
    return normal_p_values(x / sizes[0] - y / sizes[1], spread * total / (sizes[0] * sizes[1]))


def _sum(middle: Floats, half: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """Return the sums of the swapped numbers and of their squares, shape (b,) each."""
    squares = (middle**2 + half**2).sum() + signs @ (2 * middle * half)
    return middle.sum() + signs @ half, np.maximum(squares, 0.0)


def _find_end(replicates: Floats, use: np.ndarray, quantile: float, fill: float) -> Floats:
    """Return one end of the intervals, shape (d + 1, p); an undefined replicate counts as `fill`."""
    filled = np.where(np.isnan(replicates), fill, replicates) * use[:, None, :]
    together = filled.sum(axis=0, keepdims=True) / np.maximum(use.sum(axis=0), 1)
    return np.quantile(np.concatenate([filled, together]), quantile, axis=1)
