"""Calibrates a metric to the rating scale: which rating does a score of .62 correspond to?

Two curves: a straight line (least squares), and the best one that never falls (isotonic regression, by scipy;
Barlow et al. 1972). The curve is evaluated by cross-validation: questions are split into folds, and every answer is
predicted by a curve fitted without its question (cross-fitting). The same errors give the interval around a prediction
(cross-conformal prediction, Vovk 2015).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import draw_resamples, percentile_interval, widen_confidence
from imapeval.study.number_format import format_decimal, format_interval, write_decimal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.study.data.rated import Rated
    from imapeval.study.data.scales import RatingScale
    from imapeval.study.intervals import Interval

Method = Literal["isotonic", "linear"]
METHODS: tuple[Method, ...] = ("isotonic", "linear")

FOLDS = 10
"""Number of cross-validation folds, as recommended by Kohavi 1995, "A study of cross-validation and bootstrap for
accuracy estimation and model selection"."""

MIN_QUESTIONS = 20
"""Minimum number of questions: two in every fold."""

_BINS = 10
"""Bins for the calibration error; Guo et al. 2017, "On calibration of modern neural networks", use 15 for 10,000 or
more rows."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A map from scores to ratings: linear between its knots and constant outside them (a line is extrapolated).

    Attributes:
        method: The kind of curve.
        scores: Scores of the k knots, two or more, ascending; for a line its two ends.
        ratings: Ratings at the knots.
    """

    method: Method
    scores: tuple[float, ...]
    ratings: tuple[float, ...]

    def predict(self, scores: Floats, scale: RatingScale | None = None) -> Floats:
        """Return a rating for each score, shape (n,); within the scale where there is one, NaN for NaN."""
        predicted = np.interp(scores, self.scores, self.ratings)
        if self.method == "linear":
            slope = (self.ratings[-1] - self.ratings[0]) / (self.scores[-1] - self.scores[0])
            predicted = self.ratings[0] + slope * (scores - self.scores[0])
        if scale is not None:
            predicted = np.clip(predicted, scale.low, scale.high)
        return np.where(np.isnan(scores), np.nan, predicted)


@dataclass(frozen=True, slots=True)
class PredictionErrors:
    """How far cross-fitted predictions are from the ratings, in rating points.

    Attributes:
        mean_absolute: Mean of |rating - prediction|, with its interval.
        root_mean_square: Root of the mean of the squares, with its interval.
        calibration: Root of the mean over bins of similarly many predictions of (mean rating - mean prediction)^2,
            less what chance alone adds to that; 0 where chance explains it. It has no interval: none has the stated
            coverage near 0.
        baseline: Mean absolute error of predicting, for each answer, the mean rating of the answers to other questions
            (those that its curve was fitted to).
        difference: `mean_absolute` less `baseline`, with its interval: below 0 where the metric tells more than the
            mean rating does.
        half_width: A new answer's rating lies within so many points of its prediction in `confidence` of cases.
        confidence: Confidence level of `half_width` and of the intervals.
        n, questions: Number of answers, and of different questions among them.
    """

    mean_absolute: tuple[float, Interval]
    root_mean_square: tuple[float, Interval]
    calibration: float
    baseline: float
    difference: tuple[float, Interval]
    half_width: float
    confidence: float
    n: int
    questions: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """A curve and what it was fitted to.

    Attributes:
        signature: Signature of the metric; the curve does not apply to scores with another one.
        scale: The rating scale, if one was declared.
        curve: The curve, made from all answers.
        errors: Errors of predictions by curves fitted without the answer's question.
        data: First 16 hex digits of the sha256 of ids, scores and ratings.
    """

    metric: str
    signature: str
    dimension: str
    scale: RatingScale | None
    curve: Curve
    errors: PredictionErrors
    data: str


def fit_curve(scores: Floats, ratings: Floats, *, method: Method) -> Curve:
    """Fit a curve to finite scores and ratings of the same answers.

    Raises:
        UsageError: All scores are the same.
        MissingExtraError: scipy, which isotonic regression needs, is not installed.
    """
    levels, number = np.unique(scores, return_inverse=True)
    if len(levels) < 2:
        # In cross-fitting, those of the questions left out may differ.
        raise UsageError(
            "all scores, or all but those of a few questions, are the same, so no curve can be fitted. Choose another "
            "metric."
        )
    if method == "linear":
        slope, offset = np.polyfit(scores, ratings, 1)
        ends = (float(levels[0]), float(levels[-1]))
        return Curve(method, ends, (float(offset + slope * ends[0]), float(offset + slope * ends[1])))
    optimize = require("scipy.optimize", distribution="scipy", extra="study", needed_for="isotonic calibration")
    sizes = np.bincount(number)
    means = np.bincount(number, ratings) / sizes
    steps: Floats = optimize.isotonic_regression(means, weights=sizes).x
    # Only the two ends of a flat stretch are needed as knots.
    inner = (np.diff(steps, prepend=np.nan) != 0) | (np.diff(steps, append=np.nan) != 0)
    return Curve(method, tuple(levels[inner].tolist()), tuple(steps[inner].tolist()))


def calibrate(
    rated: Rated,
    metric: str,
    dimension: str,
    *,
    signature: str,
    method: Method = "isotonic",
    seed: int = 0,
    resamples: int = 2000,
) -> Calibration:
    """Fit a metric's curve for one dimension, and cross-validate it.

    Answers without a score or a rating are left out. The scores are used as they are; an isotonic curve is decreasing
    if low ones are good.

    Raises:
        UsageError: Fewer than `MIN_QUESTIONS` questions have both a score and a rating, or all scores, or all but those
            of a few questions, are the same.
    """
    falls = -1.0 if metric in rated.lower_is_better else 1.0
    rows, scores, ratings, questions = select_answers(rated, metric, dimension)
    scale = rated.scales.get(dimension)
    predicted = cross_fit(scores, ratings, questions, method=method, scale=scale, seed=seed)
    means = _cross_fit_means(ratings, questions, seed=seed)
    errors = _measure(predicted, means, ratings, questions, seed=seed, resamples=resamples)
    curve = fit_curve(scores, ratings, method=method)
    if falls < 0:
        curve = Curve(method, tuple(-score for score in reversed(curve.scores)), tuple(reversed(curve.ratings)))
    numbered: list[int] = rows.tolist()
    digest = hashlib.sha256("\0".join(rated.ids[row] for row in numbered).encode())
    digest.update((falls * scores).tobytes() + ratings.tobytes())
    return Calibration(metric, signature, dimension, scale, curve, errors, digest.hexdigest()[:16])


def select_answers(rated: Rated, metric: str, dimension: str) -> tuple[Counts, Floats, Floats, Counts]:
    """Return the answers with a score and a rating: their rows, scores (high is good), ratings and questions from 0.

    Raises:
        UsageError: Fewer than `MIN_QUESTIONS` questions have both.
    """
    every, given = rated.scores_of(metric), rated.ratings_of(dimension)
    rows = np.flatnonzero(np.isfinite(every) & np.isfinite(given))
    _, questions = np.unique(rated.questions[rows], return_inverse=True)
    if (count := int(questions.max(initial=-1)) + 1) < MIN_QUESTIONS:
        raise UsageError(
            f"{count} questions have both a score by {metric} and a rating of {dimension}; a curve needs "
            f"{MIN_QUESTIONS}. Rate more answers."
        )
    return rows, every[rows], given[rows], questions


def cross_fit(
    scores: Floats,
    ratings: Floats,
    questions: Counts,
    *,
    method: Method,
    scale: RatingScale | None = None,
    seed: int = 0,
) -> Floats:
    """Predict every answer's rating by a curve made from the answers to other questions, in `FOLDS` folds.

    Scores and ratings are finite, questions numbered from 0. Predictions stay within the scale.

    Raises:
        UsageError: All scores of the answers to other questions are the same.
    """
    predicted = np.empty(len(scores))
    for out in _iterate_folds(questions, seed=seed):
        predicted[out] = fit_curve(scores[~out], ratings[~out], method=method).predict(scores[out], scale)
    return predicted


def _cross_fit_means(ratings: Floats, questions: Counts, *, seed: int) -> Floats:
    """Predict every answer's rating by the mean of the ratings that `cross_fit` makes its curve from."""
    predicted = np.empty(len(ratings))
    for out in _iterate_folds(questions, seed=seed):
        predicted[out] = ratings[~out].mean()
    return predicted


def _iterate_folds(questions: Counts, *, seed: int) -> Iterator[Flags]:
    """Yield which answers are in each fold."""
    count = int(questions.max()) + 1
    dealt = np.empty(count, dtype=np.int64)
    dealt[np.random.default_rng(seed).permutation(count)] = np.arange(count) % FOLDS
    for fold in range(FOLDS):
        yield dealt[questions] == fold


def _measure(
    predicted: Floats, means: Floats, ratings: Floats, questions: Counts, *, seed: int, resamples: int
) -> PredictionErrors:
    count = int(questions.max()) + 1
    distance, of_means = np.abs(ratings - predicted), np.abs(ratings - means)
    # Per question: number of rows, sum of the errors, sum of their squares, sum of the differences.
    columns = [np.ones_like(distance), distance, distance**2, distance - of_means]
    sums = np.stack([np.bincount(questions, column, minlength=count) for column in columns], axis=1)

    def compute(weights: Floats) -> Floats:
        totals = weights @ sums
        error, square, difference = (totals[:, 1:] / totals[:, :1]).T
        return np.column_stack([error, np.sqrt(square), difference])

    values = compute(np.ones((1, count)))[0]
    drawn = compute(draw_resamples(count, seed=seed, resamples=resamples).astype(np.float64))
    wider = widen_confidence(CONFIDENCE, count)
    figures = [
        (float(value), percentile_interval(column, confidence=wider))
        for value, column in zip(values, drawn.T, strict=True)
    ]
    n = len(distance)
    rank = min(n, ceil(CONFIDENCE * (n + 1)))
    return PredictionErrors(
        *(figures[0], figures[1]),
        calibration=measure_calibration_error(predicted, ratings, questions),
        baseline=float(of_means.mean()),
        difference=figures[2],
        half_width=float(np.sort(distance)[rank - 1]),
        confidence=CONFIDENCE,
        n=n,
        questions=count,
    )


def describe_baseline_error(errors: PredictionErrors) -> str:
    """Return whether predictions are shown to be nearer the ratings than the mean rating of other questions is."""
    difference, interval = errors.difference
    # Not "worse": the interval takes the curve as given, and a line that is about as good as the mean seems worse in
    # up to 9% of small studies (benchmarks/calibration_errors.py).
    said = "Better than" if interval.high < 0 else "Not shown to be better than"
    ends = format_interval(interval.low, interval.high, digits=3, write=write_decimal)
    return (
        f"{said} predicting the mean rating of the answers to other questions: mean absolute error "
        f"{format_decimal(errors.mean_absolute[0])}, that of the mean {format_decimal(errors.baseline)}, difference "
        f"{format_decimal(difference)} [{ends}]."
    )


def measure_calibration_error(predicted: Floats, ratings: Floats, questions: Counts) -> float:
    """Return how far, in rating points, the mean rating is from predictions of about the same size; 0 or more.

    Over bins of equally many predictions, apart from equal ones, which share a bin, it is the root of the mean of
    (mean rating - mean prediction)^2. A bin's mean differs from its expectation by chance, which makes every square too
    large by the mean's variance; that is subtracted (Bröcker 2012, "Estimating reliability and resolution of
    probability forecasts"; Kumar, Liang and Ma 2019, "Verified uncertainty calibration", section 4), with answers to
    one question counted together.
    """
    n = len(predicted)
    _, level, sizes = np.unique(predicted, return_inverse=True, return_counts=True)
    # A level is in the bin of its middle. Cut in the order of the rows, a bin of equal predictions could be a system.
    bins = ((2 * np.cumsum(sizes) - sizes - 1) * min(_BINS, n) // (2 * n))[level]
    total = 0.0
    for number in range(_BINS):
        rows = np.flatnonzero(bins == number)
        own, clusters = np.unique(questions[rows], return_inverse=True)
        if len(own) < 2:
            continue
        error = ratings[rows] - predicted[rows]
        by_question = np.bincount(clusters, error - error.mean()) / len(rows)
        chance = len(own) / (len(own) - 1) * float((by_question**2).sum())
        total += len(rows) / n * (float(error.mean()) ** 2 - chance)
    return sqrt(max(0.0, total))
