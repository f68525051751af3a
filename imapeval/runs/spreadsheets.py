"""CSV cells that a spreadsheet shows and does not run."""

from __future__ import annotations

from typing import TypeVar

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection")."""

_Cell = TypeVar("_Cell")


def disarm(cell: _Cell) -> _Cell | str:
    """Return a cell as it is written: a number as it is, a text so that nobody's spreadsheet runs it.

    A text that begins like a formula gets an apostrophe before it. None becomes an empty cell.
    """
    if cell is None:
        return ""
    # "*" and "-0.5" from a number are no texts; a text that begins like a formula is one, whatever follows.
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
