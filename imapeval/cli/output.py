"""What commands print and write: text, tables and JSON, without secrets and without control characters."""

import errno
import json
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import typer

from imapeval.errors import UsageError
from imapeval.files import write_private_file
from imapeval.redaction import hide_secrets, make_printable
from imapeval.study import number_format
from imapeval.study.number_format import write_decimal

NO_VALUE = "-"
"""Printed where there is no number."""

_FIX_OUTPUT = "Choose another file, or free some space."

UNLIMITED = 200
"""Width of a table that is not printed to a terminal and must not be cut off."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its heading; a line break in it stays.
        cell: The attribute of a row that the column shows, or a function of the row. None is printed as `NO_VALUE`.
        write: Formats a cell that is not None.
        text: Whether it holds words, aligned to the left; else numbers, aligned to the right.
        wrap: Whether a cell that is too wide is broken into lines.
    """

    heading: str
    cell: str | Callable[[Any], object]
    write: Callable[[Any], str] = str
    text: bool = False
    wrap: bool = True

    def show(self, row: Any) -> str:
        """Return the cell of a row as it is printed."""
        cell = getattr(row, self.cell) if isinstance(self.cell, str) else self.cell(row)
        return NO_VALUE if cell is None else self.write(cell)


def interval_column(
    *,
    low: str = "low",
    high: str = "high",
    digits: int = 3,
    write: Callable[[float, int], str] = write_decimal,
    wrap: bool = True,
) -> Column:
    """Return the column of a 95% interval, whose ends are the attributes `low` and `high`; see `format_interval`."""
    return Column(
        "95% interval",
        lambda row: format_interval(getattr(row, low), getattr(row, high), digits=digits, write=write),
        wrap=wrap,
    )


def echo(message: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text.

    Args:
        message: What to print; JSON stays the same JSON.
        err: Print to stderr instead of stdout.
        nl: Add a line break.
    """
    with _report_print_errors():
        typer.echo(_clean(str(message)), err=err, nl=nl)


def emit(
    rows: Iterable[Any],
    columns: Sequence[Column],
    *,
    title: str = "",
    width: int | None = None,
) -> None:
    """Print rows as a table.

    Args:
        rows: What to print. No table is printed where there are none.
        columns: Columns of the table.
        title: Title of the table.
        width: Width of the table where the output is not a terminal; None means 80 columns.
    """
    rows = list(rows)
    if not rows:
        return
    from rich.console import Console
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left")
    for column in columns:
        table.add_column(
            Text(column.heading),
            justify="left" if column.text else "right",
            no_wrap=not column.wrap,
            overflow="fold" if column.wrap else "ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(column.show(row)) for column in columns))

    class Cleaned:
        def __rich_console__(self, console: Console, options: Any) -> Any:
            for segment in console.render(table, options):
                yield segment if segment.control else Segment(_clean(segment.text), segment.style)

    with _report_print_errors():
        Console(width=None if Console().is_terminal else width, markup=False, emoji=False).print(Cleaned())


def emit_json(content: Any, *, compact: bool = False) -> None:
    """Print JSON values, dataclasses and paths as JSON, with `compact` on one line.

    Raises:
        ValueError: A number is infinite or NaN, which JSON cannot write.
    """
    # Some parsers reject a whole document for "Infinity".
    echo(json.dumps(content, ensure_ascii=False, indent=None if compact else 2, default=_to_json, allow_nan=False))


def format_interval(
    low: float | None, high: float | None, *, digits: int = 3, write: Callable[[float, int], str] = write_decimal
) -> str:
    """Return the ends of an interval such as "0.120 .. 0.340", or `NO_VALUE`; see `number_format.format_interval`."""
    if low is None or high is None:
        return NO_VALUE
    return number_format.format_interval(low, high, digits=digits, between=" .. ", write=write)


def format_estimate(value: float | None, low: float | None, high: float | None, *, digits: int, ends: int = 2) -> str:
    """Return a number with its interval, if it has one, such as "0.52 [0.41, 0.60]", or `NO_VALUE`.

    `digits` are the decimals of the number, `ends` those of the interval's ends.
    """
    if value is None:
        return NO_VALUE
    shown = number_format.format_decimal(value, digits=digits)
    if low is None or high is None:
        return shown
    return f"{shown} [{number_format.format_interval(low, high, digits=ends, write=write_decimal)}]"


def require_new_file(path: Path, *, name: str | None = None, note: str = "") -> Path:
    """Return the path of a file to be written.

    Args:
        path: The path.
        name: What the message calls it; None for the path.
        note: What the message says of removing it.

    Raises:
        UsageError: The file exists.
    """
    if path.exists():
        raise UsageError(f"{name or path} exists. Choose another file with --out, or remove it.{note and f' {note}'}")
    return path


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, in a folder that is made if necessary.

    Raises:
        UsageError: The file cannot be written.
    """
    write_private_file(path, (f"{line}\n".encode() for line in lines), fix=_FIX_OUTPUT)


def write_csv(path: Path, kind: type, rows: Iterable[Any]) -> None:
    """Write dataclasses of one kind as CSV that a spreadsheet does not execute, in a folder that is made if necessary.

    Raises:
        UsageError: The file cannot be written.
    """
    from imapeval.evaluation.runs.safe_csv import dump_records

    write_private_file(path, dump_records(kind, rows), fix=_FIX_OUTPUT)


@contextmanager
def _report_print_errors() -> Generator[None]:
    """Raise a `UsageError` where the output is a file on a full disk; typer itself handles a pipe that is closed."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise UsageError(
            "the output cannot be printed: the disk of the file that it goes to is full. Free some space and repeat "
            "the command."
        ) from error


def _to_json(value: object) -> object:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _clean(text: str) -> str:
    # Lone surrogates cannot be encoded. They are escaped as in JSON, so that JSON stays equivalent.
    return make_printable(hide_secrets(text)).encode(errors="backslashreplace").decode()
