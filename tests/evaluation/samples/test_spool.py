"""Data of more samples than are kept in memory."""

import json
import re
import resource
import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import read, spool
from imapeval.types import Turn


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spool, "IN_MEMORY", 2)
    # Two or three small items, or a larger one alone.
    monkeypatch.setattr(spool, "_AT_ONCE", 60)


@dataclass(frozen=True, slots=True)
class OneField:
    text: str


def test_items_in_a_file_are_those_that_were_given():
    items = [{"text": "é\ud800"}, None, ("b", 1.5), OneField("c"), Turn("user", "d")]
    for count in range(6):
        kept = spool.spool(items[:count])
        assert list(kept) == items[:count]
        assert kept[1:4] == items[1:count][:3]
        assert [kept[place] for place in range(-count, count)] == items[:count] * 2
        assert isinstance(kept, list) == (count < 2)
        with pytest.raises(IndexError):
            kept[count]


def test_threads_read_the_items_of_a_file_at_the_same_time():
    kept = spool.spool(range(500))
    with ThreadPoolExecutor(4) as threads:
        for read_by_one in threads.map(lambda start: [kept[place] for place in range(start, 500)], range(40)):
            assert read_by_one == [*range(500 - len(read_by_one), 500)]


def test_long_items_are_in_memory_one_at_a_time():
    tracemalloc.start()
    try:
        assert sum(map(len, spool.spool("x" * 1_000_000 for _ in range(40)))) == 40_000_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Two in memory, and one pickled, read and loaded.
    assert peak < 10_000_000


def test_a_full_disk_is_told_with_its_folder():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(UsageError, match=re.escape(tempfile.gettempdir())):
            spool.spool("x" * 1000 for _ in range(200))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("columns", ["id", "id system", ""])
def test_samples_beyond_those_in_memory_are_read_alike(columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "data.jsonl"
    rows = [{"id": n // 2 if "system" in columns else n, "system": "xy"[n % 2], "note": None} for n in range(6)]
    texts = {"question": "How?", "reference": "Rest.", "response": "Rest."}
    path.write_text("".join(json.dumps(texts | {k: row[k] for k in (*columns.split(), "note")}) + "\n" for row in rows))
    spooled = read(path)
    monkeypatch.setattr(spool, "IN_MEMORY", 100)
    assert list(spooled) == read(path)


def test_drawn_answers_beyond_those_in_memory_are_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "data.jsonl"
    rows = [{"id": n, "question": f"How {n // 2}?", "reference": "Rest.", "response": "Rest."} for n in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    spooled = read(path, sample=3, seed=1)
    assert len(spooled) == 6
    assert not isinstance(spooled, list)
    monkeypatch.setattr(spool, "IN_MEMORY", 100)
    assert list(spooled) == read(path, sample=3, seed=1)


def test_an_id_that_is_there_again_is_named_with_both_lines(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    texts = {"question": "How?", "reference": "Rest.", "response": "Rest."}
    path.write_text("".join(json.dumps({"id": id_} | texts) + "\n" for id_ in "abcdeb"))
    with pytest.raises(InputError, match="line 2 and again on line 6") as caught:
        read(path)
    assert caught.value.line == 6
