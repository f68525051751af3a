"""What error remains when a metric abstains on the answers whose readings or judgements disagree most.

Error is the distance between a rating and its prediction by a curve that was fitted to answers to other questions
(`imapeval.study.calibration.curve`). Left over is what selective prediction calls the risk at a coverage (El-Yaniv and
Wiener 2010, JMLR 11, 1605-1641). Answers of equal stability are taken in part, which is the mean over all ways of
choosing among them; abstaining at random leaves the error of all answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.calibration.curve import MIN_QUESTIONS, cross_fit
from imapeval.study.intervals.bootstrap import (
    RESAMPLES,
    compute_replicates,
    draw_resamples,
    number_clusters,
    percentile_interval,
    sum_by_code,
)

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats
    from imapeval.study.data.rated import Rated

SHARES = (0.1, 0.2, 0.3)
"""Shares of the answers on which a metric abstains."""


@dataclass(frozen=True, slots=True)
class Abstention:
    """The error that remains when a metric abstains on some of the answers.

    Attributes:
        share: Share of the answers on which it abstains, 0..1.
        error: Mean of |rating - predicted rating| over the other answers, in rating points.
        low, high: Bounds of its 95% interval.
        change: The error less that without abstention; below 0 where abstaining helps.
        change_low, change_high: Bounds of its 95% interval; None where the share is 0.
        least: The smallest error possible, by abstaining where the prediction is farthest from the rating.
        n: Answers with a score, a stability and a rating.
    """

    metric: str
    dimension: str
    share: float
    error: float
    low: float
    high: float
    change: float
    change_low: float | None
    change_high: float | None
    least: float
    n: int


@dataclass(frozen=True, slots=True)
class DoubtfulAnswer:
    """An answer that people should rate before others.

    Attributes:
        system: Who gave it.
        score: The metric's mean over its readings and judgements.
        stability: 1 less the mean difference between two of them, as a share of the metric's range; 0..1. Or the
            number that was given in its place.
    """

    id: str
    system: str
    metric: str
    score: float
    stability: float


def measure_abstention(
    rated: Rated,
    metric: str,
    dimension: str,
    stability: Floats,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Abstention]:
    """Measure the error that remains when a metric abstains on its least stable scores.

    The stability of each answer's score may be any number that is higher the surer a score is; NaN where it is not
    known. There is a row for no abstention, and one for each of `SHARES`.

    Raises:
        UsageError: Fewer than 20 questions have a score, a stability and a rating, or all scores are the same.
    """
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(ratings) & np.isfinite(stability))
    questions = number_clusters(rated.questions[rows])
    count = int(questions.max(initial=-1)) + 1
    if count < MIN_QUESTIONS:
        raise UsageError(
            f"{count} questions have a rating of {dimension} and a score by {metric} with a stability; predictions "
            f"need {MIN_QUESTIONS}. Rate more answers."
        )
    predicted = cross_fit(
        scores[rows], ratings[rows], questions, method="isotonic", scale=rated.scales.get(dimension), seed=seed
    )
    errors = np.abs(ratings[rows] - predicted)
    drawn = draw_resamples(count, seed=seed, resamples=resamples)
    everything = np.ones((1, len(rows)))
    found: list[Abstention] = []
    without: Floats = np.zeros(0)
    for share in (0.0, *SHARES):

        def remaining(weights: Floats, doubt: Floats = -stability[rows], share: float = share) -> Floats:
            return _average_remaining(errors, doubt, weights, share)

        replicates = compute_replicates(remaining, drawn, questions)
        if not found:
            without = replicates
        error = float(remaining(everything)[0])
        interval, change = percentile_interval(replicates), percentile_interval(replicates - without)
        found.append(
            Abstention(
                metric,
                dimension,
                share,
                *(error, interval.low, interval.high),
                change=error - found[0].error if found else 0.0,
                change_low=change.low if found else None,
                change_high=change.high if found else None,
                least=float(remaining(everything, errors)[0]),
                n=len(rows),
            )
        )
    return found


def _average_remaining(errors: Floats, doubt: Floats, weights: Floats, share: float) -> Floats:
    """Return the mean error without the share of most doubtful answers, by rows of weights, shape (resamples,)."""
    _, tied = np.unique(doubt, return_inverse=True)
    sizes, sums = (sum_by_code(columns, tied) for columns in (weights, weights * errors))
    kept = (1 - share) * weights.sum(axis=1, keepdims=True)
    room = kept - (np.cumsum(sizes, axis=1) - sizes)
    # Of a level that nobody was drawn from, nothing is taken.
    taken = np.clip(room / np.where(sizes > 0, sizes, 1.0), 0.0, 1.0)
    return (taken * sums).sum(axis=1) / kept[:, 0]


def list_doubtful(rated: Rated, metric: str, stability: Floats) -> list[DoubtfulAnswer]:
    """Return the answers without a rating of any dimension, the least stable first.

    Those without a stability are left out; equally stable ones are in the order of the data.
    """
    scores = rated.scores[:, rated.metrics.index(metric)]
    unrated = ~np.isfinite(rated.ratings).any(axis=1)
    known = np.flatnonzero(np.isfinite(stability) & np.isfinite(scores) & unrated)
    rows: list[int] = known[np.argsort(stability[known], kind="stable")].tolist()
    return [
        DoubtfulAnswer(rated.ids[row], rated.systems[row], metric, float(scores[row]), float(stability[row]))
        for row in rows
    ]
