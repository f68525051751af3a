"""The compiled graph: one SQLite file, opened read-only, read by id, by name or by language.

Nothing is loaded at opening beyond a page of metadata, so that a graph of millions of names opens as fast as a small
one. `imapeval.graph.writer` writes such files.
"""

from __future__ import annotations

import sqlite3
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import quote

from imapeval._resources import find
from imapeval.errors import ResourceError, UsageError
from imapeval.graph.model import Concept, Name
from imapeval.graph.normalise import normalise
from imapeval.graph.schema import APPLICATION_ID, SCHEMA_VERSION, is_too_short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import networkx as nx

    from imapeval.graph.model import ConceptType
    from imapeval.types import Lang

# SQLite binds at most 999 values to a statement in builds before 3.32; 500 stays clear of it.
_BATCH = 500
_HEADER_BYTES = 100
"""Size of an SQLite file header (https://sqlite.org/fileformat2.html, section 1.3)."""


class Graph:
    """A medical knowledge graph on disk; safe to share between threads.

    Open one with `Graph.open()`, close it with `close()` or a `with` statement:

        with Graph.open() as graph:
            for concept_id in graph.lookup("ibuprofen"):
                print(graph.concept(concept_id).label, graph.ancestors(concept_id))

    Attributes:
        path: The file.
        hash: SHA-256 of the content (concepts, names, edges, stop list) in hexadecimal. Two files with the same hash
            answer every question alike.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, meta: dict[str, str]) -> None:
        """Not for callers: use `Graph.open`."""
        self.path = path
        self.hash = meta["hash"]
        self._meta = meta
        self._connection = connection
        # One connection for all threads. SQLite may be built to allow that without a lock, but need not be.
        self._lock = threading.Lock()
        self._tables: dict[Lang, dict[str, tuple[str, ...]]] = {}
        self._ancestors = lru_cache(maxsize=1 << 16)(self._find_ancestors)

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open a compiled graph.

        Args:
            path: The file; None opens the graph that ships with imapeval.

        Raises:
            ResourceError: The file is absent, truncated, not a compiled graph, or of another schema version.
        """
        path = find("kg", "graph.sqlite") if path is None else Path(path)
        _check_file(path)
        try:
            uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
            connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            _refuse(path, f"cannot be opened ({error})")
        try:
            meta = dict(connection.execute("SELECT key, value FROM meta"))
            return cls(path, connection, meta)
        except (sqlite3.Error, KeyError) as error:
            connection.close()
            _refuse(path, f"has no readable metadata ({error})")

    def close(self) -> None:
        """Close the file. A closed graph answers nothing any more; closing twice is harmless."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of concepts."""
        return int(self._meta["concepts"])

    def __contains__(self, concept_id: object) -> bool:
        return bool(self._rows("SELECT 1 FROM concept WHERE curie = ?", (concept_id,)))

    def concept(self, concept_id: str) -> Concept:
        """Return the concept with this id.

        Raises:
            UsageError: The graph has no such concept.
        """
        rows = self._rows("SELECT id, label, type FROM concept WHERE curie = ?", (concept_id,))
        if not rows:
            self._refuse_id(concept_id)
        number, label, kind = rows[0]
        parents = self._rows(
            "SELECT p.curie FROM edge JOIN concept p ON p.id = edge.parent WHERE edge.child = ? ORDER BY p.id",
            (number,),
        )
        return Concept(concept_id, label, kind, tuple(curie for (curie,) in parents))

    def is_general(self, concept_id: str) -> bool:
        """Tell whether a concept is so broad that being under it says little, such as "disease of anatomical entity".

        Raises:
            UsageError: The graph has no such concept.
        """
        rows = self._rows("SELECT general FROM concept WHERE curie = ?", (concept_id,))
        if not rows:
            self._refuse_id(concept_id)
        return bool(rows[0][0])

    def names(self, concept_id: str, *, lang: Lang | None = None) -> tuple[Name, ...]:
        """Return the names of a concept, best kind first; all languages where `lang` is None.

        Raises:
            UsageError: The graph has no such concept.
        """
        rows = self._rows(
            "SELECT n.text, n.lang, n.kind, n.source FROM name n JOIN concept c ON c.id = n.concept "
            "WHERE c.curie = ? ORDER BY n.id",
            (concept_id,),
        )
        if not rows:
            self.concept(concept_id)
        return tuple(Name(*row) for row in rows if lang is None or row[1] == lang)

    def lookup(self, text: str, *, types: Sequence[ConceptType] | None = None) -> tuple[str, ...]:
        """Return the ids of the concepts with a name whose normal form is that of the text.

        Names on the stop list are found too. Concepts that the text names outright come before those that it is a
        synonym, a lay word, a brand or an abbreviation of.

        Args:
            text: Any wording in English or Chinese; normalised here.
            types: Only concepts of these types; None allows all.
        """
        key = normalise(text)
        if not key:
            return ()
        rows = self._rows(
            "SELECT c.curie, c.type FROM name n JOIN concept c ON c.id = n.concept "
            "WHERE n.norm = ? ORDER BY n.rank, c.id",
            (key,),
        )
        return tuple(dict.fromkeys(curie for curie, kind in rows if types is None or kind in types))

    def ancestors(self, concept_id: str) -> dict[str, int]:
        """Return all broader concepts with the least number of is-a steps to each (1 for a parent), nearest first.

        Raises:
            UsageError: The graph has no such concept.
        """
        return dict(self._ancestors(concept_id))

    def _find_ancestors(self, concept_id: str) -> dict[str, int]:
        return {ancestor: depth for ancestor, (depth, _) in self._climb(concept_id).items()}

    def is_a(self, child: str, ancestor: str) -> tuple[str, ...] | None:
        """Return a shortest is-a path from child to ancestor, both included, or None where there is none.

        A concept is not its own kind: `is_a(x, x)` is None. Of equally short paths the one through the concepts that
        come first in the file is returned, always the same.

        Raises:
            UsageError: The graph has no concept `child`. An unknown ancestor gives None.
        """
        if ancestor not in self._ancestors(child):
            return None
        steps = self._climb(child)
        path = [ancestor]
        while path[-1] != child:
            path.append(steps[path[-1]][1])
        return tuple(reversed(path))

    def _climb(self, concept_id: str) -> dict[str, tuple[int, str]]:
        # Breadth first, one query a level: {ancestor: (depth, the concept below it on a shortest path)}.
        rows = self._rows("SELECT id FROM concept WHERE curie = ?", (concept_id,))
        if not rows:
            self._refuse_id(concept_id)
        level: list[int] = [rows[0][0]]
        found: dict[str, tuple[int, str]] = {}
        depth = 0
        while level:
            depth += 1
            above: list[int] = []
            for number, _, curie, below in self._select(
                "p.id, c.id, p.curie, c.curie FROM edge JOIN concept p ON p.id = edge.parent "
                "JOIN concept c ON c.id = edge.child WHERE edge.child",
                level,
            ):
                if curie not in found:
                    found[curie] = (depth, below)
                    above.append(number)
            level = above
        return found

    def all_names(self) -> Iterator[tuple[int, str, str, Lang]]:
        """Yield every name as (row id, text, concept id, language), by row id: what an index is built over.

        Row ids run from 1 without gaps, and are the same in every file with the same `hash`.
        """
        last = 0
        while True:
            # Page by page, so that the lock is not held while the caller works.
            rows = self._rows(
                "SELECT n.id, n.text, c.curie, n.lang FROM name n JOIN concept c ON c.id = n.concept "
                "WHERE n.id > ? ORDER BY n.id LIMIT 10000",
                (last,),
            )
            if not rows:
                return
            yield from rows
            last = rows[-1][0]

    def mention_table(self, lang: Lang) -> dict[str, tuple[str, ...]]:
        """Return {normal form: concept ids, best first} of all names of a language that are not stop-listed.

        Read once and kept; do not change it. This is what a text is scanned with.
        """
        if lang not in self._tables:
            table: dict[str, list[str]] = {}
            for norm, curie in self._rows(
                "SELECT n.norm, c.curie FROM name n JOIN concept c ON c.id = n.concept "
                "WHERE n.lang = ? AND n.stopped = 0 ORDER BY n.rank, c.id",
                (lang,),
            ):
                concepts = table.setdefault(norm, [])
                if curie not in concepts:
                    concepts.append(curie)
            self._tables[lang] = {norm: tuple(concepts) for norm, concepts in table.items()}
        return self._tables[lang]

    def stopped(self, text: str) -> bool:
        """Tell whether a wording is never taken for a mention: an ordinary word, a number, or too short."""
        key = normalise(text)
        return is_too_short(key) or bool(self._rows("SELECT 1 FROM stop WHERE norm = ?", (key,)))

    def stats(self) -> dict[str, Any]:
        """Return counts: concepts and names, by type, language and source, the edges, the hash and the sources."""

        def count(statement: str) -> dict[str, int]:
            return dict(self._rows(statement))

        return {
            "hash": self.hash,
            "concepts": len(self),
            "names": int(self._meta["names"]),
            "edges": int(self._meta["edges"]),
            "concepts_by_type": count("SELECT type, COUNT(*) FROM concept GROUP BY type ORDER BY type"),
            "names_by_lang": count("SELECT lang, COUNT(*) FROM name GROUP BY lang ORDER BY lang"),
            "names_by_source": count("SELECT source, COUNT(*) FROM name GROUP BY source ORDER BY source"),
            "general_concepts": count("SELECT 'n', SUM(general) FROM concept")["n"] or 0,
            "sources": {key[7:]: value for key, value in sorted(self._meta.items()) if key.startswith("source:")},
        }

    def to_networkx(self, ids: Sequence[str] | None = None, *, depth: int = 1) -> nx.DiGraph[str]:
        """Return concepts and is-a edges (child to parent) as a networkx graph.

        Args:
            ids: Concepts to start from; None takes the whole graph.
            depth: How many is-a steps around `ids`, up and down, to take in; 0 takes only `ids`.

        Returns:
            A graph with the node attributes `label` and `type`.

        Raises:
            UsageError: The graph has no such concept.
        """
        import networkx as nx

        result: nx.DiGraph[str] = nx.DiGraph()
        numbers: dict[int, str] = {}
        if ids is None:
            rows = self._rows("SELECT id, curie, label, type FROM concept ORDER BY id")
        else:
            wanted = self._numbers(ids)
            for _ in range(depth):
                near = self._select("child, parent FROM edge WHERE child", wanted)
                near += self._select("child, parent FROM edge WHERE parent", wanted)
                wanted.update(number for edge in near for number in edge)
            rows = self._select("id, curie, label, type FROM concept WHERE id", wanted)
        for number, curie, label, kind in rows:
            numbers[number] = curie
            result.add_node(curie, label=label, type=kind)
        if ids is None:
            edges = self._rows("SELECT child, parent FROM edge ORDER BY child, parent")
        else:
            edges = self._select("child, parent FROM edge WHERE child", numbers)
        result.add_edges_from((numbers[child], numbers[parent]) for child, parent in edges if parent in numbers)
        return result

    def _numbers(self, ids: Sequence[str]) -> set[int]:
        found: set[int] = set()
        for concept_id in ids:
            rows = self._rows("SELECT id FROM concept WHERE curie = ?", (concept_id,))
            if not rows:
                self._refuse_id(concept_id)
            found.add(rows[0][0])
        return found

    def _select(self, clause: str, numbers: Iterable[int]) -> list[Any]:
        # SELECT <clause> IN (numbers), in as many statements as it takes.
        ordered = sorted(numbers)
        rows: list[Any] = []
        for start in range(0, len(ordered), _BATCH):
            batch = ordered[start : start + _BATCH]
            rows += self._rows(f"SELECT {clause} IN ({','.join('?' * len(batch))}) ORDER BY 1, 2", batch)
        return rows

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._connection.execute(statement, tuple(values)).fetchall()
            except sqlite3.ProgrammingError:
                raise UsageError(f"the graph {self.path} is closed. Open it again with Graph.open().") from None
            except sqlite3.DatabaseError as error:
                _refuse(self.path, f"is damaged ({error})")

    def _refuse_id(self, concept_id: str) -> NoReturn:
        raise UsageError(
            f"the graph {self.path} has no concept {concept_id!r}. Ids look like 'DOID:255'; "
            "find them with Graph.lookup(), or in the evidence of 'imapeval relate --json'."
        )


def _refuse(path: Path, problem: str) -> NoReturn:
    raise ResourceError(
        f"the graph {path} {problem}. Reinstall imapeval, or rebuild the file with 'python kg/build.py' in a checkout."
    ) from None


def _check_file(path: Path) -> None:
    # Read from the header itself, so that a download that broke off is told at opening and not by the first query
    # that happens to touch a missing page.
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        size = path.stat().st_size
    except OSError as error:
        _refuse(path, f"cannot be read ({error.strerror})")
    if len(header) < _HEADER_BYTES or not header.startswith(b"SQLite format 3\0"):
        _refuse(path, "is not an SQLite file")
    page = int.from_bytes(header[16:18], "big")
    expected = (1 << 16 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if size != expected:
        _refuse(path, f"is truncated: {size} of {expected} bytes are there")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        _refuse(path, "is an SQLite file, but not a graph of imapeval")
    version = int.from_bytes(header[60:64], "big")
    if version != SCHEMA_VERSION:
        _refuse(path, f"has schema version {version}, but this imapeval reads version {SCHEMA_VERSION}")
