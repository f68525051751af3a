"""Correlations between raters: how similarly they rank answers, whatever numbers they use."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.statistic import AgreementStatistic, count_information, explain_unmeasurable
from imapeval.study.correlation.coefficients import Undefined, explain_undefined, find_coefficient
from imapeval.study.data.ratings.collection import average_exactly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import CoefficientName

MAX_RATERS = 10
"""Maximum number of raters: 45 pairs, each of which is correlated on every resample."""


def measure_pearson(ratings: Floats) -> AgreementStatistic | Undefined:
    """Return the mean of Pearson's r over pairs of raters, shape of `ratings`: (answers, raters).

    A pair is correlated on the answers that both rated. Pairs with fewer than `coefficients.MIN_ROWS` of them, or with
    a rater who always gave the same rating, have no coefficient; they are left out of the mean, and the note counts
    them.
    """
    return _average(ratings, _find_pairs, "pearson")


def measure_spearman(ratings: Floats) -> AgreementStatistic | Undefined:
    """Return the mean of Spearman's rho over pairs of raters; pairs as in `measure_pearson`."""
    return _average(ratings, _find_pairs, "spearman")


def measure_with_others(ratings: Floats) -> AgreementStatistic | Undefined:
    """Return Spearman's rho of a rater with the mean of the others, averaged over raters.

    The coefficient that a rater would reach as a metric (Nili et al. 2014, "A toolbox for representational similarity
    analysis", the lower bound of the noise ceiling). Answers count where another rater rated too.
    """
    return _average(ratings, _find_others, "spearman")


def _average(
    ratings: Floats,
    find: Callable[[Floats], Sequence[Floats]],
    coefficient: CoefficientName,
) -> AgreementStatistic | Undefined:
    if reason := explain_unmeasurable(ratings):
        return reason
    table = ratings[:, (~np.isnan(ratings)).any(axis=0)]
    if table.shape[1] > MAX_RATERS:
        return Undefined(f"{table.shape[1]} raters; correlations between raters are for {MAX_RATERS} at most")
    sides: list[Floats] = []
    left_out: list[str] = []
    used = np.zeros(len(table), dtype=np.bool_)
    for pair in find(table):
        both = ~np.isnan(pair).any(axis=1)
        if reason := explain_undefined(*pair[both].T, names=("one side", "the other")):
            left_out.append(reason.reason)
        else:
            sides.append(pair)
            used |= both
    reasons = ", ".join(dict.fromkeys(left_out))
    if not sides:
        return Undefined(f"raters cannot be correlated: {reasons}")
    left = f"{len(left_out)} of {len(left_out) + len(sides)} coefficients are undefined and left out: {reasons}"
    return AgreementStatistic(
        np.column_stack(sides),
        partial(_average_sides, coefficient),
        n=int(used.sum()),
        raters=table.shape[1],
        information=count_information(table),
        note=left if left_out else None,
    )


def _average_sides(coefficient: CoefficientName, data: Floats, weights: Floats) -> Floats:
    found: list[Floats] = []
    drawn = weights.astype(np.int64)
    for column in range(0, data.shape[1], 2):
        x, y = data[:, column], data[:, column + 1]
        rows = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
        found.append(find_coefficient(coefficient).resample(x[None, rows], y[None, rows], drawn, codes=rows)[:, 0, 0])
    return np.mean(found, axis=0)


def _find_pairs(table: Floats) -> list[Floats]:
    return [table[:, pair] for pair in combinations(range(table.shape[1]), 2)]


def _find_others(table: Floats) -> list[Floats]:
    answers, raters = np.nonzero(~np.isnan(table))
    sides: list[Floats] = []
    for rater, own in enumerate(table.T):
        others = raters != rater
        mean = average_exactly(table[answers[others], raters[others]], answers[others], size=len(table))
        sides.append(np.column_stack((own, mean)))
    return sides
