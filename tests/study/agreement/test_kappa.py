from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.study.agreement.kappa import measure_cohen_kappa, measure_fleiss_kappa, measure_gwet_ac
from imapeval.study.agreement.raw_agreement import Weighting, find_categories
from imapeval.study.agreement.statistic import AgreementStatistic
from imapeval.study.arrays import Floats
from imapeval.study.data.scales import RatingScale

WEIGHTINGS: tuple[Weighting, ...] = ("identity", "linear", "quadratic")
HALVES = RatingScale(0, 5, 0.5)


def spread_out(both: int, first: int, second: int, neither: int) -> Floats:
    """Return the ratings of a table of two raters, who said yes together, one of them, or neither."""
    return np.array([[1, 1]] * both + [[1, 0]] * first + [[0, 1]] * second + [[0, 0]] * neither, dtype=np.float64)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_statsmodels_cohen(expected: dict[str, Any], complete: Floats, weighting: Weighting):
    found = measure_cohen_kappa(complete[:, :2], weighting=weighting)
    assert found.value == pytest.approx(expected["statsmodels"][weighting], abs=1e-12)
    # Categories that nobody used change nothing.
    declared = measure_cohen_kappa(complete[:, :2], weighting=weighting, scale=RatingScale(0, 10, 0.5))
    assert declared.value == pytest.approx(found.value)


def test_statsmodels_fleiss(expected: dict[str, Any], complete: Floats):
    assert measure_fleiss_kappa(complete).value == pytest.approx(expected["statsmodels"]["fleiss"], abs=1e-12)


@pytest.mark.parametrize("which", ["complete", "missing"])
def test_irrcac(expected: dict[str, Any], which: str, request: pytest.FixtureRequest):
    ratings: Floats = request.getfixturevalue(which)
    there = expected["irrcac"][which]
    assert measure_fleiss_kappa(ratings).value == pytest.approx(there["fleiss"]["identity"], abs=1e-11)
    ours = {weighting: measure_gwet_ac(ratings, weighting=weighting, scale=HALVES).value for weighting in WEIGHTINGS}
    assert ours == pytest.approx(there["gwet"], abs=1e-11)


def test_gwets_example(four_raters: Floats):
    # irrCAC's vignette on cac.raw4raters (Gwet 2014): AC1 .77544, Fleiss' kappa .76117.
    assert measure_gwet_ac(four_raters).value == pytest.approx(0.77544, abs=5e-6)
    assert measure_fleiss_kappa(four_raters).value == pytest.approx(0.76117, abs=5e-6)


def test_prevalence_paradox():
    # Feinstein and Cicchetti 1990: the same 85% of agreement, kappa .70 and .32.
    even, uneven = spread_out(40, 9, 6, 45), spread_out(80, 10, 5, 5)
    assert measure_cohen_kappa(even).value == pytest.approx(0.70, abs=0.005)
    assert measure_cohen_kappa(uneven).value == pytest.approx(0.32, abs=0.005)
    # AC1 takes 2 (.875)(.125) for chance: (.85 - .21875) / .78125.
    assert measure_gwet_ac(uneven).value == pytest.approx(0.808)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=2, max_size=25))
def test_symmetric_and_at_most_1(rows: list[tuple[int, int]]):
    ratings = np.array(rows, dtype=np.float64)
    for measure in (measure_cohen_kappa, measure_fleiss_kappa, measure_gwet_ac):
        one, other = measure(ratings), measure(ratings[:, ::-1])
        if isinstance(one, AgreementStatistic) and isinstance(other, AgreementStatistic) and np.isfinite(one.value):
            assert one.value == pytest.approx(other.value)
            assert one.value <= 1 + 1e-12
            if (ratings[:, 0] == ratings[:, 1]).all():
                assert one.value == pytest.approx(1)


def test_all_the_same():
    same = np.full((4, 2), 3.0)
    for found in (measure_cohen_kappa(same), measure_fleiss_kappa(same), measure_gwet_ac(same)):
        assert "all ratings are 3" in found.reason
    # Other ratings could have been given, and were not: AC1 calls that agreement.
    assert measure_gwet_ac(same, scale=RatingScale(1, 5, 1)).value == 1


def test_cohen_is_of_two(four_raters: Floats):
    found = measure_cohen_kappa(four_raters)
    assert "4 raters" in found.reason
    # A column without a rating is no rater.
    silent = np.column_stack((four_raters[:, :2], np.full(len(four_raters), np.nan)))
    assert measure_cohen_kappa(silent).value == pytest.approx(measure_cohen_kappa(four_raters[:, :2]).value)


def test_categories():
    ratings = np.array([[0.1, 0.3], [np.nan, 0.2]])
    tenths = find_categories(ratings, scale=RatingScale(0, 0.5, 0.1))
    assert tenths == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    with pytest.raises(ValueError, match=r"0\.1.*0\.2"):
        find_categories(ratings, scale=RatingScale(0, 1, 0.2))
    with pytest.raises(ValueError, match="leave the scale"):
        find_categories(ratings, scale=RatingScale(0.2, 1))
    many = find_categories(ratings, scale=RatingScale(0, 1, 0.001))
    assert "1001 different ratings" in many.reason
