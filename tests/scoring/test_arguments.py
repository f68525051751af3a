"""What is no text, or no list, is not scored and says so, however it is given."""

from __future__ import annotations

import json
import math
from collections import UserList
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from imapeval import Scorer
from imapeval.errors import UsageError
from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import read
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics import registry
from imapeval.types import Failure, Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

USER = {"role": "user", "content": "How is gout treated?"}
ASSISTANT = {"role": "assistant", "content": "Rest."}


@pytest.fixture(scope="module")
def scorer() -> Any:
    with Scorer() as opened:
        yield opened


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reference": math.nan}, "the sample has no reference"),
        ({"reference": 5}, "the reference is not a text but 5"),
        ({"reference": {"text": "Rest."}}, "the reference is not a text but"),
        ({"reference": ["Rest.", None]}, "a reference is empty or not a text"),
        ({"response": math.nan}, "there is no response"),
        ({"question": None, "turns": 5}, "the turns are not a list but 5"),
        ({"question": None, "turns": USER}, "the turns are not a list but"),
        ({"question": None, "turns": [5]}, "turn 1 is not an object but 5"),
        ({"question": None, "turns": "Hello."}, "JSON"),
        ({"question": None, "turns": [USER], "response": None}, "there is no response"),
        ({"question": None, "turns": [], "response": None}, "dialogue"),
    ],
)
def test_what_cannot_be_read_is_not_scored(scorer: Scorer, fields: dict[str, Any], reason: str):
    given: dict[str, Any] = {"question": USER["content"], "reference": "Rest.", "response": "Rest.", **fields}
    found = scorer.score(**given)
    assert found.value is None
    assert reason in found.reason


def test_the_last_turn_is_the_response_where_none_is_given(scorer: Scorer):
    found = scorer.score(turns=(USER, ASSISTANT), response=None, reference="Rest.")
    assert found.value == scorer.score(turns=[USER], response="Rest.", reference="Rest.").value == 1.0


@pytest.mark.parametrize("name", ["references", "reference", "ground_truths"])
@pytest.mark.parametrize("kind", [tuple, np.array, UserList])
def test_any_sequence_of_references_is_a_list(scorer: Scorer, name: str, kind: Callable[[list[str]], Any]):
    row = {"question": USER["content"], "response": "Rest."}
    texts = ["Rest.", "Walk."]
    as_list, given = scorer.score_all([{**row, name: texts}, {**row, name: kind(texts)}])
    assert as_list.failure is given.failure is None
    assert (given.value, given.parts) == (as_list.value, as_list.parts)


def test_the_turns_of_a_sample_are_those_of_a_row(scorer: Scorer):
    turns = (Turn("user", "How is gout treated?"), Turn("assistant", "Rest."))
    given, written = scorer.score_all([{"turns": these, "reference": "Rest."} for these in (turns, [USER, ASSISTANT])])
    assert given.value == written.value == 1.0


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("x.csv", "is the str 'x.csv'"),
        (Path("x.csv"), r"is the \w+Path 'x.csv'"),
        (None, "is the NoneType"),
        (Sample("1", "Why?", ("So.",), "So."), "is the Sample"),
        ({"question": "Why?"}, "is the dict"),
        (["x.csv"], "holds the str 'x.csv'"),
        ([{"question": "Why?"}, None], "holds the NoneType"),
    ],
)
def test_what_is_no_list_of_answers(scorer: Scorer, given: Any, named: str):
    with pytest.raises(UsageError, match=named):
        scorer.score_all(given)


@pytest.mark.parametrize("name", ["id", "ID", "编号"])
def test_an_answer_that_is_refused_keeps_its_id(scorer: Scorer, name: str):
    row = {"question": USER["content"], "reference": "Rest.", "response": "Rest."}
    given = [{**row, name: "a"}, {**row, "question": "", name: "b"}, {**row, "question": ""}]
    found = scorer.score_all([*given, {**row, "question": "", name: math.nan}])
    assert [item.sample.fault is None for item in found] == [item.failure is None for item in found]
    assert [(item.id, item.value) for item in found] == [("a", 1.0), ("b", None), ("", None), ("", None)]


def test_a_key_that_is_no_text(scorer: Scorer):
    row = {"question": USER["content"], "reference": "Rest.", "response": "Rest.", 0: "x"}
    (found,) = scorer.score_all([row])
    assert (found.value, found.sample.meta) == (1.0, {"0": "x"})


def test_an_answer_that_is_refused_is_bad_input_of_the_sample_as_in_a_file(scorer: Scorer, tmp_path: Path):
    row = {"question": "", "reference": "Rest.", "response": "Rest.", "system": "a"}
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(json.dumps(item) for item in (row, {**row, "question": "What helps?"})), encoding="utf-8")
    refused: list[int] = []
    for given in ([row], read(file, strict=False)[:1]):
        found = scorer.score_all(given, progress=refused.append)
        assert (found[0].failure and found[0].failure.stage) == "sample"
        assert found.to_rows() == [{"id": found[0].id, "system": "a", "imapscore": None, "failure": "bad-input"}]
    assert refused == [1, 1]
    extracted = scorer.extract(question="", reference="Rest.")
    assert isinstance(extracted, Failure)
    assert (extracted.stage, extracted.kind) == ("sample", "bad-input")


@pytest.mark.parametrize("id_", [5, np.int64(5), np.float64(5), np.arange(6)[5], np.uint8(5)])
def test_a_whole_number_is_an_id_of_whatever_type(scorer: Scorer, id_: Any):
    found = scorer.score(question=USER["content"], reference="Rest.", response="Rest.", id=id_)
    assert (found.id, found.value) == ("5", 1.0)


@pytest.mark.parametrize("id_", [True, np.bool_(True), 5.5])
def test_what_is_no_id(scorer: Scorer, id_: Any):
    found = scorer.score(question=USER["content"], reference="Rest.", response="Rest.", id=id_)
    assert found.failure
    assert (found.failure.stage, found.failure.kind) == ("sample", "bad-input")


@pytest.mark.parametrize(
    ("name", "value"),
    [("question", None), ("references", None), ("references", "Rest and fluids."), ("references", ("Rest.", None))],
)
def test_a_sample_of_what_is_no_text(scorer: Scorer, name: str, value: Any):
    sample = replace(Sample("s1", "What helps?", ("Rest.",), "Rest."), **{name: value})
    with pytest.raises(UsageError, match="'s1'"):
        scorer.score_all([sample])


def test_all_offline_stands_where_it_is_named():
    offline = [metric.name for metric in registry.choose(["all-offline"])]
    assert [metric.name for metric in Scorer("all-offline,rouge1").metrics] == offline
    last = offline[-1]
    assert [metric.name for metric in Scorer(["", last, "all-offline"]).metrics] == [last, *offline[:-1]]


@pytest.mark.parametrize("metric", [Path("coherence.txt"), None, 5])
def test_what_is_no_metric(metric: Any):
    with pytest.raises(UsageError, match="neither a metric nor the name of one"):
        Scorer([metric])


def test_a_text_is_no_sequence_of_references(scorer: Scorer):
    row = {"question": USER["content"], "response": "Rest."}
    found = scorer.score_all([{**row, "references": given} for given in ("Rest.", b"Rest.", {"text": "Rest."}, 5)])
    assert [item.failure and item.failure.kind for item in found] == ["bad-input"] * 4


def test_no_response_is_told_apart_however_it_is_given(scorer: Scorer):
    row = {"question": USER["content"], "reference": "Rest."}
    nobody: Any = None  # who has no types checked may give it
    sample = Sample("", USER["content"], ("Rest.",), nobody)
    given = [{**row, "response": None}, {**row, "response": math.nan}, row, sample, {**row, "response": ""}]
    found = scorer.score_all(given)
    assert [None if item.failure is None else item.failure.kind for item in found] == ["no-response"] * 4 + [None]
    assert (len(found.missing), len(found.failed), found[4].value) == (4, 4, 0.0)
    assert [row["failure"] for row in found.to_rows()] == ["no-response"] * 4 + [None]
    (alone,) = scorer.score_all([row])
    assert alone.failure is not None
    assert alone.failure.kind == "bad-input", "nothing says where the responses are"


def test_a_run_takes_what_nobody_answered(scorer: Scorer, tmp_path: Path):
    row = {"question": USER["content"], "reference": "Rest."}
    given = [{**row, "response": "Rest."}, {**row, "response": None}]
    assert [item.value for item in scorer.score_all(given, out=tmp_path / "run")] == [1.0, None]
    run = Run(tmp_path / "run")
    assert [(sample.response, sample.answered) for sample in run.samples()] == [("Rest.", True), ("", False)]
    assert run.manifest["counts"]["missing"] == 1
    assert [record.id for record in run.imaps()] == ["1"]
    assert [item.value for item in scorer.score_all(given, out=tmp_path / "run")] == [1.0, None], "it goes on"
    with pytest.raises(UsageError):
        scorer.score_all([given[0], {**row, "response": ""}], out=tmp_path / "run")


def test_nothing_is_read_where_nobody_answered():
    model = ScriptedModel([])
    with Scorer("imapscore,geval", llm=model) as asking:
        found = asking.score(question=USER["content"], reference="Rest.", response=None)
        nobody: Any = None
        nothing = asking.extract(question=USER["content"], response=nobody)
    kinds = {outcome.kind for outcome in found.outcomes.values() if isinstance(outcome, Failure)}
    assert (kinds, len(found.outcomes), model.requests) == ({"no-response"}, 2, [])
    assert isinstance(nothing, Failure)
    assert (nothing.stage, nothing.kind) == ("sample", "no-response")
