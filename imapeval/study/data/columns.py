"""The columns that a table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import error_at, list_columns

if TYPE_CHECKING:
    from collections.abc import Set
    from pathlib import Path

    from imapeval.errors import InputError
    from imapeval.evaluation.samples.rows import Row


def refuse_missing_column(row: Row, path: Path, name: str, *, fix: str) -> InputError:
    """Return the error about a column that a row does not have; those that it has follow the fix."""
    return error_at(row, path, f"there is no column {name!r}", fix=f"{fix}: {list_columns(row.fields)}.")


def find_columns(path: Path) -> Set[str]:
    """Return the columns of a table's first row; none where the file is no table, but a folder or a log of a harness.

    Raises:
        InputError: The table cannot be read.
    """
    if not path.is_file() or path.suffix in {".eval", ".json"}:
        return frozenset()
    row = next(iter(read_file(str(path))), None)
    return frozenset() if row is None else row.fields.keys()
