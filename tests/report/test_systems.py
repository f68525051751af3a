"""Tables of compared systems, as files."""

from pathlib import Path

import numpy as np
import pytest

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result, Run, RunSettings, RunWriter
from imapeval.report.systems import SystemComparison, explain_changes, write_table
from imapeval.study.systems.answers import SystemAnswers, read_systems
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import Change, rank_systems
from imapeval.types import Imap, Pair, Sample, Score
from tests.study.answers import make_answers


def write(path: Path, answers: SystemAnswers, *, against: str | None = None) -> str:
    """Compare systems, and return the table."""
    differences = compare_systems(answers, against=against)
    standings = rank_systems(answers, differences)
    write_table(SystemComparison({}, standings, differences, (), (), {}, seed=0, margin=None), path)
    return path.read_text()


def draw(*, systems: int = 2, questions: int) -> SystemAnswers:
    """Make answers whose scores are drawn at random."""
    return make_answers(*np.random.default_rng(0).random((systems, questions)))


@pytest.mark.parametrize(("questions", "said"), [(8, 2), (60, 0)])
@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_what_is_known_of_intervals_stands_beside_them(questions: int, said: int, suffix: str, tmp_path: Path):
    # Once for the means and once for the differences.
    assert write(tmp_path / f"table.{suffix}", draw(questions=questions)).count("not 95") == said


@pytest.mark.parametrize(("against", "letters"), [(None, True), ("A", False)])
def test_letters_are_explained_where_there_are_some(against: str | None, letters: bool, tmp_path: Path):
    """Where not all pairs are compared, systems have no letters."""
    table = write(tmp_path / "table.tex", draw(systems=3, questions=60), against=against)
    assert ("letter" in table) == letters


@pytest.mark.parametrize("suffix", ["md", "tex"])
def test_systems_without_a_question_in_common_are_marked(suffix: str, tmp_path: Path):
    one, other = np.random.default_rng(0).random((2, 20)), np.full(20, np.nan)
    answers = make_answers(np.append(one[0] / 9, other), np.append(other, one[1]))
    table = write(tmp_path / f"table.{suffix}", answers)
    assert "40 (not paired)" in table
    assert "no question in common" in table
    assert "No question has a score of every system" in table
    assert ("$-$." in table) == (suffix == "tex")


@pytest.mark.parametrize("with_imaps", [(True, False), (False, True), (True, True), (False, False)])
def test_facts_are_those_of_any_run_with_the_same_answers(with_imaps: tuple[bool, bool], tmp_path: Path):
    samples = [Sample(name, "q", ("aspirin",), f"{name} says", system=name) for name in ("x", "y")]
    for metric, has_imaps in zip(("m", "k"), with_imaps, strict=True):
        pairs = (Pair("drug", "?"),), (), (Pair("drug", "aspirin"),), (Pair("drug", "morphine"),)
        with RunWriter(tmp_path / metric, samples, settings=RunSettings({metric: f"{metric}|v:1"})) as writer:
            writer.add(
                imaps=[ImapRecord(sample.id, Imap(*pairs), ()) for sample in samples if has_imaps],
                results=[Result(sample.id, metric, Score(0.5), f"{metric}|v:1") for sample in samples],
            )
            writer.finish()
    runs = [Run(tmp_path / metric) for metric in ("m", "k")]
    change = Change("x", "y", "q", ("x",), ("y",), 0.5, 0.5, 0.0)
    found = explain_changes(runs, read_systems(runs), [change])
    assert found.keys() == {("x", "x"), ("y", "y")}
    assert {"aspirin" in facts for facts in found.values()} == {any(with_imaps)}
