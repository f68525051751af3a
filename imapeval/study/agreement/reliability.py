"""Reliability of an answer's mean rating: the share of its variance that is not noise of the raters."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.icc import measure_icc
from imapeval.study.agreement.statistic import (
    RELATIVE_ZERO,
    AgreementStatistic,
    explain_unmeasurable_or_constant,
)
from imapeval.study.arrays import divide
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.number_format import format_number

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

_SINGULAR = 1e-9
"""Eigenvalues below this share of the largest count as 0: strictness is identified only up to a constant."""

_NEARLY_ALL = 0.75
"""A message about low reliability names the most frequent rating if at least this share of ratings has it."""


def measure_reliability(ratings: Floats) -> AgreementStatistic | Undefined:
    """Return the reliability of the mean over an answer's raters, at most 1, and below 0 where raters disagree.

    A rating is taken to be the answer's worth, the rater's strictness and an error. Strictness is estimated by least
    squares, as in a two-way analysis of variance with empty cells (Searle, Casella and McCulloch 1992, Variance
    Components, chapter 5). The noise of a mean is then the variance of the mean strictness of those who rated, from
    answer to answer, and the error's variance by the number of raters; the rest is reliable.

    - All raters rated all answers: strictness moves no answer against another, and this is ICC(3,k), Cronbach's alpha.
    - Raters differ and are too many for their strictness to be told from their errors: it is ICC(1,k).

    Raters of separate batches, with no answer in common even through others, cannot be compared in strictness;
    differences between batches are attributed to the answers' worth.

    On resamples, strictness is as estimated from all answers.
    """
    if reason := explain_unmeasurable_or_constant(ratings):
        return reason
    table = ratings[:, (~np.isnan(ratings)).any(axis=0)]
    given = (~np.isnan(table)).astype(np.float64)
    counts = given.sum(axis=1)
    rated = counts > 0
    if rated.sum() < 2:
        return Undefined("one answer was rated; two are needed")
    share = given / np.maximum(counts, 1)[:, None]
    centred = np.nan_to_num(table - np.nanmean(table))
    means = (centred * share).sum(axis=1)
    values, vectors = np.linalg.eigh(np.diag(given.sum(axis=0)) - given.T @ share)
    kept = values > _SINGULAR * values.max()
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    strictness = inverse @ ((centred - means[:, None]) * given).sum(axis=0)
    rank = int(kept.sum())
    if np.maximum(counts - 1, 0).sum() <= rank:
        return measure_icc(ratings, model=1, mean=True)
    mean_strictness = share @ strictness
    left = (centred - strictness - (means - mean_strictness)[:, None]) * given
    # Estimation errors inflate the variance of the strictness by this times the error variance.
    surplus = float(np.trace(inverse @ np.cov(share[rated], rowvar=False)))

    def compute(data: Floats, weights: Floats) -> Floats:
        n, inverses, free, residual, mean, mean_square, strict, strict_square = (weights @ data).T
        observed = mean_square - divide(mean**2, n)
        observed = np.where(observed > RELATIVE_ZERO * mean_square, divide(observed, n - 1), 0.0)
        error = divide(residual, free - rank)
        between_raters = divide(strict_square - divide(strict**2, n), n - 1) - error * surplus
        return 1 - divide(np.maximum(between_raters, 0.0) + error * divide(inverses, n), observed)

    columns = (
        rated,
        np.divide(1.0, counts, out=np.zeros_like(counts), where=rated),
        np.maximum(counts - 1, 0),
        (left**2).sum(axis=1),
        means,
        means**2,
        mean_strictness,
        mean_strictness**2,
    )
    return AgreementStatistic(np.column_stack(columns), compute, n=int(rated.sum()), raters=table.shape[1])


def find_single_reliability(reliability: float, ratings: Floats) -> float:
    """Return the reliability of one rating from that of the mean rating (Spearman 1910, Brown 1910).

    The ratings have the shape (answers, raters). Where their number differs it is the harmonic mean: the noise of a
    mean rating is that of one rating by the number of raters, averaged over answers.
    """
    counts = (~np.isnan(ratings)).sum(axis=1)
    number = 1 / float((1 / counts[counts > 0]).mean())
    return reliability / (number - (number - 1) * reliability)


def explain_unreliable(found: AgreementStatistic | Undefined, ratings: Floats) -> str | None:
    """Return why nothing can be concluded from the reliability of ratings, shape (answers, raters); None if it can."""
    if isinstance(found, Undefined):
        return found.reason
    if isnan(found.value):
        return (
            "the reliability of the mean rating is undefined: mean ratings do not differ, or too few answers have two "
            "ratings"
        )
    if found.value > 0:
        return None
    values, counts = np.unique(ratings[~np.isnan(ratings)], return_counts=True)
    place = int(counts.argmax())
    reason = f"raters agree no better than chance (reliability of their mean {format_number(found.value)})"
    if counts[place] >= _NEARLY_ALL * counts.sum():
        reason += f", as {counts[place]} of {counts.sum()} ratings are {values[place]:g} and little is left to agree on"
    return reason
