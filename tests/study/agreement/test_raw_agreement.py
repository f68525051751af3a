import numpy as np
import pytest

from imapeval.study.agreement.raw_agreement import measure_distance, measure_exact, measure_within
from imapeval.study.agreement.statistic import AgreementStatistic
from imapeval.study.correlation.coefficients import Undefined

NAN = np.nan
RATINGS = np.array([[1, 1, 2], [3, NAN, 3.5], [0, NAN, NAN], [5, 0, 5]])


def value(found: AgreementStatistic | Undefined) -> float:
    assert found.n == 3  # one rating makes no pair
    return found.value


def test_pairs_count_within_an_answer_and_answers_count_alike():
    # By pairs: {same, 1, 1}, {.5}, {5, 0, 5}.
    assert value(measure_exact(RATINGS)) == pytest.approx((1 / 3 + 0 + 1 / 3) / 3)
    assert value(measure_within(RATINGS, distance=0.5)) == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert value(measure_distance(RATINGS)) == pytest.approx((2 / 3 + 0.5 + 10 / 3) / 3)


def test_it_does_not_matter_who_rated():
    shuffled = np.random.default_rng(0).permuted(RATINGS, axis=1)
    assert value(measure_distance(shuffled)) == pytest.approx(value(measure_distance(RATINGS)))


def test_a_step_of_a_tenth():
    # .3 - .2 is a little less than .1 in binary, and .4 - .3 a little more.
    assert value(measure_within(np.array([[0.2, 0.3], [0.3, 0.4], [0.1, 0.4]]), distance=0.1)) == pytest.approx(2 / 3)


@pytest.mark.parametrize("measure", [measure_exact, measure_distance])
def test_one_rater(measure: object):
    found = measure(np.array([[1.0], [2.0]]))  # type: ignore[operator]
    assert "1 rater;" in found.reason


def test_not_finite():
    with pytest.raises(ValueError, match="finite"):
        measure_exact(np.array([[np.inf, 1.0]]))
    with pytest.raises(ValueError, match="shape"):
        measure_exact(np.array([1.0, 2.0]))
