"""How often raters agree and how far they lie apart, with nothing taken off for chance.

With several raters an answer counts as the mean over its pairs of ratings, and answers with fewer than two ratings
are left out.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.statistic import (
    AgreementStatistic,
    count_raters,
    divide,
    explain_unmeasurable,
    from_sums,
    sort_ratings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.arrays import Floats
    from imapeval.study.correlation.coefficients import Undefined

STEP_TOLERANCE = 1e-6
"""Of a scale's step: differences that lie this close are the same (0.3 - 0.1 is not 0.2 in binary)."""


def measure_exact(ratings: Floats) -> AgreementStatistic | Undefined:
    """Return the share of pairs of ratings that are the same, 0..1."""
    return _average(ratings, lambda apart: (apart == 0).astype(np.float64), bounds=(0.0, 1.0))


def measure_within(ratings: Floats, *, distance: float) -> AgreementStatistic | Undefined:
    """Return the share of pairs of ratings that lie at most `distance` apart, 0..1."""
    reach = distance * (1 + STEP_TOLERANCE)
    return _average(ratings, lambda apart: (apart <= reach).astype(np.float64), bounds=(0.0, 1.0))


def measure_distance(ratings: Floats) -> AgreementStatistic | Undefined:
    """Return the mean absolute difference of two ratings of an answer, on the rating scale."""
    given = ratings[~np.isnan(ratings)]
    span = float(given.max() - given.min()) if given.size else 0.0
    return _average(ratings, lambda apart: apart, bounds=(0.0, span))


def average_pairs(packed: Floats, counts: Floats, of_pair: Callable[[Floats, Floats], Floats]) -> Floats:
    """Return, by answer, the mean of a number over its pairs of ratings; 0 where there is no pair. Shape (answers,).

    Args:
        packed: As `statistic.pack` gives it, or codes in its place.
        counts: As `statistic.pack` gives them.
        of_pair: The number, of two columns of ratings; what it gives for NaN is not used.
    """
    sums = np.zeros(len(packed))
    for first, second in combinations(range(packed.shape[1]), 2):
        rated = counts > second
        sums[rated] += of_pair(packed[rated, first], packed[rated, second])
    pairs = counts * (counts - 1) / 2
    return np.divide(sums, pairs, out=sums, where=pairs > 0)


def _average(
    ratings: Floats, of_distance: Callable[[Floats], Floats], *, bounds: tuple[float, float]
) -> AgreementStatistic | Undefined:
    if reason := explain_unmeasurable(ratings):
        return reason
    packed, counts = sort_ratings(ratings)
    means = average_pairs(packed, counts, lambda first, second: of_distance(second - first))
    paired = (counts >= 2).astype(np.float64)
    return AgreementStatistic(
        np.column_stack((means, paired)),
        from_sums(lambda sums: divide(sums[:, 0], sums[:, 1])),
        n=int(paired.sum()),
        raters=count_raters(ratings),
        bounds=bounds,
    )
