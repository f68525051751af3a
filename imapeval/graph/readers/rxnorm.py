"""RxNorm in Rich Release Format: RXNCONSO (names), RXNREL (relations) and RXNSTY (semantic types).

How RxNorm's kinds of drugs are read:

- A trade name is not a concept but a brand *name*: "Tylenol" of acetaminophen, a branded tablet of the generic tablet.
  Both mean the same treatment; as two concepts, one would be broader than the other.
- The trade name of a combination ("Augmentin") is a name of the combination, not of each ingredient.
- A clinical drug, a dose form group or a salt is a *kind* of its ingredient: "amlodipine 5 MG Oral Tablet" is a kind of
  amlodipine. A drug with several ingredients is a kind of their combination, of which each ingredient is a part.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Format, Record
from imapeval.graph.readers.parsing import rrf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from imapeval.graph.model import NameKind
    from imapeval.graph.readers.base import Source

_PREFIX = "RXCUI:"

# {RELA: (meaning, whether the second id of a row is the lower one)}; see rrf.read_relations.
_MEANINGS: dict[str, tuple[str, bool]] = {
    "isa": ("kind", True),
    "inverse_isa": ("kind", False),
    "form_of": ("kind", True),  # a salt or ester of its ingredient
    "has_form": ("kind", False),
    "has_ingredients": ("kind", True),  # of the combination as a whole
    "ingredients_of": ("kind", False),
    "has_ingredient": ("ingredient", True),
    "ingredient_of": ("ingredient", False),
    "tradename_of": ("brand", True),
    "has_tradename": ("brand", False),
    "part_of": ("part", True),
    "has_part": ("part", False),
    "contained_in": ("part", True),  # of a pack
    "contains": ("part", False),
}
_DOSE_FORM_TERMS = frozenset({"DF", "DFG"})
"""Term types of dose forms and groups of them."""


class _Relations:
    """All relations of a release, about a million, as {lower id: upper ids} by meaning."""

    def __init__(self, source: Source, path: Path) -> None:
        self._found: dict[str, defaultdict[str, set[str]]] = {
            meaning: defaultdict(set) for meaning in ("kind", "ingredient", "brand", "part")
        }
        for _, meaning, low, high in rrf.read_relations(source, path, _MEANINGS):
            self._found[meaning][sys.intern(low)].add(sys.intern(high))
        parts: defaultdict[str, set[str]] = defaultdict(set)
        for part, wholes in self._found["part"].items():
            for whole in wholes:
                parts[whole].add(part)
        self._combinations: defaultdict[frozenset[str], list[str]] = defaultdict(list)
        for whole, contained in parts.items():
            self._combinations[frozenset(contained)].append(whole)

    def find_named(self, drug: str) -> str | None:
        """Return the concept of which a drug is a trade name; None if it is none or one of several concepts."""
        named = self._find_whole(self._found["brand"].get(drug, set()))
        return None if named is None or named in self._found["brand"] else named

    def _find_whole(self, ingredients: Iterable[str]) -> str | None:
        """Return the only ingredient, or the one combination of several."""
        several = frozenset(ingredients)
        if len(several) == 1:
            return next(iter(several))
        wholes = self._combinations.get(several, [])
        return wholes[0] if len(wholes) == 1 else None

    def list_edges(self) -> Iterator[tuple[str, str, str]]:
        """Yield (lower id, "kind" or "part", upper id), with trade names replaced by their concepts."""
        for meaning in ("kind", "part"):
            for low, highs in self._found[meaning].items():
                yield from self._resolve_brands((low, meaning, high) for high in highs)
        for meaning in ("ingredient", "brand"):
            for drug, found in self._found[meaning].items():
                ingredients = {self.find_named(ingredient) or ingredient for ingredient in found}
                if whole := self._find_whole(ingredients):
                    yield from self._resolve_brands([(drug, "kind", whole)])
                else:
                    yield from self._resolve_brands((ingredient, "part", drug) for ingredient in ingredients)

    def _resolve_brands(self, edges: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
        for low, meaning, high in edges:
            low, high = self.find_named(low) or low, self.find_named(high) or high
            if low != high:
                yield low, meaning, high


def _recognise(path: Path, head: bytes) -> bool:
    return rrf.find_folder(path, "RXNCONSO.RRF") is not None


def _read_records(source: Source) -> Iterator[Record]:
    names, relations_path, types = rrf.find_tables(source.path, ("RXNCONSO.RRF", "RXNREL.RRF", "RXNSTY.RRF"))
    relations = _Relations(source, relations_path)
    typed: set[str] = set()
    for rxcui, rows in groupby(rrf.read_names(source, names), key=itemgetter(0)):
        named = relations.find_named(rxcui)
        record = _make_record(source, rxcui, list(rows), named)
        if record.type is not None or named is not None:
            typed.add(_PREFIX + rxcui)
        yield record
    # Concepts that only other vocabularies name have no term type of RxNorm.
    yield from (record for record in rrf.read_types(source, types, _PREFIX) if record.id not in typed)
    for low, edges in groupby(sorted(set(relations.list_edges())), key=itemgetter(0)):
        record = Record(_PREFIX + low, source.name)
        for _, meaning, high in edges:
            (record.parents if meaning == "kind" else record.wholes).append(_PREFIX + high)
        yield record


def _make_record(source: Source, rxcui: str, rows: list[list[str]], named: str | None) -> Record:
    if named is not None:
        texts = dict.fromkeys(cells[14] for cells in rows)
        names = [Name(text, "en", "brand", source.name) for text in texts]
        return Record(_PREFIX + named, source.name, names=names, xrefs=[_PREFIX + rxcui])
    record = Record(_PREFIX + rxcui, source.name)
    kinds: dict[str, NameKind] = {}
    for cells in rows:
        vocabulary, term_type, code, text = cells[11:15]
        kinds[text] = rrf.choose_kind(rrf.kind_of_term(vocabulary, term_type), kinds.get(text))
        if vocabulary == "RXNORM" and term_type in rrf.PREFERRED_TERMS:
            record.label = record.label or text
            record.type = "other" if term_type in _DOSE_FORM_TERMS else "drug"
        xref = rrf.find_xref(vocabulary, term_type, code)
        if xref is not None and xref != record.id and xref not in record.xrefs:
            record.xrefs.append(xref)
    record.names = [Name(text, "en", kind, source.name) for text, kind in kinds.items()]
    return record


FORMAT = Format(
    "rxnorm", "RxNorm (RRF): the folder with RXNCONSO, RXNREL and RXNSTY", _recognise, _read_records, lambda _: "rxnorm"
)
