"""Confidence intervals: of means, shares and coefficients, and what is known of how often they hold the truth."""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.95
"""Confidence level of every interval that is reported; corrected for their number, intervals have a higher one."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float
