"""The SQLite file of a compiled graph: opening it read-only, checking that it is one, and querying it."""

from __future__ import annotations

import sqlite3
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from imapeval._resources import find
from imapeval.errors import ResourceError, UsageError
from imapeval.graph.store.schema import APPLICATION_ID, SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

GRAPH_FILE = "graph.sqlite"
"""Name of the graph in its folder."""

_HEADER_BYTES = 100
"""Size of an SQLite file header (https://sqlite.org/fileformat2.html, section 1.3)."""

_MMAP_SIZE = 0x7FFF0000
"""Bytes of the file that are memory-mapped, the maximum of SQLite (https://sqlite.org/mmap.html)."""

# SQLite binds at most 999 values to a statement in builds before 3.32; 500 stays clear of it.
_BATCH = 500

_CACHED_ROWS = 1 << 16
"""Rows of concepts that are cached: 12 MB."""


class GraphDatabase:
    """An open file; safe to share between threads.

    Attributes:
        path: Where it is.
        meta: Its metadata.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, meta: dict[str, str]) -> None:
        """Open with `open_database` instead of calling this."""
        self.path = path
        self.meta = meta
        self._connection = connection
        # One connection for all threads; without a lock only some builds of SQLite allow that.
        self._lock = threading.Lock()
        self._find_known_row = lru_cache(maxsize=_CACHED_ROWS)(self._query_row)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            self._connection.close()

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Return all rows of a query.

        Raises:
            UsageError: The file is closed.
            ResourceError: It is damaged.
        """
        with self._lock:
            try:
                return self._connection.execute(statement, tuple(values)).fetchall()
            except UnicodeEncodeError:
                return []  # a lone surrogate, which the file cannot contain
            except sqlite3.ProgrammingError:
                raise UsageError(f"the graph {self.path} is closed. Open it again with Graph.open().") from None
            # Damaged text is not always an error of SQLite.
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                self.report_damage(str(error))

    def report_damage(self, problem: str) -> NoReturn:
        """Raise a ResourceError for content that no graph has."""
        _raise_unusable(self.path, f"is damaged ({problem})")

    def require_type(self, kind: type, cells: Iterable[object], column: str) -> None:
        """Check cells of a column: SQLite stores any type in it.

        Raises:
            ResourceError: One is of another type.
        """
        if wrong := set(map(type, cells)) - {kind}:
            self.report_damage(f"{column} must be {kind.__name__}, not {wrong.pop().__name__}")

    def query_in(self, clause: str, numbers: Iterable[int]) -> list[Any]:
        """Return the rows of SELECT <clause> IN (numbers), in as many statements as it takes."""
        # SQLite takes the integers of numpy, which the indexes return, for bytes.
        ordered = sorted(set(map(int, numbers)))
        found: list[Any] = []
        for start in range(0, len(ordered), _BATCH):
            batch = ordered[start : start + _BATCH]
            found += self.query(f"SELECT {clause} IN ({','.join('?' * len(batch))}) ORDER BY 1", batch)
        return found

    def find_row(self, concept_id: object) -> int | None:
        """Return the row of a concept, by its id or an alias; None where there is none."""
        if not isinstance(concept_id, str):
            # SQLite has the same error for a parameter of another type as for a closed file.
            return None
        return self._find_known_row(concept_id)

    def _query_row(self, concept_id: str) -> int | None:
        rows = self.query("SELECT id FROM concept WHERE curie = ?", (concept_id,)) or self.query(
            "SELECT concept FROM alias WHERE alias = ?", (concept_id,)
        )
        return rows[0][0] if rows else None

    def row_of(self, concept_id: str) -> int:
        """Return the row of a concept, by its id or an alias.

        Raises:
            UsageError: There is none.
        """
        number = self.find_row(concept_id)
        if number is None:
            raise UsageError(
                f"the graph {self.path} has no concept {concept_id!r}. Ids look like 'DOID:255'; "
                "find them with Graph.lookup(), or in the evidence of 'imapeval relate --json'."
            )
        return number

    def read_concept(self, columns: str, concept_id: str) -> Any:
        """Return columns of a concept, by its id or an alias.

        Raises:
            UsageError: There is none.
        """
        rows = self.query(f"SELECT {columns} FROM concept WHERE id = ?", (self.row_of(concept_id),))
        if not rows:
            self.report_damage(f"the concept of the alias {concept_id!r} is missing")
        return rows[0]

    def query_ids(self, statement: str, number: int) -> tuple[str, ...]:
        """Return the only column of a query with one parameter."""
        return tuple(concept_id for (concept_id,) in self.query(statement, (number,)))

    def ids_of(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return {row: id} of concepts."""
        wanted = set(numbers)
        ids = dict(self.query_in("id, curie FROM concept WHERE id", wanted))
        if len(ids) < len(wanted):
            self.report_damage("the concept of an edge is missing")
        return ids


def open_database(path: Path | None) -> GraphDatabase:
    """Open a compiled graph read-only.

    Args:
        path: The file or its folder; None for the shipped graph.

    Raises:
        ResourceError: The file is missing, truncated, not a compiled graph, or of another schema version.
    """
    path = find("kg") if path is None else Path(path)
    if path.is_dir():
        path /= GRAPH_FILE
    _check_header(path)
    try:
        uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        _raise_unusable(path, f"cannot be opened ({error})")
    try:
        connection.execute(f"PRAGMA mmap_size = {_MMAP_SIZE}")
        # All names of a language are sorted at once: in a temporary file, which finds no room where the disk is full.
        connection.execute("PRAGMA temp_store = MEMORY")
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        "".join((*meta, *meta.values(), meta["hash"]))  # a TypeError where one is not text
        for key in ("concepts", "names", "edges", "parts"):
            int(meta[key])
    except (sqlite3.Error, KeyError, ValueError, TypeError) as error:
        connection.close()
        _raise_unusable(path, f"has no readable metadata ({error})")
    return GraphDatabase(path, connection, meta)


def _raise_unusable(path: Path, problem: str) -> NoReturn:
    """Raise a ResourceError that names the file, the problem and the fix."""
    raise ResourceError(
        f"the graph {path} {problem}. Reinstall imapeval, or rebuild the file: 'imapeval kg build' for your own graph, "
        "'python kg/build.py' in a checkout for the shipped one."
    ) from None


def _check_header(path: Path) -> None:
    # Checked here, so that an incomplete download is reported at opening and not by the first query of a missing page.
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        size = path.stat().st_size
    except OSError as error:
        _raise_unusable(path, f"cannot be read ({error.strerror})")
    if len(header) < _HEADER_BYTES or not header.startswith(b"SQLite format 3\0"):
        _raise_unusable(path, "is not an SQLite file")
    page = int.from_bytes(header[16:18], "big")
    expected = (1 << 16 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if size != expected:
        _raise_unusable(path, f"is truncated: it has {size} of {expected} bytes")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        _raise_unusable(path, "is an SQLite file, but not a graph of imapeval")
    version = int.from_bytes(header[60:64], "big")
    if version != SCHEMA_VERSION:
        _raise_unusable(path, f"has schema version {version}, but this imapeval reads version {SCHEMA_VERSION}")
