"""Stability of scores over repeated extraction, and whether stable scores are more accurate.

Readings are made with --votes; the stability of a score is its part `stability` (`imapeval.evaluation.combine`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.coefficients import explain_undefined, find_coefficient
from imapeval.study.correlation.product_moment import average_ranks
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import (
    RESAMPLES,
    bootstrap_clusters,
    mean_interval,
    number_clusters,
    percentile_interval,
)
from imapeval.study.subgroups.slices import divide_answers
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.evaluation.runs import Result
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

ALL_ANSWERS = "all answers"
"""The one group that holds every answer."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How stable a metric's scores of some answers are.

    Attributes:
        facet, group: As in `Slice`; `ALL_ANSWERS` and "" for all.
        mean: Mean stability, 0..1.
        low, high: Bounds of the mean's 95% interval; None where there is one question only.
        lowest_tenth: Stability that a tenth of the answers falls short of.
    """

    metric: str
    facet: str
    group: str
    mean: float
    low: float | None
    high: float | None
    lowest_tenth: float
    n: int


@dataclass(frozen=True, slots=True)
class StabilityError:
    """How a metric's error depends on the stability of its scores.

    Attributes:
        value: Spearman's rho of stability with the distance between an answer's place by the metric and its place by
            the raters; below 0 where stable scores have smaller errors. None where it is undefined.
        low, high: Bounds of its 95% interval.
        n: Answers with stability, score and rating.
        reason: Why there is no value, or no interval; None where there are both.
    """

    metric: str
    dimension: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


def read_stability(results: Iterable[Result], ids: Sequence[str]) -> dict[str, Floats]:
    """Return the stability of each answer's score, NaN where it has none, by metric; those without any are left out."""
    found: dict[str, dict[str, float]] = {}
    for result in results:
        if isinstance(result.outcome, Score) and "stability" in result.outcome.parts:
            found.setdefault(result.metric, {})[result.id] = result.outcome.parts["stability"]
    return {
        metric: np.array([known.get(id_, np.nan) for id_ in ids], dtype=np.float64) for metric, known in found.items()
    }


def summarise_stability(
    rated: Rated, metric: str, stability: Floats, *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Stability]:
    """Summarise stability over all answers and over the groups that `slices.divide_answers` makes.

    The stability of an answer is NaN where it is not known. Ratings are not looked at.

    Returns:
        All answers first; nothing where no stability is known.
    """
    known = np.flatnonzero(~np.isnan(stability))
    if not len(known):
        return []
    rated, stability = rated.take(known), stability[known]
    groups: list[tuple[str, str, Counts]] = [(ALL_ANSWERS, "", np.arange(len(known)))]
    for facet, members in divide_answers(rated).items():
        if len(members) > 1:
            groups.extend((facet, group, rows) for group, rows in members.items())
    return [
        _summarise(metric, facet, group, stability[rows], rated.questions[rows], seed=seed, resamples=resamples)
        for facet, group, rows in groups
    ]


def _summarise(
    metric: str, facet: str, group: str, stability: Floats, questions: Counts, *, seed: int, resamples: int
) -> Stability:
    interval = mean_interval(
        stability.tolist(), clusters=questions.tolist(), bounds=(0.0, 1.0), seed=seed, resamples=resamples
    )
    return Stability(
        *(metric, facet, group),
        *(float(stability.mean()), *ends_of(interval)),
        lowest_tenth=float(np.quantile(stability, 0.1)),
        n=len(stability),
    )


def relate_stability(
    rated: Rated, metric: str, stability: Floats, *, seed: int = 0, resamples: int = RESAMPLES
) -> list[StabilityError]:
    """Correlate a metric's stability with its error: how far its place for an answer is from the raters'.

    Places are ranks among the answers with both, as in `find_disagreements`. Intervals are 95% percentile bootstraps
    over questions. The stability of an answer is NaN where it is not known.

    Returns:
        A row per dimension.
    """
    return [
        _relate(rated, stability, metric, dimension, seed=seed, resamples=resamples) for dimension in rated.dimensions
    ]


def _relate(
    rated: Rated, stability: Floats, metric: str, dimension: str, *, seed: int, resamples: int
) -> StabilityError:
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    rows = np.flatnonzero(~np.isnan(scores + ratings + stability))
    stable = stability[rows]
    error = np.abs(average_ranks(scores[rows]) - average_ranks(ratings[rows]))
    if why := explain_undefined(stable, error, names=("the stability", "the error")):
        return StabilityError(metric, dimension, None, None, None, len(rows), why.reason)

    def correlate(weights: Floats) -> Floats:
        return find_coefficient("spearman").weighted(stable, error, weights)

    value = float(correlate(np.ones((1, len(rows))))[0])
    codes = number_clusters(rated.questions[rows])
    if codes.max() == 0:
        return StabilityError(metric, dimension, value, None, None, len(rows), "one question alone has no interval")
    replicates = bootstrap_clusters(correlate, codes, seed=seed, resamples=resamples)
    interval = percentile_interval(replicates, bounds=(-1.0, 1.0))
    return StabilityError(metric, dimension, value, interval.low, interval.high, len(rows))
