"""The noise ceiling: how well a perfect metric could agree with mean ratings that are themselves uncertain.

`reliability` gives the reliability of the mean rating: ICC(3,k) if all raters rated all answers, less if the raters,
and how strict they are, differ from answer to answer.

A metric equal to the mean over all possible raters would correlate with the mean of these by the root of the
reliability (Spearman 1904, Lord and Novick 1968, section 3.9). That is Pearson's r. For rank coefficients the root of
their own reliability is no ceiling (by simulation a tenth too high for tau), so they take the value that belongs to
that r under a bivariate normal distribution: rho = 6/pi asin(r / 2) (Pearson 1907) and tau = 2/pi asin(r) (Greiner
1909). On grids with ties tau-b can pass its ceiling by some .04; benchmarks/ceiling.py measures it.
"""

from __future__ import annotations

from math import isclose, isnan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.measure import ONLY_AVERAGES, ratings_in_dimension
from imapeval.study.agreement.reliability import measure_reliability
from imapeval.study.agreement.statistic import bootstrap_intervals
from imapeval.study.bootstrap import RESAMPLES
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.data.findings import ALL, Ceiling, Corrected

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import CoefficientName, Correlation
    from imapeval.study.data.rated import Rated

CEILINGS: Mapping[CoefficientName, Callable[[Floats], Floats]] = {
    "pearson": lambda root: root,
    "spearman": lambda root: 6 / np.pi * np.arcsin(root / 2),
    "kendall_tau_b": lambda root: 2 / np.pi * np.arcsin(root),
}
"""From the root of the reliability, 0..1, by coefficient."""

CORRECTABLE: tuple[CoefficientName, ...] = ("pearson", "spearman")
"""The correction for attenuation is of product-moment correlations, which rho is, of ranks."""


def find_ceilings(
    rated: Rated, *, seed: int = 0, resamples: int = RESAMPLES, confidence: float = 0.95
) -> list[Ceiling]:
    """Return the ceilings of r, rho and tau-b over all answers together, by dimension.

    Intervals are BCa bootstraps over questions of the reliability, and the ceilings of its ends; an end below 0 has
    the ceiling 0.

    Args:
        rated: Answers with what each rater gave. For the ceiling within a system, take its answers (`Rated.take`).
        seed: Random seed for the bootstrap.
        resamples: Number of bootstrap resamples.
        confidence: Confidence level, above 0 and below 1.

    Returns:
        A row per dimension and coefficient, refused with a reason where only averages are known, where no answer has
        two ratings, or where raters agree no better than chance.
    """
    return [
        ceiling
        for dimension in rated.dimensions
        for ceiling in _find(rated, dimension, seed=seed, resamples=resamples, confidence=confidence)
    ]


def correct_for_attenuation(correlations: Sequence[Correlation], ceilings: Sequence[Ceiling]) -> list[Corrected]:
    """Return what each correlation would be with ratings without noise: the value by the ceiling (Spearman 1904).

    The interval joins those of the value and of the ceiling by Donner and Zou's method (2012, "Closed-form confidence
    intervals for functions of the normal mean and standard deviation", the ratio), which takes the two for
    independent. A value above 1 is kept, with a note.

    Args:
        correlations: Of the level "global", as the ceiling is over all answers together; others are refused with a
            reason, as are means over dimensions and coefficients other than r and rho.
        ceilings: What `find_ceilings` gave.

    Returns:
        A row per correlation, in order.
    """
    known = {(ceiling.dimension, ceiling.coefficient): ceiling for ceiling in ceilings}
    return [_correct(row, known.get((row.dimension, row.coefficient))) for row in correlations]


def find_ratio_interval(
    above: tuple[float, float, float], below: tuple[float, float, float]
) -> tuple[float, float] | None:
    """Return Donner and Zou's interval (2012) of a quotient of independent estimates.

    Args:
        above: The estimate and the ends of its interval.
        below: The same of what it is divided by, which is above 0.

    Returns:
        The ends; None where `below` may be 0 or is too uncertain, so that the quotient has no bound.
    """
    (value, low, high), (by, by_low, by_high) = above, below
    if by_low <= 0 or by_high >= 2 * by:
        return None
    product = value * by

    def find_end(end: float, by_end: float, sign: float) -> float:
        # Never negative but for rounding, as the ends lie on both sides of the estimates.
        inside = max(0.0, product**2 - end * by_end * (2 * value - end) * (2 * by - by_end))
        return (product + sign * sqrt(inside)) / (by_end * (2 * by - by_end))

    return find_end(low, by_high, -1.0), find_end(high, by_low, 1.0)


def _find(rated: Rated, dimension: str, *, seed: int, resamples: int, confidence: float) -> list[Ceiling]:
    if dimension not in rated.by_rater:
        return _refuse(dimension, ONLY_AVERAGES)
    ratings, codes = ratings_in_dimension(rated, dimension)
    counts = (~np.isnan(ratings)).sum(axis=1)
    n, raters = int((counts >= 2).sum()), float(counts.mean()) if counts.size else 0.0
    found = measure_reliability(ratings)
    if isinstance(found, Undefined):
        return _refuse(dimension, found.reason, n=n, raters=raters)
    reliability = found.value
    if isnan(reliability):
        reason = (
            "the reliability of the mean rating is undefined: mean ratings do not differ, or too few answers have two "
            "ratings"
        )
        return _refuse(dimension, reason, n=n, raters=raters)
    if not reliability > 0:
        reason = f"raters agree no better than chance (reliability of their mean {reliability:.2f})"
        return _refuse(dimension, reason, reliability=reliability, n=n, raters=raters)
    ends: tuple[float, ...] = ()
    if codes.max() > 0:
        (interval,) = bootstrap_intervals(
            [found], ratings, codes, seed=seed, resamples=resamples, confidence=confidence
        )
        ends = (interval.low, interval.high)
    rows: list[Ceiling] = []
    for coefficient, convert in CEILINGS.items():
        value, *converted = convert(np.sqrt(np.clip([reliability, *ends], 0.0, 1.0))).tolist()
        low, high = converted or (None, None)
        rows.append(Ceiling(dimension, coefficient, reliability, value, low, high, n=n, raters=raters))
    return rows


def _refuse(
    dimension: str, reason: str, *, reliability: float | None = None, n: int = 0, raters: float = 0.0
) -> list[Ceiling]:
    return [Ceiling(dimension, coefficient, reliability, n=n, raters=raters, reason=reason) for coefficient in CEILINGS]


def _correct(row: Correlation, ceiling: Ceiling | None) -> Corrected:
    value = low = high = None
    reason = _refuse_correction(row, ceiling)
    if reason is None and row.value is not None and ceiling is not None and ceiling.value is not None:
        value = row.value / ceiling.value
        if row.low is not None and row.high is not None and ceiling.low is not None and ceiling.high is not None:
            ends = find_ratio_interval((row.value, row.low, row.high), (ceiling.value, ceiling.low, ceiling.high))
            reason = None if ends else "the ceiling is too uncertain for an interval"
            low, high = ends or (None, None)
        if abs(value) > 1 and not isclose(abs(value), 1):
            reason = (
                "above 1: the metric agrees with these raters better than a perfect one is expected to; by chance, or "
                "because raters share what the metric shares with them"
            )
    return Corrected(
        row.metric,
        row.dimension,
        row.coefficient,
        row.value,
        None if ceiling is None else ceiling.value,
        value,
        low,
        high,
        n=row.n,
        reason=reason,
    )


def _refuse_correction(row: Correlation, ceiling: Ceiling | None) -> str | None:
    if row.coefficient not in CORRECTABLE:
        return f"the correction is for {' and '.join(CORRECTABLE)}"
    if row.level != "global":
        return f"the ceiling is over all answers together, the coefficient {row.level}; correct one of the level global"
    if row.value is None:
        return row.reason
    if row.dimension == ALL:
        return "a mean over dimensions has no ceiling of its own; correct the coefficient of each dimension"
    if ceiling is None:
        return f"no ceiling is known for {row.dimension}"
    return ceiling.reason
