"""Agreement beyond chance by categories: the kappas of Cohen and Fleiss, and Gwet's AC1 and AC2.

All are (agreement - chance) / (1 - chance); they differ in how chance agreement is defined. Kappas derive it from how
often raters used each category, and fall towards 0 where nearly all ratings are in one category (Feinstein and
Cicchetti 1990, "High agreement but low kappa"); Gwet's AC does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.raw_agreement import (
    Weighting,
    average_pairs,
    category_weights,
    count_categories,
    encode,
    find_categories,
)
from imapeval.study.agreement.statistic import (
    AgreementStatistic,
    count_information,
    count_raters,
    explain_unmeasurable,
    explain_unmeasurable_or_constant,
    from_sums,
    sort_ratings,
)
from imapeval.study.arrays import divide
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.arrays import Floats
    from imapeval.study.data.scales import RatingScale


def measure_cohen_kappa(
    ratings: Floats, *, weighting: Weighting = "identity", scale: RatingScale | None = None
) -> AgreementStatistic | Undefined:
    """Return Cohen's kappa (1960), or with another weighting the weighted one (Cohen 1968), of two raters.

    Ratings have the shape (answers, raters). Raters without a rating do not count, answers that one of the two did not
    rate are left out; the kappa is not defined for more than two. Categories of the scale that do not occur do not
    change it.
    """
    if reason := explain_unmeasurable_or_constant(ratings):
        return reason
    table = ratings[:, (~np.isnan(ratings)).any(axis=0)]
    if table.shape[1] != 2:
        return Undefined(f"{table.shape[1]} raters; Cohen's kappa is between two, Fleiss' takes several")
    categories = find_categories(ratings, scale=scale)
    if isinstance(categories, Undefined):
        return categories
    codes = encode(table, categories)
    both = ((codes >= 0).sum(axis=1) == 2).astype(np.float64)
    credits_ = category_weights(categories, weighting)
    first, second = (np.eye(len(categories))[column] * both[:, None] for column in codes.T)
    agreed = credits_[codes[:, 0], codes[:, 1]] * both
    size = len(categories)

    def combine(sums: Floats) -> Floats:
        n = sums[:, 1]
        one, other = (part / np.maximum(n, 1)[:, None] for part in (sums[:, 2 : 2 + size], sums[:, 2 + size :]))
        chance = ((one @ credits_) * other).sum(axis=1)
        return _beyond_chance(divide(sums[:, 0], n), chance)

    parts: Floats = np.column_stack((agreed, both, first, second))
    return AgreementStatistic(
        parts,
        from_sums(combine),
        n=int(both.sum()),
        raters=2,
        information=count_information(table),
        at_most=weighting == "identity",
    )


def measure_fleiss_kappa(ratings: Floats, *, scale: RatingScale | None = None) -> AgreementStatistic | Undefined:
    """Return Fleiss' kappa (1971) of two or more raters, who need not be the same from answer to answer.

    With unequal numbers of ratings an answer's agreement is the mean over its pairs, over answers with two or more,
    and chance is taken from all answers, each counting once (Gwet 2014, section 2.6); with equal numbers that is
    Fleiss' formula.
    """
    if reason := explain_unmeasurable_or_constant(ratings):
        return reason
    found = _measure(ratings, "identity", scale, chance=lambda shares, _: (shares**2).sum(axis=1))
    if isinstance(found, Undefined):
        return found
    return replace(found, information=count_information(ratings), at_most=True)


def measure_gwet_ac(
    ratings: Floats, *, weighting: Weighting = "identity", scale: RatingScale | None = None
) -> AgreementStatistic | Undefined:
    """Return Gwet's AC1 (2008), or with another weighting AC2 (Gwet 2014, section 5.6), of two or more raters.

    Missing ratings as in `measure_fleiss_kappa`. Chance depends on how many categories there are, used or not: declare
    the scale. Where all ratings are the same AC1 is 1, if another category could have been used.
    """

    def find_chance(shares: Floats, credits_: Floats) -> Floats:
        size = len(credits_)
        return credits_.sum() / (size * (size - 1)) * (shares * (1 - shares)).sum(axis=1)

    return explain_unmeasurable(ratings) or _measure(ratings, weighting, scale, chance=find_chance)


def _measure(
    ratings: Floats, weighting: Weighting, scale: RatingScale | None, *, chance: Callable[[Floats, Floats], Floats]
) -> AgreementStatistic | Undefined:
    categories = find_categories(ratings, scale=scale)
    if isinstance(categories, Undefined):
        return categories
    if len(categories) < 2:
        return Undefined(f"all ratings are {categories[0]:g}, and no scale says what else could have been given")
    packed, counts = sort_ratings(ratings)
    codes = encode(packed, categories)
    credits_ = category_weights(categories, weighting)
    agreed = average_pairs(codes, counts, lambda first, second: credits_[first, second])
    used = count_categories(codes, len(categories)) / np.maximum(counts, 1)[:, None]

    def combine(sums: Floats) -> Floats:
        shares = sums[:, 3:] / np.maximum(sums[:, 2], 1)[:, None]
        return _beyond_chance(divide(sums[:, 0], sums[:, 1]), chance(shares, credits_))

    paired, rated = ((counts >= least).astype(np.float64) for least in (2, 1))
    return AgreementStatistic(
        np.column_stack((agreed, paired, rated, used)),
        from_sums(combine),
        n=int(paired.sum()),
        raters=count_raters(ratings),
    )


def _beyond_chance(agreed: Floats, chance: Floats) -> Floats:
    left = 1 - chance
    # If chance agreement is 1 up to rounding, the coefficient is undefined.
    return divide(agreed - chance, np.where(left > 1e-12, left, 0.0))
