"""Intraclass correlations: the share of the variance of ratings that is due to differences between answers.

Shrout and Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability", and McGraw and Wong 1996,
"Forming inferences about some intraclass correlation coefficients".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.study.agreement.statistic import (
    RELATIVE_ZERO,
    AgreementStatistic,
    count_information,
    explain_unmeasurable_or_constant,
    from_sums,
)
from imapeval.study.arrays import divide
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

Model = Literal[1, 2, 3]
"""1: raters differ from answer to answer; one-way. 2: the same raters, as a sample of all, agreeing in the number.
3: the same raters, agreeing up to a constant for each (consistency)."""


def measure_icc(ratings: Floats, *, model: Model, mean: bool = False) -> AgreementStatistic | Undefined:
    """Return the ICC(model, 1) of one rating, or with `mean` the ICC(model, k) of an answer's mean rating.

    Args:
        ratings: Shape (answers, raters). Models 2 and 3 take the answers that all raters rated; model 1 takes all, by
            the analysis of variance for unequal groups; its k is then the harmonic mean of the raters by answer.
        model: See `Model`.
        mean: The reliability of the mean over an answer's raters, in place of a single rating's.
    """
    if reason := explain_unmeasurable_or_constant(ratings):
        return reason
    table = ratings[:, (~np.isnan(ratings)).any(axis=0)]
    rated = ~np.isnan(table)
    used = rated.sum(axis=1) >= (1 if model == 1 else table.shape[1])
    if used.sum() < 2:
        who = "was rated" if model == 1 else f"has ratings of all {table.shape[1]} raters"
        return Undefined(f"{'one answer' if used.any() else 'no answer'} {who}; two are needed")
    if reason := explain_unmeasurable_or_constant(ratings[used]):
        return reason
    return AgreementStatistic(
        _sum_up(np.where(used[:, None], table, np.nan)),
        from_sums(lambda sums: _compute_icc(sums, model, mean=mean)),
        n=int(used.sum()),
        raters=table.shape[1],
        information=count_information(table[used]),
    )


def _sum_up(table: Floats) -> Floats:
    """Return each answer's contribution to the sums behind the mean squares; rows of NaN contribute nothing."""
    rated = ~np.isnan(table)
    counts = rated.sum(axis=1).astype(np.float64)
    counted = (counts > 0).astype(np.float64)
    centred = np.nan_to_num(table - np.nanmean(table))
    sums, squares = centred.sum(axis=1), (centred**2).sum(axis=1)
    inverse = np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)
    return np.column_stack((counted, counts, counts**2, inverse, sums, squares, sums**2 * inverse, centred))


def _compute_icc(added: Floats, model: Model, *, mean: bool) -> Floats:
    """Return the ICC (McGraw and Wong 1996, table 4), shape (m,), of sums from `_sum_up`; NaN where it is undefined."""
    n, total, counts_squared, inverses, added_sums, square, by_answer = added[:, :7].T
    by_rater = added[:, 7:]
    at_mean = divide(added_sums**2, total)
    # Variation within rounding error counts as none; the ICC is then undefined.
    varies = square - at_mean > RELATIVE_ZERO * square
    between = np.where(varies, divide(by_answer - at_mean, n - 1), np.nan)
    # Raters per answer; where their number differs, the n0 of an analysis of variance with unequal groups (Donner 1986,
    # "A review of inference procedures for the intraclass correlation coefficient").
    k = divide(total - divide(counts_squared, total), n - 1)
    within = np.maximum(square - by_answer, 0.0)
    if model == 1:
        noise = divide(within, total - n)
        below = between + (k - 1) * noise
    else:
        of_raters, columns = divide((by_rater**2).sum(axis=1), n) - at_mean, by_rater.shape[1]
        noise = divide(np.maximum(within - of_raters, 0.0), (n - 1) * (columns - 1))
        below = between + (k - 1) * noise
        if model == 2:
            below += k * (of_raters / (columns - 1) - noise) / n
    single = divide(between - noise, below)
    # The variance of a mean rating depends on the harmonic mean of the number of raters.
    return spearman_brown(single, divide(n, inverses)) if mean else single


def spearman_brown(single: Floats, k: Floats | float) -> Floats:
    """Return the reliability of a mean of k ratings from that of one (Spearman 1910, Brown 1910).

    NaN where the reliability of one rating is too negative for the formula.
    """
    return divide(k * single, 1 + (k - 1) * single)
