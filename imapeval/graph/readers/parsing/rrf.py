"""NLM's Rich Release Format, used by UMLS and RxNorm: files, relations and semantic types.

The columns are those of the UMLS Reference Manual (NLM, NBK9685, chapter 3) and of the RxNorm technical documentation,
which differ only in the names of the files.
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
    from collections.abc import Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.graph.model import NameKind
    from imapeval.graph.readers.base import Source

NAME_COLUMNS, RELATION_COLUMNS, TYPE_COLUMNS = 18, 16, 6
"""Columns of MRCONSO and RXNCONSO, of MRREL and RXNREL, of MRSTY and RXNSTY."""

_SUBFOLDERS = ("", "META", "rrf")
"""Folders of the tables in a release: META/ in UMLS, rrf/ in RxNorm."""

# Term types (TTY), UMLS Reference Manual, appendix B; others are synonyms.
_ABBREVIATIONS = frozenset({"AB", "ACR", "AA"})
_BRANDS = frozenset({"BN", "BD", "SBD", "SBDC", "SBDF", "SBDFP", "SBDG", "BPCK"})
PREFERRED_TERMS = _BRANDS.union(
    ("PT", "PN", "MH", "NM", "HT", "FN", "IN", "PIN", "MIN", "DF", "DFG"),
    ("SCD", "SCDC", "SCDF", "SCDFP", "SCDG", "SCDGP", "GPCK"),
)
"""Term types of the name that a vocabulary gives a concept, as opposed to synonyms."""

_TREE_VOCABULARY = "MSH"
"""The vocabulary whose PAR and CHD without RELA are not is-a: see `read_relations`."""

_XREF_VOCABULARIES = frozenset({"MSH", "SNOMEDCT_US", "RXNORM", "NCI", "HPO"})
"""Vocabularies (SAB) whose codes are ids in other readers."""

_KIND_RANKS: dict[NameKind, int] = {"abbreviation": 0, "brand": 1, "name": 2, "lay": 3, "synonym": 4}
"""If vocabularies give a name different kinds, the one with the lowest rank, the most informative, is used."""


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
    found: list[Path] = []
    for table, width in zip(tables, (NAME_COLUMNS, RELATION_COLUMNS, TYPE_COLUMNS), strict=True):
        if (file := _find_table(folder, table)) is None:
            raise InputError(
                f"{table} is missing",
                path=folder,
                fix=f"Copy it from the release to where {tables[0]} is: relations and types are in separate files.",
            )
        check_complete(file, separator="|", width=width + 1)
        found.append(file)
    return found


def _find_table(folder: Path, table: str) -> Path | None:
    return next((file for file in (folder / table, folder / f"{table}.gz") if file.is_file()), None)


def read_names(source: Source, path: Path, *, langs: Container[str] | None = None) -> Iterator[list[str]]:
    """Yield the rows of MRCONSO or RXNCONSO that are names, in languages (LAT) of `langs` if given."""
    for line, cells in read_rows(source, path, separator="|", width=NAME_COLUMNS + 1):
        if langs is not None and cells[1] not in langs:
            source.skipped["names in other languages"] += 1
        elif cells[16] != "N":
            source.skipped["suppressed names"] += 1
        elif source.check_name(cells[14], line=line, path=path):
            yield cells


def read_relations(
    source: Source, path: Path, meanings: Mapping[str, tuple[str, bool]]
) -> Iterator[tuple[str, str, str, str]]:
    """Yield (first id of the row, meaning, lower id, upper id) of the relations with a meaning.

    A row "CUI1 | REL | CUI2 | RELA" states what the *second* is to the *first*: "A|CHD|B|isa" means "B is a child of A;
    B isa A", and "A|PAR|B|inverse_isa" means the same with A below B. Releases have both rows; both are read, because
    the file may have been filtered.

    PAR and CHD only state that one term is below the other in a vocabulary ("broader" and "narrower hierarchical term"
    in NLM's source documentation); RELA, if present, states in what sense. Without RELA they are is-a in
    classifications such as ICD, but not in MeSH, whose trees have parts below wholes in anatomy, and substances below
    what they are made from. NLM's XML of MeSH has the tree numbers to distinguish these
    (`imapeval.graph.readers.mesh_xml`).

    Args:
        source: Records the problems.
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
            source.skipped["steps in MeSH trees, which need not be is-a (add the XML of MeSH as a source)"] += 1
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
    """Return the kind of a name by its SAB and TTY; CHV is the Consumer Health Vocabulary."""
    if term_type in _ABBREVIATIONS:
        return "abbreviation"
    if vocabulary == "CHV":
        return "lay"
    if term_type in _BRANDS:
        return "brand"
    return "name" if term_type in PREFERRED_TERMS else "synonym"


def choose_kind(one: NameKind, other: NameKind | None) -> NameKind:
    """Return the more informative of two kinds that rows give a name; `other` may be missing."""
    return one if other is None or _KIND_RANKS[one] < _KIND_RANKS[other] else other


def find_xref(vocabulary: str, term_type: str, code: str) -> str | None:
    """Return the id of a row's concept in its vocabulary, if another reader may use it.

    Only rows with the vocabulary's name of the concept count: in MeSH, entry terms have the code of their descriptor
    too, but may mean something narrower and be other concepts in UMLS.
    """
    if vocabulary not in _XREF_VOCABULARIES or term_type not in PREFERRED_TERMS:
        return None
    # The codes of HPO are CURIEs already, "HP:0001945".
    return canonical_curie(code if ":" in code else f"{vocabulary}:{code}")
