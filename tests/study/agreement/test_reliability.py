import numpy as np
import pytest

from imapeval.study.agreement.icc import measure_icc
from imapeval.study.agreement.reliability import measure_reliability
from imapeval.study.arrays import Floats


def test_complete_ratings_have_icc_3_k(complete: Floats):
    assert measure_reliability(complete).value == pytest.approx(measure_icc(complete, model=3, mean=True).value)
    # A strict rater is strict with all answers alike.
    assert measure_reliability(complete + np.array([0, 9, -4])).value == pytest.approx(
        measure_reliability(complete).value
    )


def test_raters_seen_once_have_icc_1_k(complete: Floats):
    n, k = complete.shape
    alone = np.full((n, n * k), np.nan)
    for row in range(n):
        alone[row, row * k : (row + 1) * k] = complete[row]
    assert measure_reliability(alone).value == pytest.approx(measure_icc(complete, model=1, mean=True).value)


@pytest.mark.parametrize("raters", [4, 40])
def test_what_is_known_of_simulated_means(raters: int):
    generator = np.random.default_rng(raters)
    n = 4000
    truth, strictness = generator.normal(size=n), generator.normal(size=raters)
    ratings = np.full((n, raters), np.nan)
    for row in range(n):
        who = generator.permutation(raters)[: generator.integers(1, 4)]
        ratings[row, who] = truth[row] + strictness[who] + 0.7 * generator.normal(size=len(who))
    means = np.array([row[~np.isnan(row)].mean() for row in ratings])
    # The squared correlation with the truth is what reliability means.
    assert measure_reliability(ratings).value == pytest.approx(np.corrcoef(truth, means)[0, 1] ** 2, abs=0.02)


def test_whole_weights_on_complete_ratings(complete: Floats):
    found = measure_reliability(complete)
    weights = np.random.default_rng(5).integers(0, 3, size=(40, len(complete)))
    repeated = [measure_icc(np.repeat(complete, row, axis=0), model=3, mean=True).value for row in weights]
    # Strictness is not estimated anew on each resample, which is all that differs.
    assert found.compute(found.data, weights.astype(np.float64)) == pytest.approx(repeated, abs=0.02)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, np.nan], [np.nan, 2]], "no answer was rated by two raters"),
        ([[1, 2], [np.nan, np.nan]], "one answer was rated"),
        ([[2, 2], [2, 2]], "all ratings are 2"),
    ],
)
def test_undefined(ratings: list[list[float]], reason: str):
    found = measure_reliability(np.array(ratings))
    assert reason in found.reason


def test_a_constant_resample_is_undefined(complete: Floats):
    found = measure_reliability(complete)
    weights = np.zeros((1, len(complete)))
    weights[0, 3] = len(complete)
    assert np.isnan(found.compute(found.data, weights)).all()


def test_two_answers():
    # Means 1.5 and 3.5 with the variance 2; errors of .5 four times, with one degree of freedom: 1 - (1 / 2) / 2.
    assert measure_reliability(np.array([[1, 2], [4, 3.0]])).value == pytest.approx(0.75)
