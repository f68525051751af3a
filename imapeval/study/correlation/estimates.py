"""The rated answers as arrays, and what is estimated from them for all metrics and dimensions at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class Columns:
    """The rated answers as arrays.

    Attributes:
        metrics, dimensions: Names, m and d of them.
        scores: Scores, high is good; shape (n, m); NaN where there is none.
        ratings: Ratings, shape (n, d); NaN where there is none.
        questions: Question of each answer, numbered from 0 without gaps, shape (n,).
        systems: System of each answer, numbered from 0 without gaps, shape (n,).
        system_names: Names of the systems, by number.
        signs: Signs of the scores, shape (m,): -1 where they were negated.
    """

    metrics: tuple[str, ...]
    dimensions: tuple[str, ...]
    scores: Floats
    ratings: Floats
    questions: Counts
    systems: Counts
    system_names: tuple[str, ...]
    signs: Floats

    @property
    def clusters(self) -> int:
        """Number of questions."""
        return int(self.questions.max()) + 1


def rated_columns(rated: Rated, metrics: Sequence[str]) -> Columns:
    """Return the answers that have a rating, scores negated where a low one is good."""
    rows = np.flatnonzero(~np.isnan(rated.ratings).all(axis=1))
    names = dict.fromkeys(rated.systems[row] for row in rows)
    number = {name: n for n, name in enumerate(names)}
    return Columns(
        tuple(metrics),
        rated.dimensions,
        np.column_stack([rated.scores_of(metric)[rows] for metric in metrics]),
        rated.ratings[rows],
        np.unique(rated.questions[rows], return_inverse=True)[1],
        np.array([number[rated.systems[row]] for row in rows], dtype=np.int64),
        tuple(names),
        np.array([-1.0 if metric in rated.lower_is_better else 1.0 for metric in metrics]),
    )


@dataclass(frozen=True, slots=True)
class Estimates:
    """The coefficients of m metrics with d dimensions among some answers, c questions in all.

    Attributes:
        values: The coefficients, shape (m, d); NaN where undefined.
        influences: Influences of the questions, shape (c, m, d).
        replicates: Replicates, shape (2, resamples, m, d): with undefined ones set to the lowest possible value, and to
            the highest. None where intervals come from the influences.
        groups: Number of coefficients that each value is the mean of, shape (m, d).
        epsilons: Tie thresholds, shape (m, d); NaN where there is none.
        reasons: Why a value is undefined, or what it leaves out, by metric and dimension number.
    """

    values: Floats
    influences: Floats
    replicates: Floats | None
    groups: Counts
    epsilons: Floats
    reasons: dict[tuple[int, int], str] = field(default_factory=dict[tuple[int, int], str])


@dataclass(frozen=True, slots=True)
class Block:
    """Metrics and dimensions that have values for the same answers."""

    metrics: Counts
    dimensions: Counts
    rows: Counts

    def take(self, columns: Columns) -> tuple[Floats, Floats]:
        """Return the scores, shape (p, n), and the ratings, shape (q, n)."""
        tables = (columns.scores, self.metrics), (columns.ratings, self.dimensions)
        scores, ratings = (np.ascontiguousarray(table[np.ix_(self.rows, places)].T) for table, places in tables)
        return scores, ratings


def find_blocks(columns: Columns, rows: Counts) -> Iterator[Block]:
    """Yield blocks that contain every pair of a metric and a dimension once, grouped by the answers they share."""
    scored = _group_alike(~np.isnan(columns.scores[rows]))
    rated = _group_alike(~np.isnan(columns.ratings[rows]))
    for has_score, metrics in scored:
        for has_rating, dimensions in rated:
            yield Block(metrics, dimensions, rows[has_score & has_rating])


def _group_alike(there: Flags) -> list[tuple[Flags, Counts]]:
    groups: dict[bytes, list[int]] = {}
    for number in range(there.shape[1]):
        groups.setdefault(np.packbits(there[:, number]).tobytes(), []).append(number)
    return [(there[:, numbers[0]], np.array(numbers, dtype=np.int64)) for numbers in groups.values()]


def fill_undefined(replicates: Floats | None, bounds: tuple[float, float]) -> Floats | None:
    """Return the replicates with undefined ones set to the lowest, and to the highest, possible value."""
    if replicates is None:
        return None
    return np.where(np.isnan(replicates), np.reshape(bounds, (2, 1, 1, 1)), replicates)


def explain_few_systems(systems: int, minimum: int) -> str:
    """Return the message that too few systems have scores and ratings."""
    found = "1 system has" if systems == 1 else f"{systems} systems have"
    return f"{found} scores and ratings; at least {minimum} are needed"
