"""Shared by the readers of all formats: the records of a file, and parsing of ids and ratings."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from imapeval.evaluation.samples.rows import (
    Row,
    UnusableCell,
    error_at,
    has_decimal_comma,
    is_blank,
    list_columns,
    read_number_of,
    short_repr,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.errors import InputError

COLUMN_ROLES = ("id", "system", "rater", "dimension", "rating")
"""Roles of columns that are not dimensions."""

_NOT_AVAILABLE = frozenset({"na", "n/a"})
"""Values that R and spreadsheets write into empty cells."""

LARGEST_RATING = 1e100
"""Maximum absolute value of a rating. Means of squares of such numbers stay finite (the largest float is 1.8e308)."""


@dataclass(frozen=True, slots=True)
class RatingEntry:
    """One rating of one answer.

    Attributes:
        rater: The rater; "" if unknown.
        value: The rating; None if the cell is empty.
        row: The record that holds it.
        system: The system that gave the answer; "" if the file does not say.
    """

    id: str
    dimension: str
    rater: str
    value: float | None
    row: Row
    system: str = ""


@dataclass(frozen=True, slots=True)
class RatingsSource:
    """An open file of ratings.

    Attributes:
        rows: Its records.
        columns: Column in the file by our name (a role or a dimension).
        labels: Number by word, for ratings that are words.
        wanted: Dimensions to read; None reads all.
        left_out: Numbers of skipped ratings, by a plural phrase that describes them. Filled by readers.
        unread: Columns or controls that are not ratings. Filled by readers.
        notes: Remarks for the report, as sentences. Filled by readers.
        kind: Name of the numbers in messages: ratings, which options apply to, or scores.
    """

    path: Path
    rows: tuple[Row, ...]
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    labels: Mapping[str, float] = field(default_factory=dict[str, float])
    wanted: Sequence[str] | None = None
    left_out: Counter[str] = field(default_factory=Counter[str])
    unread: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    kind: Literal["rating", "score"] = "rating"

    def error_at(self, problem: str, row: Row, *, fix: str) -> InputError:
        """Return an error about a record."""
        return error_at(row, self.path, problem, fix=fix)

    def require_usable(self, value: Any, row: Row) -> None:
        """Refuse what a spreadsheet shows in place of a value."""
        if isinstance(value, UnusableCell):
            raise self.error_at(value.problem, row, fix="Write the value itself into the cell.")

    def dimension_of(self, column: str) -> str | None:
        """Return the dimension that a column holds; None if it is not to be read."""
        ours = next((ours for ours, theirs in self.columns.items() if theirs == column), None)
        dimension = ours or column.removeprefix("ratings.")
        if self.wanted is not None and dimension not in self.wanted:
            self.unread[column] = None
            return None
        return dimension

    def read_id(self, fields: Mapping[str, Any], row: Row, *, where: str = "the columns") -> str:
        """Return the answer's id."""
        column = self.columns.get("id", "id")
        value = fields.get(column)
        self.require_usable(value, row)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
        raise self.error_at(
            f"there is no {column!r}; {where} are {list_columns(fields) or 'none'}"
            if column not in fields
            else f"the {column!r} is {short_repr(value)}, which is not an id",
            row,
            fix="Give the id of the answer, as in the run's data; "
            + ("name its column with --map id=<column>." if self.kind == "rating" else "call its column `id`."),
        )

    def read_value(self, value: Any, row: Row, *, what: str) -> float | None:
        """Return a rating, or None if it is empty; `what` is its name in messages."""
        self.require_usable(value, row)
        text = value.strip() if isinstance(value, str) else None
        if is_blank(value):
            return None
        if text is not None and text in self.labels:
            return self.labels[text]
        if text is not None and text.casefold() in _NOT_AVAILABLE:
            self.left_out[f"cells that say {text!r}"] += 1
            return None
        number = read_number_of(row, value)
        if number is not None and abs(number) > LARGEST_RATING:
            raise self.error_at(
                f"the {self.kind} {what!r} is {number:g}, too large to compute with", row, fix="Correct it."
            )
        if number is not None:
            return number
        if text is not None and has_decimal_comma(text):
            raise self.error_at(
                f"the {self.kind} {what!r} is {text!r}, with a decimal comma",
                row,
                fix=f"Write {text.replace(',', '.')!r}, here and everywhere.",
            )
        fix = "Write a number or leave it empty"
        if self.kind == "rating":
            fix += "; choose the columns with --dimensions, or the only one with --dimension; translate words with "
            fix += "--labels"
            others = [name for name in ("rater", "dimension", "system") if name not in self.columns]
            if what in row.fields and others:
                maps = (f"--map {name}={shlex.quote(what)}" for name in others)
                fix += f"; if it is not a dimension: {', or '.join(maps)}"
        raise self.error_at(f"the {self.kind} {what!r} is not a number but {short_repr(value)}", row, fix=f"{fix}.")
