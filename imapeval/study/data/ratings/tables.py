"""Tables of ratings.

    wide: a row per answer, or per answer and rater; a column per dimension
          id,accuracy,completeness           id,rater,accuracy,completeness
          a1,4.5,4                           a1,anna,4,4

    long: a row per rating
          id,dimension,rating                id,rater,dimension,rating
          a1,accuracy,4.5                    a1,anna,accuracy,4

    wide, with a column per dimension and rater: with --map accuracy=anna:anna_accuracy,ben:ben_accuracy
          id,anna_accuracy,ben_accuracy
          a1,4,5

Ids may repeat between the systems that a column `system` names; all ids are then ID/SYSTEM, as in the data of a run.

Where columns are named `ratings.<dimension>`, or a JSON record has an object `ratings`, only these are ratings, so a
data file that contains ratings can be read directly.

Of a study's `imapeval rate export --all`, only the rows whose `kind` is `rating` are read.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.rows import is_blank, list_columns, read_number_of, short_repr
from imapeval.study.data.ratings.source import COLUMN_ROLES, RatingEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from imapeval.evaluation.samples.rows import Row
    from imapeval.study.data.ratings.source import RatingsSource

_PREFIX = "ratings."

_SEPARATORS = "_- .:"
"""What stands between a rater and a dimension in the name of a column."""

STUDY_KINDS = frozenset({"training", "rating", "repeat", "gold", "attention", "adjudication"})
"""The values of the column `kind` in a study's export."""

_NUMBERED = re.compile(r"\D{0,20}\d+")
"""Names such as "r1" and "Rater 2": of raters rather than dimensions."""


def read_table(source: RatingsSource) -> Iterator[RatingEntry]:
    """Yield the ratings of a table.

    Raises:
        InputError: A column is missing, or a cell has an invalid value.
    """
    rows = _leave_out_kinds(source, [replace(row, fields=_flatten(row, source)) for row in source.rows])
    if any(isinstance(row.fields.get("ratings"), dict) for row in source.rows):
        _require_objects(source)
    found = dict.fromkeys(name for row in rows for name in row.fields)
    by_rater = {
        name: raters
        for name, text in source.columns.items()
        if name not in COLUMN_ROLES and (raters := _split_raters(text, found))
    }
    for name, text in source.columns.items():
        for column in [column for column, _ in by_rater.get(name, ())] or [text]:
            if column not in found:
                raise InputError(
                    f"{name!r} is mapped to the column {column!r}, which no row has; the columns are "
                    f"{list_columns(found)}",
                    path=source.path,
                    fix=f"Correct --map {name}={text}.",
                )
    roles = {role: source.columns.get(role, role) for role in COLUMN_ROLES}
    rater = roles["rater"] if roles["rater"] in found else None
    system = _find_system(source, rows, roles.pop("system"))
    known = {*roles.values(), system}
    if roles["dimension"] in found and roles["rating"] in found:
        source.unread.update((name, None) for name in found if name not in known)
        entries = _read_long(source, rows, roles, rater)
    elif roles["dimension"] in found:
        raise InputError(
            f"there is a column {roles['dimension']!r} but none named 'rating'; the columns are {list_columns(found)}",
            path=source.path,
            fix="Name the column of the numbers with --map rating=<column>.",
        )
    else:
        # A column without a name is the index that pandas writes, never a rating.
        source.unread.update((name, None) for name in found if not name)
        others = [name for name in found if name and name not in (roles["id"], system)]
        cells = _find_cells_by_rater(source, others, by_rater) if by_rater else _find_cells(source, others, rater)
        entries = _read_wide(source, rows, cells, None if by_rater else rater)
    for entry in entries:
        name = None if system is None else entry.row.fields.get(system)
        source.require_usable(name, entry.row)
        yield entry if is_blank(name) else replace(entry, system=str(name).strip())


def _leave_out_kinds(source: RatingsSource, rows: list[Row]) -> list[Row]:
    """Return the rows without those of a study's export that are practice, checks, repeats or adjudication.

    A table without a row of kind `rating`, such as one of adjudications alone, is read as it is.
    """
    kinds = [row.fields.get("kind") for row in rows]
    is_export = "rating" in kinds and all(isinstance(kind, str) and kind in STUDY_KINDS for kind in kinds)
    if not is_export or "kind" in source.columns.values() or "kind" in (source.wanted or ()):
        return rows
    source.left_out.update(f"rows of the kind {kind!r}" for kind in kinds if kind != "rating")
    return [row for row, kind in zip(rows, kinds, strict=True) if kind == "rating"]


def _find_system(source: RatingsSource, rows: list[Row], column: str) -> str | None:
    """Return the column that names the systems; None if there is none, or if it holds the ratings of a dimension."""
    named = "system" in source.columns or any(
        not is_blank(value := row.fields.get(column)) and read_number_of(row, value) is None for row in rows
    )
    return column if named and "system" not in (source.wanted or ()) else None


def _read_long(
    source: RatingsSource, rows: list[Row], roles: Mapping[str, str], rater: str | None
) -> Iterator[RatingEntry]:
    for row in rows:
        id_ = source.read_id(row.fields, row)
        named = row.fields.get(roles["dimension"])
        source.require_usable(named, row)
        if not isinstance(named, str) or not named.strip():
            raise source.error_at(
                f"the dimension is {short_repr(named)}",
                row,
                fix="Name what was rated, such as accuracy, in every row.",
            )
        dimension = named.strip().removeprefix(_PREFIX)
        if source.wanted is None or dimension in source.wanted:
            value = source.read_value(row.fields.get(roles["rating"]), row, what=dimension)
            yield RatingEntry(id_, dimension, _read_rater(source, row, rater), value, row)
        else:
            source.unread[dimension] = None


def _read_wide(
    source: RatingsSource, rows: list[Row], cells: Mapping[str, tuple[str, str]], rater: str | None
) -> Iterator[RatingEntry]:
    for row in rows:
        id_ = source.read_id(row.fields, row)
        who = _read_rater(source, row, rater)
        for column, (dimension, of_column) in cells.items():
            value = source.read_value(row.fields.get(column), row, what=dimension)
            yield RatingEntry(id_, dimension, of_column or who, value, row)


def _find_cells(source: RatingsSource, found: Sequence[str], rater: str | None) -> dict[str, tuple[str, str]]:
    """Return the dimension of each column, and "" for its rater."""
    columns = [name for name in found if name != rater]
    marked = [name for name in columns if name.startswith(_PREFIX) or name in source.columns.values()]
    if any(name.startswith(_PREFIX) for name in marked):
        source.unread.update((name, None) for name in columns if name not in marked)
        columns = marked
    cells = {column: (dimension, "") for column in columns if (dimension := source.dimension_of(column)) is not None}
    if rater is None and (note := _describe_grid(list(cells))):
        source.notes[note] = None
    return cells


def _find_cells_by_rater(
    source: RatingsSource, found: Sequence[str], by_rater: Mapping[str, Sequence[tuple[str, str]]]
) -> dict[str, tuple[str, str]]:
    """Return the dimension and the rater of each column; others are not read.

    Raises:
        UsageError: A role, or another dimension, is mapped in another way, or a column is named twice.
    """
    cells: dict[str, tuple[str, str]] = {}
    for name, column in source.columns.items():
        if name in ("id", "system"):
            continue
        if name not in by_rater:
            raise UsageError(
                f"--map {name}={column}: other dimensions have a column for each rater. Write all as "
                f"--map {next(iter(by_rater))}=RATER:COLUMN,RATER:COLUMN."
            )
        for own, rater in by_rater[name]:
            if own in cells:
                dimension, other = cells[own]
                raise UsageError(
                    f"--map names the column {own!r} twice: for {dimension!r} by {other!r} and for {name!r} by "
                    f"{rater!r}. Keep one."
                )
            cells[own] = (name, rater)
    source.unread.update((name, None) for name in found if name not in cells)
    if source.wanted is not None:
        source.unread.update((name, None) for name in by_rater if name not in source.wanted)
        cells = {column: cell for column, cell in cells.items() if cell[0] in source.wanted}
    return cells


def _split_raters(text: str, found: Collection[str]) -> list[tuple[str, str]]:
    """Return each column and its rater in a text such as "anna:anna_accuracy,ben:ben_accuracy"; [] for other texts."""
    parts = [part.partition(":") for part in text.split(",")]
    pairs = [(column.strip(), rater.strip()) for rater, _, column in parts]
    return pairs if text not in found and all(map(all, pairs)) else []


def _describe_grid(columns: Sequence[str]) -> str:
    """Return how to read columns that are named after raters and dimensions, as in "anna_accuracy"; "" for others."""
    for separator in _SEPARATORS:
        named = [column for column in columns if separator in column.removeprefix(_PREFIX) and "," not in column]
        for split in (str.partition, str.rpartition):
            parts = {column: split(column.removeprefix(_PREFIX), separator)[::2] for column in named}
            first, last = (
                (list(dict.fromkeys(names)) for names in zip(*parts.values(), strict=True)) if parts else ((), ())
            )
            if min(len(first), len(last)) < 2 or len(parts) != len(first) * len(last) or "" in (*first, *last):
                continue
            if all(map(_NUMBERED.fullmatch, last)) and not all(map(_NUMBERED.fullmatch, first)):
                parts = {column: pair[::-1] for column, pair in parts.items()}
                first, last = last, first
            options: list[str] = []
            for dimension in last:
                pairs = [(column, rater) for column, (rater, of) in parts.items() if of == dimension]
                text = ",".join(f"{rater}:{column}" for column, rater in pairs)
                # --map cannot express all names.
                if dimension in COLUMN_ROLES or "=" in dimension or _split_raters(text, columns) != pairs:
                    return ""
                options.append(f"{dimension}={text}")
            return (
                f"The columns are named after {', '.join(first)} and {', '.join(last)}. If {' and '.join(first)} are "
                f"raters, read their ratings as such with {' '.join(f'--map {shlex.quote(text)}' for text in options)}."
            )
    return ""


def _read_rater(source: RatingsSource, row: Row, column: str | None) -> str:
    if column is None:
        return ""
    value = row.fields.get(column)
    source.require_usable(value, row)
    if isinstance(value, (str, int)) and not isinstance(value, bool) and str(value).strip():
        return str(value).strip()
    raise source.error_at(
        f"the {column!r} is {short_repr(value)}, which is not a name",
        row,
        fix="Name the rater in every row, or in none.",
    )


def _require_objects(source: RatingsSource) -> None:
    """Refuse a row whose `ratings` are no object where those of others are: they would be left out."""
    for row in source.rows:
        given = row.fields.get("ratings")
        if not (given is None or isinstance(given, dict)):
            raise source.error_at(
                f"'ratings' is {short_repr(given)}, not an object as elsewhere", row, fix='Write {"accuracy": 4.5}.'
            )


def _flatten(row: Row, source: RatingsSource) -> dict[str, Any]:
    """Return the fields, with those of an object `ratings` named `ratings.<dimension>`."""
    nested = row.fields.get("ratings")
    if not isinstance(nested, dict):
        return dict(row.fields)
    fields = {name: value for name, value in row.fields.items() if name != "ratings"}
    for dimension, value in cast("dict[str, Any]", nested).items():
        if _PREFIX + dimension in fields:
            raise source.error_at(
                f"the dimension {dimension!r} is in 'ratings' and in a separate column", row, fix="Keep one."
            )
        fields[_PREFIX + dimension] = value
    return fields
