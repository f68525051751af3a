"""Plans from a pilot study how many answers, raters and systems give an interval of a given width.

- A metric's correlation r has an interval of about tanh(atanh(r) -+ t sqrt(D / (n - 3))) (Fisher 1921), where t is the
  quantile for as many questions or systems (`find_quantile`) and the pilot gives the design effect D: how much wider
  its interval is than that of as many independent answers.
- With k raters an answer, r is what the pilot found times sqrt(R_k / R), since noise of the raters lowers it; R_k is
  the reliability of the mean of k raters (`pilots`).
- The difference of two correlations varies as `power` says, and the pilot gives its design effect.
- The ceiling sqrt(R_k) has the root of the interval of R_k, 1 - (1 - R_k) F with the quantiles of F for n - 1 and
  (n - 1) (k - 1) degrees of freedom (Feldt 1965, Psychometrika 30, 357-370), over all answers together.
- Between systems, systems take the place of answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, sqrt, tanh
from typing import TYPE_CHECKING

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.study.comparison.closed_form import FIELLER, find_determinant, variance_of_difference
from imapeval.study.comparison.compare import compare
from imapeval.study.comparison.pilots import (
    TOO_SMALL,
    Panel,
    correlate_pair,
    count_ratings,
    find_design_effect,
    find_design_of_correlation,
    find_panel,
    find_quantile,
    select_means,
)
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL, MIN_SYSTEMS, Comparison
from imapeval.study.intervals.quantiles import student_quantile

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.data.findings import CoefficientName, Correlation, Level
    from imapeval.study.data.rated import Rated

_MAX_ANSWERS = 10_000_000
"""Maximum number of answers that is planned for."""

MIN_ANSWERS_FOR_CEILING = 30
"""Minimum number of answers for the ceiling: with fewer, its intervals are wider than the formula says
(`benchmarks/planning.py`)."""

CEILING = "ceiling"
"""Stands for a metric: the highest correlation that a metric could reach, given the reliability of the ratings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePlan:
    """The number of answers and ratings needed for an interval of the requested width.

    Attributes:
        metric: Name of the metric, or `CEILING`.
        dimension: The rating dimension; `ALL` for the mean over them.
        level: "global", "within-system" or "system".
        raters: Raters per answer; None, for as many as in the pilot, if its individual ratings are not known.
        value: The coefficient expected with so many raters.
        width: Width of the 95% interval.
        answers: Number of rated answers needed; at level "system", of systems. None if no number is enough.
        ratings: Answers times raters; None if `raters` is None, and for systems.
        pilot: Number of answers, or systems, in the pilot.
        reason: Why nothing is planned; if something is and `raters` is None, why other numbers of raters are not.
        second: The metric whose coefficient is subtracted from that of `metric`, so that `value` is the difference; ""
            otherwise.
    """

    metric: str
    dimension: str
    level: Level
    raters: int | None
    value: float | None = None
    width: float
    answers: int | None = None
    ratings: int | None = None
    pilot: int
    reason: str | None = None
    second: str = ""


def plan_width(
    pilot: Rated,
    width: float,
    *,
    raters: int = 5,
    against: str | None = None,
    level: Level = "within-system",
    coefficient: CoefficientName = "spearman",
) -> list[SizePlan]:
    """Compute the sizes that give correlations, differences of two and the ceiling an interval of this width.

    If individual ratings are known, 1 to `raters` raters per answer are planned for; with `against`, the difference of
    each other metric from it is planned as well. The level of systems is added where the pilot has six or more. The
    coefficient is "spearman" or "pearson".

    The rows come by metric, dimension and number of raters; then the differences; last the ceiling of each dimension.

    Raises:
        UsageError: The width or the level is out of range, nothing is rated, or there is no such metric.
        MissingExtraError: scipy is not installed, which the ceiling needs.
    """
    if not 0 < width < 2:
        raise UsageError(f"the width of an interval of a correlation lies between 0 and 2, not at {width:g}.")
    if level not in ("global", "within-system"):
        raise UsageError(f"sizes are planned at the levels global and within-system, not {level}.")
    panels = {name: find_panel(pilot, name, level) for name in pilot.dimensions}
    found = correlate(pilot, coefficients=[coefficient], levels=[level])
    if len(set(pilot.systems)) >= MIN_SYSTEMS:
        found += correlate(pilot, coefficients=[coefficient], levels=["system"], units="systems")
    rows: list[SizePlan] = []
    for row in select_means(found):
        known = None if row.level == "system" else panels[row.dimension]
        rows += [_plan_correlation(row, known, count, width) for count in _count_raters(known, raters)]
    if against is not None:
        # The p-values are not used; one permutation is enough.
        for pair in compare(pilot, against=against, coefficient=coefficient, level=level, resamples=1):
            if pair.dimension != ALL:
                known = panels[pair.dimension]
                rows += [_plan_difference(pilot, pair, known, n, width) for n in _count_raters(known, raters)]
    for name in pilot.dimensions:
        if isinstance(known := find_panel(pilot, name, "global"), Panel):
            rows += [_plan_ceiling(name, known, count, width) for count in range(2, raters + 1)]
    return rows


def _count_raters(known: Panel | Undefined | None, most: int) -> list[int | None]:
    return list(range(1, most + 1)) if isinstance(known, Panel) else [None]


def _plan_correlation(row: Correlation, known: Panel | Undefined | None, raters: int | None, width: float) -> SizePlan:
    blank = SizePlan(
        metric=row.metric,
        dimension=row.dimension,
        level=row.level,
        raters=raters,
        width=width,
        pilot=row.n,
        reason=known.reason if isinstance(known, Undefined) else None,
    )
    design = find_design_of_correlation(row)
    if row.value is None or design is None:
        return replace(blank, reason=row.reason or TOO_SMALL)
    units = row.n if row.level == "system" else row.questions
    expected = row.value
    if raters is not None and isinstance(known, Panel):
        expected = known.predict_correlation(row.value, raters)

    def measure(n: int) -> float:
        apart = find_quantile(row.level, _scale_count(units / row.n, n)) * sqrt(design / (n - 3))
        return tanh(atanh(expected) + apart) - tanh(atanh(expected) - apart)

    answers = _find_fewest(measure, width, first=4)
    return replace(blank, value=expected, answers=answers, ratings=count_ratings(answers, raters))


def _plan_difference(
    pilot: Rated, row: Comparison, known: Panel | Undefined, raters: int | None, width: float
) -> SizePlan:
    first, second = row.second, row.first  # the other metric minus `against`
    blank = SizePlan(
        metric=first,
        second=second,
        dimension=row.dimension,
        level=row.level,
        raters=raters,
        width=width,
        pilot=row.n,
        reason=known.reason if isinstance(known, Undefined) else None,
    )
    between, design = correlate_pair(pilot, row), find_design_effect(pilot, row)
    if row.first_value is None or row.second_value is None or between is None or design is None:
        return replace(blank, reason=row.reason or TOO_SMALL)
    values = row.second_value, row.first_value
    if raters is not None and isinstance(known, Panel):
        values = (known.predict_correlation(value, raters) for value in values)
    one, other = values
    try:
        find_determinant(one, other, r23=between)
    except ValueError:
        return replace(blank, reason="so many raters would give correlations that cannot occur together")
    variance = design * variance_of_difference(one, other, r23=between)
    variance *= FIELLER if row.coefficient == "spearman" else 1.0
    steepness = 1 - ((one + other) / 2) ** 2

    def measure(n: int) -> float:
        quantile = student_quantile(0.975, _scale_count(row.questions / row.n, n) - 1)
        return 2 * quantile * steepness * sqrt(variance / (n - 3))

    answers = _find_fewest(measure, width, first=4)
    return replace(blank, value=one - other, answers=answers, ratings=count_ratings(answers, raters))


def _scale_count(share: float, n: int) -> int:
    """Return how many questions (or systems) n answers have; `share` is their number per answer in the pilot."""
    return max(2, round(share * n))


def _find_fewest(measure: Callable[[int], float], width: float, *, first: int) -> int | None:
    """Return the smallest number of answers, at least `first`, whose interval is no wider than requested."""
    low, high = first, _MAX_ANSWERS
    if measure(high) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if measure(middle) <= width else (middle + 1, high)
    return low


def _plan_ceiling(dimension: str, known: Panel, raters: int, width: float) -> SizePlan:
    stats = require("scipy.stats", distribution="scipy", extra="study", needed_for="planning for a ceiling")
    reliability = known.predict_reliability(raters)

    def measure(n: int) -> float:
        freedom = n - 1, (n - 1) * (raters - 1)
        low, high = (1 - (1 - reliability) * float(stats.f.ppf(p, *freedom)) for p in (0.975, 0.025))
        return sqrt(max(0.0, high)) - sqrt(max(0.0, low))

    answers = _find_fewest(measure, width, first=MIN_ANSWERS_FOR_CEILING)
    return SizePlan(
        metric=CEILING,
        dimension=dimension,
        level="global",
        raters=raters,
        value=sqrt(reliability),
        width=width,
        answers=answers,
        ratings=count_ratings(answers, raters),
        pilot=known.answers,
    )
