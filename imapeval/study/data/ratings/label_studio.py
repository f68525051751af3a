"""Label Studio's JSON export: a list of tasks.

    [{"id": 1, "data": {"id": "a1", ...},
      "annotations": [{"id": 7, "completed_by": 3, "was_cancelled": false,
                       "result": [{"from_name": "accuracy", "type": "rating", "value": {"rating": 4}}, ...]}]}, ...]

(https://labelstud.io/guide/task_format). The answer's id is read from the task's `data`; the task's own `id` is
assigned by Label Studio. A dimension is the name of a control: `Rating`, `Number`, or `Choices` whose one choice is a
number or a word that --labels knows. Annotations that were cancelled are left out, and so are predictions, which nobody
gave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from imapeval.evaluation.samples.rows import Row, short_repr
from imapeval.parsing import describe_validation_error
from imapeval.study.data.ratings.source import RatingEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.study.data.ratings.source import RatingsSource

_CONTROLS = ("rating", "number", "choices")
"""Types of results that may be ratings; the value of each is stored under the name of its type."""


class _Result(BaseModel):
    from_name: str = ""
    type: str
    value: dict[str, Any] = {}


class _User(BaseModel):
    id: int
    email: str = ""


class _Annotation(BaseModel):
    id: int | str | None = None
    completed_by: int | str | _User | None = None
    was_cancelled: bool = False
    result: list[_Result] = []


class _Task(BaseModel):
    data: dict[str, Any]
    annotations: list[_Annotation]


def recognise_label_studio(fields: Mapping[str, Any]) -> bool:
    """Return whether a record is a task of Label Studio, whole or as its JSON-MIN and CSV exports have it."""
    return {"data", "annotations"} <= fields.keys() or {"annotator", "annotation_id"} <= fields.keys()


def read_label_studio(source: RatingsSource) -> Iterator[RatingEntry]:
    """Yield the ratings of a JSON export.

    Raises:
        InputError: It is another export (JSON-MIN, CSV), or a task or rating is malformed.
    """
    for row in source.rows:
        if "data" not in row.fields and "annotator" in row.fields:
            raise source.error_at(
                "this is Label Studio's JSON-MIN or CSV, in which the task's number stands in place of the answer's id",
                row,
                fix="Export the project as JSON.",
            )
        task = _parse(source, row)
        id_ = source.read_id(task.data, row, where="the fields of its data")
        if not task.annotations:
            source.left_out["tasks that nobody annotated"] += 1
        for annotation in task.annotations:
            if annotation.was_cancelled:
                source.left_out["cancelled annotations"] += 1
                continue
            who = _name(source, annotation, row)
            for result in annotation.result:
                if result.type not in _CONTROLS:
                    # Relations between regions have no control.
                    source.unread[result.from_name or result.type] = None
                elif not result.from_name:
                    raise source.error_at(
                        f"a {result.type} of annotation {annotation.id} does not say of which control it is",
                        row,
                        fix="Give the control a name and export again.",
                    )
                elif (dimension := source.dimension_of(result.from_name)) is not None:
                    yield RatingEntry(id_, dimension, who, _read_value(source, result, row), row)


def _parse(source: RatingsSource, row: Row) -> _Task:
    try:
        return _Task.model_validate(row.fields)
    except ValidationError as error:
        raise source.error_at(
            f"not a task of Label Studio: {describe_validation_error(error)}", row, fix="Export the project as JSON."
        ) from error


def _name(source: RatingsSource, annotation: _Annotation, row: Row) -> str:
    user = annotation.completed_by
    if isinstance(user, _User):
        return user.email or str(user.id)
    if user is None or user == "":
        raise source.error_at(
            f"annotation {annotation.id} does not say who made it", row, fix="Add its 'completed_by'."
        )
    return str(user)


def _read_value(source: RatingsSource, result: _Result, row: Row) -> float | None:
    if result.type not in result.value:
        raise source.error_at(
            f"the {result.type} {result.from_name[:60]!r} has no value", row, fix="Export the project again."
        )
    value = result.value[result.type]
    if result.type == "choices" and isinstance(value, list):
        choices = cast("list[Any]", value)
        if len(choices) > 1:
            raise source.error_at(
                f"the rating {result.from_name!r} has {len(choices)} choices: {short_repr(choices)}",
                row,
                fix='Allow one (choice="single"), or leave this control out with --dimensions.',
            )
        value = choices[0] if choices else None
    return source.read_value(value, row, what=result.from_name)
