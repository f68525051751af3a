"""Metrics of closed answers with score intervals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.quantiles import normal_quantile
from imapeval.study.intervals.shares import score_interval, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.intervals import Interval

_MAX_GROUPS = 2000
"""Maximum number of jackknife groups of answers; from this many the variance is known to within 3%."""


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """A family of metrics that are computed together.

    Attributes:
        names: Names of the metrics.
        compute: Takes the weight of each answer, shape (answers,), whole numbers (2 stands for two equal answers, 0 for
            one that is left out); returns the value of each metric, 0..1, NaN where it is undefined.
        undefined: Why a metric has no value on these answers, by its name.
        shares: Metrics that are the share of right answers.
        sizes: Number of independent answers that a metric is based on, by metric; all answers by default.
        most: Maximum of that number in intervals, by metric; unbounded by default.
    """

    names: tuple[str, ...]
    compute: Callable[[Floats], Sequence[float]]
    undefined: Mapping[str, str] = field(default_factory=dict[str, str])
    shares: frozenset[str] = frozenset()
    sizes: Mapping[str, float] = field(default_factory=dict[str, float])
    most: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """One metric.

    Attributes:
        value: Value of the metric, 0..1; None where it is undefined.
        low, high: Bounds of its interval; None where the value is None, or with fewer than two answers.
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
) -> list[MetricEstimate]:
    """Compute metrics (by default all of the families) with Wilson's score intervals.

    Shares of right answers have Wilson's interval; other metrics have that of an effective number of answers, derived
    from their jackknife variance (`intervals.score_interval`).

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
        defined = [name for name in names if name not in family.undefined]
        if defined:
            values = dict(zip(family.names, family.compute(np.ones(answers)), strict=True))
            intervals = _find_intervals(family, defined, values, answers)
            for name in defined:
                found[name] = MetricEstimate(name, float(values[name]), *ends_of(intervals.get(name)), answers)
    return [found[name] for name in wanted]


def _find_intervals(
    family: MetricFamily, names: Sequence[str], values: Mapping[str, float], answers: int
) -> dict[str, Interval | None]:
    """Return intervals by metric; None with fewer than two answers, which have no variance."""
    if answers < 2:
        return {}
    quantile = normal_quantile()
    intervals: dict[str, Interval | None] = {
        name: wilson_interval(values[name], answers, quantile=quantile) for name in names if name in family.shares
    }
    others = [name for name in names if name not in family.shares]
    if others:
        groups = np.arange(answers) % min(answers, _MAX_GROUPS)
        left_out = np.array([family.compute((groups != group) * 1.0) for group in range(groups.max() + 1)])
        for name in others:
            intervals[name] = score_interval(
                values[name],
                left_out[:, family.names.index(name)],
                bounds=(0.0, 1.0),
                size=family.sizes.get(name, answers),
                at_most=family.most.get(name, np.inf),
            )
    return intervals


def average_over_answers(names: tuple[str, ...], rows: Sequence[Sequence[float]]) -> MetricFamily:
    """Return metrics that are means over the answers, from values of shape (answers, metrics)."""
    table = np.array(rows, dtype=np.float64)
    right_or_wrong = [set(column) <= {0.0, 1.0} for column in zip(*rows, strict=True)]
    return MetricFamily(
        names,
        lambda weights: (weights @ table / weights.sum()).tolist(),
        shares=frozenset(name for name, is_share in zip(names, right_or_wrong, strict=True) if is_share),
    )


def count_effective(classes: Sequence[Sequence[int]]) -> float:
    """Return the effective number of answers behind a mean over classes (Kish 1965, Survey Sampling, 8.2).

    Every class has the same weight in such a mean, so an answer of a small class weighs more. It is the squared sum of
    the answers' weights divided by the sum of their squares: the number of answers where classes are of equal size, 0
    where no answer has a class. An answer may have several classes, numbered from 0, or none.
    """
    sizes = np.bincount(np.array([one for own in classes for one in own], dtype=np.int64))
    weights = np.array([sum(1 / sizes[one] for one in own) for own in classes])
    return float(weights.sum() ** 2 / max(1e-300, (weights**2).sum()))
