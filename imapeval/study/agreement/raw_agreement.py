"""Raw agreement of raters: shares and distances without correction for chance; ratings as categories.

With several raters an answer counts as the mean over its pairs of ratings, and answers with fewer than two ratings
are left out.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from imapeval.study.agreement.statistic import (
    AgreementStatistic,
    count_raters,
    explain_unmeasurable,
    from_sums,
    sort_ratings,
)
from imapeval.study.arrays import divide
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.scales import RatingScale

    Numbers = TypeVar("Numbers", Floats, Counts)

STEP_TOLERANCE = 1e-6
"""Tolerance, as a share of a scale's step, for equal differences (0.3 - 0.1 is not 0.2 in binary)."""


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


def average_pairs(packed: Numbers, counts: Floats, of_pair: Callable[[Numbers, Numbers], Floats]) -> Floats:
    """Return, by answer, the mean of a number over its pairs of ratings; 0 where there is no pair. Shape (answers,).

    `packed` are ratings from `statistic.sort_ratings`, or codes in their place, `counts` how many each answer has.
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
        is_share=bounds == (0.0, 1.0) and bool(np.isin(means, (0.0, 1.0)).all()),
    )


Weighting = Literal["identity", "linear", "quadratic"]
"""Credit of two ratings: all or nothing, less by their distance, less by its square (Cohen 1968)."""

MAX_CATEGORIES = 101
"""Maximum number of categories: 0 to 100 in whole numbers. The cost of chance terms grows with its square."""


def find_categories(ratings: Floats, *, scale: RatingScale | None) -> Floats | Undefined:
    """Return the ratings that could be given, lowest first: the declared scale's steps, or else those that occur.

    Raises:
        ValueError: A rating lies outside the declared scale, or off its steps.
    """
    given = np.unique(ratings[~np.isnan(ratings)])
    if scale is not None and given.size and not (scale.low <= given[0] and given[-1] <= scale.high):
        raise ValueError(f"ratings from {given[0]:g} to {given[-1]:g} leave the scale {scale.low:g}..{scale.high:g}")
    if scale is None or scale.step is None:
        categories = given
    else:
        steps = (given - scale.low) / scale.step
        off = given[np.abs(steps - np.rint(steps)) > STEP_TOLERANCE]
        if off.size:
            raise ValueError(f"the rating {off[0]:g} is not a multiple of {scale.step:g} above {scale.low:g}")
        last = int((scale.high - scale.low) / scale.step * (1 + STEP_TOLERANCE))
        categories = scale.low + scale.step * np.arange(last + 1, dtype=np.float64)
    if len(categories) > MAX_CATEGORIES:
        return Undefined(
            f"{len(categories)} different ratings are too many for categories (at most {MAX_CATEGORIES}); "
            "Krippendorff's alpha for intervals and the ICC take numbers"
        )
    return categories


def encode(ratings: Floats, categories: Floats) -> Counts:
    """Return the number of the nearest category of each rating, and -1 for NaN. Shape as `ratings`."""
    between = (categories[1:] + categories[:-1]) / 2
    return np.where(np.isnan(ratings), -1, np.searchsorted(between, ratings))


def count_categories(codes: Counts, size: int) -> Floats:
    """Return how many ratings of each answer fall in each category, shape (answers, size)."""
    rows, columns = np.nonzero(codes >= 0)
    cells = np.bincount(rows * size + codes[rows, columns], minlength=len(codes) * size)
    return cells.reshape(len(codes), size).astype(np.float64)


def category_weights(categories: Floats, weighting: Weighting) -> Floats:
    """Return the credit of each pair of categories, 0..1, shape (q, q): 1 for the same, 0 for the two ends."""
    if weighting == "identity" or len(categories) < 2:
        return np.eye(len(categories))
    apart = np.abs(categories[:, None] - categories[None, :]) / (categories[-1] - categories[0])
    return 1 - (apart if weighting == "linear" else apart**2)
