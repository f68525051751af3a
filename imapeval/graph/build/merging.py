"""Merges the records of several sources into one graph; `grouping` decides which are the same concept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.graph.build.grouping import Grouping, may_be_compatible
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.cycles import cut_cycles
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from imapeval.graph.build.grouping import Group
    from imapeval.graph.readers.base import Record


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged graph and a record of what was merged or dropped.

    Attributes:
        concepts: In order of precedence.
        names: (concept id, name).
        counts: Number of records merged into a concept of another source, by (source, why): "same id",
            "cross-reference", "same name" or "known name".
        samples: {(source, why): the first (record's id, its label, concept's id, its label)}.
        unknown_parents: (concept id, parent) of the is-a and part-of edges to ids that no source describes or
            names.
        unknown_names: (concept id, name) of the parents given by a name that no concept has.
        incompatible_parents: (concept id, parent id) of the is-a edges left out because merging changed a type, and the
            two are no longer compatible.
        cycles: Is-a cycles that were cut, as in `WriteReport.cycles`, at the edge of the least trusted source.
        unnamed: Ids of records left out because no source names them.
        inherited: Number of concepts that took the type of their nearest typed ancestor.
    """

    concepts: list[Concept]
    names: list[tuple[str, Name]]
    counts: Counter[tuple[str, str]]
    samples: dict[tuple[str, str], list[tuple[str, str, str, str]]]
    unknown_parents: list[tuple[str, str]]
    unknown_names: list[tuple[str, str]]
    incompatible_parents: list[tuple[str, str]]
    cycles: list[tuple[str, ...]]
    unnamed: list[str]
    inherited: int


def combine_by_id(records: Iterable[Record]) -> dict[str, Record]:
    """Return the records of one source by id; all records of an id are combined into the first."""
    found: dict[str, Record] = {}
    for record in records:
        known = found.setdefault(record.id, record)
        if known is not record:
            known.label = known.label or record.label
            known.type = known.type or record.type
            known.names += record.names
            known.parents += record.parents
            known.parent_names += record.parent_names
            known.wholes += record.wholes
            known.xrefs += record.xrefs
    return found


def merge(sources: Mapping[str, Mapping[str, Record]]) -> Merged:
    """Merge the records of sources into concepts.

    A merged concept keeps the id, the label and the type of the earliest source; the ids of the others, and
    the cross-references that no other concept has, become its aliases. A concept without a type takes that of
    its nearest typed ancestor, else "other".

    Args:
        sources: {key: records by id, as `combine_by_id` gives them}, in order of precedence.
    """
    grouping = Grouping()
    named = any(record.parent_names for records in sources.values() for record in records.values())
    for left, (source, records) in zip(reversed(range(len(sources))), sources.items(), strict=True):
        grouping.add_source(source, records.values(), searchable=named or left > 0)
    return _ConceptBuilder(grouping).build(list(sources))


class _ConceptBuilder:
    """Turns groups into concepts."""

    def __init__(self, grouping: Grouping) -> None:
        self._grouping = grouping
        self._unknown: list[tuple[str, str]] = []
        self._unknown_names: list[tuple[str, str]] = []
        self._incompatible: list[tuple[str, str]] = []
        self._unnamed: list[str] = []

    def build(self, sources: Sequence[str]) -> Merged:
        groups: list[Group] = []
        for group in self._grouping.groups:
            if any(member.label or member.names for member in group.members):
                group.position = len(groups)
                groups.append(group)
            else:
                self._unnamed.append(group.id)
        above, cycles = self._collect_parents(groups, sources)
        inherited = _inherit_types(groups, above)
        claims = Counter(
            xref for group in groups for xref in {other for member in group.members for other in member.xrefs}
        )
        concepts: list[Concept] = []
        names: list[tuple[str, Name]] = []
        for group, parent_indices in zip(groups, above, strict=True):
            label = _choose_label(group)
            parents = tuple([groups[index].id for index in parent_indices])
            wholes = tuple(self._find_wholes(group))
            aliases = self._list_aliases(group, claims)
            concepts.append(Concept(group.id, label, group.type or "other", parents, wholes, aliases))
            names += [(group.id, name) for name in _list_names(group, label)]
        return Merged(
            concepts,
            names,
            self._grouping.counts,
            self._grouping.samples,
            self._unknown,
            self._unknown_names,
            self._incompatible,
            [tuple(groups[index].id for index in cycle) for cycle in cycles],
            self._unnamed,
            inherited,
        )

    def _find_group(self, concept_id: str) -> Group | None:
        group = self._grouping.by_id.get(concept_id)
        return group if group is not None and group.position is not None else None

    def _find_wholes(self, group: Group) -> list[str]:
        wholes: list[str] = []
        for member in group.members:
            for whole in member.wholes:
                found = self._find_group(whole)
                if found is None:
                    self._unknown.append((group.id, whole))
                elif found is not group:
                    wholes.append(found.id)
        return wholes

    def _collect_parents(
        self, groups: Sequence[Group], sources: Sequence[str]
    ) -> tuple[list[list[int]], list[tuple[int, ...]]]:
        """Collect the parents of every group, source by source, and cut the cycles."""
        above: list[list[int]] = [[] for _ in groups]
        edges: dict[tuple[int, int], None] = {}
        members: dict[str, list[tuple[int, Record]]] = {source: [] for source in sources}
        for index, group in enumerate(groups):
            for member in group.members:
                if member.parents or member.parent_names:
                    members[member.source].append((index, member))
        for source in sources:
            for index, member in members[source]:
                for parent in self._find_parents(groups[index], member):
                    if parent.position is not None and (edge := (index, parent.position)) not in edges:
                        edges[edge] = None
                        above[index].append(parent.position)
        cycles = cut_cycles(len(groups), list(edges))
        for cycle in cycles:
            above[cycle[0]].remove(cycle[1 % len(cycle)])
        return above, cycles

    def _find_parents(self, group: Group, member: Record) -> Iterator[Group]:
        for parent_id in member.parents:
            parent = self._find_group(parent_id)
            if parent is None:
                self._unknown.append((group.id, parent_id))
            elif parent is group and parent_id != member.id:
                continue  # this source distinguishes concepts that another one merges
            elif may_be_compatible(group.type, parent.type) or (
                _keeps_type(group, member.id) and _keeps_type(parent, parent_id)
            ):
                yield parent
            else:
                self._incompatible.append((group.id, parent.id))
        for text in member.parent_names:
            parent = self._grouping.find_parent(text, group.type)
            if parent is None or parent.position is None:
                self._unknown_names.append((group.id, text))
            elif parent is not group:
                yield parent

    def _list_aliases(self, group: Group, claims: Mapping[str, int]) -> tuple[str, ...]:
        """Return the other ids of a concept; `claims` has the number of concepts with each cross-reference."""
        aliases: dict[str, None] = {}
        for member in group.members:
            aliases[member.id] = None
            aliases |= dict.fromkeys(x for x in member.xrefs if claims[x] == 1 and x not in self._grouping.by_id)
        del aliases[group.id]
        return tuple(aliases)


def _choose_label(group: Group) -> str:
    for member in group.members:
        if member.label:
            return member.label
    names = [name for member in group.members for name in member.names]
    return min(names, key=lambda name: (name.scope != "exact", name.lang != "en")).text


def _list_names(group: Group, label: str) -> list[Name]:
    for member in group.members:
        if member.label and member.label not in [name.text for name in member.names]:
            member.names.append(Name(member.label, "en", "name", member.source))
    if len(group.members) == 1:
        return group.members[0].names
    label_norm = normalise(label)
    return [
        # Only the concept's own label stays of the kind "name": the preferred name in another source may be the label
        # of something else ("surgery" for the department).
        name._replace(kind="synonym")
        if name.lang == "en" and name.kind == "name" and normalise(name.text) != label_norm
        else name
        for member in group.members
        for name in member.names
    ]


def _keeps_type(group: Group, record_id: str) -> bool:
    """Return whether a group has the type that the record with this id gives it."""
    return any(member.id == record_id and member.type == group.type for member in group.members)


def _inherit_types(groups: Sequence[Group], above: Sequence[Sequence[int]]) -> int:
    """Give untyped groups the type of their nearest typed ancestor; return how many were given one."""
    nearest = {index: index for index, group in enumerate(groups) if group.type is not None}
    typed = len(nearest)
    below: dict[int, list[int]] = {}
    for index, parents in enumerate(above):
        for parent in parents if index not in nearest else ():
            below.setdefault(parent, []).append(index)
    level = [*nearest]
    while level:
        fresh = dict.fromkeys(child for index in level for child in below.get(index, ()) if child not in nearest)
        # Of ancestors at the same distance, the one above the first parent.
        nearest |= {child: next(nearest[parent] for parent in above[child] if parent in nearest) for child in fresh}
        level = [*fresh]
    for index, ancestor in nearest.items():
        groups[index].type = groups[ancestor].type
    return len(nearest) - typed
