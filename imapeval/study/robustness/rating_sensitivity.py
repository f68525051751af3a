"""Sensitivity of a finding to the ratings: noise, leaving out a rater, leaving out a few answers.

The finding is a metric's correlation with the ratings, or which of two metrics correlates better. Systems are taken
one by one and averaged, as in `imapeval study correlate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.correlation.coefficients import Undefined, spearman

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated
    from imapeval.study.data.scales import Scale

NOISE = (0.25, 0.5, 1.0)
"""Standard deviations of the noise that is added to the ratings, in rating points."""

REPEATS = 200
"""Draws of the noise: the mean of 200 correlations that vary by .05 is known to .004."""


@dataclass(frozen=True, slots=True)
class RatingShift:
    """A metric's correlation when the ratings are changed.

    Attributes:
        metric: Name of the metric.
        dimension: The rating dimension.
        change: What was done, such as "noise of .5 points" or "without rater r2".
        kind: "noise" or "rater".
        before: Spearman's rho as it is, mean within systems.
        after: With the change; of noise the mean over `REPEATS` draws. None where it is undefined.
        n: Answers after the change.
    """

    metric: str
    dimension: str
    change: str
    kind: Literal["noise", "rater"]
    before: float
    after: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Fragility:
    """How many answers determine which of two metrics is better.

    Attributes:
        first, second: The metrics, the better one first.
        dimension: The rating dimension.
        difference: Of their correlations.
        removed: So many answers, the ones that speak most for the first, are enough to turn the order; None where
            half of the answers are not.
        n: Answers with both scores and a rating.
        ids: Of the removed answers, the most influential first.
        sentence: The same in words.
    """

    first: str
    second: str
    dimension: str
    difference: float
    removed: int | None
    n: int
    ids: tuple[str, ...]
    sentence: str


def shift_ratings(rated: Rated, metric: str, dimension: str, *, seed: int = 0) -> list[RatingShift]:
    """Correlate again with noise on the ratings, and without each of the raters.

    Noise is normal; where the scale was declared the noisy rating is cut off at its ends. Two raters or more
    are needed to leave one out.

    Args:
        rated: Scores and ratings.
        metric: Which.
        dimension: The rating dimension.
        seed: Random seed for the noise.

    Raises:
        UsageError: The correlation is undefined as it is.
    """
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    systems = _number(rated)
    rows = np.isfinite(scores) & np.isfinite(ratings)
    before = _correlate(scores[rows], ratings[rows], systems[rows])
    if before is None:
        raise UsageError(f"the correlation of {metric} with {dimension} is undefined; there is nothing to vary.")
    generator = np.random.default_rng(seed)
    shifts: list[RatingShift] = []
    for spread in NOISE:
        drawn: list[float] = []
        for _ in range(REPEATS):
            noisy = _put_on(ratings[rows] + generator.normal(0.0, spread, int(rows.sum())), rated.scales.get(dimension))
            if (value := _correlate(scores[rows], noisy, systems[rows])) is not None:
                drawn.append(value)
        after = float(np.mean(drawn)) if drawn else None
        shifts.append(
            RatingShift(metric, dimension, f"noise of {spread:g} points", "noise", before, after, int(rows.sum()))
        )
    table = rated.by_rater.get(dimension)
    if table is not None and len(rated.raters) > 1:
        for index, rater in enumerate(rated.raters):
            others = _average(np.delete(table, index, axis=1))
            left = np.isfinite(scores) & np.isfinite(others)
            after = _correlate(scores[left], others[left], systems[left])
            shifts.append(
                RatingShift(metric, dimension, f"without rater {rater}", "rater", before, after, int(left.sum()))
            )
    return shifts


def find_fragility(rated: Rated, first: str, second: str, dimension: str) -> Fragility:
    """Find how few answers, taken away, turn the order of two metrics.

    The answers are ranked by their influence on the difference, which is what the difference changes by when the answer
    alone is taken away, and taken away in that order (Broderick, Giordano and Meager 2020, "An automatic finite-sample
    robustness metric", who approximate the influence). So it is an upper bound: another set might be smaller.

    Args:
        rated: Scores and ratings.
        first: A metric.
        second: Another.
        dimension: The rating dimension.

    Raises:
        UsageError: A correlation is undefined, or both are the same.
    """
    one, other, ratings = rated.scores_of(first), rated.scores_of(second), rated.ratings_of(dimension)
    rows = np.flatnonzero(np.isfinite(one) & np.isfinite(other) & np.isfinite(ratings))
    one, other, ratings, systems = one[rows], other[rows], ratings[rows], _number(rated)[rows]

    def differ(left: Counts) -> float | None:
        values = [_correlate(side[left], ratings[left], systems[left]) for side in (one, other)]
        return None if values[0] is None or values[1] is None else values[0] - values[1]

    def turns(after: float | None) -> bool:
        return after is not None and after <= 0

    n = len(rows)
    difference = differ(np.arange(n)) if n else None
    if difference is None or difference == 0:
        why = "undefined" if difference is None else "0"
        raise UsageError(f"the difference of {first} and {second} in {dimension} is {why}; there is no order to turn.")
    if difference < 0:
        return find_fragility(rated, second, first, dimension)
    every = np.arange(n)
    without = [differ(np.delete(every, row)) for row in range(n)]
    influence = np.array([0.0 if value is None else difference - value for value in without])
    order = np.argsort(-influence, kind="stable")
    # One after the other: past the answers that speak for the first, the difference may rise again or be undefined.
    removed = next((count for count in range(1, n // 2 + 1) if turns(differ(np.sort(order[count:])))), None)
    ids = tuple(rated.ids[rows[row]] for row in order[: removed or 0])
    if removed is None:
        sentence = (
            f"{first} stays ahead of {second} in {dimension} however many of the {n} answers that speak most for it "
            "are taken away, up to half."
        )
    else:
        sentence = (
            f"{removed} of {n} answers ({removed / n:.1%}) decide that {first} is ahead of {second} in {dimension} "
            f"(difference {difference:.3f}): without them the order turns."
        )
    return Fragility(first, second, dimension, difference, removed, n, ids, sentence)


def _correlate(scores: Floats, ratings: Floats, systems: Counts) -> float | None:
    """Return the mean of Spearman's rho over systems; None where no system has one."""
    values: list[float] = []
    for system in np.unique(systems):
        theirs = systems == system
        value = spearman(scores[theirs].tolist(), ratings[theirs].tolist())
        if not isinstance(value, Undefined):
            values.append(value)
    return float(np.mean(values)) if values else None


def _number(rated: Rated) -> Counts:
    return np.unique(rated.systems, return_inverse=True)[1]


def _average(table: Floats) -> Floats:
    """Return the mean over the raters, NaN where nobody rated, shape (n,)."""
    counted = np.isfinite(table).sum(axis=1)
    return np.divide(np.nansum(table, axis=1), counted, out=np.full(len(table), np.nan), where=counted > 0)


def _put_on(ratings: Floats, scale: Scale | None) -> Floats:
    # Not on its steps: a mean over raters lies between them.
    return ratings if scale is None else np.clip(ratings, scale.low, scale.high)
