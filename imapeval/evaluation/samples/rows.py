"""Rows, which every loader yields, and how loaders report faulty ones."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from imapeval.errors import InputError
from imapeval.types import Lang

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.samples.files.text_lines import SourceFile

Unit = Literal["line", "row", "record"]
"""The unit of positions in a file: lines of text, rows of a table, records of a list."""

SPREADSHEET_ERRORS = frozenset(
    {
        *("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA"),
        *("#SPILL!", "#CONNECT!", "#BLOCKED!", "#UNKNOWN!", "#FIELD!", "#CALC!"),
    }
)
"""What a spreadsheet shows in a cell whose value is an error (Microsoft, "ERROR.TYPE function")."""

_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")

_MAX_NAMES = 50
"""Maximum number of columns that a message names."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a source is read.

    Attributes:
        encoding: Encoding of a text file; None recognises it.
        sheet: Sheet of an Excel file; None takes the only one with a table.
        strict: Whether a bad row is raised; otherwise it becomes a `Row` with an error, and the others are read.
    """

    encoding: str | None = None
    sheet: str | None = None
    strict: bool = True


DEFAULT_OPTIONS = ReadOptions()


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a source.

    Attributes:
        number: 1-based position among the source's records.
        line: 1-based line of a text file; the row of an Excel sheet; the same as `number` elsewhere.
        fields: Values by column name, as the source gives them.
        file: The file of the row, for a source of several files; "" otherwise.
        has_null: Whether the source distinguishes null from an empty text, and texts from numbers. CSV and Excel do
            not.
        unit: What `line` counts.
        decimal_comma: Whether numbers may be written as in "4,5".
        error: What is wrong with the row; it has no fields then.
    """

    number: int
    line: int
    fields: Mapping[str, Any]
    file: str = ""
    has_null: bool = True
    unit: Unit = "line"
    decimal_comma: bool = False
    error: InputError | None = None


@dataclass(frozen=True, slots=True)
class UnusableCell:
    """A cell without a usable value, such as a spreadsheet's #N/A.

    Attributes:
        problem: What is wrong with it, for a message.
        shown: What the spreadsheet shows.
    """

    problem: str
    shown: str

    def __str__(self) -> str:
        return self.shown


def error_at(row: Row, path: Path | str | None, problem: str, *, fix: str) -> InputError:
    """Return an error about a row of a file; None stands for data that did not come from one."""
    return InputError(problem, path=row.file or path, line=row.line or None, unit=row.unit, fix=fix)


def reject_row(error: InputError, *, number: int, options: ReadOptions, unit: Unit = "line") -> Row:
    """Return a `Row` with an error in place of a bad row.

    Raises:
        InputError: The options say that a bad row is raised.
    """
    if options.strict:
        raise error
    return Row(number, error.line or number, {}, unit=unit, error=error)


def read_header(names: Iterable[str], file: SourceFile, *, line: int, unit: Unit = "line") -> list[str]:
    """Return the names of columns; "" for one without a name.

    Raises:
        InputError: Two columns share a name.
    """
    header = [name.strip() for name in names]
    if twice := [name for name, count in Counter(header).items() if name and count > 1]:
        raise file.error(
            f"the column {short_repr(twice[0])} is twice in the header", line=line, unit=unit, fix="Rename one."
        )
    return header


def make_row(
    header: Sequence[str],
    cells: Sequence[Any],
    file: SourceFile,
    *,
    number: int,
    line: int,
    options: ReadOptions,
    unit: Unit = "line",
    decimal_comma: bool = False,
) -> Row:
    """Return a row of a table. The first column may be without a name, as pandas writes its index.

    If another column without a name has a value, the row is bad; see `reject_row`.
    """
    for place, (name, cell) in enumerate(zip(header, cells, strict=True), 1):
        if not name and place > 1 and cell != "":
            problem = f"column {place} has the value {short_repr(cell)}, but no name in the header"
            error = file.error(problem, line=line, unit=unit, fix="Give the column a name.")
            return reject_row(error, number=number, options=options, unit=unit)
    fields = {name: cell for place, (name, cell) in enumerate(zip(header, cells, strict=True)) if name or not place}
    return Row(number, line, fields, has_null=False, unit=unit, decimal_comma=decimal_comma)


def read_lang(fields: Mapping[str, Any]) -> Lang | None:
    """Return the value of `lang` if it is a supported language, else None."""
    lang = fields.get("lang")
    return lang if lang in get_args(Lang) else None


def is_missing(value: Any) -> bool:
    """Return whether a value is null, an empty text or NaN, which pandas writes for a missing one."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value)


def is_blank(value: Any) -> bool:
    """Return whether a value is missing, or a text of white space alone."""
    return is_missing(value.strip() if isinstance(value, str) else value)


def read_number(value: Any) -> float | None:
    """Return a finite number from a number or a text; None for anything else, including booleans."""
    try:
        # Python reads "1_000" as a thousand; in data it is a typing error.
        refused = isinstance(value, bool) or (isinstance(value, str) and "_" in value)
        number = math.nan if refused else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def has_decimal_comma(value: Any) -> bool:
    """Return whether a value is a text such as "4,5"."""
    return isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value.strip()) is not None


def read_number_of(row: Row, value: Any) -> float | None:
    """Return the number in a cell as `read_number` does, also one with a decimal comma where the row may have it."""
    comma = row.decimal_comma and has_decimal_comma(value)
    return read_number(value.replace(",", ".") if comma else value)


def list_columns(names: Iterable[str]) -> str:
    """Return the names of columns for a message; only the first ones if there are very many."""
    shown = [short_repr(name) for name in names]
    more = f" and {len(shown) - _MAX_NAMES:,} more" if len(shown) > _MAX_NAMES else ""
    return ", ".join(shown[:_MAX_NAMES]) + more


def short_repr(value: Any) -> str:
    """Return the repr of a value for a message, shortened if it is long."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
