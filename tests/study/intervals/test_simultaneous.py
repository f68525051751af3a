from statistics import NormalDist

import numpy as np
import pytest

from imapeval.study.correlation.levels import correlate
from imapeval.study.intervals.simultaneous import simultaneous_confidence
from tests.study.answers import make_rated


def reach(influences: np.ndarray) -> float:
    return NormalDist().inv_cdf((1 + simultaneous_confidence(influences, confidence=0.95)) / 2)


@pytest.mark.parametrize("metrics", [2, 6, 54])
def test_independent_metrics(metrics: int):
    # Sidak 1967, "Rectangular Confidence Regions for the Means of Multivariate Normal Distributions".
    sidak = NormalDist().inv_cdf((1 + 0.95 ** (1 / metrics)) / 2)
    assert reach(np.eye(metrics)) == pytest.approx(sidak, abs=0.03)


@pytest.mark.parametrize(("metrics", "quantile"), [(2, 2.21), (3, 2.35), (5, 2.51), (9, 2.69)])
def test_metrics_that_correlate(metrics: int, quantile: float):
    # Dunnett 1964, "New Tables for Multiple Comparisons with a Control", two-sided, 5%, infinite degrees of freedom:
    # equal correlations of .5.
    assert reach(np.vstack([np.ones(metrics), np.eye(metrics)])) == pytest.approx(quantile, abs=0.02)


def test_metrics_that_are_the_same_count_as_one():
    column = np.random.default_rng(0).normal(size=(50, 1))
    assert simultaneous_confidence(np.hstack([column] * 20), confidence=0.95) == pytest.approx(0.95, abs=0.003)
    assert simultaneous_confidence(np.hstack([column, np.zeros((50, 3))]), confidence=0.95) == 0.95


@pytest.mark.slow
def test_the_best_of_metrics_without_value_has_no_interval_above_0():
    own = together = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        rated = make_rated(generator.normal(size=(60, 54)), generator.normal(size=(60, 1)), dimensions=("rating",))
        rows = correlate(rated, coefficients=("spearman",), levels=("global",), resamples=99, seed=seed)
        best = max(rows, key=lambda row: row.value)
        assert best.simultaneous_low < best.low < best.high < best.simultaneous_high
        own += best.low > 0
        together += best.simultaneous_low > 0
    # Of 60, 1.5 are expected where one side has 2.5%; 6 or more have a probability of .4%.
    assert own > 30
    assert together <= 5


def test_one_metric_needs_no_correction():
    generator = np.random.default_rng(1)
    n = 1500
    ratings = generator.normal(size=(n, 1))
    rated = make_rated(ratings + generator.normal(size=(n, 1)), ratings, metrics=("only",), dimensions=("rating",))
    (row,) = correlate(rated, coefficients=("spearman",), levels=("global",))
    assert (row.simultaneous_low, row.simultaneous_high) == (row.low, row.high)
    # The interval is symmetric on Fisher's scale: its half length there is Student's quantile times the error.
    assert row.error * 1.9615 / (1 - row.value**2) == pytest.approx(
        np.arctanh(row.high) - np.arctanh(row.value), rel=1e-3
    )
