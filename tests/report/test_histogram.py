import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.report.histogram import BINS, Axis, draw_histogram
from imapeval.report.summary import SummaryRow


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.2, 0.97], 0, 1),
        ([1.0 + 1e-12], 0, 1),
        ([0.31], 0, 1),
        ([3.1, 41.0], 0, 50),
        ([-0.4, 2.0], -0.4, 2),
        ([0.0], 0, 1),
        ([], 0, 1),
    ],
)
def test_axes_end_at_round_numbers(values: list[float], low: float, high: float):
    axis = Axis.of_metric((None, None), values)
    assert (axis.low, axis.high) == (pytest.approx(low), pytest.approx(high))
    assert f"{axis.low:g}" != "-0"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_every_value_has_its_place(values: list[float]):
    axis = Axis.of_metric((None, None), values)
    for value in values:
        assert -1e-6 <= axis.percent(value) <= 100 + 1e-6


def test_bars_are_as_high_as_their_counts():
    row = SummaryRow("m", "", 3, 0, 0.5, 0.25, 0.75)
    drawn = draw_histogram([0.1, 0.1, 0.9], row, Axis(0.0, 1.0))
    assert re.findall(r"v(-[\d.]+)", drawn) == ["-24", "-12"]
    assert 'class="interval" x1="25" x2="75"' in drawn
    assert 'class="mean" x1="50"' in drawn
    assert 'aria-label="3 scores from 0.1 to 0.9, median 0.1"' in drawn


def test_scores_at_and_beyond_the_ends_are_in_the_outer_bars():
    row = SummaryRow("m", "", 4, 0, 0.5, None, None)
    drawn = draw_histogram([0.0, -1e-9, 1.0, 1.0 + 1e-9], row, Axis(0.0, 1.0))
    assert re.findall(r"M([\d.]+) 24v(-[\d.]+)", drawn) == [("0", "-24"), (f"{100 - 100 / BINS:g}", "-24")]


def test_large_scores_are_described_with_all_their_digits():
    drawn = draw_histogram([12.3, 1834.0], SummaryRow("m", "", 2, 0, 923.15, None, None), Axis(0.0, 2000.0))
    assert 'aria-label="2 scores from 12.3 to 1834, median 923.1"' in drawn


def test_nothing_scored_draws_an_empty_axis():
    drawn = draw_histogram([], SummaryRow("m", "", 0, 2, None, None, None), Axis(0.0, 1.0))
    assert 'aria-label="No scores"' in drawn
    assert "mean" not in drawn


def test_the_median_of_two_scores_lies_between_them():
    drawn = draw_histogram([1.0, 0.0], SummaryRow("m", "", 2, 0, None, None, None), Axis(0.0, 1.0))
    assert 'median 0.5"' in drawn
