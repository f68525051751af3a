"""Ids of samples, and how many of them are read."""

from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples import read

HEADER = "id,question,reference,response,system\n"


def write(path: Path, *rows: str) -> Path:
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("bad", ["{broken", '{"question": "Why?", "response": "So."}'])
def test_bad_rows_on_the_same_line_of_two_files(tmp_path: Path, bad: str):
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in paths:
        path.write_text(f'{{"id": "{path.stem}1", "question": "Why?", "response": "So."}}\n{bad}\n', encoding="utf-8")
    samples = read(paths)
    assert [sample.fault is not None for sample in samples] == [False, True, False, True]
    assert len({sample.id for sample in samples}) == 4


def test_an_id_in_two_files(tmp_path: Path):
    paths = [write(tmp_path / name, "x,Why?,So.,Thus.,") for name in ("a.csv", "b.csv")]
    with pytest.raises(InputError) as caught:
        read(paths)
    assert (caught.value.path, caught.value.line) == (paths[1], 2)
    assert str(paths[0]) in caught.value.problem


def test_no_id_in_one_of_two_files(tmp_path: Path):
    paths = [
        write(tmp_path / "a.csv", "x,Why?,So.,Thus.,"),
        write(tmp_path / "b.csv", "y,Why?,So.,Thus.,", ",Why?,So.,Thus.,"),
    ]
    with pytest.raises(InputError) as caught:
        read(paths, strict=True)
    assert (caught.value.path, caught.value.line) == (paths[1], 3)


def test_an_id_like_that_of_a_system(tmp_path: Path):
    path = write(tmp_path / "d.csv", "a,q,r,x,b", "a,q,r,x,c", "a/b,q,r,x,")
    with pytest.raises(InputError, match="'a/b'") as caught:
        read(path)
    assert caught.value.line == 4


@pytest.mark.parametrize("number", [0, -1])
def test_fewer_than_one(tmp_path: Path, number: int):
    path = write(tmp_path / "d.csv", "a,q,r,x,b")
    with pytest.raises(UsageError, match="limit"):
        read(path, limit=number)
    with pytest.raises(UsageError, match="sample"):
        read(path, sample=number)


def test_mapping_to_a_column_that_a_url_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    copy = write(tmp_path / "d.csv", "a,q,r,x,b")
    url = "https://example.org/d.csv"
    monkeypatch.setattr("imapeval.evaluation.samples.reading.download", lambda *_, **__: [(copy, url)])
    with pytest.raises(InputError) as caught:
        read(url, columns={"response": "zz"})
    assert str(caught.value).startswith(f"{url}: ")
