"""Descriptive statistics of a ratings file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from imapeval.study.data.ratings.collection import Ratings
    from imapeval.study.data.scales import RatingScale

_MAX_LEVELS = 21
"""Maximum number of distinct ratings with a bar each, as from 0 to 10 in halves; more are shown in bins."""

_BINS = 10


@dataclass(frozen=True, slots=True)
class RatingBar:
    """How many ratings lie from `low` to `high`.

    `low` is included; `high` only in the last bin, and where a bar is of a single rating.
    """

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class RaterShare:
    """The number of ratings by one rater, and their mean."""

    ratings: int
    mean: float


@dataclass(frozen=True, slots=True)
class RatingsSummary:
    """The ratings in one dimension.

    Attributes:
        answers: Number of answers with a rating.
        missing: Number of answers in the file without one.
        ratings: Number of ratings by all raters.
        low, high, mean: Minimum, maximum and mean of the ratings.
        scale: The declared scale, if any.
        bars: A bar for each distinct rating, or ten bins where there are more than 21 of them.
        by_rater: Number and mean of each rater's ratings; empty if raters are unknown.
    """

    dimension: str
    answers: int
    missing: int
    ratings: int
    low: float
    high: float
    mean: float
    scale: RatingScale | None
    bars: tuple[RatingBar, ...]
    by_rater: dict[str, RaterShare]


def summarise_ratings(ratings: Ratings) -> tuple[RatingsSummary, ...]:
    """Return a summary of each dimension that has a rating, in the order of the file."""
    summaries: list[RatingsSummary] = []
    for code, name in enumerate(ratings.dimensions):
        here = ratings.dimension == code
        values, answers = ratings.value[here], len(np.unique(ratings.answer[here]))
        if len(values) == 0:
            continue
        by_rater = {rater: values[ratings.rater[here] == n] for n, rater in enumerate(ratings.raters)}
        levels, counts = np.unique(values, return_counts=True)
        edges = levels
        if len(levels) > _MAX_LEVELS:
            counts, edges = np.histogram(values, bins=_BINS)
        summaries.append(
            RatingsSummary(
                name,
                answers,
                len(ratings.ids) - answers,
                len(values),
                float(levels[0]),
                float(levels[-1]),
                float(values.mean()),
                ratings.scales.get(name),
                tuple(
                    RatingBar(float(low), float(high), int(count))
                    for low, high, count in zip(
                        edges[: len(counts)], edges[len(edges) - len(counts) :], counts, strict=True
                    )
                ),
                {rater: RaterShare(len(given), float(given.mean())) for rater, given in by_rater.items() if len(given)},
            )
        )
    return tuple(summaries)
