"""Confidence intervals: of means, shares and coefficients, and what is known of how often they hold the truth."""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.95
"""Confidence level of every interval that is reported; corrected for their number, intervals have a higher one."""

SIGNIFICANCE_LEVEL = 0.05
"""A difference is stated if its p-value, after Holm's correction, is below this level."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float


def ends_of(interval: Interval | None) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of an interval; None and None where there is none."""
    return (None, None) if interval is None else (interval.low, interval.high)
