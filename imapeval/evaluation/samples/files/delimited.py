"""Reads CSV, TSV and other text with delimited columns."""

from __future__ import annotations

import csv
import io
import re
from itertools import chain, islice
from typing import TYPE_CHECKING

from imapeval.evaluation.samples.files.text_lines import MAX_ROW, empty_file_error, read_lines, too_long_error
from imapeval.evaluation.samples.rows import Row, make_row, read_header, reject_row
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.evaluation.samples.files.text_lines import SourceFile
    from imapeval.evaluation.samples.rows import ReadOptions

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars"}

_MAX_EMPTY = 1_048_576
"""Maximum number of consecutive empty rows: the number of rows in an Excel sheet, which may be saved as CSV with all
of them."""

_HEAD_LINES = 50
"""Lines by which the delimiter is recognised."""

_SEPARATOR_LINE = re.compile(r'"?sep=([,\t;|])"?\s*', re.IGNORECASE)
"""The first line by which Excel is told the delimiter; Excel itself shows no row for it."""

_ROW_SEPARATOR = r"{}(?! |\d{{3}}(?!\d))"
"""A separator between cells: in prose, a space follows a comma, or three digits that it groups."""

_log = get_logger(__name__)


def read_delimited(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a table with a header.

    The delimiter is the one of comma, tab, semicolon and vertical bar that splits the most of the first lines into as
    many columns as the header; then the one with the most columns; or the one that a first line such as "sep=;" names.
    One that differs from the file's name is logged.
    With semicolons, numbers may have decimal commas. An empty cell is "", quoted or not: the csv module does not
    distinguish them. Rows of empty cells are skipped.

    Raises:
        InputError: The file is empty or wrongly encoded, a quotation mark is not closed, a row is too long, too many
            rows are empty, or, with strict options, a row does not match the header.
    """
    # The csv module's limit of 128 KiB per field is too low for long answers. It is one for the whole process: other
    # readers may be at work, so it is not restored.
    csv.field_size_limit(max(MAX_ROW, csv.field_size_limit()))
    lines = _split_lines(read_lines(file, options.encoding))
    head = list(islice(lines, _HEAD_LINES))
    usual = "\t" if file.suffix in (".tsv", ".tab") else ","
    if head and (named := _SEPARATOR_LINE.fullmatch(head[0])):
        delimiter = named[1]
        head[0] = "\n"  # so that the lines keep their numbers
    else:
        delimiter = _find_delimiter(head, usual)
    if delimiter != usual:
        _log.warning("%s: columns are separated by %s", file.path, _DELIMITERS[delimiter])
    yield from _read_rows(file, chain(head, lines), delimiter, options)


def _split_lines(lines: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Yield lines, of which each may hold several: a lone carriage return ends a line of CSV, too."""
    for _, text in lines:
        if "\r" in text:
            yield from io.StringIO(text, newline="")
        else:
            yield text


def _read_rows(file: SourceFile, lines: Iterator[str], delimiter: str, options: ReadOptions) -> Iterator[Row]:
    size = 0

    def measure() -> Iterator[str]:
        nonlocal size
        for text in lines:
            size += len(text)
            if size > MAX_ROW:
                raise too_long_error(file, line)
            yield text

    reader = csv.reader(measure(), strict=True, delimiter=delimiter)
    header: list[str] = []
    number = empty = 0
    warned = False
    while True:
        line, size = reader.line_num + 1, 0
        try:
            cells = next(reader)
        except StopIteration:
            if not header:
                raise empty_file_error(file.path) from None
            return
        except csv.Error as error:
            raise file.error(
                f"invalid CSV ({error})", line=line, fix='Quote fields with "..." and double inner quotes.'
            ) from error
        if not any(cells):
            empty += 1
            if empty > _MAX_EMPTY:
                raise file.error(
                    f"more than {_MAX_EMPTY:,} rows in succession are empty", line=line, fix="Remove the empty rows."
                )
            continue
        empty = 0
        if not header:
            header = read_header(cells, file, line=line)
            continue
        number += 1
        if not warned and reader.line_num > line:
            warned = _warn_of_swallowed_rows(file, line, header, cells, delimiter)
        if len(cells) != len(header):
            error = file.error(
                f"{len(cells)} fields where the header has {len(header)}",
                line=line,
                fix=f"Quote fields that hold {_DELIMITERS[delimiter]} or line breaks.",
            )
            yield reject_row(error, number=number, options=options)
            continue
        comma = delimiter == ";"
        yield make_row(header, cells, file, number=number, line=line, options=options, decimal_comma=comma)


def _warn_of_swallowed_rows(
    file: SourceFile, line: int, header: Sequence[str], cells: Sequence[str], delimiter: str
) -> bool:
    """Warn of a cell in which another line holds as many separators as a row, and return whether there is one."""
    separator = re.compile(_ROW_SEPARATOR.format(re.escape(delimiter)))
    for name, cell in zip(header, cells, strict=False):
        end = line + cell.count("\n")
        if any(len(separator.findall(text)) >= len(header) - 1 for text in cell.splitlines()[1:]):
            _log.warning(
                "%s, line %d: the quotation mark that opens the column %r closes on line %d, and what is between looks "
                "like rows, which are then part of this cell. If they are rows, remove the quotation mark or double it "
                "(only the first such place is reported)",
                file.path,
                line,
                name,
                end,
            )
            return True
        line = end
    return False


def _find_delimiter(head: Sequence[str], usual: str) -> str:
    best, found = (0.0, 1), usual
    for mark in (usual, *(other for other in _DELIMITERS if other != usual)):
        try:
            records = [cells for cells in csv.reader(head, delimiter=mark) if any(cells)]
        except csv.Error:
            continue  # what is wrong, and on which line, is found when the rows are read
        if len(head) == _HEAD_LINES:
            records = records[:-1] or records  # the last one may go on
        if not records or len(records[0]) < 2:
            continue
        fitting = sum(len(cells) == len(records[0]) for cells in records) / len(records)
        if (fitting, len(records[0])) > best:
            best, found = (fitting, len(records[0])), mark
    return found
