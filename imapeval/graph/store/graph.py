"""The compiled graph: one SQLite file, opened read-only and queried by id, name or language.

Opening reads only a page of metadata, so that a graph of millions of names opens as fast as a small one.
`imapeval.graph.store.writer` writes such files.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from imapeval.errors import UsageError
from imapeval.graph.model import Concept, Name, NameRow
from imapeval.graph.store.database import open_database
from imapeval.graph.store.hierarchy import CACHED_CONCEPTS, Hierarchy
from imapeval.graph.store.schema import KINDS, SCOPES, is_too_short
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import networkx as nx

    from imapeval.graph.model import ConceptType, Scope
    from imapeval.graph.store.database import GraphDatabase
    from imapeval.types import Lang

_KINDS, _SCOPES = dict(enumerate(KINDS)), dict(enumerate(SCOPES))

_PAGE_SIZE = 10_000
"""Rows per query where all are read; the lock is not held between queries."""

# The index over normal forms has this order, so SQLite does not sort.
_FIND_NAMED = (
    "SELECT c.curie, c.type FROM name n JOIN concept c ON c.id = n.concept "
    "WHERE n.norm = ? AND n.scope = ? ORDER BY n.kind, n.concept"
)


class Graph(Hierarchy):
    """A medical knowledge graph on disk; safe to share between threads.

    Open one with `Graph.open()`, close it with `close()` or a `with` statement:

        with Graph.open() as graph:
            for concept_id in graph.lookup("ibuprofen"):
                print(graph.concept(concept_id).label, graph.ancestors(concept_id))

    Methods that take an id also accept one that another source uses for the concept (see `resolve`), and raise a
    UsageError if the graph has no such concept.

    Attributes:
        path: The file. Its folder holds what belongs to it, such as the index of its names.
        hash: SHA-256 of the content in hexadecimal. Files with the same hash give the same answers.
    """

    def __init__(self, database: GraphDatabase) -> None:
        """Do not call this; use `Graph.open`."""
        super().__init__(database)
        self.path = database.path
        self.hash = database.meta["hash"]
        self._tables: dict[Lang, dict[str, tuple[str, ...]]] = {}
        self._concept = lru_cache(maxsize=CACHED_CONCEPTS)(self._read_concept)
        self._names = lru_cache(maxsize=CACHED_CONCEPTS)(self._read_names)

    @classmethod
    def open(cls, path: Path | None = None) -> Self:
        """Open a compiled graph.

        Args:
            path: Its folder or its file; None opens the graph shipped with imapeval.

        Raises:
            ResourceError: The file is missing, truncated, not a compiled graph, or of another schema version.
        """
        return cls(open_database(path))

    def close(self) -> None:
        """Close the file; further queries raise UsageError, unless answers are cached. Closing twice is harmless."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Return the number of concepts."""
        return int(self._database.meta["concepts"])

    @property
    def name_count(self) -> int:
        """Number of names; their row ids run from 1 to it."""
        return int(self._database.meta["names"])

    def __contains__(self, concept_id: object) -> bool:
        return self._database.find_row(concept_id) is not None

    def resolve(self, concept_id: str) -> str:
        """Return the id of a concept, given that id or one that another source uses."""
        return self._database.read_concept("curie", concept_id)[0]

    def concept(self, concept_id: str) -> Concept:
        """Return the concept with this id."""
        return self._concept(concept_id)

    def _read_concept(self, concept_id: str) -> Concept:
        number, curie, label, kind = self._database.read_concept("id, curie, label, type", concept_id)
        self._database.require_type(str, (curie, label, kind), "concept")
        ids = self._database.query_ids
        parents = ids("SELECT curie FROM edge JOIN concept ON id = parent WHERE child = ? ORDER BY id", number)
        wholes = ids("SELECT curie FROM part JOIN concept ON id = whole WHERE part = ? ORDER BY id", number)
        aliases = ids("SELECT alias FROM alias WHERE concept = ? ORDER BY alias", number)
        return Concept(curie, label, kind, parents, wholes, aliases)

    def _read_names(self, concept_id: str) -> tuple[Name, ...]:
        query = "SELECT text, lang, kind, source, scope FROM name WHERE concept = ? ORDER BY id"
        rows = self._database.query(query, (self._database.row_of(concept_id),))
        try:
            names = tuple(
                Name(text, lang, _KINDS[kind], source, _SCOPES[scope]) for text, lang, kind, source, scope in rows
            )
        except KeyError:
            self._database.report_damage(f"name.kind or name.scope of {concept_id!r}")
        self._database.require_type(str, chain.from_iterable(names), "name")
        return names

    def is_general(self, concept_id: str) -> bool:
        """Return whether a concept is so broad that being below it means little ("disease of anatomical entity")."""
        row = self._database.read_concept("general", concept_id)
        self._database.require_type(int, row, "concept.general")
        return bool(row[0])

    def names(self, concept_id: str, *, lang: Lang | None = None) -> tuple[Name, ...]:
        """Return the names of a concept, exact ones and best kinds first; all languages where `lang` is None."""
        return tuple(name for name in self._names(concept_id) if lang is None or name.lang == lang)

    def lookup(self, text: str, *, types: Sequence[ConceptType] | None = None) -> tuple[str, ...]:
        """Return the ids of the concepts with an exact name whose normal form is that of the text.

        Names on the stop list are found too. Concepts whose preferred name is the text come before those of which it
        is a synonym, lay word, brand or abbreviation.

        Args:
            text: Any wording in English or Chinese; normalised here.
            types: Only concepts of these types; None allows all.
        """
        found = self._find_named(text, "exact")
        return tuple(dict.fromkeys([curie for curie, kind in found if types is None or kind in types]))

    def lookup_narrower(self, text: str) -> tuple[str, ...]:
        """Return the ids of the concepts of which the text is a narrower name; in the order of `lookup`."""
        return tuple(dict.fromkeys([curie for curie, _ in self._find_named(text, "narrow")]))

    def _find_named(self, text: str, scope: Scope) -> list[tuple[str, ConceptType]]:
        # Text that is only punctuation has an empty normal form, and so have such names.
        norm = normalise(text)
        return self._database.query(_FIND_NAMED, (norm, SCOPES.index(scope))) if norm else []

    def names_at(self, rows: Sequence[int]) -> list[NameRow]:
        """Return the names with these row ids (see `all_names`), in the order of the ids.

        Raises:
            UsageError: The graph has no such row.
        """
        found = {
            number: NameRow(*fields)
            for number, *fields in self._database.query_in(
                "n.id, n.text, n.norm, c.curie, n.lang FROM name n JOIN concept c ON c.id = n.concept WHERE n.id",
                rows,
            )
        }
        if missing := [row for row in rows if row not in found]:
            raise UsageError(
                f"the graph {self.path} has no name with the row id {missing[0]}. "
                f"Row ids run from 1 to {self._database.meta['names']}; an index of another graph has other ids."
            )
        self._database.require_type(str, chain.from_iterable(found.values()), "name")
        return [found[row] for row in rows]

    def norms(self, first: int, last: int) -> list[str]:
        """Return the normal forms of the names with the row ids from `first` to `last`, both included."""
        rows = self._database.query("SELECT norm FROM name WHERE id BETWEEN ? AND ? ORDER BY id", (first, last))
        return self._read_norms(rows, "name.norm")

    def _read_norms(self, rows: list[tuple[str]], column: str) -> list[str]:
        norms = [norm for (norm,) in rows]
        self._database.require_type(str, norms, column)
        return norms

    def modifier_count(self, word: str) -> int | None:
        """Return the number of names with a word before the last one; None if no name has the word.

        Args:
            word: In normal form. Words with Chinese characters are not counted: Chinese is written without spaces.
        """
        rows = self._database.query("SELECT before FROM word WHERE word = ?", (word,))
        if not rows:
            return None
        self._database.require_type(int, rows[0], "word.before")
        return rows[0][0]

    def all_names(self) -> Iterator[tuple[int, str, str, Lang]]:
        """Yield every name as (row id, text, concept id, language), by row id: the input of an index.

        Row ids run from 1 without gaps, and are the same in every file with the same `hash`.
        """
        last = 0
        while True:
            rows = self._database.query(
                "SELECT n.id, n.text, c.curie, n.lang FROM name n JOIN concept c ON c.id = n.concept "
                f"WHERE n.id > ? ORDER BY n.id LIMIT {_PAGE_SIZE}",
                (last,),
            )
            if not rows:
                return
            self._database.require_type(str, (cell for row in rows for cell in row[1:]), "name")
            yield from rows
            last = rows[-1][0]

    def mention_table(self, lang: Lang) -> dict[str, tuple[str, ...]]:
        """Return {normal form: concept ids, best first} of all exact names of a language that are not stop-listed.

        Read once and cached; do not modify it. Texts are scanned with this table.
        """
        if lang not in self._tables:
            table: dict[str, tuple[str, ...]] = {}
            for norm, curie in self._database.query(
                "SELECT n.norm, c.curie FROM name n JOIN concept c ON c.id = n.concept "
                "WHERE n.lang = ? AND n.stopped = 0 AND n.scope = 0 ORDER BY n.kind, c.id",
                (lang,),
            ):
                concepts = table.get(norm, ())
                if curie not in concepts:
                    table[norm] = (*concepts, curie)
            self._database.require_type(str, table, "name.norm")
            self._database.require_type(str, chain.from_iterable(table.values()), "concept.curie")
            self._tables[lang] = table
        return self._tables[lang]

    def is_stopped(self, text: str) -> bool:
        """Return whether a text is never a mention: an everyday word, a number, or too short."""
        key = normalise(text)
        return is_too_short(key) or bool(self._database.query("SELECT 1 FROM stop WHERE norm = ?", (key,)))

    def stats(self) -> dict[str, Any]:
        """Return counts: concepts and names, by type, language and source, the edges, the hash and the sources."""

        def count(column: str, table: str) -> dict[Any, int]:
            counts = dict(
                self._database.query(f"SELECT {column}, COUNT(*) FROM {table} GROUP BY {column} ORDER BY {column}")
            )
            self._database.require_type(int if column in ("scope", "general") else str, counts, f"{table}.{column}")
            return counts

        scopes = count("scope", "name")
        if not scopes.keys() <= _SCOPES.keys():
            self._database.report_damage("name.scope")
        return {
            "hash": self.hash,
            "concepts": len(self),
            "names": int(self._database.meta["names"]),
            "edges": int(self._database.meta["edges"]),
            "parts": int(self._database.meta["parts"]),
            "concepts_by_type": count("type", "concept"),
            "names_by_lang": count("lang", "name"),
            "names_by_source": count("source", "name"),
            "names_by_scope": {_SCOPES[scope]: number for scope, number in scopes.items()},
            "general_concepts": count("general", "concept").get(1, 0),
            "sources": {
                key[7:]: value for key, value in sorted(self._database.meta.items()) if key.startswith("source:")
            },
        }

    def to_networkx(self, ids: Sequence[str] | None = None, *, depth: int = 1) -> nx.DiGraph[str]:
        """Return concepts and their edges (child to parent, part to whole) as a networkx graph.

        `imapeval.graph.build.networkx_import.from_networkx` turns it back into a compiled graph.

        Args:
            ids: Concepts to start from; None exports the whole graph: a million concepts take gigabytes.
            depth: Number of steps from `ids`, up and down, to include; 0 includes only `ids`.

        Returns:
            A graph with the node attributes `label`, `type`, `general`, `aliases` and `names` (of `Name`), and the
            edge attribute `kind`: "is-a" or "part-of" ("is-a" where both hold). The graph attributes `sources` and
            `stop` are what `write_graph` takes.
        """
        import networkx as nx

        wanted = dict.fromkeys(self.all_ids() if ids is None else map(self.resolve, ids))
        frontier = list(wanted) if ids is not None else []
        for _ in range(depth):
            near = dict.fromkeys(other for concept_id in frontier for other in self._list_neighbours(concept_id))
            frontier = [concept_id for concept_id in near if concept_id not in wanted]
            wanted.update(dict.fromkeys(frontier))
        result: nx.DiGraph[str] = nx.DiGraph(sources=self.stats()["sources"], stop=self.stop_list())
        concepts = [self.concept(concept_id) for concept_id in wanted]
        for concept in concepts:
            result.add_node(
                concept.id,
                label=concept.label,
                type=concept.type,
                general=self.is_general(concept.id),
                aliases=concept.aliases,
                names=self.names(concept.id),
            )
        for concept in concepts:
            for kind, above in (("part-of", concept.wholes), ("is-a", concept.parents)):
                result.add_edges_from((concept.id, other, {"kind": kind}) for other in above if other in wanted)
        return result

    def _list_neighbours(self, concept_id: str) -> tuple[str, ...]:
        concept = self.concept(concept_id)
        return (*concept.parents, *concept.wholes, *self.children(concept_id), *self.parts(concept_id))

    def all_ids(self) -> Iterator[str]:
        """Yield the ids of all concepts, in the order of the file."""
        for number in range(1, len(self) + 1, _PAGE_SIZE):
            yield from self._database.query_ids(
                f"SELECT curie FROM concept WHERE id >= ? ORDER BY id LIMIT {_PAGE_SIZE}", number
            )

    def stop_list(self) -> tuple[str, ...]:
        """Return the normal forms that are never taken for a mention, except short ones (see `is_stopped`)."""
        return tuple(self._read_norms(self._database.query("SELECT norm FROM stop ORDER BY norm"), "stop.norm"))
