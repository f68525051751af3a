import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from imapeval.study.robustness.statistics import (
    reversed_pairs_share,
    reversed_systems_share,
    weighted_icc,
    weighted_mean,
    weighted_sd,
    within_unit_sd,
)

NUMBERS = arrays(np.float64, 7, elements=st.integers(0, 4).map(float))
WEIGHTS = arrays(np.int64, 7, elements=st.integers(0, 3)).filter(lambda w: w.sum() > 2)


def once(rows: np.ndarray) -> np.ndarray:
    return np.ones((1, len(rows)))


def test_within_is_the_pooled_standard_deviation():
    table = np.array([[1.0, 3.0, np.nan], [2.0, 2.0, 5.0]])
    assert within_unit_sd(table, once(table))[0] == pytest.approx(np.sqrt((2 + 6) / 3))


def test_icc_of_a_constant_table_is_undefined():
    for value in (3.0, 0.1):
        assert np.isnan(weighted_icc(np.full((4, 3), value), np.ones((1, 4)))[0])
    assert np.isnan(weighted_icc(np.array([[1.0, 2.0]]), np.ones((1, 1)))[0])
    assert np.isnan(weighted_icc(np.array([[1.0, np.nan], [2.0, np.nan]]), np.ones((1, 2)))[0])


def test_reversals_by_hand():
    # Pairs of x: (1, 2), (1, 2'), (1, 3), (2, 3), (2', 3); the two 2s have no order. y turns (1, 2) and (2', 3) round.
    x, y = np.array([1.0, 2, 2, 3]), np.array([5.0, 4, 6, 5.0])
    assert reversed_pairs_share(x, y, once(x))[0] == pytest.approx(2 / 5)
    assert reversed_pairs_share(x, -x, once(x))[0] == 1
    assert np.isnan(reversed_pairs_share(np.ones(3), np.arange(3.0), np.ones((1, 3)))[0])


def test_reversals_are_half_of_what_tau_lacks():
    generator = np.random.default_rng(3)
    x, y = generator.normal(size=(2, 80))
    assert reversed_pairs_share(x, y, once(x))[0] == pytest.approx((1 - stats.kendalltau(x, y).statistic) / 2)


def test_systems_that_change_places():
    # Means of the three systems by repetition: (1, 2, 3), (2, 1, 3), (1, 2, 3).
    table = np.array([[1.0, 2, 1], [2, 1, 2], [2, 0, 3], [2, 2, 1], [3, 3, 3]])
    systems = np.array([0, 1, 1, 1, 2])
    # The first two are apart in repetition 2, so in 2 of 3 pairs of repetitions, and 1 of 3 pairs of systems.
    assert reversed_systems_share(table, systems, np.ones((1, 5)))[0] == pytest.approx(2 / 9)
    assert np.isnan(reversed_systems_share(table, systems, np.array([[1.0, 1, 1, 1, 0]]))[0])


def test_means_of_the_same_numbers_are_no_order():
    table = np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1], [0.3, 0.1], [0.2, 0.2], [0.1, 0.3]])
    assert reversed_systems_share(table, np.repeat([0, 1], 3), once(table))[0] == 0


@given(NUMBERS, NUMBERS, WEIGHTS)
def test_a_weight_stands_for_equal_rows(x, y, weights):
    repeated, weighed = np.repeat(np.arange(7), weights), weights[None].astype(np.float64)
    table = np.column_stack([x, y])
    for statistic, columns in (
        (weighted_mean, (x,)),
        (weighted_sd, (x,)),
        (reversed_pairs_share, (x, y)),
        (weighted_icc, (table,)),
        (within_unit_sd, (table,)),
    ):
        expected = statistic(*(column[repeated] for column in columns), np.ones((1, len(repeated))))
        assert statistic(*columns, weighed) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(NUMBERS, NUMBERS)
def test_icc_is_at_most_1_and_does_not_depend_on_the_unit(x, y):
    table = np.column_stack([x, y])
    found = weighted_icc(table, np.ones((1, 7)))[0]
    assert np.isnan(found) or found <= 1 + 1e-12
    assert weighted_icc(7 * table + 2, np.ones((1, 7)))[0] == pytest.approx(found, abs=1e-9, nan_ok=True)


def test_spread_is_that_of_a_sample():
    x = np.array([1.0, 2, 4])
    assert weighted_sd(x, once(x))[0] == pytest.approx(np.std(x, ddof=1))
    assert np.isnan(weighted_sd(np.array([1.0]), np.ones((1, 1)))[0])
