"""OBO Graphs JSON (https://github.com/geneontology/obographs), as ROBOT and the OBO Foundry publish it.

The whole file is held in memory while it is read: some ten times its size on disk.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.graph.readers.base import Format
from imapeval.graph.readers.parsing import obo_terms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.readers.base import Record, Source

_IS_A = frozenset(("is_a", "subClassOf"))
_FIX = "Give an ontology as OBO Graphs JSON, such as ROBOT writes: robot convert --input X.owl --output X.json"


def _recognise(path: Path, head: bytes) -> bool:
    return path.name.endswith((".obographs.json", ".obographs.json.gz")) or bool(
        re.match(rb'(?:\xef\xbb\xbf)?\s*\{\s*"graphs"\s*:', head)
    )


def _find_name(head: bytes) -> str:
    # If the id of the graph precedes its nodes; their ids have the same form without the suffix.
    found = re.search(rb'"id"\s*:\s*"https?://purl\.obolibrary\.org/obo/([\w-]+)\.(?:owl|json|obo)"', head)
    return found[1].decode().lower() if found else ""


def _read_records(source: Source) -> Iterator[Record]:
    first, *imports = _read_graphs(source)
    # Imported graphs are parts of other ontologies that definitions refer to.
    if imports:
        source.skipped["imported graphs"] += len(imports)
    records: dict[str, Record] = {}
    for number, node in enumerate(_get_list(first, "nodes", source), 1):
        record = _read_node(source, node, number)
        if record is not None:
            records[node["id"]] = record
    for number, edge in enumerate(_get_list(first, "edges", source), 1):
        match edge:
            case {"sub": str(child), "pred": str(relation), "obj": str(parent)}:
                _add_edge(source, records.get(child), relation, parent)
            case _:
                source.problems.add("an edge without sub, pred and obj", f"{source.path.name} edge {number}")
    yield from map(obo_terms.drop_repetitions, records.values())


def _read_graphs(source: Source) -> list[dict[str, Any]]:
    line: int | None = None
    try:
        with source.open() as file:
            # Numbers are not used, and Python rejects those of more than 4,300 digits.
            document: Any = json.loads(file.read().decode("utf-8-sig"), parse_int=str)
    except json.JSONDecodeError as error:
        problem, line = f"it is not JSON ({error.msg})", error.lineno
    except UnicodeDecodeError as error:
        problem = f"it is not UTF-8 (byte {error.start:,})"
    except RecursionError:
        problem = "it is nested too deeply"
    else:
        match document:
            case {"graphs": [dict(), *_] as graphs}:
                return [graph for graph in cast("list[Any]", graphs) if isinstance(graph, dict)]
            case _:
                problem = "it has no list 'graphs'"
    raise InputError(problem, path=source.path, line=line, fix=_FIX)


def _get_list(graph: dict[str, Any], key: str, source: Source) -> list[Any]:
    found = graph.get(key, [])
    if not isinstance(found, list):
        raise InputError(f"{key!r} is not a list", path=source.path, fix=_FIX)
    return cast("list[Any]", found)


def _read_node(source: Source, node: Any, number: int) -> Record | None:
    match node:
        case {"id": str(term), "type": "CLASS"}:
            pass
        case {"id": str()}:
            return None  # a property or an individual
        case _:
            source.problems.add("a node without an id", f"{source.path.name} node {number}")
            return None
    meta = _as_dict(node.get("meta"))
    if meta.get("deprecated") is True:
        source.skipped["obsolete terms"] += 1
        return None
    record, place = obo_terms.start_record(source, term), f"{source.path.name} {term}"
    if record is None:
        source.problems.add(
            "an id that is neither a CURIE nor an IRI of a known ontology", f"{source.path.name} {term!a}"
        )
        return None
    if isinstance(label := node.get("lbl"), str):
        obo_terms.add_name(record, label, source=source, place=place, label=True)
    for synonym in _as_dicts(meta.get("synonyms")):
        match synonym:
            case {"pred": str(scope), "val": str(text)} if scope in obo_terms.SCOPES:
                kind = str(synonym.get("synonymType", "synonym"))
                obo_terms.add_name(record, text, source=source, place=place, kind=kind, scope=obo_terms.SCOPES[scope])
            case _:
                source.problems.add("a synonym without pred and val", place)
    for xref in _as_dicts(meta.get("xrefs")):
        obo_terms.add_xref(record, str(xref.get("val", "")))
    for value in _as_dicts(meta.get("basicPropertyValues")):
        name = re.split(r"[#/:]", str(value.get("pred", "")))[-1]
        if name == "hasAlternativeId" or name in obo_terms.EXACT_MATCH:
            obo_terms.add_xref(record, str(value.get("val", "")))
    return record


def _add_edge(source: Source, record: Record | None, relation: str, parent: str) -> None:
    if record is None:
        source.skipped["relations of terms that are obsolete or not classes"] += 1
    elif relation in _IS_A:
        obo_terms.add_edge(record.parents, parent)
    elif obo_terms.is_part_of(relation):
        obo_terms.add_edge(record.wholes, parent)


def _as_dict(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _as_dicts(value: Any) -> list[dict[str, Any]]:
    return [_as_dict(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


FORMAT = Format("obographs", 'OBO Graphs JSON (it begins with {"graphs":)', _recognise, _read_records, _find_name)
