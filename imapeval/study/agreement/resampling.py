"""Intervals of agreement: BCa bootstraps over questions, of several statistics at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import Interval, compute_replicates, iterate_resamples
from imapeval.study.intervals import bca_intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.statistic import AgreementStatistic
    from imapeval.study.arrays import Counts, Floats

_MOST_GROUPS = 2000
"""Groups of questions that are left out, one at a time, for the acceleration of BCa: as many values as a bootstrap
has. The third moment of their influences is about that of the questions', as both are sums of independent parts."""


def bootstrap_intervals(
    statistics: Sequence[AgreementStatistic],
    ratings: Floats,
    codes: Counts,
    *,
    seed: int,
    resamples: int,
    confidence: float,
) -> list[Interval]:
    """Return the BCa interval of each statistic (`intervals.bca_ends`); one draw of questions serves all.

    A resample in which a statistic is undefined counts as its lowest possible value for the lower end and as its
    highest for the upper end. Answers that were rated alike, by the same raters, are counted together: on a grid there
    are few different ones.

    Args:
        statistics: Defined ones, of the same answers.
        ratings: Of those, shape (answers, raters).
        codes: The question of each answer, numbered from 0; two or more different ones.
        seed: Of the draws.
        resamples: How many.
        confidence: Share of resamples inside the interval, above 0 and below 1.
    """
    _, flat = np.unique(ratings, return_inverse=True)
    _, first, alike = np.unique(flat.reshape(ratings.shape), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(alike, kind="stable")
    starts = np.searchsorted(alike[order], np.arange(len(first)))
    data = [statistic.data[first] for statistic in statistics]

    def compute(weights: Floats) -> Floats:
        gathered = np.add.reduceat(weights, starts, axis=1)
        return np.column_stack(
            [statistic.compute(rows, gathered) for statistic, rows in zip(statistics, data, strict=True)]
        )

    questions = int(codes.max()) + 1
    blocks = iterate_resamples(questions, seed=seed, resamples=resamples)
    replicates = np.concatenate([compute_replicates(compute, drawn, codes[order]) for drawn in blocks])
    groups = min(questions, _MOST_GROUPS)
    left_out = compute_replicates(compute, 1 - np.eye(groups, dtype=np.int64), codes[order] % groups)
    # What is undefined without a group says nothing of skewness.
    influences = np.nan_to_num(left_out.mean(axis=0) - left_out)
    bounds = np.array([statistic.bounds for statistic in statistics])
    lows, highs = (np.where(np.isnan(replicates), bound, replicates) for bound in bounds.T)
    ends = bca_intervals(
        np.array([statistic.value for statistic in statistics]),
        lows,
        highs,
        influences=influences,
        clusters=np.full(len(statistics), questions),
        confidence=confidence,
    )
    return [Interval(low, high) for low, high in zip(*(side.tolist() for side in ends), strict=True)]
