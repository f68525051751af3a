"""Writes a compiled graph: one SQLite file, byte-identical for the same input."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError, UsageError
from imapeval.graph.model import Concept, Name
from imapeval.graph.store import schema
from imapeval.graph.store.cycles import cut_cycles, find_broad
from imapeval.text.language import find_name_lang, has_chinese
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence

GENERAL_SHARE = 0.03
"""A concept with more than this share of all concepts below it is general.

Chosen on the sources of the shipped graph, where it marks broad groupings but not concepts that answers do name, such
as "antibiotic", "lung disease" or "anemia". The build of that graph also exempts what our own tables name, however much
is below it (`specific`).
"""

GENERAL_MINIMUM = 300
"""Minimum number of descendants of a general concept, however small the graph."""

_BATCH = 10_000
"""Rows hashed and counted at a time."""


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What was written, and what was left out.

    Attributes:
        hash: SHA-256 of the content, in hexadecimal.
        concepts, names, edges, parts: Their numbers; edges are is-a, parts are part-of.
        cycles: Is-a cycles that were cut. Each lists its members upwards, from the child of the edge that was left
            out; the next one is that edge's parent (the child itself where it was its own parent).
        part_cycles: The same for part-of.
        dangling_edges: (child, parent) of the edges left out because no such parent or whole was given.
    """

    hash: str
    concepts: int
    names: int
    edges: int
    parts: int
    cycles: tuple[tuple[str, ...], ...]
    part_cycles: tuple[tuple[str, ...], ...]
    dangling_edges: tuple[tuple[str, str], ...]

    @property
    def cycle_edges(self) -> tuple[tuple[str, str], ...]:
        """Return (child, parent) of the is-a edges left out because they closed a cycle."""
        return tuple((cycle[0], cycle[1 % len(cycle)]) for cycle in self.cycles)


def write_graph(
    path: Path,
    concepts: Iterable[Concept],
    names: Iterable[tuple[str, Name]],
    *,
    stop: Collection[str] = (),
    general: Collection[str] = (),
    specific: Collection[str] = (),
    sources: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WriteReport:
    """Write a compiled graph.

    The file is written beside its destination and renamed, so it is never incomplete. Cycles are cut: concepts
    are taken in the order given, and an edge that would close a cycle is left out and reported, so the same input
    always loses the same edge. A concept without any name gets its label as one. An alias that is a concept's id is
    left out; one that several concepts have goes to the first.

    Args:
        path: Where to write; an existing file is replaced.
        concepts: The concepts. Their order decides between equally good hits at lookup.
        names: Pairs of concept id and name. Of names of one concept with the same normal form and language only the
            one with the best scope and kind (then the first) is kept; names without a letter or digit are left out.
        stop: Texts that are never mentions; normalised here.
        general: Ids of concepts that are general however few descendants they have, such as the roots of a source.
        specific: Ids of concepts that are not general however many descendants they have, because answers name them.
        sources: Origin of the data, as {source name: version}.
        progress: Called with the number of concepts whose names are written and of all concepts.

    Returns:
        What was written and what was left out.

    Raises:
        UsageError: Two concepts have the same id, a name's concept is missing, or a text has a lone surrogate.
        ResourceError: The file cannot be written, for example on a full disk.
    """
    numbered: dict[str, int] = {}
    listed: list[Concept] = []
    for concept in concepts:
        _check_text("".join([concept.id, concept.label, *concept.aliases]), f"the concept {concept.id!a}")
        numbered[concept.id] = len(listed)
        listed.append(concept)
        if len(numbered) < len(listed):
            raise UsageError(f"two concepts have the id {concept.id!r}. Merge them, or give one another id.")
    _check_text("".join(stop), "the stop list")
    _check_text("".join([text for item in (sources or {}).items() for text in item]), "the table of sources")
    dangling: list[tuple[str, str]] = []
    edges, cycles = _resolve_edges(listed, numbered, [concept.parents for concept in listed], dangling)
    parts, part_cycles = _resolve_edges(listed, numbered, [concept.wholes for concept in listed], dangling)
    named = _group_names(numbered, names)
    broad = find_broad(len(listed), edges, more_than=max(int(len(listed) * GENERAL_SHARE), GENERAL_MINIMUM))
    broad_ids = {listed[number].id for number in broad}.difference(specific).union(general)
    stopped = {norm for text in stop if (norm := normalise(text))}
    aliases: dict[str, int] = {}
    for number, concept in enumerate(listed, start=1):
        for alias in concept.aliases:
            if alias not in numbered:
                aliases.setdefault(alias, number)
    words: Counter[str] = Counter()
    with _atomic_database(path) as connection:
        content = _HashingInserter(connection)
        content.insert(
            "concept", ((n, c.id, c.label, c.type, int(c.id in broad_ids)) for n, c in enumerate(listed, start=1))
        )
        content.insert("name", _count_words(_make_rows(listed, named, stopped, progress), words))
        content.insert("edge", sorted((child + 1, parent + 1) for child, parent in edges))
        content.insert("part", sorted((part + 1, whole + 1) for part, whole in parts))
        content.insert("alias", sorted(aliases.items()))
        content.insert("word", sorted(item for item in words.items() if not has_chinese(item[0])))
        content.insert("stop", [(norm,) for norm in sorted(stopped)])
        report = WriteReport(
            content.digest.hexdigest(),
            len(listed),
            content.counts["name"],
            len(edges),
            len(parts),
            cycles,
            part_cycles,
            tuple(dangling),
        )
        meta = {
            "hash": report.hash,
            **{key: str(getattr(report, key)) for key in ("concepts", "names", "edges", "parts")},
            **{f"source:{name}": version for name, version in (sources or {}).items()},
        }
        connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    return report


def _resolve_edges(
    concepts: Sequence[Concept],
    numbered: Mapping[str, int],
    above: Iterable[Sequence[str]],
    dangling: list[tuple[str, str]],
) -> tuple[list[tuple[int, int]], tuple[tuple[str, ...], ...]]:
    """Return the edges that are kept, as numbers from 0, and the cycles that were cut."""
    edges: list[tuple[int, int]] = []
    for child, (concept, parents) in enumerate(zip(concepts, above, strict=True)):
        for parent in dict.fromkeys(parents):
            number = numbered.get(parent)
            if number is None:
                dangling.append((concept.id, parent))
            else:
                edges.append((child, number))
    cycles = cut_cycles(len(concepts), edges)
    if cycles:
        lost = {(cycle[0], cycle[1 % len(cycle)]) for cycle in cycles}
        edges = [edge for edge in edges if edge not in lost]
    return edges, tuple(tuple(concepts[number].id for number in cycle) for cycle in cycles)


def _group_names(numbered: Mapping[str, int], names: Iterable[tuple[str, Name]]) -> list[list[Name]]:
    grouped: list[list[Name]] = [[] for _ in numbered]
    for concept_id, name in names:
        number = numbered.get(concept_id)
        if number is None:
            raise UsageError(f"the name {name.text!r} belongs to {concept_id!r}, which is not among the concepts.")
        _check_text(name.text + name.source, f"a name of the concept {concept_id!a}")
        grouped[number].append(name)
    return grouped


def _check_text(text: str, where: str) -> None:
    if not schema.is_storable(text):
        raise UsageError(
            f"{where} has a lone surrogate in {text!a}, which cannot be stored. Leave it out, or "
            "read its source in the right encoding."
        )


_NameRow = tuple[int, int, str, str, str, int, str, int, int]


def _make_rows(
    concepts: Sequence[Concept],
    named: Sequence[Sequence[Name]],
    stopped: Collection[str],
    progress: Callable[[int, int], None] | None,
) -> Iterator[_NameRow]:
    row = 0
    ranks = {scope: rank for rank, scope in enumerate(schema.SCOPES)}
    for number, (concept, names) in enumerate(zip(concepts, named, strict=True), start=1):
        best: dict[tuple[str, str], tuple[int, int, str, str, Name]] = {}
        for name in names:
            text, lang, kind, _, scope = name
            if norm := normalise(text):
                candidate = (ranks[scope], schema.KIND_RANKS[kind], lang, norm, name)
                known = best.setdefault((norm, lang), candidate)
                if candidate[:2] < known[:2]:
                    best[norm, lang] = candidate
        if not best:
            label = Name(concept.label, find_name_lang(concept.label), "name", "label")
            best["", ""] = (0, 0, label.lang, normalise(label.text), label)
        for scope, kind, lang, norm, name in sorted(best.values()):
            row += 1
            stop = int(norm in stopped or schema.is_too_short(norm))
            yield row, number, name.text, norm, lang, kind, name.source, scope, stop
        if progress is not None and (number % _BATCH == 0 or number == len(concepts)):
            progress(number, len(concepts))


def _count_words(rows: Iterator[_NameRow], words: Counter[str]) -> Iterator[_NameRow]:
    """Yield the rows, and count in how many names each word precedes the last one."""
    while batch := list(islice(rows, _BATCH)):
        last: list[str] = []
        before: list[str] = []
        for row in batch:
            *others, final = row[3].split(" ")
            before += others
            last.append(final)
        words.update(before)
        for word in last:
            words.setdefault(word, 0)
        yield from batch


class _HashingInserter:
    """Inserts rows into the tables, and hashes them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.digest = hashlib.sha256()
        self.counts: Counter[str] = Counter()
        self._connection = connection

    def insert(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        remaining = iter(rows)
        self.digest.update(table.encode())
        while batch := list(islice(remaining, _BATCH)):
            self.digest.update(json.dumps(batch, ensure_ascii=False, separators=(",", ":")).encode())
            self.counts[table] += len(batch)
            marks = ",".join("?" * len(batch[0]))
            self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", batch)


@contextmanager
def _atomic_database(path: Path) -> Generator[sqlite3.Connection]:
    """Provide an empty database with all tables; when it is filled, create the indexes and move it into place."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                # No journal and no syncing: the file is not read before it is complete, and deleted if that fails.
                connection.executescript(
                    "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; "
                    f"PRAGMA application_id = {schema.APPLICATION_ID}; PRAGMA user_version = {schema.SCHEMA_VERSION};"
                    f"{schema.TABLES}"
                )
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
                connection.executescript(schema.INDEXES)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())  # the content must reach the disk before the rename
            draft.chmod(0o644)  # mkstemp creates files that only their owner may read
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
    except BrokenPipeError:
        raise  # of `progress`, whose output was closed
    except (OSError, sqlite3.Error) as error:
        raise ResourceError(
            f"the graph cannot be written to {path} ({error}). Free some space, or choose another folder."
        ) from error
