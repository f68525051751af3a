"""OBO flat files, read leniently because many are old or edited by hand: only faulty lines are left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.graph.readers.base import Format
from imapeval.graph.readers.parsing import obo_terms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.model import Scope
    from imapeval.graph.readers.base import Record, Source

_SCOPES: dict[str, Scope] = {"EXACT": "exact", "NARROW": "narrow", "BROAD": "broad", "RELATED": "related"}

# OBO 1.0 has a tag for each scope.
_OLD_TAGS = {f"{scope}_synonym": scope.upper() for scope in ("exact", "narrow", "broad", "related")}

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(.*)')
# With unescaped quotation marks in the text: it ends at the last one that is followed by a scope.
_BADLY_QUOTED = re.compile(r'"(.*)"(\s*(?:EXACT|NARROW|BROAD|RELATED)\b.*)')
# Possessive quantifiers: with backtracking, a line of blanks or "=" would take hours.
_AFTER_TEXT = re.compile(r"\s*+(?:(EXACT|NARROW|BROAD|RELATED)\b)?\s*+([^\[\s{]+)?\s*+(?:[\[{]|$)")
_MODIFIERS = re.compile(r"\{[^{}=]*+=[^{}]*+\}\s*+$")
_COMMENT = re.compile(r"(?<!\\)\s!\s.*$")
_ESCAPE = re.compile(r"\\(.)")
_BLANKS = {"n": " ", "W": " ", "t": " "}


def _recognise(path: Path, head: bytes) -> bool:
    return path.name.endswith((".obo", ".obo.gz")) or bool(re.search(rb"^(format-version:|\[Term\])", head, re.M))


def _find_name(head: bytes) -> str:
    found = re.search(rb"^ontology:[ \t]*([\w.:/-]+)", head, re.MULTILINE)
    name = found[1].decode().rpartition("/")[2].lower() if found else ""
    return name.removesuffix(".obo").removesuffix(".owl")


def _read_records(source: Source) -> Iterator[Record]:
    found = False
    for kind, line, tags in _split_stanzas(source):
        if kind != "[Term]":
            continue
        found = True
        record = _read_term(source, line, tags)
        if record is not None:
            yield record
    if not found:
        raise InputError(
            "it has no [Term], so it is not an OBO file", path=source.path, fix="Give the ontology as OBO."
        )


def _split_stanzas(source: Source) -> Iterator[tuple[str, int, list[tuple[int, str, str]]]]:
    """Yield (heading, its line, (line, tag, value) of each line) of every stanza; "" heads the file."""
    kind, start = "", 1
    tags: list[tuple[int, str, str]] = []
    for number, line in source.lines():
        if line.startswith("["):
            yield kind, start, tags
            kind, start, tags = line.rstrip(), number, []
            continue
        tag, colon, value = line.partition(":")
        if colon and kind == "[Term]":
            tags.append((number, tag, value.strip()))
        elif not colon and line.strip() and not line.startswith("!"):
            source.reject("a line without a tag and value", line=number)
    yield kind, start, tags


def _read_term(source: Source, line: int, tags: list[tuple[int, str, str]]) -> Record | None:
    record = next((obo_terms.start_record(source, _first_word(value)) for _, tag, value in tags if tag == "id"), None)
    if record is None:
        source.reject("a term without an id", line=line)
        return None
    if any(tag == "is_obsolete" and value.startswith("true") for _, tag, value in tags):
        source.skipped["obsolete terms"] += 1
        return None
    genera: list[str] = []
    for number, tag, value in tags:
        match tag:
            case "name":
                place = f"{source.path.name} line {number}"
                obo_terms.add_name(record, _read_text(value), source=source, place=place, label=True)
            case "synonym" | "exact_synonym" | "narrow_synonym" | "broad_synonym" | "related_synonym":
                _add_synonym(source, record, number, value, _OLD_TAGS.get(tag, "RELATED"))
            case "is_a":
                obo_terms.add_edge(record.parents, _first_word(value))
            case "alt_id" | "equivalent_to":
                obo_terms.add_xref(record, _first_word(value))
            case "xref":
                _add_xref(source, record, value)
            case "relationship":
                _add_relationship(source, record, value)
            case "intersection_of":
                words = _COMMENT.sub("", value).split()
                # A genus is a single id; a differentia has a relation before it.
                if len(words) == 1 or (len(words) > 1 and words[1].startswith("{")):
                    genera.append(words[0])
            case "property_value":
                words = value.split()
                if len(words) > 1 and re.split(r"[:#/]", words[0])[-1] in obo_terms.EXACT_MATCH:
                    obo_terms.add_xref(record, words[1].strip('"'))
            case _:
                pass
    # "A is a B that ..." makes A a B. Without a run of a classifier there is no is_a line for it.
    for genus in genera if not record.parents else ():
        obo_terms.add_edge(record.parents, genus)
    return obo_terms.drop_repetitions(record)


def _add_synonym(source: Source, record: Record, number: int, value: str, default: str) -> None:
    for pattern in (_QUOTED, _BADLY_QUOTED):
        quoted = pattern.match(value)
        after = _AFTER_TEXT.match(quoted[2]) if quoted else None
        if quoted and after:
            obo_terms.add_name(
                record,
                _unescape(quoted[1]),
                source=source,
                place=f"{source.path.name} line {number}",
                kind=after[2] or "synonym",
                scope=_SCOPES[after[1] or default],
            )
            return
    source.reject("a synonym that cannot be read", line=number)


def _add_xref(source: Source, record: Record, value: str) -> None:
    # Mondo states how each reference relates to the term.
    if 'source="MONDO:' in value and "MONDO:equivalentTo" not in value:
        source.skipped["references to what is not the same"] += 1
    else:
        obo_terms.add_xref(record, _unescape(_first_word(value)))


def _add_relationship(source: Source, record: Record, value: str) -> None:
    relation, _, rest = value.partition(" ")
    if not obo_terms.is_part_of(relation):
        return
    if "gci_filler=" in rest:
        # In Uberon: only in some species.
        source.skipped["parts of something in some species only"] += 1
    else:
        obo_terms.add_edge(record.wholes, _first_word(rest))


def _first_word(value: str) -> str:
    """Return the first word; after it come comments, descriptions and modifiers."""
    return next(iter(value.split(None, 1)), "")


def _read_text(value: str) -> str:
    return _unescape(_MODIFIERS.sub("", _COMMENT.sub("", value)))


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: _BLANKS.get(found[1], found[1]), text)


FORMAT = Format("obo", "OBO flat file (*.obo; it has [Term] lines)", _recognise, _read_records, _find_name)
