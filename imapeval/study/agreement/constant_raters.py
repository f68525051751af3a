"""Raters who give all answers the same rating, and so say nothing about which answer is better.

Reliability supposes that raters differ in strictness and err alike. A rater without variance counts there as one whose
errors hide everything, though where all raters rated all answers, he moves no mean against another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from imapeval.study.arrays import Flags, Floats
    from imapeval.study.data.rated import Rated

FEWEST = 10
"""Fewest ratings that show a rater to be constant: a few may be equal because the answers are."""


def find_constant(ratings: Floats) -> Flags:
    """Return which raters gave `FEWEST` answers or more, and all of them, the same rating, shape (raters,).

    Where no rater differs from one answer to another, it is the answers that may be equal, and none is returned. The
    ratings have the shape (answers, raters), NaN if missing.
    """
    given = np.isfinite(ratings)
    low, high = np.where(given, ratings, np.inf).min(axis=0), np.where(given, ratings, -np.inf).max(axis=0)
    equal = low == high
    varied = given.any(axis=0) & ~equal
    return equal & (given.sum(axis=0) >= FEWEST) & varied.any()


def leave_out_constant_raters(rated: Rated) -> Rated:
    """Return the answers without the ratings of constant raters in `by_rater`; mean ratings keep them."""
    by_rater = {name: np.where(find_constant(table), np.nan, table) for name, table in rated.by_rater.items()}
    return replace(rated, by_rater=by_rater)


def describe_constant_raters(rated: Rated) -> list[str]:
    """Return at most one sentence: which raters are constant, in which dimensions, and what they are left out of."""
    dimensions: dict[tuple[str, float], list[str]] = {}
    for name, table in rated.by_rater.items():
        for place in np.flatnonzero(find_constant(table)).tolist():
            rating = float(np.nanmax(table[:, place]))
            dimensions.setdefault((rated.raters[place], rating), []).append(name)
    if not dimensions:
        return []
    found = [
        f"{rater} gave every answer {rating:g} in {', '.join(names)}" for (rater, rating), names in dimensions.items()
    ]
    return [
        f"{'; '.join(found)}: such ratings tell no answers apart and are left out of the reliability of the mean "
        "rating, and so of ceilings, corrected coefficients, the worth in raters, bias and plans for more raters; mean "
        "ratings and other statistics include them."
    ]
