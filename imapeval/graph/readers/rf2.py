"""SNOMED CT in Release Format 2: the Snapshot files of concepts, descriptions, relationships and language preferences.

Columns and ids are those of the SNOMED CT Release File Specification (SNOMED International, chapters 4.2 and 5.2).
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from typing import TYPE_CHECKING

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Format, Record, split_semantic_tag
from imapeval.graph.readers.parsing.delimited import check_complete, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.graph.model import ConceptType
    from imapeval.graph.readers.base import Source
    from imapeval.types import Lang

_PREFIX = "SNOMEDCT:"
_FULL_NAME = "900000000000003001"
_SYNONYM = "900000000000013009"
_IS_A = "116680003"
_PART_OF = "123005000"
_PREFERRED = "900000000000548007"
_US_ENGLISH = "900000000000509007"
_LANGS: dict[str, Lang] = {"en": "en", "zh": "zh"}

_COLUMNS = {
    "Concept": "id effectiveTime active moduleId definitionStatusId",
    "Description": "id effectiveTime active moduleId conceptId languageCode typeId term caseSignificanceId",
    "Relationship": (
        "id effectiveTime active moduleId sourceId destinationId relationshipGroup typeId characteristicTypeId "
        "modifierId"
    ),
    "Language": "id effectiveTime active moduleId refsetId referencedComponentId acceptabilityId",
}
# "sct2_Description_Snapshot-en_INT_20250101.txt", "der2_cRefset_LanguageSnapshot-en_..."; previews begin with "x".
_FILES = re.compile(
    r"x?(?:sct2_(Concept|Description|Relationship)_|der2_cRefset_(Language))(Snapshot|Full|Delta)[-_].*\.txt(?:\.gz)?"
)

# The semantic tags of fully specified names; tags that are not listed are "other".
_TAGS: dict[ConceptType, str] = {
    "disease": "disorder, morphologic abnormality",
    "symptom": "finding",
    "drug": (
        "substance, product, medicinal product, medicinal product form, clinical drug, real medicinal product, "
        "real clinical drug, packaged clinical drug"
    ),
    "procedure": "procedure, regime/therapy",
    "test": "observable entity, assessment scale, staging scale, tumor staging",
    "body_part": "body structure, cell, cell structure",
    "department": "environment",
    "organism": "organism",
    "lifestyle": "life style",
    "factor": "situation, event",
}
_TYPES: dict[str, ConceptType] = {tag: kind for kind, tags in _TAGS.items() for tag in tags.split(", ")}


def _recognise(path: Path, head: bytes) -> bool:
    return path.is_dir() and any(_FILES.fullmatch(file.name) for file in path.rglob("*_*_*.txt*"))


def _read_records(source: Source) -> Iterator[Record]:
    files = _find_files(source)
    active = {
        cells[0] for path in files["Concept"] for _, cells in _read_active(source, path, "Concept")
    }  # some 400,000 ids
    yield from _read_names(source, files, active)
    for path in files["Relationship"]:
        for _, cells in _read_active(source, path, "Relationship"):
            child, parent, relation = cells[4], cells[5], cells[7]
            if child not in active or parent not in active:
                source.skipped["relations of inactive concepts"] += 1
            elif relation == _IS_A:
                yield Record(_PREFIX + child, source.name, parents=[_PREFIX + parent])
            elif relation == _PART_OF:
                yield Record(_PREFIX + child, source.name, wholes=[_PREFIX + parent])


def _find_files(source: Source) -> dict[str, list[Path]]:
    """Return the Snapshot files of a release by kind; an edition may have several of a kind."""
    found: dict[str, list[Path]] = {kind: [] for kind in _COLUMNS}
    views: Counter[str] = Counter()
    if source.path.is_file() and zipfile.is_zipfile(source.path):
        raise InputError("it is a zip file", path=source.path, fix="Unpack it and give the folder of the release.")
    for path in sorted(source.path.rglob("*_*_*.txt*")):
        if match := _FILES.fullmatch(path.name):
            views[match[3]] += 1
            if match[3] == "Snapshot":
                found[match[1] or match[2]].append(path)
    missing = [kind for kind in ("Concept", "Description", "Relationship") if not found[kind]]
    if missing:
        problem = f"there is no sct2_{missing[0]}_Snapshot file in it"
        if views and "Snapshot" not in views:
            problem += f", only {' and '.join(sorted(views))} files, which are outdated or incomplete"
        raise InputError(problem, path=source.path, fix="Give the folder of the release that has the Snapshot files.")
    if others := views["Full"] + views["Delta"]:
        source.skipped["files other than Snapshot"] += others
    for kind, paths in found.items():
        for path in paths:
            check_complete(path, separator="\t", width=len(_COLUMNS[kind].split()))
    return found


def _read_active(source: Source, path: Path, kind: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line, cells) of the rows that are active.

    Raises:
        InputError: The columns are not those of the specification.
    """
    columns = _COLUMNS[kind].split()
    for line, cells in read_rows(source, path, separator="\t", width=len(columns)):
        if cells[2] == "1":
            yield line, cells
        elif line == 1 and cells != columns:
            raise InputError(
                f"the columns are {', '.join(cells)}, not {', '.join(columns)}",
                path=path,
                line=1,
                fix="Give a release in SNOMED CT's Release Format 2.",
            )


def _read_names(source: Source, files: dict[str, list[Path]], active: set[str]) -> Iterator[Record]:
    preferred, labels_of = _read_preferences(source, files["Language"])
    labels: dict[str, str] = {}
    full: dict[str, str] = {}
    for path in files["Description"]:
        for line, cells in _read_active(source, path, "Description"):
            number, concept, code, kind, text = cells[0], *cells[4:8]
            lang = _LANGS.get(code)
            if lang is None:
                source.skipped["names in other languages"] += 1
            elif concept not in active:
                source.skipped["names of inactive concepts"] += 1
            elif kind == _FULL_NAME and source.check_name(text, line=line, path=path):
                text, tag = split_semantic_tag(text)
                if lang == "en":
                    full[concept] = text
                    yield Record(_PREFIX + concept, source.name, type=_TYPES.get(tag, "other"))
                else:
                    yield Record(_PREFIX + concept, source.name, names=[Name(text, lang, "synonym", source.name)])
            elif kind == _SYNONYM and source.check_name(text, line=line, path=path):
                is_label = lang == "en" and number in labels_of
                if is_label:
                    labels[concept] = text
                name = Name(text, lang, "name" if number in preferred else "synonym", source.name)
                yield Record(_PREFIX + concept, source.name, text if is_label else "", names=[name])
    # Usually the preferred term is the fully specified name without its tag.
    for concept, text in full.items():
        label = labels.get(concept)
        if label is None:
            yield Record(_PREFIX + concept, source.name, text, names=[Name(text, "en", "name", source.name)])
        elif label != text:
            yield Record(_PREFIX + concept, source.name, names=[Name(text, "en", "synonym", source.name)])


def _read_preferences(source: Source, paths: list[Path]) -> tuple[set[str], set[str]]:
    """Return the ids of the preferred descriptions, and of those used as labels: the American ones, if any."""
    preferred: set[str] = set()
    american: set[str] = set()
    for path in paths:
        for _, cells in _read_active(source, path, "Language"):
            if cells[6] == _PREFERRED:
                preferred.add(cells[5])
                if cells[4] == _US_ENGLISH:
                    american.add(cells[5])
    return preferred, american or preferred


FORMAT = Format(
    "rf2",
    "SNOMED CT (RF2): the folder of a release with its Snapshot files",
    _recognise,
    _read_records,
    lambda _: "snomedct",
)
