"""The same ratings in every format are read as the same ratings."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.study.data.ratings import READERS, read_ratings
from tests.study.data.ratings.conftest import content

Given = dict[tuple[str, str, str], float]
"""By id, dimension and rater."""

# Names as people give them: no format trims or changes what is between the ends.
names = st.text(st.characters(categories=["L", "N", "P"], include_characters=" "), min_size=1, max_size=6).filter(
    lambda name: name == name.strip() and not name.startswith("ratings.")
)
reserved = {"id", "rater", "dimension", "rating"}
# Argilla writes "None" for a rater that it does not know.
keys = st.tuples(names, names.filter(lambda name: name not in reserved), names.filter(lambda name: name != "None"))
ratings = st.dictionaries(keys, st.sampled_from([0, 0.5, 1, 2.5, 10, -3]), min_size=1, max_size=12)


def as_csv(header: list[str], rows: list[list[Any]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows([header, *rows])
    return text.getvalue()


def wide(given: Given) -> str:
    dimensions = sorted({dimension for _, dimension, _ in given})
    places = sorted({(id_, rater) for id_, _, rater in given})
    rows = [
        [id_, rater, *(given.get((id_, dimension, rater), "") for dimension in dimensions)] for id_, rater in places
    ]
    return as_csv(["id", "rater", *dimensions], rows)


def long(given: Given) -> str:
    rows = [[id_, rater, dimension, value] for (id_, dimension, rater), value in given.items()]
    return as_csv(["id", "rater", "dimension", "rating"], rows)


def label_studio(given: Given) -> str:
    tasks: dict[str, dict[str, list[Any]]] = {}
    for (id_, dimension, rater), value in given.items():
        result = {"from_name": dimension, "type": "number", "value": {"number": value}}
        tasks.setdefault(id_, {}).setdefault(rater, []).append(result)
    return json.dumps(
        [
            {
                "id": number,
                "data": {"id": id_},
                "annotations": [{"completed_by": rater, "result": results} for rater, results in by_rater.items()],
            }
            for number, (id_, by_rater) in enumerate(tasks.items())
        ]
    )


def argilla(given: Given) -> str:
    records: dict[str, dict[str, list[Any]]] = {}
    for (id_, dimension, rater), value in given.items():
        records.setdefault(id_, {}).setdefault(dimension, []).append({"value": value, "user_id": rater})
    return json.dumps([{"id": id_, "fields": {}, "responses": responses} for id_, responses in records.items()])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.mark.parametrize(
    ("kind", "name", "dump"),
    [
        ("table", "wide.csv", wide),
        ("table", "long.csv", long),
        ("Label Studio", "l.json", label_studio),
        ("Argilla", "a.json", argilla),
    ],
)
@settings(max_examples=40)
@given(given=ratings)
def test_every_format_gives_what_was_written(
    folder: Path, kind: str, name: str, dump: Callable[[Given], str], given: Given
):
    path = folder / name
    path.write_text(dump(given), encoding="utf-8", newline="")
    found = read_ratings(path)
    assert found.kind == kind
    assert content(found) == given


def test_every_reader_is_tried_here():
    assert set(READERS) == {"table", "Label Studio", "Argilla"}
