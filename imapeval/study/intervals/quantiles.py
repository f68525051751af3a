"""Quantiles of the normal distribution and of Student's t, without scipy, which the core install lacks."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

from imapeval.study.intervals import CONFIDENCE

_NORMAL = NormalDist()

_MANY = 1000
"""Degrees of freedom from which two terms (Abramowitz and Stegun 26.7.5) give Student's quantile to 3e-6 for a
confidence of 95%, and to 3e-5 for 99.9%."""


@cache
def small_sample_quantile(clusters: int, *, confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors, computed with n, an interval of n clusters reaches to each side.

    Student's quantile with n - 1 degrees of freedom, times the root of n / (n - 1); NaN with fewer than two clusters.
    """
    if clusters < 2:
        return math.nan
    return student_quantile((1 + confidence) / 2, clusters - 1) * math.sqrt(clusters / (clusters - 1))


def normal_quantile(confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors an interval of a normal estimate reaches to each side."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)


def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution for a share above .5, with 1 degree of freedom or more."""
    normal = _NORMAL.inv_cdf(share)
    if freedom >= _MANY:
        return normal + (normal**3 + normal) / (4 * freedom)
    low, high = 0.0, 1.0
    # The angle whose tangent is t over the root of the degrees of freedom, as a share of the right angle.
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _central_share(middle, freedom) < 2 * share - 1 else (low, middle)
    return math.tan(middle * math.pi / 2) * math.sqrt(freedom)


def _central_share(angle: float, freedom: int) -> float:
    """Return the probability of |T| below t (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    theta = angle * math.pi / 2
    sine, cosine = math.sin(theta), math.cos(theta)
    if freedom % 2:
        term = total = cosine if freedom > 1 else 0.0
        for step in range(3, freedom - 1, 2):
            term *= cosine**2 * (step - 1) / step
            total += term
        return 2 / math.pi * (theta + sine * total)
    term = total = 1.0
    for step in range(2, freedom - 1, 2):
        term *= cosine**2 * (step - 1) / step
        total += term
    return sine * total
