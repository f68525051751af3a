"""Confidence intervals: BCa from resamples of few answers, the infinitesimal jackknife for many, scores for shares.

Wilson's score interval is of shares, and of whatever is bounded as they are: agreement, accuracies, areas.

BCa (Efron 1987; DiCiccio and Efron 1996, section 2) corrects percentile intervals for bias and skewness. With few
clusters it is still too narrow, as percentile intervals are, because resampling n clusters gives (n - 1) / n of
the variance, and uses normal quantiles instead of Student's. Hesterberg 2015 ("What Teachers Should Know About the
Bootstrap") widens the quantiles for both; so do we. At 25 questions that is 7%, at 400 it is .4%.
Coefficients that count pairs (Kendall's, pairwise accuracy) are left as they are: resampling overstates the spread that
single pairs add, by 3 to 4% at 50 answers, which is as much.

Where neither resamples nor influences differ from the coefficient (all answers in perfect order, the same one for
each question), that does not mean that other questions would give the same: the coefficient then has Wilson's interval,
as a share of as many answers as there are clusters, with its place between its bounds for the share. So no interval has
zero width; these are wider than they would have to be.

Functions of arrays take many coefficients at once: the shape (...) is any, such as (metrics, dimensions).
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Counts, Floats

_NORMAL = NormalDist()

_ROUNDING = 1e-12
"""A share this near to 0 or 1 is at its bound, and a variance this far below the largest possible one is none."""

_MANY = 1000
"""Degrees of freedom from which two terms give Student's quantile to 1e-6 (Abramowitz and Stegun 26.7.5)."""


def bca_intervals(
    values: Floats,
    lows: Floats,
    highs: Floats,
    *,
    influences: Floats,
    clusters: Counts,
    bounds: tuple[float, float],
    confidence: float,
    widened: bool = True,
    corrected: bool = True,
) -> tuple[Floats, Floats]:
    """Return the ends of BCa intervals; Wilson's where all replicates are equal to the value.

    Args:
        values: The coefficients, shape (...); NaN has no interval.
        lows: Their replicates, shape (resamples, ...); an undefined one as the lowest possible value.
        highs: The same with the highest possible value there: what cannot be computed widens the interval.
        influences: Of each cluster on the coefficients, shape (clusters, ...).
        clusters: How many clusters each coefficient was computed from, shape (...).
        bounds: Lowest and highest possible value.
        confidence: Confidence level, above 0 and below 1.
        widened: For few clusters; not for coefficients that count pairs.
        corrected: For bias and skewness; plain percentiles if not. Noise in the means of a few systems makes their
            order look worse in resamples than it is, and "corrected" for that, intervals hold the coefficient in 72 to
            85% of studies (benchmarks/level_coverage.py).

    Returns:
        Two arrays of shape (...); NaN with fewer than two clusters.
    """
    # A replicate equal to the value counts half: many are, if the coefficient has few possible values.
    below = sum(((side < values).mean(axis=0) + (side <= values).mean(axis=0)) / 4 for side in (lows, highs))
    # If no replicate is below, all that is known is that the share is less than one in their number.
    share = np.clip(below, 0.5 / len(lows), 1 - 0.5 / len(lows))
    bias = _map(_NORMAL.inv_cdf, share) if corrected else np.zeros_like(values)
    spread = (influences**2).sum(axis=0)
    skewness = (influences**3).sum(axis=0)
    acceleration = np.divide(skewness, 6 * spread**1.5, out=np.zeros_like(spread), where=(spread > 0) & corrected)
    reach = (
        _map(lambda count: small_sample_quantile(int(count), confidence=confidence), clusters.astype(np.float64))
        if widened
        else np.full(values.shape, _NORMAL.inv_cdf((1 + confidence) / 2))
    )
    ends: list[Floats] = []
    for side, sign in ((lows, -1.0), (highs, 1.0)):
        shifted = bias + sign * reach
        # Beyond a pole of the correction the end is the outermost replicate.
        quantile = bias + shifted / np.maximum(1 - acceleration * shifted, np.finfo(np.float64).eps)
        ends.append(_take_quantile(side, _map(_NORMAL.cdf, np.clip(quantile, -40.0, 40.0))))
    return _complete(values, ends, clusters, bounds, confidence)


def jackknife_intervals(
    values: Floats,
    *,
    influences: Floats,
    clusters: Counts,
    bounds: tuple[float, float],
    confidence: float,
) -> tuple[Floats, Floats]:
    """Return the ends of intervals from standard errors by the infinitesimal jackknife, on Fisher's scale.

    The coefficient, brought to -1..1, is mapped by arctanh (for shares this is half the log odds), where its spread
    hardly depends on its value; the interval is symmetric there, with Student's quantile of clusters - 1. Where no
    cluster has an influence it is Wilson's.

    Args:
        values: The coefficients, shape (...); NaN has no interval.
        influences: Of each cluster on the coefficients, shape (clusters, ...).
        clusters: How many clusters each coefficient was computed from, shape (...).
        bounds: Lowest and highest possible value.
        confidence: Confidence level, above 0 and below 1.

    Returns:
        Two arrays of shape (...); NaN with fewer than two clusters.
    """
    middle, half = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    scaled = (values - middle) / half
    reach = _map(lambda count: small_sample_quantile(int(count), confidence=confidence), clusters.astype(np.float64))
    error = reach * np.sqrt((influences**2).sum(axis=0)) / half
    inside = np.abs(scaled) < 1
    slope = np.where(inside, 1 - scaled**2, 1.0)
    fisher = np.arctanh(np.where(inside, scaled, 0.0))
    ends = [np.where(inside, np.tanh(fisher + sign * error / slope), scaled) * half + middle for sign in (-1, 1)]
    return _complete(values, ends, clusters, bounds, confidence)


def _complete(
    values: Floats, ends: Sequence[Floats], clusters: Counts, bounds: tuple[float, float], confidence: float
) -> tuple[Floats, Floats]:
    """Return intervals with Wilson's in place of those of zero width, and none for fewer than two clusters."""
    low, high = (np.where(np.isnan(values) | (clusters < 2), np.nan, end) for end in ends)
    lowest, length = bounds[0], bounds[1] - bounds[0]
    quantile = normal_quantile(confidence)
    for place in np.argwhere(high - low <= _ROUNDING * length):
        at = tuple(place.tolist())
        share = min(1.0, max(0.0, (float(values[at]) - lowest) / length))
        found = wilson_interval(share, int(clusters[at]), quantile=quantile)
        low[at], high[at] = lowest + found.low * length, lowest + found.high * length
    return low, high


def wilson_interval(share: float, size: float, *, quantile: float) -> Interval:
    """Return Wilson's score interval of a share (Wilson 1927; Brown, Cai and DasGupta 2001).

    Args:
        share: 0..1.
        size: How many independent answers it is the share of; above 0.
        quantile: Of the standard normal distribution, or of Student's.
    """
    penalty = quantile**2 / size
    middle = (share + penalty / 2) / (1 + penalty)
    half = math.sqrt(share * (1 - share) * penalty + penalty**2 / 4) / (1 + penalty)
    # Exact at the ends, where rounding could leave the share outside.
    return Interval(min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half)))


def share_interval(right: Floats, clusters: Counts, *, confidence: float) -> Interval | None:
    """Return the score interval of a mean of numbers between 0 and 1, which is never of zero width.

    Wilson's for independent answers that are right or wrong, else `score_interval` with clusters left out in turn.

    Args:
        right: 0..1, shape (n,).
        clusters: Of each answer, from 0 without gaps, shape (n,).
        confidence: Confidence level, above 0 and below 1.

    Returns:
        None with fewer than two clusters.
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
    confidence: float,
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
    if spread < _ROUNDING:
        if not -_ROUNDING < share < 1 + _ROUNDING:
            half = quantile * math.sqrt(variance) * (high - low)
            return Interval(value - half, value + half)
        share = min(1.0, max(0.0, share))
    elif variance > _ROUNDING * spread:
        size = spread / variance
    ends = wilson_interval(share, size, quantile=quantile)
    return Interval(low + ends.low * (high - low), low + ends.high * (high - low))


@cache
def small_sample_quantile(clusters: int, *, confidence: float) -> float:
    """Return how many standard errors, computed with n, an interval of n clusters reaches to each side.

    Student's quantile with n - 1 degrees of freedom, times the root of n / (n - 1); NaN with fewer than two clusters.
    """
    if clusters < 2:
        return math.nan
    return student_quantile((1 + confidence) / 2, clusters - 1) * math.sqrt(clusters / (clusters - 1))


def normal_quantile(confidence: float) -> float:
    """Return how many standard errors an interval of a normal estimate reaches to each side."""
    return _NORMAL.inv_cdf((1 + confidence) / 2)


def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution, without scipy, which the core install lacks.

    Args:
        share: Above .5 and below 1.
        freedom: Degrees of freedom, 1 or more.
    """
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


def _take_quantile(replicates: Floats, shares: Floats) -> Floats:
    """Return the quantile of each column, linear between neighbours, each with its own share. Shape (...)."""
    ordered = np.sort(replicates, axis=0)
    place = np.nan_to_num(shares) * (len(ordered) - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, len(ordered) - 1)
    first, second = (np.take_along_axis(ordered, at[None], axis=0)[0] for at in (below, above))
    return first + (place - below) * (second - first)


def _map(function: Callable[[float], float], numbers: Floats) -> Floats:
    return np.array([function(number) for number in numbers.ravel()], dtype=np.float64).reshape(numbers.shape)
