"""Krippendorff's alpha: 1 - observed / expected disagreement, for any number of raters and with missing ratings.

Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability". Answers with fewer than two ratings are left out, as
there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.study.agreement.raw_agreement import average_pairs, count_categories, encode, find_categories
from imapeval.study.agreement.statistic import (
    RELATIVE_ZERO,
    AgreementStatistic,
    count_information,
    count_raters,
    explain_unmeasurable_or_constant,
    from_sums,
    sort_ratings,
)
from imapeval.study.arrays import divide
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

Measurement = Literal["nominal", "ordinal", "interval", "ratio"]
"""Distance between two ratings: equal or not, ranks between them, difference, difference relative to their sum."""


def measure_alpha(ratings: Floats, *, level: Measurement) -> AgreementStatistic | Undefined:
    """Return Krippendorff's alpha of ratings of shape (answers, raters).

    It is 1 without any disagreement and 0 where raters agree as ratings drawn from all of them would; undefined where
    all ratings are the same. For `ratio` ratings are not negative, and for `nominal` and `ratio` there are at most
    `raw_agreement.MAX_CATEGORIES` different ones.
    """
    if reason := explain_unmeasurable_or_constant(ratings):
        return reason
    packed, counts = sort_ratings(ratings)
    paired = counts >= 2
    # Ratings without a pair enter neither the observed nor the expected disagreement.
    packed = np.where(paired[:, None], packed, np.nan)
    counts = np.where(paired, counts, 0.0)
    if reason := explain_unmeasurable_or_constant(packed):
        return reason
    if level == "interval":
        data, compute = _sum_up(packed, counts), from_sums(_combine_interval)
    elif level == "ordinal":
        data, compute = np.column_stack((counts, packed)), _compute_ordinal
    else:
        values = find_categories(packed, scale=None)
        if isinstance(values, Undefined):
            return values
        if level == "ratio" and values[0] < 0:
            return Undefined(f"a rating is {values[0]:g}; ratios need ratings that are not negative")
        distances = _find_distances(values, level)
        data, compute = _count(packed, counts, values, distances), from_sums(partial(_combine_distances, distances))
    return AgreementStatistic(
        data,
        compute,
        n=int(paired.sum()),
        raters=count_raters(ratings),
        information=count_information(packed),
        at_most=level == "nominal",
    )


def _sum_up(packed: Floats, counts: Floats) -> Floats:
    centred = np.nan_to_num(packed - np.nanmean(packed))
    sums, squares = centred.sum(axis=1), (centred**2).sum(axis=1)
    return np.column_stack((_within_answer_differences(counts, sums, squares), counts, sums, squares))


def _combine_interval(totals: Floats) -> Floats:
    observed, n, total, square = totals.T
    return _alpha(observed, n * square - total**2, n, floor=n * square)


def _compute_ordinal(data: Floats, weights: Floats) -> Floats:
    """Compute alpha for ordinal ratings: interval alpha applied to the average ranks of the ratings that count.

    The ordinal distance of two ratings is the number of ratings between them with half of those that equal either,
    which is the difference of their average ranks; the ranks change with every resample.
    """
    counts, packed = data[:, 0], data[:, 1:]
    rated = ~np.isnan(packed)
    values, flat = np.unique(packed[rated], return_inverse=True)
    order = np.argsort(flat, kind="stable")
    owners, starts = np.nonzero(rated)[0][order], np.searchsorted(flat[order], np.arange(len(values)))
    used = np.add.reduceat(weights[:, owners], starts, axis=1)
    n = used.sum(axis=1)
    # Centred ranks, so that their squares need no correction for the mean.
    ranks = used.cumsum(axis=1) - used / 2 - n[:, None] / 2
    # A missing rating has a code of its own, which contributes 0.
    ranks_and_0 = np.column_stack((ranks, np.zeros(len(weights))))
    codes = np.full(packed.shape, len(values))
    codes[rated] = flat
    sums, squares = np.zeros(weights.shape), np.zeros(weights.shape)
    for column in codes.T:
        chosen = ranks_and_0[:, column]
        sums += chosen
        squares += chosen**2
    observed = (weights * _within_answer_differences(counts, sums, squares)).sum(axis=1)
    return _alpha(observed, n * (used * ranks**2).sum(axis=1), n)


def _find_distances(values: Floats, level: Measurement) -> Floats:
    if level == "nominal":
        return 1 - np.eye(len(values))
    sums = values[:, None] + values[None, :]
    return (values[:, None] - values[None, :]) ** 2 / np.where(sums > 0, sums, 1) ** 2


def _count(packed: Floats, counts: Floats, values: Floats, distances: Floats) -> Floats:
    codes = encode(packed, values)
    apart = average_pairs(codes, counts, lambda first, second: distances[first, second])
    return np.column_stack((apart * counts / 2, counts, count_categories(codes, len(values))))


def _combine_distances(distances: Floats, totals: Floats) -> Floats:
    observed, n, used = totals[:, 0], totals[:, 1], totals[:, 2:]
    expected = ((used @ distances) * used).sum(axis=1) / 2
    return _alpha(observed, expected, n)


def _within_answer_differences(counts: Floats, sums: Floats, squares: Floats) -> Floats:
    """Return the squared differences within each answer, summed over pairs, divided by its number of ratings - 1."""
    return (counts * squares - sums**2) / np.maximum(counts - 1, 1)


def _alpha(observed: Floats, expected: Floats, n: Floats, *, floor: Floats | float = 0.0) -> Floats:
    """Return 1 - (n - 1) observed / expected, both summed over unordered pairs (Krippendorff 2011, step D).

    Where `expected` is a difference, `floor` is its minuend: rounding may leave a tiny share of it in place of 0.
    """
    return 1 - (n - 1) * divide(observed, np.where(expected > RELATIVE_ZERO * floor, expected, 0.0))
