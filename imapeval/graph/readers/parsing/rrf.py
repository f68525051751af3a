"""NLM's Rich Release Format, in which UMLS and RxNorm come: which files there are, relations and semantic types.

The columns are those of the UMLS Reference Manual (NLM, NBK9685, chapter 3) and of the RxNorm technical documentation,
which has the same ones but for the names of the files.
"""

from __future__ import annotations

import zipfile
from itertools import groupby
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.graph.readers.base import Record
from imapeval.graph.readers.parsing.concept_types import type_of_semantic_types
from imapeval.graph.readers.parsing.curies import canonical_curie
from imapeval.graph.readers.parsing.delimited import check_complete, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.graph.model import NameKind
    from imapeval.graph.readers.base import Source

NAME_COLUMNS, RELATION_COLUMNS, TYPE_COLUMNS = 18, 16, 6
"""Columns of MRCONSO and RXNCONSO, of MRREL and RXNREL, of MRSTY and RXNSTY."""

_SUBFOLDERS = ("", "META", "rrf")
"""Where the tables lie below the folder of a release: UMLS has META/, RxNorm rrf/."""

# Term types (TTY), UMLS Reference Manual, appendix B; those that are not listed are synonyms.
_ABBREVIATIONS = frozenset({"AB", "ACR", "AA"})
_BRANDS = frozenset({"BN", "BD", "SBD", "SBDC", "SBDF", "SBDFP", "SBDG", "BPCK"})
PREFERRED_TERMS = _BRANDS.union(
    ("PT", "PN", "MH", "NM", "HT", "FN", "IN", "PIN", "MIN", "DF", "DFG"),
    ("SCD", "SCDC", "SCDF", "SCDFP", "SCDG", "SCDGP", "GPCK"),
)
"""Term types by which a vocabulary gives a concept its own name, rather than another wording."""

_TREE_VOCABULARY = "MSH"
"""The vocabulary whose bare PAR and CHD are no is-a: see `read_relations`."""

_XREF_VOCABULARIES = frozenset({"MSH", "SNOMEDCT_US", "RXNORM", "NCI", "HPO"})
"""Vocabularies (SAB) whose codes other readers use as ids."""

_KIND_RANKS: dict[NameKind, int] = {"abbreviation": 0, "brand": 1, "name": 2, "lay": 3, "synonym": 4}
"""The kind of a name that several vocabularies classify differently: the most informative."""


def find_folder(path: Path, table: str) -> Path | None:
    """Return the folder of a table, given the table, its folder, or the folder of the whole release."""
    if path.is_file():
        return path.parent if path.name.removesuffix(".gz") == table else None
    return next((path / sub for sub in _SUBFOLDERS if _find_table(path / sub, table)), None)


def find_tables(path: Path, tables: Sequence[str]) -> list[Path]:
    """Return the paths of the tables, the first of which determines the folder; none may be truncated.

    Raises:
        InputError: One is missing or truncated, or it is a zip file.
    """
    folder = find_folder(path, tables[0])
    if folder is None:
        if path.is_file() and zipfile.is_zipfile(path):
            problem, fix = "it is a zip file", f"Unpack it and give the folder with {tables[0]}."
        else:
            problem, fix = f"there is no {tables[0]} in it", "Give the folder of the release."
        raise InputError(problem, path=path, fix=fix)
    found = [_find_table(folder, table) for table in tables]
    widths = (NAME_COLUMNS, RELATION_COLUMNS, TYPE_COLUMNS)
    for table, place, width in zip(tables, found, widths, strict=True):
        if place is None:
            raise InputError(
                f"{table} is missing",
                path=folder,
                fix=f"Copy it from the release beside {tables[0]}: relations and types stand in files of their own.",
            )
        check_complete(place, separator="|", width=width + 1)
    return [place for place in found if place is not None]


def _find_table(folder: Path, table: str) -> Path | None:
    return next((place for place in (folder / table, folder / f"{table}.gz") if place.is_file()), None)


def read_relations(
    source: Source, path: Path, meanings: Mapping[str, tuple[str, bool]]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (first id of the row, meaning, lower id, upper id) of the relations with a meaning.

    A row "CUI1 | REL | CUI2 | RELA" says what the *second* is to the *first*: "A|CHD|B|isa" is "B is a child of A; B
    isa A", and "A|PAR|B|inverse_isa" is the same as seen from the other end. Releases have both rows; each is read, as
    a copy may have been filtered.

    PAR and CHD alone only say that one stands below the other in a vocabulary: NLM's source documentation has them as
    "broader" and "narrower hierarchical term", and RELA, where there is one, says in what sense. Those without RELA
    are taken from classifications such as ICD, where a heading has kinds below it, but not from MeSH: its tree puts
    parts below wholes in anatomy, and substances below what they are made from. NLM's XML of MeSH, as a source of its
    own, has the numbers by which these are told from kinds (`imapeval.graph.readers.mesh_xml`).

    Args:
        source: Takes the problems.
        path: MRREL or RXNREL.
        meanings: By RELA, or by REL where RELA is empty: (meaning, whether the second id is the lower one).
    """
    for _, cells in read_rows(source, path, separator="|", width=RELATION_COLUMNS + 1):
        meaning = meanings.get(cells[7] or cells[3])
        # RxNorm leaves SUPPRESS empty.
        if meaning is None or cells[14] not in ("N", ""):
            continue
        first, second = cells[0], cells[4]
        if not cells[7] and cells[10] == _TREE_VOCABULARY:
            source.skipped["steps of MeSH's tree, which are no is-a (give MeSH's XML as well)"] += 1
        elif not first or not second:
            source.skipped["relations between wordings rather than concepts"] += 1
        elif first == second:
            source.skipped["relations of a concept with itself"] += 1
        else:
            yield first, meaning[0], *((second, first) if meaning[1] else (first, second))


def read_types(source: Source, path: Path, prefix: str) -> Iterator[Record]:
    """Yield the type of every concept of MRSTY or RXNSTY."""
    rows = read_rows(source, path, separator="|", width=TYPE_COLUMNS + 1)
    for cui, group in groupby(rows, key=lambda row: row[1][0]):
        yield Record(prefix + cui, source.name, type=type_of_semantic_types(cells[1] for _, cells in group))


def kind_of_term(vocabulary: str, term_type: str) -> NameKind:
    """Return what sort of name a row gives, by its SAB and TTY; CHV is the Consumer Health Vocabulary."""
    if term_type in _ABBREVIATIONS:
        return "abbreviation"
    if vocabulary == "CHV":
        return "lay"
    if term_type in _BRANDS:
        return "brand"
    return "name" if term_type in PREFERRED_TERMS else "synonym"


def choose_kind(one: NameKind, other: NameKind | None) -> NameKind:
    """Return the kind of a wording that one row calls `one` and another, or none, `other`."""
    return one if other is None or _KIND_RANKS[one] < _KIND_RANKS[other] else other


def find_xref(vocabulary: str, term_type: str, code: str) -> str | None:
    """Return the id that a row's concept has in its vocabulary, where another reader may meet it.

    Only rows with the vocabulary's own name of the concept tell: MeSH gives the code of a descriptor to entry terms
    too, which mean something narrower and are concepts of their own in UMLS.
    """
    if vocabulary not in _XREF_VOCABULARIES or term_type not in PREFERRED_TERMS:
        return None
    # The codes of HPO are ids as they are, "HP:0001945".
    return canonical_curie(code if ":" in code else f"{vocabulary}:{code}")
