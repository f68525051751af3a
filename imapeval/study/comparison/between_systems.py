"""Compares metrics by how they order systems, tested by resampling questions (BOOT-INPUTS).

Swapping questions between metrics (PERM-INPUTS), as the Metrics Shared Task of WMT does it, assumes that equally good
metrics are exchangeable. Between systems they are not if their noise differs: the test then calls one of them better
in up to 90% of studies. Resampling questions makes no such assumption (benchmarks/comparing_accuracies.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.arrays import EQUAL
from imapeval.study.comparison.permutation.swaps import Contrast, add_total, average_dimensions
from imapeval.study.correlation.estimates import Columns
from imapeval.study.correlation.group_correlation import estimate_between_systems
from imapeval.study.intervals import CONFIDENCE

if TYPE_CHECKING:
    from imapeval.study.arrays import Flags, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, MetricPairs
    from imapeval.study.data.findings import CoefficientName


def contrast_systems(
    answers: ComparedAnswers,
    pairs: MetricPairs,
    *,
    coefficient: CoefficientName,
    seed: int,
    permutations: int,
    confidence: float = CONFIDENCE,
) -> Contrast:
    """Compare metrics by a coefficient between systems.

    Coefficients are those of `correlate`. An interval is the percentiles of the resampled differences, and p is twice
    the smaller share of them on one side of 0, half of those at 0 included: below .05 where the 95% interval lies on
    one side. A resample in which a difference is undefined counts as the lowest possible one for the lower end and as
    the highest for the upper end. The systems are treated as fixed. The arguments are those of `contrast_answers`;
    `permutations` is the number of resamples.
    """
    metrics: int = answers.scores.shape[1]
    dimensions: int = answers.ratings.shape[1]
    columns = Columns(
        metrics=tuple(map(str, range(metrics))),
        dimensions=tuple(map(str, range(dimensions))),
        scores=answers.scores,
        ratings=answers.ratings,
        questions=answers.questions,
        systems=answers.systems,
        system_names=(),
        signs=np.ones(metrics),
    )
    found = estimate_between_systems(columns, coefficient, seed=seed, resamples=permutations)
    values = found.values.T
    use = ~np.isnan(values[:, pairs.first]) & ~np.isnan(values[:, pairs.second])
    defined = use.astype(np.int64)
    first, second = (
        average_dimensions(np.where(use, values[:, side], 0.0), defined) for side in (pairs.first, pairs.second)
    )
    low, high, p = (np.full(first.shape, np.nan) for _ in range(3))
    if found.replicates is not None:
        lows, highs = found.replicates
        tail = (1 - confidence) / 2
        for number, (one, other) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
            least = _add_mean(lows[:, one] - highs[:, other], use[:, number])
            most = _add_mean(highs[:, one] - lows[:, other], use[:, number])
            low[:, number], high[:, number] = np.quantile(least, tail, axis=0), np.quantile(most, 1 - tail, axis=0)
            beyond = np.minimum(_count_below(least), _count_below(-most))
            p[:, number] = np.minimum((2 * beyond + 1) / (permutations + 1), 1.0)
    # If the coefficients over all questions are equal, there is no difference, whatever the resamples give.
    p[np.abs(first - second) <= EQUAL] = 1.0
    known = ~np.isnan(first)
    return Contrast(
        first=first,
        second=second,
        low=np.where(known, low, np.nan),
        high=np.where(known, high, np.nan),
        p=np.where(known, p, np.nan),
        groups=add_total(np.ones(dimensions, dtype=np.int64)),
        defined=add_total(defined),
    )


def _add_mean(differences: Floats, use: Flags) -> Floats:
    """Append the mean over the dimensions in use: shape (b, d) in, (b, d + 1) out."""
    mean = (differences * use).sum(axis=1, keepdims=True) / max(1, int(use.sum()))
    return np.concatenate([differences, mean], axis=1)


def _count_below(differences: Floats) -> Floats:
    """Return how many differences are below 0, and half of those at 0, shape (d + 1,)."""
    return ((differences <= EQUAL).sum(axis=0) + (differences < -EQUAL).sum(axis=0)) / 2
