"""CSV whose cells neither a spreadsheet executes as formulas (CSV injection) nor a terminal obeys."""

from __future__ import annotations

import csv
import io
import unicodedata
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, Any

from imapeval.redaction import make_printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FORMULA_PREFIXES = frozenset("=+-@")
"""Characters that begin a formula in a spreadsheet (OWASP, "CSV Injection"), also in their full-width forms."""

_CONTROL_PREFIXES = ("\t", "\r")
"""Characters that spreadsheets drop at the beginning of a cell, or that split a cell in some (likewise OWASP)."""

_IGNORABLE = frozenset("\"'`´‚„「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣\u115f\u1160\u2800\u3164\uffa0")
"""Characters that are ignored at the beginning of a cell, besides whole categories: quotation marks (Unicode,
Quotation_Mark), accents used as such, and invisible characters (Default_Ignorable_Code_Point; blank Braille)."""


def dump_csv(header: Iterable[object], rows: Iterable[Iterable[object]]) -> bytes:
    """Return a table as the bytes of a CSV file.

    None becomes an empty cell. Texts that begin like a formula, possibly after blanks, line breaks, quotation marks or
    invisible characters, are prefixed with an apostrophe. This cannot help in a spreadsheet that splits at semicolons,
    because then cells begin in the middle of a text. Texts are shown by `show_text`.
    """
    return b"".join(iterate_csv(header, rows))


def dump_records(kind: type[Any], records: Iterable[Any]) -> bytes:
    """Return dataclasses of one kind as `dump_csv` does, with a column for each field."""
    names = [field.name for field in fields(kind)]
    return dump_csv(names, ([getattr(record, name) for name in names] for record in records))


def iterate_csv(header: Iterable[object], rows: Iterable[Iterable[object]]) -> Iterator[bytes]:
    """Yield the lines of what `dump_csv` returns."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    for row in chain((header,), rows):
        writer.writerow(map(_make_harmless, row))
        # Lone surrogates, which an id may hold, cannot be encoded in UTF-8.
        yield buffer.getvalue().encode(errors="replace")
        buffer.seek(0)
        buffer.truncate()


def show_text(text: str) -> str:
    """Return the text as a cell shows it: made printable (`make_printable`), with a line feed for every line break."""
    return make_printable(text.replace("\r\n", "\n").replace("\r", "\n"))


def _make_harmless(cell: object) -> object:
    return "'" * may_be_formula(cell) + show_text(cell) if isinstance(cell, str) else cell


def may_be_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a text for a formula."""
    first = next((character for character in text if not _is_ignorable(character)), "")
    return text.startswith(_CONTROL_PREFIXES) or unicodedata.normalize("NFKC", first) in _FORMULA_PREFIXES


def _is_ignorable(character: str) -> bool:
    category = unicodedata.category(character)
    # Control and invisible characters, separators, combining marks, quotation marks.
    return category[0] in "CZ" or category in {"Mn", "Me", "Pi", "Pf"} or character in _IGNORABLE
