"""Intraclass correlations: the share of the variance of ratings that is due to differences between answers.

Shrout and Fleiss 1979, "Intraclass correlations: uses in assessing rater reliability", and McGraw and Wong 1996,
"Forming inferences about some intraclass correlation coefficients".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.study.agreement.statistic import (
    RELATIVE_ZERO,
    AgreementStatistic,
    count_information,
    divide,
    explain_unmeasurable_or_constant,
    from_sums,
)
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

Model = Literal[1, 2, 3]
"""1: raters differ from answer to answer; one-way. 2: the same raters, as a sample of all, agreeing in the number.
3: the same raters, agreeing up to a constant for each (consistency)."""


@dataclass(frozen=True, slots=True)
class MeanSquares:
    """Mean squares of ratings, each of shape (m,).

    Attributes:
        n: Number of answers.
        size: Raters per answer: their number where it is the same for all answers, otherwise the n0 of a one-way
            analysis of variance with unequal groups (Donner 1986, "A review of inference procedures for the intraclass
            correlation coefficient").
        between, within: Mean squares between and within answers.
        raters, error: Mean squares of raters and of the residuals; meaningless where raters differ between answers.
        harmonic: Harmonic mean of the number of raters per answer, which determines the variance of a mean rating.
    """

    n: Floats
    size: Floats
    between: Floats
    within: Floats
    raters: Floats
    error: Floats
    harmonic: Floats


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
        from_sums(lambda sums: find_icc(_find_squares(sums), model, mean=mean)),
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


def _find_squares(added: Floats) -> MeanSquares:
    """Return the mean squares from sums of `_sum_up`'s columns, shape (m, 7 + raters)."""
    n, total, counts_squared, inverses, added_sums, square, by_answer = added[:, :7].T
    by_rater = added[:, 7:]
    at_mean = divide(added_sums**2, total)
    # Variation within rounding error counts as none; the ICC is then undefined.
    varies = square - at_mean > RELATIVE_ZERO * square
    within = np.maximum(square - by_answer, 0.0)
    raters = divide((by_rater**2).sum(axis=1), n) - at_mean
    k = by_rater.shape[1]
    return MeanSquares(
        n=n,
        size=divide(total - divide(counts_squared, total), n - 1),
        between=np.where(varies, divide(by_answer - at_mean, n - 1), np.nan),
        within=divide(within, total - n),
        raters=raters / (k - 1),
        error=divide(np.maximum(within - raters, 0.0), (n - 1) * (k - 1)),
        harmonic=divide(n, inverses),
    )


def find_icc(squares: MeanSquares, model: Model, *, mean: bool) -> Floats:
    """Return the ICC from mean squares (McGraw and Wong 1996, table 4), shape (m,); NaN where it is undefined."""
    k = squares.size
    if model == 1:
        above, below = squares.between - squares.within, squares.between + (k - 1) * squares.within
    elif model == 2:
        above = squares.between - squares.error
        below = squares.between + (k - 1) * squares.error + k * (squares.raters - squares.error) / squares.n
    else:
        above, below = squares.between - squares.error, squares.between + (k - 1) * squares.error
    single = divide(above, below)
    return spearman_brown(single, squares.harmonic) if mean else single


def spearman_brown(single: Floats, k: Floats | float) -> Floats:
    """Return the reliability of a mean of k ratings from that of one (Spearman 1910, Brown 1910).

    NaN where the reliability of one rating is too negative for the formula.
    """
    return divide(k * single, 1 + (k - 1) * single)
