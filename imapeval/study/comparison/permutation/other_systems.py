"""Compares metrics for other systems: each system's contribution to the difference is swapped (PERM-SYSTEMS).

As among answers, it is not the scores of a system that change places but, to first order, what the system adds to the
coefficients, which the jackknife knows: the difference over k, and what leaving out the system takes from it. So two
metrics that are distributed differently are on one scale, and no more than 5% of true null hypotheses are rejected,
and fewer with fewer systems (benchmarks/swapping_systems.py).

Deutsch, Dror and Roth 2021 also swap systems and questions at once (PERM-BOTH), which is not offered: of two equally
good metrics it calls one better in 27 to 60% of studies of 6 to 24 systems, because the sign of an answer, its
question's times its system's, is as good as drawn for each answer alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.comparison.permutation.swaps import TOLERANCE, Contrast, draw_swaps
from imapeval.study.data.findings import MIN_SYSTEMS
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.quantiles import student_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.comparison.permutation.swaps import ComparedAnswers


def contrast_other_systems(
    answers: ComparedAnswers,
    compute: Callable[[ComparedAnswers], Contrast],
    *,
    seed: int,
    permutations: int,
    confidence: float = CONFIDENCE,
) -> Contrast:
    """Compare metrics with the systems as the sample.

    Intervals are the difference and Student's quantile times its jackknife standard error. Neither they nor p-values
    exist for fewer than `MIN_SYSTEMS`, or where leaving out a system leaves a coefficient undefined. `compute` compares
    the metrics on some of the answers; of its result only the coefficients are used.
    """
    whole = compute(answers)
    difference = whole.first - whole.second
    systems = int(answers.systems.max()) + 1
    if systems < MIN_SYSTEMS:
        nothing = np.full(difference.shape, np.nan)
        return whole._replace(low=nothing, high=nothing, p=nothing)
    parts = [compute(answers.take(np.flatnonzero(answers.systems != system))) for system in range(systems)]
    values = np.stack([part.first - part.second for part in parts])
    moved = (values.mean(axis=0) - values) * (systems - 1) / systems
    adds = (difference / systems + moved).reshape(systems, -1)
    larger = np.zeros(difference.size, dtype=np.int64)
    for swaps in draw_swaps(systems, seed=seed, permutations=permutations):
        larger += (np.abs(swaps @ adds) >= np.abs(difference.ravel()) - TOLERANCE).sum(axis=0)
    error = np.sqrt((moved**2).sum(axis=0) * systems / (systems - 1))
    reach = student_quantile((1 + confidence) / 2, systems - 1) * error
    p = (larger.reshape(difference.shape) + 1) / (permutations + 1)
    return whole._replace(
        low=difference - reach,
        high=difference + reach,
        p=np.where(np.isnan(reach), np.nan, p),
    )
