"""Strengths against choix and statsmodels (the file says which versions).

`benchmarks/preferences.py` measures how often the intervals hold the truth.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run
from imapeval.study.data.preferences import Preferences, read_preferences
from imapeval.study.systems.answers import read_systems
from imapeval.study.systems.preferences import Strength, compare_with_metrics, estimate_strengths
from imapeval.types import Sample


@pytest.fixture(scope="module")
def peer() -> dict[str, Any]:
    return json.loads((Path(__file__).parent.parent / "expected/preferences.json").read_text("utf-8"))


def build(rows: list[list[float]], systems: int = 4) -> Preferences:
    question, first, second, outcome = np.array(rows, dtype=np.float64).T
    numbers = question.astype(np.int64)
    return Preferences(
        tuple(f"q{n}" for n in range(numbers.max() + 1)),
        tuple(f"s{n}" for n in range(systems)),
        numbers,
        first.astype(np.int64),
        second.astype(np.int64),
        outcome,
    )


def by_system(rows: list[Strength]) -> list[Strength]:
    return sorted(rows, key=lambda row: row.system)


def test_davidson_as_in_statsmodels(peer: dict[str, Any]):
    rows = estimate_strengths(build(peer["rows"]), resamples=20)
    assert [row.strength for row in by_system(rows)] == pytest.approx(peer["davidson"], abs=1e-4)
    assert [row.system for row in rows] == ["s0", "s1", "s2", "s3"]
    assert sum(row.wins for row in rows) == sum(row.losses for row in rows)


def test_bradley_and_terry_as_in_choix(peer: dict[str, Any]):
    strict = [row for row in peer["rows"] if row[3] != 0.5]
    rows = by_system(estimate_strengths(build(strict), resamples=20))
    assert [row.strength for row in rows] == pytest.approx(peer["bradley_terry"], abs=1e-5)
    first, last = rows[0].strength, [row.strength for row in rows[1:]]
    assert rows[0].win_share == pytest.approx(np.mean([1 / (1 + np.exp(other - first)) for other in last]))
    assert np.mean([row.win_share for row in rows]) == pytest.approx(0.5)


def test_sides_do_not_matter(peer: dict[str, Any]):
    turned = [[q, b, a, 1 - o] if n % 2 else [q, a, b, o] for n, (q, a, b, o) in enumerate(peer["rows"])]
    one, other = (by_system(estimate_strengths(build(rows), resamples=50)) for rows in (peer["rows"], turned))
    for before, after in zip(one, other, strict=True):
        assert after.strength == pytest.approx(before.strength)
        assert after.low == pytest.approx(before.low)
        assert (after.wins, after.ties, after.losses) == (before.wins, before.ties, before.losses)


def test_intervals(peer: dict[str, Any]):
    for row in estimate_strengths(build(peer["rows"]), resamples=200):
        assert row.low < row.strength < row.high
        assert 0 <= (row.win_share_low or 0) < row.win_share < (row.win_share_high or 0) <= 1
    few = [row for row in peer["rows"] if row[0] < 8]
    assert all(row.low is None for row in estimate_strengths(build(few), resamples=20))


def test_strengths_that_are_not_determined():
    with pytest.raises(UsageError, match="s0 won every"):
        estimate_strengths(build([[0, 0, 1, 1], [1, 1, 2, 1], [2, 2, 1, 1], [3, 0, 2, 1]], 3))
    with pytest.raises(UsageError, match=r"s0, s1 .*s2, s3"):
        estimate_strengths(build([[0, 0, 1, 1], [1, 1, 0, 1], [2, 2, 3, 1], [3, 3, 2, 1]]))
    # A tie is not a win: both are finite.
    assert estimate_strengths(build([[0, 0, 1, 1], [1, 0, 1, 0.5]], 2))[0].system == "s0"


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("question,a,b,winner\nq,x,y,x\nq,x,y,b\nr,y,x,tie\n", [1, 0, 0.5]),
        ("question_id,model_a,model_b,winner\n1,x,y,model_a\n1,x,y,model_b\n2,y,x,tie (bothbad)\n", [1, 0, 0.5]),
        ("question_id,model_a,model_b,winner\n1,x,y,model_a\n1,x,y,model_b\n2,y,x,both_bad\n", [1, 0, 0.5]),
        ("id,system_a,system_b,winner\nq,x,y,A\nq,x,y,y\nr,y,x,Tie\n", [1, 0, 0.5]),
        ("question,a,b,winner\nq,b,a,a\nq,b,a,b\nr,a,b,tie\n", [0, 1, 0.5]),
    ],
)
def test_files(tmp_path: Path, text: str, outcomes: list[float]):
    (tmp_path / "p.csv").write_text(text)
    found = read_preferences(tmp_path / "p.csv")
    assert found.outcome.tolist() == outcomes
    assert found.question.tolist() == [0, 0, 1]
    assert len(found.systems) == 2


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("question,a,b,winner\nq,x,y,z\n", "line 2"),
        ("question,a,b,winner\nq,x,x,x\n", "both systems"),
        ("question,a,winner\nq,x,x\n", "no column 'b'"),
        ("question,a,b,winner\n,x,y,x\n", "column 'question'"),
        ("question,a,b,winner\n", "no rows"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, part: str):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(InputError, match=part):
        read_preferences(tmp_path / "p.csv")


def test_metrics_against_preferences(write_run: Callable[..., Run]):
    samples = [
        Sample(f"{system}{n}", f"q{n}?", ("r",), "a", system=system) for system in ("x", "y", "z") for n in range(4)
    ]
    good = [0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.5, 0.5, 0.1, 0.2, 0.3, None]
    run = write_run("run", samples, {"good": good, "flat": [0.5] * 12})
    rows = [
        *([n, 0, 1, 1] for n in range(4)),
        *([n, 1, 2, 1] for n in range(4)),
        [0, 0, 2, 1],
        [1, 2, 0, 1],
        [2, 1, 0, 0.5],
    ]
    preferences = build(rows, 3)
    preferences = Preferences(
        ("q0?", "q1?", "x2", "q3?"),
        ("x", "y", "z"),
        preferences.question,
        preferences.first,
        preferences.second,
        preferences.outcome,
    )
    strengths = estimate_strengths(preferences)
    good_row, flat = compare_with_metrics(preferences, strengths, read_systems([run]))
    # One of the ten preferences for one answer has no score; one of the nine others is against the metric.
    assert (good_row.n, good_row.ties, good_row.missing) == (9, 1, 1)
    assert good_row.accuracy == pytest.approx(8 / 9)
    assert (good_row.low or 0) < 8 / 9 < (good_row.high or 0) <= 1
    assert (good_row.pairs, good_row.pairs_alike) == (3, 3)
    assert (flat.accuracy, flat.pairs_alike) == (0.5, 0)


def test_means_of_the_same_scores_are_equal(write_run: Callable[..., Run]):
    samples = [Sample(f"{s}{q}{n}", f"q{q}?", ("r",), "a", system=s) for s in ("s0", "s1") for q in "01" for n in "abc"]
    run = write_run("run", samples, {"m": [*[0.1, 0.2, 0.3] * 2, *[0.3, 0.2, 0.1] * 2]})
    preferences = build([[0, 0, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1]], 2)
    preferences = replace(preferences, questions=("q0?", "q1?"))
    (row,) = compare_with_metrics(preferences, estimate_strengths(preferences), read_systems([run]))
    assert (row.n, row.accuracy, row.pairs, row.pairs_alike) == (3, 0.5, 1, 0)


def test_preferences_of_other_answers(write_run: Callable[..., Run]):
    samples = [Sample(f"{system}{n}", f"q{n}?", ("r",), "a", system=system) for system in ("s0", "y") for n in range(2)]
    answers = read_systems([write_run("run", samples, {"m": [1, 2, 3, 4]})])
    preferences = build([[0, 0, 1, 1], [1, 1, 0, 1]], 2)
    with pytest.raises(UsageError, match="Use the names of the runs"):
        compare_with_metrics(preferences, estimate_strengths(preferences), answers)


def test_questions_with_white_space_at_their_ends(write_run: Callable[..., Run], tmp_path: Path):
    """One judgement a question is a share of independent answers, with Wilson's interval, by scipy."""
    samples = [
        Sample(f"{system}{n}", f"q{n}?\n", ("r",), "a", system=system) for system in ("x", "y") for n in range(12)
    ]
    run = write_run("run", samples, {"m": [*[1] * 9, *[0] * 3, *[0] * 9, *[1] * 3]})
    rows = "".join(f'"q{n}?\n",x,y,{"y" if n == 0 else "x"}\n' for n in range(12))
    (tmp_path / "p.csv").write_text(f"question,a,b,winner\n{rows}")
    preferences = read_preferences(tmp_path / "p.csv")
    (row,) = compare_with_metrics(preferences, estimate_strengths(preferences, resamples=20), read_systems([run]))
    expected = stats.binomtest(8, 12).proportion_ci(method="wilson")
    assert (row.n, row.missing, row.accuracy) == (12, 0, pytest.approx(8 / 12))
    assert (row.low, row.high) == pytest.approx((expected.low, expected.high))
