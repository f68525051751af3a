"""Scores and ratings of answers as arrays: the input of every statistic of a study."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals.bootstrap import number_clusters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.metrics.base import Range
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.ratings.collection import Ratings


SYSTEM, DIMENSION = "system", "dimension"
"""Facets that every study has: the system and the rating dimension."""


@dataclass(frozen=True, slots=True)
class Rated:
    """Answers with their scores and ratings. Rows are answers, in one order everywhere; NaN is "no number" throughout.

    Attributes:
        ids: Ids of the answers, shape (n,).
        questions: The question of each answer, numbered from 0, shape (n,): answers to one question are not
            independent.
        systems: System of each answer, from `imapeval.evaluation.samples.reading.system_label`, shape (n,).
        metrics: Names of the m metrics.
        scores: Scores, shape (n, m); NaN if the metric failed.
        dimensions: Names of the d rating dimensions.
        ratings: Means over the raters, shape (n, d); NaN without a rating.
        raters: Names of the r raters; empty if only averages are known.
        by_rater: Ratings of each rater, by dimension, shape (n, r); empty without raters.
        scales: The declared scales, by dimension.
        lower_is_better: Metrics for which a low score is good, such as perplexities.
        ranges: Ranges of the metrics with the options of the runs.
        facets: Groups that answers fall into, by name ("task", "language"), shape (n,); "" where unknown.
        covariates: Numbers about the answers, by name ("response characters", "compression"), shape (n,); NaN where
            unknown. No facet or covariate is named `SYSTEM` or `DIMENSION`.
    """

    ids: tuple[str, ...]
    questions: Counts
    systems: tuple[str, ...]
    metrics: tuple[str, ...]
    scores: Floats
    dimensions: tuple[str, ...]
    ratings: Floats
    raters: tuple[str, ...] = ()
    by_rater: Mapping[str, Floats] = field(default_factory=dict[str, "Floats"])
    scales: Mapping[str, RatingScale] = field(default_factory=dict[str, RatingScale])
    lower_is_better: frozenset[str] = frozenset()
    ranges: Mapping[str, Range] = field(default_factory=dict[str, "Range"])
    facets: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    covariates: Mapping[str, Floats] = field(default_factory=dict[str, "Floats"])

    def __post_init__(self) -> None:
        n = len(self.ids)
        shapes = {
            "questions": (self.questions.shape, (n,)),
            "systems": ((len(self.systems),), (n,)),
            "scores": (self.scores.shape, (n, len(self.metrics))),
            "ratings": (self.ratings.shape, (n, len(self.dimensions))),
            **{f"by_rater[{name}]": (table.shape, (n, len(self.raters))) for name, table in self.by_rater.items()},
            **{f"facets[{name}]": ((len(groups),), (n,)) for name, groups in self.facets.items()},
            **{f"covariates[{name}]": (numbers.shape, (n,)) for name, numbers in self.covariates.items()},
        }
        for name, (found, expected) in shapes.items():
            if found != expected:
                raise ValueError(f"{name} has the shape {found}, expected {expected}")
        if taken := {SYSTEM, DIMENSION} & {*self.facets, *self.covariates}:
            raise ValueError(f"{min(taken)!r} is a facet of every study; give it another name")
        if np.isinf(self.scores).any() or np.isinf(self.ratings).any():
            raise ValueError("scores and ratings are finite or NaN")

    def scores_of(self, metric: str) -> Floats:
        """Return the scores of one metric, shape (n,), negated if low scores are good: high is always good."""
        column = self.scores[:, self.metrics.index(metric)]
        return -column if metric in self.lower_is_better else column

    def ratings_of(self, dimension: str) -> Floats:
        """Return the mean ratings in one dimension, shape (n,)."""
        return self.ratings[:, self.dimensions.index(dimension)]

    def take(self, rows: Sequence[int] | Counts) -> Rated:
        """Return some of the answers, by their row numbers. Questions keep their numbers."""
        picked = np.asarray(rows, dtype=np.int64)
        numbered: list[int] = picked.tolist()
        return replace(
            self,
            ids=tuple(self.ids[row] for row in numbered),
            questions=self.questions[picked],
            systems=tuple(self.systems[row] for row in numbered),
            scores=self.scores[picked],
            ratings=self.ratings[picked],
            by_rater={name: table[picked] for name, table in self.by_rater.items()},
            facets={name: tuple(groups[row] for row in numbered) for name, groups in self.facets.items()},
            covariates={name: numbers[picked] for name, numbers in self.covariates.items()},
        )


def round_score(score: float) -> float:
    """Return a score with 12 significant digits, as every study takes it.

    Metrics that compute the same number in another order differ in the last of its 16 digits. For rank coefficients,
    such scores are to be ties.
    """
    return float(f"{score:.12g}")


def choose_names(kind: str, wanted: Sequence[str] | None, known: Sequence[str]) -> tuple[str, ...]:
    """Return the requested names, each once; None requests all. `kind` is the kind of thing named, for the message.

    Raises:
        UsageError: A name is unknown.
    """
    for name in wanted or ():
        if name not in known:
            raise refuse_unknown_name(kind, name, known)
    return tuple(dict.fromkeys(known if wanted is None else wanted))


def refuse_unknown_name(kind: str, name: str, known: Sequence[str]) -> UsageError:
    """Return the error about an unknown name, such as that of a dimension."""
    return UsageError(f"there is no {kind} {name!r}. There are: {', '.join(known)}.")


def choose_metrics(rated: Rated, metrics: Sequence[str]) -> Rated:
    """Return the answers with these metrics, in this order.

    Raises:
        UsageError: There is no such metric.
    """
    names = choose_names("metric", metrics, rated.metrics)
    columns = [rated.metrics.index(name) for name in names]
    return replace(rated, metrics=names, scores=rated.scores[:, columns])


def rated_without_scores(ratings: Ratings, *, questions: Mapping[str, str] | None = None) -> Rated:
    """Return ratings as answers without metrics, to measure agreement among raters.

    `questions` has the question of each answer, by its id. Answers to the same one belong together; an answer whose
    question is unknown is a cluster of its own.
    """
    known = questions or {}
    return Rated(
        ids=ratings.ids,
        # A tuple is never the text of a question, so an id cannot be mistaken for one.
        questions=number_clusters([known.get(id_, (id_,)) for id_ in ratings.ids]),
        systems=("",) * len(ratings.ids),
        metrics=(),
        scores=np.empty((len(ratings.ids), 0)),
        dimensions=ratings.dimensions,
        ratings=ratings.average(),
        raters=ratings.raters,
        by_rater={name: ratings.split(name) for name in ratings.dimensions} if ratings.raters else {},
        scales=ratings.scales,
    )
