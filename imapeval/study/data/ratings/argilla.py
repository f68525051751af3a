"""Argilla's exports: a list of records, or one a line.

    {"id": "a1", "fields": {...}, "responses": {"accuracy": [{"value": 4, "user_id": "..."}]}, ...}
        of `dataset.records.to_json()` (Argilla 2);
    {"id": "a1", ..., "accuracy.responses": [4, 5], "accuracy.responses.users": ["...", "..."],
     "accuracy.responses.status": ["submitted", "draft"]}
        of `dataset.records.to_datasets()` (Argilla 2), as JSON lines or Parquet;
    {"external_id": "a1", "fields": {...},
     "responses": [{"user_id": "...", "status": "submitted", "values": {"accuracy": {"value": 4}}}]}
        of Argilla 1.

A dimension is the name of a question. The id is the record's, or with --map id=NAME the value of that name in the
record, its metadata or its fields. Drafts and discarded responses are left out where the export names them: Argilla's
own `to_json` does not. Suggestions, which a model made, are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ValidationError

from imapeval.study.data.ratings.source import RatingEntry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from imapeval.evaluation.samples.rows import Row
    from imapeval.study.data.ratings.source import RatingsSource

_FLAT = ".responses"

_Status = Literal["submitted", "draft", "discarded"]


class _Response(BaseModel):
    """One answer of one user to one question."""

    value: Any
    user_id: str | None = None
    status: _Status | None = None


class _UserResponse(BaseModel):
    """All answers of one user, in Argilla 1."""

    values: dict[str, _Response] | None = None
    user_id: str | None = None
    status: _Status | None = None


class _Record(BaseModel):
    metadata: dict[str, Any] | None = None
    fields: dict[str, Any] | None = None
    responses: dict[str, list[_Response]] | list[_UserResponse] | None = None


class _FlatResponses(BaseModel):
    """The answers of all users to one question."""

    value: list[Any]
    users: list[str]
    status: list[_Status | None] | None


def recognise_argilla(fields: Mapping[str, Any]) -> bool:
    """Return whether a record is one of Argilla's."""
    return isinstance(fields.get("responses"), (dict, list)) or any(name.endswith(_FLAT) for name in fields)


def read_argilla(source: RatingsSource) -> Iterator[RatingEntry]:
    """Yield the ratings of an export.

    Raises:
        InputError: A record or a rating is malformed.
    """
    for row in source.rows:
        record, responses = _parse(source, row)
        id_ = source.read_id({**(record.fields or {}), **(record.metadata or {}), **row.fields}, row)
        if not responses:
            source.left_out["records that nobody answered"] += 1
        for question, response in responses:
            if response.status in ("draft", "discarded"):
                source.left_out[f"{response.status} responses"] += 1
                continue
            if response.status is None:
                source.notes["The export does not say which responses are drafts or discarded: all are read."] = None
            if (dimension := source.dimension_of(question)) is not None:
                if not response.user_id or response.user_id == "None":
                    raise source.error_at(
                        f"a response to {question!r} does not say whose it is", row, fix="Add its 'user_id'."
                    )
                yield RatingEntry(
                    id_, dimension, response.user_id, source.read_value(response.value, row, what=question), row
                )


def _parse(source: RatingsSource, row: Row) -> tuple[_Record, list[tuple[str, _Response]]]:
    try:
        record = _Record.model_validate(row.fields)
        if isinstance(record.responses, list):
            return record, [
                (question, _Response(value=answer.value, user_id=user.user_id, status=user.status))
                for user in record.responses
                for question, answer in (user.values or {}).items()
            ]
        nested = [(question, one) for question, given in (record.responses or {}).items() for one in given]
        return record, nested or list(_unflatten(row.fields))
    except ValidationError as error:
        # Of the members of a union, the one that the record fits furthest.
        first = max(error.errors(include_url=False), key=lambda one: len(one["loc"]))
        # Pydantic's location includes the union members it tried, such as dict[str,list[_Response]]; omit them.
        place = ".".join(part for part in map(str, first["loc"]) if "[" not in part)
        raise source.error_at(
            f"not a record of Argilla: {place}: {first['msg']}",
            row,
            fix="Export it with dataset.records.to_json() or to_datasets().",
        ) from error
    except ValueError as error:
        raise source.error_at(f"not a record of Argilla: {error}", row, fix="Export it again.") from error


def _unflatten(fields: Mapping[str, Any]) -> Iterator[tuple[str, _Response]]:
    for name, values in fields.items():
        if name.endswith(_FLAT) and values is not None:
            users, status = fields.get(f"{name}.users"), fields.get(f"{name}.status")
            flat = _FlatResponses(value=values, users=users or [], status=status)
            states = flat.status or [None] * len(flat.value)
            if not len(flat.value) == len(flat.users) == len(states):
                raise ValueError(
                    f"the lists of {name!r} differ in length: values {len(flat.value)}, users {len(flat.users)}, "
                    f"status {len(states)}"
                )
            for value, user, state in zip(flat.value, flat.users, states, strict=True):
                yield name.removesuffix(_FLAT), _Response(value=value, user_id=user, status=state)
