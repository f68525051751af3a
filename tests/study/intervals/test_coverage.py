"""Where an interval was measured to hold more or less often than it says, that stands beside it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from imapeval.study.agreement.measure import Agreement
from imapeval.study.agreement.noise_ceiling import Ceiling
from imapeval.study.closed.comparison import RunTest
from imapeval.study.closed.drbenchmark.results import TaskResult
from imapeval.study.closed.metrics.estimate import MetricEstimate
from imapeval.study.closed.models import ModelResult
from imapeval.study.data.findings import Correlation, Level, Units
from imapeval.study.intervals.coverage import (
    describe_accuracy_coverage,
    describe_agreement_coverage,
    describe_ceiling_coverage,
    describe_closed_coverage,
    describe_difference_coverage,
    describe_level_coverage,
    describe_mean_coverage,
    describe_open_ends,
    describe_task_coverage,
    describe_test_coverage,
)
from imapeval.study.systems.differences import Difference
from tests.study.answers import make_rated


@pytest.mark.parametrize(
    ("statistic", "n", "count"),
    [
        ("gwet_ac2_quadratic", 30, 1),
        ("gwet_ac2_quadratic", 100, 0),
        ("krippendorff_alpha_nominal", 100, 1),
        ("fleiss_kappa", 30, 1),
        ("gwet_ac1", 30, 1),
        ("gwet_ac1", 100, 0),
        ("icc_2_1", 30, 0),
    ],
)
def test_agreement(statistic: str, n: int, count: int):
    assert len(describe_agreement_coverage([Agreement("accuracy", statistic, 0.5, 0.4, 0.6, n=n)])) == count
    assert describe_agreement_coverage([Agreement("accuracy", statistic, n=n, reason="constant")]) == []


@pytest.mark.parametrize(
    ("level", "units", "count"),
    [
        ("within-question", "questions", 1),
        ("system", "questions", 1),
        ("system", "systems", 1),
        ("within-system", "questions", 0),
        ("within-question", "systems", 0),
    ],
)
def test_levels(level: Level, units: Units, count: int):
    assert len(describe_level_coverage([(level, units), (level, units)])) == count


@pytest.mark.parametrize(
    ("value", "low", "high", "undefined", "count"),
    [
        (0.1, -1.0, 0.5, 0.01, 1),
        (0.1, -0.2, 1.0, 0.01, 1),
        (0.1, -0.2, 0.5, 0.01, 0),
        (0.9, 0.5, 1.0, 0.0, 0),
        (1.0, 0.5, 1.0, 0.01, 0),
        (0.1, -1.0, 0.5, None, 0),
        (None, None, None, None, 0),
    ],
)
def test_open_ends(value: float | None, low: float | None, high: float | None, undefined: float | None, count: int):
    row = Correlation("rouge1", "nova", "accuracy", "spearman", value, low, high, 24, 0, undefined=undefined)
    said = describe_open_ends([row, replace(row, metric="rouge2")])
    assert len(said) == count
    assert all("nova, accuracy: rouge1, rouge2" in sentence and "1%" in sentence for sentence in said)


@pytest.mark.parametrize(
    ("sizes", "named"),
    [([5, 100], ["10"]), ([10, 49], ["10 to 49"]), ([15, 5], ["10", "10 to 49"]), ([50, 400], []), ([0, 50], [])],
)
def test_means(sizes: list[int], named: list[str]):
    found = [re.findall(r"([\d to]*\d) questions", sentence) for sentence in describe_mean_coverage(sizes)]
    assert [number.strip() for (number,) in found] == named


@pytest.mark.parametrize(("wins", "losses", "count"), [(0, 0, 1), (5, 4, 1), (5, 5, 0), (90, 0, 0)])
def test_differences(wins: int, losses: int, count: int):
    row = Difference("m", "a", "b", "", "", True, 100, low=-0.1, high=0.2, wins=wins, losses=losses)
    many = replace(row, wins=50)
    assert len(describe_difference_coverage([many, row, row])) == count
    assert describe_difference_coverage([replace(row, low=None), replace(row, paired=False)]) == []
    # Over questions and runs.
    test = RunTest("", "a", "b", 100, (2, 2), 0.05, -0.1, 0.2, 0.5, None)
    assert describe_difference_coverage([row], [test]) == []


@pytest.mark.parametrize(("items", "runs", "count"), [(19, 1, 1), (20, 1, 0), (20, 2, 1), (19, 2, 2)])
def test_accuracies(items: int, runs: int, count: int):
    row = ModelResult("t", "m", items, runs, 0.9, 0.8, 0.95, None, {}, {}, 0.5, None)
    assert len(describe_accuracy_coverage([row, row])) == count
    assert describe_accuracy_coverage([replace(row, low=None)]) == []


@pytest.mark.parametrize(
    ("metric", "mean", "runs", "count"),
    [
        ("accuracy", 0.95, 1, 1),
        ("accuracy", 0.05, 1, 1),
        ("accuracy", 0.8, 1, 0),
        ("accuracy", 0.8, 2, 1),
        ("accuracy", 0.95, 2, 2),
        ("spearman", 0.95, 1, 0),
    ],
)
def test_means_over_items_and_runs(metric: str, mean: float, runs: int, count: int):
    row = TaskResult("t", metric, "m", 1.0, 100, 0, (mean,) * runs, (None,) * runs, mean, None, mean - 0.05, 1.0)
    assert len(describe_task_coverage([row, row])) == count


@pytest.mark.parametrize(
    ("items", "several", "count"), [([99, 400], False, 1), ([100], False, 0), ([100], True, 1), ([99], True, 2)]
)
def test_differences_over_items_and_runs(items: list[int], several: bool, count: int):
    assert len(describe_test_coverage(items, several=several)) == count


@pytest.mark.parametrize(
    ("metric", "n", "count"),
    [
        ("f1-macro", 30, 1),
        ("f1-macro", 100, 0),
        ("auc", 30, 1),
        ("pr-auc", 100, 1),
        ("auc", 500, 1),
        ("accuracy", 30, 0),
    ],
)
def test_closed_answers(metric: str, n: int, count: int):
    assert len(describe_closed_coverage([MetricEstimate(metric, 0.9, 0.8, 0.95, n)])) == count
    assert describe_closed_coverage([MetricEstimate(metric, None, None, None, n, "constant")]) == []


@pytest.mark.parametrize(
    ("categories", "n", "low", "count"), [(2, 60, 0.4, 1), (2, 200, 0.4, 0), (3, 60, 0.4, 0), (2, 60, None, 0)]
)
def test_ceilings(categories: int, n: int, low: float | None, count: int):
    ratings = np.resize(np.arange(categories, dtype=float), (n, 2))
    ratings[0, 0] = np.nan
    rated = make_rated(
        ratings=np.nanmean(ratings, axis=1), dimensions=("d",), raters=("0", "1"), by_rater={"d": ratings}
    )
    row = Ceiling("d", "spearman", value=0.5, low=low, high=low and 0.6, n=n)
    assert len(describe_ceiling_coverage([row, row], rated)) == count
