import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.errors import InputError
from imapeval.study.data.ratings import read_ratings
from tests.study.data.ratings.conftest import Write

ANNA, BEN = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
LABELS = {"poor": 1.0, "good": 3.0}


def test_to_json(files: Path):
    found = read_ratings(files / "argilla-2.json", labels=LABELS)
    assert (found.kind, found.raters) == ("Argilla", (ANNA, BEN))
    assert (found.ids, found.dimensions) == (("a1", "a2"), ("accuracy", "tone"))
    # What was discarded is there as well: argilla 2.8.0 leaves the status out.
    np.testing.assert_array_equal(found.split("accuracy"), [[4, 5], [2, 1]])
    np.testing.assert_array_equal(found.split("tone"), [[3, 1], [np.nan, np.nan]])
    assert found.notes == ("The export does not say which responses are drafts or discarded: all are read.",)
    assert found.left_out == {"records that nobody answered": 1}


def test_to_datasets(files: Path):
    found = read_ratings(files / "argilla-2-flat.jsonl", labels=LABELS)
    np.testing.assert_array_equal(found.split("accuracy"), [[4, 5], [2, np.nan]])
    np.testing.assert_array_equal(found.split("tone"), [[3, 1], [np.nan, np.nan]])
    assert found.notes == ()
    assert found.left_out == {"discarded responses": 1, "records that nobody answered": 1}


def test_argilla_1(write: Write):
    def user(name: str, status: str, **values: Any) -> dict[str, Any]:
        return {"user_id": name, "status": status, "values": {key: {"value": value} for key, value in values.items()}}

    given = [user(ANNA, "submitted", accuracy=4, safety=2), user(BEN, "draft", accuracy=1)]
    record = {"external_id": "a1", "fields": {"text": "t"}, "metadata": {"answer": "b1"}, "responses": given}
    path = write("r.json", json.dumps([record]))
    found = read_ratings(path, columns={"id": "external_id"})
    assert (found.ids, found.dimensions, found.raters) == (("a1",), ("accuracy", "safety"), (ANNA,))
    assert found.value.tolist() == [4.0, 2.0]
    assert found.left_out == {"draft responses": 1}
    assert read_ratings(path, columns={"id": "answer", "correctness": "accuracy"}).ids == ("b1",)


def test_a_question_gets_another_name_or_is_left_out(files: Path):
    found = read_ratings(files / "argilla-2.json", columns={"correctness": "accuracy"}, dimensions=["correctness"])
    assert (found.dimensions, found.unread) == (("correctness",), ("tone",))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"responses": {"accuracy": [{"value": 4, "user_id": ANNA}]}}, "record 1.*'id'"),
        ({"id": "a", "responses": {"accuracy": [{"value": 4}]}}, "does not say whose it is"),
        ({"id": "a", "responses": {"accuracy": [{"value": "ok", "user_id": ANNA}]}}, "'ok'"),
        ({"id": "a", "responses": {"accuracy": [{"user_id": ANNA}]}}, r"0\.value"),
        ({"id": "a", "responses": {"accuracy": 4}}, r"not a record of Argilla: responses\.accuracy: "),
        ({"id": "a", "responses": {"accuracy": [{"value": 4, "user_id": ANNA}] * 2}}, "record 1"),
        (
            {"id": "a", "accuracy.responses": [4, 5], "accuracy.responses.users": [ANNA]},
            "'accuracy.responses'.*2.*1.*2",
        ),
        ({"id": "a", "accuracy.responses": 4, "accuracy.responses.users": [ANNA]}, "not a record of Argilla: value"),
        ({"id": "a", "responses": {}}, "there are no ratings"),
        (
            {"id": "a", "responses": [{"user_id": 5, "values": {"accuracy": {"value": 3}}}]},
            r"not a record of Argilla: responses\.0\.user_id: ",
        ),
        (
            {"id": "a", "responses": [{"user_id": ANNA, "values": {"accuracy": 3}}]},
            r"not a record of Argilla: responses\.0\.values\.accuracy: ",
        ),
        ({"id": "a", "responses": [3]}, r"not a record of Argilla: responses\.0: "),
    ],
)
def test_what_is_wrong_is_named(write: Write, record: dict[str, Any], problem: str):
    with pytest.raises(InputError, match=problem):
        read_ratings(write("r.json", json.dumps([record])))
