"""Rows of large tables without quoting: RRF (cells end with "|") and RF2 (cells are separated by tabs)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.readers.base import Source

_CHUNK = 1 << 20
"""Bytes read at a time where line ends are looked for."""


def read_rows(source: Source, path: Path, *, separator: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of every row; blank lines are left out, rows of another width are problems.

    Args:
        source: Takes the problems.
        path: The table.
        separator: Stands between two cells. A row of RRF ends with one, so that its last cell is empty.
        width: Cells of a row, the empty last one of RRF counted.

    Raises:
        InputError: It cannot be read, is empty, was cut off, or no row has this width.
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
            f"no line of it has {width} cells" if number else "there is no line in it that can be read",
            path=path,
            fix="Copy it from the release again.",
        )


def check_complete(path: Path, *, separator: str, width: int) -> None:
    """Refuse a table that was cut off, before anything of it is read.

    What is compressed is left alone: it says itself where it ends, and `read_rows` looks at its last line.

    Raises:
        InputError: The last line is incomplete.
    """
    if path.suffix == ".gz":
        return
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _CHUNK))
            last = file.read().rpartition(b"\n")[2]
            # A row of RRF ends with its separator: one that has it is whole, and merely lacks the line end. Where a row
            # of RF2 stops in its last cell nobody can tell.
            if not last or (separator == "|" and last.count(b"|") >= width - 1):
                return
            file.seek(0)
            ends = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(_CHUNK), b""))
    except OSError as error:
        raise InputError(
            f"it cannot be read ({error.strerror or error})", path=path, fix="Give a file that you may read."
        ) from error
    raise _make_cut_error(path, ends + 1)


def _make_cut_error(path: Path, line: int) -> InputError:
    return InputError(
        "the file was cut off in the middle of this line", path=path, line=line, fix="Copy it from the release again."
    )
