"""What the plan of a study takes from its pilot: correlations, how wide their intervals are, and what raters change.

The design effect is the ratio of a variance in the pilot to that in as many independent answers with normal scores.

The reliability of the mean of k raters follows from that of the pilot's (Spearman 1910 and Brown 1910); correlations
with the mean rating are proportional to its root (Spearman 1904). The correlation of two metrics stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import atanh, isfinite, sqrt
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.constant_raters import leave_out_constant_raters
from imapeval.study.agreement.reliability import (
    explain_unreliable,
    find_single_reliability,
    measure_reliability,
)
from imapeval.study.comparison.closed_form import FIELLER, variance_of_difference
from imapeval.study.correlation.coefficients import MIN_ROWS, Undefined, find_coefficient
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.quantiles import small_sample_quantile, student_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import Comparison, Correlation, Level
    from imapeval.study.data.rated import Rated

TOO_SMALL = "the pilot is too small for an interval"


def select_means(rows: Sequence[Correlation]) -> list[Correlation]:
    """Return the rows of all systems together, or of the mean over systems, by metric, level and dimension.

    Where one system alone is rated in a dimension, that is its own row.
    """
    rated = list({row.dimension for row in rows} - {ALL})
    # With a single rated dimension, `correlate` labels the mean over systems as one over dimensions.
    named = [replace(row, dimension=rated[0]) for row in rows] if len(rated) == 1 else rows
    # The mean over systems comes after their own rows.
    last = {(row.metric, row.level, row.dimension): row for row in named}
    return [row for row in last.values() if row.dimension != ALL]


def correlate_pair(pilot: Rated, row: Comparison) -> float | None:
    """Return the correlation of two metrics on rated answers: the mean over systems, or of their means, by level."""
    ratings = pilot.ratings if row.dimension == ALL else pilot.ratings_of(row.dimension)[:, None]
    first, second = pilot.scores_of(row.first), pilot.scores_of(row.second)
    there = ~np.isnan(ratings).all(axis=1) & ~np.isnan(first) & ~np.isnan(second)
    if row.level == "system":
        names = np.asarray(pilot.systems)
        first, second = (
            np.array([side[there & (names == system)].mean() for system in np.unique(names[there])])
            for side in (first, second)
        )
        there = np.ones(len(first), dtype=bool)
    systems = np.asarray(pilot.systems) if row.level == "within-system" else np.zeros(len(first))
    values: list[float] = []
    for system in np.unique(systems[there]):
        rows = there & (systems == system)
        value = find_coefficient(row.coefficient).with_influences(first[rows], second[rows]).value
        # `compare` leaves out the same systems.
        if rows.sum() >= MIN_ROWS and isfinite(value):
            values.append(value)
    return float(np.mean(values)) if values else None


def find_quantile(level: Level, units: int) -> float:
    """Return how many standard errors a coefficient's 95% interval reaches to each side.

    With few questions, or systems at the level of systems, that is more than 1.96, which is no design effect.
    """
    return student_quantile(0.975, units - 1) if level == "system" else small_sample_quantile(units)


def find_design_of_correlation(row: Correlation) -> float | None:
    """Return the design effect of a pilot's correlation; None if it has no interval that ends below 1."""
    if row.low is None or row.high is None or not -1 < row.low < row.high < 1 or row.n <= 3:
        return None
    # Intervals are widened for few questions or systems; the larger study has more of them.
    length = 2 * find_quantile(row.level, row.n if row.level == "system" else row.questions)
    return ((atanh(row.high) - atanh(row.low)) / length) ** 2 * (row.n - 3)


def find_design_effect(pilot: Rated, row: Comparison) -> float | None:
    """Return the design effect of a pilot's difference; None if unknown."""
    r1, r2, between = row.first_value, row.second_value, correlate_pair(pilot, row)
    if r1 is None or r2 is None or row.low is None or row.high is None or between is None or row.n <= 3:
        return None
    # The interval is on the scale of the correlation; Fisher's z is steeper there by 1 / (1 - r^2).
    length = 2 * student_quantile(0.975, (row.n if row.level == "system" else row.questions) - 1)
    try:
        usual = variance_of_difference(r1, r2, r23=between) * (FIELLER if row.coefficient == "spearman" else 1.0)
        return ((row.high - row.low) / length / (1 - ((r1 + r2) / 2) ** 2)) ** 2 * (row.n - 3) / usual or None
    except (ValueError, ZeroDivisionError):
        return None


def count_ratings(answers: int | None, raters: int | None) -> int | None:
    """Return answers times raters; None if either is unknown."""
    return None if answers is None or raters is None else answers * raters


MOST = 0.999
"""Upper bound of expected correlations: the estimated reliability of a small pilot may be too low."""


@dataclass(frozen=True, slots=True)
class Panel:
    """How reliable ratings are.

    Attributes:
        mean: Reliability of the mean of the pilot's raters, above 0 and below 1.
        single: Reliability of one rating.
        answers: Number of answers in the pilot.
    """

    mean: float
    single: float
    answers: int

    def predict_reliability(self, raters: int) -> float:
        """Return the reliability of the mean of so many raters."""
        return raters * self.single / (1 + (raters - 1) * self.single)

    def predict_correlation(self, value: float, raters: int) -> float:
        """Return what a correlation with the pilot's mean rating would be with so many raters."""
        return max(-MOST, min(MOST, value * sqrt(self.predict_reliability(raters) / self.mean)))


def find_panel(pilot: Rated, dimension: str, level: Level) -> Panel | Undefined:
    """Return the reliability of a pilot's ratings, or why it is not known, as where only averages are.

    The level "within-system" takes the mean over systems, any other all answers together.
    """
    table = leave_out_constant_raters(pilot).by_rater.get(dimension)
    if table is None:
        return Undefined("the ratings of single raters are not known")
    systems = np.array(pilot.systems) if level == "within-system" else np.zeros(len(table))
    known: list[Panel] = []
    for system in np.unique(systems):
        part = _measure(table[systems == system])
        if isinstance(part, Undefined):
            return Undefined(f"{system}: {part.reason}") if level == "within-system" and system else part
        known.append(part)
    return Panel(
        mean=float(np.mean([part.mean for part in known])),
        single=float(np.mean([part.single for part in known])),
        answers=sum(part.answers for part in known),
    )


def _measure(table: Floats) -> Panel | Undefined:
    found = measure_reliability(table)
    reason = explain_unreliable(found, table)
    if reason is not None or isinstance(found, Undefined):
        return Undefined(reason or "")
    mean = found.value
    if mean >= 1:
        return Undefined("raters always agree, so that nothing is known about their errors")
    return Panel(mean, find_single_reliability(mean, table), found.n)
