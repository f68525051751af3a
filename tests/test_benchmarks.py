"""What the programs in benchmarks/ do with input that the documentation's commands do not have."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.evaluation.runs import Result, RunSettings, RunWriter
from imapeval.types import Sample, Score

Load = Callable[[str], Any]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Load:
    """Import a program by name, beside those that it imports."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return lambda name: importlib.import_module(f"benchmarks.{name}")


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("Take 2.5 mg of it twice daily with food. Rest.", "Take 2.5 mg of it twice daily with food."),
        ("Hello there. Take it twice daily with food, please!", "Take it twice daily with food, please!"),
        ("您好。这种病多半可以在家里休养。请多喝水。", "这种病多半可以在家里休养。"),
    ],
)
def test_a_claim_is_a_whole_sentence(load: Load, text: str, claim: str) -> None:
    assert load("judge_bias").find_claim(text) == claim


@pytest.mark.parametrize("name", ["judge_bias", "judge_designs"])
def test_requests_are_written_to_a_new_folder(load: Load, tmp_path: Path, name: str) -> None:
    load(name).write(tmp_path / "a" / "b", [])
    assert any((tmp_path / "a" / "b").iterdir())


@pytest.mark.parametrize("what", ["write", "read"])
def test_a_missing_file_is_an_error_of_usage(load: Load, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr("sys.argv", ["attacks.py", what])
    with pytest.raises(SystemExit) as error:
        load("attacks").main()
    assert error.value.code == 2


def test_an_odd_number_of_answers_with_two_to_a_question(load: Load) -> None:
    coverage = load("coverage")
    scores, ratings, questions = coverage.draw(coverage.Setting(5, 0.3, False, True), 5, np.random.default_rng(0))
    assert (len(scores), len(ratings)) == (5, 5)
    assert questions.tolist() == [0, 0, 1, 1, 2]


def test_items_in_one_of_two_readings_are_counted(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    ours = [["t", item, {"m": 1.0}, True, "read", ""] for item in ("a", "b", "c")]
    theirs = {("t", item): {"m": value} for item, value in (("a", 1.0), ("d", 1.0), ("e", 0.0), ("f", 0.0))}
    load("closed_logs").compare("log", ours, theirs)
    # Their mean is 2 of 4, ours 3 of 3; b to f are in one reading only.
    assert capsys.readouterr().out == "| log | t m | 3 | 0.500 | 1.000 | 5 | 1.000 | 0 | read 3 |\n"


def test_a_metric_without_a_score_in_both_runs(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = [Sample(name, "What helps?", ("Rest.",), "Rest.") for name in ("a", "b")]
    for name in ("a", "b"):
        settings = RunSettings({"m": "m"})
        with RunWriter(tmp_path / name, samples, settings=settings, options={"device": "cpu"}) as run:
            run.add(imaps=[], results=[Result(name, "m", Score(1.0), "m")])
            run.finish()
    monkeypatch.setattr("sys.argv", ["gpu.py", str(tmp_path / "a"), str(tmp_path / "b")])
    with pytest.raises(SystemExit, match="no answer has a score by m in both runs"):
        load("gpu").main()
