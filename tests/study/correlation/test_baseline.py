import numpy as np
import pytest
from scipy import stats

from imapeval.study.correlation.baseline import correlate_baseline
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated


def make(systems: int) -> Rated:
    generator = np.random.default_rng(0)
    system = np.arange(90) % systems
    ratings = np.column_stack([system + generator.normal(size=90), -0.5 * system + generator.normal(size=90)])
    ratings[:3, 0] = np.nan
    return Rated(
        ids=tuple(map(str, range(90))),
        questions=np.arange(90) // 3,
        systems=tuple(f"s{number}" for number in system),
        metrics=(),
        scores=np.empty((90, 0)),
        dimensions=("accuracy", "completeness"),
        ratings=ratings,
    )


def test_the_means_of_systems_are_correlated_with_the_ratings():
    rated = make(3)
    found = correlate_baseline(rated, "spearman")
    for place, dimension in enumerate(rated.dimensions):
        ratings = rated.ratings[:, place]
        means = {name: np.nanmean(ratings[np.array(rated.systems) == name]) for name in set(rated.systems)}
        there = np.isfinite(ratings)
        scores = np.array([means[name] for name in rated.systems])
        # scipy 1.16.
        assert found[dimension] == pytest.approx(stats.spearmanr(scores[there], ratings[there]).statistic)
    assert found[ALL] == pytest.approx(np.mean([found["accuracy"], found["completeness"]]))


def test_one_system_has_no_baseline():
    assert correlate_baseline(make(1), "spearman") == {}
