"""Sample size: how many rated answers (or systems) it takes to distinguish two metrics, or one from chance.

`sample_size` has the formulas; a pilot study adds the design effect (`pilots`). At level "system", systems take the
place of answers. With another number of raters than in the pilot, correlations change as described in `pilots`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.comparison.closed_form import FIELLER
from imapeval.study.comparison.compare import compare
from imapeval.study.comparison.pilots import (
    TOO_SMALL,
    correlate_pair,
    count_ratings,
    find_design_effect,
    find_design_of_correlation,
    find_panel,
    select_means,
)
from imapeval.study.comparison.sample_size import answers_to_detect, required_answers, smallest_difference
from imapeval.study.correlation.coefficients import Undefined
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import choose_names
from imapeval.study.number_format import format_number, format_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.pilots import Panel
    from imapeval.study.data.findings import CoefficientName, Comparison, Correlation, Level, Units
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """The sample size that distinguishes two metrics, or shows that one correlates with the ratings at all.

    Attributes:
        first, second: Names of the metrics; "" where only numbers were given, or there is no second.
        dimension: The rating dimension; `ALL` for the mean over them, "" where only numbers were given.
        first_value, second_value: Their correlations with the ratings; the second is 0 for a single metric.
        between: The correlation of the two metrics; None for a single one.
        design_effect: Variance of the pilot's difference over that of as many independent answers; the one given where
            there is no pilot; None with a reason.
        power: Probability of detecting the difference, 0..1.
        alpha: Significance level of the two-sided test, 0..1.
        needed: Number of rated answers, or of systems; None if no number up to `sample_size.MAX_ANSWERS` is enough, or
            with a reason.
        n: Number of rated answers, or systems, in the pilot; None without one.
        smallest: The smallest difference from the higher correlation that n answers detect with this power; None
            without a pilot, or if there is none.
        reason: Why nothing can be said about the number.
        sentence: The same in plain words.
        level: "global", "within-system" or "system"; None without a pilot.
        raters: Raters per answer; None means as many as in the pilot.
        ratings: Answers times raters; None if `raters` is None.
    """

    first: str = ""
    second: str = ""
    dimension: str = ""
    first_value: float | None
    second_value: float | None
    between: float | None = None
    design_effect: float | None = None
    power: float
    alpha: float
    needed: int | None = None
    n: int | None = None
    smallest: float | None = None
    reason: str | None = None
    sentence: str = ""
    level: Level | None = None
    raters: int | None = None
    ratings: int | None = None


def plan_sample_size(
    r1: float,
    r2: float,
    *,
    between: float,
    power: float = 0.8,
    alpha: float = 0.05,
    spearman: bool = True,
    design_effect: float = 1.0,
) -> Power:
    """Compute the sample size from three given correlations.

    Raises:
        UsageError: A number is out of range, or the three correlations cannot occur together.
    """
    try:
        needed = required_answers(
            r1, r2, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design_effect
        )
    except ValueError as error:
        raise UsageError(f"{error}.") from error
    return Power(
        first_value=r1,
        second_value=r2,
        between=between,
        design_effect=design_effect,
        power=power,
        alpha=alpha,
        needed=needed,
        sentence=_describe_pair(r1, r2, power, needed),
    )


def plan_detection(
    r: float, *, power: float = 0.8, alpha: float = 0.05, spearman: bool = True, design_effect: float = 1.0
) -> Power:
    """Compute the sample size that shows a correlation to differ from 0.

    Raises:
        UsageError: A number is out of range.
    """
    try:
        needed = answers_to_detect(
            r, power=power, alpha=alpha, design_effect=design_effect * (FIELLER if spearman else 1.0)
        )
    except ValueError as error:
        raise UsageError(f"{error}.") from error
    return Power(
        first_value=r,
        second_value=0.0,
        design_effect=design_effect,
        power=power,
        alpha=alpha,
        needed=needed,
        sentence=_describe_single(r, power, needed),
    )


def plan_sample_size_from_pilot(
    pilot: Rated,
    *,
    metrics: Sequence[str] | None = None,
    against: str | None = None,
    coefficient: CoefficientName = "spearman",
    level: Level = "within-system",
    raters: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
) -> list[Power]:
    """Compute the sample size from a pilot study, for each pair of metrics: by dimension, and for the mean over them.

    For a single metric, it is the size that shows its correlation to differ from 0, by dimension.

    The observed differences are assumed to be the true ones, so the result is rough: a pilot that is too small to
    distinguish two metrics is too small to say how far apart they are. The smallest detectable difference does not
    depend on that assumption.

    Args:
        pilot: Scores and ratings.
        metrics: Metrics to include; None means all.
        against: Compare each of the others with this one alone; None compares all pairs.
        level: "global", "within-system", or "system": the number of systems, with as many questions as in the pilot.
        coefficient: "spearman" or "pearson".
        raters: Plan for 1 to this many raters per answer; None for as many as in the pilot. Individual ratings must be
            known, and the level must not be "system".
        power: Probability of detecting a difference, above `alpha` and below 1.
        alpha: Significance level of the two-sided test, above 0 and below 1.

    Raises:
        UsageError: A name is unknown, a number is out of range, or individual ratings are not known.
    """
    if coefficient not in ("spearman", "pearson"):
        raise UsageError(f"power is computed for spearman and pearson, not for {coefficient}.")
    if level not in ("global", "within-system", "system"):
        raise UsageError(f"power is computed at the levels global, within-system and system, not {level}.")
    if not 0 < alpha < power < 1:
        raise UsageError(f"0 < alpha < power < 1 must hold, not alpha {alpha:g} and power {power:g}.")
    panels: dict[str, list[Panel]] = {}
    if raters is not None:
        panels = _find_panels(pilot, level)
    choices = [None] if raters is None else list(range(1, raters + 1))
    names = choose_names("metric", metrics, pilot.metrics)
    if len(names) == 1 and against is None:
        units: Units = "systems" if level == "system" else "questions"
        found = correlate(pilot, metrics=names, coefficients=[coefficient], levels=[level], units=units)
        return [
            _plan_single(row, power, alpha, panels.get(row.dimension), count)
            for row in select_means(found)
            for count in choices
        ]
    # The p-values are not used; one permutation is enough.
    found = compare(
        pilot,
        metrics=metrics,
        against=against,
        coefficient=coefficient,
        level=level,
        test="perm-systems" if level == "system" else "perm-inputs",
        resamples=1,
    )
    return [
        _plan_pair(pilot, row, power, alpha, panels.get(row.dimension), count) for row in found for count in choices
    ]


def _find_panels(pilot: Rated, level: Level) -> dict[str, list[Panel]]:
    """Return the panels by dimension; for the mean over dimensions, the panels of all.

    Raises:
        UsageError: The reliability of one of them is not known.
    """
    if level == "system":
        raise UsageError("raters are planned at the levels global and within-system, not at the level system.")
    panels: list[Panel] = []
    for name in pilot.dimensions:
        panel = find_panel(pilot, name, level)
        if isinstance(panel, Undefined):
            raise UsageError(
                f"what other numbers of raters would do cannot be told from the pilot for {name}: {panel.reason}."
            )
        panels.append(panel)
    return {name: [panel] for name, panel in zip(pilot.dimensions, panels, strict=True)} | {ALL: panels}


def _predict_correlation(value: float, panels: Sequence[Panel] | None, raters: int | None) -> float:
    """Return a correlation, or a mean of correlations, as it would be with so many raters."""
    if panels is None or raters is None:
        return value
    return float(np.mean([panel.predict_correlation(value, raters) for panel in panels]))


def _plan_single(
    row: Correlation, power: float, alpha: float, panels: Sequence[Panel] | None, raters: int | None
) -> Power:
    blank = Power(
        first=row.metric,
        dimension=row.dimension,
        first_value=row.value,
        second_value=0.0,
        power=power,
        alpha=alpha,
        n=row.n,
        reason=row.reason,
        level=row.level,
        raters=raters,
    )
    design = find_design_of_correlation(row)
    if row.value is None or design is None:
        reason = row.reason or TOO_SMALL
        return replace(blank, reason=reason, sentence=f"{row.metric}: no number, because {reason}.")
    value = _predict_correlation(row.value, panels, raters)
    needed = answers_to_detect(value, power=power, alpha=alpha, design_effect=design)
    return replace(
        blank,
        first_value=value,
        design_effect=design,
        needed=needed,
        ratings=count_ratings(needed, raters),
        sentence=_describe_single(value, power, needed, name=row.metric, level=row.level, raters=raters),
    )


def _plan_pair(
    pilot: Rated, row: Comparison, power: float, alpha: float, panels: Sequence[Panel] | None, raters: int | None
) -> Power:
    r1, r2 = row.first_value, row.second_value
    between, design = correlate_pair(pilot, row), find_design_effect(pilot, row)
    blank = Power(
        first=row.first,
        second=row.second,
        dimension=row.dimension,
        first_value=r1,
        second_value=r2,
        between=between,
        power=power,
        alpha=alpha,
        n=row.n,
        reason=row.reason,
        level=row.level,
        raters=raters,
    )
    if r1 is None or r2 is None or row.low is None or between is None:
        return _explain(blank, row.reason or "the two metrics have no correlation")
    r1, r2 = (_predict_correlation(value, panels, raters) for value in (r1, r2))
    spearman = row.coefficient == "spearman"
    too_close = "the two metrics are nearly the same, or their correlations too close to 1"
    if design is None:
        return _explain(blank, too_close)
    try:
        needed = required_answers(
            r1, r2, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design
        )
        smallest = smallest_difference(
            max(r1, r2), row.n, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design
        )
    except ValueError:
        return _explain(blank, too_close)
    sentence = _describe_pair(r1, r2, power, needed, names=(row.first, row.second), level=row.level, raters=raters)
    if smallest is not None and raters is None:
        higher = row.first if r1 >= r2 else row.second
        sentence += (
            f" The {row.n} {_name_units(row.level)} at hand detect a metric that is {format_number(smallest)} or more "
            f"below {higher} with {format_percent(power)} power."
        )
    return replace(
        blank,
        first_value=r1,
        second_value=r2,
        design_effect=design,
        needed=needed,
        smallest=smallest,
        ratings=count_ratings(needed, raters),
        sentence=sentence,
    )


def _explain(blank: Power, reason: str) -> Power:
    sentence = f"{blank.first} and {blank.second}: no number, because {reason}."
    return replace(blank, reason=reason, sentence=sentence)


def _name_units(level: Level | None, *, rated: bool = False) -> str:
    return "systems" if level == "system" else f"{'rated ' if rated else ''}answers"


def _count_units(needed: int, level: Level | None, raters: int | None) -> str:
    """Return a number of answers or systems, and who rates them, in words."""
    number = f"{_round_up_to_two_digits(needed):,}"
    if level == "system":
        return f"{number} systems"
    if raters is None:
        return f"{number} rated answers"
    return f"{number} answers rated by {raters} rater{'' if raters == 1 else 's'} each"


def _describe_single(
    r: float,
    power: float,
    needed: int | None,
    *,
    name: str = "",
    level: Level | None = None,
    raters: int | None = None,
) -> str:
    if needed is None:
        whose = f"The correlation of {name}" if name else "The correlation"
        return f"{whose} is 0 or too close to it: no number of {_name_units(level, rated=True)} shows a difference."
    what = f"{format_number(r)} ({name})" if name else format_number(r)
    return (
        f"To show that {what} differs from 0 with {format_percent(power)} power about "
        f"{_count_units(needed, level, raters)} are needed."
    )


def _describe_pair(
    r1: float,
    r2: float,
    power: float,
    needed: int | None,
    *,
    names: tuple[str, str] = ("", ""),
    level: Level | None = None,
    raters: int | None = None,
) -> str:
    first, second = (
        f"{format_number(r)} ({name})" if name else format_number(r) for r, name in zip((r1, r2), names, strict=True)
    )
    if needed is None:
        units = _name_units(level, rated=True)
        return f"{first} and {second} are equal or too close: no number of {units} tells them apart."
    needs = f"about {_count_units(needed, level, raters)} are needed"
    return f"To tell {first} from {second} with {format_percent(power)} power {needs}."


def _round_up_to_two_digits(count: int) -> int:
    """Round up to two digits; more would be false precision."""
    step = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step
