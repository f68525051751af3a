"""CSV whose cells a spreadsheet shows and does not run."""

from __future__ import annotations

import csv
import io
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORMULA_PREFIXES = frozenset("=+-@")
"""What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection"), in whatever width it is written."""

_CONTROL_PREFIXES = ("\t", "\r")
"""What it drops at the beginning of a cell, and what makes two cells of one in some (likewise OWASP)."""

_IGNORABLE = frozenset("\"'`´‚„「」『』〝〞〟﹁﹂﹃﹄＂＇｢｣\u115f\u1160\u2800\u3164\uffa0")
"""Beside whole categories of characters: quotation marks (Unicode, Quotation_Mark), accents used as such, and what has
no ink though it is no blank (Default_Ignorable_Code_Point; Braille)."""


def dump_csv(header: Iterable[object], rows: Iterable[Iterable[object]]) -> bytes:
    """Return a table as the bytes of a CSV file.

    Numbers are written as they are, None as an empty cell. A text that begins like a formula, be it behind blanks, line
    breaks, quotation marks or what cannot be seen, gets an apostrophe before it.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(map(_escape_formula, header))
    writer.writerows(map(_escape_formula, row) for row in rows)
    # Half a character, from an id, is no UTF-8.
    return buffer.getvalue().encode(errors="replace")


def _escape_formula(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and _may_be_formula(cell) else cell


def _may_be_formula(text: str) -> bool:
    first = next((character for character in text if not _is_ignorable(character)), "")
    return text.startswith(_CONTROL_PREFIXES) or unicodedata.normalize("NFKC", first) in _FORMULA_PREFIXES


def _is_ignorable(character: str) -> bool:
    category = unicodedata.category(character)
    # Controls and what is invisible, separators, marks without a letter, quotation marks.
    return category[0] in "CZ" or category in {"Mn", "Me", "Pi", "Pf"} or character in _IGNORABLE
