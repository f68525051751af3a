"""What `imapeval rate init` takes into a study."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("sqlalchemy")

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import RunSettings, RunWriter
from imapeval.rating import RatingStudy
from imapeval.types import Imap, Pair, Sample

if TYPE_CHECKING:
    from tests.cli.conftest import Command, WriteData

DESIGN = ("--raters", 2, "--dimensions", "accuracy", "--scale", "0:5:1")
INIT = (*DESIGN, "--out", "study.db")
SAMPLES = [Sample(id_, f"Does {id_} help?", (), f"{id_} helps.") for id_ in ("rest", "water")]


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def list_answers(columns: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect("study.db")) as database:
        return database.execute(f"SELECT {columns} FROM answers ORDER BY id").fetchall()


def test_facts_that_have_no_place_in_the_text_are_not_marked(imapeval: Command, write_data: WriteData):
    sample = Sample("a", "What helps?", (), "Rest and water.")
    spans = ((0, 4), (-4, 4), (-6, -1), (8, 4), (4, 4), (9, 16), (-(10**30), 10**30))
    pairs = tuple(Pair("advice", f"value {number}", span) for number, span in enumerate(spans))
    with RunWriter(Path("run"), [sample], settings=RunSettings({"m": "m|v:1"})) as writer:
        writer.add(imaps=[ImapRecord("a", Imap((), (), (), pairs), None)], results=[])
    assert imapeval("rate", "init", write_data([sample]), *INIT, "--facts", "run").returncode == 0
    ((facts,),) = list_answers("facts")
    assert json.loads(facts) == [{"start": 0, "end": 4, "term": "advice", "value": "value 0"}]


def test_facts_are_marked_only_in_the_responses_that_the_run_has_scored(imapeval: Command, write_data: WriteData):
    with RunWriter(Path("run"), SAMPLES, settings=RunSettings({"m": "m|v:1"})) as writer:
        imap = Imap((), (), (), (Pair("advice", "helps", (0, 4)),))
        writer.add(imaps=[ImapRecord(sample.id, imap, None) for sample in SAMPLES], results=[])
    other = Sample("water", "Does water help?", (), "Do not drink, says nobody.")
    for name, samples, marked in (("part", [SAMPLES[0], other], [1, 0]), ("none", [other], None)):
        done = imapeval("rate", "init", write_data(samples, f"{name}.jsonl"), *INIT, "--facts", "run")
        if marked is None:
            assert done.returncode == 2
            assert "--facts" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            assert "1 of 2" in done.stderr
            assert [len(json.loads(facts)) for (facts,) in list_answers("facts")] == marked
        Path("study.db").unlink(missing_ok=True)


@pytest.mark.parametrize("option", ["--training", "--gold", "--attention"])
@pytest.mark.parametrize(
    ("response", "part"), [(None, "'bad' has no response"), ("N/A", "'bad' has no response"), (["x"], "line 2")]
)
def test_an_item_without_a_response_is_no_item(
    imapeval: Command, write_data: WriteData, tmp_path: Path, option: str, response: object, part: str
):
    good = {"id": "good", "question": "Q1?", "response": "A", "ratings": {"accuracy": 5}}
    items = write_rows(tmp_path / "items.jsonl", good, {**good, "id": "bad", "question": "Q2?", "response": response})
    done = imapeval("rate", "init", write_data(SAMPLES), *INIT, option, items, "--missing", "N/A")
    assert done.returncode == 2
    assert part in done.stderr
    assert str(items) in done.stderr
    assert not Path("study.db").exists()


def test_a_response_that_means_none_is_not_rated(imapeval: Command, write_data: WriteData):
    data = write_data([*SAMPLES, Sample("empty", "Does tea help?", (), "")])
    done = imapeval("rate", "init", data, *INIT, "--missing", "")
    assert done.returncode == 0, done.stderr
    assert list_answers("name") == [("rest",), ("water",)]


def test_rows_that_are_not_rated_are_counted(imapeval: Command, tmp_path: Path):
    good, unanswered, bad = ({"id": str(n), "question": "Q?", "response": "A"} for n in range(3))
    del unanswered["response"], bad["question"]
    done = imapeval("rate", "init", write_rows(tmp_path / "data.jsonl", good, unanswered, bad), *INIT)
    assert done.returncode == 0, done.stderr
    assert "2 of 3 rows are bad" in done.stderr
    assert list_answers("name") == [("0",)]


def test_the_next_command_can_be_pasted(imapeval: Command, write_data: WriteData):
    done = imapeval("rate", "init", write_data(SAMPLES), *DESIGN, "--out", "my study.db")
    assert done.returncode == 0, done.stderr
    assert "imapeval rate invite 'my study.db' NAME..." in done.stdout


@pytest.mark.parametrize(
    ("system", "response", "named"),
    [
        ("alphabot", "As Alphabot I advise rest.", True),
        ("a", "Take a break.", False),
        ("rest", "Use a forest path.", False),
        ("gpt-4", "I am GPT-4.", True),
        ("gpt-4", "我是GPT-4模型。", True),
        ("gpt-4", "I am GPT-4o.", False),
        ("文心", "我是文心一言。", True),
        ("文", "我是文心一言。", False),
    ],
)
def test_a_response_that_names_its_system_is_told(
    imapeval: Command, write_data: WriteData, system: str, response: str, named: bool
):
    data = write_data([Sample("a", "q?", ("r",), response, system=system)])
    result = imapeval("rate", "init", data, *INIT)
    assert ("the name of their system" in result.stderr) is named


@pytest.mark.parametrize(
    ("data", "title", "stem"),
    [("*.csv", "my data", "my-data"), (".", "my data", "my-data"), ("x y.jsonl.gz", "x y", "x-y")],
)
def test_a_study_is_called_by_its_data(
    imapeval: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, title: str, stem: str
):
    folder = tmp_path / "my data"
    folder.mkdir()
    monkeypatch.chdir(folder)
    if data.endswith(".gz"):
        row = {"question": "Why?", "response": "So."}
        (folder / data).write_bytes(gzip.compress(json.dumps(row).encode()))
    else:
        (folder / "a.csv").write_text("question,response\nWhy?,So.\n")
    assert imapeval("rate", "init", data, *DESIGN).returncode == 0
    with RatingStudy(f"{stem}.study.db") as study:
        assert study.settings.title == title


def test_instructions_are_shown_without_a_byte_order_mark(imapeval: Command, write_data: WriteData, tmp_path: Path):
    (tmp_path / "guide.txt").write_text("Rate each answer.\n", encoding="utf-8-sig")
    assert imapeval("rate", "init", write_data(SAMPLES), *INIT, "--instructions", "guide.txt").returncode == 0
    with RatingStudy("study.db") as study:
        assert study.settings.instructions == "Rate each answer."
