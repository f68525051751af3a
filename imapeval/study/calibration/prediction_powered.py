"""Mean rating of a system from many scores and few ratings (prediction-powered inference).

The mean of the ratings alone is unbiased but imprecise; the mean of the scores is precise but biased and on another
scale. The mean rating is estimated as

    mean of (rating - weight x score) over rated answers + weight x mean score over unrated answers,

which is unbiased however bad the metric is (Angelopoulos et al. 2023, "Prediction-powered inference"), with the weight
that makes its variance smallest (power tuning: Angelopoulos, Duchi and Zrnic 2023, "PPI++"). The weight is not cut to
0..1 as there: a score need not be on the scale of the ratings. A worthless metric gets the weight 0, and the estimate
is the mean of the ratings.

It holds when the rated answers are a random sample of the system's answers. Answers to one question are not
independent: the variance comes from leaving out each rated question in turn, the weight chosen anew each time (the
jackknife, whose bias with few clusters tends to be upwards, where that of linearization is downwards: Bell and
McCaffrey 2002, for regression), with t quantiles of the rated questions less one.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from imapeval._optional import require
from imapeval.study.arrays import EQUAL
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.coverage import FEW_DIFFERENT, NEARLY_EQUAL
from imapeval.study.number_format import format_decimal

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

MIN_RATED = 5
"""Minimum number of rated questions: with fewer, neither weight nor variance can be estimated."""

MIN_DIFFERENT = 3
"""Minimum number of rated questions whose rating is not the most frequent one. With fewer, one rating determines
weight and variance, and many samples of such ratings are all equal (benchmarks/ppi_coverage.py, second table)."""


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """An estimated mean, or a difference of two.

    Attributes:
        value: The estimate, on the scale of the ratings.
        low, high: Bounds of its interval.
        influence: Contribution of each question to the error of the value, shape (questions,); their squares sum to the
            variance.
        rated: Number of questions with a rating.
        weight: Weight of the scores.
    """

    value: float
    low: float
    high: float
    influence: Floats
    rated: int
    weight: float


@dataclass(frozen=True, slots=True)
class SystemMean:
    """How good one system is in one dimension.

    Attributes:
        metric: The metric whose scores helped.
        rated: Number of answers with a rating and a score.
        unrated: Number of answers with a score only.
        value, low, high: The mean rating with the metric's help, and its interval; None where it is undefined.
        plain, plain_low, plain_high: The mean of the ratings alone.
        weight: Weight of the scores; 0 where they are uninformative.
        worth: Number of ratings that alone would give as narrow an interval; at most the number of answers.
        note: Why there is no value, or a reason to doubt it.
        group: The answers' group, where they were divided; "" for all answers.
    """

    system: str
    dimension: str
    metric: str
    rated: int
    unrated: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    plain: float | None = None
    plain_low: float | None = None
    plain_high: float | None = None
    weight: float | None = None
    worth: float | None = None
    note: str | None = None
    group: str = ""


@dataclass(frozen=True, slots=True)
class SystemDifference:
    """The difference in mean rating between two systems.

    Attributes:
        dimension, metric: As in `SystemMean`.
        value, low, high: The difference of the means on the rating scale, and its interval.
        plain, plain_low, plain_high: The same from the ratings alone.
        group: As in `SystemMean`.
    """

    first: str
    second: str
    dimension: str
    metric: str
    value: float
    low: float
    high: float
    plain: float
    plain_low: float
    plain_high: float
    group: str = ""


def estimate_mean(
    ratings: Floats,
    scores: Floats,
    unrated_scores: Floats,
    *,
    questions: Counts | None = None,
    unrated_questions: Counts | None = None,
    weight: float | None = None,
) -> MeanEstimate:
    """Estimate a mean rating.

    Args:
        ratings: Shape (n,), finite.
        scores: Scores of the same answers, shape (n,).
        unrated_scores: Scores of answers without a rating, shape (N,); with N = 0 the scores are of no use.
        questions: Question of each rated answer, numbered from 0; None treats every answer as a question of its own.
        unrated_questions: Question of each unrated answer, numbered like `questions`.
        weight: Weight of the scores; None chooses the best, 0 takes the mean of the ratings alone.

    Raises:
        ValueError: Shapes differ, or fewer than `MIN_RATED` questions are rated.
        MissingExtraError: scipy is not installed.
    """
    n, unrated = len(ratings), len(unrated_scores)
    own = np.arange(n) if questions is None else questions
    others = n + np.arange(unrated) if unrated_questions is None else unrated_questions
    if not len(ratings) == len(scores) == len(own) or len(unrated_scores) != len(others):
        raise ValueError("ratings, scores and questions have as many rows as there are answers")
    rated = len(np.unique(own))
    if rated < MIN_RATED:
        raise ValueError(f"{rated} rated questions are fewer than {MIN_RATED}")
    size = int(max(own.max(), others.max(initial=-1))) + 1
    # Centred to avoid cancellation in the sums of squares; the estimate does not depend on the origin of the scores.
    scores, unrated_scores = scores - scores.mean(), unrated_scores - scores.mean()
    given = 0.0 if unrated == 0 else weight
    columns = (np.ones_like(ratings), ratings, scores, ratings * scores, scores**2)
    by_question = np.stack([np.bincount(own, column, minlength=size) for column in columns], axis=1)
    totals, there = by_question.sum(axis=0), by_question[:, 0] > 0
    values, weights = _estimate(totals[None], unrated_scores, given)
    left_out, _ = _estimate(totals - by_question[there], unrated_scores, given)
    value, chosen = float(values[0]), float(weights[0])
    influence: Floats = np.zeros(size)
    influence[there] = sqrt((rated - 1) / rated) * (left_out.mean() - left_out)
    if unrated > 1:
        clusters = len(np.unique(others))
        # The usual small-sample factor for clusters.
        factor = sqrt(clusters / max(1, clusters - 1))
        shifted = chosen * (unrated_scores - unrated_scores.mean()) / unrated
        influence += factor * np.bincount(others, shifted, minlength=size)
    return _make_estimate(value, influence, rated, chosen)


def _estimate(sums: Floats, unrated_scores: Floats, weight: float | None) -> tuple[Floats, Floats]:
    """Return estimates of the mean rating, and the weights of the scores, shapes (m,).

    The sums, shape (m, 5), are those of the rated answers: their number, ratings, scores, products and squared scores.
    Without a weight, the one that makes the variance smallest for independent answers is taken.
    """
    n, rating, score, product, square = sums.T
    unrated = len(unrated_scores)
    if weight is None:
        added, squared = float(unrated_scores.sum()), float((unrated_scores**2).sum())
        spread = (square + squared) / (n + unrated) - ((score + added) / (n + unrated)) ** 2
        together = product / n - rating * score / n**2
        # Constant scores differ only by rounding.
        varies = spread > 1e-12 * (square + squared) / (n + unrated)
        below = np.where(varies, spread, 1.0) * (1 + n / max(1, unrated))
        weights = np.where(varies, together / below, 0.0)
    else:
        weights = np.full_like(n, weight)
    mean = float(unrated_scores.mean()) if unrated else 0.0
    return (rating - weights * score) / n + weights * mean, weights


def _make_estimate(value: float, influence: Floats, rated: int, weight: float) -> MeanEstimate:
    stats = require("scipy.stats", distribution="scipy", extra="study", needed_for="estimates from few ratings")
    quantile: float = stats.t.ppf((1 + CONFIDENCE) / 2, rated - 1)
    half = quantile * sqrt(float((influence**2).sum()))
    return MeanEstimate(value, value - half, value + half, influence, rated, weight)


def estimate_systems(
    rated: Rated, metric: str, dimension: str, *, shares: bool = False
) -> tuple[list[SystemMean], list[SystemDifference]]:
    """Estimate the mean rating of every system, and the difference of every pair of systems.

    Some of the answers are rated; the scores by `metric` help with the others. With `shares` the ratings are 1 for
    right and 0 for other answers, and notes say so.

    Returns:
        A row per system, and a row for every pair of systems that both have a value.
    """
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    sign = -1.0 if metric in rated.lower_is_better else 1.0
    systems, scale = np.array(rated.systems), rated.scales.get(dimension)
    rows: list[SystemMean] = []
    found: dict[str, tuple[MeanEstimate, MeanEstimate]] = {}
    for system in dict.fromkeys(rated.systems):
        theirs = systems == system
        with_both = theirs & np.isfinite(scores) & np.isfinite(ratings)
        only_scored = theirs & np.isfinite(scores) & ~np.isfinite(ratings)
        n, unrated = int(with_both.sum()), int(only_scored.sum())
        questions = rated.questions[with_both]
        if (clusters := len(np.unique(questions))) < MIN_RATED:
            note = f"{clusters} rated questions with a score are fewer than {MIN_RATED}"
            rows.append(SystemMean(system, dimension, metric, n, unrated, note=note))
            continue
        different, usual = _count_different(ratings[with_both], questions)
        said = f"{different} of {clusters} rated questions have another rating than the most frequent one"
        if shares:
            most = {0.0: "not right", 1.0: "right"}.get(usual, "right in part")
            said = f"{clusters - different} of {clusters} rated questions are {most}"
        if different < MIN_DIFFERENT:
            few = f"so that fewer than {MIN_DIFFERENT} differ" if shares else f"fewer than {MIN_DIFFERENT}"
            what = "share" if shares else "mean"
            note = f"{said}, {few}: how far their {what} may be from that of all answers cannot be told"
            rows.append(SystemMean(system, dimension, metric, n, unrated, note=note))
            continue
        helped, plain = (
            estimate_mean(
                ratings[with_both],
                scores[with_both],
                scores[only_scored],
                questions=questions,
                unrated_questions=rated.questions[only_scored],
                weight=weight,
            )
            for weight in (None, 0.0)
        )
        found[system] = helped, plain
        if scale is not None:
            helped, plain = (_clip(mean, scale.low, scale.high) for mean in (helped, plain))
        notes = [note] if (note := _warn_if_not_random(scores[with_both], scores[only_scored], sign=sign)) else []
        if different < min(FEW_DIFFERENT, clusters / 2):
            notes.append(f"{said}: {NEARLY_EQUAL}")
        if unscored := int((theirs & np.isnan(scores) & np.isfinite(ratings)).sum()):
            notes.append(f"{unscored} rated answers without a score by {metric} are left out")
        variance, alone = (float((mean.influence**2).sum()) for mean in (helped, plain))
        rows.append(
            SystemMean(
                system,
                dimension,
                metric,
                n,
                unrated,
                *(helped.value, helped.low, helped.high),
                *(plain.value, plain.low, plain.high),
                weight=helped.weight,
                worth=min(n * alone / variance, n + unrated) if variance else None,
                note="; ".join(notes) or None,
            )
        )
    length = None if scale is None else scale.high - scale.low
    return rows, _subtract(found, dimension, metric, length=length)


def estimate_shares(
    rated: Rated, metric: str, dimension: str, *, right_from: float
) -> tuple[list[SystemMean], list[SystemDifference]]:
    """Estimate the share of right answers of every system: the mean of 1 for right and 0 for other answers.

    An answer is right if its rating is no lower than `right_from`.

    Returns:
        As of `estimate_systems`, on a scale from 0 to 1.
    """
    ratings = rated.ratings_of(dimension)
    right = np.where(np.isfinite(ratings), (ratings >= right_from).astype(np.float64), np.nan)
    shares = replace(
        rated, dimensions=(dimension,), ratings=right[:, None], by_rater={}, scales={dimension: RatingScale(0.0, 1.0)}
    )
    return estimate_systems(shares, metric, dimension, shares=True)


def _count_different(ratings: Floats, questions: Counts) -> tuple[int, float]:
    """Return how many questions have a mean rating other than the most frequent one, and that one."""
    _, codes, sizes = np.unique(questions, return_inverse=True, return_counts=True)
    means, frequencies = np.unique(np.round(np.bincount(codes, ratings) / sizes, 9), return_counts=True)
    return len(sizes) - int(frequencies.max()), float(means[frequencies.argmax()])


def _clip(mean: MeanEstimate, low: float, high: float) -> MeanEstimate:
    """Return an estimate with its ends on the scale, where the mean must be."""
    value, below, above = (min(max(number, low), high) for number in (mean.value, mean.low, mean.high))
    return replace(mean, value=value, low=below, high=above)


def _warn_if_not_random(scores: Floats, unrated_scores: Floats, *, sign: float) -> str | None:
    """Return a warning if the rated answers are no random sample; scores times `sign` are the metric's own."""
    if len(unrated_scores) == 0:
        return "all answers with a score are rated: the scores add nothing"
    error = sqrt(scores.var(ddof=1) / len(scores) + unrated_scores.var() / len(unrated_scores))
    distance = float(scores.mean() - unrated_scores.mean())
    # A random sample exceeds three standard errors once in 370 times.
    if abs(distance) <= max(3 * error, EQUAL):
        return None
    ours, others = (format_decimal(sign * float(some.mean())) for some in (scores, unrated_scores))
    return (
        f"the rated answers have other scores (mean {ours}) than the unrated ones ({others}): they are not a random "
        "sample, and the estimate may be biased"
    )


def _subtract(
    found: dict[str, tuple[MeanEstimate, MeanEstimate]], dimension: str, metric: str, *, length: float | None
) -> list[SystemDifference]:
    rows: list[SystemDifference] = []
    for first, second in itertools.combinations(found, 2):
        helped, plain = (
            _subtract_estimates(one, other) for one, other in zip(found[first], found[second], strict=True)
        )
        if length is not None:
            helped, plain = (_clip(difference, -length, length) for difference in (helped, plain))
        rows.append(
            SystemDifference(
                *(first, second, dimension, metric),
                *(helped.value, helped.low, helped.high),
                *(plain.value, plain.low, plain.high),
            )
        )
    return rows


def _subtract_estimates(first: MeanEstimate, second: MeanEstimate) -> MeanEstimate:
    """Return the difference; influences of the same question are combined."""
    size = max(len(first.influence), len(second.influence))
    one, other = (np.pad(mean.influence, (0, size - len(mean.influence))) for mean in (first, second))
    return _make_estimate(first.value - second.value, one - other, min(first.rated, second.rated), 0.0)
