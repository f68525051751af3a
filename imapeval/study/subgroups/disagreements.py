"""The answers that a metric and the raters rank most differently, to be read one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.product_moment import average_ranks
from imapeval.study.data.rated import choose_names

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer that a metric and the raters rank very differently.

    Attributes:
        score, rating: Score by the metric and mean rating.
        score_rank, rating_rank: Relative rank among the answers with both, 0 (worst) to 1 (best).
    """

    id: str
    metric: str
    dimension: str
    score: float
    rating: float
    score_rank: float
    rating_rank: float


def find_disagreements(rated: Rated, metric: str, dimension: str, *, count: int = 20) -> list[Disagreement]:
    """Return the answers whose place by the metric is furthest from their place by the raters, furthest first.

    Places are among all answers that have both, from 0 (worst) to 1 (best); ties get the average of their places,
    so a metric that gives half of the answers the same score puts none of them at an end. Places by the metric and by
    the raters have the same mean: if it places some answers too high (`score_rank` above `rating_rank`), it places
    others too low. Of equal gaps the earlier answer comes first; an answer without a gap is left out.

    Returns:
        At most `count` answers; none where fewer than two have both a score and a rating.

    Raises:
        UsageError: There is no such metric or dimension.
    """
    choose_names("metric", [metric], rated.metrics)
    choose_names("dimension", [dimension], rated.dimensions)
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    rows = np.flatnonzero(~np.isnan(scores) & ~np.isnan(ratings))
    if len(rows) < 2:
        return []
    by_score, by_rating = _relative_ranks(scores[rows]), _relative_ranks(ratings[rows])
    gaps = np.abs(by_score - by_rating)
    furthest = np.argsort(-gaps, kind="stable")[:count]
    given = rated.scores[:, rated.metrics.index(metric)]
    return [
        Disagreement(
            id=rated.ids[rows[place]],
            metric=metric,
            dimension=dimension,
            score=float(given[rows[place]]),
            rating=float(ratings[rows[place]]),
            score_rank=float(by_score[place]),
            rating_rank=float(by_rating[place]),
        )
        for place in furthest
        if gaps[place] > 0
    ]


def _relative_ranks(numbers: Floats) -> Floats:
    """Return where each number stands, 0 (lowest) to 1 (highest)."""
    return (average_ranks(numbers) - 1) / (len(numbers) - 1)
