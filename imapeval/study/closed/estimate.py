"""Metrics of closed answers with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.bootstrap import RESAMPLES, iterate_resamples, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from imapeval.study.arrays import Floats


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """Metrics that are computed together.

    Attributes:
        names: Of the metrics.
        weigh: The weight of each answer in, shape (answers,), whole numbers (a weight of 2 stands for two equal
            answers, 0 for one that is not there); the value of each metric out, 0..1, NaN where it is undefined.
        values: What a library says of the answers, by metric; the weighing, which says the same, is for resamples, of
            which there are too many for a library that takes milliseconds. A metric that no library has is not there.
        undefined: Why a metric has no value on these answers, by its name.
    """

    names: tuple[str, ...]
    compute: Callable[[Floats], Sequence[float]]
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    undefined: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """One metric.

    Attributes:
        metric: Name of the metric.
        value: 0..1, or None where it is undefined.
        low, high: Bounds of its interval; None where the value is, or with fewer than two answers.
        n: Number of answers.
        reason: Why there is no value.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


def estimate_metrics(
    families: Sequence[MetricFamily],
    answers: int,
    *,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> list[MetricEstimate]:
    """Compute metrics with percentile bootstrap intervals over the answers (Efron and Tibshirani 1993).

    One draw serves all metrics. Where a metric is undefined on a resample (only one class was drawn) it counts as 0
    for the lower end and as 1 for the upper end.

    Args:
        families: Of the task, as `measure_labels` and the others give them.
        answers: How many there are.
        metrics: Metrics in the order of the result; None takes all.
        seed: Random seed.
        resamples: Number of resamples.
        confidence: Confidence level, above 0 and below 1.

    Raises:
        UsageError: The task has no such metric.
    """
    known = [name for family in families for name in family.names]
    wanted = known if metrics is None else list(dict.fromkeys(metrics))
    if unknown := [name for name in wanted if name not in known]:
        raise UsageError(f"unknown metric {unknown[0]!r}. This task has: {', '.join(known)}.")
    found: dict[str, MetricEstimate] = {}
    for family in families:
        names = [name for name in family.names if name in wanted]
        found |= {n: MetricEstimate(n, None, None, None, answers, family.undefined.get(n)) for n in names}
        if any(name not in family.undefined for name in names):
            values = {**dict(zip(family.names, family.compute(np.ones(answers)), strict=True)), **family.values}
            drawn = [family.compute(weights) for weights in _draw(answers, seed=seed, resamples=resamples)]
            replicates = dict(zip(family.names, np.array(drawn).T, strict=True)) if drawn else {}
            for name in names:
                if name not in family.undefined:
                    ends = (None, None)
                    if drawn:
                        interval = percentile_interval(replicates[name], confidence=confidence, bounds=(0.0, 1.0))
                        ends = (interval.low, interval.high)
                    found[name] = MetricEstimate(name, float(values[name]), *ends, answers)
    return [found[name] for name in wanted]


def _draw(answers: int, *, seed: int, resamples: int) -> Iterator[Floats]:
    """Yield the weights of each resample; none where fewer than two answers say nothing of how far they spread."""
    if answers > 1:
        for block in iterate_resamples(answers, seed=seed, resamples=resamples):
            yield from block.astype(np.float64)


def mean_over_answers(rows: Sequence[Sequence[float]]) -> Callable[[Floats], Sequence[float]]:
    """Return the weighing of metrics that are means over the answers.

    Args:
        rows: What each answer counts for each metric, shape (answers, metrics).
    """
    table = np.array(rows, dtype=np.float64)
    return lambda weights: (weights @ table / weights.sum()).tolist()
