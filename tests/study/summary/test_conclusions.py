"""Conclusions from simulated answers, of which it is known what can be concluded."""

from dataclasses import replace

import numpy as np
import pytest

from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL, Comparison, Correlation, Level
from imapeval.study.data.rated import Rated
from imapeval.study.number_format import format_number
from imapeval.study.summary.conclusions import describe_leaders, rank_metrics, write_conclusions
from tests.study.answers import make_rated


def rank(rated: Rated, level: Level) -> tuple[list[Correlation], list[Correlation]]:
    """Return the correlations, and those that conclusions are drawn from."""
    rows = correlate(rated, coefficients=("spearman",), levels=(level,), resamples=50)
    return rows, rank_metrics(rows, level=level, coefficient="spearman")


@pytest.mark.parametrize("metrics", [1, 2])
def test_metrics_whose_high_scores_go_with_low_ratings(metrics: int):
    ratings = np.random.default_rng(0).random(60)
    noise = np.random.default_rng(1).random((60, metrics)) * [0.0, 0.3][:metrics]
    _, ranked = rank(make_rated(noise - ratings[:, None], ratings), "global")
    # Of both, the interval is far from 0.
    assert all(row.simultaneous_high < -0.5 for row in ranked if row.simultaneous_high is not None)
    said = " ".join(write_conclusions(ranked, [], level="global", dimension="accuracy"))
    assert "is below 0" in said
    for wrong in ("includes 0", "chance", "agrees best"):
        assert wrong not in said


@pytest.mark.parametrize("only", [(0, 1), (0, 0)])
def test_dimensions_that_not_all_systems_are_rated_in(only: tuple[int, int]):
    # Each system is rated in one dimension: in one of its own, or in the same one, beside which nothing is rated.
    rng = np.random.default_rng(3)
    quality = rng.random(40)
    ratings = np.full((40, 2), np.nan)
    for system, dimension in enumerate(only):
        rows = np.arange(40) // 20 == system
        ratings[rows, dimension] = np.round(5 * quality[rows])
    scores = np.column_stack([quality + 0.1 * rng.random(40), rng.random(40)])
    rated = make_rated(scores, ratings, systems=np.arange(40) // 20, dimensions=("x", "y"))
    rows, ranked = rank(rated, "within-system")
    assert ranked[0].dimension == ALL
    said = [sentence for sentence in describe_leaders(rated, rows, ranked) if "by dimension" in sentence]
    if only == (0, 0):
        assert said == []
    else:
        of_best = {row.dimension: row for row in rows if row.metric == "m0" and row.dimension != ALL}
        assert [f"{name} {format_number(of_best[name].value or 0.0)}" in said[0] for name in ("x", "y")] == [True, True]


def test_comparisons_that_another_seed_may_decide_are_named():
    rng = np.random.default_rng(5)
    quality = rng.random(60)
    rated = make_rated(np.column_stack([quality, rng.random(60)]), quality + 0.1 * rng.random(60))
    _, ranked = rank(rated, "global")
    row = Comparison("m0", "m1", "global", rated.dimensions[0], "spearman", difference=0.9, p=0.049, p_adjusted=0.049)
    for unsettled in (False, True):
        rows = [replace(row, unsettled=unsettled)]
        said = " ".join(write_conclusions(ranked, rows, level="global", dimension=row.dimension))
        assert ("where m0 is compared with m1 on" in said) == unsettled
