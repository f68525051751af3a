"""Results of models on the tasks of a benchmark with several runs: means, spread, paired tests, learning curves.

Metrics such as F1 are not means over items. The jackknife's pseudo-value of each item (Tukey 1958; Miller 1974,
Biometrika 61, 1-15) takes the place of its score, and everything else is as for accuracies (`comparison`): items and
runs are both samples, with Student's t-test over the runs beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval._optional import require
from imapeval.study.closed.comparison import compare_runs, find_variance
from imapeval.study.closed.metrics.estimate import MetricFamily, average_over_answers
from imapeval.study.closed.metrics.labels import measure_label_sets, measure_labels, measure_sequences
from imapeval.study.closed.metrics.ordinal import measure_grades, measure_rankings
from imapeval.study.comparison.holm import holm_adjust
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.intervals import SIGNIFICANCE_LEVEL
from imapeval.study.intervals.bootstrap import leave_out_clusters, number_clusters
from imapeval.study.intervals.quantiles import normal_quantile
from imapeval.study.intervals.shares import wilson_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.closed.drbenchmark.runs import TaskRun
    from imapeval.study.closed.drbenchmark.tasks import Task

_MAX_GROUPS = 400
"""Maximum number of jackknife groups of items; from this many the variance is known to within 7%."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """One metric of one model on one task.

    Attributes:
        items: Number of test items.
        cut: Number of test items that the model tagged only in part.
        runs: The metric of each run.
        reported: The value in the file of each run; None where it has none.
        mean: Their mean.
        spread: Their standard deviation; None with a single run.
        low, high: Bounds of the mean's 95% interval, over items and runs.
        best: Whether it is the best of two or more models on the largest share of the training data.
        as_best: Whether it does not differ significantly from the best; None where it was not compared.
    """

    task: str
    metric: str
    model: str
    share: float
    items: int
    cut: int
    runs: tuple[float, ...]
    reported: tuple[float | None, ...]
    mean: float
    spread: float | None
    low: float
    high: float
    best: bool = False
    as_best: bool | None = None


@dataclass(frozen=True, slots=True)
class TaskTest:
    """Two models on one task.

    Attributes:
        task, metric, first, second: The task, the metric and the two models.
        difference: Mean of the first minus that of the second.
        low, high: Bounds of its 95% interval, over items and runs.
        p: Two-sided p-value, over items and runs.
        p_adjusted: The p-value after Holm's correction over the pairs of the task.
        p_over_runs: p-value of Student's t-test on the values of the runs; None where there is nothing to compare.
    """

    task: str
    metric: str
    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    p_over_runs: float | None


@dataclass(frozen=True, slots=True)
class TaskFindings:
    """All results.

    Attributes:
        results: Results by task, metric, model and share.
        tests: Pairs of models, on the largest share of the training data of each task.
    """

    results: Sequence[TaskResult]
    tests: Sequence[TaskTest]


def analyse_task_runs(runs: Sequence[TaskRun]) -> TaskFindings:
    """Measure and compare models; runs of one task have the same items, two or more.

    Raises:
        MissingExtraError: seqeval or scipy is not installed.
    """
    results: list[TaskResult] = []
    tests: list[TaskTest] = []
    for task in dict.fromkeys(run.task for run in runs):
        cells: dict[tuple[str, float], list[TaskRun]] = {}
        for run in runs:
            if run.task == task:
                cells.setdefault((run.model, run.share), []).append(run)
        largest = max(share for _, share in cells)
        cut = _count_cut(cells)
        for metric in task.metrics:
            tables = {key: np.array([_find_pseudo_values(run, metric) for run in own]).T for key, own in cells.items()}
            compared = {model: table for (model, share), table in tables.items() if share == largest}
            found = _compare(task.name, metric, compared)
            best = max(compared, key=lambda model: float(compared[model].mean()))
            for (model, share), table in tables.items():
                result = summarise_values(table, lowest=_find_lowest(metric))
                differs_from_best = {
                    one.p_adjusted < SIGNIFICANCE_LEVEL for one in found if {one.first, one.second} == {model, best}
                }
                results.append(
                    TaskResult(
                        *(task.name, metric, model, share),
                        items=len(cells[model, share][0].answers),
                        cut=cut[model, share],
                        reported=tuple(run.reported.get(metric) for run in cells[model, share]),
                        **result,
                        best=share == largest and model == best and len(compared) > 1,
                        as_best=None if share < largest or not differs_from_best else not differs_from_best.pop(),
                    )
                )
            tests += found
    return TaskFindings(results, tests)


def _count_cut(cells: Mapping[tuple[str, float], Sequence[TaskRun]]) -> dict[tuple[str, float], int]:
    """Return for how many items each model has fewer tags than another one."""
    if next(iter(cells.values()))[0].task.kind != "sequence":
        return dict.fromkeys(cells, 0)
    sizes: dict[str, int] = {}
    for run in (run for own in cells.values() for run in own):
        for item, (right, _) in run.answers.items():
            sizes[item] = max(sizes.get(item, 0), len(right))
    return {
        key: sum(any(len(run.answers[item][0]) < size for run in own) for item, size in sizes.items())
        for key, own in cells.items()
    }


def _find_lowest(metric: str) -> float:
    """Return the lower end of a metric's range; the upper one is 1."""
    return -1.0 if metric == "spearman" else 0.0


def summarise_values(table: Floats, *, lowest: float) -> dict[str, Any]:
    """Return values, mean, spread and interval of pseudo-values, shape (groups of items, runs)."""
    stats = require("scipy.stats", distribution="scipy", extra="study", needed_for="intervals over items and runs")
    values, mean = table.mean(axis=0), float(table.mean())
    variance, freedom = find_variance(table)
    reach = float(stats.t.ppf(0.975, freedom)) * math.sqrt(variance) if variance > 0 else 0.0
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    low, high = max(lowest, mean - reach), min(1.0, mean + reach)
    if variance <= 0:
        # Equal items do not imply zero variance: twenty right of twenty are no certainty.
        share = min(1.0, max(0.0, (mean - lowest) / (1 - lowest)))
        ends = wilson_interval(share, len(table), quantile=normal_quantile())
        low, high = (lowest + (1 - lowest) * end for end in (ends.low, ends.high))
    return {"runs": tuple(values.tolist()), "mean": mean, "spread": spread, "low": low, "high": high}


def _compare(task: str, metric: str, tables: Mapping[str, Floats]) -> list[TaskTest]:
    most = 1 - _find_lowest(metric)
    pairs = [compare_runs(task, one, two, tables[one], tables[two], most=most) for one, two in combinations(tables, 2)]
    adjusted = holm_adjust([pair.p for pair in pairs])
    return [
        TaskTest(
            *(task, metric, pair.first, pair.second, pair.difference, pair.low, pair.high, pair.p),
            p_adjusted=1.0 if holm is None else holm,
            p_over_runs=pair.p_over_runs,
        )
        for pair, holm in zip(pairs, adjusted, strict=True)
    ]


def _find_pseudo_values(run: TaskRun, metric: str) -> Floats:
    """Return the pseudo-value of each item, or group of items, in the order of their ids; their mean is the metric."""
    items = sorted(run.answers)
    compute = measure_task(run.task, metric, *map(list, zip(*(run.answers[item] for item in items), strict=True)))
    clusters = number_clusters([(run.groups.get(item) or "", "" if run.groups.get(item) else item) for item in items])
    left_out = leave_out_clusters(compute, clusters, most=_MAX_GROUPS)
    return compute(np.ones((1, len(items)))) + (len(left_out) - 1) * (left_out.mean() - left_out)


def measure_task(task: Task, metric: str, gold: list[Any], predicted: list[Any]) -> Callable[[Floats], Floats]:
    """Return a function that computes a metric under each row of item weights, shape (rows, items)."""
    families: list[MetricFamily]
    if metric == "spearman":
        sides, rho = (np.array(gold), np.array(predicted)), find_coefficient("spearman")
        # Constant grades have no rank correlation; count it as 0.
        return lambda weights: np.nan_to_num(rho.weighted(*sides, weights))
    if task.scale is not None:
        families = measure_grades(gold, predicted, task.scale)
    elif task.kind == "sequence":
        families = measure_sequences(gold, predicted)
    elif task.kind == "ranking":
        families = measure_rankings(gold, predicted)
    elif metric == "hamming-score":
        rows = [[len(right & given) / max(1, len(right | given))] for right, given in zip(gold, predicted, strict=True)]
        families = [average_over_answers((metric,), rows)]
    else:
        families = (measure_labels if task.kind == "labels" else measure_label_sets)(gold, predicted)
    family = next(family for family in families if metric in family.names)
    place = family.names.index(metric)
    return lambda weights: np.array([family.compute(row)[place] for row in weights])
