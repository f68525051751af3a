from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.cli.output import format_interval as format_interval_in_table
from imapeval.report.study.latex import format_latex_interval, format_latex_p
from imapeval.study.number_format import (
    format_decimal,
    format_interval,
    format_number,
    format_p,
    format_p_value,
    format_percent,
    format_score,
    format_signed,
    write_score,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.574, ".57"),
        (-0.02, "-.02"),
        (0.001, ".001"),
        (-0.0004, "-.0004"),
        (0, "0"),
        (-1e-17, "0"),
        (1.0, "1.00"),
        (-1.0, "-1.00"),
        (1 - 1e-16, "1.00"),
        (0.999, ".999"),
        (-0.9996, "-.9996"),
        (1.004, "1.004"),
        (2.5, "2.50"),
    ],
)
def test_only_what_is_0_or_1_looks_like_it(value: float, shown: str):
    assert format_number(value) == shown


def test_numbers_that_differ_by_rounding_errors_are_written_alike():
    half = 27 / 80  # .3375, which the next number below rounds to .337
    assert format_number(half, digits=3) == format_number(np.nextafter(half, 0), digits=3) == ".338"


def test_units_and_scores():
    assert [format_decimal(value) for value in (0.5, -0.0004, 3.0)] == ["0.500", "-0.0004", "3.000"]
    assert [format_signed(value) for value in (0.57, -0.0004, 0.0)] == ["+0.570", "-0.0004", "0.000"]
    assert [format_score(value) for value in (0.57444, 87.25, 0.0)] == ["0.574", "87.2", "0.000"]


def test_only_all_are_100_percent_and_only_none_are_0():
    shares = (0.0, 1.0, 0.57, 0.004, 0.996, 1 / 200, 199 / 200, 0.0004)
    assert [format_percent(share) for share in shares] == [
        "0%", "100%", "57%", "0.4%", "99.6%", "1%", "99%", "0.04%",
    ]  # fmt: skip
    assert [format_percent(share, digits=3) for share in (0.5744, 0.9995, 0.0005)] == ["57.4%", "99.95%", "0.1%"]


@given(st.fractions(0, 1, max_denominator=100_000))
def test_every_percentage_says_whether_it_is_all_or_none(share: Fraction):
    for digits in (2, 3):
        shown = float(format_percent(float(share), digits=digits).removesuffix("%"))
        assert (shown == 0, shown == 100) == (share == 0, share == 1)


def test_a_number_just_below_a_half_has_the_digits_of_the_half():
    below = sum([0.997, 1.0, 1.0, 1.0, 1.0, 1.0]) / 6
    assert below < 0.9995
    assert format_decimal(below) == format_decimal(0.9995) == "0.9995"


def test_ends_of_an_interval_of_large_scores_differ():
    assert format_interval(87.21, 87.24, digits=3, write=write_score) == "87.21, 87.24"
    assert format_interval(10.001, 10.002, digits=3, write=write_score) == "10.001, 10.002"


def test_ends_of_an_interval_differ():
    assert format_interval(-0.1, 0.25) == "-.10, .25"
    assert format_interval(0.9991, 0.9994) == ".9991, .9994"
    assert format_interval(0.12, 0.121) == ".120, .121"
    assert format_interval(0.5, 0.5) == ".50, .50"
    # The further digits that tell one end from 0 or 1 say nothing of the other end.
    assert format_interval(-0.001, 0.2, between=" to ") == "-.001 to .20"
    assert format_interval(0.00002, 0.54998, digits=1) == ".00002, .5"
    assert format_interval_in_table(0.99951, 1.0) == "0.9995 .. 1.0000"
    assert format_latex_interval(0.9991, 0.9994) == r" {\scriptsize[.9991, .9994]}"


@given(low=st.floats(-1, 1), width=st.floats(1e-8, 1))
def test_every_interval_shows_its_width_and_whether_it_holds_0(low: float, width: float):
    ends = [float(end) for end in format_interval(low, low + width).split(", ")]
    assert ends[0] < ends[1]
    for shown, end in zip(ends, (low, low + width), strict=True):
        assert shown * end >= 0
        assert (shown == 0) == (abs(end) < 5e-10)


def test_p_values_have_limits():
    assert [format_p(p) for p in (0.0005, 0.001, 0.0994, 0.31, 0.999)] == [
        "p < .001", "p = .001", "p = .099", "p = .31", "p > .99",
    ]  # fmt: skip
    assert [format_p_value(p) for p in (0.0005, 0.31, 0.9996, 1.0)] == ["< .001", ".310", "> .999", "1.000"]
    assert [format_latex_p(p) for p in (0.0005, 0.31, 0.9996)] == ["$<$.001", ".310", "$>$.999"]
