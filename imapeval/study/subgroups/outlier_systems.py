"""Systems whose mean rating stands apart from the others', and the correlation between systems without them.

One very bad system, which every metric recognises, can lift a correlation between systems close to 1 (Mathur, Baldwin
and Cohn 2020, "Tangled up in BLEU: Reevaluating the Evaluation of Automatic Machine Translation Evaluation Metrics",
ACL). A system is an outlier if its mean rating is more than 2.5 robust standard deviations from the median of the
systems (their section 4.1, after Leys et al. 2013): robust standard deviation = 1.483 x median |mean - median|.

The rule also finds an outlier in a third of studies in which the means of 6 to 20 systems are drawn from one normal
distribution (simulated 3,000 times). It shows on which systems a correlation rests, not that one is unlike the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.arrays import EQUAL, divide
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import MIN_SYSTEMS
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.number_format import format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import CoefficientName
    from imapeval.study.data.rated import Rated

CUT_OFF = 2.5
"""Robust standard deviations: Mathur et al. 2020, section 4.1."""

_TO_NORMAL = 1.483
"""Makes the median absolute deviation of normal numbers their standard deviation: the same."""

MATTERS = 0.1
"""A coefficient that changes by as much is put into words."""


@dataclass(frozen=True, slots=True)
class WithoutOutliers:
    """A metric's correlation between systems, with and without the outliers.

    Attributes:
        outliers: Systems whose mean rating stands apart, in the order of the data.
        value: The coefficient of all systems; None where it is undefined.
        value_without: The coefficient without the outliers.
        systems: Number of systems with a rating and a score.
        reason: Why there is no value without the outliers.
        sentence: The finding in words.
    """

    metric: str
    dimension: str
    coefficient: CoefficientName
    outliers: tuple[str, ...]
    value: float | None = None
    value_without: float | None = None
    systems: int = 0
    reason: str | None = None
    sentence: str = ""

    @property
    def matters(self) -> bool:
        """Whether the coefficient changes by `MATTERS` or more."""
        return (
            self.value is not None
            and self.value_without is not None
            and abs(self.value - self.value_without) >= MATTERS
        )


def find_outliers(means: Floats) -> tuple[int, ...]:
    """Return the positions of outliers among the mean ratings of systems, shape (systems,); NaN is none.

    There are none if more than half of the means are the same, because the robust standard deviation is then 0.
    """
    median = float(np.nanmedian(means))
    spread = _TO_NORMAL * float(np.nanmedian(np.abs(means - median)))
    if spread <= EQUAL:
        return ()
    return tuple(np.flatnonzero(np.abs(means - median) / spread > CUT_OFF).tolist())


def correlate_without_outliers(
    rated: Rated, *, coefficients: Iterable[CoefficientName] = ("pearson",)
) -> list[WithoutOutliers]:
    """Correlate systems' mean scores with their mean ratings, with and without outliers among the ratings.

    Outliers move Pearson's r most.

    Returns:
        A row per metric, dimension and coefficient, for the dimensions that have outliers. None with fewer than
        `findings.MIN_SYSTEMS` systems, of which too few would be left.
    """
    wanted = tuple(coefficients)
    names = list(dict.fromkeys(rated.systems))
    systems = number_clusters(rated.systems)
    rows: list[WithoutOutliers] = []
    for dimension in rated.dimensions:
        ratings = rated.ratings_of(dimension)
        there = np.isfinite(ratings)
        counts = np.bincount(systems[there], minlength=len(names))
        sums = np.bincount(systems[there], weights=ratings[there], minlength=len(names))
        means = divide(sums, counts)
        outside = find_outliers(means) if (counts > 0).sum() >= MIN_SYSTEMS else ()
        if not outside:
            continue
        outliers = tuple(names[place] for place in outside)
        kept = rated.take(np.flatnonzero(there & ~np.isin(systems, outside)))
        every = _correlate(rated.take(np.flatnonzero(there)), dimension, wanted)
        without = _correlate(kept, dimension, wanted)
        for (metric, coefficient), (value, number) in every.items():
            other, _ = without[metric, coefficient]
            reason = None if other is not None else "the scores or ratings of the others are all the same, or missing"
            row = WithoutOutliers(metric, dimension, coefficient, outliers, value, other, number, reason)
            rows.append(_conclude(row))
    return sorted(rows, key=lambda row: rated.metrics.index(row.metric))


def _correlate(
    rated: Rated, dimension: str, coefficients: Sequence[CoefficientName]
) -> dict[tuple[str, CoefficientName], tuple[float | None, int]]:
    """Return coefficient and number of systems by metric and coefficient."""
    rows = correlate(rated, coefficients=coefficients, levels=("system",), resamples=1)
    return {(row.metric, row.coefficient): (row.value, row.n) for row in rows if row.dimension == dimension}


def _conclude(row: WithoutOutliers) -> WithoutOutliers:
    title = find_coefficient(row.coefficient).title
    one = len(row.outliers) == 1
    who = f"{', '.join(row.outliers)}, whose mean rating{'' if one else 's'} stand{'s' if one else ''} apart"
    shown = "undefined" if row.value is None else format_number(row.value)
    them = "it" if one else "them"
    without = (
        f"; without {them} the coefficient is undefined: {row.reason}"
        if row.value_without is None
        else f", and {format_number(row.value_without)} without {them}"
    )
    said = f"Between systems, {title} of {row.metric} with {row.dimension} is {shown} with {who}{without}."
    return replace(row, sentence=said)
