"""Baseline scores of a task: the same answer to all items, and the right answers permuted at random."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.study.closed.drbenchmark.results import measure_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.drbenchmark.runs import TaskRun
    from imapeval.study.closed.drbenchmark.tasks import Kind, Task

_ANSWERS = 1000
"""Target for the total number of permuted answers: the standard error of an accuracy is then .016."""

_MIN_PERMUTATIONS, _MAX_PERMUTATIONS = 10, 50


@dataclass(frozen=True, slots=True)
class Baseline:
    """Values of a metric for answers that do not depend on the items.

    Attributes:
        majority: Value for always giving the most frequent right answer, the most frequent tag of every token, or the
            median grade.
        chance: Mean value over random permutations of the right answers, or of the tags of all tokens.
    """

    task: str
    metric: str
    majority: float
    chance: float


def measure_baselines(runs: Sequence[TaskRun], *, seed: int = 0) -> list[Baseline]:
    """Measure the baselines of each metric of each task.

    Runs of one task have the same right answers.

    Raises:
        MissingExtraError: seqeval or scipy is not installed.
    """
    found: list[Baseline] = []
    for task, run in {run.task: run for run in reversed(runs)}.items():
        gold = [right for right, _ in run.answers.values()]
        rng = np.random.default_rng(seed)
        permutations = [
            _permute_answers(task.kind, gold, rng)
            for _ in range(min(_MAX_PERMUTATIONS, max(_MIN_PERMUTATIONS, _ANSWERS // len(gold))))
        ]
        for metric in task.metrics:
            chance = float(np.mean([_measure(task, metric, gold, given) for given in permutations]))
            majority = _measure(task, metric, gold, _repeat_most_frequent(task.kind, gold))
            found.append(Baseline(task.name, metric, majority, chance))
    return found


def _measure(task: Task, metric: str, gold: list[Any], given: list[Any]) -> float:
    return float(measure_task(task, metric, gold, given)(np.ones((1, len(gold))))[0])


def _repeat_most_frequent(kind: Kind, gold: list[Any]) -> list[Any]:
    if kind == "grade":
        return [float(np.median(gold))] * len(gold)
    if kind == "sequence":
        # There is none where all sequences are empty.
        frequent = [tag for tag, _ in Counter(chain.from_iterable(gold)).most_common(1)]
        return [frequent * len(tags) for tags in gold]
    answer = Counter(tuple(right) if kind == "ranking" else right for right in gold).most_common(1)[0][0]
    return [list(answer) if kind == "ranking" else answer] * len(gold)


def _permute_answers(kind: Kind, gold: list[Any], rng: np.random.Generator) -> list[Any]:
    if kind != "sequence":
        return [gold[place] for place in rng.permutation(len(gold))]
    tags = list(chain.from_iterable(gold))
    permuted = iter(rng.permutation(len(tags)).tolist())
    return [[tags[next(permuted)] for _ in own] for own in gold]
