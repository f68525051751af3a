"""Sample size: how many rated answers it takes to distinguish two metrics.

On Fisher's scale the difference of two correlations that share the ratings has the variance (2 - 2s) / (n - 3), s being
the correlation of the two (Dunn and Clark 1969; Steiger 1980, equation 14). A test at level alpha finds a difference d
of two Fisher z with the power wanted when

    n = 3 + design x (2 - 2s) x ((z(1 - alpha / 2) + z(power)) / d)^2

(Cohen 1988, Statistical Power Analysis, section 4.4, has the same for independent correlations). `design` is what a
pilot study adds: how much more (or less) the difference varies there than in as many independent answers with normal
scores, because answers share questions, ratings are tied, or systems and dimensions are averaged (Kish 1965, Survey
Sampling, section 8.2: the design effect).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, ceil, isfinite, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.comparison.closed_form import FIELLER, variance_of_difference
from imapeval.study.comparison.compare import compare
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.data.findings import ALL
from imapeval.study.intervals import student_quantile
from imapeval.study.number_format import format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.data.findings import CoefficientName, Comparison, Level
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class Power:
    """The sample size that distinguishes two metrics.

    Attributes:
        first, second: Names of the metrics; "" where only numbers were given.
        dimension: Of the ratings; `ALL` for the mean over them, "" where only numbers were given.
        first_value, second_value: Their correlations with the ratings.
        between: The correlation of the two metrics.
        design_effect: Variance of the pilot's difference over that of as many independent answers; 1 without a pilot.
        power: Probability of detecting the difference, 0..1.
        alpha: Significance level of the two-sided test, 0..1.
        needed: Number of rated answers; None if the two do not differ, or with a reason.
        n: Rated answers in the pilot; None without one.
        smallest: The smallest difference below the higher of the two that n answers detect with this power; None
            without a pilot, or where there is none below it.
        reason: Why there is no number.
        sentence: The same in plain words.
    """

    first: str
    second: str
    dimension: str
    first_value: float | None
    second_value: float | None
    between: float | None
    design_effect: float | None
    power: float
    alpha: float
    needed: int | None
    n: int | None
    smallest: float | None
    reason: str | None
    sentence: str


def required_answers(
    r1: float,
    r2: float,
    *,
    between: float,
    power: float = 0.8,
    alpha: float = 0.05,
    spearman: bool = False,
    design_effect: float = 1.0,
) -> int | None:
    """Return how many rated answers tell two correlations apart; None where they are equal.

    Args:
        r1: Correlation of one metric with the ratings, above -1 and below 1.
        r2: Correlation of the other.
        between: Correlation of the two metrics.
        power: Probability of detecting the difference, above `alpha` and below 1.
        alpha: Significance level of the two-sided test, above 0 and below 1.
        spearman: The correlations are Spearman's: the variance is `paired.FIELLER` times as large.
        design_effect: Above 0; 1 for independent answers.

    Raises:
        ValueError: A number is out of range, or the three correlations cannot occur together.
    """
    _check(r1, r2, between=between, power=power, alpha=alpha, design_effect=design_effect)
    if r1 == r2:
        return None
    variance = variance_of_difference(r1, r2, r23=between) * (FIELLER if spearman else 1.0) * design_effect
    return ceil(3 + variance * (_quantiles(power, alpha) / (atanh(r1) - atanh(r2))) ** 2)


def smallest_difference(
    r1: float,
    n: int,
    *,
    between: float,
    power: float = 0.8,
    alpha: float = 0.05,
    spearman: bool = False,
    design_effect: float = 1.0,
) -> float | None:
    """Return the smallest difference below r1 that n rated answers find with this power.

    Args:
        r1: The higher correlation, above -1 and below 1.
        n: Rated answers.
        between: Correlation of the two metrics.
        power: Probability of detecting the difference, above `alpha` and below 1.
        alpha: Significance level of the two-sided test, above 0 and below 1.
        spearman: The correlations are Spearman's.
        design_effect: Above 0; 1 for independent answers.

    Returns:
        Above 0; None where even the lowest correlation that can occur beside r1 and `between` would not be told apart.

    Raises:
        ValueError: A number is out of range.
    """
    # Outside of this the three correlations have a negative determinant.
    reach = sqrt((1 - r1**2) * (1 - between**2)) - 1e-9
    low, high = max(r1 * between - reach, -1 + 1e-9), min(r1 * between + reach, r1)

    def suffices(r2: float) -> bool:
        found = required_answers(
            r1, r2, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design_effect
        )
        return found is not None and found <= n

    if low >= high or not suffices(low):
        return None
    if suffices(high):
        return r1 - high
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if suffices(middle) else (low, middle)
    return r1 - low


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
    sentence = _say_needed(r1, r2, power, needed)
    return Power("", "", "", r1, r2, between, design_effect, power, alpha, needed, None, None, None, sentence)


def plan_sample_size_from_pilot(
    pilot: Rated,
    *,
    metrics: Sequence[str] | None = None,
    against: str | None = None,
    dimensions: Sequence[str] | None = None,
    coefficient: CoefficientName = "spearman",
    level: Level = "within-system",
    power: float = 0.8,
    alpha: float = 0.05,
) -> list[Power]:
    """Compute the sample size from a pilot study, for each pair of metrics: by dimension, and for the mean over them.

    The observed differences are assumed to be the true ones, so the result is rough: a pilot that is too small to
    distinguish two metrics is too small to say how far apart they are. The smallest detectable difference does not
    depend on that assumption.

    Args:
        pilot: Scores and ratings.
        metrics: Metrics to include; None takes all.
        against: Compare each of the others with this one alone; None compares all pairs.
        dimensions: Rating dimensions to include; None takes all.
        level: "global" or "within-system".
        coefficient: "spearman" or "pearson".
        power: Probability of detecting a difference, above `alpha` and below 1.
        alpha: Significance level of the two-sided test, above 0 and below 1.

    Raises:
        UsageError: A name is unknown, or a number out of range.
    """
    if coefficient not in ("spearman", "pearson"):
        raise UsageError(f"power is computed for spearman and pearson, not for {coefficient}.")
    if level not in ("global", "within-system"):
        raise UsageError(f"power is computed at the levels global and within-system, not {level}.")
    if not 0 < alpha < power < 1:
        raise UsageError(f"0 < alpha < power < 1 must hold, not alpha {alpha:g} and power {power:g}.")
    # The p-values are not used, so one permutation is enough.
    found = compare(
        pilot,
        metrics=metrics,
        against=against,
        coefficient=coefficient,
        level=level,
        dimensions=dimensions,
        test="perm-inputs",
        resamples=1,
    )
    return [_plan_pair(pilot, row, power, alpha) for row in found]


def _plan_pair(pilot: Rated, row: Comparison, power: float, alpha: float) -> Power:
    r1, r2, low, high = row.first_value, row.second_value, row.low, row.high
    between = _correlate_metrics(pilot, row)
    blank = Power(
        row.first, row.second, row.dimension, r1, r2, between, None, power, alpha, None, row.n, None, row.reason, ""
    )
    if r1 is None or r2 is None or low is None or high is None or between is None:
        return _explain(blank, row.reason or "the two metrics have no correlation")
    spearman = row.coefficient == "spearman"
    # The interval is on the scale of the correlation; Fisher's z is steeper there by 1 / (1 - r^2).
    length = 2 * student_quantile(0.975, row.questions - 1)
    error = (high - low) / length / (1 - ((r1 + r2) / 2) ** 2)
    try:
        usual = variance_of_difference(r1, r2, r23=between) * (FIELLER if spearman else 1.0) / (row.n - 3)
        design = error**2 / usual
        needed = required_answers(
            r1, r2, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design
        )
        smallest = smallest_difference(
            max(r1, r2), row.n, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design
        )
    except (ValueError, ZeroDivisionError):
        return _explain(blank, "the two metrics are nearly the same, or their correlations too close to 1")
    sentence = _say_needed(r1, r2, power, needed, names=(row.first, row.second))
    if smallest is not None:
        higher = row.first if r1 >= r2 else row.second
        sentence += (
            f" The {row.n} answers at hand detect a metric that is {format_number(smallest)} or more below {higher} "
            f"with {power:.0%} power."
        )
    return Power(
        row.first,
        row.second,
        row.dimension,
        r1,
        r2,
        between,
        design,
        power,
        alpha,
        needed,
        row.n,
        smallest,
        row.reason,
        sentence,
    )


def _explain(blank: Power, reason: str) -> Power:
    sentence = f"{blank.first} and {blank.second}: no number, because {reason}."
    return replace(blank, reason=reason, sentence=sentence)


def _correlate_metrics(pilot: Rated, row: Comparison) -> float | None:
    """Return the correlation of two metrics on rated answers: the mean over systems where these are apart."""
    ratings = pilot.ratings if row.dimension == ALL else pilot.ratings_of(row.dimension)[:, None]
    first, second = pilot.scores_of(row.first), pilot.scores_of(row.second)
    there = ~np.isnan(ratings).all(axis=1) & ~np.isnan(first) & ~np.isnan(second)
    systems = np.asarray(pilot.systems) if row.level == "within-system" else np.zeros(len(first))
    values: list[float] = []
    for system in np.unique(systems[there]):
        rows = there & (systems == system)
        value = find_coefficient(row.coefficient).with_influences(first[rows], second[rows]).value
        if isfinite(value):
            values.append(value)
    return float(np.mean(values)) if values else None


def _quantiles(power: float, alpha: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)


def _check(r1: float, r2: float, *, between: float, power: float, alpha: float, design_effect: float) -> None:
    if not (-1 < r1 < 1 and -1 < r2 < 1 and -1 < between < 1):
        raise ValueError(f"correlations lie above -1 and below 1: {r1:g}, {r2:g}, {between:g}")
    if not 0 < alpha < power < 1:
        raise ValueError(f"0 < alpha < power < 1 must hold, not alpha {alpha:g} and power {power:g}")
    if not (design_effect > 0 and isfinite(design_effect)):
        raise ValueError(f"a design effect lies above 0, not {design_effect:g}")
    if 1 - r1**2 - r2**2 - between**2 + 2 * r1 * r2 * between < -1e-9:
        raise ValueError(f"no data have the correlations {r1:g} and {r2:g} with the ratings and {between:g} in between")


def _say_needed(r1: float, r2: float, power: float, needed: int | None, *, names: tuple[str, str] = ("", "")) -> str:
    first, second = (
        f"{format_number(r)} ({name})" if name else format_number(r) for r, name in zip((r1, r2), names, strict=True)
    )
    if needed is None:
        return f"{first} and {second} are equal: no number of rated answers tells them apart."
    return f"To tell {first} from {second} with {power:.0%} power about {_round(needed):,} rated answers are needed."


def _round(count: int) -> int:
    """Round up to two digits; more would be false precision."""
    step = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step
