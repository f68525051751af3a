"""Terms of OBO ontologies, for the OBO, OBO Graphs and OWL formats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.graph.model import Name
from imapeval.graph.readers.base import MAX_NAME, Record
from imapeval.graph.readers.parsing.concept_types import type_of_id
from imapeval.graph.readers.parsing.curies import canonical_curie

if TYPE_CHECKING:
    from imapeval.graph.model import NameKind, Scope
    from imapeval.graph.readers.base import Source
    from imapeval.types import Lang

SCOPES: dict[str, Scope] = {
    "hasExactSynonym": "exact",
    "hasNarrowSynonym": "narrow",
    "hasBroadSynonym": "broad",
    "hasRelatedSynonym": "related",
}
"""Scope of a synonym by its property in oboInOwl."""

EXACT_MATCH = frozenset(("exactMatch", "equivalentTo"))
"""Local names of properties that link a term to the same term elsewhere."""

# Synonym types by their last word. Those of the OBO Metadata Ontology are http://purl.obolibrary.org/obo/OMO_0003000
# (abbreviation), 0003003 (layperson), 0003012 (acronym); those of ChEBI have brand names.
_KINDS: dict[str, NameKind] = {
    "abbreviation": "abbreviation",
    "acronym": "abbreviation",
    "OMO_0003000": "abbreviation",
    "OMO_0003012": "abbreviation",
    "layperson": "lay",
    "OMO_0003003": "lay",
    "brand_name": "brand",
}

# Types of synonyms in HPO and Mondo that are no longer, or never were, names.
_DISCARDED = frozenset(("obsolete_synonym", "deprecated", "exclude"))

# Properties from a part to its whole, by local name or as CURIEs.
_PART_OF = frozenset(("part_of", "BFO_0000050", "BFO:0000050"))


def start_record(source: Source, term: str) -> Record | None:
    """Return an empty record for an id, or None if it is not an id."""
    known = canonical_curie(term)
    return None if known is None else Record(known, source.name, type=type_of_id(known))


def add_name(
    record: Record,
    text: str,
    *,
    source: Source,
    place: str,
    lang: str | None = None,
    kind: str = "synonym",
    scope: Scope = "exact",
    label: bool = False,
) -> None:
    """Add a name to a record, or report why not.

    Args:
        record: The record.
        text: The name.
        source: Records the problems.
        place: Place of the name, such as "doid.obo line 17".
        lang: Language tag; None for English.
        kind: The type of synonym in the source, as a name or an IRI; "synonym" if it has none.
        scope: Meaning of the name relative to the concept.
        label: Whether it is the preferred name.
    """
    known_lang = find_lang(lang)
    if known_lang is None:
        source.skipped["names in other languages"] += 1
        return
    text = " ".join(text.split())
    if not text or len(text) > MAX_NAME:
        source.problems.add(f"a name of more than {MAX_NAME:,} characters" if text else "an empty name", place)
        return
    word = kind.rpartition("#")[2].rpartition("/")[2].replace("OMO:", "OMO_")
    if word.lower() in _DISCARDED:
        source.skipped["synonyms that the source has discarded"] += 1
        return
    sort = "name" if label else _KINDS.get(word) or _KINDS.get(word.lower(), "synonym")
    name = Name(text, known_lang, sort, source.name, scope)
    if label and known_lang == "en":
        if record.label:
            source.problems.add("a second label in English", place)
            return
        record.label = text
        record.names.insert(0, name)
    else:
        record.names.append(name)


def find_lang(tag: str | None) -> Lang | None:
    """Return "en" or "zh" for a tag (BCP 47) such as "en-GB" or "zh_Hans"; English for None, None for others."""
    if not tag:
        return "en"
    primary = tag.lower().replace("_", "-").partition("-")[0]
    return "zh" if primary == "zh" else "en" if primary == "en" else None


def add_xref(record: Record, text: str) -> None:
    """Add the id of a concept in another vocabulary; references to web pages and articles are ignored."""
    known = canonical_curie(text)
    if known is not None and known != record.id:
        record.xrefs.append(known)


def add_edge(ids: list[str], text: str) -> None:
    """Add an id to the parents or wholes of a record."""
    known = canonical_curie(text)
    if known is not None:
        ids.append(known)


def drop_repetitions(record: Record) -> Record:
    """Leave each name and id of a whole record once; a search for each in those before would take quadratic time."""
    record.names = [*dict.fromkeys(record.names)]
    for name in ("parents", "wholes", "xrefs"):
        setattr(record, name, [*dict.fromkeys(getattr(record, name))])
    return record


def is_part_of(relation: str) -> bool:
    """Return whether a relation, as a name, CURIE or IRI, is that of a part to its whole."""
    return re.split("[#/]", relation)[-1] in _PART_OF
