"""Whatever is wrong with the input: one message with file, line and mend, exit code 2, no traceback."""

import json
import subprocess
from pathlib import Path

import pytest

from imapeval.evaluation.samples.loaders import LOADERS
from tests.cli.conftest import Command

ROW = '{"id": "a", "question": "Why?", "reference": "So.", "response": "Because."}\n'


def check(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    (message,) = done.stderr.splitlines()
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ["data.jsonl: the file is empty.", "Give a file with at least one row."]),
        (
            ROW.encode() + b'{"id": "b", "quest\n',
            ["data.jsonl, line 2: ", "Write one JSON object per line."],
        ),
        (
            b'{"id": "a", "asked": "Why?"}',
            ["line 1: there is no column 'question'", "'asked'", "--map question=<column>"],
        ),
        (ROW.encode() * 2, ["line 2: the id 'a'", "Make ids unique"]),
        (
            ROW.encode() + ROW.replace("Why", "Où").replace('"a"', '"b"').encode("latin-1"),
            ["line 2: byte 0xf9 is not UTF-8", "Save the whole file as UTF-8, or name its encoding with --encoding"],
        ),
        (ROW.replace("Why?", "").encode(), ["line 1: the question is empty", "Fill it in or remove the row."]),
        (b"[" * 100_000 + b"\n", ["line 1: invalid JSON", "one object per line."]),
        (
            ROW.replace("}", ', "ratings.a": 1' + "0" * 400 + "}").encode(),
            ["line 1: the rating 'a' is not a number", "Write a number"],
        ),
    ],
    ids=[
        "empty",
        "broken line",
        "missing column",
        "duplicate ids",
        "mixed encodings",
        "empty question",
        "nested without end",
        "number without end",
    ],
)
def test_data(imapeval: Command, tmp_path: Path, content: bytes, parts: list[str]):
    (tmp_path / "data.jsonl").write_bytes(content)
    check(imapeval("score", "data.jsonl", "--metrics", "rouge1", "--strict"), *parts)
    assert not (tmp_path / "runs").exists()


def test_csv_row_with_too_many_fields(imapeval: Command, tmp_path: Path):
    (tmp_path / "data.csv").write_text("question,reference,response\nWhy?,So.,Because, that is it.\n")
    done = imapeval("score", "data.csv", "--metrics", "rouge1", "--strict")
    check(done, "data.csv, line 2: 4 fields where the header has 3", "Quote fields that hold commas")


def test_output_folder_that_cannot_be_written(imapeval: Command, tmp_path: Path):
    (tmp_path / "data.jsonl").write_text(ROW)
    (tmp_path / "taken").touch()
    done = imapeval("score", "data.jsonl", "--metrics", "rouge1", "--out", "taken/run")
    check(done, "cannot write to taken/run (Not a directory)", "Choose another place with --out")


def test_run_of_a_file_that_was_corrected_since(imapeval: Command, tmp_path: Path):
    command = ("score", "data.jsonl", "--metrics", "rouge1", "--out", "run")
    (tmp_path / "data.jsonl").write_text(ROW)
    assert imapeval(*command).returncode == 0
    (tmp_path / "data.jsonl").write_text(ROW.replace("Because", "Since"))
    check(imapeval(*command), "the data was 1 samples of data.jsonl", "If the file has changed since, choose another")


def test_run_of_other_data(imapeval: Command, tmp_path: Path):
    (tmp_path / "data.jsonl").write_text(ROW)
    assert imapeval("score", "data.jsonl", "--metrics", "rouge1", "--out", "run").returncode == 0
    done = imapeval("score", "data.jsonl", "--metrics", "rouge2", "--out", "run")
    check(done, "the list of metrics was rouge1, is now rouge2", "Choose another folder with --out")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--metrics", "rogue1"], ["unknown metric 'rogue1'", "Did you mean rouge1"]),
        (["--metrics", ","], ["--metrics ',' names nothing"]),
        (["--map", "question"], ["--map 'question' is not NAME=COLUMN"]),
        (["--map", "id=a", "--map", "id=b"], ["'id': 'a' and 'b'"]),
        (["--loader", "xml"], ["unknown loader 'xml'", ", ".join(LOADERS)]),
        (
            ["--imaps", "x", "--llm", "openai:x", "--relations", "graph", "--metrics", "imapscore"],
            ["--imaps and --relations graph"],
        ),
        (["--base-url", "http://127.0.0.1:1/v1"], ["Add --llm"]),
        (["--imaps", "absent.jsonl"], ["absent.jsonl: cannot be read"]),
        (["--kg", "absent.sqlite"], ["absent.sqlite"]),
        (["--encoder", "bert"], ["'bert'", "st:NAME_OR_PATH"]),
    ],
)
def test_options(imapeval: Command, tmp_path: Path, args: list[str], parts: list[str]):
    (tmp_path / "data.jsonl").write_text(ROW)
    check(imapeval("score", "data.jsonl", *args), *parts)


def test_absent_file_and_unknown_sample(imapeval: Command):
    check(imapeval("score", "sample-fr"), "sample-fr: no such file", "`imapeval datasets` lists what ships")


def test_extract_does_not_overwrite(imapeval: Command, tmp_path: Path):
    (tmp_path / "data.jsonl").write_text(ROW)
    (tmp_path / "data-imaps.jsonl").write_text(json.dumps({"precious": 1}))
    check(imapeval("extract", "data.jsonl"), "data-imaps.jsonl exists", "Choose another file with --out")


@pytest.mark.parametrize(
    ("args", "part"),
    [(["relate", "penicillin", " "], "a value is empty"), (["relate", "a", "b", "--lang", "de"], "--lang 'de'")],
)
def test_relate(imapeval: Command, args: list[str], part: str):
    check(imapeval(*args), part)
