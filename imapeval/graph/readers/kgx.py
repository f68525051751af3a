"""KGX TSV (https://github.com/biolink/kgx): a table of nodes and one of edges, in the words of the Biolink model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import HEAD_BYTES, MAX_NAME, Format, Record
from imapeval.graph.readers.parsing.concept_types import type_of_category, type_of_id
from imapeval.graph.readers.parsing.curies import canonical_curie
from imapeval.graph.readers.parsing.delimited import is_tab_separated, parse_header, read_table
from imapeval.text.language import find_name_lang

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.model import ConceptType, Scope
    from imapeval.graph.readers.base import Source

_FILE = re.compile(r"((?:.*_)?)(nodes|edges)(\.tsv(?:\.gz)?)", re.IGNORECASE)

# Columns of synonyms. "synonym" has no scope; KGX files use it for exact synonyms.
_SYNONYMS: dict[str, Scope] = {
    "synonym": "exact",
    "exact_synonym": "exact",
    "narrow_synonym": "narrow",
    "broad_synonym": "broad",
    "related_synonym": "related",
}
_XREFS = ("xref", "same_as", "equivalent_identifiers")

# {predicate: field of a Record}.
_MEANINGS = {
    "biolink:subclass_of": "parents",
    "rdfs:subClassOf": "parents",
    "biolink:part_of": "wholes",
    "biolink:same_as": "xrefs",
    "biolink:exact_match": "xrefs",
    "skos:exactMatch": "xrefs",
    "owl:equivalentClass": "xrefs",
}


def _recognise(path: Path, head: bytes) -> bool:
    columns = parse_header(head) if is_tab_separated(head) else []
    has_columns = {"id", "category"} <= set(columns) or {"subject", "predicate", "object"} <= set(columns)
    return has_columns or (not path.is_file() and bool(_find_pair(path)))


def _find_pair(path: Path) -> list[Path]:
    """Return the files of nodes and edges for a path: one of the two, their folder, or their common prefix."""
    if path.is_dir():
        folder, wanted = path, None
    elif path.is_file():
        if (own := _FILE.fullmatch(path.name)) is None:
            return [path]  # its columns identify it
        folder, wanted = path.parent, own[1]
    else:
        folder, wanted = path.parent, f"{path.name}_"
    if not folder.is_dir():
        return []
    found = [match for file in sorted(folder.iterdir()) if (match := _FILE.fullmatch(file.name))]
    pair = [match for match in found if wanted in (None, match[1])]
    # Nodes first: statements about one id come before those about two.
    pair.sort(key=lambda match: match[2].lower() == "edges")
    return [folder / match[0] for match in pair] if len({match[1] for match in pair}) == 1 else []


def _read_records(source: Source) -> Iterator[Record]:
    paths = _find_pair(source.path)
    if not paths:
        raise InputError(
            "no pair of tables X_nodes.tsv and X_edges.tsv was found",
            path=source.path,
            fix="Give one of the files, or a folder with one pair.",
        )
    for path in paths:
        with source.open(path) as file:
            columns = parse_header(file.read(HEAD_BYTES))
        yield from _read_edges(source, path) if "subject" in columns else _read_nodes(source, path)


def _read_nodes(source: Source, path: Path) -> Iterator[Record]:
    # KGX tables are not quoted: a quotation mark is part of the name.
    columns, rows = read_table(source, path, required=("id",), quoted=False)
    at_id, at_name, at_category = columns["id"], columns.get("name"), columns.get("category")
    at_synonyms: list[tuple[int, Scope]] = [
        (columns[column], scope) for column, scope in _SYNONYMS.items() if column in columns
    ]
    at_xrefs = [columns[column] for column in _XREFS if column in columns]
    at_deprecated = columns.get("deprecated")
    types: dict[str, ConceptType | None] = {}
    key = source.name
    for number, cells in rows:
        node = canonical_curie(cells[at_id])
        if node is None:
            source.reject("an id that is not a CURIE", line=number, path=path)
            continue
        if at_deprecated is not None and cells[at_deprecated].lower() == "true":
            source.skipped["obsolete terms"] += 1
            continue
        record = Record(node, key)
        if at_category is not None:
            category = cells[at_category]
            if category not in types:
                types[category] = type_of_category(category)
            record.type = types[category]
        record.type = record.type or type_of_id(node)
        names = record.names
        label = "" if at_name is None else cells[at_name].strip()
        if label and (len(label) <= MAX_NAME or source.check_name(label, line=number, path=path)):
            record.label = label
            names.append(Name(label, find_name_lang(label), "name", key))
        for at, scope in at_synonyms:
            if not (cell := cells[at]):
                continue
            texts = cell.split("|")
            if len(cell) > MAX_NAME:
                texts = [text for text in texts if source.check_name(text, line=number, path=path)]
            names += [Name(text, find_name_lang(text), "synonym", key, scope) for text in texts if text.strip()]
        for at in at_xrefs:
            record.xrefs += [
                xref for text in cells[at].split("|") if text and (xref := canonical_curie(text)) is not None
            ]
        yield record


def _read_edges(source: Source, path: Path) -> Iterator[Record]:
    columns, rows = read_table(source, path, required=("subject", "predicate", "object"), quoted=False)
    at_subject, at_predicate, at_object = (columns[column] for column in ("subject", "predicate", "object"))
    for number, cells in rows:
        predicate = cells[at_predicate]
        meaning = _MEANINGS.get(predicate)
        if meaning is None:
            source.skipped[f"edges {predicate[:50]}"] += 1
            continue
        child, parent = canonical_curie(cells[at_subject]), canonical_curie(cells[at_object])
        if child is None or parent is None:
            source.reject("an edge whose subject or object is not a CURIE", line=number, path=path)
            continue
        record = Record(child, source.name)
        getattr(record, meaning).append(parent)
        yield record


FORMAT = Format(
    "kgx",
    "KGX TSV (X_nodes.tsv with X_edges.tsv: columns id, category; subject, predicate, object)",
    _recognise,
    _read_records,
)
