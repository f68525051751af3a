"""Wilson's score interval: of shares, and of whatever is bounded as they are: agreement, accuracies, areas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.intervals import CONFIDENCE, Interval
from imapeval.study.intervals.quantiles import normal_quantile, student_quantile

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats

ROUNDING = 1e-12
"""A share this near to 0 or 1 is at its bound, and a variance this far below the largest possible one is none."""


def wilson_interval(share: float, size: float, *, quantile: float) -> Interval:
    """Return Wilson's score interval of a share (Wilson 1927; Brown, Cai and DasGupta 2001).

    `size` is how many independent answers it is the share of, `quantile` that of the standard normal distribution, or
    of Student's.
    """
    penalty = quantile**2 / size
    middle = (share + penalty / 2) / (1 + penalty)
    half = math.sqrt(share * (1 - share) * penalty + penalty**2 / 4) / (1 + penalty)
    # Exact at the ends, where rounding could leave the share outside.
    return Interval(min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def share_interval(right: Floats, clusters: Counts, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the score interval of a mean of numbers between 0 and 1, which is never of zero width.

    Wilson's for independent answers that are right or wrong, else `score_interval` with clusters left out in turn; None
    with fewer than two. Clusters are numbered from 0 without gaps.
    """
    size = int(clusters.max(initial=0)) + 1
    if size < 2:
        return None
    mean = float(right.mean())
    if size == len(right) and np.isin(right, (0.0, 1.0)).all():
        return wilson_interval(mean, size, quantile=normal_quantile(confidence))
    sums, counts = np.bincount(clusters, right), np.bincount(clusters)
    left_out = (right.sum() - sums) / (len(right) - counts)
    return score_interval(mean, left_out, bounds=(0.0, 1.0), size=size, confidence=confidence)


def score_interval(
    value: float,
    left_out: Floats,
    *,
    bounds: tuple[float, float],
    size: float,
    at_most: float = math.inf,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Return the score interval of a bounded statistic, which is never of zero width.

    The statistic, brought to 0..1, is taken for a share p of as many independent answers as would give it its
    variance, p (1 - p) / variance, and has Wilson's interval of that (the effective sample size, as Korn and Graubard
    1998 use it for shares in surveys; Franco et al. 2019 compare it with others). The variance is the jackknife's
    (Efron and Stein 1981), and Student's quantile takes the place of the normal one because it is estimated.
    `benchmarks/score_intervals.py` measures how often it holds the truth.

    Args:
        value: Of all clusters.
        left_out: The statistic without each cluster (or each of some groups of clusters of about the same size), shape
            (groups,); NaN where it is undefined.
        bounds: Its lowest and highest possible value.
        size: How many answers it counts as where leaving out a cluster changes nothing, so that there is no variance.
        at_most: How many it never counts as more than: for statistics that rest on few of the answers, whose variance
            is too small where none of these happens to be wrong.
        confidence: Confidence level, above 0 and below 1.

    Returns:
        None where fewer than two groups can be left out, or the bounds are equal: differences of ratings that are all
        the same have no known length.
    """
    defined = left_out[np.isfinite(left_out)]
    low, high = bounds
    if len(defined) < 2 or low == high:
        return None
    share = (value - low) / (high - low)
    quantile = student_quantile((1 + confidence) / 2, len(left_out) - 1)
    groups = len(left_out)
    variance = (groups - 1) / groups * float(((defined - defined.mean()) ** 2).sum()) / (high - low) ** 2
    spread = share * (1 - share)
    variance = max(variance, spread / at_most)
    if spread < ROUNDING:
        if not -ROUNDING < share < 1 + ROUNDING:
            half = quantile * math.sqrt(variance) * (high - low)
            return Interval(value - half, value + half)
        share = min(1.0, max(0.0, share))
    elif variance > ROUNDING * spread:
        size = spread / variance
    ends = wilson_interval(share, size, quantile=quantile)
    return Interval(low + ends.low * (high - low), low + ends.high * (high - low))
