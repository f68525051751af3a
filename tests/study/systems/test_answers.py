import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs import Run
from imapeval.study.systems.answers import read_systems
from imapeval.types import Sample

Write = Callable[..., Run]


def answer(id_: str, question: str, system: str = "", *, reference: str = "r", **meta: str) -> Sample:
    return Sample(id_, question, (reference,), f"{system} says", system=system, meta=meta)


def test_systems_of_one_run_and_mean_of_several_answers_to_a_question(write_run: Write):
    samples = [answer("1", "p", "x"), answer("2", "p", "x"), answer("3", "p", "y"), answer("4", "q", "x")]
    found = read_systems([write_run("run", samples, {"m": [0.2, 0.4, 1.0, None]})])
    assert found.systems == ("x", "y")
    np.testing.assert_allclose(found.average("m"), [[0.3, np.nan], [1.0, np.nan]])


def test_unnamed_systems_are_named_like_their_folders(write_run: Write):
    samples = [answer("1", "p"), answer("2", "q")]
    other = [Sample("1", "p", ("r",), "another answer"), Sample("2", "q", ("r",), "and one more")]
    found = read_systems([write_run("old", samples, {"m": [0, 1]}), write_run("new", other, {"m": [1, 1]})])
    assert found.systems == ("old", "new")
    np.testing.assert_allclose(found.average("m"), [[0, 1], [1, 1]])


def test_one_name_in_two_runs_gets_the_folders(write_run: Write, tmp_path: Path):
    first = write_run("old", [answer("1", "p", "x")], {"m": [0.0]})
    second = write_run("new", [Sample("1", "p", ("r",), "now otherwise", system="x")], {"m": [1.0]})
    assert read_systems([first, second]).systems == (f"x ({tmp_path / 'old'})", f"x ({tmp_path / 'new'})")


def test_runs_of_the_same_answers_with_other_metrics_are_joined(write_run: Write):
    samples = [answer("1", "p", "x"), answer("2", "p", "y")]
    found = read_systems([write_run("a", samples, {"m": [0, 1]}), write_run("b", samples, {"k": [2, 3]})])
    assert found.systems == ("x", "y")
    np.testing.assert_allclose(found.scores, [[0, 2], [1, 3]])


def test_runs_whose_data_has_a_number_that_is_none_are_joined(write_run: Write):
    samples = [replace(answer("1", "p", system), id=system, meta={"age": math.nan}) for system in ("x", "y")]
    found = read_systems([write_run("a", samples, {"m": [0, 1]}), write_run("b", samples, {"k": [2, 3]})])
    assert found.systems == ("x", "y")


def test_a_system_that_is_named_like_the_folder_is_not_the_one_without_a_name(write_run: Write):
    samples = [answer("1", "p"), answer("2", "p", "run")]
    found = read_systems([write_run("run", samples, {"m": [0, 1]})])
    assert len(found.systems) == 2
    np.testing.assert_allclose(found.average("m"), [[0], [1]])


def test_the_same_answer_with_two_scores_is_refused(write_run: Write, tmp_path: Path):
    samples = [answer("1", "p", "x"), answer("2", "p", "y")]
    runs = [write_run("a", samples, {"m": [0, 0.1234567]}), write_run("b", samples, {"m": [0, 0.1234568]})]
    with pytest.raises(InputError, match=r"0\.1234568.*0\.1234567") as caught:
        read_systems(runs)
    assert caught.value.path == tmp_path / "b"


def test_questions_with_other_references_are_other_questions(write_run: Write):
    samples = [answer("1", "p", "x"), answer("2", "p", "y", reference="s")]
    found = read_systems([write_run("run", samples, {"m": [0, 1]})])
    assert found.average("m").shape == (2, 2)


@pytest.mark.parametrize(
    "other",
    [
        Sample("2", "p q", ("s ", "r é"), "a"),
        Sample("2", " p  q", ("s", "r\u00a0é"), "a"),
        Sample("2", "\ufeffp\r\nq", ("s", "r\u3000é"), "a"),
        Sample("2", "p\u200b q", ("s", "r e\u0301"), "a"),
        Sample("2", "p q", ("r é", "s"), "a"),
    ],
)
def test_what_no_one_sees_makes_no_other_question(write_run: Write, other: Sample):
    samples = [Sample("1", "p q", ("s", "r é"), "a", system="x"), replace(other, system="y")]
    found = read_systems([write_run("run", samples, {"m": [0, 1]})])
    np.testing.assert_allclose(found.average("m"), [[0], [1]])


def test_groups_are_columns_with_several_values(write_run: Write):
    samples = [answer("1", "p", "x", task="a", ward="1"), answer("2", "q", "y", task="b", ward="1")]
    run = write_run("run", samples, {"m": [0, 1]})
    assert read_systems([run]).groups == {"task": ("a", "b")}
    assert read_systems([run], by=["ward"]).groups == {"ward": ("1", "1")}
    assert read_systems([run], by=["lang"]).groups["lang"] == read_systems([run], by=["language"]).groups["language"]
    np.testing.assert_allclose(read_systems([run]).average("m", group=("task", "b")), [[np.nan] * 2, [np.nan, 1]])
    with pytest.raises(UsageError, match="'city'"):
        read_systems([run], by=["city"])


def test_one_system_is_refused(write_run: Write):
    with pytest.raises(UsageError, match="'x'"):
        read_systems([write_run("run", [answer("1", "p", "x")], {"m": [0]})])
