"""Ratings as categories, and how much credit two of them earn together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.study.agreement.raw_agreement import STEP_TOLERANCE
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Scale

Weighting = Literal["identity", "linear", "quadratic"]
"""Credit of two ratings: all or nothing, less by their distance, less by its square (Cohen 1968)."""

MOST_CATEGORIES = 101
"""The finest scale that people use as one of categories: 0 to 100 in whole numbers. Chance terms take its square."""


def find_categories(ratings: Floats, *, scale: Scale | None) -> Floats | Undefined:
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
            raise ValueError(f"the rating {off[0]:g} is no step of {scale.step:g} from {scale.low:g}")
        last = int((scale.high - scale.low) / scale.step * (1 + STEP_TOLERANCE))
        categories = scale.low + scale.step * np.arange(last + 1, dtype=np.float64)
    if len(categories) > MOST_CATEGORIES:
        return Undefined(
            f"{len(categories)} different ratings are too many for categories (at most {MOST_CATEGORIES}); "
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
