"""OWL in RDF/XML (extra 'owl'): the classes of an ontology with their names, read as a stream of triples."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.graph.readers.base import Format, reject_large_entities
from imapeval.graph.readers.parsing import obo_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from imapeval.graph.readers.base import Record, Source

_OWL = "http://www.w3.org/2002/07/owl#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

# Local names of the properties of classes and blank nodes that are kept; definitions, dates and the rest are ignored.
_OF_CLASS = frozenset(
    ("label", "deprecated", "subClassOf", "hasDbXref", "hasAlternativeId", *obo_terms.SCOPES, *obo_terms.EXACT_MATCH)
)
_OF_BLANK = frozenset(("onProperty", "someValuesFrom", "annotatedSource", "annotatedProperty", "annotatedTarget"))
_OF_AXIOM = frozenset(("hasSynonymType", "source"))


@dataclass(slots=True)
class _BlankNode:
    """A restriction, or an axiom that annotates a statement."""

    parts: dict[str, str] = field(default_factory=dict[str, str])
    sources: list[str] = field(default_factory=list[str])


def _recognise(path: Path, head: bytes) -> bool:
    return path.name.endswith((".owl", ".owl.gz")) or b"<rdf:RDF" in head


def _find_name(head: bytes) -> str:
    found = re.search(rb'<owl:Ontology\s+rdf:about="[^"]*?([\w.-]+?)(?:\.owl)?[#/]?"', head)
    return found[1].decode().lower() if found else ""


def _read_records(source: Source) -> Iterator[Record]:
    classes, blanks = _read_triples(source)
    axioms = _merge_axioms(blanks.values())
    for iri, statements in classes.items():
        if any(name == "deprecated" and value == "true" for name, value, _ in statements):
            source.skipped["obsolete terms"] += 1
            continue
        record, place = obo_terms.start_record(source, iri), f"{source.path.name} {iri}"
        if record is None:
            source.problems.add("an id that is neither a CURIE nor an IRI of a known ontology", place)
            continue
        for name, value, lang in statements:
            axiom = axioms.get((iri, name, value), _NO_AXIOM)
            if name == "label":
                obo_terms.add_name(record, value, source=source, place=place, lang=lang, label=True)
            elif name in obo_terms.SCOPES:
                kind = axiom.parts.get("hasSynonymType", "synonym")
                obo_terms.add_name(
                    record, value, source=source, place=place, lang=lang, kind=kind, scope=obo_terms.SCOPES[name]
                )
            elif name == "subClassOf":
                _add_parent(record, value, blanks)
            elif _is_equivalent(axiom):
                obo_terms.add_xref(record, value)
            else:
                source.skipped["references to what is not the same"] += 1
        yield obo_terms.drop_repetitions(record)


_NO_AXIOM = _BlankNode()


def _merge_axioms(blanks: Iterable[_BlankNode]) -> dict[tuple[str, str, str | None], _BlankNode]:
    """Return {(class, property, value): the annotations of this statement}; each may be in an axiom of its own."""
    axioms: dict[tuple[str, str, str | None], _BlankNode] = {}
    for axiom in blanks:
        parts = axiom.parts
        if "annotatedSource" in parts and "annotatedProperty" in parts:
            key = parts["annotatedSource"], parts["annotatedProperty"], parts.get("annotatedTarget")
            merged = axioms.setdefault(key, _BlankNode())
            merged.parts |= parts
            merged.sources += axiom.sources
    return axioms


def _is_equivalent(axiom: _BlankNode) -> bool:
    # Mondo states how each reference relates to the term.
    stated = [origin for origin in axiom.sources if origin.startswith("MONDO:")]
    return not stated or "MONDO:equivalentTo" in stated


def _add_parent(record: Record, value: str, blanks: dict[str, _BlankNode]) -> None:
    if value not in blanks:
        obo_terms.add_edge(record.parents, value)
        return
    restriction = blanks[value].parts
    if obo_terms.is_part_of(restriction.get("onProperty", "")) and "someValuesFrom" in restriction:
        obo_terms.add_edge(record.wholes, restriction["someValuesFrom"])


def _read_triples(source: Source) -> tuple[dict[str, list[tuple[str, str, str | None]]], dict[str, _BlankNode]]:
    """Return {IRI of a class: [(local name of the property, value, language)]} and the blank nodes."""
    ox: Any = require("pyoxigraph", distribution="pyoxigraph", extra="owl", needed_for="Reading OWL")
    statements: dict[str, list[tuple[str, str, str | None]]] = {}
    classes: dict[str, None] = {}
    blanks: dict[str, _BlankNode] = {}
    triples = 0
    reject_large_entities(source, source.path)
    try:
        with source.open() as file:
            for triple in ox.parse(file, format=ox.RdfFormat.RDF_XML, base_iri=source.path.resolve().as_uri()):
                triples += 1
                subject, predicate, value = triple.subject, triple.predicate.value, triple.object
                name = re.split("[#/]", predicate)[-1]
                if isinstance(subject, ox.NamedNode):
                    if predicate == _TYPE and value.value == _OWL + "Class":
                        classes[subject.value] = None
                    elif name in _OF_CLASS:
                        lang = value.language if isinstance(value, ox.Literal) else None
                        statements.setdefault(subject.value, []).append((name, value.value, lang))
                elif name in _OF_BLANK or name in _OF_AXIOM:
                    blank = blanks.setdefault(subject.value, _BlankNode())
                    if name == "source":
                        blank.sources.append(value.value)
                    else:
                        local = name == "annotatedProperty"
                        blank.parts[name] = re.split("[#/]", value.value)[-1] if local else value.value
    except SyntaxError as error:
        raise InputError(
            f"it cannot be read as RDF/XML ({error.msg})",
            path=source.path,
            line=error.lineno,
            fix="Convert it, for example with ROBOT: robot convert --input X --output X.obo",
        ) from error
    if not classes:
        raise InputError(
            "it has no classes" if triples else "it has no RDF/XML",
            path=source.path,
            fix="Give OWL in RDF/XML; ROBOT converts other syntaxes: robot convert --input X --output Y.owl",
        )
    return {iri: statements.get(iri, []) for iri in classes}, blanks


FORMAT = Format("owl", "OWL in RDF/XML (*.owl, or it begins with <rdf:RDF)", _recognise, _read_records, _find_name)
