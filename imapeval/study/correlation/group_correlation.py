"""Coefficients over answers taken together, within each question, and between systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.arrays import divide
from imapeval.study.correlation.coefficients import explain_undefined, find_coefficient
from imapeval.study.correlation.estimates import Estimates, explain_few_systems, fill_undefined, find_blocks
from imapeval.study.correlation.pairs import calibrate_ties
from imapeval.study.intervals.bootstrap import iterate_resamples

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.study.correlation.base import Coefficient
    from imapeval.study.correlation.estimates import Block, Columns
    from imapeval.study.data.findings import CoefficientName

    Draws = npt.NDArray[np.uint16]

_ROUNDING = 1e-12
"""Tolerance for equal sums, relative to the largest number: some 10,000 times the machine precision."""


def estimate_pooled(columns: Columns, rows: Counts, name: CoefficientName, *, draws: Draws | None) -> Estimates:
    """Correlate scores with ratings among the answers in some rows, taken together.

    `draws` says how often each question was drawn, shape (resamples, questions), which intervals of few answers need
    (BCa). With None there are no replicates, and intervals come from the influences of the questions; see `intervals`.
    """
    coefficient = find_coefficient(name)
    m, d = len(columns.metrics), len(columns.dimensions)
    values, epsilons = np.full((m, d), np.nan), np.full((m, d), np.nan)
    influences = np.zeros((columns.clusters, m, d))
    replicates = None if draws is None else np.full((len(draws), m, d), np.nan)
    reasons: dict[tuple[int, int], str] = {}
    for block in find_blocks(columns, rows):
        x, y = block.take(columns)
        codes = columns.questions[block.rows]
        thresholds = calibrate_ties(x, y) if coefficient.calibrates_ties else np.zeros((len(x), len(y)))
        defined = False
        for p, metric in enumerate(block.metrics.tolist()):
            for q, dimension in enumerate(block.dimensions.tolist()):
                own = columns.signs[metric] * x[p]
                if why := explain_undefined(own, y[q], names=("the score", "the rating"), minimum=coefficient.min_rows):
                    reasons[metric, dimension] = why.reason
                    continue
                defined = True
                epsilon = float(thresholds[p, q])
                if coefficient.calibrates_ties:
                    epsilons[metric, dimension] = epsilon
                values[metric, dimension], of_rows = coefficient.with_influences(x[p], y[q], epsilon=epsilon)
                influences[:, metric, dimension] = np.bincount(codes, of_rows, minlength=columns.clusters)
        if draws is not None and replicates is not None and defined:
            present, places = np.unique(codes, return_inverse=True)
            found = coefficient.resample(x, y, draws[:, present], codes=places, epsilon=thresholds)
            replicates[:, block.metrics[:, None], block.dimensions] = found
    groups = np.ones((m, d), dtype=np.int64)
    return Estimates(values, influences, fill_undefined(replicates, coefficient.bounds), groups, epsilons, reasons)


def estimate_within_questions(columns: Columns, name: CoefficientName, *, seed: int, resamples: int) -> Estimates:
    """Return the mean over questions of the coefficients among the answers to each.

    A question counts if enough answers by different systems have a score and a rating, and a coefficient exists.
    Questions are drawn with their coefficients. Pairwise accuracy has one tie threshold for all questions, as in
    Deutsch et al. 2023.
    """
    coefficient = find_coefficient(name)
    m, d, clusters = len(columns.metrics), len(columns.dimensions), columns.clusters
    found, epsilons = np.full((clusters, m, d), np.nan), np.full((m, d), np.nan)
    reasons: dict[tuple[int, int], str] = {}
    by_size = list(_gather_questions(columns.questions))
    for block in find_blocks(columns, np.arange(len(columns.questions))):
        systems = np.full(len(columns.systems), np.nan)
        systems[block.rows] = columns.systems[block.rows]
        few = [count_distinct(systems[rows]) < coefficient.min_rows for _, rows in by_size]
        thresholds = np.zeros((len(block.metrics), len(block.dimensions)))
        if coefficient.calibrates_ties:
            thresholds = calibrate_ties(*block.take(columns), groups=columns.questions[block.rows])
        for p, metric in enumerate(block.metrics.tolist()):
            for q, dimension in enumerate(block.dimensions.tolist()):
                if reason := _explain_constant(columns, metric, dimension, block.rows):
                    reasons[metric, dimension] = reason
                    continue
                epsilon = float(thresholds[p, q])
                if coefficient.calibrates_ties:
                    epsilons[metric, dimension] = epsilon
                x, y = columns.scores[:, metric], columns.ratings[:, dimension]
                for (questions, rows), too_few in zip(by_size, few, strict=True):
                    within = coefficient.in_groups(x[rows], y[rows], epsilon=epsilon)
                    found[questions, metric, dimension] = np.where(too_few, np.nan, within)
    defined = ~np.isnan(found)
    groups = defined.sum(axis=0)
    filled = np.where(defined, found, 0.0)
    values = divide(filled.sum(axis=0), groups)
    influences = np.where(defined, found - values, 0.0) / np.maximum(groups, 1)
    replicates = _draw_means(filled, defined, seed=seed, resamples=resamples) if clusters > 1 else None
    enough = f"{coefficient.min_rows} answers by different systems"
    for metric, dimension in np.argwhere(groups < clusters).tolist():
        left_out = clusters - int(groups[metric, dimension])
        reasons.setdefault(
            (metric, dimension),
            f"{left_out} of {clusters} questions are left out: fewer than {enough}, or scores or ratings all equal",
        )
    return Estimates(values, influences, fill_undefined(replicates, coefficient.bounds), groups, epsilons, reasons)


def _explain_constant(columns: Columns, metric: int, dimension: int, rows: Counts) -> str | None:
    """Return a reason if scores or ratings are constant, overall or within every question; else None.

    An accuracy would otherwise have a value, because it counts ties as right where ratings are tied too.
    """
    if len(rows) == 0:
        return None
    sides = {
        "the score": columns.signs[metric] * columns.scores[rows, metric],
        "the rating": columns.ratings[rows, dimension],
    }
    if why := explain_undefined(*sides.values(), names=("the score", "the rating"), minimum=1):
        return why.reason
    _, first, codes = np.unique(columns.questions[rows], return_index=True, return_inverse=True)
    for name, side in sides.items():
        if len(first) < len(rows) and (side == side[first][codes]).all():
            return f"{name} is constant within every question"
    return None


def _gather_questions(questions: Counts) -> Iterator[tuple[Counts, Counts]]:
    """Yield the questions with the same number of answers, and their rows: shapes (groups,), (groups, k)."""
    order = np.argsort(questions, kind="stable")
    size = np.bincount(questions)
    start = np.cumsum(size) - size
    for k in np.unique(size).tolist():
        alike = np.flatnonzero(size == k)
        yield alike, order[start[alike][:, None] + np.arange(k)]


def count_distinct(numbers: Floats) -> Counts:
    """Return how many different numbers each row has, NaN aside: shape (rows,)."""
    ordered = np.sort(numbers, axis=1)
    return (~np.isnan(ordered[:, 0])).astype(np.int64) + (np.diff(ordered, axis=1) > 0).sum(axis=1)


def _draw_means(filled: Floats, defined: Floats, *, seed: int, resamples: int) -> Floats:
    clusters, shape = len(filled), filled.shape[1:]
    flat, there = filled.reshape(clusters, -1), defined.reshape(clusters, -1).astype(np.float64)
    parts: list[Floats] = []
    for drawn in iterate_resamples(clusters, seed=seed, resamples=resamples):
        weights = drawn.astype(np.float64)
        parts.append(divide(weights @ flat, weights @ there))
    return np.concatenate(parts).reshape(resamples, *shape)


def estimate_between_systems(columns: Columns, name: CoefficientName, *, seed: int, resamples: int) -> Estimates:
    """Correlate the systems' mean scores with their mean ratings, over answers that have both.

    Questions are resampled and systems are fixed: an interval is about these systems on other questions. Pairwise
    accuracy is the share of pairs of systems that the means order alike (Kocmi et al. 2021), without tie calibration.
    """
    coefficient = find_coefficient(name)
    if (own := coefficient.estimate_between_systems(columns, seed=seed, resamples=resamples)) is not None:
        return own
    m, d = len(columns.metrics), len(columns.dimensions)
    values = np.full((m, d), np.nan)
    replicates = np.full((resamples, m, d), np.nan) if columns.clusters > 1 else None
    reasons: dict[tuple[int, int], str] = {}
    for block in find_blocks(columns, np.arange(len(columns.questions))):
        places = block.metrics[:, None], block.dimensions
        systems = len(np.unique(columns.systems[block.rows]))
        if systems < coefficient.min_rows:
            reason = explain_few_systems(systems, coefficient.min_rows)
        else:
            reason = "the systems' mean scores or mean ratings are all equal"
            values[places] = _correlate_means(columns, block, coefficient, np.ones((1, columns.clusters)))[0]
            if replicates is not None:
                parts = [
                    _correlate_means(columns, block, coefficient, drawn.astype(np.float64))
                    for drawn in iterate_resamples(columns.clusters, seed=seed, resamples=resamples)
                ]
                replicates[:, *places] = np.concatenate(parts)
        for metric, dimension in ((p, q) for p in block.metrics.tolist() for q in block.dimensions.tolist()):
            own, ratings = columns.signs[metric] * columns.scores[block.rows, metric], columns.ratings[block.rows]
            why = None
            if len(own):
                why = explain_undefined(own, ratings[:, dimension], names=("the score", "the rating"), minimum=1)
            if why is not None:
                values[metric, dimension] = np.nan
            if np.isnan(values[metric, dimension]):
                reasons[metric, dimension] = reason if why is None else why.reason
    # With few systems a coefficient is a step function of the question weights, so influences are 0.
    influences = np.zeros((columns.clusters, m, d))
    groups, epsilons = np.ones((m, d), dtype=np.int64), np.full((m, d), np.nan)
    return Estimates(values, influences, fill_undefined(replicates, coefficient.bounds), groups, epsilons, reasons)


def _correlate_means(columns: Columns, block: Block, coefficient: Coefficient, weights: Floats) -> Floats:
    """Return the coefficients of the systems' means, questions weighted by rows of `weights`: shape (b, p, q)."""
    systems = columns.systems[block.rows]
    present = np.unique(systems)
    x = np.full((len(weights), len(block.metrics), len(present)), np.nan)
    y = np.full((len(weights), len(block.dimensions), len(present)), np.nan)
    for place, system in enumerate(present.tolist()):
        rows = block.rows[systems == system]
        drawn = weights[:, columns.questions[rows]]
        total = drawn.sum(axis=1, keepdims=True)
        for side, table, numbers in ((x, columns.scores, block.metrics), (y, columns.ratings, block.dimensions)):
            side[:, :, place] = divide(drawn @ table[rows][:, numbers], total)
    # The rounding error of a mean scales with the largest value averaged.
    x = merge_ties(x, np.abs(columns.scores[block.rows][:, block.metrics]).max(axis=0, initial=0.0)[:, None])
    y = merge_ties(y, np.abs(columns.ratings[block.rows][:, block.dimensions]).max(axis=0, initial=0.0)[:, None])
    found = np.empty((len(weights), len(block.metrics), len(block.dimensions)))
    for p in range(len(block.metrics)):
        means = np.broadcast_to(x[:, p, None, :], y.shape)
        flat = coefficient.in_groups(means.reshape(-1, len(present)), y.reshape(-1, len(present)))
        found[:, p, :] = flat.reshape(len(weights), -1)
    # Without differences between systems there is nothing to rank, though an accuracy would count the ties.
    x_equal, y_equal = (are_equal(side) for side in (x, y))
    return np.where(x_equal[:, :, None] | y_equal[:, None, :], np.nan, found)


def merge_ties(means: Floats, largest: Floats) -> Floats:
    """Return the means of systems, with those that differ only by rounding made equal.

    Sums of the same numbers in another order, or of weighted numbers, differ in their last digits, so systems with the
    same mean would otherwise be ranked differently. Means have the shape (..., systems), NaN where a system has none;
    `largest` is the largest absolute value among the numbers averaged.
    """
    order = np.argsort(means, axis=-1)
    ordered = np.take_along_axis(means, order, axis=-1)
    # NaNs come last; the negated comparison treats each as different from all before it.
    apart = ~(np.diff(ordered, axis=-1) <= _ROUNDING * largest)
    systems: int = means.shape[-1]
    first = np.maximum.accumulate(np.where(apart, np.arange(1, systems), 0), axis=-1)
    merged = np.empty_like(means)
    firsts = np.concatenate([ordered[..., :1], np.take_along_axis(ordered, first, axis=-1)], axis=-1)
    np.put_along_axis(merged, order, firsts, axis=-1)
    return merged


def are_equal(means: Floats) -> Flags:
    """Return whether the merged means of all systems are equal: shape (b, p), of shape (b, p, systems)."""
    there = ~np.isnan(means)
    return np.where(there, means, -np.inf).max(axis=-1) <= np.where(there, means, np.inf).min(axis=-1)
