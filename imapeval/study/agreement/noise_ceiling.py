"""The noise ceiling: how well a perfect metric could agree with mean ratings that are themselves uncertain.

`reliability` gives the reliability of the mean rating: ICC(3,k) if all raters rated all answers, less if the raters,
and how strict they are, differ from answer to answer. Raters who always give the same are left out.

A metric equal to the mean over all possible raters would correlate with the mean of these by the root of the
reliability (Spearman 1904; Lord and Novick 1968). That is Pearson's r. For rank coefficients the root of
their own reliability is no ceiling (by simulation a tenth too high for tau). Against ratings in categories they are
computed with the categories' frequencies (`rank_ceiling`). Against finer ratings they take the value that belongs to
that r under a bivariate normal distribution: rho = 6/pi asin(r / 2) (Pearson 1907) and tau = 2/pi asin(r) (Greiner
1909). `benchmarks/ceiling.py` measures both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isclose, isnan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.constant_raters import leave_out_constant_raters
from imapeval.study.agreement.measure import ONLY_AVERAGES, ratings_in_dimension
from imapeval.study.agreement.rank_ceiling import MAX_STEPS, CeilingStatistic, measure_rank_ceilings
from imapeval.study.agreement.reliability import explain_unreliable, measure_reliability
from imapeval.study.agreement.statistic import AgreementStatistic, find_intervals
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.data.findings import ALL
from imapeval.study.number_format import format_percent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.findings import CoefficientName, Correlation, Level
    from imapeval.study.data.rated import Rated
    from imapeval.study.intervals import Interval

COEFFICIENTS: tuple[CoefficientName, ...] = ("pearson", "spearman", "kendall_tau_b")
"""Coefficients for which a ceiling is computed."""

CORRECTABLE: tuple[CoefficientName, ...] = ("pearson", "spearman")
"""Coefficients that can be corrected for attenuation: product-moment correlations (rho is one, of ranks)."""

_OF_NORMAL: Mapping[CoefficientName, Callable[[Floats], Floats]] = {
    "spearman": lambda root: 6 / np.pi * np.arcsin(root / 2),
    "kendall_tau_b": lambda root: 2 / np.pi * np.arcsin(root),
}
"""Ceiling from the root of the reliability, 0..1, where mean ratings are hardly ever tied."""

_MAX_TIED = 0.1
"""Largest share of tied mean ratings for which `_OF_NORMAL` holds: with a tenth of normal numbers cut off at their
upper end, rho of the truth is .01 below it."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How well a perfect metric could agree with the mean rating of these raters.

    Attributes:
        reliability: Reliability of the mean over raters, at most 1.
        value: The highest coefficient to be expected: the root of the reliability, or the rank coefficient that goes
            with it and with the ratings' frequencies.
        low, high: Bounds of its 95% interval.
        n: Number of answers with two or more raters.
        raters: Mean number of raters per answer.
        reason: Why there is no ceiling, such as that only averages are known.
        level: Level of the coefficients that the ceiling applies to.
    """

    dimension: str
    coefficient: CoefficientName
    reliability: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    raters: float = 0.0
    reason: str | None = None
    level: Level = "global"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A correlation corrected for attenuation: what it would be with ratings without noise.

    Attributes:
        value: The measured correlation; None where it is undefined.
        ceiling: Coefficient that a perfect metric is expected to reach; None where it is unknown.
        corrected: The value divided by the ceiling, which may exceed 1 by chance; None where it is undefined.
        low, high: Bounds of its 95% interval.
        n: Answers with a rating and a score.
        reason: Why there is no corrected value or no interval, or a remark on one above 1.
    """

    metric: str
    dimension: str
    coefficient: CoefficientName
    value: float | None = None
    ceiling: float | None = None
    corrected: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None


def find_ceilings(rated: Rated) -> list[Ceiling]:
    """Return the ceilings of r, rho and tau-b, by dimension: over all answers, and within systems.

    Within systems it is the mean over systems of each one's ceiling, as the coefficient is. There are none within
    questions and between systems. Intervals are score intervals by the jackknife over questions
    (`statistic.find_intervals`).

    Returns:
        A row per dimension, level ("global", and "within-system" with several systems) and coefficient, refused with a
        reason where only averages are known, where no answer has two ratings, or where raters agree no better than
        chance (within systems: in one of them).
    """
    varied = leave_out_constant_raters(rated)
    return [ceiling for dimension in rated.dimensions for ceiling in _find(varied, dimension)]


def correct_for_attenuation(correlations: Sequence[Correlation], ceilings: Sequence[Ceiling]) -> list[Corrected]:
    """Return each correlation corrected for noise in the ratings: the value divided by the ceiling (Spearman 1904).

    The interval combines those of the value and of the ceiling by Donner and Zou's method for ratios (2012,
    "Closed-form confidence intervals for functions of the normal mean and standard deviation"), which treats the two as
    independent. A value above 1 is kept, with a note.

    There is a row per correlation. Only those at the level "global" are corrected; others are refused with a reason
    (the mean of quotients is not the quotient of means), as are means over dimensions and coefficients other than r and
    rho.
    """
    known = {(ceiling.dimension, ceiling.coefficient, ceiling.level): ceiling for ceiling in ceilings}
    return [_correct(row, known.get((row.dimension, row.coefficient, row.level))) for row in correlations]


def find_ratio_interval(
    above: tuple[float, float, float], below: tuple[float, float, float]
) -> tuple[float, float] | None:
    """Return Donner and Zou's interval (2012) of a quotient of independent estimates, each with its interval.

    None where `below`, which is above 0, may be 0 or is too uncertain, so that the quotient has no bound.
    """
    (value, low, high), (by, by_low, by_high) = above, below
    if by_low <= 0 or by_high >= 2 * by:
        return None
    product = value * by

    def find_end(end: float, by_end: float, sign: float) -> float:
        # Negative only by rounding, as the ends lie on both sides of the estimates.
        inside = max(0.0, product**2 - end * by_end * (2 * value - end) * (2 * by - by_end))
        return (product + sign * sqrt(inside)) / (by_end * (2 * by - by_end))

    # An end below 0 is farthest from 0 with the lowest denominator, one above 0 with the highest.
    lower = find_end(low, by_high if low >= 0 else by_low, -1.0)
    return lower, find_end(high, by_low if high >= 0 else by_high, 1.0)


def _find(rated: Rated, dimension: str) -> list[Ceiling]:
    names, systems = np.unique(np.array(rated.systems), return_inverse=True)
    levels: list[tuple[Level, Sequence[str], Counts]] = [("global", ("",), np.zeros_like(systems))]
    if len(names) > 1:
        levels.append(("within-system", [name or "the unnamed system" for name in names.tolist()], systems))
    if dimension not in rated.by_rater:
        return [row for level, *_ in levels for row in _refuse(Ceiling(dimension, "", level=level), ONLY_AVERAGES)]
    ratings, codes = ratings_in_dimension(rated, dimension)
    counts = (~np.isnan(ratings)).sum(axis=1)
    n, raters = int((counts >= 2).sum()), float(counts.mean()) if counts.size else 0.0
    used = ~np.isnan(rated.by_rater[dimension]).all(axis=1)
    return [
        row
        for level, groups, members in levels
        for row in _measure(
            Ceiling(dimension, "", n=n, raters=raters, level=level), ratings, codes, groups, members[used]
        )
    ]


def _measure(row: Ceiling, ratings: Floats, codes: Counts, names: Sequence[str], groups: Counts) -> list[Ceiling]:
    """Return the ceilings of a level: the mean over groups of answers, such as systems, which have names.

    A system without rated answers is left out.
    """
    by_group = [np.flatnonzero(groups == group) for group in range(len(names))]
    members = [rows for rows in by_group if rows.size] or by_group[:1]
    names = [name for name, rows in zip(names, by_group, strict=True) if rows.size] or names[:1]
    reliabilities: list[AgreementStatistic] = []
    ceilings: dict[str, list[CeilingStatistic]] = {name: [] for name in COEFFICIENTS}
    reasons: dict[str, str] = {}
    for name, rows in zip(names, members, strict=True):
        place = f"{name}: " if name else ""
        found = measure_reliability(ratings[rows])
        if reason := explain_unreliable(found, ratings[rows]):
            value = None if isinstance(found, Undefined) or isnan(found.value) or len(names) > 1 else found.value
            return _refuse(replace(row, reliability=value), place + reason)
        if isinstance(found, AgreementStatistic):
            reliabilities.append(found)
            for coefficient, one in _find_statistics(ratings[rows], found).items():
                if isinstance(one, Undefined):
                    reasons.setdefault(coefficient, place + one.reason)
                else:
                    ceilings[coefficient].append(one)
    defined = {
        name: _average([part.statistic for part in parts], members)
        for name, parts in ceilings.items()
        if name not in reasons
    }
    mean = _average(reliabilities, members)
    reliability = mean.value
    keys = np.column_stack((ratings, groups.astype(np.float64)))
    of_mean, *intervals = find_intervals([mean, *defined.values()], keys, codes)
    ends = dict(zip(defined, intervals, strict=True))
    made: list[Ceiling] = []
    for coefficient in COEFFICIENTS:
        if coefficient in reasons:
            made.append(replace(row, coefficient=coefficient, reliability=reliability, reason=reasons[coefficient]))
            continue
        interval, low, high = ends[coefficient], None, None
        if interval is not None and of_mean is not None:
            # With few categories the ceiling is not monotone in the reliability, and its own variance is almost 0 near
            # the maximum. The interval therefore also covers the ceilings along the reliability's interval.
            reached = _mean_ceiling_along(ceilings[coefficient], reliabilities, reliability, of_mean)
            low, high = min(interval.low, reached.min()), max(interval.high, reached.max())
        value = defined[coefficient].value
        made.append(replace(row, coefficient=coefficient, reliability=reliability, value=value, low=low, high=high))
    return made


def _mean_ceiling_along(
    parts: Sequence[CeilingStatistic], reliabilities: Sequence[AgreementStatistic], mean: float, interval: Interval
) -> Floats:
    """Return the mean ceiling along the interval of the mean reliability."""
    goals = np.linspace(interval.low, interval.high, 9)
    below, above = np.minimum(goals / mean, 1.0), np.minimum((1 - goals) / max(1 - mean, 1e-12), 1.0)
    found = [
        part.at(np.where(goals < mean, own.value * below, 1 - (1 - own.value) * above))
        for part, own in zip(parts, reliabilities, strict=True)
    ]
    return np.mean(found, axis=0)


def _find_statistics(
    ratings: Floats, reliability: AgreementStatistic
) -> dict[CoefficientName, CeilingStatistic | Undefined]:
    """Return the ceiling of each coefficient for the given answers."""

    def convert(function: Callable[[Floats], Floats]) -> CeilingStatistic:
        def compute_at(reliabilities: Floats) -> Floats:
            return function(np.sqrt(np.clip(reliabilities, 0.0, 1.0)))

        def compute(data: Floats, weights: Floats) -> Floats:
            return compute_at(reliability.compute(data, weights))

        return CeilingStatistic(replace(reliability, compute=compute), compute_at)

    found: dict[CoefficientName, CeilingStatistic | Undefined] = {"pearson": convert(lambda root: root)}
    if of_ranks := measure_rank_ceilings(ratings, reliability):
        return {**found, **of_ranks}
    means = np.nanmean(ratings, axis=1)
    tied = float(np.unique(means, return_counts=True)[1].max()) / len(means)
    if tied > _MAX_TIED:
        reason = (
            f"{format_percent(tied)} of the mean ratings are equal, on a scale of more than {MAX_STEPS} steps; what a "
            "metric can reach in ranks is known for fewer steps or fewer ties"
        )
        return {**found, **dict.fromkeys(_OF_NORMAL, Undefined(reason))}
    return {**found, **{name: convert(function) for name, function in _OF_NORMAL.items()}}


def _average(parts: Sequence[AgreementStatistic], members: Sequence[Counts]) -> AgreementStatistic:
    """Return the mean of the groups' statistics as one statistic of all answers, whose data are row numbers."""
    n = sum(len(rows) for rows in members)
    group, place = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for number, rows in enumerate(members):
        group[rows], place[rows] = number, np.arange(len(rows))

    def compute(data: Floats, weights: Floats) -> Floats:
        rows = data[:, 0].astype(np.int64)
        found = [
            part.compute(part.data[place[rows[own]]], weights[:, own])
            for number, part in enumerate(parts)
            if (own := np.flatnonzero(group[rows] == number)).size
        ]
        return np.mean(found, axis=0)

    return AgreementStatistic(
        np.arange(n, dtype=np.float64)[:, None],
        compute,
        n=sum(part.n for part in parts),
        raters=max(part.raters for part in parts),
        bounds=(0.0, 1.0),
        information=min(part.information for part in parts),
    )


def _refuse(row: Ceiling, reason: str) -> list[Ceiling]:
    return [replace(row, coefficient=coefficient, reason=reason) for coefficient in COEFFICIENTS]


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
        return f"the coefficient is {row.level}; correct one of the level global, which is of all answers together"
    if row.value is None:
        return row.reason
    if row.dimension == ALL:
        return "a mean over dimensions has no ceiling of its own; correct the coefficient of each dimension"
    if ceiling is None:
        return f"no ceiling is known for {row.dimension}"
    return ceiling.reason
