"""What the readers of all formats share: the records of a file, and how an id and a rating are read of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import Row, list_columns, read_number, short_repr

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COLUMN_ROLES = ("id", "rater", "dimension", "rating")
"""What a column may be beside a dimension."""

_NOT_AVAILABLE = frozenset({"na", "n/a"})
"""What R and spreadsheets write into empty cells."""

LARGEST_RATING = 1e100
"""Size of the largest rating. Means of squares of such numbers stay finite (the largest float is 1.8e308)."""

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")


@dataclass(frozen=True, slots=True)
class RatingEntry:
    """One rating of one answer.

    Attributes:
        id: The answer's.
        dimension: What was rated.
        rater: Who rated; "" where nobody said.
        value: None where it is left open.
        row: Where it stands.
    """

    id: str
    dimension: str
    rater: str
    value: float | None
    row: Row


@dataclass(frozen=True, slots=True)
class RatingsSource:
    """A file of ratings, opened.

    Attributes:
        path: The file.
        rows: Its records.
        columns: Column by our name (a role or a dimension), for files with other column names.
        labels: Number by word, for ratings that are words.
        wanted: Dimensions to be read; None reads all.
        left_out: What was passed over, as a phrase in the plural, with its number. Readers count here.
        unread: Columns or controls that are no ratings. Readers name them here.
        notes: What a reader of the study should know. Readers write sentences here.
    """

    path: Path
    rows: tuple[Row, ...]
    columns: Mapping[str, str]
    labels: Mapping[str, float]
    wanted: tuple[str, ...] | None
    left_out: Counter[str] = field(default_factory=Counter[str])
    unread: dict[str, None] = field(default_factory=dict[str, None])
    notes: dict[str, None] = field(default_factory=dict[str, None])

    def locate(self, row: Row) -> str:
        """Return where a record stands, in words."""
        return f"{'record' if self._is_json else 'line'} {row.line}"

    def error_at(self, problem: str, row: Row, *, mend: str) -> InputError:
        """Return the error that names the record."""
        if self._is_json:
            return InputError(f"{self.locate(row)}: {problem}", path=self.path, fix=mend)
        return InputError(problem, path=self.path, line=row.line, fix=mend)

    def dimension_of(self, column: str) -> str | None:
        """Return the dimension that a column holds; None where it is not wanted."""
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
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
        raise self.error_at(
            f"there is no {column!r}; {where} are {list_columns(fields) or 'none'}"
            if column not in fields
            else f"the {column!r} is {short_repr(value)}, which is no id",
            row,
            mend="Give the id of the answer, as in the run's data; --map id=<column> says which column holds it.",
        )

    def read_value(self, value: Any, row: Row, *, what: str) -> float | None:
        """Return a rating, or None where it is left open.

        Args:
            value: As the file gives it.
            row: Where it stands.
            what: Its name in messages.
        """
        text = value.strip() if isinstance(value, str) else None
        if value is None or text == "":
            return None
        if text is not None and text.casefold() in _NOT_AVAILABLE:
            self.left_out[f"cells that say {text!r}"] += 1
            return None
        if text is not None and text in self.labels:
            return self.labels[text]
        number = read_number(value)
        if number is not None and abs(number) > LARGEST_RATING:
            raise self.error_at(f"the rating {what!r} is {number:g}, too large to compute with", row, mend="Correct it.")
        if number is not None:
            return number
        if text is not None and _DECIMAL_COMMA.fullmatch(text):
            raise self.error_at(
                f"the rating {what!r} is {text!r}, with a decimal comma",
                row,
                mend=f"Write {text.replace(',', '.')!r}, here and everywhere.",
            )
        raise self.error_at(
            f"the rating {what!r} is no number but {short_repr(value)}",
            row,
            mend="Write a number or leave it empty; --dimensions says which columns are ratings, --labels what words "
            "are worth.",
        )

    @property
    def _is_json(self) -> bool:
        # A JSON file is one text, whose records need not stand on lines of their own.
        return self.path.suffix.lower() == ".json"
