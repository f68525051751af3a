from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.study.agreement.krippendorff import Measurement, measure_alpha
from imapeval.study.arrays import Floats
from imapeval.study.correlation.coefficients import Undefined

LEVELS: tuple[Measurement, ...] = ("nominal", "ordinal", "interval", "ratio")


# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", sections C and D: .743, .815, .849, .797.
@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_krippendorffs_example(four_raters: Floats, level: Measurement, value: float):
    assert measure_alpha(four_raters, level=level).value == pytest.approx(value, abs=0.0005)


@pytest.mark.parametrize("level", LEVELS)
def test_the_package_krippendorff(expected: dict[str, Any], complete: Floats, missing: Floats, level: Measurement):
    theirs = expected["krippendorff"]
    assert measure_alpha(complete, level=level).value == pytest.approx(theirs["complete"][level], abs=1e-12)
    assert measure_alpha(missing, level=level).value == pytest.approx(theirs["missing"][level], abs=1e-12)


def test_binary_example():
    # Krippendorff 2011, section A: two observers, ten units, binary: alpha = .095.
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    ratings = np.array([first, second], dtype=np.float64).T
    assert measure_alpha(ratings, level="nominal").value == pytest.approx(0.095, abs=0.0005)
    # With two categories every kind of distance is all or nothing.
    for level in ("ordinal", "interval"):
        assert measure_alpha(ratings, level=level).value == pytest.approx(0.0952380952)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=30))
def test_ordinal_sees_only_the_order(rows: list[tuple[int, int, int]]):
    ratings = np.array(rows, dtype=np.float64)
    found, stretched = (measure_alpha(table, level="ordinal") for table in (ratings, np.exp(ratings)))
    if isinstance(found, Undefined) or isinstance(stretched, Undefined):
        assert len(np.unique(ratings)) == 1
    else:
        assert found.value == pytest.approx(stretched.value)
        assert found.value <= 1


def test_perfect_agreement_is_1():
    ratings = np.array([[1, 1, 1], [2, 2, 2], [4, 4, np.nan]])
    assert [measure_alpha(ratings, level=level).value for level in LEVELS] == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1, 2]], None),
        ([[3, 3], [3, 3]], "all ratings are 3"),
        ([[1], [2]], "1 rater"),
        ([[1, np.nan], [np.nan, 2]], "no answer was rated by two raters"),
        ([[1, np.nan], [2, 2], [2, 2]], "all ratings are 2"),  # the unpaired 1 says nothing
        ([[np.nan, np.nan]], "no raters"),
    ],
)
def test_undefined(ratings: list[list[float]], reason: str | None):
    found = measure_alpha(np.array(ratings, dtype=np.float64), level="interval")
    if reason is None:
        assert found.value == pytest.approx(0)
    else:
        assert reason in found.reason


def test_ratios_need_a_zero_to_start_from():
    found = measure_alpha(np.array([[-1.0, 2.0], [1.0, 1.0]]), level="ratio")
    assert "-1" in found.reason


def test_too_many_categories_are_said():
    ratings = np.random.default_rng(0).normal(size=(200, 2))
    found = measure_alpha(ratings, level="nominal")
    assert "400 different ratings" in found.reason
    assert -1 < measure_alpha(ratings, level="ordinal").value < 1
