import pytest

from imapeval.report.formatting import (
    format_coefficient,
    format_interval,
    format_measure,
    format_p,
    format_tick,
    pluralize,
)
from imapeval.report.markup import render_list


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.5744, ".574"),
        (-0.0204, "−.020"),
        (1.0, "1.000"),
        (-1.0, "−1.000"),
        (0.99999, ".99999"),
        (-0.0001, "−.0001"),
        (-1e-17, "0"),
        (None, "–"),
    ],
)
def test_coefficients_as_journals_write_them(value: float | None, shown: str):
    assert format_coefficient(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0.0, "0"), (0.25, ".25"), (-0.2, "−.2"), (1.0, "1"), (-1.0, "−1")])
def test_ticks_are_short(value: float, shown: str):
    assert format_tick(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4.5, "4.5"),
        (0.3141, "0.314"),
        (10.0, "10"),
        (87.25, "87.2"),
        (-0.00001, "−0.00001"),
        (-2.0, "−2"),
        (100.0, "100"),
    ],
)
def test_scores_and_ratings(value: float, shown: str):
    assert format_measure(value) == shown


@pytest.mark.parametrize(
    ("p", "shown"), [(0.0311, ".031"), (0.0009, "< .001"), (1.0, "1.000"), (0.9996, "> .999"), (None, "–")]
)
def test_p(p: float | None, shown: str):
    assert format_p(p) == shown


def test_intervals_and_counts():
    assert format_interval(-0.1, 0.25, digits=2) == "−.10 to .25"
    assert format_interval(0.9991, 0.9994, digits=2) == ".9991 to .9994"
    assert format_interval(None, 0.2) == ""
    assert [pluralize(1, "answer"), pluralize(2000, "answer")] == ["1 answer", "2,000 answers"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("(-.57 [-.70, -0.4])", "(−.57 [−.70, −0.4])"),
        ("-1 to 1", "−1 to 1"),
        ("rouge-1, gpt-4.1, --seed -x, 1-2", "rouge-1, gpt-4.1, --seed -x, 1-2"),
    ],
)
def test_sentences_have_the_sign_that_tables_have(said: str, shown: str):
    assert render_list([said], kind="sentences") == f'<ul class="sentences"><li>{shown}</li></ul>'
