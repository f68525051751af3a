"""What `imapeval rate init` takes into a study."""

from __future__ import annotations

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

INIT = ("--raters", 2, "--dimensions", "accuracy", "--scale", "0:5:1", "--out", "study.db")
SAMPLES = [Sample(id_, f"Does {id_} help?", (), f"{id_} helps.") for id_ in ("rest", "water")]


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def list_answers(columns: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect("study.db")) as database:
        return database.execute(f"SELECT {columns} FROM answers ORDER BY id").fetchall()


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


def test_instructions_are_shown_without_a_byte_order_mark(imapeval: Command, write_data: WriteData, tmp_path: Path):
    (tmp_path / "guide.txt").write_text("Rate each answer.\n", encoding="utf-8-sig")
    assert imapeval("rate", "init", write_data(SAMPLES), *INIT, "--instructions", "guide.txt").returncode == 0
    with RatingStudy("study.db") as study:
        assert study.settings.instructions == "Rate each answer."
