"""A baseline that ignores the answers: it scores each by the mean rating of its system and data set.

A metric's coefficient over all answers shows agreement on single answers only as far as it exceeds this baseline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.baseline_divisions import correlate_divisions
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.bootstrap import draw_resamples, number_clusters
from imapeval.study.intervals.quantiles import small_sample_quantile
from imapeval.study.number_format import format_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.correlation.base import Coefficient
    from imapeval.study.data.findings import CoefficientName, Correlation, Level
    from imapeval.study.data.rated import Rated

FOLDS = 10
"""Maximum number of parts that the questions are divided into, each of at least two questions. Means of all
answers, their own ratings among them, make the baseline too strong (by .06 to .15 where systems do not differ); those
of the answers to all other questions make it far too weak (by .11 to .51), because a high rating lowers the mean of the
others. Means from other parts are off by .01, and by .04 where few questions tell many systems apart, if each part is
correlated by itself (benchmarks/system_baseline.py)."""

PARTITIONS = 20
"""Random divisions of the questions into parts, over which the baseline is averaged: a single one moves it."""

_RESAMPLES = 100
"""Resamples of the questions for the variance of the difference: its root, the standard error, is within 7%."""

_FEWEST_RESAMPLES = 50
"""Minimum number of resamples for many answers: the standard error is within 10%."""

_RESAMPLED_ROWS = 2_000_000
"""Answers in all resamples together, above which there are fewer resamples."""

_DIVISIONS = 2
"""Divisions of each resample: as few as show how much a division moves the baseline."""

MIN_QUESTIONS = 10
"""Minimum number of questions: with fewer, the means are too uncertain."""


@dataclass(frozen=True, slots=True)
class MetricVsBaseline:
    """A metric's coefficients at several levels, and the baseline's coefficient.

    Attributes:
        dimension: The rating dimension; `ALL` for the mean over them.
        value: The coefficient over all answers together.
        within_dataset: Mean of the coefficients within each data set, its systems together; None with one data set.
        within_system, within_question: Results of `correlate` at these levels; None where they are undefined.
        baseline: The baseline's coefficient on the same answers.
        difference: The value minus the baseline.
        low, high: Ends of the 95% interval of the difference.
        n: Answers with a score and a rating in every dimension concerned.
        reason: Why there is no difference; else None.
    """

    metric: str
    dimension: str
    coefficient: CoefficientName
    value: float | None = None
    within_dataset: float | None = None
    within_system: float | None = None
    within_question: float | None = None
    baseline: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None


def compare_with_baseline(
    rated: Rated,
    coefficient: CoefficientName,
    *,
    metrics: Sequence[str] | None = None,
    correlations: Sequence[Correlation] = (),
    seed: int = 0,
) -> list[MetricVsBaseline]:
    """Compare metrics with the baseline that knows only the system and the data set of an answer.

    The baseline scores the answers to a tenth of the questions, drawn at random, by the mean ratings of the systems on
    the others; its coefficient is the mean over the ten parts (fewer with fewer than 20 questions), and over
    `PARTITIONS` such divisions. The interval of the difference is a bootstrap of the questions in which the means and
    the divisions are made anew, with Student's quantile: the standard error of the resamples, less what is due to their
    fewer divisions. How often it holds the truth: docs/study.md, "The baseline that reads no answer".

    Args:
        rated: The answers. The facet "dataset" tells data sets apart, where there is one.
        coefficient: A coefficient without a tie threshold.
        metrics: Metrics to include; None means all.
        correlations: Result of `correlate` for these metrics; levels that are not among them are computed.
        seed: Random seed of the parts.

    Returns:
        A row per dimension for each metric, followed by the row of their mean if there are several. [] for a
        coefficient with a tie threshold and for one of systems only.
    """
    how = find_coefficient(coefficient)
    if how.calibrates_ties or how.system_level_only:
        return []
    datasets = rated.facets.get("dataset", ("",) * len(rated.ids))
    cells = number_clusters(list(zip(datasets, rated.systems, strict=True)))
    resamples = max(_FEWEST_RESAMPLES, min(_RESAMPLES, _RESAMPLED_ROWS // max(1, len(rated.ids))))
    # The same for all rows, so that the means over dimensions have replicates too.
    drawn = draw_resamples(int(rated.questions.max(initial=0)) + 1, seed=seed, resamples=resamples)
    known: dict[tuple[str, bytes], tuple[float, Floats] | str] = {}
    rows: list[MetricVsBaseline] = []
    for metric in rated.metrics if metrics is None else metrics:
        scores = rated.scores_of(metric)
        parts: list[tuple[MetricVsBaseline, _Replicates | None]] = []
        for dimension in rated.dimensions:
            ratings = rated.ratings_of(dimension)
            used = np.isfinite(scores) & np.isfinite(ratings)
            key = dimension, np.packbits(used).tobytes()
            if key not in known:
                known[key] = _score_folds(ratings, cells, rated.questions, used, drawn=drawn, how=how, seed=seed)
            row = MetricVsBaseline(metric, dimension, coefficient, n=int(used.sum()))
            parts.append(_compare(row, scores, ratings, rated.questions, used, drawn=drawn, found=known[key], how=how))
        rows += [row for row, _ in parts]
        if len(parts) > 1:
            rows.append(_average(parts))
    return _add_levels(rated, rows, datasets, correlations)


def has_groups(rated: Rated) -> bool:
    """Return whether there are several systems or data sets: else all levels are the same, and there is no baseline."""
    return len(set(rated.systems)) > 1 or len(set(rated.facets.get("dataset", ()))) > 1


@dataclass(frozen=True, slots=True)
class _Replicates:
    """The difference of a metric and the baseline in each division of each resample, and how many questions there are.

    Attributes:
        differences: Up to a constant, shape (resamples, divisions).
        questions: With answers that count.
    """

    differences: Floats
    questions: int


def _score_folds(
    ratings: Floats,
    cells: Counts,
    questions: Counts,
    used: np.ndarray,
    *,
    drawn: Counts,
    how: Coefficient,
    seed: int,
) -> tuple[float, Floats] | str:
    """Return the baseline's coefficient, or why there is none.

    With it comes that of each division of each resample of the questions, shape (resamples, divisions).
    """
    y, system, question = ratings[used], cells[used], questions[used]
    if len(np.unique(system)) < 2:
        return "all answers are by one system"
    codes = np.unique(question, return_inverse=True)[1]
    count = int(codes.max()) + 1
    if count < MIN_QUESTIONS:
        return f"{count} questions are fewer than {MIN_QUESTIONS}"
    parts = min(FOLDS, count // 2)
    generator = np.random.default_rng(seed)
    once = np.ones((PARTITIONS, len(y)), dtype=np.int64)
    values = correlate_divisions(y, system, codes, once, parts=parts, generator=generator, how=how)
    if np.isnan(values).all():
        return "the baseline or the ratings are constant"
    times = np.repeat(drawn, _DIVISIONS, axis=0)[:, question]
    replicates = correlate_divisions(y, system, codes, times, parts=parts, generator=generator, how=how)
    return float(np.nanmean(values)), replicates.reshape(-1, _DIVISIONS)


def _compare(
    row: MetricVsBaseline,
    scores: Floats,
    ratings: Floats,
    questions: Counts,
    used: np.ndarray,
    *,
    drawn: Counts,
    found: tuple[float, Floats] | str,
    how: Coefficient,
) -> tuple[MetricVsBaseline, _Replicates | None]:
    """Return the row, and the difference in resamples."""
    if used.sum() < how.min_rows:
        reason = f"{row.n} answers with a score and a rating are fewer than {how.min_rows}"
        return replace(row, reason=reason), None
    of_metric = how.with_influences(scores[used], ratings[used])
    if np.isnan(of_metric.value):
        return replace(row, reason="the scores or the ratings are constant"), None
    row = replace(row, value=float(of_metric.value))
    if isinstance(found, str):
        return replace(row, reason=found), None
    baseline, replicates = found
    # The metric's own coefficient is smooth in the weights of the questions, so that their influences suffice.
    moved = drawn @ np.bincount(questions[used], of_metric.rows, minlength=drawn.shape[1])
    made = _Replicates(moved[:, None] - replicates, len(np.unique(questions[used])))
    return _add_interval(replace(row, baseline=baseline), made), made


def _add_interval(row: MetricVsBaseline, made: _Replicates) -> MetricVsBaseline:
    """Return the row with the difference and its interval; without one where no resample has a difference."""
    if row.value is None or row.baseline is None:
        return row
    difference = row.value - row.baseline
    row = replace(row, difference=difference)
    differences = made.differences[np.isfinite(made.differences).all(axis=1)]
    if len(differences) < 2:
        return row
    # Replicates are the mean of fewer divisions than the baseline, which moves them more: that part is taken out.
    of_division = float(differences.var(axis=1, ddof=1).mean())
    variance = float(differences.mean(axis=1).var(ddof=1)) - of_division * (1 / _DIVISIONS - 1 / PARTITIONS)
    half = small_sample_quantile(made.questions) * math.sqrt(max(0.0, variance))
    return replace(row, low=difference - half, high=difference + half)


def _average(parts: Sequence[tuple[MetricVsBaseline, _Replicates | None]]) -> MetricVsBaseline:
    """Return the row of the mean over dimensions; without a value where a dimension has none."""
    rows = [row for row, _ in parts]
    mean = MetricVsBaseline(rows[0].metric, ALL, rows[0].coefficient, n=min(row.n for row in rows))
    values = [row.value for row in rows if row.value is not None]
    baselines = [row.baseline for row in rows if row.baseline is not None]
    reason = next((row.reason for row in rows if row.reason), None)
    if len(values) == len(rows):
        mean = replace(mean, value=float(np.mean(values)))
    if len(baselines) < len(rows):
        return replace(mean, reason=reason)
    mean = replace(mean, baseline=float(np.mean(baselines)))
    made = [one for _, one in parts if one is not None]
    differences = np.mean([one.differences for one in made], axis=0)
    return _add_interval(mean, _Replicates(differences, min(one.questions for one in made)))


def _add_levels(
    rated: Rated, rows: Sequence[MetricVsBaseline], datasets: Sequence[str], correlations: Sequence[Correlation]
) -> list[MetricVsBaseline]:
    """Return the rows with the coefficients within data sets, systems and questions."""
    metrics = list(dict.fromkeys(row.metric for row in rows))
    if not metrics:
        return []

    def find(level: Level, answers: Rated, known: Sequence[Correlation]) -> dict[tuple[str, str], float | None]:
        found = [row for row in known if (row.level, row.coefficient) == (level, rows[0].coefficient)]
        if not found:
            found = correlate(
                answers, metrics=metrics, coefficients=(rows[0].coefficient,), levels=(level,), resamples=1
            )
        # The mean over systems comes after their own rows. With one rated dimension it has the dimension `ALL`.
        rated_dimensions = {row.dimension for row in found} - {ALL}
        only = rated_dimensions.pop() if len(rated_dimensions) == 1 else None
        return {(row.metric, name): row.value for row in found for name in (row.dimension, only or row.dimension)}

    of_systems = find("within-system", rated, correlations)
    of_questions = find("within-question", rated, correlations)
    of_datasets: dict[tuple[str, str], float | None] = {}
    if len(set(datasets)) > 1:
        of_datasets = find("within-system", replace(rated, systems=tuple(datasets)), ())
    return [
        replace(
            row,
            within_dataset=of_datasets.get((row.metric, row.dimension)),
            within_system=of_systems.get((row.metric, row.dimension)),
            within_question=of_questions.get((row.metric, row.dimension)),
        )
        for row in rows
    ]


def describe_baseline(rows: Sequence[MetricVsBaseline]) -> list[str]:
    """Return sentences on the baseline's coefficient and the metrics that do not beat it, by one coefficient."""
    known = [row for row in rows if row.baseline is not None and row.dimension == rows[-1].dimension]
    if not known:
        return []
    title = find_coefficient(known[0].coefficient).title
    baselines = [row.baseline or 0.0 for row in known]
    low, high = format_number(min(baselines)), format_number(max(baselines))
    # A metric's baseline is that of the answers that it scored.
    shown, which = (low, "") if low == high else (f"{low} to {high}", ", depending on which of them a metric scored")
    several = any(row.within_dataset is not None for row in known)
    said = (
        f"A baseline that knows only the system {'and the data set ' if several else ''}of an answer reaches {title} "
        f"{shown} over all answers together{which}."
    )
    below = [row.metric for row in known if row.high is not None and row.high < 0]
    beating = _list_beating(known)
    if below:
        said += f" Worse than it: {', '.join(below)}."
    if open_ := [row.metric for row in known if row.metric not in (*below, *beating)]:
        said += f" Not shown to differ from it: {', '.join(open_)}."
    if beating:
        said += f" Better: {', '.join(beating)}."
    if known[0].dimension == ALL:
        dimensions = list(dict.fromkeys(row.dimension for row in rows if row.dimension != ALL))
        single = {one: _list_beating([row for row in rows if row.dimension == one]) for one in dimensions}
        listed = "; ".join(f"on {one} {', '.join(found) or 'none'}" for one, found in single.items())
        said += f" In single dimensions, shown to be better than the baseline of the dimension: {listed}."
    return [said]


def _list_beating(rows: Sequence[MetricVsBaseline]) -> list[str]:
    """Return the metrics whose advantage over the baseline is more than chance explains."""
    return [row.metric for row in rows if row.low is not None and row.low > 0]
