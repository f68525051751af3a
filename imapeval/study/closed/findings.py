"""All findings about the outputs of models: the data of tables, the page and JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.study.closed.baselines import measure_baselines
from imapeval.study.closed.comparison import ACCURACY, compare_models, gather_models
from imapeval.study.closed.drbenchmark.results import analyse_task_runs
from imapeval.study.closed.models import measure_order_effects, summarise_models
from imapeval.study.systems.ranking import rank_systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.study.closed.baselines import Baseline
    from imapeval.study.closed.comparison import RunTest
    from imapeval.study.closed.drbenchmark.results import TaskResult, TaskTest
    from imapeval.study.closed.drbenchmark.runs import TaskRun
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.closed.models import ModelResult, OrderEffect
    from imapeval.study.closed.open_metrics import OpenFindings
    from imapeval.study.systems.differences import Difference
    from imapeval.study.systems.ranking import Standing


OPEN_FORM = "open form"
"""The task of open answers to items that were also asked with options."""


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One cell of the overall table: a metric of a model on a task.

    Attributes:
        mean: Mean over items and runs.
        spread: Standard deviation over runs; None with a single run, and for closed questions.
        low, high: Bounds of the mean's 95% interval; None where there is none.
        best: Whether it is the best of two or more models, and was compared with all the others.
        as_best: Whether it does not differ significantly from the best; None for the best, and where not all models
            were compared with it.
        majority, chance: Baselines: always the most frequent right answer, and guessing.
    """

    task: str
    metric: str
    model: str
    items: int
    mean: float
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    best: bool = False
    as_best: bool | None = None
    majority: float | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class MissingAnswers:
    """Answers to a task that a model did not give."""

    task: str
    model: str
    answers: int


@dataclass(frozen=True, slots=True)
class ClosedFindings:
    """Findings about the outputs of models.

    Attributes:
        scores: Every metric of every model on every task, on all the training data: one leaderboard.
        models: Each model on each task of closed questions.
        orders: Each model on questions with options in several orders.
        leaderboard: Models over all closed questions; empty with one model.
        differences: Differences between pairs of models, over all closed questions and within each task.
        runs: Pairs of models with several runs.
        open: Open answers to the same items; None without any.
        results: Each model on each task of another kind, by share of the training data.
        tests: Tests of pairs of models on these tasks.
        missing: Missing answers to these tasks.
        metric: The metric compared on closed questions.
        seed: Random seed of intervals and p-values.
        left_out: Number of answers to open-ended questions, by task: they have no right option.
    """

    scores: Sequence[ScoreCell]
    models: Sequence[ModelResult]
    orders: Sequence[OrderEffect]
    leaderboard: Sequence[Standing]
    differences: Sequence[Difference]
    runs: Sequence[RunTest]
    open: OpenFindings | None
    results: Sequence[TaskResult]
    tests: Sequence[TaskTest]
    missing: Sequence[MissingAnswers]
    metric: str
    seed: int
    left_out: Mapping[str, int]

    def describe_left_out(self) -> str:
        """Return a sentence on the open-ended tasks, "" if there are none."""
        tasks = ", ".join(f"{task} ({count} answers)" for task, count in self.left_out.items())
        return f"Left out, open-ended: {tasks}. Score them with `imapeval score`." if tasks else ""


def analyse_closed_answers(
    answers: Sequence[ClosedAnswer],
    opened: OpenFindings | None = None,
    *,
    runs: Sequence[TaskRun] = (),
    missing: Mapping[tuple[str, str], int] | None = None,
    metric: str | None = None,
    against: str | None = None,
    margin: float | None = None,
    seed: int = 0,
) -> ClosedFindings:
    """Summarise and compare the models.

    Args:
        answers: Answers to closed questions; those to open-ended ones, without labels, are left out.
        opened: Findings about open answers to the same items; passed on unchanged.
        runs: Runs of models on tasks of other kinds.
        missing: Number of missing answers in `runs`, by task and model.
        metric: A metric of the logs to compare models by; None takes the accuracy of the choices read.
        against: Compare each of the other models with this one; None compares all pairs.
        margin: Difference below which two models count as equivalent.
        seed: Random seed of intervals and permutations.

    Raises:
        UsageError: There is nothing but open-ended questions, no such metric or model, or fewer than two models to
            compare.
        MissingExtraError: scipy is not installed, which several runs need, or what a kind of task needs.
    """
    left_out = Counter(answer.task for answer in answers if not answer.labels)
    answers = [answer for answer in answers if answer.labels]
    if not answers and not runs:
        raise UsageError(f"all questions are open-ended: {', '.join(left_out)}. Score them with `imapeval score`.")
    differences: Sequence[Difference] = ()
    tests: Sequence[RunTest] = ()
    standings: Sequence[Standing] = ()
    if len({answer.model for answer in answers}) > 1:
        differences, tests = compare_models(answers, metric=metric, against=against, margin=margin, seed=seed)
        systems = gather_models(answers, metric=metric)
        standings = rank_systems(systems, differences, ranges=None if metric else {ACCURACY: (0.0, 1.0)}, seed=seed)
    elif against or metric or margin:
        raise UsageError(
            "all answers are of one model. Give the logs of another one to compare it with."
            if answers
            else "there are no closed questions to compare models on. Leave out --against, --metric and --margin."
        )
    models = summarise_models(answers)
    found = analyse_task_runs(runs)
    return ClosedFindings(
        [
            *_tabulate_choices(models, differences, metric),
            *_tabulate_tasks(found.results, measure_baselines(runs, seed=seed)),
            *([] if opened is None else _tabulate_open(opened.leaderboards)),
        ],
        models,
        measure_order_effects(answers),
        standings,
        differences,
        tests,
        opened,
        found.results,
        found.tests,
        [MissingAnswers(task, model, count) for (task, model), count in (missing or {}).items()],
        metric or ACCURACY,
        seed,
        left_out,
    )


def _tabulate_choices(
    models: Sequence[ModelResult], differences: Sequence[Difference], metric: str | None
) -> Iterator[ScoreCell]:
    several = any(row.column for row in differences)
    compared = {
        (row.group, frozenset({row.first, row.second})): row
        for row in differences
        if bool(row.column) == several and row.p is not None
    }
    for task in dict.fromkeys(row.task for row in models):
        means = {
            row.model: row.accuracy if metric is None else row.by_log[metric]
            for row in models
            if row.task == task and (metric is None or metric in row.by_log)
        }
        best = max(means, key=means.__getitem__) if means else ""
        pairs = {
            name: compared.get((task if several else "", frozenset({name, best}))) for name in means if name != best
        }
        complete = bool(pairs) and None not in pairs.values()
        for row in (row for row in models if row.task == task and row.model in means):
            pair = pairs.get(row.model)
            yield ScoreCell(
                *(task, metric or ACCURACY, row.model, row.items, means[row.model]),
                best=complete and row.model == best,
                as_best=pair.better != best if complete and pair else None,
                **({"low": row.low, "high": row.high} if metric is None else {}),
                **({"majority": row.always_one, "chance": row.guessing} if metric is None else {}),
            )


def _tabulate_tasks(results: Sequence[TaskResult], baselines: Sequence[Baseline]) -> Iterator[ScoreCell]:
    known = {(row.task, row.metric): row for row in baselines}
    for row in results:
        if row.share == max(other.share for other in results if other.task == row.task):
            base = known[row.task, row.metric]
            yield ScoreCell(
                *(row.task, row.metric, row.model, row.items, row.mean, row.spread, row.low, row.high),
                *(row.best, row.as_best, base.majority, base.chance),
            )


def _tabulate_open(leaderboards: Sequence[Standing]) -> Iterator[ScoreCell]:
    best = {row.metric: row for row in reversed(leaderboards) if row.rank == 1}
    models = Counter(row.metric for row in leaderboards)
    for row in leaderboards:
        if row.mean is not None:
            first = best[row.metric]
            yield ScoreCell(
                *(OPEN_FORM, row.metric, row.system, row.questions, row.mean),
                low=row.low,
                high=row.high,
                # Without letters, some pairs were not compared on these questions.
                best=row is first and row.shared and bool(row.groups) and models[row.metric] > 1,
                as_best=bool(set(row.groups) & set(first.groups)) if row.groups and row is not first else None,
            )
