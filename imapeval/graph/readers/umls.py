"""UMLS Metathesaurus in Rich Release Format: MRCONSO (names), MRREL (relations) and MRSTY (semantic types)."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Format, Record, restore_word_order, split_semantic_tag
from imapeval.graph.readers.parsing import rrf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from imapeval.graph.model import NameKind
    from imapeval.graph.readers.base import Source
    from imapeval.types import Lang

_PREFIX = "UMLS:"
_LANGS: dict[str, Lang] = {"ENG": "en", "CHI": "zh"}

# {RELA, or REL if RELA is empty: (meaning, whether the second id of a row is the lower one)}; see rrf.read_relations.
# The narrower part-ofs are those of the Foundational Model of Anatomy.
_MEANINGS: dict[str, tuple[str, bool]] = {
    "PAR": ("kind", False),
    "CHD": ("kind", True),
    "inverse_isa": ("kind", False),
    "isa": ("kind", True),
    **{f"has_{part}": ("part", False) for part in ("part", "regional_part", "constitutional_part", "systemic_part")},
    **{f"{part}_of": ("part", True) for part in ("part", "regional_part", "constitutional_part", "systemic_part")},
}


def _recognise(path: Path, head: bytes) -> bool:
    return rrf.find_folder(path, "MRCONSO.RRF") is not None


def _read_records(source: Source) -> Iterator[Record]:
    names, relations, types = rrf.find_tables(source.path, ("MRCONSO.RRF", "MRREL.RRF", "MRSTY.RRF"))
    # Releases are sorted by concept. In other files the rows of a concept give several records, which are combined.
    for cui, rows in groupby(rrf.read_names(source, names, langs=_LANGS), key=itemgetter(0)):
        yield _make_record(source, cui, rows)
    yield from rrf.read_types(source, types, _PREFIX)
    for _, edges in groupby(rrf.read_relations(source, relations, _MEANINGS), key=itemgetter(0)):
        records: dict[str, Record] = {}
        for _, meaning, low, high in edges:
            record = records.setdefault(low, Record(_PREFIX + low, source.name))
            highs = record.parents if meaning == "kind" else record.wholes
            if _PREFIX + high not in highs:
                highs.append(_PREFIX + high)
        yield from records.values()


def _make_record(source: Source, cui: str, rows: Iterable[list[str]]) -> Record:
    label = ""
    kinds: dict[tuple[str, Lang], NameKind] = {}
    xrefs: dict[str, None] = {}
    for _, lang, ts, _, stt, _, preferred, _, _, _, _, vocabulary, term_type, code, text, *_ in rows:
        if vocabulary == "MSH":
            text = restore_word_order(text)
        elif term_type == "FN":
            text = split_semantic_tag(text)[0]
        key = (text, _LANGS[lang])
        kinds[key] = rrf.choose_kind(rrf.kind_of_term(vocabulary, term_type), kinds.get(key))
        if (lang, ts, stt, preferred) == ("ENG", "P", "PF", "Y"):
            label = label or text
        if xref := rrf.find_xref(vocabulary, term_type, code):
            xrefs[xref] = None
    if label:
        kinds[label, "en"] = "name"
    names = [Name(text, lang, kind, source.name) for (text, lang), kind in kinds.items()]
    return Record(_PREFIX + cui, source.name, label, names=names, xrefs=list(xrefs))


FORMAT = Format(
    "umls",
    "UMLS Metathesaurus (RRF): the folder with MRCONSO, MRREL and MRSTY",
    _recognise,
    _read_records,
    lambda _: "umls",
)
