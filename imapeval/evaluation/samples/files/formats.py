"""The formats of files, and how one is recognised: by its first bytes, then by its name, then by its first line."""

from __future__ import annotations

import codecs
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from imapeval.evaluation.samples.files.delimited import read_delimited
from imapeval.evaluation.samples.files.excel import UNREADABLE_ARCHIVE, read_excel
from imapeval.evaluation.samples.files.json_files import read_json
from imapeval.evaluation.samples.files.parquet import ARROW_MARKS, read_arrow, read_parquet
from imapeval.evaluation.samples.files.text_lines import find_wide_encoding, open_source
from imapeval.evaluation.samples.rows import DEFAULT_OPTIONS
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from imapeval.evaluation.loader_names import FileFormat
    from imapeval.evaluation.samples.files.text_lines import SourceFile
    from imapeval.evaluation.samples.rows import ReadOptions, Row

_READERS: Mapping[FileFormat, Callable[[SourceFile, ReadOptions], Iterator[Row]]] = {
    "jsonl": partial(read_json, by_line=True),
    "json": read_json,
    "csv": read_delimited,
    "tsv": read_delimited,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "xlsx": read_excel,
}

FORMATS_BY_SUFFIX: Mapping[str, FileFormat] = {
    **{f".{name}": name for name in _READERS},
    ".ndjson": "jsonl",
    ".tab": "tsv",
    ".xlsm": "xlsx",
}

SUFFIXES = tuple(f".{name}" for name in _READERS)
"""The file types of the formats."""


def is_data_file(path: Path) -> bool:
    """Return whether a file is named as one of the formats (perhaps with .gz), not hidden, and does not hold imaps.

    With "~$" begin the names of the files by which Excel marks a workbook as open, hidden on Windows only.
    """
    name = path.name.lower().removesuffix(".gz")
    # What `imapeval extract` writes may lie beside the data it was made from.
    is_imaps = name == "imaps.jsonl" or name.endswith("-imaps.jsonl")
    return Path(name).suffix in FORMATS_BY_SUFFIX and not name.startswith((".", "~$")) and not is_imaps


_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
"""The first bytes of .xls, and of Excel files with a password (Microsoft, "Compound File Binary File Format")."""

_log = get_logger(__name__)


def read_file(source: str, options: ReadOptions = DEFAULT_OPTIONS, *, kind: FileFormat | None = None) -> Iterator[Row]:
    """Yield the rows of a file, lazily where its format allows.

    Args:
        source: A path, or "-" for standard input. Any file may be packed with gzip.
        options: How to read it.
        kind: Its format; None recognises it.

    Raises:
        InputError: The file is missing or empty, its format is unknown, or its content is at fault.
        UsageError: An option does not fit the file.
        MissingExtraError: A required package is not installed.
    """
    with open_source(source) as file:
        read_as = kind or _recognise(file)
        if options.sheet is not None and read_as != "xlsx":
            raise file.error(
                f"is read as {read_as}, which has no sheets such as {options.sheet!r}",
                fix="Leave out --sheet, or give an Excel file.",
            )
        yield from _READERS[read_as](file, options)


FILE_LOADERS: Mapping[str, Callable[..., Iterator[Row]]] = {name: partial(read_file, kind=name) for name in _READERS}
"""`read_file` for each format."""


def _recognise(file: SourceFile) -> FileFormat:
    named = FORMATS_BY_SUFFIX.get(file.suffix)
    found = _recognise_binary(file) or named or _recognise_text(file)
    if named is not None and found != named:
        _log.warning("%s: read as %s, despite its name", file.path, found)
    return found


def _recognise_binary(file: SourceFile) -> FileFormat | None:
    head = file.peek()
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(ARROW_MARKS):
        return "arrow"
    if head.startswith(b"PK\3\4"):
        if _holds_workbook(file):
            return "xlsx"
        raise file.error("a ZIP archive that is not an Excel file", fix="Unpack it, and give one file.")
    if head.startswith(_OLD_EXCEL):
        raise file.error(
            "an Excel file of the old format, or with a password", fix="Save it as .xlsx, without a password."
        )
    return None


def _holds_workbook(file: SourceFile) -> bool:
    try:
        with ZipFile(file.stream) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except UNREADABLE_ARCHIVE:
        return False
    finally:
        file.stream.seek(0)


def _recognise_text(file: SourceFile) -> FileFormat:
    head = file.peek()
    if (wide := find_wide_encoding(head)) is not None:
        head = head.decode(wide, "ignore").encode()
    head = head.removeprefix(codecs.BOM_UTF8).strip()
    if head.startswith((b"{", b"[")):
        return "json"
    first = next(iter(head.splitlines()), b"")
    if any(mark in first for mark in b",\t;|") and min(first) >= ord("\t"):
        return "csv"
    raise file.error(
        f"unknown file type {file.suffix!r}" if file.suffix else "the type of the file is not recognised",
        fix=f"Give a file of type {', '.join(SUFFIXES)}, or say how to read it with --loader.",
    )
