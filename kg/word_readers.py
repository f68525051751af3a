"""Reads WordNet and the HL7 code systems."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import networkx as nx
from cleaning import add_name, is_usable

from imapeval.graph.readers.base import Record
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from imapeval.graph.model import ConceptType, NameKind

# Root synsets of WordNet 3.0, by offset in data.noun. The first whose subtree holds a synset gives its type.
_WORDNET_ROOTS: tuple[tuple[str, ConceptType], ...] = (
    ("00177127", "test"),  # diagnostic procedure
    ("05739043", "test"),  # diagnostic test
    ("00661091", "procedure"),  # therapy
    ("01024392", "procedure"),  # medical procedure
    ("03247620", "drug"),  # drug
    ("14299637", "symptom"),  # symptom
    ("14052046", "disease"),  # ill health
    ("14052403", "disease"),  # disorder
    ("06045562", "department"),  # medical science
    ("05220461", "body_part"),  # body part
    ("05263850", "body_part"),  # body substance
)
_DRUGS_OF_ABUSE = "03248958"
"""Root of a subtree that is left out: its names are everyday words in other senses."""


def read_wordnet(nouns: bytes) -> list[Record]:
    """Read the medical subtrees of WordNet's nouns."""
    words: dict[str, list[str]] = {}
    above: dict[str, list[str]] = {}
    is_a: nx.DiGraph[str] = nx.DiGraph()
    wholes: dict[str, list[str]] = {}
    for line in nouns.decode().splitlines():
        if line.startswith(" "):
            continue  # the licence, which is indented
        fields = line.partition(" | ")[0].split()
        count = int(fields[3], 16)
        offset = fields[0]
        words[offset] = [fields[4 + 2 * n].replace("_", " ") for n in range(count)]
        pointers = fields[5 + 2 * count :]
        above[offset] = [pointers[n + 1] for n in range(0, len(pointers) - 3, 4) if pointers[n] in ("@", "@i")]
        wholes[offset] = [pointers[n + 1] for n in range(0, len(pointers) - 3, 4) if pointers[n] == "#p"]
        is_a.add_edges_from((offset, parent) for parent in above[offset])
    left_out = {_DRUGS_OF_ABUSE, *nx.ancestors(is_a, _DRUGS_OF_ABUSE)}
    types: dict[str, ConceptType] = {}
    for root, concept_type in _WORDNET_ROOTS:
        for offset in sorted({root, *nx.ancestors(is_a, root)} - left_out):
            types.setdefault(offset, concept_type)
    records: list[Record] = []
    for offset in sorted(types):
        label = words[offset][0]
        record = Record(f"WN:{offset}", "wordnet", label, types[offset])
        record.parents = [f"WN:{parent}" for parent in above[offset] if parent in types]
        if types[offset] == "body_part":
            record.wholes = [f"WN:{whole}" for whole in wholes[offset] if types.get(whole) == "body_part"]
        for word in words[offset]:
            if is_usable(word):
                kind: NameKind = "abbreviation" if word.isupper() and len(word) < 8 else "synonym"
                add_name(record, word, "name" if word == label else kind)
        records.append(record)
    return records


def find_everyday_words(noun_index: bytes, others: list[bytes], medical: set[str]) -> set[str]:
    """Return the single words, in normal form, that in running text mostly mean something else.

    Their most frequent noun sense is not a medical one, or they occur as adjectives or adverbs in tagged text.

    Args:
        noun_index: index.noun: lemmas with their synsets, most frequent first.
        others: index.adj and index.adv.
        medical: Offsets of the synsets of the medical subtrees.
    """
    everyday: set[str] = set()
    for line in noun_index.decode().splitlines():
        fields = line.split()
        if not line.startswith(" ") and "_" not in fields[0] and fields[-int(fields[2])] not in medical:
            everyday.add(normalise(fields[0]))
    for index in others:
        for line in index.decode().splitlines():
            fields = line.split()
            # ... sense_cnt tagsense_cnt offset*: tagged senses occur in ordinary texts.
            if not line.startswith(" ") and "_" not in fields[0] and int(fields[-int(fields[2]) - 1]) > 0:
                everyday.add(normalise(fields[0]))
    return everyday


_SPECIALTY = re.compile(r"(logy|iatrics|iatry|surgery|medicine|genetics|obstetrics|care)$", re.I)


def read_hl7(role_codes: bytes, service_types: bytes) -> list[Record]:
    """Read clinics, hospital units and specialties as departments."""
    records: dict[str, Record] = {}
    for concept in json.loads(role_codes)["concept"]:
        kinds = [p.get("valueCode") for p in concept.get("property", []) if p["code"] == "subsumedBy"]
        name = str(concept.get("display", ""))
        stem = re.sub(r" (clinic|unit)$", "", name, flags=re.I)
        if kinds and stem != name and is_usable(name) and ";" not in name:
            label = stem if _SPECIALTY.search(stem) else name
            record = Record(f"HL7:{concept['code']}", "hl7", label, "department")
            add_name(record, label, "name")
            if label != name:
                add_name(record, name)
            record.parents = [f"HL7:{kind}" for kind in kinds]
            records[record.id] = record
    known = {normalise(record.label) for record in records.values()}
    for concept in json.loads(service_types)["concept"]:
        name = str(concept.get("display", ""))
        if _SPECIALTY.search(name) and not re.search(r"[/()&]| - |care$", name, re.I) and normalise(name) not in known:
            known.add(normalise(name))
            record = Record(f"HL7:service-{concept['code']}", "hl7", name, "department")
            add_name(record, name, "name")
            records[record.id] = record
    return list(records.values())
