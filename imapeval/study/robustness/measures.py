"""Measures how far scores move when they should not, with intervals.

Arias-Duart et al. 2025 ("Automatic Evaluation of Healthcare LLMs Beyond Question-Answering", NAACL) ask two things of a
metric of open answers: that it stays where it is when an answer is reworded (resilience), and when an answer is
sampled again (self-consistency). The definitions here are ours; the share of variance is the intraclass correlation
(`statistics.weighted_icc`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from imapeval.study.correlation.coefficients import MIN_ROWS, find_coefficient
from imapeval.study.intervals.bootstrap import (
    RESAMPLES,
    bootstrap_clusters,
    number_clusters,
    percentile_interval,
)
from imapeval.study.number_format import format_decimal, format_percent, format_score
from imapeval.study.robustness.statistics import (
    reversed_pairs_share,
    reversed_systems_share,
    weighted_icc,
    weighted_mean,
    weighted_sd,
    within_unit_sd,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.intervals.bootstrap import WeightedStatistic
    from imapeval.study.robustness.repeats import RepeatKind, Repeats
    from imapeval.types import Lang

StatisticName = Literal[
    "change",
    "absolute_change",
    "relative_change",
    "spearman",
    "reversed_pairs",
    "icc",
    "within_sd",
    "reversed_systems",
]


@dataclass(frozen=True, slots=True)
class Robustness:
    """How far a metric's scores move, by one statistic.

    Attributes:
        kind: What was done again.
        lang: Language of the texts.
        statistic: Which. Of rewording: "change" (mean of a reworded answer's score less the original's),
            "absolute_change" (mean without the sign), "relative_change" (that in standard deviations of the original
            scores), "spearman" (of original and reworded scores), "reversed_pairs" (share of pairs of answers that
            stand the other way round after rewording). Of repetition and sampling: "within_sd" (standard deviation of
            the scores of one text or question), "reversed_systems" (share of pairs of systems and pairs of repetitions
            in which the better system by mean score is the worse one the other time). Of all: "icc" (share of the
            variance of scores that lies between the answers or questions; the rest is noise).
        value: None where it is undefined.
        low, high: Bounds of the 95% interval; None where the value is None, with a single question, or where a
            resample has no value; `reason` says which.
        n: Answers, texts or questions that went in.
        scores: Number of their scores, originals included.
        missing: Number of scores that failed.
        reason: Why there is no value or no interval.
    """

    metric: str
    kind: RepeatKind
    lang: Lang
    statistic: StatisticName
    value: float | None
    low: float | None
    high: float | None
    n: int
    scores: int
    missing: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _WeightedRows:
    """The rows that a statistic is taken over, each with the number of its question, and its bounds.

    Attributes:
        table: Scores of the answers, texts or questions that go in.
        compute: The statistic of weighted rows.
        questions: Question of each row.
        bounds: Lowest and highest possible value; None where there is none or it is never undefined.
        problem: Why it is undefined, where it is.
        empty: Why there are no rows, where there are none.
    """

    table: Floats
    compute: WeightedStatistic
    questions: Counts
    bounds: tuple[float, float] | None
    problem: str
    empty: str = "nothing has two scores"


def measure_robustness(repeats: Repeats, *, seed: int = 0, resamples: int = RESAMPLES) -> list[Robustness]:
    """Measure how far each metric's scores move.

    A text whose score failed is left out and counted; so is an answer, text or question of which fewer than two scores
    are left, or, of rewording, the original. Which system is better is compared only over what was scored every time.

    Intervals are 95% percentile bootstraps over questions: everything about a question is drawn together. A resample
    in which a share or a correlation is undefined counts as its lowest possible value for the lower end and as its
    highest for the upper end.

    Returns:
        For each metric a row per statistic of the kind.
    """
    return [
        row
        for column, metric in enumerate(repeats.metrics)
        for row in _measure(repeats, metric, repeats.scores[:, :, column], seed=seed, resamples=resamples)
    ]


def _measure(repeats: Repeats, metric: str, table: Floats, *, seed: int, resamples: int) -> Iterator[Robustness]:
    missing = int((repeats.there & np.isnan(table)).sum())
    kept = (~np.isnan(table)).sum(axis=1) > 1
    if repeats.kind == "rewording":
        kept &= ~np.isnan(table[:, 0])
    table, questions = table[kept], repeats.questions[kept]
    systems = number_clusters([repeats.systems[row] for row in np.flatnonzero(kept)])
    measured = _reword(table, questions) if repeats.kind == "rewording" else _repeat(table, questions, systems)
    for statistic, data in measured.items():
        value, low, high, reason = _estimate(data, seed=seed, resamples=resamples)
        yield Robustness(
            metric=metric,
            kind=repeats.kind,
            lang=repeats.lang,
            statistic=statistic,
            value=value,
            low=low,
            high=high,
            n=len(data.table),
            scores=int((~np.isnan(data.table)).sum()),
            missing=missing,
            reason=reason,
        )


def _reword(table: Floats, questions: Counts) -> dict[StatisticName, _WeightedRows]:
    row, column = np.nonzero(~np.isnan(table[:, 1:]))
    x, y = table[row, 0], table[row, column + 1]
    of_rows, few = questions[row], f"fewer than {MIN_ROWS} rewordings"
    equal = few if len(x) < MIN_ROWS else "the scores of the originals, or of their rewordings, are all equal"

    def relate(weights: Floats) -> Floats:
        return weighted_mean(np.abs(y - x), weights) / np.where((spread := weighted_sd(x, weights)) > 0, spread, np.nan)

    def order(weights: Floats) -> Floats:
        if len(x) < MIN_ROWS:
            return np.full(len(weights), np.nan)
        return find_coefficient("spearman").weighted(x, y, weights)

    def average(values: Floats) -> _WeightedRows:
        return _WeightedRows(table, lambda weights: weighted_mean(values, weights), of_rows, None, few)

    return {
        "change": average(y - x),
        "absolute_change": average(np.abs(y - x)),
        "relative_change": _WeightedRows(table, relate, of_rows, None, "the scores of the originals are all equal"),
        "spearman": _WeightedRows(table, order, of_rows, (-1.0, 1.0), equal),
        "reversed_pairs": _WeightedRows(
            table, lambda weights: reversed_pairs_share(x, y, weights), of_rows, (0.0, 1.0), equal
        ),
        "icc": _icc_rows(table, questions),
    }


def _repeat(table: Floats, questions: Counts, systems: Counts) -> dict[StatisticName, _WeightedRows]:
    whole = ~np.isnan(table).any(axis=1)
    present, compared = np.unique(systems[whole], return_inverse=True)

    def swap(weights: Floats) -> Floats:
        if len(present) < 2:
            return np.full(len(weights), np.nan)
        return reversed_systems_share(table[whole], compared, weights)

    return {
        "within_sd": _WeightedRows(
            table, lambda weights: within_unit_sd(table, weights), questions, None, "nothing has two scores"
        ),
        "icc": _icc_rows(table, questions),
        "reversed_systems": _WeightedRows(
            *(table[whole], swap, questions[whole], (0.0, 1.0), "there are not two systems to compare"),
            empty="nothing was scored every time" if len(table) else "nothing has two scores",
        ),
    }


def _icc_rows(table: Floats, questions: Counts) -> _WeightedRows:
    problem = "fewer than two have several scores" if len(table) < 2 else "all scores are equal"
    return _WeightedRows(table, lambda weights: weighted_icc(table, weights), questions, (-1.0, 1.0), problem)


def _estimate(
    data: _WeightedRows, *, seed: int, resamples: int
) -> tuple[float | None, float | None, float | None, str | None]:
    """Return value, ends of the interval, and why there is none."""
    if not len(data.questions):
        return None, None, None, data.empty
    value = float(data.compute(np.ones((1, len(data.questions))))[0])
    if np.isnan(value):
        return None, None, None, data.problem
    present, codes = np.unique(data.questions, return_inverse=True)
    if len(present) < 2:
        return value, None, None, "one question alone has no interval"
    replicates = bootstrap_clusters(data.compute, codes, seed=seed, resamples=resamples)
    if data.bounds is None and np.isnan(replicates).any():
        return value, None, None, f"no interval: in some resamples {data.problem}"
    interval = percentile_interval(replicates, bounds=data.bounds)
    return value, interval.low, interval.high, None


def describe_robustness(rows: Sequence[Robustness]) -> list[str]:
    """Return a plain sentence for each metric, about the rows of one kind and language."""
    by_metric: dict[str, dict[StatisticName, Robustness]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, {})[row.statistic] = row
    return [_describe_metric(metric, found) for metric, found in by_metric.items()]


def _describe_metric(metric: str, rows: dict[StatisticName, Robustness]) -> str:
    values = {statistic: row.value for statistic, row in rows.items() if row.value is not None}
    said: list[str] = []
    if "absolute_change" in values:
        spread = ""
        if "relative_change" in values:
            spread = f" ({format_decimal(values['relative_change'], digits=2)} standard deviations)"
        moved = format_score(values["absolute_change"])
        said.append(f"rewording an answer moves its score by {moved} on average{spread}")
    if "within_sd" in values:
        said.append(f"scores that should be the same have a standard deviation of {format_score(values['within_sd'])}")
    if "icc" in values:
        # Below 0 the estimate says that all of the variance is noise.
        share = format_percent(1 - max(values["icc"], 0))
        said.append(f"{share} of the variance comes from the {next(iter(rows.values())).kind}")
    if "reversed_pairs" in values:
        said.append(f"{format_percent(values['reversed_pairs'])} of the pairs of answers change their order")
    if "reversed_systems" in values:
        said.append(f"pairs of systems change places in {format_percent(values['reversed_systems'])} of the cases")
    if not said:
        return f"{metric}: nothing can be said: {next(iter(rows.values())).reason}."
    return f"{metric}: {'; '.join(said)}."
