"""What a cell of an Excel file shows."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

from imapeval.evaluation.samples.rows import UnusableCell

Cell = dict[str, Any]
"""`row` and `column` from 1, `value`, and `data_type`: "e" for an error, "f" for a formula without its value."""


def read_value(cell: Cell | None) -> Any:
    """Return the value of a cell: "" if it is empty, a date as 2024-05-31, with its time as 2024-05-31 14:30:00."""
    from openpyxl.utils.escape import unescape

    value = None if cell is None else cell["value"]
    if cell is None or (value is None and cell["data_type"] != "f"):
        return ""
    if value is None:
        return UnusableCell(f"the formula in {_name_place(cell)} has no stored value", "")
    if cell["data_type"] == "e":
        return UnusableCell(f"the cell {_name_place(cell)} holds the error {value}", value)
    if isinstance(value, str):
        return unescape(value)  # ECMA-376, part 1, ST_Xstring: "_x000D_" is a carriage return, "_x005F_" an underscore
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    return str(value) if isinstance(value, date | time | timedelta) else value


def _name_place(cell: Cell) -> str:
    from openpyxl.utils import get_column_letter

    return f"{get_column_letter(cell['column'])}{cell['row']}"
