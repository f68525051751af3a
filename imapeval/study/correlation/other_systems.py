"""Intervals that generalise to other systems: those of a study are a sample of all that could have been in it.

Each system is left out in turn and everything is computed again (the jackknife), at every level; the interval is
symmetric on Fisher's scale, with Student's quantile. With few systems this keeps its coverage where resampling them
does not (BOOT-SYSTEMS of Deutsch, Dror and Roth 2021; benchmarks/swapping_systems.py has both side by side).

Where questions are a sample as well, the variance over questions is added. Both variances include the noise of single
answers, so the variance over answers, treated as independent, is subtracted (Cameron, Gelbach and Miller 2011, "Robust
Inference with Multiway Clustering", Journal of Business & Economic Statistics 29); not within questions, where it is
unknown and the interval is too wide rather than too narrow. Between systems, questions add nothing: what all
answers to a question have in common shifts all systems alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.data.findings import ALL, MIN_SYSTEMS
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.intervals.coefficients import jackknife_intervals
from imapeval.study.intervals.simultaneous import simultaneous_confidence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import Correlation, Units
    from imapeval.study.data.rated import Rated


_NO_INTERVAL = dict.fromkeys(("low", "high", "simultaneous_low", "simultaneous_high", "interval", "undefined"))


def replace_intervals(
    rated: Rated,
    rows: Sequence[Correlation],
    *,
    units: Units,
    confidence: float,
    compute: Callable[[Rated], Sequence[Correlation]],
) -> list[Correlation]:
    """Return the rows of `correlate` with intervals that treat systems, or systems and questions, as the sample.

    There is no interval for one system of several, for fewer than `MIN_SYSTEMS`, where leaving out a system leaves a
    coefficient undefined, and where leaving out a system never changes the coefficient. `compute` computes the rows for
    a subset of the answers.
    """
    rated = rated.take(np.flatnonzero(~np.isnan(rated.ratings).all(axis=1)))
    systems = number_clusters(rated.systems)
    number = int(systems.max()) + 1
    blank = [replace(row, **_NO_INTERVAL, units=units) for row in rows]
    pooled = [place for place, row in enumerate(rows) if row.system == ALL and row.value is not None]
    if number < MIN_SYSTEMS or not pooled:
        return blank
    keys = [_make_key(rows[place]) for place in pooled]

    found = [_gather(compute(rated.take(np.flatnonzero(systems != system))), keys, "value") for system in range(number)]
    values = np.stack(found)
    # The jackknife variance is (number - 1) / number times the sum of the squared deviations.
    moved = (values.mean(axis=0) - values) * np.sqrt((number - 1) / number)
    variance = (moved**2).sum(axis=0)
    if units == "both":
        of_answers = compute(replace(rated, questions=np.arange(len(rated.ids))))
        by_question, by_answer = (np.nan_to_num(_gather(some, keys, "error")) ** 2 for some in (rows, of_answers))
        within = np.array([rows[place].level == "within-question" for place in pooled])
        variance += np.maximum(by_question - np.where(within, 0.0, by_answer), 0.0)
    # Undo the small-sample factor that the interval applies again.
    error = np.sqrt(variance * (number - 1) / number)
    for family in dict.fromkeys(key[1:] for key in keys):
        members = [n for n, key in enumerate(keys) if key[1:] == family and error[n] > 0]
        if not members:
            continue
        own = [rows[pooled[n]] for n in members]
        wider = simultaneous_confidence(moved[:, members], confidence=confidence)
        ends = [
            jackknife_intervals(
                np.array([row.value for row in own], dtype=np.float64),
                influences=error[None, members],
                clusters=np.full(len(members), number),
                bounds=find_coefficient(own[0].coefficient).bounds,
                confidence=level,
            )
            for level in (confidence, wider)
        ]
        for place, *found in zip([pooled[n] for n in members], *ends[0], *ends[1], strict=True):
            low, high, wide_low, wide_high = map(float, found)
            blank[place] = replace(
                blank[place],
                low=low,
                high=high,
                interval="jackknife",
                simultaneous_low=wide_low,
                simultaneous_high=wide_high,
            )
    return blank


def _make_key(row: Correlation) -> tuple[str, ...]:
    return row.metric, row.level, row.coefficient, row.system, row.dimension


def _gather(rows: Sequence[Correlation], keys: Sequence[tuple[str, ...]], field: str) -> Floats:
    """Return a numeric field of the rows with these keys; NaN where it is None or there is no row."""
    found: dict[tuple[str, ...], float | None] = {_make_key(row): getattr(row, field) for row in rows}
    return np.array([found.get(key) for key in keys], dtype=np.float64)
