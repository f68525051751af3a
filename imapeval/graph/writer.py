"""Writes a compiled graph: one SQLite file, the same bytes for the same input."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.graph.model import Concept, Name
from imapeval.graph.normalise import normalise
from imapeval.graph.schema import APPLICATION_ID, INDEXES, KIND_RANKS, SCHEMA_VERSION, TABLES, is_too_short

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

GENERAL_SHARE = 0.03
"""A concept with more than this share of all concepts below it is general.

Chosen on the shipped graph, where it marks groupings such as "nervous system disease" and "genetic disease" and spares
the kinds that an answer may well name, such as "antibiotic", "lung disease" or "anemia".
"""

GENERAL_MINIMUM = 300
"""A concept with fewer concepts below it is not general, however small the graph."""


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What was written, and what could not be.

    Attributes:
        hash: SHA-256 of the content, in hexadecimal.
        concepts: Number of concepts.
        names: Number of names.
        edges: Number of is-a edges.
        cycle_edges: (child, parent) of the edges left out because they closed an is-a cycle.
        dangling_edges: (child, parent) of the edges left out because no such parent was given.
    """

    hash: str
    concepts: int
    names: int
    edges: int
    cycle_edges: tuple[tuple[str, str], ...]
    dangling_edges: tuple[tuple[str, str], ...]


def write_graph(
    path: Path,
    concepts: Iterable[Concept],
    names: Iterable[tuple[str, Name]],
    *,
    stop: Collection[str] = (),
    general: Collection[str] = (),
    specific: Collection[str] = (),
    sources: Mapping[str, str] | None = None,
) -> WriteReport:
    """Write a compiled graph.

    The file appears whole or not at all: it is written beside its place and renamed. Is-a cycles are not accepted;
    concepts are taken in the order given, and an edge that would close a cycle is left out and reported, so the same
    input always loses the same edge. A concept without any name gets its label as one.

    Args:
        path: Where to write; an existing file is replaced.
        concepts: The concepts. Their order decides between equally good hits at lookup.
        names: Pairs of concept id and name. Of names of one concept with the same normal form and language only the
            best kind (then the first) is kept; names without a letter or digit are left out.
        stop: Wordings that must never be taken for a mention; normalised here.
        general: Ids of concepts that are general however few lie below them, such as the roots of a source.
        specific: Ids of concepts that are not general however many lie below them, because answers name them.
        sources: What to remember about the origin, as {source name: version}.

    Returns:
        What was written and what was left out.

    Raises:
        UsageError: Two concepts have the same id, or a name's concept was not given.
    """
    numbered: dict[str, int] = {}
    given: list[Concept] = []
    for concept in concepts:
        if concept.id in numbered:
            raise UsageError(f"two concepts have the id {concept.id!r}. Merge them, or give one another id.")
        numbered[concept.id] = len(given) + 1
        given.append(concept)
    edges, cyclic, dangling = _sort_edges(given)
    stopped = {norm for text in stop if (norm := normalise(text))}
    name_rows = _number_names(given, numbered, names, stopped)
    broad = _find_general(edges, len(given)).difference(specific).union(general)
    concept_rows = [(numbered[c.id], c.id, c.label, c.type, int(c.id in broad)) for c in given]
    edge_rows = sorted((numbered[child], numbered[parent]) for child, parent in edges)
    stop_rows = [(norm,) for norm in sorted(stopped)]
    digest = hashlib.sha256()
    for rows in (concept_rows, name_rows, edge_rows, stop_rows):
        digest.update(json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode())
    meta = {
        "hash": digest.hexdigest(),
        "concepts": str(len(concept_rows)),
        "names": str(len(name_rows)),
        "edges": str(len(edge_rows)),
        **{f"source:{name}": version for name, version in (sources or {}).items()},
    }
    _write_file(path, sorted(meta.items()), concept_rows, name_rows, edge_rows, stop_rows)
    return WriteReport(meta["hash"], len(concept_rows), len(name_rows), len(edge_rows), cyclic, dangling)


_Edges = tuple[tuple[str, str], ...]


def _sort_edges(concepts: list[Concept]) -> tuple[_Edges, _Edges, _Edges]:
    """Return the edges that can stand, those that would close a cycle, and those to unknown parents."""
    known = {concept.id for concept in concepts}
    above: dict[str, list[str]] = {}
    cyclic: list[tuple[str, str]] = []
    dangling: list[tuple[str, str]] = []
    for concept in concepts:
        above[concept.id] = []
        for parent in dict.fromkeys(concept.parents):
            if parent not in known:
                dangling.append((concept.id, parent))
            else:
                above[concept.id].append(parent)
    # Depth first with an explicit stack: an edge back to a concept that is still open closes a cycle.
    is_open: dict[str, bool] = {}
    for start in above:
        if start in is_open:
            continue
        is_open[start] = True
        stack = [(start, list(above[start]))]
        while stack:
            child, left = stack[-1]
            if not left:
                is_open[child] = False
                stack.pop()
                continue
            parent = left.pop(0)
            if is_open.get(parent):
                cyclic.append((child, parent))
            elif parent not in is_open:
                is_open[parent] = True
                stack.append((parent, list(above[parent])))
    lost = set(cyclic)
    kept = tuple(
        (child, parent) for child, parents in above.items() for parent in parents if (child, parent) not in lost
    )
    return kept, tuple(cyclic), tuple(dangling)


_NameRow = tuple[int, int, str, str, str, str, str, int, int]


def _number_names(
    concepts: list[Concept],
    numbered: Mapping[str, int],
    names: Iterable[tuple[str, Name]],
    stopped: Collection[str],
) -> list[_NameRow]:
    best: dict[int, dict[tuple[str, str], tuple[int, Name]]] = {number: {} for number in numbered.values()}
    for concept_id, name in names:
        if concept_id not in numbered:
            raise UsageError(f"the name {name.text!r} belongs to {concept_id!r}, which is not among the concepts.")
        rank, norm = KIND_RANKS[name.kind], normalise(name.text)
        held = best[numbered[concept_id]].get((norm, name.lang))
        if norm and (held is None or rank < held[0]):
            best[numbered[concept_id]][norm, name.lang] = (rank, name)
    rows: list[_NameRow] = []
    for concept in concepts:
        number = numbered[concept.id]
        found = best[number] or {(normalise(concept.label), "en"): (0, Name(concept.label, "en", "name", "label"))}
        ordered = sorted((rank, name.lang, norm, name) for (norm, _), (rank, name) in found.items())
        for rank, lang, norm, name in ordered:
            stop = int(norm in stopped or is_too_short(norm))
            rows.append((len(rows) + 1, number, name.text, norm, lang, name.kind, name.source, rank, stop))
    return rows


def _find_general(edges: _Edges, concepts: int) -> set[str]:
    """Return the concepts with more below them than `GENERAL_SHARE` of all and `GENERAL_MINIMUM`."""
    above: dict[str, list[str]] = {}
    for child, parent in edges:
        above.setdefault(child, []).append(parent)
    below: dict[str, int] = {}
    for concept_id in above:
        seen: set[str] = set()
        queue = list(above[concept_id])
        while queue:
            ancestor = queue.pop()
            if ancestor not in seen:
                seen.add(ancestor)
                below[ancestor] = below.get(ancestor, 0) + 1
                queue += above.get(ancestor, ())
    return {concept_id for concept_id, count in below.items() if count > max(concepts * GENERAL_SHARE, GENERAL_MINIMUM)}


def _write_file(
    path: Path,
    meta: list[tuple[str, str]],
    concepts: list[tuple[int, str, str, str, int]],
    names: list[_NameRow],
    edges: list[tuple[int, int]],
    stop: list[tuple[str]],
) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    draft = Path(name)
    try:
        with closing(sqlite3.connect(draft)) as connection:
            connection.executescript(
                "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
                f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};" + TABLES
            )
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta)
            connection.executemany("INSERT INTO concept VALUES (?, ?, ?, ?, ?)", concepts)
            connection.executemany("INSERT INTO name VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", names)
            connection.executemany("INSERT INTO edge VALUES (?, ?)", edges)
            connection.executemany("INSERT INTO stop VALUES (?)", stop)
            connection.commit()
            connection.executescript(INDEXES)
            connection.execute("VACUUM")
        draft.chmod(0o644)  # mkstemp makes files that only their owner may read
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
