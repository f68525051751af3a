"""Makes one graph of the records of all sources."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from cleaning import list_qualifiers

from imapeval.graph.grouping import are_kin, make_key
from imapeval.graph.model import Concept
from imapeval.graph.normalise import normalise
from imapeval.graph.respelling import respell

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from imapeval.graph.model import ConceptType, Name, NameKind
    from imapeval.graph.record import Record

SOURCES = ("doid", "mondo", "mesh", "chebi", "wordnet", "hl7", "imap")
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
        organism; lifestyle measure; structure; internal organ; external body part; affliction;
        equipment and supplies; patient care; antagonist; agonist; inhibitor;
        receptor modulator; protective agents; lifestyle; risk factor; factor
        """.replace("\n", " ").split(";"),
    )
)


@dataclass(slots=True)
class Group:
    """Records of different sources that are one concept."""

    members: list[Record]

    @property
    def first(self) -> Record:
        """Return the member of the source with the highest precedence."""
        return min(self.members, key=lambda member: SOURCES.index(member.source))

    @property
    def own(self) -> Record | None:
        """Return the member in our own tables."""
        return next((member for member in self.members if member.source == "imap"), None)

    @property
    def id(self) -> str:
        """Return the id of the source with the highest precedence."""
        return self.first.id

    @property
    def type(self) -> ConceptType:
        """Return the type in our own tables, else the one of the first source."""
        return (self.own or self.first).type or "other"

    @property
    def label(self) -> str:
        """Return the label in our own tables, else the one of the first source."""
        return (self.own or self.first).label

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
        merged: How many records joined a concept of another source, by (source, why).
        unknown_parents: Parents named in our own tables that nothing is called, with the concept that names them.
        cyclic_edges: (child, parent) left out because sources of higher precedence say the reverse.
    """

    concepts: list[Concept]
    names: list[tuple[str, Name]]
    tops: list[str]
    merged: Counter[tuple[str, str]]
    unknown_parents: list[tuple[str, str]]
    cyclic_edges: list[tuple[str, str]]


def merge(
    records: Iterable[Record], *, wrong: Container[tuple[str, str]], wrong_edges: Container[tuple[str, str]]
) -> Merged:
    """Merge records into concepts.

    Our own tables come first, because what they list as synonyms is so, and then the sources in order of precedence. A
    record joins a concept of the same type or family of types, if

    1. their preferred names have the same key;
    2. a cross-reference says so and they share a name (one in ten of DOID's references to MeSH is merely near);
    3. its preferred name is a synonym in our own tables, or of exactly one other concept (not for Mondo and MeSH: DOID
       lists many a neighbour as a synonym, and where they have a disease of their own, they differ);
    4. exactly one concept of our own tables shares two names with it, or is called what is a synonym here.

    But never where one is qualified and the other is not, or otherwise: "acute", "alcoholic" (see `list_qualifiers`).
    The key of a name is its normal form without spaces, with one spelling of numerals ("type II", "type 2") and, for
    drugs, without a final "agent", "drug" or "medicine": "Non-Steroidal Anti-Inflammatory Agents" is "nonsteroidal
    anti-inflammatory drug". Two records of one source never join each other, unless

    5. our own tables list the preferred names of both for one concept ("fluoroquinolones", "quinolones");
    6. its preferred name is any wording in our tables but an abbreviation ("heart attack"), or for WordNet of exactly
       one other concept, and its source puts nothing under it: it is that wording and no more.

    Between the rules, better ones go first for all records of a source.

    Args:
        records: Of all sources.
        wrong: Synonyms that are wrong, as (synonym, label of its concept) in normal form: nothing joins by these.
        wrong_edges: Is-a edges of sources that are wrong, as (label, label of the parent) in normal form.
    """
    merger = _Merger(wrong, wrong_edges)
    by_source: dict[str, list[Record]] = {source: [] for source in SOURCES}
    for record in records:
        by_source[record.source].append(record)
        merger.broader.update(record.parents)
    for source in ("imap", *SOURCES[:-1]):
        waiting = by_source[source]
        for why, find in (
            ("same name", merger.find_labelled),
            ("cross-reference", merger.find_referenced),
            ("known name", merger.find_named),
            ("own synonym", merger.find_own),
            ("listed", merger.find_listed),
            ("wording", merger.find_worded),
        ):
            waiting = [record for record in waiting if not merger.join(record, find(record), why)]
        for record in waiting:
            merger.add(record)
        merger.publish()
    return merger.finish()


class _Merger:
    def __init__(self, wrong: Container[tuple[str, str]], wrong_edges: Container[tuple[str, str]]) -> None:
        self.wrong = wrong
        self.wrong_edges = wrong_edges
        self.broader: set[str] = set()
        self.groups: list[Group] = []
        self.by_id: dict[str, Group] = {}
        self.by_label: dict[str, list[Group]] = defaultdict(list)
        self.by_name: dict[str, list[Group]] = defaultdict(list)
        self.by_claim: dict[str, list[Group]] = defaultdict(list)
        self.counts: Counter[tuple[str, str]] = Counter()
        self._new: list[tuple[Group, Record]] = []

    def add(self, record: Record) -> None:
        group = Group([record])
        self.groups.append(group)
        self.by_id[record.id] = group
        self._new.append((group, record))

    def join(self, record: Record, group: Group | None, why: str) -> bool:
        if group is None or (
            why not in ("listed", "wording") and any(member.source == record.source for member in group.members)
        ):
            return False
        group.members.append(record)
        self.by_id[record.id] = group
        self.counts[record.source, why] += 1
        self._new.append((group, record))
        return True

    def publish(self) -> None:
        """Let later sources see the names of this one: records of one source never join each other."""
        for group, record in self._new:
            self.by_label[_make_key(record.label, record.type)].append(group)
            for xref in record.xrefs:
                self.by_claim[xref].append(group)
            for name in record.names:
                known = self.by_name[_make_key(name.text, record.type)]
                is_wrong = record.source != "imap" and (normalise(name.text), normalise(group.label)) in self.wrong
                if name.kind != "abbreviation" and not is_wrong and group not in known:
                    known.append(group)
        self._new = []

    def find_labelled(self, record: Record) -> Group | None:
        found = self.by_label.get(_make_key(record.label, record.type), [])
        return next((group for group in found if _fits(group, record)), None)

    def find_referenced(self, record: Record) -> Group | None:
        keys = _list_keys(record)
        linked = [*self.by_claim.get(record.id, []), *(self.by_id[x] for x in record.xrefs if x in self.by_id)]
        groups = {
            group.id: group
            for group in linked
            if _fits(group, record) and any(keys & _list_keys(member) for member in group.members)
        }
        return next(iter(groups.values())) if len(groups) == 1 else None

    def find_named(self, record: Record) -> Group | None:
        key = _make_key(record.label, record.type)
        found = [group for group in self.by_name.get(key, []) if _fits(group, record)]
        own = [group for group in found if group.own is not None and key in _list_keys(group.own)]
        if not own and record.source in ("mondo", "mesh"):
            return None
        return (own or found)[0] if len({group.id for group in own or found}) == 1 else None

    def find_listed(self, record: Record) -> Group | None:
        key = _make_key(record.label, record.type)
        found = [g for g in self.by_name.get(key, []) if g.own and key in _list_keys(g.own) and _fits(g, record)]
        return found[0] if len(found) == 1 else None

    def find_worded(self, record: Record) -> Group | None:
        if record.id in self.broader:
            return None
        key = _make_key(record.label, record.type)
        found = [group for group in self.by_name.get(key, []) if _fits(group, record)]
        own = [
            group
            for group in found
            if group.own is not None and key in _list_keys(group.own, ("name", "synonym", "lay", "brand"))
        ]
        found = own or (found if record.source == "wordnet" else [])
        return found[0] if len(found) == 1 else None

    def find_own(self, record: Record) -> Group | None:
        keys = _list_keys(record)
        shared: Counter[str] = Counter()
        groups: dict[str, Group] = {}
        for key in keys:
            for group in self.by_name.get(key, []):
                own = group.own
                if own is not None and key in _list_keys(own) and _fits(group, record):
                    groups[group.id] = group
                    shared[group.id] += 2 if key == _make_key(own.label, own.type) else 1
        enough = [group for key, group in groups.items() if shared[key] > 1]
        return enough[0] if len(enough) == 1 else None

    def finish(self) -> Merged:
        unknown: list[tuple[str, str]] = []
        parents, cyclic = self._place_edges(unknown)
        wholes = self._place_parts(parents, cyclic)
        concepts: list[Concept] = []
        names: list[tuple[str, Name]] = []
        for group in self.groups:
            above = [self.by_id[parent] for parent in parents[group.id]]
            proper = [parent for parent in above if not parent.is_top]
            concepts.append(
                Concept(
                    group.id,
                    group.label,
                    group.type,
                    tuple(parent.id for parent in proper or above),
                    tuple(sorted(set(wholes[group.id]) - set(parents[group.id]))),
                    tuple(sorted(member.id for member in group.members if member.id != group.id)),
                )
            )
            for member in sorted(group.members, key=lambda member: member.source != "imap"):
                for name in member.names:
                    # Only the concept's own label is its name outright: what another source prefers may be a word
                    # that is the label of something else ("surgery" for the department).
                    outright = name.lang != "en" or normalise(name.text) == normalise(group.label)
                    names.append((group.id, name if outright or name.kind != "name" else name._replace(kind="synonym")))
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
                        if (normalise(group.label), normalise(parent.label)) in self.wrong_edges:
                            continue
                        if _reaches(parent.id, group.id, parents):
                            cyclic.append((group.id, parent.id))
                        else:
                            parents[group.id].append(parent.id)
        return parents, cyclic

    def _place_parts(self, parents: dict[str, list[str]], cyclic: list[tuple[str, str]]) -> dict[str, list[str]]:
        """Collect the wholes of every concept, leaving out what would close a cycle with these or with parents."""
        wholes: dict[str, list[str]] = {group.id: [] for group in self.groups}
        above = {concept: list(known) for concept, known in parents.items()}
        for source in SOURCES:
            for group in self.groups:
                listed = [whole for member in group.members if member.source == source for whole in member.wholes]
                for whole in (self.by_id[whole].id for whole in listed if whole in self.by_id):
                    if whole == group.id:
                        continue
                    if _reaches(whole, group.id, above):
                        cyclic.append((group.id, whole))
                    elif whole not in wholes[group.id]:
                        wholes[group.id].append(whole)
                        above[group.id].append(whole)
        return wholes

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


@cache
def _make_key(text: str, kind: ConceptType | None) -> str:
    norm = normalise(text)
    # Digits sort before letters and Chinese numerals: "type II" and "type 2" meet in "type 2".
    return make_key(min([norm, *respell(norm)]), kind)


def _fits(group: Group, record: Record) -> bool:
    """Tell whether a record may join a group: of kindred type, and neither qualified where the other is not."""
    if not are_kin(group.type, record.type or "other"):
        return False
    # "Type II" is "type 2" where both names say so, but Pompe disease need not say that it is "type II" of something.
    return any(
        list_qualifiers(write(member.label)) == list_qualifiers(write(record.label))
        for member in group.members
        for write in (str, _write_digits)
    )


def _write_digits(label: str) -> str:
    return re.sub(r"\btype (I{1,2})\b", lambda found: f"type {len(found[1])}", label, flags=re.IGNORECASE)


def _list_keys(record: Record, kinds: Container[NameKind] = ("name", "synonym")) -> set[str]:
    """Return the keys of the names that mean the concept itself, in any language."""
    return {_make_key(name.text, record.type) for name in record.names if name.kind in kinds}
