"""Reads WordNet and the HL7 code systems."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
# Parts of animals and drugs of the street: their names are everyday words in other senses.
_WORDNET_LEFT_OUT = ("03248958",)


@dataclass(frozen=True, slots=True)
class WordSenses:
    """What WordNet says about English words besides the medical subtrees.

    Attributes:
        everyday: Single words (normal form) whose most frequent noun sense is not a medical one, or which occur as
            adjectives or adverbs in tagged text: in running text they mostly mean something else.
    """

    everyday: frozenset[str]


def read_wordnet(nouns: bytes) -> list[Record]:
    """Read the medical subtrees of WordNet's nouns."""
    words: dict[str, list[str]] = {}
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = defaultdict(list)
    wholes: dict[str, list[str]] = {}
    for line in nouns.decode().splitlines():
        if line.startswith(" "):
            continue  # the licence stands in front, indented
        fields = line.partition(" | ")[0].split()
        count = int(fields[3], 16)
        offset = fields[0]
        words[offset] = [fields[4 + 2 * n].replace("_", " ") for n in range(count)]
        pointers = fields[5 + 2 * count :]
        above[offset] = [pointers[n + 1] for n in range(0, len(pointers) - 3, 4) if pointers[n] in ("@", "@i")]
        wholes[offset] = [pointers[n + 1] for n in range(0, len(pointers) - 3, 4) if pointers[n] == "#p"]
        for parent in above[offset]:
            below[parent].append(offset)
    left_out = set[str]()
    for root in _WORDNET_LEFT_OUT:
        left_out |= _descend(root, below)
    types: dict[str, ConceptType] = {}
    for root, concept_type in _WORDNET_ROOTS:
        for offset in sorted(_descend(root, below) - left_out):
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


def read_senses(noun_index: bytes, others: list[bytes], medical: set[str]) -> WordSenses:
    """Find everyday words.

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
            # ... sense_cnt tagsense_cnt offset*: a tagged sense is one that occurs in ordinary texts.
            if not line.startswith(" ") and "_" not in fields[0] and int(fields[-int(fields[2]) - 1]) > 0:
                everyday.add(normalise(fields[0]))
    return WordSenses(frozenset(everyday))


def _descend(root: str, below: dict[str, list[str]]) -> set[str]:
    found, queue = set[str](), [root]
    while queue:
        offset = queue.pop()
        if offset not in found:
            found.add(offset)
            queue += below.get(offset, [])
    return found


_SPECIALTY = re.compile(
    r"(logy|iatrics|iatry|surgery|medicine|genetics|obstetrics|gynecology|urology|ology|care)$", re.I
)


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
