"""Where an interval was measured to hold more or less often than it says, that stands beside it."""

import numpy as np
import pytest

from imapeval.study.closed.estimate import MetricEstimate
from imapeval.study.data.findings import Agreement, Ceiling, Level, Units
from imapeval.study.data.rated import Rated
from imapeval.study.intervals.limits import (
    describe_agreement_limits,
    describe_ceiling_limits,
    describe_closed_limits,
    describe_level_limits,
    describe_mean_limits,
)


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
    assert len(describe_agreement_limits([Agreement("accuracy", statistic, 0.5, 0.4, 0.6, n=n)])) == count
    assert describe_agreement_limits([Agreement("accuracy", statistic, n=n, reason="constant")]) == []


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
    assert len(describe_level_limits([(level, units), (level, units)])) == count


@pytest.mark.parametrize(("sizes", "count"), [([5, 100], 1), ([49], 1), ([50, 400], 0), ([0, 50], 0), ([], 0)])
def test_means(sizes: list[int], count: int):
    assert len(describe_mean_limits(sizes)) == count


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
    assert len(describe_closed_limits([MetricEstimate(metric, 0.9, 0.8, 0.95, n)])) == count
    assert describe_closed_limits([MetricEstimate(metric, None, None, None, n, "constant")]) == []


@pytest.mark.parametrize(
    ("categories", "n", "low", "count"), [(2, 60, 0.4, 1), (2, 200, 0.4, 0), (3, 60, 0.4, 0), (2, 60, None, 0)]
)
def test_ceilings(categories: int, n: int, low: float | None, count: int):
    ratings = np.resize(np.arange(categories, dtype=float), (n, 2))
    ratings[0, 0] = np.nan
    rated = Rated(
        ids=tuple(map(str, range(n))),
        questions=np.arange(n),
        systems=("",) * n,
        metrics=(),
        scores=np.empty((n, 0)),
        dimensions=("d",),
        ratings=np.nanmean(ratings, axis=1)[:, None],
        raters=("0", "1"),
        by_rater={"d": ratings},
    )
    row = Ceiling("d", "spearman", value=0.5, low=low, high=low and 0.6, n=n)
    assert len(describe_ceiling_limits([row, row], rated)) == count
