"""Makes one graph of the entries of all sources."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from entry import Entry, are_kin

from imapeval.graph.model import Concept, ConceptType, Name
from imapeval.graph.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

SOURCES = ("doid", "mesh", "chebi", "wordnet", "hl7", "imap")
"""Precedence: a merged concept keeps the id of the source that stands first here."""

# Tops of the sources, by normal form of their labels. Being under one of them says nothing beyond the type, so they
# are nobody's parent who has another one.
_TOPS = frozenset(
    map(
        normalise,
        """
        disease; disease of anatomical entity; syndrome; ill health; illness; disorder; health problem; symptom;
        pathological conditions, signs and symptoms; signs and symptoms; pathologic processes; sign; evidence;
        disease attributes; chronic disease; acute disease; anatomical pathological conditions; health occupations;
        drug; drugs; medicine; medication; pharmaceutical; pharmaceutical preparations; pharmacological role;
        pharmacologic actions; therapeutic uses; physiological effects of drugs; agent; substance;
        pharmacological agent; molecular mechanisms of pharmacological action; biological role; application; role;
        treatment; therapy; therapeutics; medical procedure; procedure; medical care; diagnosis; diagnostic procedure;
        diagnostic techniques and procedures; diagnostic test; examination; medical test; test;
        body part; body substance; organ; system; medical science; medicine; department; clinical department;
        bacteria; viruses; organism; lifestyle measure; structure; internal organ; external body part; affliction;
        equipment and supplies; patient care; antagonist; agonist; inhibitor;
        receptor modulator; protective agents; lifestyle; risk factor; factor
        """.replace("\n", " ").split(";"),
    )
)


@dataclass(slots=True)
class Group:
    """Entries of different sources that are one concept."""

    members: list[Entry]

    @property
    def id(self) -> str:
        """Return the id of the source with the highest precedence."""
        return self.members[0].id

    @property
    def type(self) -> ConceptType:
        """Return the type in our own tables (where these waver, MeSH's), else the one of the first source."""
        own = next((member for member in self.members if member.source == "imap"), self.members[0])
        if own.type_is_open:
            for member in self.members:
                if member.source == "mesh":
                    return member.type
        return own.type

    @property
    def label(self) -> str:
        """Return the label in our own tables, else the one of the first source."""
        return next((member.label for member in self.members if member.source == "imap"), self.members[0].label)

    @property
    def is_top(self) -> bool:
        """Tell whether this is one of the roots."""
        return any(normalise(member.label) in _TOPS for member in self.members)


@dataclass(slots=True)
class Merged:
    """The merged graph and what happened on the way.

    Attributes:
        concepts: In order of precedence.
        names: (concept id, name).
        tops: Ids of the roots.
        merged: How many entries joined a concept of another source, by (source, why).
        unknown_parents: Parents named in our own tables that nothing is called, with the concept that names them.
        cyclic_edges: (child, parent) left out because sources of higher precedence say the reverse.
    """

    concepts: list[Concept]
    names: list[tuple[str, Name]]
    tops: list[str]
    merged: Counter[tuple[str, str]]
    unknown_parents: list[tuple[str, str]]
    cyclic_edges: list[tuple[str, str]]


def merge(entries: Iterable[Entry]) -> Merged:
    """Merge entries into concepts.

    In order of precedence, an entry joins a concept of earlier sources, of the same type or family of types, if

    1. a cross-reference says so and they share a name (one in ten of DOID's references to MeSH is merely near);
    2. their preferred names have the same key;
    3. its preferred name is a name (not an abbreviation) of exactly one such concept (not for MeSH);
    4. for our own tables: there is exactly one such concept that shares two names with it, or whose preferred name is
       a synonym here.

    The key of a name is its normal form without spaces and, for drugs, without a final "agent", "drug" or "medicine":
    "Non-Steroidal Anti-Inflammatory Agents" is "nonsteroidal anti-inflammatory drug". Two entries of one source never
    join each other.
    """
    merger = _Merger()
    ordered = sorted(entries, key=lambda entry: SOURCES.index(entry.source))
    claims: dict[str, list[Entry]] = defaultdict(list)
    for entry in ordered:
        for other in dict.fromkeys(entry.same_as):
            claims[other].append(entry)
    # Of one source, equal preferred names go before synonyms, so that no entry takes another's place.
    for source in SOURCES:
        waiting: list[Entry] = []
        for entry in (entry for entry in ordered if entry.source == source):
            if merger.join(entry, merger.find_referenced(entry, claims), "cross-reference"):
                continue
            if not merger.join(entry, merger.find_labelled(entry), "same name"):
                waiting.append(entry)
        for entry in waiting:
            if not merger.join(entry, merger.find_unambiguous(entry), "known name"):
                merger.add(entry)
        merger.publish()
    return merger.finish()


class _Merger:
    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.by_id: dict[str, Group] = {}
        self.by_label: dict[str, list[Group]] = defaultdict(list)
        self.by_name: dict[str, list[Group]] = defaultdict(list)
        self.counts: Counter[tuple[str, str]] = Counter()
        self._new: list[tuple[Group, Entry]] = []

    def add(self, entry: Entry) -> None:
        group = Group([entry])
        self.groups.append(group)
        self.by_id[entry.id] = group
        self._new.append((group, entry))

    def join(self, entry: Entry, group: Group | None, why: str) -> bool:
        if group is None or any(member.source == entry.source for member in group.members):
            return False
        group.members.append(entry)
        self.by_id[entry.id] = group
        self.counts[entry.source, why] += 1
        self._new.append((group, entry))
        return True

    def publish(self) -> None:
        """Let later sources see the names of this one: entries of one source never join each other."""
        for group, entry in self._new:
            self.by_label[_make_key(entry.label, entry.type)].append(group)
            for text, _, kind in entry.names:
                known = self.by_name[_make_key(text, entry.type)]
                if kind != "abbreviation" and group not in known:
                    known.append(group)
        self._new = []

    def find_referenced(self, entry: Entry, claims: dict[str, list[Entry]]) -> Group | None:
        targets = [claimant.id for claimant in claims.get(entry.id, [])] + entry.same_as
        keys = _list_keys(entry)
        groups = {
            group.id: group
            for group in (self.by_id[target] for target in targets if target in self.by_id)
            if are_kin(group.type, entry.type) and any(keys & _list_keys(member) for member in group.members)
        }
        if len(groups) > 1:
            label = _make_key(entry.label, entry.type)
            groups = {key: g for key, g in groups.items() if label in {_make_key(g.label, g.type)}}
        return next(iter(groups.values())) if len(groups) == 1 else None

    def find_labelled(self, entry: Entry) -> Group | None:
        found = self.by_label.get(_make_key(entry.label, entry.type), [])
        return next((group for group in found if are_kin(group.type, entry.type)), None)

    def find_unambiguous(self, entry: Entry) -> Group | None:
        if entry.source == "mesh":
            return None  # DOID lists many a neighbour as a synonym; where MeSH has its own descriptor, they differ
        found = self._find_named(entry, entry.label)
        if not found and entry.source == "imap":
            keys = _list_keys(entry)
            found = [group for text, lang, _ in entry.names if lang == "en" for group in self._find_named(entry, text)]
            found = [group for group in found if _shares_enough(keys, group)]
        return found[0] if len({group.id for group in found}) == 1 else None

    def _find_named(self, entry: Entry, text: str) -> list[Group]:
        found = self.by_name.get(_make_key(text, entry.type), [])
        return [group for group in found if are_kin(group.type, entry.type)]

    def finish(self) -> Merged:
        unknown: list[tuple[str, str]] = []
        parents, cyclic = self._place_edges(unknown)
        concepts: list[Concept] = []
        names: list[tuple[str, Name]] = []
        for group in self.groups:
            above = [self.by_id[parent] for parent in parents[group.id]]
            proper = [parent for parent in above if not parent.is_top]
            concepts.append(Concept(group.id, group.label, group.type, tuple(parent.id for parent in proper or above)))
            for member in sorted(group.members, key=lambda member: member.source != "imap"):
                for text, lang, kind in member.names:
                    # Only the concept's own label is its name outright: what another source prefers may be a word
                    # that is the label of something else ("surgery" for the department).
                    outright = lang != "en" or kind != "name" or normalise(text) == normalise(group.label)
                    names.append((group.id, Name(text, lang, kind if outright else "synonym", member.source)))
        tops = [group.id for group in self.groups if group.is_top]
        return Merged(concepts, names, tops, self.counts, unknown, cyclic)

    def _place_edges(self, unknown: list[tuple[str, str]]) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
        """Collect the parents of every concept, source by source, leaving out what would close a cycle."""
        parents: dict[str, list[str]] = {group.id: [] for group in self.groups}
        cyclic: list[tuple[str, str]] = []
        # WordNet's kinship is a layman's (COPD under emphysema, ultrasound under prenatal diagnosis, antimetabolites
        # under antineoplastic drugs): it comes last, and counts only where the others have none.
        for source in sorted(SOURCES, key="wordnet".__eq__):
            for group in self.groups:
                for member in (member for member in group.members if member.source == source):
                    if source == "wordnet" and parents[group.id]:
                        continue
                    above = [self.by_id[parent] for parent in member.parents if parent in self.by_id]
                    above = [parent for parent in above if are_kin(parent.type, group.type)]
                    for text in member.parent_names:
                        parent = self._find_parent(text, group.type)
                        if parent is None:
                            unknown.append((member.label, text))
                        else:
                            above.append(parent)
                    for parent in above:
                        if parent is group or parent.id in parents[group.id]:
                            continue
                        if _reaches(parent.id, group.id, parents):
                            cyclic.append((group.id, parent.id))
                        else:
                            parents[group.id].append(parent.id)
        return parents, cyclic

    def _find_parent(self, text: str, kind: ConceptType) -> Group | None:
        key = _make_key(text, kind)
        # Our own concepts first: a parent named in our tables means the one in our tables.
        found = sorted(self.by_label.get(key, []), key=lambda group: all(m.source != "imap" for m in group.members))
        found += self.by_name.get(key, [])
        return next((group for group in found if are_kin(group.type, kind)), next(iter(found), None))


def _reaches(start: str, goal: str, parents: dict[str, list[str]]) -> bool:
    seen, queue = set[str](), [start]
    while queue:
        concept = queue.pop()
        if concept == goal:
            return True
        if concept not in seen:
            seen.add(concept)
            queue += parents[concept]
    return False


def _make_key(text: str, kind: ConceptType) -> str:
    norm = normalise(text)
    if kind == "drug":
        norm = re.sub(r"(?<=[a-z]) (agent|drug|medicine|medication)$", "", norm)
    return norm.replace(" ", "")


def _shares_enough(keys: set[str], group: Group) -> bool:
    labels = {_make_key(member.label, member.type) for member in group.members}
    known = {key for member in group.members for key in _list_keys(member)}
    return bool(keys & labels) or len(keys & known) > 1


def _list_keys(entry: Entry) -> set[str]:
    return {_make_key(text, entry.type) for text, _, kind in entry.names if kind != "abbreviation"}
