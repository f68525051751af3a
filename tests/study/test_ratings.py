from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.study.ratings import read_ratings


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", "id,accuracy,ratings.safety\na,4.5,\n7,3,1\n"),
        (
            "r.jsonl",
            '{"id": "a", "accuracy": 4.5, "ratings.safety": null}\n{"id": 7, "accuracy": 3, "ratings.safety": 1}',
        ),
    ],
)
def test_both_formats(tmp_path: Path, name: str, content: str):
    found = read_ratings(write(tmp_path / name, content))
    assert found.by_id == {"a": {"accuracy": 4.5}, "7": {"accuracy": 3.0, "safety": 1.0}}
    assert found.dimensions == ("accuracy", "safety")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("id,accuracy\na,good\n", r"r\.csv, line 2: the rating 'accuracy' is no number but 'good'"),
        ("id,accuracy\na,nan\n", "no number"),
        ("name,accuracy\na,1\n", "line 2: there is no id; the columns are 'name', 'accuracy'"),
        ("id,accuracy\na,1\na,2\n", "line 3: the id 'a' stands on line 2 and again on line 3"),
        ("id\na\n", "there are no ratings"),
        ("", "empty"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, problem: str):
    with pytest.raises(InputError, match=problem):
        read_ratings(write(tmp_path / "r.csv", content))


def test_unknown_format(tmp_path: Path):
    with pytest.raises(UsageError, match=r"allowed are \.csv, \.jsonl"):
        read_ratings(tmp_path / "r.xlsx")
