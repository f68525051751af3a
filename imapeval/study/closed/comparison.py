"""Compares models on the same closed questions: exactly for single runs, and over questions and runs for several.

One run each: `imapeval.study.systems.differences`, whose permutation test of answers that are right or wrong is
McNemar's exact test (McNemar 1947). Several runs each, such as fine-tuning with four seeds: both questions and runs are
samples, so the variance of a difference is at most that over questions plus that over runs (crossed random effects;
Searle, Casella and McCulloch 1992, Variance Components, chapter 4), with Satterthwaite's degrees of freedom. Student's
t-test over the runs' accuracies, which papers report, is given beside it; it treats the questions as fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.intervals.quantiles import normal_quantile
from imapeval.study.intervals.shares import wilson_interval
from imapeval.study.systems.answers import SystemAnswers
from imapeval.study.systems.differences import compare_systems, conclude_family
from imapeval.types import Sample

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.systems.differences import Difference

ACCURACY = "accuracy"
"""Name of what is compared."""

_ROUNDING = 1e-12
"""Values of runs that differ by less count as equal."""


@dataclass(frozen=True, slots=True)
class RunTest:
    """Two models with several runs each, on the questions that all runs answered.

    Attributes:
        task: The task; "" for all questions of several tasks.
        items: Number of questions.
        runs: Number of runs of each.
        difference: Mean accuracy of the first minus that of the second.
        low, high: Bounds of its 95% interval, over questions and runs.
        p: Two-sided p-value, over questions and runs.
        p_over_runs: p-value of Student's t-test on the accuracies of the runs; None if all are equal, or with one run.
    """

    task: str
    first: str
    second: str
    items: int
    runs: tuple[int, int]
    difference: float
    low: float
    high: float
    p: float
    p_over_runs: float | None


def gather_models(answers: Sequence[ClosedAnswer], *, metric: str | None = None) -> SystemAnswers:
    """Return answers as those of systems, with their accuracy, or a metric of the logs, as score.

    Questions of one group count together, in proportion to their number, so that means are those over questions.

    Raises:
        UsageError: There are fewer than two models, or no log has the metric.
    """
    models = tuple(dict.fromkeys(answer.model for answer in answers))
    if len(models) < 2:
        raise UsageError(f"all answers are of one model, {', '.join(models)}. Give the logs of another one.")
    known = dict.fromkeys(name for answer in answers for name in answer.scores)
    if metric is not None and metric not in known:
        raise UsageError(f"no log has the metric {metric!r}. They have: {', '.join(known) or 'none'}.")
    questions = number_clusters([(a.task, a.group) if a.group else (a.task, "", a.item) for a in answers])
    items: dict[int, set[str]] = {}
    for question, answer in zip(questions.tolist(), answers, strict=True):
        items.setdefault(question, set()).add(answer.item)
    scores = [np.nan if (score := _score_of(answer, metric)) is None else score for answer in answers]
    tasks = tuple(answer.task for answer in answers)
    return SystemAnswers(
        samples=tuple(
            Sample(a.item, a.question or a.item, tuple(sorted(a.gold)), a.text or "", system=a.model) for a in answers
        ),
        runs=np.zeros(len(answers), dtype=np.int64),
        systems=models,
        system=np.array([models.index(answer.model) for answer in answers], dtype=np.int64),
        questions=questions,
        metrics=(metric or ACCURACY,),
        scores=np.array(scores)[:, None],
        lower_is_better=frozenset(),
        groups={"task": tasks} if len(set(tasks)) > 1 else {},
        sizes=np.array([len(items[question]) for question in range(len(items))], dtype=np.float64),
    )


def _score_of(answer: ClosedAnswer, metric: str | None) -> float | None:
    """Return whether the choice is right, as 0 or 1, or the score by a metric of the log, if it has one."""
    return float(answer.right or False) if metric is None else answer.scores.get(metric)


def compare_models(
    answers: Sequence[ClosedAnswer],
    *,
    metric: str | None = None,
    against: str | None = None,
    margin: float | None = None,
    seed: int = 0,
) -> tuple[list[Difference], list[RunTest]]:
    """Compare models in pairs (or each with `against`), over all tasks and within each.

    They are compared by a metric of the logs or, without one, by the accuracy of the choices read. Within the margin,
    two models count as equivalent.

    Of a model with several runs only the questions that all its runs of the task answered count, unless there are fewer
    than two such questions.

    Beside the differences there is a test for each pair of models of which one has several runs: within each task, and
    over the questions of all tasks. Its interval and p-value are those of the difference as well. A pair with other
    runs in one task than in another has none over all tasks. Models that share no question are not compared.

    Raises:
        UsageError: There are fewer than two models, or no such metric or model.
        MissingExtraError: scipy is not installed, which several runs need.
    """
    answers = _keep_complete(answers, metric)
    rows = compare_systems(gather_models(answers, metric=metric), against=against, margin=margin, seed=seed)
    tests = _test_runs(answers, metric, against)
    by_pair = {(test.task, test.first, test.second): test for test in tests}
    several = {(test.first, test.second) for test in tests}
    tasks = {answer.task for answer in answers}
    only = next(iter(tasks)) if len(tasks) == 1 else ""
    families: dict[str, list[Difference]] = {}
    for row in rows:
        test = by_pair.get((row.group if row.column else only, row.first, row.second))
        if not row.paired:
            reason = row.reason or "they share no question"
            row = replace(row, low=None, high=None, p=None, equivalent=None, reason=reason)
        elif test is not None:
            row = replace(row, low=test.low, high=test.high, p=test.p, equivalent=None)
        elif not row.column and (row.first, row.second) in several:
            reason = "their runs are not the same in all tasks"
            row = replace(row, low=None, high=None, p=None, equivalent=None, reason=reason)
        families.setdefault(row.column, []).append(row)
    return [row for family in families.values() for row in conclude_family(family, margin=margin)], tests


def _keep_complete(answers: Sequence[ClosedAnswer], metric: str | None) -> list[ClosedAnswer]:
    """Leave out what only some runs of a model answered, so that differences and tests are of the same questions."""
    runs: dict[tuple[str, str], dict[str, set[str]]] = {}
    for answer in answers:
        if _score_of(answer, metric) is not None:
            runs.setdefault((answer.task, answer.model), {}).setdefault(answer.run, set()).add(answer.item)
    complete = {key: set[str].intersection(*by_run.values()) for key, by_run in runs.items()}
    few = {key for key, items in complete.items() if len(items) < 2}
    return [
        answer
        for answer in answers
        if (key := (answer.task, answer.model)) not in complete or key in few or answer.item in complete[key]
    ]


def _test_runs(answers: Sequence[ClosedAnswer], metric: str | None, against: str | None) -> list[RunTest]:
    tables: dict[tuple[str, str], dict[str, dict[tuple[str, str], float]]] = {}
    groups = {(answer.task, answer.item): (answer.task, answer.group or (answer.item,)) for answer in answers}
    place = {model: number for number, model in enumerate(dict.fromkeys(answer.model for answer in answers))}
    several_tasks = len({answer.task for answer in answers}) > 1
    for answer in answers:
        if (score := _score_of(answer, metric)) is not None:
            # "" stands for all tasks together.
            for task in dict.fromkeys(("", answer.task)) if several_tasks else (answer.task,):
                runs = tables.setdefault((task, answer.model), {})
                runs.setdefault(answer.run, {})[answer.task, answer.item] = score
    found: list[RunTest] = []
    for ((task, first), one), ((other, second), two) in combinations(tables.items(), 2):
        if task != other or max(len(one), len(two)) < 2 or (against is not None and against not in {first, second}):
            continue
        # The order of the differences; a task may name the models in another.
        if against == first or (against is None and place[first] > place[second]):
            first, second, one, two = second, first, two, one
        runs = [*one.values(), *two.values()]
        shared = sorted(set[tuple[str, str]].intersection(*map(set, runs)))
        if not task and len({item[0] for item in shared}) < len({item[0] for run in runs for item in run}):
            continue
        if len(shared) > 1:
            grids = [np.array([[run[item] for run in own.values()] for item in shared]) for own in (one, two)]
            # The range of a log's metric is not known: take that of its values, at least from 0 to 1.
            most = 1.0 if metric is None else max(1.0, float(np.ptp(np.hstack(grids))))
            found.append(compare_runs(task, first, second, *grids, most=most, groups=[groups[item] for item in shared]))
    return found


def compare_runs(
    task: str,
    first: str,
    second: str,
    one: Floats,
    two: Floats,
    *,
    most: float = 1.0,
    groups: Sequence[Hashable] | None = None,
) -> RunTest:
    """Test the difference of two models on a task; `most` is the largest possible one.

    Scores have the shape (items, runs), with the same two or more items. With a single run each, the result does not
    generalise over runs. Items of one group are not independent; without groups all are.

    Raises:
        MissingExtraError: scipy is not installed.
    """
    stats = require("scipy.stats", distribution="scipy", extra="study", needed_for="comparisons of several runs")
    variance, freedom = find_variance(one, two, groups=groups)
    difference = float(one.mean() - two.mean())
    over_runs = None
    if variance > 0:
        reach = float(stats.t.ppf(0.975, freedom)) * math.sqrt(variance)
        p = float(2 * stats.t.sf(abs(difference) / math.sqrt(variance), freedom))
    else:
        # All differences are equal, which is no certainty: take Wilson's bound for 0 of n, and the exact sign test.
        independent = len(one) if groups is None else len(set(groups))
        reach = most * wilson_interval(0.0, independent, quantile=normal_quantile()).high
        p = 1.0 if abs(difference) < _ROUNDING else 2.0 ** (1 - independent)
    means = one.mean(axis=0), two.mean(axis=0)
    if min(map(len, means)) > 1 and any(np.ptp(mean) > _ROUNDING for mean in means):
        # From means and standard deviations, because `ttest_ind` warns if the runs of one model are equal.
        described = [(mean.mean(), mean.std(ddof=1), len(mean)) for mean in means]
        over_runs = float(stats.ttest_ind_from_stats(*described[0], *described[1]).pvalue)
    low, high = max(-most, difference - reach), min(most, difference + reach)
    return RunTest(task, first, second, len(one), (one.shape[1], two.shape[1]), difference, low, high, p, over_runs)


def find_variance(
    one: Floats, two: Floats | None = None, *, groups: Sequence[Hashable] | None = None
) -> tuple[float, float]:
    """Return the variance of a mean over questions and runs, or of the difference of two, and its degrees of freedom.

    The arguments are those of `compare_runs`. With groups the variance over questions is the cluster-robust one of a
    mean (Cameron and Miller 2015, Journal of Human Resources 50, equation 11, with G / (G - 1)).
    """
    both = (one,) if two is None else (one, two)
    by_item = one.mean(axis=1) if two is None else one.mean(axis=1) - two.mean(axis=1)
    # The variance over runs includes that of single answers, which the variance over questions includes as well. It is
    # not subtracted, since two or four runs are too few to estimate the rest. A single run gives no estimate.
    clusters = number_clusters(range(len(one)) if groups is None else groups)
    sums = np.bincount(clusters, weights=by_item - by_item.mean())
    if len(sums) < 2:
        return 0.0, math.inf
    parts = [(float((sums**2).sum()) / len(one) ** 2 * len(sums) / (len(sums) - 1), len(sums) - 1)]
    parts += [
        (float(scores.mean(axis=0).var(ddof=1)) / scores.shape[1], scores.shape[1] - 1)
        for scores in both
        if scores.shape[1] > 1
    ]
    variance = sum(part for part, _ in parts)
    if variance <= _ROUNDING**2:
        return 0.0, math.inf
    return variance, variance**2 / sum(part**2 / df for part, df in parts)
