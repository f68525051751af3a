"""Files of DrBenchmark's scripts and data sets on disk that are damaged or odd."""

from __future__ import annotations

import json
import os
import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from imapeval.errors import InputError
from imapeval.study.closed.drbenchmark.data import read_data
from imapeval.study.closed.drbenchmark.runs import read_runs
from imapeval.study.closed.drbenchmark.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TASKS = {task.name: task for task in load_tasks()}


@pytest.mark.parametrize(
    "make",
    [lambda path: path.mkdir(), lambda path: path.symlink_to("nowhere"), os.mkfifo],
    ids=["folder", "link", "pipe"],
)
def test_runs_that_are_no_files(tmp_path: Path, make: Callable[[Path], object]):
    path = tmp_path / "pxcorpus" / "runs" / "DrBenchmark-PxCorpus-cls-1.json"
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(InputError) as caught:
        read_runs(tmp_path)
    assert caught.value.path == path


@pytest.mark.parametrize(("tags", "twice"), [(["", "O"], False), (["O", "O"], True)], ids=["empty", "twice"])
def test_a_run_with_an_empty_tag_or_its_answers_twice(tmp_path: Path, tags: list[str], twice: bool):
    path = tmp_path / "pxcorpus" / "DrBenchmark-PxCorpus-ner-1.json"
    path.parent.mkdir()
    sides = {"identifiers": ["a", "b"], "real_labels": [["O", "O"], ["O"]], "system_predictions": [tags, ["O"]]}
    text = json.dumps({"hyperparameters": {"model_name": "m"}, "predictions": sides})
    path.write_text(text[:-1] + f', "predictions": {json.dumps(sides)}}}' if twice else text)
    with pytest.raises(InputError) as caught:
        read_runs(tmp_path)
    assert caught.value.path == path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a data set."""
    (tmp_path / "PxCorpus").mkdir()
    return tmp_path / "PxCorpus"


def write_arrow(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
        stream.write_table(table)


def refused(folder: Path) -> Path | None:
    """Return the file at which reading the data set fails."""
    with pytest.raises(InputError) as caught:
        read_data(folder, TASKS["PxCorpus CLS"])
    return caught.value.path


@pytest.mark.parametrize(
    "described",
    [
        b"{",
        b"\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"info": null}',
        b'{"info": {"features": []}}',
        *(b'{"info": {"features": {"label": {"names": %s}}}}' % names for names in (b"5", b'"ab"', b"[1, null, 2, 3]")),
    ],
)
def test_a_data_set_whose_description_is_damaged(folder: Path, described: bytes):
    path = folder / "test.parquet"
    table = pa.table({"id": ["a", "b"], "text": ["x", "y"], "label": [0, 1]})
    pq.write_table(table.replace_schema_metadata({"huggingface": described}), path)
    assert refused(folder) == path


@pytest.mark.parametrize("ids", [["a", "a"], [None, "b"]])
def test_items_of_a_data_set_that_would_be_lost(folder: Path, ids: list[str | None]):
    path = folder / "test.parquet"
    pq.write_table(pa.table({"id": ids, "text": ["x", "y"], "label": ["none", "negate"]}), path)
    assert refused(folder) == path


@pytest.mark.parametrize(
    ("whole", "damaged"),
    [
        (struct.pack("<3i", 0, 3, 7), struct.pack("<3i", 0, 1 << 30, 2**31 - 1)),
        (b"abcdefg", b"\xff" * 7),
        (b"\x01\x05\x10", b"\x01\x02\x10"),  # texts become integers without a length
    ],
    ids=["offsets", "text", "type"],
)
def test_a_data_set_whose_values_are_damaged(folder: Path, whole: bytes, damaged: bytes):
    path = folder / "test.arrow"
    table = pa.table({"id": ["abc", "defg"], "text": ["x", "y"], "label": ["none", "negate"]})
    write_arrow(path, table)
    raw = path.read_bytes()
    assert whole in raw
    path.write_bytes(raw.replace(whole, damaged))
    assert refused(folder) == path


def test_a_number_of_a_data_set_that_python_cannot_hold(folder: Path):
    path = folder / "test.arrow"
    label = pa.array([0, 1], pa.decimal128(3, 0)).view(pa.decimal128(3, 100))
    table = pa.table({"id": ["a", "b"], "text": ["x", "y"], "label": label})
    write_arrow(path, table)
    assert refused(folder) == path


def test_a_data_set_that_is_a_pipe(folder: Path):
    path = folder / "test.arrow"
    os.mkfifo(path)
    assert refused(folder) == path
