"""How far two raters, or a metric and the raters, lie apart on one scale: limits of agreement, and concordance.

Limits of agreement contain 95% of the differences if these are normal: mean difference -+ 1.96 standard deviations
(Bland and Altman 1986, "Statistical Methods for Assessing Agreement between Two Methods of Clinical Measurement", The
Lancet 327). Lin's concordance coefficient is Pearson's r lowered by differences in mean and spread: 1 only where both
always give the same (Lin 1989, "A Concordance Correlation Coefficient to Evaluate Reproducibility", Biometrics 45).

Variances come from leaving out each question, with all its answers, in turn, or each of 1,000 groups of questions if
there are more. The interval of a limit combines those of the mean and of the standard deviation (Zou 2013, "Confidence
Interval Estimation for the Bland-Altman Limits of Agreement with Multiple Observations per Individual", Statistical
Methods in Medical Research 22), that of the concordance is a score interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.metrics import registry
from imapeval.study.agreement.measure import ratings_in_dimension
from imapeval.study.data.scales import describe_scale
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import number_clusters, sum_by_code
from imapeval.study.intervals.quantiles import student_quantile
from imapeval.study.intervals.shares import score_interval

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

_REACH = 1.96
"""Standard deviations from the mean difference to each limit (Bland and Altman 1986)."""

MIN_QUESTIONS = 10
"""Minimum number of questions: with fewer, the variance of the differences is too uncertain for intervals."""

_GROUPS = 1000
"""Maximum number of jackknife groups of questions; see `agreement.statistic`."""

MEAN_RATING = "mean rating"
"""Stands for the mean over raters where a rater's name is expected."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A number with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class LimitsOfAgreement:
    """How far two raters, or a metric and the mean rating, lie apart.

    Attributes:
        first, second: The raters, or the metric and `MEAN_RATING`; differences are the first minus the second.
        mean: Mean difference, in rating points.
        lower, upper: Limits of agreement, within which 95% of the differences lie. None where the ratings have at most
            two values: differences of such ratings are never near normal.
        concordance: Lin's concordance coefficient, -1..1; None where all ratings of both are the same.
        n: Answers that both rated.
        reason: Why there are no numbers.
    """

    dimension: str
    first: str
    second: str
    mean: Bound | None = None
    lower: Bound | None = None
    upper: Bound | None = None
    concordance: Bound | None = None
    n: int = 0
    reason: str | None = None


def find_limits(rated: Rated) -> list[LimitsOfAgreement]:
    """Return the limits of agreement of all pairs of raters, by dimension."""
    rows: list[LimitsOfAgreement] = []
    for dimension in rated.dimensions:
        if dimension in rated.by_rater:
            ratings, codes = ratings_in_dimension(rated, dimension)
            rows += [
                _compare(
                    LimitsOfAgreement(dimension, rated.raters[a], rated.raters[b]), ratings[:, a], ratings[:, b], codes
                )
                for a, b in combinations(np.flatnonzero(np.isfinite(ratings).any(axis=0)).tolist(), 2)
            ]
    return rows


def find_limits_of_metric(rated: Rated, metric: str, dimension: str) -> LimitsOfAgreement:
    """Return the limits of agreement of a metric, whose scores are on the raters' scale, and the mean rating.

    Raises:
        UsageError: No scale is declared, the metric has another one, or low scores are good.
    """
    scores = rated.scores[:, rated.metrics.index(metric)]
    scale = rated.scales.get(dimension)
    if scale is None:
        raise UsageError(
            f"the scale of {dimension} is not declared, so that it is not known whether {metric} uses it. "
            f"Write --scale {dimension}=LOW:HIGH."
        )
    # Those of a run depend on its options; a file of scores says none.
    known = {one.name: one.range for one in registry.all_metrics()} | dict(rated.ranges)
    low, high = known.get(metric, (scale.low, scale.high))
    given = scores[np.isfinite(scores)]
    off = metric in rated.lower_is_better or (low, high) != (scale.low, scale.high)
    if off or ((given < scale.low) | (given > scale.high)).any():
        raise UsageError(
            f"{metric} is not on the scale of {dimension}, {describe_scale(scale)}, so that differences say nothing. "
            "Put it on that scale: fit a curve with `imapeval study calibrate`, predict the ratings of other rated "
            "answers with `imapeval study apply ... --out FILE`, and give those here with --scores FILE --metric "
            "rating. On the answers that the curve was fitted to, limits would be too narrow."
        )
    return _compare(
        LimitsOfAgreement(dimension, metric, MEAN_RATING), scores, rated.ratings_of(dimension), rated.questions
    )


def _compare(row: LimitsOfAgreement, first: Floats, second: Floats, questions: Counts) -> LimitsOfAgreement:
    both = np.isfinite(first) & np.isfinite(second)
    x, y, codes = first[both], second[both], number_clusters(questions[both])
    number, count = int(both.sum()), int(codes.max(initial=-1)) + 1
    if count < MIN_QUESTIONS:
        reason = f"{number} answers to {count} questions were rated by both; fewest: {MIN_QUESTIONS} questions"
        return replace(row, n=number, reason=reason)
    # Centred to avoid cancellation in the sums of squares.
    x, y = x - second[both].mean(), y - second[both].mean()
    sums = np.column_stack([np.ones(number), x, y, x**2, y**2, x * y])
    groups = min(count, _GROUPS)
    total, by_group = sums.sum(axis=0), sum_by_code(sums.T, codes % groups).T
    values, left_out = _combine(total[None])[0], _combine(total - by_group)
    quantile = student_quantile((1 + CONFIDENCE) / 2, groups - 1)
    errors = np.sqrt((groups - 1) / groups * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    mean = Bound(float(values[0]), *(float(values[0] + sign * quantile * errors[0]) for sign in (-1, 1)))
    # The interval of the standard deviation is built on the log scale, where its distribution is nearly symmetric.
    reach = float(values[1])
    factor = math.exp(quantile * float(errors[1]) / reach) if reach > 0 else 1.0
    less, more = reach - reach / factor, reach * factor - reach
    half = mean.high - mean.value
    lower, upper = mean.value - reach, mean.value + reach
    bounds = (
        Bound(lower, lower - math.hypot(half, more), lower + math.hypot(half, less)),
        Bound(upper, upper - math.hypot(half, less), upper + math.hypot(half, more)),
    )
    # None where the concordance is undefined, as it then is without each question as well.
    ends = score_interval(float(values[2]), left_out[:, 2], bounds=(-1.0, 1.0), size=count)
    concordance = None if ends is None else Bound(float(values[2]), ends.low, ends.high)
    limits = bounds if len(np.unique(np.concatenate([x, y]))) > 2 else (None, None)
    return replace(row, mean=mean, lower=limits[0], upper=limits[1], concordance=concordance, n=number)


def _combine(sums: Floats) -> Floats:
    """Return mean difference, half the distance of the limits, and concordance, shape (m, 3).

    The sums are those of 1, x, y, x², y² and xy, shape (m, 6).
    """
    n, x, y, xx, yy, xy = sums.T
    mean = (x - y) / n
    squares = np.maximum(xx + yy - 2 * xy - n * mean**2, 0)
    spread = _REACH * np.sqrt(squares / (n - 1))
    away = (xx - x**2 / n) + (yy - y**2 / n) + n * mean**2
    # A denominator far below the terms it is the difference of is rounding error.
    defined = away > 1e-12 * (xx + yy)
    concordance = np.divide(2 * (xy - x * y / n), away, out=np.full_like(away, np.nan), where=defined)
    return np.column_stack([mean, spread, concordance])
