"""Reads Excel files (.xlsx): the values that the cells show, not their formulas."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, cast
from zipfile import BadZipFile, ZipFile

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.rows import Row, UnusableCell, list_columns, name_cells, read_header
from imapeval.evaluation.samples.text_lines import empty_file_error
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.evaluation.samples.rows import ReadOptions
    from imapeval.evaluation.samples.text_lines import SourceFile

_Place = tuple[int, int]
"""Row and column of a cell, from 1."""

MAX_UNPACKED = 256 * 2**20
"""Bytes of an unpacked file. openpyxl takes some ten times as much; a packed file of a megabyte may hold gigabytes."""

MAX_MERGED = 1_000_000
"""Merged cells of a file. openpyxl makes an object for each of them, also where the file only says "A1:XFD1048576"."""

_MERGED = re.compile(rb"""<(?:\w{1,9}:)?mergeCell\s[^<>]{0,99}?ref=["']([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})["']""")

_log = get_logger(__name__)


def read_excel(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a sheet.

    The header is the first row with two texts or more; rows above it, empty rows and columns without a name and values
    are skipped. A cell that is merged over several rows counts for each of them. Dates are ISO 8601. A formula counts
    as the value stored with it; a formula without one, and an error such as #N/A, is an `UnusableCell`.

    Raises:
        InputError: This is not an Excel file, or too large a one, several sheets have a table and none is named,
            header cells are merged, or a column has values but no name.
        UsageError: There is no sheet with the given name.
    """
    book, formulas = _open_books(file)
    sheet = _choose_sheet(book, options.sheet, file)
    unstored = set[_Place]() if formulas is None else _find_unstored(sheet, formulas[sheet.title])
    spread = _spread_merged_cells(sheet)
    header: list[str] = []
    number = 0
    for cells in sheet.iter_rows():
        line: int = cells[0].row
        if not header:
            if _count_texts(cells) >= 2:
                header = _read_header(cells, sheet, file)
            continue
        # A row of nothing but the continuation of merged cells is no row of its own.
        if all(cell.value is None and (cell.row, cell.column) not in unstored for cell in cells):
            continue
        values = [
            UnusableCell(f"the formula in {cell.coordinate} has no stored value", "")
            if (cell.row, cell.column) in unstored
            else _read_value(spread.get((cell.row, cell.column), cell))
            for cell in cells
        ]
        fields = name_cells(header, values, path=file.path, line=line, unit="row")
        number += 1
        yield Row(number, line, fields, has_null=False, unit="row")


def _open_books(file: SourceFile) -> tuple[Any, Any]:
    """Return the workbook with values, and the one with formulas if there are any."""
    from openpyxl import load_workbook

    try:
        # Warnings are of what is not read: validation, conditional formats, print areas.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with ZipFile(file.stream) as archive:
                if sum(member.file_size for member in archive.infolist()) > MAX_UNPACKED:
                    raise _too_large_error(file, f"is larger than {MAX_UNPACKED // 2**20} MiB when unpacked")
                names = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
                computed, merged = False, 0
                for name in names:
                    content = archive.read(name)
                    computed = computed or b"<f>" in content or b"<f " in content
                    merged += sum(map(_measure_area, _MERGED.finditer(content)))
                if merged > MAX_MERGED:
                    raise _too_large_error(file, f"has more than {MAX_MERGED:,} merged cells")
            return (
                load_workbook(file.stream, data_only=True, keep_links=False),
                load_workbook(file.stream, keep_links=False) if computed else None,
            )
    # What openpyxl raises for other and for damaged files; the XML parser's ParseError is a SyntaxError.
    except (BadZipFile, OSError, EOFError, SyntaxError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"not an Excel file ({error})", path=file.path, fix="Save it as .xlsx, without a password, or as CSV."
        ) from error


def _too_large_error(file: SourceFile, what: str) -> InputError:
    return InputError(f"the file {what}", path=file.path, fix="Save the table as CSV.")


def _measure_area(found: re.Match[bytes]) -> int:
    """Return the number of cells of "A1:C3"."""
    from openpyxl.utils import range_boundaries

    # None stands for a bound that is left open, as in "A:C", which the pattern does not take.
    left, top, right, bottom = cast("tuple[int, int, int, int]", range_boundaries(found[1].decode()))
    return (abs(right - left) + 1) * (abs(bottom - top) + 1)


def _choose_sheet(book: Any, name: str | None, file: SourceFile) -> Any:
    sheets: dict[str, Any] = {sheet.title: sheet for sheet in book.worksheets}
    if name is not None:
        if name not in sheets:
            raise UsageError(f"{file.path} has no sheet {name!r}. Its sheets: {', '.join(sheets)}.")
        return sheets[name]
    tables = {
        title: sheet
        for title, sheet in sheets.items()
        if sheet.sheet_state == "visible" and any(_count_texts(cells) >= 2 for cells in sheet.iter_rows())
    }
    if len(tables) > 1:
        raise InputError(
            f"several sheets have a table: {list_columns(tables)}", path=file.path, fix="Choose one with --sheet NAME."
        )
    if not tables:
        raise empty_file_error(file.path)
    ((title, sheet),) = tables.items()
    if len(sheets) > 1:
        _log.warning("%s: read from the sheet %r, the only one with a table", file.path, title)
    return sheet


def _count_texts(cells: Sequence[Any]) -> int:
    return sum(isinstance(cell.value, str) and bool(cell.value.strip()) for cell in cells)


def _read_header(cells: Sequence[Any], sheet: Any, file: SourceFile) -> list[str]:
    line: int = cells[0].row
    for area in sheet.merged_cells.ranges:
        if area.min_row <= line <= area.max_row and area.max_col > area.min_col:
            raise InputError(
                f"the header cells {area.coord} are merged",
                path=file.path,
                line=line,
                unit="row",
                fix="Give each column a name of its own, in one row.",
            )
    header = read_header([str(_read_value(cell)) for cell in cells], path=file.path, line=line, unit="row")
    if line > 1:
        _log.warning("%s: the header is row %d", file.path, line)
    return header


def _find_unstored(values: Any, formulas: Any) -> set[_Place]:
    """Return the cells with a formula whose value is not stored, as programs other than Excel leave them."""
    return {
        (cell.row, cell.column)
        for row in formulas.iter_rows()
        for cell in row
        if cell.data_type == "f" and values.cell(cell.row, cell.column).value is None
    }


def _spread_merged_cells(sheet: Any) -> dict[_Place, Any]:
    """Return, for the places below the first row of merged cells, the cell whose value they have."""
    return {
        (row, area.min_col): sheet.cell(area.min_row, area.min_col)
        for area in sheet.merged_cells.ranges
        for row in range(area.min_row + 1, area.max_row + 1)
    }


def _read_value(cell: Any) -> Any:
    value = cell.value
    if value is None:
        return ""
    if cell.data_type == "e":
        return UnusableCell(f"the cell {cell.coordinate} holds the error {value}", value)
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    return str(value) if isinstance(value, date | time | timedelta) else value
