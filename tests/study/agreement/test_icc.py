from typing import Any

import numpy as np
import pytest

from imapeval.study.agreement.icc import Model, measure_icc, spearman_brown
from imapeval.study.agreement.statistic import find_intervals
from imapeval.study.arrays import Floats

SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=np.float64
)
FORMS: tuple[tuple[Model, bool], ...] = ((1, False), (2, False), (3, False), (1, True), (2, True), (3, True))


def test_shrout_and_fleiss():
    # Shrout and Fleiss 1979, table 4, from the ratings of their table 2.
    values = [measure_icc(SHROUT_FLEISS, model=model, mean=mean).value for model, mean in FORMS]
    assert values == pytest.approx([0.17, 0.29, 0.71, 0.44, 0.62, 0.91], abs=0.005)
    assert values[0] == pytest.approx(0.1657, abs=5e-5)  # psych 2.4 in R


def test_no_digits_are_lost_far_from_zero():
    near, far = (measure_icc(ratings, model=1).value for ratings in (SHROUT_FLEISS, SHROUT_FLEISS + 1e6))
    assert far == pytest.approx(near, rel=1e-6)


@pytest.mark.parametrize(("model", "mean"), FORMS)
def test_pingouin(expected: dict[str, Any], complete: Floats, model: Model, mean: bool):
    value, low, high = expected["pingouin"][f"ICC({model},{'k' if mean else 1})"]
    found = measure_icc(complete, model=model, mean=mean)
    assert found.value == pytest.approx(value, abs=1e-10)
    # Theirs is by the F distribution, exact for normal ratings, as these nearly are.
    (interval,) = find_intervals([found], complete, np.arange(len(complete)))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.04)


def test_unequal_numbers_of_raters():
    # One-way analysis of variance by hand: groups (1, 2), (4, 5, 6), (9): grand mean 4.5, between 39 / 2, within
    # 2.5 / 3, n0 = (6 - 14 / 6) / 2, harmonic mean of raters 3 / (1/2 + 1/3 + 1).
    ratings = np.array([[1, 2, np.nan], [4, 5, 6], [np.nan, 9, np.nan]])
    between, within, n0 = 39 / 2, 2.5 / 3, (6 - 14 / 6) / 2
    single = (between - within) / (between + (n0 - 1) * within)
    assert measure_icc(ratings, model=1).value == pytest.approx(single)
    k = 3 / (1 / 2 + 1 / 3 + 1)
    assert measure_icc(ratings, model=1, mean=True).value == pytest.approx(k * single / (1 + (k - 1) * single))
    assert measure_icc(ratings, model=1).n == 3


def test_two_way_takes_complete_answers(missing: Floats):
    whole = missing[~np.isnan(missing).any(axis=1)]
    assert 10 < len(whole) < len(missing)
    assert measure_icc(missing, model=2).value == pytest.approx(measure_icc(whole, model=2).value)
    assert measure_icc(missing, model=2).n == len(whole)


@pytest.mark.parametrize(("model", "mean"), FORMS)
def test_perfect_agreement(model: Model, mean: bool):
    found = measure_icc(np.array([[1, 1], [2, 2], [5, 5.0]]), model=model, mean=mean)
    assert found.value == pytest.approx(1)


def test_a_constant_resample_is_undefined():
    found = measure_icc(np.array([[0.1, 0.1], [0.3, 0.2], [0.1, 0.1]]), model=1)
    weights = np.array([[2.0, 0, 1], [1, 1, 1]])
    assert np.isnan(found.compute(found.data, weights)).tolist() == [True, False]


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, 2]], "one answer has ratings of all 2 raters"),
        ([[1, 2, np.nan], [2, np.nan, 2], [1, 2, np.nan]], "no answer has ratings of all 3 raters"),
        ([[2, 2], [2, 2]], "all ratings are 2"),
        ([[1.0], [2.0]], "1 rater"),
    ],
)
def test_undefined(ratings: list[list[float]], reason: str):
    found = measure_icc(np.array(ratings, dtype=np.float64), model=2)
    assert reason in found.reason


def test_step_up_doubles_a_test():
    # Spearman-Brown: halves that correlate .6 make a whole of reliability .75.
    assert spearman_brown(np.array([0.6]), 2) == pytest.approx([0.75])
    assert np.isnan(spearman_brown(np.array([-1.0]), 2)).all()
