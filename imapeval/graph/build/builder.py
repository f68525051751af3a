"""Builds a graph from ontology files: reads, merges, writes, and reports on every source."""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from imapeval.errors import InputError, ResourceError, UsageError
from imapeval.graph.build.merging import combine_by_id, merge
from imapeval.graph.index.cache_cleanup import remove_stale_indexes
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.store.database import GRAPH_FILE
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.schema import is_storable
from imapeval.graph.store.writer import write_graph

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from imapeval.graph.build.merging import Merged
    from imapeval.graph.readers.base import Format, Record, Source
    from imapeval.graph.store.writer import WriteReport

_MAX_EXAMPLES = 10
"""Examples listed for each kind of omission."""

_STALE_SECONDS = 3600.0
"""Seconds without a write after which a temporary file is taken to belong to a build that was killed."""


@dataclass(frozen=True, slots=True)
class Omission:
    """Something that was left out, and where it first occurred.

    Attributes:
        what: The reason, such as "not UTF-8".
        count: How often.
        first: The first places or ids; empty for what was left out on purpose.
    """

    what: str
    count: int
    first: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceReport:
    """What was read from one source.

    Attributes:
        name: Its key.
        records: Concepts that it describes.
        names: Names that it gives them.
        problems: Rows and names left out because they are faulty.
        skipped: What was left out on purpose.
    """

    name: str
    path: str
    format: str
    records: int
    names: int
    problems: tuple[Omission, ...]
    skipped: tuple[Omission, ...]


@dataclass(frozen=True, slots=True)
class MergeCount:
    """Records of one source that were merged into concepts of earlier sources, for one reason.

    Attributes:
        source: Key of the source.
        why: "same id", "cross-reference", "same name" or "known name".
        count: How many.
        samples: The first of them, as (record's id, its label, concept's id, its label).
    """

    source: str
    why: str
    count: int
    samples: tuple[tuple[str, str, str, str], ...]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What was built, from what, and what was left out. `dataclasses.asdict` prepares it for JSON.

    Attributes:
        path: The folder of the graph.
        hash, concepts, names, edges, parts, part_cycles: As in `WriteReport`.
        sources: In order of precedence.
        joined: What was merged.
        left_out: Edges and concepts that could not be kept: parents that no source describes or names, concepts
            without a name.
        cycles: Is-a cycles that were cut, by merging or as in `WriteReport`.
        inherited_types: Number of concepts that took the type of their nearest typed ancestor.
        other: Number of concepts of the type "other" because none was found.
    """

    path: str
    hash: str
    concepts: int
    names: int
    edges: int
    parts: int
    sources: tuple[SourceReport, ...]
    joined: tuple[MergeCount, ...]
    left_out: tuple[Omission, ...]
    cycles: tuple[tuple[str, ...], ...]
    part_cycles: tuple[tuple[str, ...], ...]
    inherited_types: int
    other: int


def build_graph(
    sources: Sequence[tuple[Format, Source]],
    out: Path,
    *,
    progress: Callable[[str, int, int], None] | None = None,
) -> BuildReport:
    """Build a graph from ontology files.

    Sources with the same name are one source, and their statements about one id are combined. Earlier sources take
    precedence over later ones: see `imapeval.graph.build.grouping`. An existing graph is replaced only when the new one
    is complete; if anything fails, it stays as it is. Afterwards the indexes of a replaced graph are removed, and the
    n-gram index of the new one is built; if that fails, the graph is still complete and the index is built when first
    needed. The stop list is that of the shipped graph: ontologies do not say which of their names are everyday words.

    Args:
        sources: What to read, as `open_source` gives it.
        out: The folder of the graph, such as "my.kg"; created if missing.
        progress: Called with "merging", "writing" or "indexing n-grams", the amount done and the total. While files
            are read, the sources report their own progress.

    Returns:
        What was built and what was left out.

    Raises:
        InputError: A source cannot be read or has no concepts.
        UsageError: There is no source, or `out` is a file.
        ResourceError: The folder or the shipped graph cannot be accessed, or an old index not removed.
    """
    if not sources:
        raise UsageError("a graph needs at least one source.")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file, but a graph is a folder. Choose another name.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        _remove_stale_drafts(out)
    except OSError as error:
        raise ResourceError(
            f"the folder {out} cannot be created or written ({error.strerror}). Choose another."
        ) from error
    with Graph.open() as shipped:
        stop = shipped.stop_list()
    report: Callable[[str, int, int], None] = progress or (lambda _stage, _done, _total: None)
    with _garbage_collection_paused():
        records, reports = _read_sources(sources)
        report("merging", 0, 1)
        merged = merge(records)
        records.clear()
        report("merging", 1, 1)
        report("writing", 0, len(merged.concepts))
        files: dict[str, list[str]] = {}
        for read in reports:
            files.setdefault(read.name, []).append(read.path.rpartition("/")[2])
        written = write_graph(
            out / GRAPH_FILE,
            merged.concepts,
            merged.names,
            stop=stop,
            sources={name: ", ".join(paths) for name, paths in files.items()},
            progress=partial(report, "writing"),
        )
    remove_stale_indexes(out, written.hash)
    with Graph.open(out) as graph:
        NgramIndex.build(graph, out, progress=partial(report, "indexing n-grams"))
    return _make_report(out, reports, merged, written)


def _remove_stale_drafts(folder: Path) -> None:
    """Remove the temporary files of builds that were killed."""
    for pattern in (f".{GRAPH_FILE}.*", ".grams*"):
        for draft in folder.glob(pattern):
            if time.time() - draft.stat().st_mtime > _STALE_SECONDS:
                draft.unlink(missing_ok=True)


@contextmanager
def _garbage_collection_paused() -> Generator[None]:
    """Pause garbage collection, which would repeatedly scan millions of records that have no reference cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_sources(sources: Sequence[tuple[Format, Source]]) -> tuple[dict[str, dict[str, Record]], list[SourceReport]]:
    read: dict[str, dict[str, Record]] = {}
    reports: list[SourceReport] = []
    for form, source in sources:
        found = combine_by_id(_drop_unstorable(form.read(source), source))
        if not found:
            raise InputError(
                "no concept was found" + _describe_first_problem(source),
                path=source.path,
                fix=f"It was read as {form.name}; if that is wrong, write FORMAT:PATH.",
            )
        names = sum(len(record.names) for record in found.values())
        known = read.get(source.name)
        read[source.name] = found if known is None else combine_by_id([*known.values(), *found.values()])
        reports.append(
            SourceReport(
                source.name,
                str(source.path),
                form.name,
                len(found),
                names,
                tuple(
                    Omission(what, count, tuple(source.problems.places[what]))
                    for what, count in source.problems.counts.most_common()
                ),
                tuple(Omission(what, count) for what, count in source.skipped.most_common()),
            )
        )
    return read, reports


def _describe_first_problem(source: Source) -> str:
    problems = source.problems
    what = next(iter(problems.counts), None)
    return "" if what is None else f": {problems.counts[what]} times {what}, first at {problems.places[what][0]}"


def _drop_unstorable(records: Iterator[Record], source: Source) -> Iterator[Record]:
    """Drop text that cannot be stored: lone surrogates, which JSON and XML can contain."""
    for record in records:
        # One check for all texts of a record: there are millions of records, and surrogates are very rare.
        if is_storable("".join([record.id, record.label, *[name.text for name in record.names]])):
            yield record
            continue
        if not is_storable(record.id + record.label):
            source.problems.add("a lone surrogate in an id or label", ascii(record.id))
            continue
        source.problems.add("a lone surrogate in a name", record.id)
        record.names = [name for name in record.names if is_storable(name.text)]
        yield record


def _make_report(out: Path, sources: list[SourceReport], merged: Merged, written: WriteReport) -> BuildReport:
    omitted = (
        ("an edge to a concept that no source describes or names", [f"{a} -> {b}" for a, b in merged.unknown_parents]),
        ("a name of a parent that no concept has", [f"{a} -> {b!r}" for a, b in merged.unknown_names]),
        (
            "an is-a edge between types that are incompatible after merging",
            [f"{a} -> {b}" for a, b in merged.incompatible_parents],
        ),
        ("a concept that no source names", merged.unnamed),
    )
    return BuildReport(
        str(out),
        written.hash,
        written.concepts,
        written.names,
        written.edges,
        written.parts,
        tuple(sources),
        tuple(
            MergeCount(source, why, count, tuple(merged.samples[source, why]))
            for (source, why), count in merged.counts.items()
        ),
        tuple(Omission(what, len(cases), tuple(cases[:_MAX_EXAMPLES])) for what, cases in omitted if cases),
        (*merged.cycles, *written.cycles),
        written.part_cycles,
        merged.inherited,
        sum(concept.type == "other" for concept in merged.concepts),
    )
