"""Plain tables: names of concepts, or child and parent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast, get_args

from imapeval.errors import InputError
from imapeval.graph.model import ConceptType, Name, NameKind, Scope
from imapeval.graph.readers.base import HEAD_BYTES, Format, Record, reject_other_encodings
from imapeval.graph.readers.parsing.concept_types import type_of_id
from imapeval.graph.readers.parsing.curies import canonical_curie
from imapeval.graph.readers.parsing.delimited import is_tab_separated, parse_header, read_table
from imapeval.text.language import FACT_LANGS, find_name_lang, has_chinese
from imapeval.text.normalise import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.readers.base import Source
    from imapeval.types import Lang

_ALLOWED = {"lang": FACT_LANGS, "kind": get_args(NameKind), "type": get_args(ConceptType), "scope": get_args(Scope)}
_RELATIONS = {"": "parents", "is_a": "parents", "part_of": "wholes"}


def _recognise(path: Path, head: bytes) -> bool:
    columns = set(parse_header(head))
    is_kgx = "category" in columns and is_tab_separated(head)
    has_names = "name" in columns and not columns.isdisjoint(("id", "concept")) and not is_kgx
    return has_names or {"child", "parent"} <= columns


def _read_records(source: Source) -> Iterator[Record]:
    with source.open() as file:
        head = parse_header(first := file.read(HEAD_BYTES).partition(b"\n")[0])
    if {"child", "parent"} <= set(head):
        return _read_edges(source)
    if "id" in head:
        return _read_names(source, "id")
    if "concept" in head:
        return _read_names(source, "concept")
    if not head:
        reject_other_encodings(first, path=source.path, line=1)
        raise InputError("its first line is not a table row in UTF-8", path=source.path, fix="Save it as CSV in UTF-8.")
    raise InputError(
        "it has no column 'id' or 'concept', nor 'child' and 'parent'" if head != [""] else "the file is empty",
        path=source.path,
        fix="Name the columns in the first line: id or concept, and name; or child and parent.",
    )


def _read_names(source: Source, key: str) -> Iterator[Record]:
    columns, rows = read_table(source, source.path, required=(key, "name"))
    labelled: set[str] = set()
    for number, cells in rows:
        row = {column: cells[index].strip() for column, index in columns.items()}
        if (problem := _find_problem(row)) is not None:
            source.reject(problem, line=number)
            continue
        if not source.check_name(row["name"], line=number):
            continue
        record = _start_record(source, row[key], known=key == "id")
        if record is None:
            source.reject(f"the {key} is empty" if not row[key] else "an id that is not a CURIE", line=number)
            continue
        record.type = cast("ConceptType", row.get("type")) or record.type
        name = _make_name(row, source)
        # The label in the table, else the first name in English that means the concept itself.
        usable = name.lang == "en" and name.scope == "exact" and name.kind not in ("abbreviation", "brand", "lay")
        label = row.get("concept") or row.get("label") or (name.text if usable else "")
        if record.id not in labelled and label:
            if not source.check_name(label, line=number):
                continue
            labelled.add(record.id)
            _add_label(record, label)
        if all(name[:2] != known[:2] for known in record.names):
            record.names.append(name)
        for parent in filter(None, (part.strip() for part in row.get("parent", "").split("|"))):
            if _is_id(parent):
                record.parents.append(canonical_curie(parent) or parent)
            else:
                record.parent_names.append(parent)
        yield record


def _make_name(row: dict[str, str], source: Source) -> Name:
    text = row["name"]
    return Name(
        text,
        cast("Lang", row.get("lang") or find_name_lang(text)),
        cast("NameKind", row.get("kind") or "synonym"),
        source.name,
        cast("Scope", row.get("scope") or "exact"),
    )


def _read_edges(source: Source) -> Iterator[Record]:
    columns, rows = read_table(source, source.path, required=("child", "parent"))
    at_relation = columns.get("relation")
    for number, cells in rows:
        relation = "" if at_relation is None else cells[at_relation].strip()
        child, parent = cells[columns["child"]].strip(), cells[columns["parent"]].strip()
        if relation not in _RELATIONS:
            source.reject("a relation that is neither is_a nor part_of", line=number)
        elif not child or not parent:
            source.reject("the child or the parent is empty", line=number)
        elif all(_is_id(text) or source.check_name(text, line=number) for text in (child, parent)):
            ends = _make_ends(source, child, parent)
            if len(ends) < 2:
                source.reject("a child or parent that is neither an id nor a name", line=number)
                continue
            getattr(ends[0], _RELATIONS[relation]).append(ends[1].id)
            yield ends[0]
            if ends[1].names:
                yield ends[1]


def _make_ends(source: Source, *texts: str) -> list[Record]:
    ends: list[Record] = []
    for text in texts:
        record = _start_record(source, text, known=_is_id(text))
        if record is not None:
            if not _is_id(text):
                _add_label(record, text)
            ends.append(record)
    return ends


def _add_label(record: Record, text: str) -> None:
    chinese = has_chinese(text)
    record.label = "" if chinese else text
    record.names.append(Name(text, "zh" if chinese else "en", "name", record.source))


def _start_record(source: Source, text: str, *, known: bool) -> Record | None:
    if known:
        term = canonical_curie(text)
        return None if term is None else Record(term, source.name, type=type_of_id(term))
    # A concept without an id gets one from its name, so that rows with the same name mean the same concept. The signs
    # that a normal form keeps stay: "Rh+" is not "Rh-".
    slug = re.sub(r"[^\w+%.]+", "-", normalise(text)).strip("-")
    return Record(f"{source.name}:{slug}", source.name) if any(map(str.isalnum, slug)) else None


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z][\w.-]*:\S+", text) is not None


def _find_problem(row: dict[str, str]) -> str | None:
    for column, allowed in _ALLOWED.items():
        if row.get(column, "") not in ("", *allowed):
            return f"a {column} that is not one of {', '.join(allowed)}"
    return None


FORMAT = Format(
    "table",
    "Table of names (columns id or concept, name) or of is-a (columns child, parent)",
    _recognise,
    _read_records,
)
