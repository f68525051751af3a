"""Decides which records of different sources describe the same concept.

A record joins a concept of earlier sources, in this order of precedence,

1. if it has the same id;
2. if a cross-reference links them and they share a name (one in ten references from the Disease Ontology to MeSH is to
   a concept that is only related);
3. if their preferred names have the same key;
4. if its preferred name is a name, not an abbreviation, of exactly one concept;

and, except for the first rule, if their types are compatible and their qualifiers are the same ("acute",
"alcoholic"): sources often list narrower concepts among the synonyms of a broader one.

The key of a name is its normal form without spaces, with one spelling of numerals ("type II", "type 2") and of Chinese
terms, and, for drugs, without a final "agent", "drug", "medicine" or "medication": "Non-Steroidal Anti-Inflammatory
Agents" is "nonsteroidal anti-inflammatory drug". Two records of one source are never merged. Narrower, broader or
related names are not evidence of identity.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from imapeval.graph.linking.spelling import unify_spelling
from imapeval.text.dimensions.stages import ROMAN_NUMERALS
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from imapeval.graph.model import ConceptType, NameKind
    from imapeval.graph.readers.base import Record

SAMPLES = 10
"""Merged records listed for each source and reason."""

# What `unify_spelling` may change in a normal form; it is too slow for all of millions of names.
_NUMERAL = re.compile(r"(?<![^ ])(?:\d{1,2}|[ivx]{1,4})(?![^ ])|[^\x00-\x7f]")

# Types that sources use interchangeably ("fever"; "endoscopy", which is diagnostic and therapeutic).
_INTERCHANGEABLE_TYPES: tuple[frozenset[ConceptType], ...] = (
    frozenset({"disease", "symptom"}),
    frozenset({"procedure", "test"}),
    frozenset({"procedure", "lifestyle"}),
)


@dataclass(slots=True)
class Group:
    """Records of the same concept.

    Attributes:
        members: The records, those of the source with the highest precedence first.
        type: Type of the concept; None where no member gives one.
        position: Place among the concepts of the merged graph, from 0; None for a group that is not in it.
    """

    members: list[Record]
    type: ConceptType | None
    position: int | None = None

    @property
    def id(self) -> str:
        """Return the id of the source with the highest precedence."""
        return self.members[0].id


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a record joins a group.

    Attributes:
        why: Reason, for the report.
        find: Returns the group that a record joins by this rule, or None.
        repeats_source: Whether it may join a group that already has a record of the same source.
    """

    why: str
    find: Callable[[Record], Group | None]
    repeats_source: bool = False


class Grouping:
    """Groups records, source by source.

    Attributes:
        groups: All groups, in order of precedence.
        by_id: Group of each id.
        by_label: Groups by the key of a preferred name.
        by_name: Groups by the key of any exact name except abbreviations.
        counts: Number of records that joined a group of other sources, by (source, why).
        samples: {(source, why): the first (record's id, its label, concept's id, its label)}.
    """

    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.by_id: dict[str, Group] = {}
        self.by_label: dict[str, list[Group]] = defaultdict(list)
        self.by_name: dict[str, list[Group]] = defaultdict(list)
        self.counts: Counter[tuple[str, str]] = Counter()
        self.samples: dict[tuple[str, str], list[tuple[str, str, str, str]]] = {}
        self._referring: dict[str, list[str]] = defaultdict(list)

    def list_rules(self) -> Sequence[Rule]:
        """Return the rules by which records join groups, most reliable first."""
        return (
            Rule("same id", lambda record: self.by_id.get(record.id), repeats_source=True),
            Rule("cross-reference", self.find_by_xref),
            Rule("same name", self.find_by_label),
            Rule("known name", self.find_by_name),
        )

    def list_name_keys(self, group: Group, record: Record) -> list[str]:
        """Return the keys of a record by which later records can find its group."""
        return list_keys(record)

    def add_source(self, source: str, records: Iterable[Record], *, searchable: bool) -> None:
        """Group the records of one source, one for each id.

        Records of later sources join them by name or cross-reference only if `searchable`, which takes memory.
        """
        placed: list[tuple[Group, Record]] = []
        waiting = list(records)
        # Each rule is applied to all records before the next rule, which is less reliable.
        for rule in self.list_rules() if self.groups else ():
            left: list[Record] = []
            for record in waiting:
                group = rule.find(record)
                if group is None or (
                    not rule.repeats_source and any(member.source == source for member in group.members)
                ):
                    left.append(record)
                else:
                    self._join(record, group, rule.why)
                    placed.append((group, record))
            waiting = left
        for record in waiting:
            group = Group([record], record.type)
            self.groups.append(group)
            self.by_id[record.id] = group
            if searchable:
                placed.append((group, record))
        if not searchable:
            return
        # Registered only now, because records of one source are never merged.
        for group, record in placed:
            if label := make_key(record.label, record.type):
                self.by_label[label].append(group)
            for key in self.list_name_keys(group, record):
                self.by_name[key].append(group)
            for other in dict.fromkeys(record.xrefs):
                self._referring[other].append(record.id)

    def _join(self, record: Record, group: Group, why: str) -> None:
        self.counts[record.source, why] += 1
        if len(samples := self.samples.setdefault((record.source, why), [])) < SAMPLES:
            samples.append((record.id, record.label, group.id, group.members[0].label))
        group.members.append(record)
        self.by_id[record.id] = group
        group.type = group.type or record.type

    def find_by_xref(self, record: Record) -> Group | None:
        """Return the group that a cross-reference, in either direction, points to."""
        targets = [*self._referring.get(record.id, ()), *record.xrefs]
        linked = {group.id: group for target in targets if (group := self.by_id.get(target))}
        if not linked:
            return None
        # Lay names and brands may be shared by related concepts.
        keys = set(list_keys(record, excluding=("lay", "brand", "abbreviation")))
        groups = [
            group
            for group in linked.values()
            if may_be_compatible(group.type, record.type)
            and shares_qualifiers(group, record)
            and any(keys.intersection(list_keys(member)) for member in group.members)
        ]
        if len(groups) > 1:
            label = make_key(record.label, record.type)
            groups = [group for group in groups if label == make_key(group.members[0].label, group.type)]
        return groups[0] if len(groups) == 1 else None

    def find_by_label(self, record: Record) -> Group | None:
        """Return the first group with the same preferred name."""
        return next(self.find_joinable(self.by_label, record), None)

    def find_by_name(self, record: Record) -> Group | None:
        """Return the group, if there is exactly one, that has a record's preferred name among its names."""
        return find_single(self.find_joinable(self.by_name, record))

    def find_joinable(self, known: Mapping[str, Sequence[Group]], record: Record) -> Iterator[Group]:
        """Yield the groups under the key of a record's preferred name that it may join."""
        for group in known.get(make_key(record.label, record.type), ()):
            if may_join(group, record):
                yield group

    def find_parent(self, text: str, kind: ConceptType | None) -> Group | None:
        """Return the group with a parent's name, preferring compatible types, then labels over other names."""
        key = make_key(text, kind)
        found = [*self.by_label.get(key, ()), *self.by_name.get(key, ())]
        return next((group for group in found if are_compatible(group.type, kind)), next(iter(found), None))


def are_compatible(one: ConceptType | None, other: ConceptType | None) -> bool:
    """Return whether two types are equal or used interchangeably by sources."""
    return one == other or any(one in family and other in family for family in _INTERCHANGEABLE_TYPES)


def may_be_compatible(one: ConceptType | None, other: ConceptType | None) -> bool:
    """Return whether two types are compatible, or one of them is unknown."""
    return one is None or other is None or are_compatible(one, other)


def may_join(group: Group, record: Record) -> bool:
    """Return whether a record with the same name may join a group: compatible type, same qualifiers."""
    return are_compatible(group.type, record.type) and shares_qualifiers(group, record)


def shares_qualifiers(group: Group, record: Record) -> bool:
    """Return whether a record's label has the qualifiers ("acute") of one in a group; True if a label is missing."""
    return not record.label or any(
        not member.label or have_same_qualifiers(member.label, record.label) for member in group.members
    )


def find_single(groups: Iterable[Group]) -> Group | None:
    """Return the group if there is exactly one, else None."""
    found = {id(group): group for group in groups}
    return next(iter(found.values())) if len(found) == 1 else None


@lru_cache(maxsize=1 << 16)
def make_key(text: str, kind: ConceptType | None) -> str:
    """Return the key by which a name is compared (see the module docstring); "" if it is only punctuation."""
    norm = normalise(text)
    if _NUMERAL.search(norm):
        norm = unify_spelling(norm)
    if kind == "drug":
        norm = re.sub(r"(?<=[a-z]) (agent|drug|medicine|medication)$", "", norm)
    return norm.replace(" ", "")


def list_keys(record: Record, *, excluding: Container[NameKind] = ("abbreviation",)) -> list[str]:
    """Return the keys of a record's exact names, each once, leaving out some kinds of names."""
    keys = (
        make_key(name.text, record.type)
        for name in record.names
        if name.scope == "exact" and name.kind not in excluding
    )
    return list(dict.fromkeys(filter(None, keys)))


_PAIRS = (
    ("acute", "chronic"),
    ("primary", "secondary"),
    ("upper", "lower"),
    ("type 1", "type 2"),
    ("alcoholic", "nonalcoholic"),
    ("congenital", "acquired"),
    ("juvenile", "adult"),
)
_OPPOSITES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_QUALIFIER = re.compile(rf"\b(?:{'|'.join(_OPPOSITES)})\b")
_ROMAN_TYPE = re.compile(r"\btype ([ivx]{1,4})\b")
_DIGITS = {numeral: str(number) for number, numeral in enumerate(ROMAN_NUMERALS, start=1)}
_TYPE = re.compile(r"\btype (\d+)\b")


def list_qualifiers(name: str) -> frozenset[str]:
    """Return the words of an English name that distinguish it from a sibling, such as "acute" or "nonalcoholic".

    >>> sorted(list_qualifiers("Non-alcoholic fatty liver"))
    ['nonalcoholic']
    """
    return frozenset(_QUALIFIER.findall(_normalise_non(name)))


def have_same_qualifiers(one: str, other: str) -> bool:
    """Return whether two names have the same qualifiers.

    "Type II" and "type 2" are the same. A name without a type may be the same as one with "type II", because Pompe
    disease is glycogen storage disease type II; but "type 1" and "type 2" in digits are qualifiers, so it is not the
    same as one with these.
    """
    if list_qualifiers(one) != list_qualifiers(other):
        return list_qualifiers(_use_digits(one)) == list_qualifiers(_use_digits(other))
    types = [frozenset(_TYPE.findall(_use_digits(name))) for name in (one, other)]
    return types[0] == types[1] or not all(types)


def invert_qualifiers(name: str) -> tuple[str, str]:
    """Return a name in lower case, and the same with every qualifier replaced by its opposite.

    >>> invert_qualifiers("Acute bronchitis")
    ('acute bronchitis', 'chronic bronchitis')
    """
    folded = _normalise_non(name)
    return folded, _QUALIFIER.sub(lambda found: _OPPOSITES[found.group()], folded)


def _normalise_non(name: str) -> str:
    return re.sub(r"\bnon[- ]", "non", name.lower())


def _use_digits(name: str) -> str:
    return _ROMAN_TYPE.sub(lambda found: f"type {_DIGITS.get(found[1], found[1])}", name.lower())
