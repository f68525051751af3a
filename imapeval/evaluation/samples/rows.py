"""Reads rows from JSONL, CSV and Parquet files, with their line numbers."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import sys
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.types import Lang

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

_BATCH_ROWS = 1024
"""Rows of a Parquet file in memory at once: a few megabytes for long answers."""

_BUFFER_BYTES = 1 << 20
"""Bytes of a column that are read at once; by default pyarrow reads a row group, which may be the whole file."""

_MAX_NAMES = 50
"""Maximum number of columns that a message names."""


@dataclass(frozen=True, slots=True)
class Row:
    """One record of a source.

    Attributes:
        number: 1-based position among the source's records.
        line: 1-based line of a text file; the same as `number` elsewhere.
        fields: Values by column name, as the source gives them.
        file: The file of the row, for a source of several files; "" otherwise.
        has_null: Whether the source distinguishes null from an empty text. CSV does not.
    """

    number: int
    line: int
    fields: Mapping[str, Any]
    file: str = ""
    has_null: bool = True


def read_lang(fields: Mapping[str, Any]) -> Lang | None:
    """Return the value of `lang` if it is a supported language, else None."""
    lang = fields.get("lang")
    return lang if lang in get_args(Lang) else None


def read_jsonl(source: str) -> Iterator[Row]:
    """Yield the objects of a JSON Lines file (UTF-8, a byte-order mark is allowed; empty lines are skipped).

    Raises:
        InputError: The file is unreadable or empty, or a line is not UTF-8 or not a JSON object.
    """
    path = Path(source)
    number = 0
    for line, decoded in _read_lines(path):
        text = decoded.strip()
        if not text:
            continue
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError) as error:  # the latter for very deeply nested brackets
            raise InputError(
                f"invalid JSON ({error})", path=path, line=line, fix="Write one JSON object per line."
            ) from error
        if not isinstance(fields, dict):
            raise InputError(
                f"expected a JSON object, found {text[:40]!r}",
                path=path,
                line=line,
                fix="Write one object per line, with the fields id, question, reference and response.",
            )
        number += 1
        yield Row(number, line, cast("dict[str, Any]", fields))
    if not number:
        raise _empty_file_error(path)


def read_csv(source: str) -> Iterator[Row]:
    """Yield the rows of a comma-separated file with a header (UTF-8, with or without byte-order mark).

    An empty cell is "", quoted or not: the csv module does not distinguish them.

    Raises:
        InputError: The file is unreadable, empty or not UTF-8, or a row does not match the header.
    """
    path = Path(source)
    # A lone carriage return ends a line of CSV, too.
    lines = (part for _, text in _read_lines(path) for part in io.StringIO(text, newline=""))
    reader = csv.reader(lines, strict=True)
    header: list[str] = []
    number = 0
    with _unlimited_field_size():
        while True:
            line = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                if not (number or any(header)):
                    raise _empty_file_error(path) from None
                return
            except csv.Error as error:
                raise InputError(
                    f"invalid CSV ({error})",
                    path=path,
                    line=line,
                    fix='Quote fields with "..." and double inner quotes.',
                ) from error
            if not cells:
                continue
            if not header:
                header = _check_header(cells, path=path, line=line)
                continue
            if len(cells) != len(header):
                raise InputError(
                    f"{len(cells)} fields where the header has {len(header)}",
                    path=path,
                    line=line,
                    fix="Quote fields that hold commas or line breaks.",
                )
            number += 1
            yield Row(number, line, dict(zip(header, cells, strict=True)), has_null=False)


def read_parquet(source: str) -> Iterator[Row]:
    """Yield the rows of a Parquet file.

    Raises:
        InputError: The file is unreadable, damaged or not a Parquet file.
        MissingExtraError: pyarrow is not installed.
    """
    parquet: Any = require(
        "pyarrow.parquet", distribution="pyarrow", extra="parquet", needed_for="Reading Parquet files"
    )
    pyarrow: Any = require("pyarrow", distribution="pyarrow", extra="parquet", needed_for="Reading Parquet files")
    path = Path(source)
    number = 0
    with _reporting_read_errors(path):
        file = path.open("rb")
    try:
        with file, parquet.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False) as table:
            for batch in table.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                for fields in batch.to_pylist():
                    number += 1
                    yield Row(number, number, fields)
    # pyarrow raises these for files that are not Parquet and for damaged ones.
    except (pyarrow.ArrowException, ValueError, OSError, OverflowError, MemoryError) as error:
        problem = " ".join(str(error).split())
        raise InputError(
            f"not a Parquet file ({problem})", path=path, fix="Write it again as Parquet, or as JSONL."
        ) from error


def read_bytes(path: Path) -> bytes:
    """Return the content of a file that must not be empty.

    Raises:
        InputError: It is missing, unreadable or empty.
    """
    with _reporting_read_errors(path):
        raw = path.read_bytes()
    if not raw.strip():
        raise _empty_file_error(path)
    return raw


def read_number(value: Any) -> float | None:
    """Return a finite number from a number or a text; None for anything else, including booleans."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def list_columns(names: Iterable[str]) -> str:
    """Return the names of columns for a message; only the first ones if there are very many."""
    shown = [short_repr(name) for name in names]
    more = f" and {len(shown) - _MAX_NAMES:,} more" if len(shown) > _MAX_NAMES else ""
    return ", ".join(shown[:_MAX_NAMES]) + more


def short_repr(value: Any) -> str:
    """Return the repr of a value for a message, shortened if it is long."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, lazily."""
    with _reporting_read_errors(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            raw = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            try:
                yield number, raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"byte 0x{raw[error.start]:02x} is not UTF-8: another encoding, or several mixed in one file",
                    path=path,
                    line=number,
                    fix="Save the whole file as UTF-8.",
                ) from error


@contextmanager
def _reporting_read_errors(path: Path) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise InputError("no such file", path=path, fix="Check the path.") from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Give a readable file.") from error


def _empty_file_error(path: Path) -> InputError:
    return InputError("the file is empty", path=path, fix="Give a file with at least one row.")


def _check_header(cells: list[str], *, path: Path, line: int) -> list[str]:
    header = [cell.strip() for cell in cells]
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        raise InputError(
            f"the column {short_repr(twice[0])} is twice in the header", path=path, line=line, fix="Rename one."
        )
    if len(header) == 1 and (separator := next((mark for mark in ";\t|" if mark in header[0]), None)):
        raise InputError(
            f"the header {header[0][:60]!r} is separated by {separator!r}, not by commas",
            path=path,
            line=line,
            fix="Save the file with commas.",
        )
    return header


@contextmanager
def _unlimited_field_size() -> Generator[None]:
    # The csv module's limit of 128 KiB per field is global, and too low for long answers.
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
