"""Oracles: the numbers in tau_optimization_test.py of google-research/mt-metrics-eval (Apache-2.0, commit 0b82d96),
the reference implementation of Deutsch, Foster and Freitag 2023, and its definitions, counted pair by pair."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.pairs import calibrate_ties, count_pairs

NAN = float("nan")


def sign(number: float, epsilon: float = 0.0) -> int:
    return 0 if abs(number) <= epsilon else 1 if number > 0 else -1


def count_by_hand(x, y, epsilon: float) -> float:
    """Return acc_23 of the reference: (concordant + tied on both) / pairs."""
    pairs = list(combinations(range(len(x)), 2))
    return sum(sign(x[i] - x[j], epsilon) == sign(y[i] - y[j]) for i, j in pairs) / len(pairs)


def calibrate_by_hand(x, y) -> tuple[float, float]:
    """Return the first best threshold among all differences and 0, and its accuracy."""
    thresholds = sorted({0.0, *(abs(a - b) for a, b in combinations(x, 2))})
    best = max(thresholds, key=lambda epsilon: count_by_hand(x, y, epsilon))
    return best, count_by_hand(x, y, best)


def calibrate(x, y) -> tuple[float, float]:
    """Return the same from our functions."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    epsilon = float(calibrate_ties(a[None], b[None])[0, 0])
    return epsilon, find_coefficient("pairwise_accuracy").with_influences(a, b, epsilon=epsilon).value


@pytest.mark.parametrize(
    ("human", "epsilon", "accuracy"),
    [([1.0, 2.0, 3.0, 4.0], 0.0, 1.0), ([1.0, 1.0, 1.0, 4.0], 4.0, 4 / 6)],
    ids=["test_zero_threshold_is_best", "test_nonzero_threshold_is_best"],
)
def test_the_reference_s_vectors(human: list[float], epsilon: float, accuracy: float):
    assert calibrate([0.0, 2.0, 6.0, 8.0], human) == (epsilon, pytest.approx(accuracy))


def test_the_reference_s_matrices():
    """test_regression_example: one threshold for all rows, the mean of the rows' accuracies."""
    metric = np.array([[0, 5, 2, 3, 2], [NAN, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1], [NAN] * 5])
    human = np.array([[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, NAN, 3, 2], [NAN] * 5])
    groups = np.repeat(np.arange(5), 5)
    there = ~np.isnan(metric + human).ravel()
    x, y = metric.ravel()[there], human.ravel()[there]
    assert calibrate_ties(x[None], y[None], groups=groups[there]).tolist() == [[1.0]]
    by_threshold = [
        0.4666666666666667,
        0.4916666666666668,
        0.38333333333333347,
        0.29166666666666674,
        0.2666666666666667,
        0.2,
        0.15833333333333335,
        0.15833333333333335,
        0.1166666666666667,
    ]
    for epsilon, expected in enumerate(by_threshold):
        found = find_coefficient("pairwise_accuracy").in_groups(metric, human, epsilon=float(epsilon))
        assert np.nanmean(found) == pytest.approx(expected)
        assert np.isnan(found[4])


SCORES = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 3)), min_size=2, max_size=14)


@given(rows=SCORES)
def test_calibration_equals_trying_every_threshold(rows: list[tuple[int, int]]):
    x, y = np.array(rows, dtype=float).T
    x = x / 8  # exact in floating point, as are the differences
    epsilon, accuracy = calibrate_by_hand(x.tolist(), y.tolist())
    assert calibrate_ties(x[None], y[None]).tolist() == [[epsilon]]
    found = count_pairs(x, y, epsilon=epsilon)
    pairs = len(x) * (len(x) - 1)
    assert (found.concordant + found.tied_both).sum() / pairs == pytest.approx(accuracy)


@given(rows=SCORES, epsilon=st.sampled_from([0.0, 1.0, 2.5]))
def test_pairs_are_counted_by_row(rows: list[tuple[int, int]], epsilon: float):
    x, y = np.array(rows, dtype=float).T
    found = count_pairs(x, y, epsilon=epsilon)
    for i in range(len(x)):
        others = [j for j in range(len(x)) if j != i]
        signs = [(sign(x[i] - x[j], epsilon), sign(y[i] - y[j])) for j in others]
        assert found.concordant[i] == sum(a * b == 1 for a, b in signs)
        assert found.discordant[i] == sum(a * b == -1 for a, b in signs)
        assert found.tied_x[i] == sum(a == 0 for a, _ in signs)
        assert found.tied_y[i] == sum(b == 0 for _, b in signs)
        assert found.tied_both[i] == sum(a == b == 0 for a, b in signs)


def test_a_threshold_counts_as_tied_in_spite_of_rounding():
    x = np.array([0.1, 0.3, 0.6])  # .3 - .1 is a little less than .2, and .6 - .3 not exactly .3
    assert count_pairs(x, np.array([1.0, 1.0, 2.0]), epsilon=0.3 - 0.1).tied_x.tolist() == [1, 1, 0]
    assert count_pairs(x, np.array([1.0, 1.0, 2.0]), epsilon=0.6 - 0.3).tied_x.tolist() == [1, 2, 1]


def test_of_many_pairs_a_sample_finds_nearly_the_best(monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(0)
    y = random.integers(4, size=400).astype(float)
    x = y + random.normal(size=400)
    _, best = calibrate(x, y)
    monkeypatch.setattr("imapeval.study.correlation.pairs._PAIRS", 20_000)  # of 79,800
    _, sampled = calibrate(x, y)
    assert sampled <= best
    assert sampled == pytest.approx(best, abs=0.01)  # 3 standard errors of a share of 20,000 pairs
