"""Babelon TSV (https://github.com/monarch-initiative/babelon): names of an ontology's terms in another language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Format, Record
from imapeval.graph.readers.parsing.curies import canonical_curie
from imapeval.graph.readers.parsing.delimited import parse_header, read_table
from imapeval.graph.readers.parsing.obo_terms import SCOPES, find_lang

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.model import NameKind, Scope
    from imapeval.graph.readers.base import Source

_COLUMNS = ("subject_id", "predicate_id", "translation_language", "translation_value")

# In the schema, OFFICIAL is accepted by the maintainers of the translation, UNDER_REVIEW is theirs but not yet
# accepted, and CANDIDATE is a suggestion, often by a machine, that they have not reviewed; NOT_TRANSLATED, in later
# files, has no value. In files without a status all translations count.
_ACCEPTED_STATUSES = frozenset(("OFFICIAL", "UNDER_REVIEW", ""))

# A name that is broader or narrower than the original is not an exact name of the term.
_SCOPES: dict[str, Scope] = {"BROADER": "broad", "NARROWER": "narrow", "CLOSE": "related"}


def _recognise(path: Path, head: bytes) -> bool:
    return {"subject_id", "translation_language", "translation_value"} <= set(parse_header(head))


def _read_records(source: Source) -> Iterator[Record]:
    columns, rows = read_table(source, source.path, required=_COLUMNS)
    at_id, at_predicate, at_lang, at_value = (columns[column] for column in _COLUMNS)
    at_status, at_precision = columns.get("translation_status"), columns.get("translation_precision")
    for number, cells in rows:
        status = "" if at_status is None else cells[at_status].upper()
        if status not in _ACCEPTED_STATUSES:
            source.skipped[f"translations that are {status[:50]}"] += 1
            continue
        found = _find_kind_and_scope(cells[at_predicate])
        if found is None:
            source.skipped["translations of definitions and other texts"] += 1
            continue
        lang = find_lang(cells[at_lang])
        if lang is None:
            source.skipped["names in other languages"] += 1
            continue
        term = canonical_curie(cells[at_id])
        if term is None:
            source.reject("an id that is not a CURIE", line=number)
            continue
        text = " ".join(cells[at_value].split())
        if not source.check_name(text, line=number):
            continue
        kind, scope = found
        precision = "" if at_precision is None else cells[at_precision].upper()
        name = Name(text, lang, kind, source.name, _SCOPES.get(precision, scope))
        label = text if lang == "en" and kind == "name" else ""
        yield Record(term, source.name, label=label, names=[name])


def _find_kind_and_scope(predicate: str) -> tuple[NameKind, Scope] | None:
    local = predicate.rpartition("#")[2].rpartition(":")[2]
    if local == "label":
        return "name", "exact"
    # Both spellings of the synonym properties are in use, oio:hasExactSynonym and oio:exactSynonym.
    scope = SCOPES.get(local) or SCOPES.get(f"has{local[:1].upper()}{local[1:]}")
    return None if scope is None else ("synonym", scope)


FORMAT = Format("babelon", "Babelon TSV (it has a column translation_value)", _recognise, _read_records)
