"""Logs of the real Inspect as samples, and runs as scores for it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed here: python3 .ci/frameworks.py inspect_ai")

from inspect_ai import score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import mean, precomputed_scores, stderr

from imapeval import Scorer
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import inspect_log, read
from imapeval.integrations.inspect_ai import imapscore, write_precomputed
from tests.integrations.answers import ANSWERS

if TYPE_CHECKING:
    from conftest import RunEval

QUESTION = "How is a breast abscess treated?"
REFERENCE = "Surgical drainage and antibiotics. Avoid alcohol."


def sample(says: Any = "Drainage.", *, key: Any = 1, **fields: Any) -> Sample:
    return Sample(**{"id": key, "input": QUESTION, "target": REFERENCE, "metadata": {"says": says}, **fields})


def imapeval(*args: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "imapeval", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_log_is_scored_like_the_answers_themselves(
    run_eval: RunEval, samples: list[Sample], expected: dict[str, float | None], tmp_path: Path
):
    log = run_eval(samples)
    done = imapeval("score", log.location, "--metrics", "imapscore", "--out", tmp_path / "run", "--max-failures", 1)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert {line["id"]: line["score"] for line in map(json.loads, lines)} == expected


def test_what_a_row_has(run_eval: RunEval):
    given = sample(
        input=QUESTION, target=["Drainage.", REFERENCE], metadata={"says": "Rest.", "topic": "breast", "lang": "zh"}
    )
    log = run_eval([given], imapscore())
    (only,) = read(log.location)
    assert (only.id, only.question, only.references) == ("1", QUESTION, ("Drainage.", REFERENCE))
    assert (only.response, only.system, only.lang) == ("Rest.", "mockllm/model", "zh")
    assert not only.ratings
    assert only.meta["sample_id"] == 1
    assert only.meta["epoch"] == 1
    assert only.meta["task"] == "task"
    assert only.meta["metadata.topic"] == "breast"
    assert only.meta["score.imapscore.recall"] == log.samples[0].scores["imapscore"].value["recall"]


def test_json_logs(run_eval: RunEval, tmp_path: Path):
    log = run_eval([sample()])
    path = tmp_path / "log.json"
    write_eval_log(read_eval_log(log.location), str(path))
    assert read(path, loader="inspect") == read(log.location)


def test_dialogues_and_long_texts(run_eval: RunEval):
    long = "How is it treated? " + "It hurts a lot. " * 2000
    messages = [
        ChatMessageSystem(content="Be brief."),
        ChatMessageUser(content="I have a lump."),
        ChatMessageAssistant(content="Since when?"),
        ChatMessageUser(content=[ContentText(text=long), ContentImage(image="data:image/png;base64," + "A" * 5000)]),
    ]
    log = run_eval([sample("Drainage. " * 2000, input=messages)])
    (only,) = read(log.location)
    assert [turn.content for turn in only.turns] == ["I have a lump.", "Since when?", long, "Drainage. " * 2000]


def test_epochs_there_and_back(run_eval: RunEval, tmp_path: Path):
    log = run_eval([sample(["Drainage.", "Alcohol."], key="a"), sample(["Rest.", "?"], key="b", input="?!")], epochs=2)
    answers = read(log.location)
    assert [(answer.id, answer.response) for answer in answers] == [
        ("a/1", "Drainage."),
        ("b/1", "Rest."),
        ("a/2", "Alcohol."),
        ("b/2", "?"),
    ]
    scored = Scorer("imapscore,rouge1").score_all(answers, out=tmp_path / "run")
    assert write_precomputed(tmp_path / "run", tmp_path / "scores.jsonl") == 4
    again = score(log, precomputed_scores(str(tmp_path / "scores.jsonl"), metrics=[mean(), stderr()]))
    found = {(s.id, s.epoch): s.scores["precomputed_scores"] for s in again.samples}
    assert (found["a", 1].value, found["a", 2].value) == (scored[0].value, scored[2].value)
    assert found["a", 1].explanation == f"{scored[0].reason}\n\n{scored[0].table}".rstrip()
    assert found["a", 1].metadata["signature"] == scored[0].signatures["imapscore"]
    assert found["a", 1].answer == "Drainage."
    assert math.isnan(found["b", 1].value)
    assert found["b", 1].reason == "no-query"
    assert found["b", 1].explanation.startswith("not scored: ")
    (result,) = again.results.scores
    assert result.metrics["mean"].value == pytest.approx(fmean([scored[0].value, scored[2].value]))
    assert (result.scored_samples, result.unscored_samples) == (1, 1)


def test_a_run_over_other_data_is_joined_by_id(
    run_eval: RunEval, samples: list[Sample], expected: dict[str, float | None], tmp_path: Path
):
    Scorer().score_all(read(ANSWERS), out=tmp_path / "run")
    write_precomputed(tmp_path / "run", tmp_path / "scores.jsonl")
    log = run_eval(samples, precomputed_scores(str(tmp_path / "scores.jsonl"), metrics=[mean()]), epochs=2)
    found = [value for value in expected.values() if value is not None]
    assert log.results.scores[0].metrics["mean"].value == pytest.approx(fmean(found))


def test_scores_that_people_gave_become_ratings(run_eval: RunEval, tmp_path: Path):
    path = tmp_path / "ratings.jsonl"
    path.write_text('{"id": "a", "value": {"accuracy": 4.5}}\n{"id": "b", "value": {"accuracy": NaN}}\n')
    log = run_eval(
        [sample(key="a"), sample(key="b")], precomputed_scores(str(path), metrics={"accuracy": [mean(), stderr()]})
    )
    rated = read(log.location, columns={"ratings.accuracy": "score.precomputed_scores.accuracy"})
    assert [answer.ratings for answer in rated] == [{"accuracy": 4.5}, {}]


def test_errors_are_left_out_and_what_was_not_answered_is_missing(run_eval: RunEval, tmp_path: Path, caplog: Any):
    log = run_eval([sample(key="a"), sample(None, key="b"), sample("", key="c"), sample(key="d")])
    whole = read_eval_log(log.location)
    broken = json.loads(whole.model_dump_json())
    broken["samples"][3]["error"] = {"message": "boom", "traceback": "", "traceback_ansi": ""}
    path = str(tmp_path / "broken.eval")
    write_eval_log(EvalLog.model_validate(broken), path)
    assert {answer.id: answer.answered for answer in read(path)} == {"a": True, "b": False, "c": True}
    assert "1 of 4 samples" in caplog.text


@pytest.mark.parametrize("content", [b'"' + b"x" * 2**20 + b'"', b"[" * 100_000], ids=["bomb", "nested"])
@pytest.mark.parametrize("lies", [False, True])
def test_a_sample_that_would_take_all_memory_or_time(
    run_eval: RunEval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, lies: bool
):
    monkeypatch.setattr(inspect_log, "_MAX_MEMBER", 2**20)
    path = tmp_path / "log.eval"
    with ZipFile(run_eval([sample()]).location) as log, ZipFile(path, "w", ZIP_DEFLATED) as other:
        for name in log.namelist():
            other.writestr(name, content if name.startswith("samples/") else log.read(name))
        if lies:
            for member in other.filelist:
                member.file_size = min(member.file_size, 100)
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.path == path
    assert len(str(caught.value)) < 1000


def test_an_archive_of_many_samples_that_would_take_all_memory(
    run_eval: RunEval, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(inspect_log, "_MAX_MEMBER", 2**20)
    path = tmp_path / "log.eval"
    with ZipFile(run_eval([sample()]).location) as log, ZipFile(path, "w", ZIP_DEFLATED) as other:
        for name in log.namelist():
            other.writestr(name, log.read(name))
            if name.startswith("samples/"):
                whole = json.loads(log.read(name)) | {"metadata": {"x": "x" * 2**19}}
                for number in range(20):
                    other.writestr(f"samples/n{number}_epoch_1.json", json.dumps(whole | {"id": f"n{number}"}))
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("says", "more"), [(None, b""), (100, b""), (None, b" " * 100)], ids=["whole", "false length", "second frame"]
)
def test_samples_packed_with_zstandard(run_eval: RunEval, tmp_path: Path, says: int | None, more: bytes):
    """As newer versions of Inspect pack them; `says` is a false length, and `more` a second frame beyond the length."""
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "log.eval"
    with ZipFile(run_eval([sample()]).location) as log, ZipFile(path, "w") as other:
        for name in log.namelist():
            other.writestr(name, zstandard.compress(log.read(name)) + zstandard.compress(more))
        lengths = [log.getinfo(name).file_size if says is None else says for name in log.namelist()]
        members = [*zip(other.filelist, lengths, strict=True)]
        for member, length in members:
            member.compress_type, member.file_size = 93, length
    # The heads of the members are written before their content, and say what the directory at the end says.
    raw = bytearray(path.read_bytes())
    for member, length in members:
        raw[member.header_offset + 8 : member.header_offset + 10] = (93).to_bytes(2, "little")
        raw[member.header_offset + 22 : member.header_offset + 26] = length.to_bytes(4, "little")
    path.write_bytes(raw)
    if says is None and not more:
        assert len(read(path)) == 1
        return
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.path == path


def test_no_log(tmp_path: Path, run_eval: RunEval):
    log = Path(run_eval([sample()]).location)
    whole = log.read_bytes()
    with ZipFile(log) as file:
        (start,) = [item.header_offset + 100 for item in file.infolist() if item.filename.startswith("samples/")]
    holed = whole[:start] + bytes(100) + whole[start + 100 :]
    for number, content in enumerate((b"", b"nonsense", b"{}", whole[: len(whole) // 2], holed)):
        path = tmp_path / f"{number}.eval"
        path.write_bytes(content)
        with pytest.raises(InputError):
            read(path)
    for text in ('{"eval": 1}', "[]", '{"eval": '):
        (tmp_path / "log.json").write_text(text)
        with pytest.raises(InputError):
            read(tmp_path / "log.json", loader="inspect")
    with pytest.raises(InputError):
        read(tmp_path / "absent.eval")


async def test_reading_within_an_event_loop(run_eval: RunEval):
    import asyncio

    log = await asyncio.to_thread(run_eval, [sample()])
    assert len(read(log.location)) == 1


def test_what_cannot_be_written(tmp_path: Path):
    Scorer("rouge1").score_all([{"question": QUESTION, "reference": REFERENCE, "response": "x"}], out=tmp_path / "run")
    with pytest.raises(UsageError, match=r"'imapscore'.*rouge1"):
        write_precomputed(tmp_path / "run", tmp_path / "scores.jsonl")
    with pytest.raises(UsageError, match=r"scores.jsonl"):
        write_precomputed(tmp_path / "run", tmp_path / "scores.json", metric="rouge1")
    with pytest.raises(InputError):
        write_precomputed(tmp_path / "run", tmp_path / "absent" / "scores.jsonl", metric="rouge1")
    with pytest.raises(InputError, match="manifest"):
        write_precomputed(tmp_path, tmp_path / "scores.jsonl")
