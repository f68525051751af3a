"""Reads our own bilingual name tables, kg/names/*.tsv, and resolves conflicts between them."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from imapeval.graph.build.grouping import are_compatible
from imapeval.graph.model import ConceptType, Name, NameKind
from imapeval.graph.readers.base import Record
from imapeval.graph.store.schema import KIND_RANKS
from imapeval.text.normalise import normalise
from imapeval.types import Lang

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

COLUMNS = ("lang", "name", "concept", "type", "kind", "parent")


@dataclass(slots=True)
class OwnTables:
    """The content of our own tables.

    Attributes:
        records: One per concept, in the order of the tables.
        problems: Rows that were rejected, and types that differ between tables, one line each.
        joined: Concepts that are the same under two names, one line each.
        conflicts: Names that two concepts share, and which of them keeps each, one line each.
        ambiguous: Ids of the concepts that are a disease in one table and a symptom in another.
    """

    records: list[Record]
    problems: list[str] = field(default_factory=list[str])
    joined: list[str] = field(default_factory=list[str])
    conflicts: list[str] = field(default_factory=list[str])
    ambiguous: set[str] = field(default_factory=set[str])

    def resolve_types(self, mesh: Iterable[Record]) -> None:
        """Take the type from MeSH where the tables have both disease and symptom."""
        types: dict[str, ConceptType | None] = {normalise(record.label): record.type for record in mesh}
        for record in self.records:
            if record.id in self.ambiguous:
                record.type = types.get(normalise(record.label), record.type)


def read_own_tables(paths: Sequence[Path]) -> OwnTables:
    """Read the tables, in order of precedence, and resolve conflicts in this order.

    1. A concept has the type that the first table gives it; between disease and symptom, MeSH may decide
       (`OwnTables.resolve_types`).
    2. Two concepts of compatible types are the same, under the first name, if the preferred name of one is a synonym
       of the other or if they share a name in both languages, unless the tables have one as a parent of the other.
    3. A name that several concepts share goes to the one for which it is the better kind of name (name, synonym, lay,
       brand, abbreviation), and among equals to the first. The others lose it.
    """
    tables = OwnTables([])
    found: dict[str, Record] = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                problem = _find_problem(row)
                if problem:
                    tables.problems.append(f"{path.name}: {problem}: {dict(row)}")
                else:
                    _add_row(row, path.name, found, tables)
    found = _join_synonyms(found, tables)
    _resolve_conflicts(found, tables.conflicts)
    tables.records = list(found.values())
    return tables


def _find_problem(row: dict[str, Any]) -> str:
    if None in row or any(row.get(column) is None for column in COLUMNS):
        return "not six columns"
    for column, allowed in (("lang", get_args(Lang)), ("type", get_args(ConceptType)), ("kind", get_args(NameKind))):
        if row[column] not in allowed:
            return f"{column} {row[column]!r} is not one of {', '.join(allowed)}"
    return "" if normalise(row["name"]) and normalise(row["concept"]) else "an empty name"


def _add_row(row: dict[str, Any], table: str, found: dict[str, Record], tables: OwnTables) -> None:
    label, kind = row["concept"], row["type"]
    key = normalise(label)
    if key not in found:
        own_name = Name(label, "en", "name", "imap")
        found[key] = Record(f"imap:{_make_slug(label)}", "imap", label, kind, names=[own_name])
    record = found[key]
    if record.type != kind:
        problem = f"{table}: {label!r} is a {kind} here, but stays a {record.type}"
        tables.problems += [problem] if problem not in tables.problems else []
        if {record.type, kind} == {"disease", "symptom"}:
            tables.ambiguous.add(record.id)
    record.names.append(Name(row["name"], row["lang"], row["kind"], "imap"))
    record.parent_names += [p for p in row["parent"].split("|") if p and p not in record.parent_names]


def _join_synonyms(found: dict[str, Record], tables: OwnTables) -> dict[str, Record]:
    place = {key: number for number, key in enumerate(found)}
    into = {key: key for key in found}

    def resolve(key: str) -> str:
        while into[key] != key:
            key = into[key]
        return key

    for one, other in _find_synonymous(found):
        first, second = sorted((resolve(one), resolve(other)), key=place.__getitem__)
        if first != second:
            into[second] = first
            tables.joined.append(f"{found[second].label!r} is {found[first].label!r}")
    for key, record in found.items():
        target = found[resolve(key)]
        if target is not record:
            for name in record.names:
                target.names.append(name._replace(kind="synonym") if name.kind == "name" else name)
            target.parent_names += [name for name in record.parent_names if name not in target.parent_names]
            if {record.type, target.type} == {"disease", "symptom"}:
                tables.ambiguous.add(target.id)
    return {key: record for key, record in found.items() if into[key] == key}


def _find_synonymous(found: dict[str, Record]) -> list[tuple[str, str]]:
    """Return pairs of keys of concepts that are the same by rule 2 of `read_own_tables`."""
    owners: dict[tuple[str, str], list[str]] = defaultdict(list)
    pairs: list[tuple[str, str]] = []
    shared: dict[tuple[str, str], set[str]] = defaultdict(set)
    for key, record in found.items():
        for norm, lang, kind in dict.fromkeys((normalise(text), lang, kind) for text, lang, kind, *_ in record.names):
            if kind == "abbreviation":
                continue
            for other in owners[norm, lang]:
                if other != key:
                    shared[other, key].add(lang)
            owners[norm, lang].append(key)
            if lang == "en" and kind in ("name", "synonym") and norm in found and norm != key:
                pairs.append((key, norm))
    pairs += [pair for pair, langs in shared.items() if len(langs) > 1]

    def is_broader(broad: str, narrow: str) -> bool:
        return broad in map(normalise, found[narrow].parent_names)

    return [
        (one, other)
        for one, other in pairs
        if are_compatible(found[one].type, found[other].type)
        and not is_broader(one, other)
        and not is_broader(other, one)
    ]


def _resolve_conflicts(found: dict[str, Record], conflicts: list[str]) -> None:
    claims: dict[tuple[str, str], list[tuple[int, int, str]]] = defaultdict(list)
    for place, (key, record) in enumerate(found.items()):
        for text, lang, kind, *_ in record.names:
            claims[normalise(text), lang].append((KIND_RANKS[kind], place, key))
    for (norm, lang), claimed in claims.items():
        owner, *losers = dict.fromkeys(key for *_, key in sorted(claimed))
        for loser in losers:
            conflicts.append(f"{norm!r} ({lang}): kept by {found[owner].label!r}, taken from {found[loser].label!r}")
            names = found[loser].names
            names[:] = [name for name in names if (normalise(name.text), name.lang) != (norm, lang)]


def _make_slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9+]+", "-", plain).strip("-")
