"""Merges the records of all sources into one graph.

Records are grouped as for every other graph (`imapeval.graph.build.grouping`). `merge` lists the rules; those that use
our own tables apply to this graph only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.graph.build.grouping import Grouping, Rule, are_compatible, find_single, list_keys, make_key, may_join
from imapeval.graph.model import Concept
from imapeval.graph.store.cycles import cut_cycles
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from imapeval.graph.build.grouping import Group
    from imapeval.graph.model import Name, NameKind
    from imapeval.graph.readers.base import Record

SOURCES = ("doid", "mondo", "mesh", "chebi", "wordnet", "hl7", "imap")
"""Precedence: a merged concept keeps the id of the source that comes first here."""

# Roots of the sources, by normal form of their labels. Being below one of them says no more than the type, so a concept
# has one as a parent only if it has no other.
_ROOTS = frozenset(
    map(
        normalise,
        """
        disease; disease of anatomical entity; syndrome; ill health; illness; disorder; health problem; symptom;
        pathological conditions, signs and symptoms; signs and symptoms; pathologic processes; disease attributes;
        chronic disease; acute disease; anatomical pathological conditions; health occupations;
        drug; medicine; medication; pharmaceutical; pharmaceutical preparations; pharmacological role;
        pharmacologic actions; therapeutic uses; physiological effects of drugs;
        molecular mechanisms of pharmacological action; application;
        treatment; therapy; therapeutics; medical procedure; diagnostic procedure;
        diagnostic techniques and procedures; diagnostic test; medical test;
        body part; body substance; organ; system; medical science; clinical department;
        organism; lifestyle measure; structure; internal organ; external body part; affliction;
        equipment and supplies; patient care; antagonist; agonist;
        receptor modulator; protective agents; risk factor; factor
        """.replace("\n", " ").split(";"),
    )
)


@dataclass(slots=True)
class Merged:
    """The merged graph, and what was merged or left out.

    Attributes:
        concepts: In order of precedence.
        names: (concept id, name).
        roots: Ids of the roots.
        counts: Number of records that joined a concept of another source, by (source, why).
        unknown_parents: (concept, parent) for parents in our own tables that are the name of no concept.
        cyclic_edges: (child, parent) left out because sources of higher precedence state the reverse.
    """

    concepts: list[Concept]
    names: list[tuple[str, Name]]
    roots: list[str]
    counts: Counter[tuple[str, str]]
    unknown_parents: list[tuple[str, str]]
    cyclic_edges: list[tuple[str, str]]


def merge(
    records: Iterable[Record], *, wrong: Container[tuple[str, str]], wrong_edges: Container[tuple[str, str]]
) -> Merged:
    """Merge records into concepts.

    Our own tables come first, because their synonyms were reviewed, then the sources in order of precedence. A record
    joins a concept of a compatible type with the same qualifiers (see `imapeval.graph.build.grouping`) if

    1. their preferred names have the same key;
    2. a cross-reference says so and they share a name;
    3. its preferred name is a synonym in our own tables, or of exactly one other concept (not for Mondo and MeSH: DOID
       lists closely related diseases as synonyms, and where Mondo and MeSH keep them apart, they differ);
    4. exactly one concept of our own tables shares two names with it, or has as its preferred name a synonym of it.

    Two records of one source never join each other, unless

    5. our own tables list the preferred names of both for one concept ("fluoroquinolones", "quinolones");
    6. its preferred name is any wording but an abbreviation in our tables ("heart attack"), or for WordNet a name of
       exactly one other concept, and its source has nothing below it: it is only a wording of that concept.

    Args:
        records: Of all sources.
        wrong: Wrong synonyms, as (synonym, label of its concept) in normal form; no record joins by one of them.
        wrong_edges: Wrong is-a edges of sources, as (label, label of the parent) in normal form.
    """
    by_source: dict[str, list[Record]] = {source: [] for source in SOURCES}
    broader: set[str] = set()
    for record in records:
        by_source[record.source].append(record)
        broader.update(record.parents)
    grouping = _OwnGrouping(wrong, broader)
    for source in ("imap", *SOURCES[:-1]):
        grouping.add_source(source, by_source[source], searchable=True)
    return _ConceptBuilder(grouping, wrong_edges).build()


class _OwnGrouping(Grouping):
    """Groups records by the rules of `merge`."""

    def __init__(self, wrong: Container[tuple[str, str]], broader: Container[str]) -> None:
        super().__init__()
        self._wrong = wrong
        self._broader = broader

    def list_rules(self) -> Sequence[Rule]:
        return (
            Rule("same name", self.find_by_label),
            Rule("cross-reference", self.find_by_xref),
            Rule("known name", self.find_named),
            Rule("own synonym", self._find_own),
            Rule("listed", self._find_listed, repeats_source=True),
            Rule("wording", self._find_worded, repeats_source=True),
        )

    def list_name_keys(self, group: Group, record: Record) -> list[str]:
        wrong = {
            make_key(name.text, record.type)
            for name in record.names
            if record.source != "imap" and (normalise(name.text), normalise(group.members[0].label)) in self._wrong
        }
        return [key for key in list_keys(record) if key not in wrong]

    def find_named(self, record: Record) -> Group | None:
        key = make_key(record.label, record.type)
        found = list(self.find_joinable(self.by_name, record))
        own = [group for group in found if key in _list_own_keys(group)]
        if not own and record.source in ("mondo", "mesh"):
            return None
        return find_single(own or found)

    def _find_own(self, record: Record) -> Group | None:
        shared: Counter[str] = Counter()
        groups: dict[str, Group] = {}
        for key in list_keys(record, excluding=_LOOSE):
            # Each group is listed once for each of its records that has the name.
            for group in {id(group): group for group in self.by_name.get(key, ())}.values():
                if key in _list_own_keys(group) and may_join(group, record):
                    groups[group.id] = group
                    shared[group.id] += 2 if key == make_key(group.members[0].label, group.type) else 1
        return find_single(group for key, group in groups.items() if shared[key] > 1)

    def _find_listed(self, record: Record) -> Group | None:
        key = make_key(record.label, record.type)
        return find_single(g for g in self.find_joinable(self.by_name, record) if key in _list_own_keys(g))

    def _find_worded(self, record: Record) -> Group | None:
        if record.id in self._broader:
            return None
        key = make_key(record.label, record.type)
        found = list(self.find_joinable(self.by_name, record))
        own = [group for group in found if key in _list_own_keys(group, excluding=("abbreviation",))]
        return find_single(own or (found if record.source == "wordnet" else []))


_LOOSE: tuple[NameKind, ...] = ("lay", "brand", "abbreviation")
"""Kinds of names that need not mean the concept itself, such as a brand of several drugs."""


def _list_own_keys(group: Group, *, excluding: Container[NameKind] = _LOOSE) -> list[str]:
    """Return the keys of the names that our own tables list for a concept; our own tables are grouped first."""
    return list_keys(group.members[0], excluding=excluding) if group.members[0].source == "imap" else []


class _ConceptBuilder:
    """Turns groups into concepts."""

    def __init__(self, grouping: Grouping, wrong_edges: Container[tuple[str, str]]) -> None:
        self._grouping = grouping
        self._wrong_edges = wrong_edges
        # Our own tables come first in grouping, but last for ids: those of DOID and MeSH are in general use.
        self._ids = [
            min(group.members, key=lambda member: SOURCES.index(member.source)).id for group in grouping.groups
        ]
        self._unknown: list[tuple[str, str]] = []
        self._cyclic: list[tuple[str, str]] = []
        for place, group in enumerate(grouping.groups):
            group.position = place

    def build(self) -> Merged:
        groups = self._grouping.groups
        roots = {place for place, group in enumerate(groups) if _is_root(group)}
        parents, wholes = self._collect_edges()
        concepts: list[Concept] = []
        names: list[tuple[str, Name]] = []
        for group, concept_id, above, around in zip(groups, self._ids, parents, wholes, strict=True):
            label = group.members[0].label
            proper = [place for place in above if place not in roots]
            concepts.append(
                Concept(
                    concept_id,
                    label,
                    group.type or "other",
                    tuple(self._ids[place] for place in proper or above),
                    tuple(sorted(self._ids[place] for place in around)),
                    tuple(sorted(member.id for member in group.members if member.id != concept_id)),
                )
            )
            for name in (name for member in group.members for name in member.names):
                # Only the concept's own label stays of the kind "name": the preferred name in another source may be the
                # label of something else ("surgery" for the department).
                is_label = name.lang != "en" or normalise(name.text) == normalise(label)
                names.append((concept_id, name if is_label or name.kind != "name" else name._replace(kind="synonym")))
        root_ids = [self._ids[place] for place in sorted(roots)]
        return Merged(concepts, names, root_ids, self._grouping.counts, self._unknown, self._cyclic)

    def _collect_edges(self) -> tuple[list[list[int]], list[list[int]]]:
        """Return the parents and the wholes of every group, without edges that close a cycle with those before."""
        kinds = self._cut([edge for source in SOURCES if source != "wordnet" for edge in self._list_kinds(source)])
        # WordNet's hierarchy is not clinical (COPD below emphysema, ultrasound below prenatal diagnosis): it comes last
        # and is used only for concepts without other parents.
        known = {child for child, _ in kinds}
        kinds = self._cut([*kinds, *(edge for edge in self._list_kinds("wordnet") if edge[0] not in known)])
        parts = [edge for source in SOURCES for edge in self._list_parts(source)]
        parts = set(self._cut([*kinds, *parts])).difference(kinds)
        return self._gather(kinds), self._gather(sorted(parts))

    def _cut(self, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        ordered = list(dict.fromkeys(edges))
        lost = {(cycle[0], cycle[1]) for cycle in cut_cycles(len(self._ids), ordered)}
        self._cyclic += ((self._ids[low], self._ids[high]) for low, high in sorted(lost))
        return [edge for edge in ordered if edge not in lost]

    def _gather(self, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
        above: list[list[int]] = [[] for _ in self._ids]
        for low, high in edges:
            above[low].append(high)
        return above

    def _list_members(self, source: str) -> Iterator[tuple[int, Group, Record]]:
        for place, group in enumerate(self._grouping.groups):
            for member in group.members:
                if member.source == source:
                    yield place, group, member

    def _list_kinds(self, source: str) -> Iterator[tuple[int, int]]:
        for place, group, member in self._list_members(source):
            found = [self._grouping.by_id.get(parent) for parent in member.parents]
            above = [parent for parent in found if parent is not None and are_compatible(parent.type, group.type)]
            for text in member.parent_names:
                parent = self._grouping.find_parent(text, group.type)
                if parent is None:
                    self._unknown.append((member.label, text))
                else:
                    above.append(parent)
            for parent in above:
                edge = normalise(group.members[0].label), normalise(parent.members[0].label)
                if parent is not group and parent.position is not None and edge not in self._wrong_edges:
                    yield place, parent.position

    def _list_parts(self, source: str) -> Iterator[tuple[int, int]]:
        for place, group, member in self._list_members(source):
            for whole in map(self._grouping.by_id.get, member.wholes):
                if whole is not None and whole is not group and whole.position is not None:
                    yield place, whole.position


def _is_root(group: Group) -> bool:
    return any(normalise(member.label) in _ROOTS for member in group.members)
