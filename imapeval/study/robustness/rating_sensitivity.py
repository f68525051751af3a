"""Sensitivity of a finding to the ratings: noise, leaving out a rater, leaving out a few answers.

The finding is a metric's correlation with the ratings, or which of two metrics correlates better. Systems are taken
one by one and averaged, as in `imapeval study correlate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.correlation.base import MIN_ROWS, InfluencedCoefficient
from imapeval.study.correlation.coefficients import explain_undefined, find_coefficient
from imapeval.study.data.ratings.collection import average_exactly
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.number_format import format_decimal, format_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Counts, Flags, Floats
    from imapeval.study.data.rated import Rated

NOISE = (0.25, 0.5, 1.0)
"""Standard deviations of the noise that is added to the ratings, in rating points."""

REPEATS = 200
"""Draws of the noise, at most: the mean of 200 correlations that vary by .05 is known to .004."""

_DRAWN = 2_000_000
"""Ratings that are drawn for each amount of noise, about: more than 10,000 answers take fewer draws. A correlation of n
answers varies by about 1 / sqrt(n), so that the mean of `_DRAWN` / n of them is known to .0007 whatever n is."""

_FEWEST = 20
"""Draws of the noise, at least."""

_CELLS = 200_000
"""Most ratings that are drawn at a time."""


@dataclass(frozen=True, slots=True)
class RatingShift:
    """A metric's correlation when the ratings are changed.

    Attributes:
        change: What was done, such as "noise of .5 points" or "without rater r2".
        kind: "noise" or "rater".
        before: Spearman's rho as it is, mean within systems.
        after: With the change; of noise the mean over draws, `REPEATS` or fewer. None where it is undefined.
        n: Answers after the change, of the systems in which there is a correlation before it.
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
        difference: Difference between their correlations.
        removed: Number of answers, those that speak most for the first metric, whose removal reverses the order; None
            where removing half of the answers does not.
        n: Answers with both scores and a rating, of the systems in which both metrics have a correlation.
        ids: Ids of the removed answers, the most influential first.
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


def require_correlations(rated: Rated) -> None:
    """Raise where a metric has no correlation with a dimension, before anything is drawn.

    Raises:
        UsageError: A correlation is undefined in every system.
    """
    systems = number_clusters(rated.systems)
    for dimension in rated.dimensions:
        ratings = rated.ratings_of(dimension)
        for metric in rated.metrics:
            scores = rated.scores_of(metric)
            rows = np.isfinite(scores) & np.isfinite(ratings)
            _require_correlation(metric, dimension, scores[rows], ratings[rows], systems[rows])


def shift_ratings(rated: Rated, metric: str, dimension: str, *, seed: int = 0) -> list[RatingShift]:
    """Correlate again with noise on the ratings, and without each of the raters.

    Noise is normal; where the scale was declared the noisy rating is cut off at its ends. Two raters or more
    are needed to leave one out.

    Raises:
        UsageError: The correlation is undefined.
    """
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    systems, scale = number_clusters(rated.systems), rated.scales.get(dimension)
    rows = np.isfinite(scores) & np.isfinite(ratings)
    _require_correlation(metric, dimension, scores[rows], ratings[rows], systems[rows])
    # Noise would give a correlation to a system whose ratings are all equal, which has none before.
    rows[rows] = _find_correlated(ratings[rows], systems[rows], scores[rows])
    before = _correlate(scores[rows], ratings[rows], systems[rows]).value
    generator = np.random.default_rng(seed)
    n = int(rows.sum())
    repeats = min(REPEATS, max(_FEWEST, _DRAWN // n))
    at_once = max(1, _CELLS // n)
    shifts: list[RatingShift] = []
    for spread in NOISE:
        drawn: list[float] = []
        for start in range(0, repeats, at_once):
            noise = generator.normal(0.0, spread, (min(at_once, repeats - start), n))
            noisy = ratings[rows] + noise
            if scale is not None:
                # Not on its steps: a mean over raters lies between them.
                noisy = np.clip(noisy, scale.low, scale.high)
            drawn += _correlate_each(scores[rows], noisy, systems[rows])
        after = _mean(drawn)
        shifts.append(RatingShift(metric, dimension, f"noise of {spread:g} points", "noise", before, after, n))
    table = rated.by_rater.get(dimension)
    if table is not None and len(rated.raters) > 1:
        for index, rater in enumerate(rated.raters):
            others = _average(np.delete(table, index, axis=1))
            left = np.isfinite(scores) & np.isfinite(others) & np.isin(systems, systems[rows])
            after = _mean([_correlate(scores[left], others[left], systems[left]).value])
            shifts.append(
                RatingShift(metric, dimension, f"without rater {rater}", "rater", before, after, int(left.sum()))
            )
    return shifts


def find_fragility(rated: Rated, first: str, second: str, dimension: str) -> Fragility:
    """Find how few answers must be removed to reverse the order of two metrics.

    The answers are ranked by their influence on the difference, to first order, and taken away in that order
    (Broderick, Giordano and Meager 2020, "An Automatic Finite-Sample Robustness Metric"). The difference without them
    is computed anew, for about 2 log2(n) numbers of answers, until one is found that reverses it while one fewer does
    not. It is an upper bound: another set might be smaller.

    Raises:
        UsageError: A correlation is undefined, both are equal, or no system has both.
    """
    one, other, ratings = rated.scores_of(first), rated.scores_of(second), rated.ratings_of(dimension)
    rows = np.flatnonzero(np.isfinite(one) & np.isfinite(other) & np.isfinite(ratings))
    one, other, ratings, systems = one[rows], other[rows], ratings[rows], number_clusters(rated.systems)[rows]
    for metric, scores in ((first, one), (second, other)):
        _require_correlation(metric, dimension, scores, ratings, systems)
    # As in `compare`: means over different systems cannot be compared.
    both = _find_correlated(ratings, systems, one, other)
    if not both.any():
        raise UsageError(
            f"{first} and {second} both correlate with {dimension} in no system: there is no order to reverse. Name "
            "another metric with --against, or other dimensions with --dimensions."
        )
    rows, one, other, ratings, systems = rows[both], one[both], other[both], ratings[both], systems[both]
    n = len(rows)
    found = [_correlate(side, ratings, systems) for side in (one, other)]
    difference = found[0].value - found[1].value
    if difference == 0:
        raise UsageError(
            f"{first} and {second} correlate equally with {dimension}: there is no order to reverse. Name another "
            "metric with --against, or other dimensions with --dimensions."
        )
    if difference < 0:
        return find_fragility(rated, second, first, dimension)
    influence = found[0].rows - found[1].rows
    order = np.argsort(-influence, kind="stable")

    def turns(count: int) -> bool:
        left = np.sort(order[count:])
        left = left[_find_correlated(ratings[left], systems[left], one[left], other[left])]
        after = [_correlate(side[left], ratings[left], systems[left]).value for side in (one, other)]
        return after[0] <= after[1]

    # Past the answers that speak for the first metric the difference rises again.
    most = min(n // 2, int((influence > 0).sum()))
    tried = [*(2**power for power in range(most.bit_length()) if 2**power < most), most]
    reached = next((place for place, count in enumerate(tried) if count and turns(count)), None)
    removed = None
    if reached is not None:
        stays, removed = tried[reached - 1] if reached else 0, tried[reached]
        while removed - stays > 1:
            middle = (stays + removed) // 2
            stays, removed = (stays, middle) if turns(middle) else (middle, removed)
    ids = tuple(rated.ids[rows[row]] for row in order[: removed or 0])
    if removed is None:
        sentence = (
            f"{first} stays ahead of {second} in {dimension} however many of the {n} answers that speak most for it "
            "are taken away, up to half."
        )
    else:
        sentence = (
            f"{removed} of {n} answers ({format_percent(removed / n, digits=3)}) decide that {first} is ahead of "
            f"{second} in {dimension} (difference {format_decimal(difference)}): without them the order is reversed."
        )
    return Fragility(first, second, dimension, difference, removed, n, ids, sentence)


def _require_correlation(metric: str, dimension: str, scores: Floats, ratings: Floats, systems: Counts) -> None:
    """Raise a `UsageError` where no system has a correlation."""
    reasons: list[str] = []
    for system in np.unique(systems):
        theirs = systems == system
        undefined = explain_undefined(scores[theirs], ratings[theirs], names=(metric, dimension))
        if undefined is None:
            return
        reasons.append(undefined.reason)
    why = reasons[0] if reasons else "no answer has both"
    where = f" in any of {len(reasons)} systems" if len(reasons) > 1 else ""
    for_example = "for example, " if len(set(reasons)) > 1 else ""
    raise UsageError(
        f"{metric} has no correlation with {dimension}{where} ({for_example}{why}). Name another metric, or other "
        "dimensions with --dimensions."
    )


def _find_correlated(ratings: Floats, systems: Counts, *metrics: Floats) -> Flags:
    """Return whether each answer is of a system in which all of the metrics have a correlation."""
    found = np.zeros(len(ratings), dtype=np.bool_)
    for system in np.unique(systems):
        theirs = systems == system
        found[theirs] = all(explain_undefined(scores[theirs], ratings[theirs]) is None for scores in metrics)
    return found


def _correlate(scores: Floats, ratings: Floats, systems: Counts) -> InfluencedCoefficient:
    """Return the mean of Spearman's rho over systems, NaN where no system has one, and the influence of each answer."""
    values: list[float] = []
    rows = np.zeros(len(scores))
    for system in np.unique(systems):
        theirs = systems == system
        if explain_undefined(scores[theirs], ratings[theirs]) is None:
            value, rows[theirs] = find_coefficient("spearman").with_influences(scores[theirs], ratings[theirs])
            values.append(value)
    return InfluencedCoefficient(float(np.mean(values)) if values else nan, rows / max(1, len(values)))


def _correlate_each(scores: Floats, ratings: Floats, systems: Counts) -> list[float]:
    """Return the mean of Spearman's rho over systems for each row of ratings, NaN where no system has one."""
    by_system: list[Floats] = []
    for system in np.unique(systems):
        theirs = np.flatnonzero(systems == system)
        if len(theirs) >= MIN_ROWS:
            y = ratings[:, theirs]
            by_system.append(find_coefficient("spearman").in_groups(np.broadcast_to(scores[theirs], y.shape), y))
    return [nan if mean is None else mean for mean in map(_mean, zip(*by_system, strict=True))]


def _mean(values: Sequence[float]) -> float | None:
    """Return the mean of the values that are defined; None without any."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else None


def _average(table: Floats) -> Floats:
    """Return the mean over the raters, NaN where nobody rated, shape (n,)."""
    given = np.isfinite(table)
    return average_exactly(table[given], np.nonzero(given)[0], size=len(table))
