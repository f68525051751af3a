"""Soft pairwise accuracy: whether a metric distinguishes systems with the same confidence as the raters.

Thompson, Mathur, Deutsch and Khayrallah 2024, "Improving Statistical Significance in Human Evaluation of Automatic
Metrics via Soft Pairwise Accuracy": 1 minus the mean, over pairs of systems, of the difference between two p-values of
"the first is better than the second", one from the metric's scores and one from the ratings.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.arrays import average_known, divide
from imapeval.study.correlation.base import MAX_CELLS, Coefficient
from imapeval.study.correlation.estimates import Estimates, explain_few_systems, fill_undefined, find_blocks
from imapeval.study.intervals.bootstrap import iterate_resamples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.correlation.estimates import Block, Columns

PERMUTATIONS = 1000
"""Number of permutations, as in Thompson et al. 2024."""


def permutation_p_values(first: Floats, second: Floats, *, generator: np.random.Generator) -> Floats:
    """Return p-values of "the first system is better than the second", by permutation, shape (columns,).

    On questions that both answered, their answers are swapped at random (paired). Where they have no question in
    common, answers are assigned to the systems at random. A system has a row per question, NaN where it did not answer,
    and a column per metric or dimension; all columns share the permutations.

    A p-value is the share of permutations, the observed arrangement among them, with a larger difference, and half of
    those with the same one (mid-p; Lancaster 1961). So tied systems have .5 whichever comes first, where the reference
    implementation, which counts all ties, has 1.
    """
    has_first, has_second = ~np.isnan(first[:, 0]), ~np.isnan(second[:, 0])
    if (shared := has_first & has_second).any():
        numbers = first[shared] - second[shared]
        observed = numbers.sum(axis=0)
        signs = generator.integers(2, size=(PERMUTATIONS, len(numbers))) * 2.0 - 1
        null = signs @ numbers
        rounding = 1e-12 * np.abs(numbers).sum(axis=0)
    else:
        one, other = first[has_first], second[has_second]
        numbers = np.concatenate([one, other])
        observed = one.mean(axis=0) - other.mean(axis=0)
        share = np.repeat([1 / len(one), -1 / len(other)], [len(one), len(other)])
        null = generator.permuted(np.tile(share, (PERMUTATIONS, 1)), axis=1) @ numbers
        rounding = 1e-12 * np.abs(numbers).max(axis=0)
    # Sums in a different order differ by rounding; equal values must count as equal.
    larger, at_least = (null > observed + rounding).sum(axis=0), (null >= observed - rounding).sum(axis=0)
    return ((larger + at_least) / 2 + 0.5) / (PERMUTATIONS + 1)


def soft_accuracy(score_ps: Floats, rating_ps: Floats) -> Floats:
    """Return the soft pairwise accuracies, 0..1, of p-values of shapes (..., p, pairs) and (..., q, pairs).

    A pair of systems without p-values (NaN) is left out, such as one that shares no question in a resample.
    """
    apart = np.abs(score_ps[..., :, None, :] - rating_ps[..., None, :, :])
    return 1 - average_known(apart, axis=-1)


class SoftPairwiseAccuracy(Coefficient):
    """Soft pairwise accuracy; see the module."""

    name = "soft_pairwise_accuracy"
    title = "soft pairwise accuracy"
    source = (
        "Thompson, Mathur, Deutsch and Khayrallah 2024, Improving Statistical Significance in Human Evaluation of "
        "Automatic Metrics via Soft Pairwise Accuracy, WMT"
    )
    bounds = (0.0, 1.0)
    min_rows = 2
    system_level_only = True

    def estimate_between_systems(self, columns: Columns, *, seed: int, resamples: int) -> Estimates:
        """Return soft pairwise accuracies; several answers of a system to a question are averaged first.

        Replicates for the interval take the permutation test's normal approximation in place of 1,000 permutations
        each.
        """
        m, d, clusters = len(columns.metrics), len(columns.dimensions), columns.clusters
        values = np.full((m, d), np.nan)
        replicates = np.full((resamples, m, d), np.nan) if clusters > 1 else None
        reasons: dict[tuple[int, int], str] = {}
        for block in find_blocks(columns, np.arange(len(columns.questions))):
            places = block.metrics[:, None], block.dimensions
            systems = [_average(columns, block, system) for system in np.unique(columns.systems[block.rows]).tolist()]
            if len(systems) < self.min_rows:
                reason = explain_few_systems(len(systems), self.min_rows)
                reasons |= {(p, q): reason for p in block.metrics.tolist() for q in block.dimensions.tolist()}
                continue
            generator = np.random.default_rng(seed)
            ps = np.stack(
                [permutation_p_values(*pair, generator=generator) for pair in combinations(systems, 2)], axis=-1
            )
            found = soft_accuracy(ps[: len(block.metrics)], ps[len(block.metrics) :])
            values[places] = found
            numbers = np.concatenate(systems)
            constant = np.nanmax(numbers, axis=0) == np.nanmin(numbers, axis=0)
            for p, q in np.argwhere(constant[: len(block.metrics), None] | constant[len(block.metrics) :]).tolist():
                cell = int(block.metrics[p]), int(block.dimensions[q])
                values[cell], reasons[cell] = np.nan, "all scores or all ratings are equal"
            if replicates is None:
                continue
            at = 0
            at_once = max(1, MAX_CELLS // found.size // ps.shape[-1])
            for drawn in iterate_resamples(clusters, seed=seed, resamples=resamples):
                for start in range(0, len(drawn), at_once):
                    weights = drawn[start : start + at_once].astype(np.float64)
                    part = approximate_p_values(systems, weights)
                    accuracies = soft_accuracy(part[:, : len(block.metrics)], part[:, len(block.metrics) :])
                    replicates[at : at + len(weights), block.metrics[:, None], block.dimensions] = accuracies
                    at += len(weights)
        influences = np.zeros((clusters, m, d))
        groups, epsilons = np.ones((m, d), dtype=np.int64), np.full((m, d), np.nan)
        return Estimates(values, influences, fill_undefined(replicates, self.bounds), groups, epsilons, reasons)


def _average(columns: Columns, block: Block, system: int) -> Floats:
    """Return a system's mean scores and ratings by question: shape (questions, p + q), NaN where there is none."""
    rows = block.rows[columns.systems[block.rows] == system]
    numbers = np.hstack([columns.scores[rows][:, block.metrics], columns.ratings[rows][:, block.dimensions]])
    codes = columns.questions[rows]
    size = np.bincount(codes, minlength=columns.clusters)[:, None]
    sums = np.stack([np.bincount(codes, column, minlength=columns.clusters) for column in numbers.T], axis=1)
    return divide(sums, size)


def approximate_p_values(systems: Sequence[Floats], weights: Floats) -> Floats:
    """Return the p-values of all pairs of systems on weighted questions: shape (b, columns, pairs)."""
    return np.stack([_approximate_pair(*pair, weights) for pair in combinations(systems, 2)], axis=-1)


def _approximate_pair(first: Floats, second: Floats, weights: Floats) -> Floats:
    has_first, has_second = ~np.isnan(first[:, 0]), ~np.isnan(second[:, 0])
    if (shared := has_first & has_second).any():
        # Avoid a copy of the weights, which takes longer than the products.
        numbers, drawn = first[shared] - second[shared], weights if shared.all() else weights[:, shared]
        # Without a question that both answered there is no p-value.
        compared = drawn.sum(axis=1, keepdims=True) > 0
        return normal_p_values(drawn @ numbers, np.where(compared, drawn @ numbers**2, np.nan))
    one, other = first[has_first], second[has_second]
    one_drawn, other_drawn = weights[:, has_first], weights[:, has_second]
    sizes = [drawn.sum(axis=1, keepdims=True) for drawn in (one_drawn, other_drawn)]
    one_size, other_size = (np.where(size > 0, size, np.nan) for size in sizes)
    observed = one_drawn @ one / one_size - other_drawn @ other / other_size
    total = one_size + other_size
    mean = (one_drawn @ one + other_drawn @ other) / total
    spread = np.maximum((one_drawn @ one**2 + other_drawn @ other**2) / total - mean**2, 0)
    # Answers are assigned to the systems without replacement.
    return normal_p_values(observed, spread * total**2 / ((total - 1) * one_size * other_size))


def normal_p_values(observed: Floats, variance: Floats) -> Floats:
    """Return the p-values of "the first is better" for permuted differences with these variances and mean 0."""
    z = np.divide(observed, np.sqrt(variance), out=np.zeros_like(observed), where=variance > 0)
    # Without spread every permutation has the observed difference, and p is .5, as at 0.
    return np.where(np.isnan(variance), np.nan, np.interp(z, *_tabulate_tail()))


@cache
def _tabulate_tail() -> tuple[Floats, Floats]:
    """Return numbers and the share of the standard normal distribution above them.

    Linear interpolation between them errs by 8e-9 at most, and takes a tenth of the time of so many calls of `erfc`.
    """
    z = np.linspace(-9, 9, 36_001)
    return z, np.array([math.erfc(number / math.sqrt(2)) / 2 for number in z.tolist()])
