import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imapeval.errors import InputError
from imapeval.study.data.ratings import read_ratings
from imapeval.study.data.scales import RatingScale
from tests.study.data.ratings.conftest import Write

LABELS = {"poor": 1.0, "fair": 2.0, "good": 3.0}


def task(*results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    annotation = {"id": 1, "completed_by": 7, "was_cancelled": False, "result": list(results)}
    return {"id": 9, "data": {"id": "a"}, "annotations": [annotation | fields]}


def result(type_: str, value: Any, name: str = "accuracy") -> dict[str, Any]:
    return {"from_name": name, "to_name": "response", "type": type_, "value": {type_: value}}


def test_an_export(files: Path):
    found = read_ratings(files / "label-studio.json", labels=LABELS)
    assert (found.kind, found.raters) == ("Label Studio", ("7", "8"))
    assert (found.ids, found.dimensions) == (("a1", "a2", "a3"), ("accuracy", "tone", "completeness"))
    np.testing.assert_array_equal(found.split("accuracy"), [[4, 5], [2, np.nan], [np.nan, 1]])
    np.testing.assert_array_equal(found.split("tone"), [[3, 2], [1, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(found.split("completeness"), [[7.5, 8], [3, np.nan], [np.nan, 0]])
    assert found.left_out == {"cancelled annotations": 1, "tasks that nobody annotated": 1}
    assert found.unread == ("comment",)


def test_words_need_numbers_or_are_left_out(files: Path):
    with pytest.raises(InputError, match=r"record 1.*'tone'.*'good'.*--labels"):
        read_ratings(files / "label-studio.json")
    found = read_ratings(files / "label-studio.json", dimensions=["completeness", "accuracy"])
    assert found.dimensions == ("completeness", "accuracy")
    assert set(found.unread) == {"tone", "comment"}


def test_choices_that_are_numbers_need_no_labels(write: Write):
    found = read_ratings(write("r.json", json.dumps([task(result("choices", ["4"]))])))
    assert found.value.tolist() == [4.0]


def test_users_of_enterprise_have_their_address(write: Write):
    user = {"id": 3, "email": "anna@example.org", "first_name": "Anna", "last_name": ""}
    found = read_ratings(write("r.json", json.dumps([task(result("rating", 4), completed_by=user)])))
    assert found.raters == ("anna@example.org",)


def test_the_id_may_have_another_name(write: Write):
    record = task(result("rating", 4)) | {"data": {"answer": 17}}
    path = write("r.json", json.dumps([record]))
    assert read_ratings(path, columns={"id": "answer"}).ids == ("17",)
    with pytest.raises(InputError, match=r"record 1.*'id'.*'answer'"):
        read_ratings(path)
    with pytest.raises(InputError, match="the fields of its data are none"):
        read_ratings(write("r.json", json.dumps([record | {"data": {}}])))


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (task(result("choices", ["4", "5"])), "'accuracy'.*2"),
        (task(result("number", "many")), "'many'"),
        (task(result("rating", True)), "not a number but True"),
        (
            task(result("rating", 4), result("rating", 5)),
            "'7'.*'a'.*'accuracy'.*record 1",
        ),
        (task(result("rating", 6)), "'accuracy'.*6.*0.*5"),
        (task(result("rating", 4), completed_by=None), "annotation 1 does not say who made it"),
        (task(result("rating", 4), completed_by=""), "annotation 1 does not say who made it"),
        (task(result("rating", 4) | {"value": {}}), "'accuracy' has no value"),
        (task() | {"annotations": [5]}, r"annotations\.0: "),
        (task(result("rating", 4, name="")), "annotation 1 does not say of which control"),
        (task(), "there are no ratings"),
        (
            {"id": 9, "response": "r", "accuracy": [{"rating": 4}], "annotator": 7, "annotation_id": 1},
            "JSON-MIN or CSV, in which the task's number .* Export the project as JSON",
        ),
    ],
)
def test_what_is_wrong_is_named(write: Write, record: dict[str, Any], problem: str):
    with pytest.raises(InputError, match=problem):
        read_ratings(write("r.json", json.dumps([record])), scales={"accuracy": RatingScale(0, 5)})
