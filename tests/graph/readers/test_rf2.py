"""SNOMED CT: samples that we wrote to SNOMED International's published layout; see data/README-nlm-snomed.md."""

import shutil
import zipfile
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.rf2 import FORMAT

SAMPLE = Path(__file__).parent / "data/rf2"
INFARCT, DISEASE, HEART, VENTRICLE, INACTIVE, TUMOUR, IBUPROFEN = (f"SNOMEDCT:900000{n}" for n in range(1, 8))


def read(path: Path) -> tuple[list[Record], Source]:
    source = Source(path, "snomed")
    return list(FORMAT.read(source)), source


def collect_names(records: list[Record], concept: str) -> list[Name]:
    return [name for record in records if record.id == concept for name in record.names]


def collect_labels(records: list[Record]) -> dict[str, list[str]]:
    labels: dict[str, list[str]] = {}
    for record in records:
        if record.label:
            labels.setdefault(record.id, []).append(record.label)
    return labels


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "release"))


def find(release: Path, stem: str) -> Path:
    return next(release.rglob(f"*{stem}*"))


def test_names_in_both_languages() -> None:
    records, source = read(SAMPLE)
    assert collect_names(records, INFARCT) == [
        Name("Myocardial infarction", "en", "name", "snomed"),
        Name("Heart attack", "en", "synonym", "snomed"),
        Name("心肌梗死", "zh", "synonym", "snomed"),
        Name("心肌梗塞", "zh", "synonym", "snomed"),
        Name("Infarction of heart muscle", "en", "synonym", "snomed"),
    ]
    assert Name('Growth in the "gullet"', "en", "synonym", "snomed") in collect_names(records, TUMOUR)
    assert source.skipped["names in other languages"] == 1
    assert source.skipped["names of inactive concepts"] == 1
    assert not source.problems.counts


def test_labels_are_the_preferred_american_terms() -> None:
    labels = collect_labels(read(SAMPLE)[0])
    assert labels == {
        INFARCT: ["Myocardial infarction"],
        DISEASE: ["Heart disease"],
        TUMOUR: ["Tumor of esophagus"],
        # Without a preferred synonym: the fully specified name without its tag.
        HEART: ["Heart structure"],
        VENTRICLE: ["Left ventricle"],
        IBUPROFEN: ["Ibuprofen"],
    }


def test_without_a_language_refset_labels_are_fully_specified_names(release: Path) -> None:
    find(release, "LanguageSnapshot").unlink()
    labels = collect_labels(read(release)[0])
    assert labels[INFARCT] == ["Infarction of heart muscle"]
    assert labels[TUMOUR] == ["Tumour of oesophagus"]


def test_types_come_from_the_tags() -> None:
    types = {record.id: record.type for record in read(SAMPLE)[0] if record.type}
    assert types == {
        INFARCT: "disease",
        DISEASE: "disease",
        HEART: "body_part",
        VENTRICLE: "body_part",
        TUMOUR: "disease",
        IBUPROFEN: "drug",
    }


def test_relations() -> None:
    records, source = read(SAMPLE)
    assert [(record.id, record.parents) for record in records if record.parents] == [(INFARCT, [DISEASE])]
    assert [(record.id, record.wholes) for record in records if record.wholes] == [(VENTRICLE, [HEART])]
    assert source.skipped["relations of inactive concepts"] == 1


def test_inactive_concepts_are_left_out() -> None:
    assert INACTIVE not in {record.id for record in read(SAMPLE)[0]}


@pytest.mark.parametrize("folder", ["", "SnomedCT_SampleRF2_20260101", "SnomedCT_SampleRF2_20260101/Snapshot"])
def test_any_folder_above_the_files(folder: str) -> None:
    assert FORMAT.recognise(SAMPLE / folder, b"")
    assert collect_labels(read(SAMPLE / folder)[0]) == collect_labels(read(SAMPLE)[0])


def test_full_files_are_ignored(release: Path) -> None:
    path = find(release, "sct2_Concept")
    shutil.copy(path, path.with_name(path.name.replace("Snapshot", "Full")))
    records, source = read(release)
    assert source.skipped["files other than Snapshot"] == 1
    assert records == read(SAMPLE)[0]


def test_only_full_files_are_rejected(release: Path) -> None:
    for path in list(release.rglob("*.txt")):
        path.rename(path.with_name(path.name.replace("Snapshot", "Full")))
    with pytest.raises(InputError, match=r"Full.*Snapshot"):
        read(release)


@pytest.mark.parametrize("kind", ["Concept", "Description", "Relationship"])
def test_missing_file_is_named(release: Path, kind: str) -> None:
    for path in list(release.rglob(f"sct2_{kind}_*")):
        path.unlink()
    with pytest.raises(InputError, match=f"sct2_{kind}_Snapshot"):
        read(release)


def test_a_zip_file_is_rejected(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "snomed.zip", "w") as archive:
        archive.writestr("Snapshot/x.txt", "x")
    assert not FORMAT.recognise(tmp_path, b"")
    with pytest.raises(InputError, match=r"snomed\.zip"):
        read(tmp_path / "snomed.zip")


@pytest.mark.parametrize(("stem", "line"), [("Description_Snapshot-en", 16), ("sct2_Relationship", 6)])
def test_cut_off_file_is_rejected_before_anything_is_read(release: Path, stem: str, line: int) -> None:
    path = find(release, stem)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError) as caught:
        next(FORMAT.read(Source(release, "snomed")))
    assert (caught.value.path, caught.value.line) == (path, line)


def test_file_truncated_in_its_last_cell_is_rejected(release: Path) -> None:
    path = find(release, "der2_cRefset_Language")
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InputError) as caught:
        read(release)
    assert (caught.value.path, caught.value.line) == (path, 8)


def test_other_columns_are_rejected(release: Path) -> None:
    path = find(release, "sct2_Concept")
    path.write_bytes(path.read_bytes().replace(b"effectiveTime", b"date"))
    with pytest.raises(InputError, match="date"):
        read(release)


def test_bad_rows_are_counted_with_their_places(release: Path) -> None:
    path = find(release, "Description_Snapshot-en")
    content = (
        path.read_bytes().replace(b"Heart attack", b"Heart\tattack").replace(b"Tumor of esophagus", b"x" * 100_000)
    )
    path.write_bytes(b"\xef\xbb\xbf" + content.replace(b"\r\n", b"\n"))
    records, source = read(release)
    assert source.problems.counts == {"not 9 cells": 1, "a name of more than 1,000 characters": 1}
    assert source.problems.places["not 9 cells"] == [f"{path.name} line 4"]
    assert collect_labels(records)[TUMOUR] == ["Tumour of oesophagus"]
