"""Sample sizes at which a difference of correlations, or a correlation, is detected with the requested power.

On Fisher's scale the difference of two correlations that share the ratings has the variance (2 - 2s) / (n - 3), s being
the correlation of the two (Dunn and Clark 1969; Steiger 1980, equation 14). A test at level alpha detects a
difference d of two Fisher z with the requested power when

    n = 3 + design x (2 - 2s) x ((z(1 - alpha / 2) + z(power)) / d)^2

(Cohen 1988, Statistical Power Analysis, section 4.4, has the same for independent correlations). For one correlation, d
is its own Fisher z and the variance 1 / (n - 3). `design` is the ratio of the variance of the difference to that
in as many independent answers with normal scores, because answers share questions, ratings are tied, or systems and
dimensions are averaged (Kish 1965, Survey Sampling, section 8.2: the design effect).
"""

from __future__ import annotations

from math import atanh, ceil, isfinite, sqrt
from statistics import NormalDist

from imapeval.study.comparison.closed_form import FIELLER, find_determinant, variance_of_difference

MAX_ANSWERS = 10**12
"""The largest sample size that is given; a larger one says only that a correlation is as good as 0, or two as equal."""


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
    """Return how many rated answers tell two correlations apart; None if no number up to `MAX_ANSWERS` does.

    Args:
        r1: Correlation of one metric with the ratings, above -1 and below 1.
        r2: Correlation of the other.
        between: Correlation of the two metrics.
        power: Probability of detecting the difference, above `alpha` and below 1.
        alpha: Significance level of the two-sided test, above 0 and below 1.
        spearman: The correlations are Spearman's: the variance is `closed_form.FIELLER` times as large.
        design_effect: Above 0; 1 for independent answers.

    Raises:
        ValueError: A number is out of range, or the three correlations cannot occur together.
    """
    needed = _answers_for_difference(
        r1, r2, between=between, power=power, alpha=alpha, spearman=spearman, design_effect=design_effect
    )
    return None if needed is None else _round_up(needed)


def _answers_for_difference(
    r1: float, r2: float, *, between: float, power: float, alpha: float, spearman: bool, design_effect: float
) -> float | None:
    """Return the number before it is rounded up; infinite or None where no number is enough."""
    _check(r1, r2, between, power=power, alpha=alpha, design_effect=design_effect)
    find_determinant(r1, r2, r23=between)
    # Fisher's z of two correlations that differ in the last digit can be equal.
    difference = atanh(r1) - atanh(r2)
    if difference == 0:
        return None
    variance = variance_of_difference(r1, r2, r23=between)
    if variance <= 0:
        raise ValueError("the two metrics are the same up to scale")
    return 3 + variance * (FIELLER if spearman else 1.0) * design_effect * _square_ratio(power, alpha, difference)


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
    """Return the smallest difference below the higher correlation, r1, that n rated answers find with this power.

    It is above 0; None where even the lowest correlation that can occur beside r1 and `between` would not be told
    apart. The other arguments are those of `required_answers`.

    Raises:
        ValueError: A number is out of range.
    """
    _check(r1, between, power=power, alpha=alpha, design_effect=design_effect)
    # Beyond this range the correlation matrix has a negative determinant.
    reach = sqrt((1 - r1**2) * (1 - between**2)) - 1e-9
    low, high = max(r1 * between - reach, -1 + 1e-9), min(r1 * between + reach, r1)

    def suffices(r2: float) -> bool:
        found = _answers_for_difference(
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


def answers_to_detect(r: float, *, power: float = 0.8, alpha: float = 0.05, design_effect: float = 1.0) -> int | None:
    """Return how many rated answers show that a correlation differs from 0; None if no number up to `MAX_ANSWERS` does.

    The design effect is the variance of its Fisher z relative to 1 / (n - 3).

    Raises:
        ValueError: A number is out of range.
    """
    _check(r, power=power, alpha=alpha, design_effect=design_effect)
    return None if r == 0 else _round_up(max(4, 3 + design_effect * _square_ratio(power, alpha, atanh(r))))


def _square_ratio(power: float, alpha: float, difference: float) -> float:
    """Return the square of the two quantiles' sum over a difference of Fisher z; infinite for a tiny difference."""
    normal = NormalDist()
    # 1 - alpha / 2 would be 1 for a tiny alpha; and a product becomes infinite where a power raises.
    ratio = (normal.inv_cdf(power) - normal.inv_cdf(alpha / 2)) / difference
    return ratio * ratio


def _round_up(needed: float) -> int | None:
    return ceil(needed) if needed <= MAX_ANSWERS else None


def _check(*correlations: float, power: float, alpha: float, design_effect: float) -> None:
    if not all(-1 < correlation < 1 for correlation in correlations):
        raise ValueError(f"correlations must lie above -1 and below 1: {', '.join(f'{r:g}' for r in correlations)}")
    # Half of the smallest number above 0 is 0.
    if not 0 < alpha / 2 < alpha < power < 1:
        raise ValueError(f"0 < alpha < power < 1 must hold, not alpha {alpha:g} and power {power:g}")
    if not (design_effect > 0 and isfinite(design_effect)):
        raise ValueError(f"a design effect lies above 0, not {design_effect:g}")
