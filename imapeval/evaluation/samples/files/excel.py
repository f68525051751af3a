"""Reads Excel files (.xlsx) row by row: the values that the cells show, not their formulas."""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from imapeval.errors import UsageError
from imapeval.evaluation.samples.files.excel_cells import Cell, read_value
from imapeval.evaluation.samples.files.excel_parts import (
    MAX_XML,
    DepthLimit,
    SharedTexts,
    SizeLimitedPart,
    WholeParts,
    too_large_error,
)
from imapeval.evaluation.samples.rows import Row, list_columns, make_row, read_header
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from imapeval.evaluation.samples.files.text_lines import SourceFile
    from imapeval.evaluation.samples.rows import ReadOptions

UNREADABLE_ARCHIVE = (BadZipFile, RuntimeError, OSError, ValueError)
"""What `ZipFile` raises for a file that is damaged, encrypted or not of its versions of the format."""

MAX_UNPACKED = 256 * 2**20
"""Maximum size of an unpacked file in bytes; a packed file of a megabyte may hold gigabytes."""

MAX_MERGED = 1_000_000
"""Maximum number of merged cells of a sheet: each takes time and memory, even if the file only has "A1:XFD1048576"."""

MAX_ROWS = 1_048_576
"""Maximum number of rows of a sheet (Microsoft, "Excel specifications and limits")."""

_CHUNK = 1 << 16
"""Bytes unpacked at a time."""

_BATCH = 100
"""Rows parsed at a time."""

_MERGED = b"mergeCell"
_FORMULA = re.compile(rb"[<:]f[\s/>]")
"""Bytes without which a sheet has no merged cells or formulas: XML cannot write names of elements in another way."""

_SheetRow = tuple[int, dict[int, Cell]]
"""The number of a row, from 1, and its cells by column."""

_log = get_logger(__name__)


def read_excel(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the rows of a sheet, lazily.

    The header is the first row with two texts or more; rows above it, empty rows and columns without a name and values
    are skipped. A cell that is merged over several rows counts for each of them. Dates are ISO 8601. A formula counts
    as the value stored with it; a formula without one, and an error such as #N/A, is an `UnusableCell`.

    Raises:
        InputError: This is not an Excel file, or too large a one, several sheets have a table and none is named,
            header cells are merged, or, with strict options, a column has values but no name.
        UsageError: There is no sheet with the given name.
    """
    with _report_damage(file), _make_seekable(file) as stream, ZipFile(stream) as archive:
        if sum(member.file_size for member in archive.infolist()) > MAX_UNPACKED:
            raise too_large_error(file, f"is larger than {MAX_UNPACKED // 2**20} MiB when unpacked")
        # ECMA-376, part 2 allows no others, and each raises its own kind of error where it is damaged.
        if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in archive.infolist()):
            raise BadZipFile("a compression method that Excel does not know")
        book = _Book.open(stream, archive, file)
        sheet = _choose_sheet(book, options.sheet, file)
        areas, computed = _scan_sheet(archive, sheet, file)
        formulas = book.parse_rows(sheet, formulas=True) if computed else None
        yield from _read_rows(book.parse_rows(sheet), formulas, areas, file, options)


def _read_rows(
    rows: Iterator[_SheetRow],
    formulas: Iterator[_SheetRow] | None,
    areas: list[_Area],
    file: SourceFile,
    options: ReadOptions,
) -> Iterator[Row]:
    merged = _MergedCells(areas)
    header: list[str] = []
    number = 0
    for line, cells in rows:
        if formulas is not None:
            _mark_unstored(cells, next(formulas)[1])
        own, spread = merged.split(line, cells)
        if not header:
            if _count_texts(own) >= 2:
                header = _read_header(own, line, areas, file)
            continue
        # A row that only continues merged cells is not a row of data.
        if all(cell["value"] is None and cell["data_type"] != "f" for cell in own.values()):
            continue
        shown = own | spread
        values = [read_value(shown.get(column)) for column in range(1, max(len(header), *shown) + 1)]
        header += [""] * (len(values) - len(header))
        number += 1
        yield make_row(header, values, file, number=number, line=line, options=options, unit="row")


@contextmanager
def _report_damage(file: SourceFile) -> Generator[None]:
    try:
        yield
    # What openpyxl raises for other and for damaged files; the XML parser's ParseError is a SyntaxError.
    except (
        *(*UNREADABLE_ARCHIVE, zlib.error, EOFError, SyntaxError, expat.ExpatError),
        *(LookupError, TypeError, AttributeError),
    ) as error:
        raise file.error(
            f"not an Excel file ({error})", fix="Save it as .xlsx, without a password, or as CSV."
        ) from error


@contextmanager
def _make_seekable(file: SourceFile) -> Generator[IO[bytes]]:
    """Yield the content so that it can be read at any place; gzip unpacks all of it again to go back."""
    if not isinstance(file.stream, gzip.GzipFile):
        yield file.stream
        return
    with TemporaryFile() as spool:
        while chunk := file.stream.read(_CHUNK):
            spool.write(chunk)
            if spool.tell() > MAX_UNPACKED:
                raise too_large_error(file, f"is larger than {MAX_UNPACKED // 2**20} MiB when unpacked")
        yield spool


# --- openpyxl: not `load_workbook`, which reads all texts before the first row, and a sheet of unknown size as a whole


@dataclass(frozen=True, slots=True)
class _Book:
    """A workbook whose sheets are parsed row by row.

    Attributes:
        file: The file.
        archive: Its parts.
        workbook: openpyxl's object, which knows the formats of dates.
        texts: The texts that cells refer to.
        sheets: The name within the archive of each sheet, by title.
        visible: Titles of the sheets that are not hidden.
    """

    file: SourceFile
    archive: ZipFile
    workbook: Any
    texts: SharedTexts
    sheets: Mapping[str, str]
    visible: frozenset[str]

    @classmethod
    def open(cls, stream: IO[bytes], archive: ZipFile, file: SourceFile) -> _Book:
        from openpyxl.reader.excel import ExcelReader
        from openpyxl.styles.stylesheet import apply_stylesheet
        from openpyxl.xml.constants import SHARED_STRINGS

        reader: Any = ExcelReader(stream, read_only=True, data_only=True, keep_links=False)
        reader.archive = WholeParts(archive, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read_manifest()
            reader.read_workbook()
            apply_stylesheet(cast("Any", reader.archive), reader.wb)
            found = [
                (sheet, relation.target)
                for sheet, relation in reader.parser.find_sheets()
                if relation.target in reader.valid_files and "chartsheet" not in relation.Type
            ]
        part = reader.package.find(SHARED_STRINGS)
        return cls(
            file,
            archive,
            reader.wb,
            SharedTexts(archive, file, None if part is None else part.PartName[1:]),
            {sheet.name: target for sheet, target in found},
            frozenset(sheet.name for sheet, _ in found if sheet.state == "visible"),
        )

    def parse_rows(self, path: str, *, formulas: bool = False) -> Iterator[_SheetRow]:
        """Yield the rows of a sheet that the file has, in its order.

        Args:
            path: The sheet's name within the archive.
            formulas: Whether the values are the formulas, and texts are left out.
        """
        from openpyxl.worksheet._reader import WorkSheetParser

        with self.archive.open(path) as opened:
            source = SizeLimitedPart(opened, self.file)
            rows = WorkSheetParser(
                cast("Any", source),
                defaultdict[int, str](str) if formulas else self.texts,
                data_only=not formulas,
                epoch=self.workbook.epoch,
                date_formats=self.workbook._date_formats,
                timedelta_formats=self.workbook._timedelta_formats,
            ).parse()
            count = 0
            while True:
                # openpyxl only warns of parts that are not read here: validation, conditional formats, print areas.
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    batch = list(islice(source.limit_rows(cast("Iterator[tuple[int, list[Cell]]]", rows)), _BATCH))
                if not batch:
                    return
                count += len(batch)
                if count > MAX_ROWS:
                    raise too_large_error(self.file, f"has a sheet of more than {MAX_ROWS:,} rows")
                for line, cells in batch:
                    yield line, {cell["column"]: cell for cell in cells}


# --- merged cells and formulas


class _Area(NamedTuple):
    """Merged cells: first and last column and row, from 1."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def size(self) -> int:
        """The number of cells."""
        return (abs(self.right - self.left) + 1) * (abs(self.bottom - self.top) + 1)


def _scan_sheet(archive: ZipFile, path: str, file: SourceFile) -> tuple[list[_Area], bool]:
    """Return the merged cells of a sheet, which follow its rows in the file, and whether it may have formulas.

    Attributes are examined only after the first occurrence of `_MERGED`.

    Raises:
        InputError: There are too many merged cells, a tag is too long, or the elements are nested too deeply.
        ValueError: There is a document type, which could define elements by other names; no spreadsheet has one.
    """
    from openpyxl.utils import range_boundaries

    areas: list[_Area] = []
    merged = done = 0
    computed = False
    depth = DepthLimit(file)
    parser = depth.make_parser()

    def refuse(*_: object) -> None:
        raise ValueError("it has a document type")

    def look(name: str, attributes: dict[str, str]) -> None:
        nonlocal merged
        depth.open()
        if name.rpartition(" ")[2] == "mergeCell":
            # A bound is None if it is left open, as in "A:C".
            areas.append(_Area(*cast("tuple[int, int, int, int]", range_boundaries(attributes["ref"]))))
            merged += areas[-1].size
            if merged > MAX_MERGED:
                raise too_large_error(file, f"has more than {MAX_MERGED:,} merged cells")

    parser.StartDoctypeDeclHandler = refuse
    with archive.open(path) as source:
        end = b""
        while chunk := source.read(_CHUNK):
            # UTF-16 has other bytes for these names.
            wide = not end and (b"\0" in chunk[:4] or chunk[:2] in (b"\xff\xfe", b"\xfe\xff"))
            seen = end + chunk
            computed = computed or wide or _FORMULA.search(seen) is not None
            if wide or _MERGED in seen:
                parser.StartElementHandler = look
            parser.Parse(chunk)
            done += len(chunk)
            if done - parser.CurrentByteIndex > MAX_XML:
                raise too_large_error(file, f"has a tag of more than {MAX_XML // 2**20} MiB")
            end = chunk[-len(_MERGED) :]
        parser.Parse(b"", True)
    return areas, computed


class _MergedCells:
    """Copies the value of a merged cell to every row that it covers."""

    def __init__(self, areas: Iterable[_Area]) -> None:
        self._beginning: dict[int, list[_Area]] = {}
        for area in areas:
            self._beginning.setdefault(area.top, []).append(area)
        self._covered: dict[int, tuple[int, Cell | None]] = {}

    def split(self, line: int, cells: dict[int, Cell]) -> tuple[dict[int, Cell], dict[int, Cell]]:
        """Return the cells of a row with their own value, and those that take the value of a merged cell begun above.

        Must be called for the rows in their order.
        """
        self._covered = {column: found for column, found in self._covered.items() if found[0] >= line}
        spread = {column: cell for column, (_, cell) in self._covered.items() if cell is not None}
        own = {column: cell for column, cell in cells.items() if column not in self._covered}
        for area in self._beginning.pop(line, ()):
            for column in range(area.left, area.right + 1):
                self._covered[column] = (area.bottom, own.get(column) if column == area.left else None)
                if column > area.left:
                    own.pop(column, None)
        return own, spread


def _mark_unstored(values: Mapping[int, Cell], formulas: Mapping[int, Cell]) -> None:
    """Mark as formulas the values that are not stored, as programs other than Excel leave them."""
    for column, cell in formulas.items():
        if cell["data_type"] == "f" and values[column]["value"] is None:
            values[column]["data_type"] = "f"


def _choose_sheet(book: _Book, title: str | None, file: SourceFile) -> str:
    """Return the name within the archive of the sheet to read."""
    if title is not None:
        if title not in book.sheets:
            raise UsageError(f"{file.path} has no sheet {title!r}. Its sheets: {', '.join(book.sheets)}.")
        return book.sheets[title]
    tables = {
        title: path
        for title, path in book.sheets.items()
        if title in book.visible and any(_count_texts(cells) >= 2 for _, cells in book.parse_rows(path))
    }
    if len(tables) > 1:
        raise file.error(f"several sheets have a table: {list_columns(tables)}", fix="Choose one with --sheet NAME.")
    if not tables:
        problem = "no sheet has a row with two texts or more, which would be the header"
        raise file.error(problem, fix="Give a table with the names of its columns in one row.")
    ((title, path),) = tables.items()
    if len(book.sheets) > 1:
        _log.warning("%s: read from the sheet %r, the only one with a table", file.path, title)
    return path


def _count_texts(cells: Mapping[int, Cell]) -> int:
    return sum(isinstance(cell["value"], str) and bool(cell["value"].strip()) for cell in cells.values())


def _read_header(cells: Mapping[int, Cell], line: int, areas: Iterable[_Area], file: SourceFile) -> list[str]:
    from openpyxl.utils import get_column_letter

    for area in areas:
        if area.top <= line <= area.bottom and area.right > area.left:
            first, last = get_column_letter(area.left), get_column_letter(area.right)
            raise file.error(
                f"the header cells {first}{area.top}:{last}{area.bottom} are merged",
                line=line,
                unit="row",
                fix="Give each column a name of its own, in one row.",
            )
    texts = [str(read_value(cells.get(column))) for column in range(1, max(cells) + 1)]
    if line > 1:
        _log.warning("%s: the header is row %d", file.path, line)
    return read_header(texts, file, line=line, unit="row")
