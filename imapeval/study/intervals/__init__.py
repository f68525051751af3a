"""Confidence intervals: of means, shares and coefficients, and what is known of how often they hold the truth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float
