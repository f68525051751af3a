"""Every metric of DrBenchmark's tables, and of `imapeval closed`, beside the library that defines it.

On answers drawn at random, beside scikit-learn 1.9.1, seqeval 1.2.2 and scipy 1.17.1 (`.ci/constraints.txt`), called as
DrBenchmark's recipes call them. EDRM is a function of its recipe `clister`, written out here; its Hamming score
(`frenchmedmcqa`) is scikit-learn's Jaccard score of samples.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats
from seqeval import metrics as seqeval
from sklearn import metrics as sklearn
from sklearn.preprocessing import MultiLabelBinarizer

from imapeval.study.closed.drbenchmark.results import analyse_task_runs
from imapeval.study.closed.drbenchmark.runs import TaskRun
from imapeval.study.closed.drbenchmark.tasks import load_tasks
from imapeval.study.closed.metrics.estimate import estimate_metrics
from imapeval.study.closed.metrics.ordinal import measure_rankings

if TYPE_CHECKING:
    from collections.abc import Sequence

ITEMS = 120
TAGS = ("O", "B-DISO", "I-DISO", "B-CHEM", "I-CHEM", "B-ANAT")


def draw(seed: int, task: Any) -> tuple[list[Any], list[Any]]:
    """Return right and given answers of a task: half of them alike, and one in ten empty where that may be."""
    rng = np.random.default_rng(seed)

    def draw_one() -> Any:
        if task.kind == "sequence":
            return rng.choice(TAGS, 9, p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]).tolist()
        if task.kind == "labels":
            weights = rng.permutation(np.arange(1, len(task.labels) + 1)) if seed % 2 else np.ones(len(task.labels))
            return str(rng.choice(task.labels, p=weights / weights.sum()))
        if task.kind == "multilabel":
            return frozenset(rng.choice(task.labels, rng.integers(1, 4), replace=False).tolist())
        return float(np.round(rng.uniform(0, 5), 1))

    gold = [draw_one() for _ in range(ITEMS)]
    given = [right if rng.random() < 0.5 else draw_one() for right in gold]
    if task.kind == "multilabel" and task.name != "FrenchMedMCQA MCQA":
        given = [frozenset() if rng.random() < 0.1 else one for one in given]
    return gold, given


def binarise(task: Any, *sides: Sequence[Any]) -> list[Any]:
    encode = MultiLabelBinarizer(classes=list(task.labels))
    return [encode.fit_transform(side) for side in sides]


def compute_by_libraries(task: Any, metric: str, gold: list[Any], given: list[Any]) -> float:
    if task.kind == "sequence":
        return float(seqeval.f1_score(gold, given))
    if task.kind == "labels":
        return float(sklearn.f1_score(gold, given, average="weighted", zero_division=0))
    if metric == "f1-weighted":
        return float(sklearn.f1_score(*binarise(task, gold, given), average="weighted", zero_division=0))
    if metric == "hamming-score":
        return float(sklearn.jaccard_score(*binarise(task, gold, given), average="samples"))
    if metric == "exact-match-ratio":
        return float(sklearn.accuracy_score(*binarise(task, gold, given)))
    if metric == "spearman":
        return float(stats.spearmanr(gold, given).statistic)
    # EDRM as in the recipe of April 2023: `dmax` by the right grade.
    return fmean(1 - abs(right - one) / max(right, 5 - right) for right, one in zip(gold, given, strict=True))


@pytest.mark.parametrize("task", load_tasks(), ids=lambda task: task.name)
def test_every_metric_of_the_twenty_tasks_in_four_runs(task: Any):
    drawn = [draw(seed, task) for seed in range(4)]
    gold = drawn[0][0]
    # One test set, four runs.
    sides = [
        (gold, [one if n % 3 else right for n, (right, one) in enumerate(zip(gold, run[1], strict=True))])
        for run in drawn
    ]
    runs = [
        TaskRun(task, "m", str(n), 1.0, {f"{i:03}": pair for i, pair in enumerate(zip(*both, strict=True))})
        for n, both in enumerate(sides)
    ]
    found = {row.metric: row for row in analyse_task_runs(runs).results}
    assert tuple(found) == task.metrics
    for metric, row in found.items():
        expected = [compute_by_libraries(task, metric, *both) for both in sides]
        assert 0.1 < expected[0] < 1
        assert row.runs == pytest.approx(expected, abs=1e-9)
        assert row.mean == pytest.approx(fmean(expected), abs=1e-9)
        assert row.spread == pytest.approx(np.std(expected, ddof=1), abs=1e-9)


def test_grades_that_are_all_alike_order_nothing():
    task = next(task for task in load_tasks() if task.name == "CLISTER")
    gold = draw(0, task)[0]
    run = TaskRun(task, "m", "", 1.0, {str(n): (right, 2.5) for n, right in enumerate(gold)})
    found = {row.metric: row for row in analyse_task_runs([run]).results}
    assert (found["spearman"].mean, found["spearman"].runs) == (0.0, (0.0,))


def test_reciprocal_ranks_as_scikit_learn():
    """With one right answer, the average precision of a ranking is the reciprocal of its rank."""
    rng = np.random.default_rng(5)
    lists = [rng.permutation(list("vwxyz")).tolist() for _ in range(ITEMS)]
    gold = [[str(rng.choice(list("vwxyz")))] for _ in range(ITEMS)]
    is_right = np.array([[answer in right for answer in answers] for answers, right in zip(lists, gold, strict=True)])
    scores = np.tile(np.arange(5, 0, -1), (ITEMS, 1))
    found = {row.metric: row.value for row in estimate_metrics(measure_rankings(gold, lists), ITEMS)}
    assert found["mrr"] == pytest.approx(sklearn.label_ranking_average_precision_score(is_right, scores))
    assert found["strict-accuracy"] == pytest.approx(sklearn.top_k_accuracy_score(is_right.argmax(1), scores, k=1))
    assert found["lenient-accuracy"] == pytest.approx(1)
