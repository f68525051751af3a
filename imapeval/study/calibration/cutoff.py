"""From which score on is an answer acceptable? A cut-off on a metric, with what it gets right.

The cut-off is the one with the largest Youden index, sensitivity + specificity - 1 (Youden 1950, "Index for rating
diagnostic tests"). Chosen and measured on the same answers, it looks too good. That optimism is estimated by choosing
the cut-off again on resamples of the questions, and subtracted (Efron and Gong 1983; Harrell, Lee and Mark 1996,
section 4.3): the figures are those to be expected of this cut-off on answers to other questions. Intervals are score
intervals of the figures at the cut-off, moved by the optimism; docs/few-ratings.md has their coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.arrays import divide
from imapeval.study.intervals import CONFIDENCE, ends_of
from imapeval.study.intervals.bootstrap import iterate_resamples, leave_out_clusters, number_clusters
from imapeval.study.intervals.shares import score_interval

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.study.data.rated import Rated

FIGURES = ("sensitivity", "specificity", "positive predictive value", "negative predictive value", "Youden index")

MIN_QUESTIONS = 20
"""Minimum number of questions: with fewer, intervals are too wide to be useful and their coverage was not measured."""

MIN_ANSWERS = 5
"""Minimum number of acceptable answers, and of others, from which a share is estimated."""

RESAMPLES = 200
"""Number of resamples, enough for a mean: Efron and Gong 1983 and Harrell et al. 1996 take 100 to 200."""

_GROUPS = 200
"""Maximum number of jackknife groups of questions; see `agreement.statistic`."""


@dataclass(frozen=True, slots=True)
class Figure:
    """How often a cut-off is right.

    Attributes:
        name: One of `FIGURES`.
        value: Expected value for answers to other questions, 0..1 (the Youden index -1..1); None where it is undefined.
        low, high: Ends of its interval.
        apparent: Value on the answers that the cut-off was chosen on; equal to `value` if the cut-off was given.
        n: Number of answers that it is a share of.
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    apparent: float | None = None
    n: int = 0


@dataclass(frozen=True, slots=True)
class CutOff:
    """A cut-off on the scores of a metric.

    Attributes:
        right_from: An answer is acceptable if its rating is no lower.
        score: The metric calls an answer acceptable if its score is no worse.
        lower_is_better: Whether a low score is good, so that "no worse" is "no higher".
        chosen: Whether the cut-off was chosen on these answers; else it was given.
        acceptable: Share of acceptable answers, on which the predictive values depend.
        figures: One for each name in `FIGURES`.
        n: Answers with a score and a rating.
        questions: Number of different questions among them.
        confidence: Confidence level of the intervals.
    """

    metric: str
    dimension: str
    right_from: float
    score: float
    lower_is_better: bool
    chosen: bool
    acceptable: float
    figures: tuple[Figure, ...]
    n: int
    questions: int
    confidence: float


def find_cutoff(
    rated: Rated,
    metric: str,
    dimension: str,
    *,
    right_from: float,
    at: float | None = None,
    seed: int = 0,
) -> CutOff:
    """Choose the cut-off that best separates acceptable answers from others, or measure the one given.

    An answer is acceptable if its rating is `right_from` or higher.

    Raises:
        UsageError: There are too few questions, acceptable answers or others, or all scores are the same.
    """
    every, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    there = np.isfinite(every) & np.isfinite(ratings)
    scores, acceptable = every[there], ratings[there] >= right_from
    codes = number_clusters(rated.questions[there])
    questions = int(codes.max(initial=-1)) + 1
    if questions < MIN_QUESTIONS:
        raise UsageError(f"{questions} questions are fewer than {MIN_QUESTIONS}. Rate more answers.")
    number = int(acceptable.sum())
    if min(number, len(scores) - number) < MIN_ANSWERS:
        raise UsageError(
            f"{number} of {len(scores)} answers are rated {right_from:g} or better in {dimension}; at least "
            f"{MIN_ANSWERS} must be, and {MIN_ANSWERS} must not. Give another --right-from, or rate more answers."
        )
    negated = metric in rated.lower_is_better
    if at is None:
        below, above = _Choice(scores, acceptable).choose(np.ones((1, len(scores))))
        score = _shorten(float(below[0]), float(above[0]))
        optimism = _estimate_optimism(scores, acceptable, codes, seed=seed)
    else:
        score = -at if negated else at
        optimism = np.zeros(len(FIGURES))
    called = scores >= score
    measure = partial(_measure, called, acceptable)
    values, left_out = measure(np.ones((1, len(scores))))[0], leave_out_clusters(measure, codes, most=_GROUPS)
    sizes = (number, len(scores) - number, int(called.sum()), int((~called).sum()), len(scores))
    figures = [
        _make_figure(name, value, column, moved, size, min(questions, size))
        for name, value, column, moved, size in zip(FIGURES, values, left_out.T, optimism, sizes, strict=True)
    ]
    return CutOff(
        metric,
        dimension,
        right_from,
        0.0 - score if negated else score,
        negated,
        at is None,
        number / len(scores),
        tuple(figures),
        len(scores),
        questions,
        CONFIDENCE,
    )


def _make_figure(name: str, value: float, left_out: Floats, optimism: float, n: int, size: int) -> Figure:
    if np.isnan(value):
        return Figure(name, n=n)
    lowest = -1.0 if name == FIGURES[-1] else 0.0
    low, high = ends_of(score_interval(float(value), left_out, bounds=(lowest, 1.0), size=size))

    def move(number: float | None) -> float | None:
        return None if number is None else float(min(1.0, max(lowest, number - optimism)))

    return Figure(name, move(float(value)), move(low), move(high), float(value), n)


def _measure(called: Flags, acceptable: Flags, weights: Floats) -> Floats:
    """Return the figures under each row of weights, shape (rows, figures); NaN where one is undefined.

    `called` is whether the metric calls an answer acceptable, shape (n,) or (rows, n), `acceptable` whether it is.
    """
    right = weights * acceptable
    hits, rejections = (right * called).sum(axis=1), ((weights - right) * ~called).sum(axis=1)
    totals = [right.sum(axis=1), (weights - right).sum(axis=1), (weights * called).sum(axis=1)]
    totals.append(weights.sum(axis=1) - totals[2])
    parts = [divide(count, total) for count, total in zip((hits, rejections, hits, rejections), totals, strict=True)]
    return np.column_stack([*parts, parts[0] + parts[1] - 1])


class _Choice:
    """Chooses the cut-off with the largest Youden index."""

    def __init__(self, scores: Floats, acceptable: Flags) -> None:
        self._order = np.argsort(scores, kind="stable")
        ordered = scores[self._order]
        self._starts = np.flatnonzero(np.diff(ordered) > 0) + 1
        if not len(self._starts):
            raise UsageError("all scores are the same, so no cut-off separates answers. Choose another metric.")
        self._below, self._above = ordered[self._starts - 1], ordered[self._starts]
        self._acceptable = acceptable[self._order]

    def choose(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the score below the cut-off and the one above it, under each row of weights, shape (rows,)."""
        ordered = weights[:, self._order]
        youden = np.zeros((len(weights), len(self._starts)))
        for side, sign in ((self._acceptable, -1.0), (~self._acceptable, 1.0)):
            sums = np.cumsum(ordered * side, axis=1)
            total = np.maximum(sums[:, -1:], np.finfo(np.float64).tiny)
            youden += sign * sums[:, self._starts - 1] / total
        best = youden.argmax(axis=1)
        return self._below[best], self._above[best]


def _estimate_optimism(scores: Floats, acceptable: Flags, codes: Counts, *, seed: int) -> Floats:
    """Return by how much each figure is too good at a cut-off that was chosen on the same answers."""
    choice, total, count = _Choice(scores, acceptable), np.zeros(len(FIGURES)), np.zeros(len(FIGURES))
    for drawn in iterate_resamples(int(codes.max()) + 1, seed=seed, resamples=RESAMPLES):
        # A matrix of 200 resamples x 100,000 answers would take gigabytes.
        for some in np.array_split(drawn, max(1, len(drawn) * len(scores) // 1_000_000)):
            weights = some[:, codes].astype(np.float64)
            # Not their middle, which may be rounded to the score below.
            called = scores >= choice.choose(weights)[1][:, None]
            gap = _measure(called, acceptable, weights) - _measure(called, acceptable, np.ones_like(weights))
            # NaN where a resample has no acceptable answer, or none that the metric calls acceptable.
            total += np.nansum(gap, axis=0)
            count += np.isfinite(gap).sum(axis=0)
    return total / np.maximum(count, 1)


def _shorten(below: float, above: float) -> float:
    """Return the number with the fewest decimals above one score and not above the next."""
    middle = (below + above) / 2
    for digits in range(17):
        # Plus 0, because -0 would be printed as such.
        if below < (short := round(middle, digits) + 0.0) <= above:
            return short
    return above
