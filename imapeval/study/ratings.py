"""Ratings from a file: what people gave, by sample id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imapeval.errors import InputError, UsageError
from imapeval.samples.rows import Row, read_csv, read_jsonl, read_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_READERS = {".csv": read_csv, ".jsonl": read_jsonl}


@dataclass(frozen=True, slots=True)
class RatingFile:
    """The content of a file of ratings.

    Attributes:
        by_id: Sample id -> dimension -> number; an empty cell is no rating.
        dimensions: In the order of the file.
    """

    by_id: Mapping[str, Mapping[str, float]]
    dimensions: tuple[str, ...]


def read_ratings(path: Path) -> RatingFile:
    """Read a CSV or JSONL file with the column `id` and one column per dimension.

    A leading `ratings.` of a column is left away. Empty cells and null are "not rated".

    Raises:
        UsageError: The file is neither CSV nor JSONL.
        InputError: The file is unreadable, has no `id` or no dimension, an id stands there twice, or a rating is no
            finite number.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"cannot read ratings from {path}: allowed are {', '.join(_READERS)}. Save it as one of them.")
    by_id: dict[str, dict[str, float]] = {}
    lines: dict[str, int] = {}
    dimensions: dict[str, None] = {}
    for row in reader(str(path)):
        id_ = _read_id(row, path)
        if id_ in lines:
            raise InputError(
                f"the id {id_!r} stands on line {lines[id_]} and again on line {row.line}",
                path=path,
                line=row.line,
                mend="Give one row per answer; average several raters first.",
            )
        lines[id_] = row.line
        named = {name.removeprefix("ratings."): value for name, value in row.fields.items() if name != "id"}
        dimensions |= dict.fromkeys(named)
        by_id[id_] = {
            name: _read_number(value, name=name, row=row, path=path)
            for name, value in named.items()
            if value is not None and value != ""
        }
    if not dimensions:
        raise InputError("there are no ratings", path=path, mend="Give the column id and one column per dimension.")
    return RatingFile(by_id, tuple(dimensions))


def _read_id(row: Row, path: Path) -> str:
    value = row.fields.get("id")
    if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
        return str(value)
    raise InputError(
        f"there is no id; the columns are {', '.join(map(repr, row.fields))}",
        path=path,
        line=row.line,
        mend="Name the column of the sample ids 'id'.",
    )


def _read_number(value: Any, *, name: str, row: Row, path: Path) -> float:
    number = read_number(value)
    if number is None:
        raise InputError(
            f"the rating {name!r} is no number but {str(value)[:60]!r}",
            path=path,
            line=row.line,
            mend="Write a number or leave it empty; leave out columns that are no ratings.",
        )
    return number
