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

SHROUT_AND_FLEISS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
"""Shrout and Fleiss 1979, table 2: 6 targets x 4 judges."""

NUMBERS = arrays(np.float64, 7, elements=st.integers(0, 4).map(float))
WEIGHTS = arrays(np.int64, 7, elements=st.integers(0, 3)).filter(lambda w: w.sum() > 2)


def once(rows: np.ndarray) -> np.ndarray:
    return np.ones((1, len(rows)))


def test_icc_is_that_of_shrout_and_fleiss():
    """Table 4: ICC(1,1) is .17; psych 2.4 in R gives .1657."""
    assert weighted_icc(SHROUT_AND_FLEISS, once(SHROUT_AND_FLEISS))[0] == pytest.approx(0.1657, abs=5e-5)


def test_icc_of_unequal_numbers_follows_from_f():
    """Donner 1986: ICC = (F - 1) / (F - 1 + n0), with F of scipy's one-way analysis of variance."""
    table = np.random.default_rng(0).normal(size=(8, 5)) + np.arange(8)[:, None] / 4
    for row, gaps in enumerate([0, 1, 2, 3, 0, 4, 1, 2]):
        table[row, 5 - gaps :] = np.nan
    groups = [row[~np.isnan(row)] for row in table]
    f = stats.f_oneway(*groups).statistic
    sizes = np.array([len(group) for group in groups])
    n0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / 7
    assert weighted_icc(table, once(table))[0] == pytest.approx((f - 1) / (f - 1 + n0), rel=1e-12)


def test_within_is_the_pooled_standard_deviation():
    table = np.array([[1.0, 3.0, np.nan], [2.0, 2.0, 5.0]])
    assert within_unit_sd(table, once(table))[0] == pytest.approx(np.sqrt((2 + 6) / 3))


def test_icc_of_a_constant_table_is_undefined():
    for value in (3.0, 0.1):
        assert np.isnan(weighted_icc(np.full((4, 3), value), np.ones((1, 4)))[0])
    assert np.isnan(weighted_icc(np.array([[1.0, 2.0]]), np.ones((1, 1)))[0])
    assert np.isnan(weighted_icc(np.array([[1.0, np.nan], [2.0, np.nan]]), np.ones((1, 2)))[0])


def test_icc_does_not_lose_digits_far_from_zero():
    found = weighted_icc(SHROUT_AND_FLEISS + 1e6, once(SHROUT_AND_FLEISS))[0]
    assert found == pytest.approx(weighted_icc(SHROUT_AND_FLEISS, once(SHROUT_AND_FLEISS))[0], rel=1e-6)


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
