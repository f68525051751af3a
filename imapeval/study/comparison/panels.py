"""Predicts from a pilot study how correlations with the mean rating would change with the number of raters.

The reliability of the mean of k raters follows from that of the pilot's (Spearman 1910 and Brown 1910); correlations
with the mean rating are proportional to its root (Spearman 1904). The correlation of two metrics stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.reliability import explain_unreliable, measure_reliability
from imapeval.study.correlation.coefficients import Undefined

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import Level
    from imapeval.study.data.rated import Rated

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
    table = pilot.by_rater.get(dimension)
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
    counts = (~np.isnan(table)).sum(axis=1).astype(np.float64)
    number = 1 / float((1 / counts[counts > 0]).mean())
    if mean >= 1:
        return Undefined("raters always agree, so that nothing is known about their errors")
    return Panel(mean, mean / (number - (number - 1) * mean), found.n)
