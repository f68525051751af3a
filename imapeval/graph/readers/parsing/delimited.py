"""Reads delimited text: tables with a header and quoting, and the large tables of RRF ("|") and RF2 (tab) without."""

from __future__ import annotations

import csv
from collections import Counter
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.graph.readers.base import convert_read_errors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.readers.base import Source

_MAX_CELL = 131_072
"""Maximum characters of a quoted cell: the default of the csv module, whose limit the readers of samples raise."""


def parse_header(head: bytes) -> list[str]:
    """Return the columns in the first line of a file, in lower case; [] if it is not a table."""
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].rstrip(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return []
    return [cell.strip().lower() for cell in split_cells(text, find_delimiter(text))]


def is_tab_separated(head: bytes) -> bool:
    """Return whether the first line of a file has a tab."""
    return b"\t" in head.partition(b"\n")[0]


def find_delimiter(header: str) -> str:
    """Return the delimiter of a header: the most frequent of tab, comma and semicolon."""
    return max("\t,;", key=header.count)


def split_cells(line: str, delimiter: str) -> list[str]:
    """Return the cells of one line, which may be quoted; [] if it cannot be split."""
    # One line at a time: after an unclosed quotation mark the next lines must not be lost.
    if '"' not in line:
        return line.split(delimiter)
    try:
        reader = csv.reader([line, ""], delimiter=delimiter)
        cells = next(reader, list[str]())
    except csv.Error:  # a cell that is too long, or a carriage return within the line
        return []
    if reader.line_num > 1:  # an open quotation mark: the cell goes on in the next line
        return []
    return [] if len(line) > _MAX_CELL and max(map(len, cells)) > _MAX_CELL else cells


def read_table(
    source: Source, path: Path, *, required: tuple[str, ...], quoted: bool = True
) -> tuple[dict[str, int], Iterator[tuple[int, list[str]]]]:
    """Return {column: index} and an iterator of (line number, cells) of the rows; blank lines are skipped.

    Rows with another number of cells than the header are recorded as problems.

    Args:
        source: Records the problems.
        path: The table.
        required: Required columns.
        quoted: Whether cells may be in quotation marks; if not, the delimiter is a tab.

    Raises:
        InputError: It cannot be read, is empty, lacks a required column or has a column twice.
    """
    lines = source.lines(path)
    number, header = next(lines, (0, ""))
    delimiter = find_delimiter(header) if quoted else "\t"
    names = [name.strip().lower() for name in split_cells(header, delimiter)]
    columns = {name: index for index, name in enumerate(names)}
    missing = [column for column in required if column not in columns]
    if missing:
        raise InputError(
            f"the column {missing[0]!r} is missing" if number else "the file is empty",
            path=path,
            line=number or None,
            fix=f"Name the columns in the first line. Required: {', '.join(required)}.",
        )

    # Spreadsheets leave unnamed columns at the end.
    if repeated := next((name for name, count in Counter(names).items() if name and count > 1), None):
        raise InputError(f"the column {repeated!r} occurs twice", path=path, line=number, fix="Rename one of them.")

    def read_rows() -> Iterator[tuple[int, list[str]]]:
        width = len(names)
        for number, line in lines:
            cells = split_cells(line, delimiter) if quoted else line.split("\t")
            if len(cells) == width:
                yield number, cells
            elif line.strip():
                source.reject(f"not {width} cells", line=number, path=path)

    return columns, read_rows()


_CHUNK = 1 << 20
"""Bytes read at a time to count lines."""


def read_rows(source: Source, path: Path, *, separator: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row; blank lines are skipped, rows of another width are problems.

    Args:
        source: Records the problems.
        path: The table.
        separator: The delimiter. In RRF it also ends the row, so the last cell is empty.
        width: Cells in a row, including the empty last one in RRF.

    Raises:
        InputError: It cannot be read, is empty or truncated, or no row has this width.
    """
    good = number = short = 0
    for number, line in source.lines(path):
        cells = line.split(separator)
        if len(cells) == width:
            good += 1
            yield number, cells
        elif line:
            source.reject(f"not {width} cells", line=number, path=path)
            if len(cells) < width:
                short = number
    if number and number == short and path.suffix == ".gz":
        raise _make_cut_error(path, number)
    if not good:
        raise InputError(
            f"no line of it has {width} cells" if number else "it has no readable line",
            path=path,
            fix="Copy it from the release again.",
        )


def check_complete(path: Path, *, separator: str, width: int) -> None:
    """Reject a truncated table before reading any of it.

    Compressed files are not checked here: gzip detects truncation, and `read_rows` checks the last line.

    Raises:
        InputError: The last line is incomplete.
    """
    if path.suffix == ".gz":
        return
    with convert_read_errors(path), path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _CHUNK))
        last = file.read().rpartition(b"\n")[2]
        # A row of RRF with all its separators is complete and only lacks the line end. Truncation in the last cell of a
        # row of RF2 cannot be detected.
        if not last or (separator == "|" and last.count(b"|") >= width - 1):
            return
        file.seek(0)
        ends = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    raise _make_cut_error(path, ends + 1)


def _make_cut_error(path: Path, line: int) -> InputError:
    return InputError(
        "the file is truncated in the middle of this line", path=path, line=line, fix="Copy it from the release again."
    )
