"""Which records of different sources are one concept.

In order of precedence, a record joins a concept of earlier sources

1. if it has the same id;
2. if a cross-reference says so, they share a name, and their types are kin (of the Disease Ontology's references to
   MeSH one in ten is merely near);
3. if their preferred names have the same key and their types are kin;
4. if its preferred name is a name, not an abbreviation, of exactly one concept of a kin type.

The key of a name is its normal form without spaces and, for drugs, without a final "agent", "drug" or "medicine":
"Non-Steroidal Anti-Inflammatory Agents" is "nonsteroidal anti-inflammatory drug". Two records of one source never join
each other. Names that are narrower, broader or related say nothing about identity.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.graph.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.graph.model import ConceptType
    from imapeval.graph.record import Record

SAMPLES = 10
"""Merged records that are listed for each source and reason."""

# One thing may be typed either way by different sources ("fever"; "endoscopy" is diagnostic and therapeutic).
_FAMILIES: tuple[frozenset[ConceptType], ...] = (
    frozenset({"disease", "symptom"}),
    frozenset({"procedure", "test"}),
    frozenset({"procedure", "lifestyle"}),
)


@dataclass(slots=True)
class Group:
    """Records that are one concept.

    Attributes:
        members: The records, those of the source with the highest precedence first.
        sources: The key of each member's source.
        type: What kind of thing it is; None where no member says.
        place: Among the concepts of the merged graph, from 0; None for a group that is not among them.
    """

    members: list[Record]
    sources: list[str]
    type: ConceptType | None
    place: int | None = None

    @property
    def id(self) -> str:
        """Return the id of the source with the highest precedence."""
        return self.members[0].id


class Grouping:
    """Takes records, source by source, and groups them.

    Attributes:
        groups: All groups, in order of precedence.
        by_id: Group of each id.
        by_label: Groups by the key of a preferred name.
        by_name: Groups by the key of any exact name but abbreviations.
        counts: How many records joined a group of other sources, by (source, why).
        samples: {(source, why): the first (record's id, its label, concept's id, its label)}.
    """

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.by_id: dict[str, Group] = {}
        self.by_label: dict[str, list[Group]] = defaultdict(list)
        self.by_name: dict[str, list[Group]] = defaultdict(list)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.samples: dict[tuple[str, str], list[tuple[str, str, str, str]]] = {}
        self._claims: dict[str, list[str]] = defaultdict(list)

    def take(self, source: str, records: Mapping[str, Record], *, publish: bool) -> None:
        """Group the records of one source.

        Args:
            source: Its key.
            records: By id.
            publish: Whether names are asked for later; that takes memory.
        """
        placed: list[tuple[Group, Record]] = []
        waiting: list[Record] = []
        for record in records.values():
            if group := self._join_outright(source, record):
                placed.append((group, record))
            else:
                waiting.append(record)
        # Of one source, equal preferred names go before synonyms, so that no record takes another's place.
        for record in waiting:
            group = self._join_by_synonym(source, record) or self._add(source, record)
            if publish:
                placed.append((group, record))
        if not publish:
            return
        # Only now, because records of one source never join each other.
        for group, record in placed:
            if label := make_key(record.label, record.type):
                self.by_label[label].append(group)
            for key in list_keys(record):
                self.by_name[key].append(group)
            for other in dict.fromkeys(record.xrefs):
                self._claims[other].append(record.id)

    def _add(self, source: str, record: Record) -> Group:
        group = Group([record], [source], record.type)
        self.groups.append(group)
        self.by_id[record.id] = group
        return group

    def _join_outright(self, source: str, record: Record) -> Group | None:
        same = self.by_id.get(record.id)
        if same is not None:
            return self._join(source, record, same, "same id")
        if not self.by_label:
            return None
        for find, why in ((self._find_referenced, "cross-reference"), (self._find_labelled, "same name")):
            group = find(record)
            if group is not None and source not in group.sources:
                return self._join(source, record, group, why)
        return None

    def _join_by_synonym(self, source: str, record: Record) -> Group | None:
        if not self.by_name:
            return None
        found = [
            group
            for group in self.by_name.get(make_key(record.label, record.type), ())
            if are_kin(group.type, record.type)
        ]
        if len({group.id for group in found}) != 1 or source in found[0].sources:
            return None
        return self._join(source, record, found[0], "known name")

    def _join(self, source: str, record: Record, group: Group, why: str) -> Group:
        self.counts[source, why] += 1
        if len(shown := self.samples.setdefault((source, why), [])) < SAMPLES:
            shown.append((record.id, record.label, group.id, group.members[0].label))
        group.members.append(record)
        group.sources.append(source)
        self.by_id[record.id] = group
        group.type = group.type or record.type
        return group

    def _find_referenced(self, record: Record) -> Group | None:
        targets = [*self._claims.get(record.id, ()), *record.xrefs]
        keys = set(list_keys(record))
        groups = {
            group.id: group
            for group in (self.by_id[target] for target in targets if target in self.by_id)
            if may_be_kin(group.type, record.type) and any(keys.intersection(list_keys(m)) for m in group.members)
        }
        if len(groups) > 1:
            label = make_key(record.label, record.type)
            groups = {key: g for key, g in groups.items() if label == make_key(g.members[0].label, g.type)}
        return next(iter(groups.values())) if len(groups) == 1 else None

    def _find_labelled(self, record: Record) -> Group | None:
        found = self.by_label.get(make_key(record.label, record.type), ())
        return next((group for group in found if are_kin(group.type, record.type)), None)

    def find_parent(self, text: str, kind: ConceptType | None) -> Group | None:
        """Return the group that a parent's name means: before all one of a kin type, and one whose label it is."""
        key = make_key(text, kind)
        found = [*self.by_label.get(key, ()), *self.by_name.get(key, ())]
        return next((group for group in found if are_kin(group.type, kind)), next(iter(found), None))


def are_kin(one: ConceptType | None, other: ConceptType | None) -> bool:
    """Tell whether two types are the same or so close that sources type one thing either way."""
    return one == other or any(one in family and other in family for family in _FAMILIES)


def may_be_kin(one: ConceptType | None, other: ConceptType | None) -> bool:
    """Tell whether two types are kin, or one of them is not known."""
    return one is None or other is None or are_kin(one, other)


@lru_cache(maxsize=1 << 16)
def make_key(text: str, kind: ConceptType | None) -> str:
    """Return what a name is compared by: see this module. "" where nothing but punctuation stands."""
    norm = normalise(text)
    if kind == "drug":
        norm = re.sub(r"(?<=[a-z]) (agent|drug|medicine|medication)$", "", norm)
    return norm.replace(" ", "")


def list_keys(record: Record) -> list[str]:
    """Return the keys of a record's exact names, each once, without abbreviations."""
    keys = (
        make_key(name.text, record.type)
        for name in record.names
        if name.scope == "exact" and name.kind != "abbreviation"
    )
    return list(dict.fromkeys(filter(None, keys)))
