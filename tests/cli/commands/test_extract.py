import json
import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval.cli.interrupt import Interrupted
from imapeval.evaluation import imap_files
from imapeval.evaluation.samples import read
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData, make_reply

SAMPLES = [
    Sample("a", "What helps against a fever?", ("Take ibuprofen.", "Drink plenty."), "Take paracetamol."),
    Sample("b", "发热吃什么药？", ("口服布洛芬。",), "吃布洛芬。"),
]


def test_one_line_per_sample_and_reference(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("extract", write_data(SAMPLES))
    assert done.returncode == 0, done.stderr
    assert "2 of 2 samples: data-imaps.jsonl" in done.stdout
    records = [record for _, record in imap_files.read_records(tmp_path / "data-imaps.jsonl")]
    assert [(record.id, record.imap.reference_index) for record in records] == [("a", 0), ("a", 1), ("b", 0)]
    assert all(record.imap.query and record.imap.reference and record.matches is None for record in records)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_new_folders_are_private(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval("extract", write_data(SAMPLES), "--out", "new/sub/imaps.jsonl")
    assert done.returncode == 0, done.stderr
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "new/sub")] == [0o700, 0o700]


def test_without_a_reference_question_and_response_are_read(imapeval: Command, write_data: WriteData, tmp_path: Path):
    done = imapeval(
        "extract", write_data([SAMPLES[0], Sample("c", "What helps against a fever?", (), "Take aspirin.")])
    )
    assert done.returncode == 0, done.stderr
    assert "1 of 2 samples have no reference" in done.stderr
    *_, record = [record for _, record in imap_files.read_records(tmp_path / "data-imaps.jsonl")]
    assert (record.id, record.imap.reference) == ("c", ())
    assert record.imap.query
    assert record.imap.response


def test_what_nobody_answered_has_no_imap(imapeval: Command, write_data: WriteData, tmp_path: Path):
    unanswered = [Sample("c", "Why?", ("Rest.",), "", answered=False), Sample("d", "Why?", ("Rest.",), "n/a")]
    done = imapeval("extract", write_data([*SAMPLES, *unanswered]), "--missing", "n/a", "--json")
    assert done.returncode == 0, done.stderr
    failures = json.loads(done.stdout)["failures"]
    assert [(f["id"], f["stage"], f["kind"]) for f in failures] == [(id_, "sample", "no-response") for id_ in "cd"]
    assert {record.id for _, record in imap_files.read_records(tmp_path / "data-imaps.jsonl")} == {"a", "b"}


def test_what_cannot_be_read_is_told(imapeval: Command, write_data: WriteData):
    data = write_data([*SAMPLES, Sample("c", "???", ("Rest.",), "Rest.")])
    done = imapeval("extract", data, "--json", "--max-failures", "0")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    (failure,) = found["failures"]
    assert (found["samples"], failure["id"], failure["stage"], failure["kind"]) == (3, "c", "extraction", "no-query")


@pytest.mark.usefixtures("apart")
def test_a_repeated_command_says_that_removing_its_file_costs_nothing(
    imapeval: Command, write_data: WriteData, tmp_path: Path, serve: Callable[..., Any]
):
    good = {"query": ["help"], "constraint": [], "inform": [{"term": "help", "values": ["ibuprofen"]}]}
    server = serve(lambda _: make_reply(good))
    sample = Sample("a", "What helps against a fever?", ("Take ibuprofen.",), "Ibuprofen helps.")
    command = ("extract", write_data([sample]), "--llm", "openai:m", "--base-url", server.url)
    imapeval(*command)
    calls = server.calls
    again = imapeval(*command)
    assert (again.returncode, "cache" in again.stderr) == (2, True)
    free = imapeval(*command[:2])
    assert (free.returncode, "exists" in free.stderr, "cache" in free.stderr) == (2, True, False)
    (tmp_path / "data-imaps.jsonl").unlink()
    imapeval(*command)
    assert server.calls == calls


def test_offline_nothing_is_said_to_be_cached(
    imapeval: Command, write_data: WriteData, monkeypatch: pytest.MonkeyPatch
):
    def interrupt(*_: object, **__: object) -> None:
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr("imapeval.cli.commands.extract.score_until_interrupted", interrupt)
    stopped = imapeval("extract", write_data(SAMPLES))
    assert stopped.returncode == 128 + signal.SIGINT
    assert "cache" not in stopped.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
def test_workers_write_the_same_file(imapeval: Command, tmp_path: Path):
    unanswered = Sample("?", "What?", ("x",), "x", answered=False)
    samples = [unanswered, *read("sample-en")[:12], *read("sample-zh")[:12]]
    rows = [
        {
            "id": f"{n}",
            "question": s.question,
            "references": s.references,
            "response": s.response if s.answered else None,
        }
        for n, s in enumerate(samples)
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, options in {"plain": (), "spread": ("--workers", "2")}.items():
        done = imapeval("extract", "data.jsonl", "--out", f"{name}.jsonl", *options)
        assert done.returncode == 0, done.stderr
        assert f"{len(rows) - 1} of {len(rows)}" in done.stdout
    plain, spread = ((tmp_path / f"{name}.jsonl").read_bytes() for name in ("plain", "spread"))
    assert spread == plain
    ids = [json.loads(line)["id"] for line in plain.splitlines()]
    assert list(dict.fromkeys(ids)) == [row["id"] for row in rows[1:]]
