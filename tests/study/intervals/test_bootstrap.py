import numpy as np
import pytest
from scipy import stats

from imapeval.study.intervals import Interval
from imapeval.study.intervals.bootstrap import (
    compute_replicates,
    draw_resamples,
    mean_interval,
    number_clusters,
    percentile_interval,
)
from imapeval.study.intervals.shares import wilson_interval

VALUES = np.random.default_rng(5).gamma(2.0, size=80).tolist()


def test_about_scipys_percentile_interval():
    ours = mean_interval(VALUES, seed=1, resamples=20_000)
    theirs = stats.bootstrap((VALUES,), np.mean, method="percentile", n_resamples=20_000, random_state=2)
    # Two independent sets of 20,000 resamples: the ends differ by the noise of a 2.5% quantile, about 0.003 here.
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.015)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.015)


def test_blocks_draw_the_same(monkeypatch: pytest.MonkeyPatch):
    whole, interval = draw_resamples(7, seed=3, resamples=50), mean_interval(VALUES, seed=3)
    monkeypatch.setattr("imapeval.study.intervals.bootstrap._CELLS", 100)
    assert (draw_resamples(7, seed=3, resamples=50) == whole).all()
    blocked = mean_interval(VALUES, seed=3)
    assert (blocked.low, blocked.high) == pytest.approx((interval.low, interval.high))


def test_the_seed_decides():
    assert mean_interval(VALUES, seed=3) == mean_interval(VALUES, seed=3)
    assert mean_interval(VALUES, seed=3) != mean_interval(VALUES, seed=4)


def test_confidence_widens_it():
    narrow, wide = mean_interval(VALUES, confidence=0.8), mean_interval(VALUES, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_copies_in_clusters_add_nothing():
    copied = [value for value in VALUES for _ in range(4)]
    clusters = [number for number in range(len(VALUES)) for _ in range(4)]
    clustered, plain = mean_interval(copied, clusters=clusters), mean_interval(VALUES)
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high))
    independent = mean_interval(copied)
    assert independent.high - independent.low < 0.6 * (plain.high - plain.low)  # 1 / sqrt(4), as if they were news


@pytest.mark.parametrize("n", [10, 40])
def test_the_interval_covers_as_often_as_students(n: int):
    random = np.random.default_rng(0)
    ours = students = 0
    quantile = stats.t.ppf(0.975, n - 1)
    for seed in range(500):
        values = random.normal(size=n)
        interval = mean_interval(values.tolist(), seed=seed, resamples=500)
        ours += interval.low <= 0 <= interval.high
        students += abs(values.mean()) <= quantile * stats.sem(values)
    # Student's is exact for normal numbers; plain percentiles of 10 of them cover less.
    assert ours / 500 == pytest.approx(students / 500, abs=0.012)


@pytest.mark.parametrize(("values", "clusters"), [([], None), ([1.0], None), ([1.0, 2.0], ["q", "q"])])
def test_one_cluster_has_no_interval(values: list[float], clusters: list[str] | None):
    assert mean_interval(values, clusters=clusters) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"values": [1.0, float("nan")]},
        {"values": [1.0, 2.0], "clusters": ["a"]},
        {"values": [1.0, 2.0], "confidence": 95},
        {"values": [1.0, 2.0], "resamples": 0},
    ],
)
def test_wrong_arguments_are_refused(arguments: dict):
    with pytest.raises(ValueError, match=r"finite|clusters|confidence|resamples"):
        mean_interval(**arguments)


def test_every_draw_has_as_many_as_there_are():
    drawn = draw_resamples(7, seed=0, resamples=1000)
    assert drawn.shape == (1000, 7)
    assert (drawn.sum(axis=1) == 7).all()
    # Each cluster is drawn once on average, with variance 6/7: 4 standard errors of 1000 draws.
    assert drawn.mean(axis=0) == pytest.approx(np.ones(7), abs=4 * (6 / 7 / 1000) ** 0.5)


def test_replicates_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch):
    drawn, codes = draw_resamples(5, seed=0, resamples=50), np.array([0, 0, 1, 2, 3, 4])
    whole = compute_replicates(lambda weights: weights @ np.arange(6.0), drawn, codes)
    monkeypatch.setattr("imapeval.study.intervals.bootstrap._CELLS", 18)
    assert (compute_replicates(lambda weights: weights @ np.arange(6.0), drawn, codes) == whole).all()
    assert whole[0] == drawn[0, codes] @ np.arange(6)


def test_an_undefined_replicate_widens_the_interval():
    replicates = np.concatenate([np.linspace(0.4, 0.6, 90), np.full(10, np.nan)])
    assert percentile_interval(replicates, bounds=(-1.0, 1.0)) == Interval(-1.0, 1.0)
    with pytest.raises(ValueError, match="undefined"):
        percentile_interval(replicates)


def test_clusters_are_numbered_in_order():
    assert number_clusters(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]


def test_the_interval_of_two_values_reaches_from_one_to_the_other():
    interval = mean_interval([1.0, 2.0])
    assert (interval.low, interval.high) == (1.0, 2.0)


@pytest.mark.parametrize("right", [20, 19, 7])
def test_right_or_wrong_has_wilsons_interval(right: int):
    values = [1.0] * right + [0.0] * (20 - right)
    expected = stats.binomtest(right, 20).proportion_ci(method="wilson")
    interval = mean_interval(values, bounds=(0.0, 1.0))
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_right_or_wrong_answers_in_clusters():
    # Three equal answers to a question are one; the jackknife divides by n - 1, and the quantile is Student's.
    values = [float(number % 4 > 0) for number in range(40) for _ in range(3)]
    expected = wilson_interval(0.75, 39, quantile=float(stats.t.ppf(0.975, 39)))
    interval = mean_interval(values, clusters=[number for number in range(40) for _ in range(3)])
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_equal_values_have_no_interval_of_zero_width():
    assert mean_interval([0.5] * 20) is None
    assert mean_interval([0.0] * 20, bounds=(0.0, None)) is None
    expected = wilson_interval(0.5, 20, quantile=float(stats.t.ppf(0.975, 19)))
    interval = mean_interval([50.0] * 20, bounds=(0.0, 100.0))
    assert (interval.low, interval.high) == pytest.approx((100 * expected.low, 100 * expected.high), abs=1e-9)


def test_clusters_with_equal_means_have_no_interval_of_zero_width():
    """They are two equal numbers."""
    values, clusters = [0.2, 0.4, 0.4, 0.2], [0, 0, 1, 1]
    pair, expected = (
        mean_interval(given, clusters=codes, bounds=(0.0, 1.0))
        for given, codes in ((values, clusters), ([0.3] * 2, None))
    )
    assert (pair.low, pair.high) == pytest.approx((expected.low, expected.high))
    assert pair.low < 0.01
    assert pair.high > 0.99
    assert mean_interval(values, clusters=clusters) is None
    assert mean_interval([0.2, -0.2, 0.1, -0.1], clusters=clusters, differences=True) is None
    # Right and wrong have the bounds 0 and 1 by themselves.
    share = mean_interval([0.0, 1.0, 0.0, 1.0], clusters=clusters)
    assert share == mean_interval([0.0, 1.0, 0.0, 1.0], clusters=clusters, bounds=(0.0, 1.0))
    assert share is not None
