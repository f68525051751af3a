"""Correlates the scores of metrics with ratings, for each grouping of the answers.

The grouping decides what a coefficient means, so it is always named (`findings.Level`). Answers without a score
(failures) are left out of their metric's coefficients and counted in `n_missing`; nothing is imputed. Scores of
metrics for which low is good are negated: a positive coefficient always means agreement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.estimates import Estimates, rated_columns
from imapeval.study.correlation.group_correlation import (
    estimate_between_systems,
    estimate_pooled,
    estimate_within_questions,
)
from imapeval.study.correlation.other_systems import replace_intervals
from imapeval.study.data.findings import ALL, MIN_SYSTEMS, CoefficientName, Correlation, Level, Units
from imapeval.study.data.rated import choose_names
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import RESAMPLES, iterate_resamples
from imapeval.study.intervals.coefficients import bca_intervals, jackknife_intervals
from imapeval.study.intervals.simultaneous import simultaneous_confidence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.correlation.estimates import Columns
    from imapeval.study.correlation.group_correlation import Draws
    from imapeval.study.data.rated import Rated

MAX_RESAMPLED = 1000
"""Maximum number of answers taken together that are resampled. Beyond that, an end of a BCa interval from 2,000
resamples is off by .06 standard errors (Monte Carlo) while skewness, what BCa adds, moves it by about 1 / sqrt(1000) =
.03."""


def correlate(
    rated: Rated,
    *,
    metrics: Sequence[str] | None = None,
    coefficients: Sequence[CoefficientName] = ("spearman", "kendall_tau_b"),
    levels: Sequence[Level] = ("within-system",),
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    units: Units = "questions",
) -> list[Correlation]:
    """Correlate scores with ratings.

    Intervals treat questions as the sample, if `units` does not say otherwise (`other_systems`): all answers to a
    question are drawn together, and one draw serves every metric, system and dimension, so that means keep the
    dependence of their parts. They are BCa bootstraps, between systems percentile bootstraps; where more than
    `MAX_RESAMPLED` answers are taken together, they come from the influence of each question instead (`intervals`). A
    resample in which a coefficient is undefined counts as the lowest possible value for the lower end and as the
    highest for the upper end.

    Args:
        rated: Scores and ratings.
        metrics: Metrics in the order of the result; None takes all.
        coefficients: Names of the coefficients.
        levels: Groupings.
        seed: Random seed for the bootstrap.
        resamples: Number of bootstrap resamples.
        confidence: Confidence level, above 0 and below 1.
        units: What the intervals treat as the sample.

    Returns:
        By metric, level and coefficient: a row per system and dimension (within-system), or per dimension (other
        levels); then, where several systems have a dimension, the mean over systems for each dimension; last, where
        there are several coefficients, the mean of all of them.

    Raises:
        UsageError: No answer is rated, or a name is unknown.
    """
    names = choose_names("metric", metrics, rated.metrics)
    choose_names("level", levels, get_args(Level))
    choose_names("unit", [units], get_args(Units))
    of_systems = [name for name in coefficients if find_coefficient(name).system_level_only]
    if of_systems and tuple(levels) != ("system",):
        raise UsageError(f"{of_systems[0]} compares systems. Use it with the level 'system' only.")
    if not 0 < confidence < 1:
        raise UsageError(f"the confidence must lie between 0 and 1, not at {confidence:g}. Write 0.95 for 95%.")
    if np.isnan(rated.ratings).all():
        raise UsageError(
            "no answer has a rating. Give them with --ratings, or score data with columns ratings.<dimension>."
        )
    if not names:
        return []
    columns = rated_columns(rated, names)
    # Resampled questions say nothing about other systems; `replace_intervals` has its own intervals.
    drawn = resamples if units == "questions" else 1
    tables = [_correlate(columns, level, name, seed, drawn, confidence) for level in levels for name in coefficients]
    rows = [row for metric in names for table in tables for row in table[metric]]
    if units == "questions":
        return rows
    again = partial(correlate, metrics=names, coefficients=coefficients, levels=levels, resamples=1)
    return replace_intervals(rated, rows, units=units, confidence=confidence, compute=again)


def _correlate(
    columns: Columns, level: Level, name: CoefficientName, seed: int, resamples: int, confidence: float
) -> Mapping[str, list[Correlation]]:
    """Return the rows of each metric."""
    writer = _RowBuilder(columns, level, name, confidence)
    every = np.arange(len(columns.questions))
    if level == "system":
        writer.add(ALL, every, estimate_between_systems(columns, name, seed=seed, resamples=resamples))
    elif level == "within-question":
        writer.add(ALL, every, estimate_within_questions(columns, name, seed=seed, resamples=resamples))
    else:
        cells: dict[str, Counts] = {ALL: every}
        if level == "within-system":
            cells = {system: np.flatnonzero(columns.systems == n) for n, system in enumerate(columns.system_names)}
        few = columns.clusters > 1 and max(len(rows) for rows in cells.values()) <= MAX_RESAMPLED
        draws = _draw_counts(columns.clusters, seed, resamples) if few else None
        for system, rows in cells.items():
            writer.add(system, rows, estimate_pooled(columns, rows, name, draws=draws))
    writer.add_means()
    return writer.rows


def _draw_counts(clusters: int, seed: int, resamples: int) -> Draws:
    # Counts are small, so narrow integers suffice; 64-bit counts of 100,000 questions would take gigabytes.
    blocks = iterate_resamples(clusters, seed=seed, resamples=resamples)
    return np.concatenate([block.astype(np.uint16) for block in blocks])


@dataclass(frozen=True, slots=True)
class _Counts:
    """Numbers of rated answers by metric; shapes (m,)."""

    scored: Counts
    missing: Counts
    questions: Counts
    systems: Counts


class _RowBuilder:
    """Turns estimates into rows, one system at a time, and keeps only running sums for the means."""

    def __init__(self, columns: Columns, level: Level, name: CoefficientName, confidence: float) -> None:
        self.rows: dict[str, list[Correlation]] = {metric: [] for metric in columns.metrics}
        self._columns = columns
        self._level: Level = level
        self._name: CoefficientName = name
        self._confidence = confidence
        self._scored = ~np.isnan(columns.scores)
        self._rated = ~np.isnan(columns.ratings)
        self._cells = np.zeros(len(columns.dimensions), dtype=np.int64)
        self._sum: Estimates | None = None
        self._reasons: dict[int, set[str]] = {}

    def add(self, system: str, rows: Counts, estimates: Estimates) -> None:
        """Write the rows of one system."""
        exists = self._rated[rows].any(axis=0)
        self._cells += exists
        counts = [self._count(rows[self._rated[rows, dimension]]) for dimension in range(len(self._cells))]
        clusters = np.stack([count.questions for count in counts], axis=1)
        if self._level == "within-question":
            clusters = np.minimum(clusters, estimates.groups)
        systems = np.stack([count.systems for count in counts], axis=1)
        ends = self._find_ends(estimates, clusters, systems)
        for dimension in np.flatnonzero(exists).tolist():
            label = self._columns.dimensions[dimension]
            reasons = {m: reason for (m, d), reason in estimates.reasons.items() if d == dimension}
            self._write(system, label, counts[dimension], estimates, dimension, ends[..., dimension], reasons)
            for metric, reason in reasons.items():
                self._reasons.setdefault(metric, set()).add(reason)
        self._sum = _add(self._sum, estimates)

    def add_means(self) -> None:
        """Write the means over what was added: by dimension where systems and dimensions are several, and over all."""
        if self._sum is None or self._cells.sum() < 2:
            return
        dimensions = np.flatnonzero(self._cells).tolist()
        if self._cells.max() > 1 and len(dimensions) > 1:
            for dimension in dimensions:
                rated = np.flatnonzero(self._rated[:, dimension])
                self._write_mean(self._sum, self._columns.dimensions[dimension], [dimension], rated)
        self._write_mean(self._sum, ALL, dimensions, np.arange(len(self._rated)))

    def _write_mean(self, sums: Estimates, label: str, dimensions: list[int], rated: Counts) -> None:
        total = _average_dimensions(sums, dimensions)
        cells = int(self._cells[dimensions].sum())
        count = self._count(rated)
        ends = self._find_ends(total, count.questions[:, None], count.systems[:, None])
        left_out = {metric: cells - int(groups) for metric, groups in enumerate(total.groups[:, 0])}
        reasons = {
            metric: f"{number} of {cells} coefficients are undefined and left out" + self._common_reason(metric)
            for metric, number in left_out.items()
            if number
        }
        self._write(ALL, label, count, total, 0, ends[..., 0], reasons)

    def _common_reason(self, metric: int) -> str:
        """Return why coefficients of a metric are undefined, if all have the same reason; the rows have the details."""
        reasons = self._reasons.get(metric, set())
        return f": {next(iter(reasons))}" if len(reasons) == 1 else ""

    def _count(self, rated: Counts) -> _Counts:
        scored = self._scored[rated]
        codes = self._columns.questions[rated]
        questions, systems = (
            np.array([np.count_nonzero(np.bincount(groups[there])) for there in scored.T], dtype=np.int64)
            for groups in (codes, self._columns.systems[rated])
        )
        number = scored.sum(axis=0)
        return _Counts(number, len(rated) - number, questions, systems)

    def _find_ends(self, estimates: Estimates, clusters: Counts, systems: Counts) -> Floats:
        """Return lows, highs, simultaneous lows and highs, standard errors and `undefined`, shape (6, m, d)."""
        confidence = self._confidence
        if estimates.replicates is None:
            own = self._find_jackknife(estimates, clusters, [confidence] * clusters.shape[1])
        else:
            own = self._find_bca(estimates, estimates.replicates, clusters, confidence)
        if self._level == "system" and estimates.replicates is not None:
            # Between systems no influences tell how the metrics' errors correlate, so Bonferroni's correction applies.
            metrics = int((~np.isnan(estimates.values)).sum(axis=0).max())
            wider = self._find_bca(estimates, estimates.replicates, clusters, 1 - (1 - confidence) / max(1, metrics))
        else:
            columns = np.moveaxis(estimates.influences, -1, 0)
            levels = [simultaneous_confidence(column, confidence=confidence) for column in columns]
            wider = self._find_jackknife(estimates, clusters, levels)
        # The two are computed differently; the simultaneous interval could otherwise be narrower than the single one.
        ends = [*own, np.minimum(own[0], wider[0]), np.maximum(own[1], wider[1])]
        squares = (estimates.influences**2).sum(axis=0)
        few = clusters < 2 if self._level != "system" else systems < MIN_SYSTEMS
        error = (
            np.sqrt(squares * clusters / np.maximum(clusters - 1, 1)) if self._level != "system" else np.nan * squares
        )
        undefined = np.full(squares.shape, np.nan)
        if estimates.replicates is not None:
            undefined = np.not_equal(*estimates.replicates).mean(axis=0)
        return np.where(few | np.isnan(estimates.values), np.nan, np.stack([*ends, error, undefined]))

    def _find_jackknife(self, estimates: Estimates, clusters: Counts, levels: Sequence[float]) -> tuple[Floats, Floats]:
        """Return lower and upper ends, with a confidence level for each dimension."""
        values, influences = estimates.values, estimates.influences
        ends = [
            jackknife_intervals(
                values[:, at],
                influences=influences[..., at],
                clusters=clusters[:, at],
                bounds=find_coefficient(self._name).bounds,
                confidence=level,
            )
            for at, level in enumerate(levels)
        ]
        return np.stack([low for low, _ in ends], axis=-1), np.stack([high for _, high in ends], axis=-1)

    def _find_bca(
        self, estimates: Estimates, replicates: Floats, clusters: Counts, confidence: float
    ) -> tuple[Floats, Floats]:
        return bca_intervals(
            estimates.values,
            *replicates,
            influences=estimates.influences,
            clusters=clusters,
            bounds=find_coefficient(self._name).bounds,
            confidence=confidence,
            widened=not find_coefficient(self._name).counts_pairs or self._level in ("within-question", "system"),
            corrected=self._level != "system",
        )

    def _write(
        self,
        system: str,
        label: str,
        count: _Counts,
        estimates: Estimates,
        dimension: int,
        ends: Floats,
        reasons: Mapping[int, str],
    ) -> None:
        """Write the rows of one dimension of the estimates."""
        method = "jackknife" if estimates.replicates is None else "bootstrap" if self._level == "system" else "bca"
        for number, metric in enumerate(self._columns.metrics):
            row = Correlation(
                metric,
                system,
                label,
                self._name,
                _read(estimates.values[number, dimension]),
                _read(ends[0, number]),
                _read(ends[1, number]),
                int((count.systems if self._level == "system" else count.scored)[number]),
                int(count.missing[number]),
                reasons.get(number),
                self._level,
                int(estimates.groups[number, dimension]),
                int(count.questions[number]),
                _read(estimates.epsilons[number, dimension]),
                None if np.isnan(ends[0, number]) else method,
                _read(ends[2, number]),
                _read(ends[3, number]),
                error=_read(ends[4, number]),
                undefined=_read(ends[5, number]),
            )
            self.rows[metric].append(row)


def _read(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _add(before: Estimates | None, estimates: Estimates) -> Estimates:
    """Return sums over systems, undefined coefficients left out; `groups` counts the defined ones."""
    defined = ~np.isnan(estimates.values)
    absent = np.full(defined.shape, np.nan)
    values, groups = np.where(defined, estimates.values, 0.0), defined.astype(np.int64)
    replicates = None if estimates.replicates is None else np.where(defined, estimates.replicates, 0.0)
    if before is None:
        return Estimates(values, estimates.influences, replicates, groups, absent)
    if before.replicates is not None and replicates is not None:
        replicates = before.replicates + replicates
    return Estimates(
        before.values + values,
        before.influences + estimates.influences,
        replicates,
        before.groups + groups,
        absent,
    )


def _average_dimensions(total: Estimates, dimensions: list[int]) -> Estimates:
    """Return means over some dimensions from sums over systems: shapes (m, 1)."""
    groups = total.groups[:, dimensions].sum(axis=1, keepdims=True)
    size = np.where(groups > 0, groups, np.nan)
    replicates = None
    if total.replicates is not None:
        replicates = total.replicates[..., dimensions].sum(axis=-1, keepdims=True) / size
    influences = total.influences[..., dimensions].sum(axis=-1, keepdims=True) / size
    values = total.values[:, dimensions].sum(axis=1, keepdims=True) / size
    return Estimates(values, influences, replicates, groups, np.full((len(values), 1), np.nan))
