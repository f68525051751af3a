"""UMLS: samples that we wrote to NLM's published layout; see data/README-nlm-snomed.md."""

import gzip
import shutil
import zipfile
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.parsing.concept_types import type_of_semantic_types
from imapeval.graph.readers.umls import FORMAT

SAMPLE = Path(__file__).parent / "data/umls"
INFARCT, DISEASE, HEART, VENTRICLE, IBUPROFEN, NSAID = (f"UMLS:C900000{n}" for n in range(1, 7))


def read(path: Path) -> tuple[list[Record], Source]:
    source = Source(path, "umls")
    return list(FORMAT.read(source)), source


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE / "META", tmp_path / "META"))


def test_names_have_language_and_kind() -> None:
    records, source = read(SAMPLE)
    record = next(record for record in records if record.id == INFARCT)
    assert record.label == "Myocardial infarction"
    assert record.names == [
        # The fully specified name without its tag, and the inverted heading of MeSH turned round, fall together with
        # others; an abbreviation is one whoever else lists it as a synonym.
        Name("Myocardial infarction", "en", "name", "umls"),
        Name("Myocardial Infarction", "en", "name", "umls"),
        Name("heart attack", "en", "lay", "umls"),
        Name("MI", "en", "abbreviation", "umls"),
        Name("心肌梗死", "zh", "name", "umls"),
    ]
    assert record.xrefs == ["SNOMEDCT:9000001", "MESH:D900001", "NCIT:C900001"]
    assert source.skipped["names in other languages"] == 1
    assert source.skipped["suppressed names"] == 1
    assert not source.problems.counts


def test_separate_rows_of_a_concept_are_combined() -> None:
    records, _ = read(SAMPLE)
    texts = [name.text for record in records if record.id == INFARCT for name in record.names]
    assert texts[-1] == "cardiac infarction"
    assert [record.label for record in records if record.id == INFARCT and record.names] == [
        "Myocardial infarction",
        "",
    ]


def test_only_own_names_of_a_vocabulary_give_its_code() -> None:
    by_id = {record.id: record for record in reversed(read(SAMPLE)[0])}
    # D900005 comes from the main heading, not from the entry term; RXCUI:900055 is the brand.
    assert by_id[IBUPROFEN].xrefs == ["RXCUI:900005", "RXCUI:900055", "MESH:D900005"]
    assert Name("Motrin", "en", "brand", "umls") in by_id[IBUPROFEN].names
    assert by_id[DISEASE].xrefs == ["MESH:D900002", "HP:9000002"]


def test_relations_are_read_from_the_second_to_the_first() -> None:
    records, source = read(SAMPLE)
    assert {(record.id, high) for record in records for high in record.parents} == {
        # "C9000001|PAR|C9000002|inverse_isa": the second is the parent; once more from the other end by "isa".
        (INFARCT, DISEASE),
        (IBUPROFEN, NSAID),
    }
    # "C9000003|RO|C9000004|part_of": the second is part of the first.
    assert [(record.id, record.wholes) for record in records if record.wholes] == [(VENTRICLE, [HEART])]
    assert source.skipped["relations of a concept with itself"] == 1


def test_steps_in_mesh_trees_are_not_is_a(meta: Path) -> None:
    with (meta / "MRREL.RRF").open("a") as file:
        file.write("C9000004|A1|AUI|PAR|C9000003|A2|AUI||R1||MSH|MSH|||N||\n")  # MeSH's anatomy: a part
        file.write("C9000003|A2|AUI|CHD|C9000004|A1|AUI||R2||MSH|MSH|||N||\n")
        file.write("C9000001|A3|AUI|RB|C9000006|A4|AUI|inverse_isa|R3||MSH|MSH|||N||\n")  # says what it is
        file.write("C9000004|A5|AUI|PAR|C9000002|A6|AUI||R4||ICD10CM|ICD10CM|||N||\n")
    records, source = read(meta)
    assert {(record.id, high) for record in records for high in record.parents} == {
        (INFARCT, DISEASE),
        (IBUPROFEN, NSAID),
        (INFARCT, NSAID),
        (VENTRICLE, DISEASE),
    }
    (reason,) = (what for what in source.skipped if "MeSH" in what)
    assert source.skipped[reason] == 2
    assert not source.problems.counts


def test_types() -> None:
    types = {record.id: record.type for record in read(SAMPLE)[0] if record.type}
    assert types == {
        INFARCT: "disease",
        DISEASE: "disease",
        HEART: "body_part",
        VENTRICLE: "body_part",
        IBUPROFEN: "drug",  # an organic chemical and a pharmacologic substance
        NSAID: "drug",
    }


def test_semantic_types_without_a_type_are_other() -> None:
    assert type_of_semantic_types([]) == type_of_semantic_types(["T999"]) == type_of_semantic_types(["T109"]) == "other"


def test_release_folder_its_meta_folder_or_the_table_itself(meta: Path) -> None:
    for path in (meta.parent, meta, meta / "MRCONSO.RRF"):
        assert FORMAT.recognise(path, b"")
        assert len(read(path)[0]) == len(read(SAMPLE)[0])
    assert not FORMAT.recognise(meta / "MRSTY.RRF", b"C9000001|T047")


def test_compressed_tables_and_windows_line_ends(meta: Path) -> None:
    expected, _ = read(SAMPLE)
    names = meta / "MRCONSO.RRF"
    with gzip.open(meta / "MRCONSO.RRF.gz", "wb") as file:
        file.write(b"\xef\xbb\xbf" + names.read_bytes().replace(b"\n", b"\r\n"))
    names.unlink()
    assert read(meta)[0] == expected


@pytest.mark.parametrize("table", ["MRREL.RRF", "MRSTY.RRF"])
def test_missing_table_is_named(meta: Path, table: str) -> None:
    (meta / table).unlink()
    with pytest.raises(InputError, match=table):
        read(meta)


def test_folder_without_umls(tmp_path: Path) -> None:
    assert not FORMAT.recognise(tmp_path, b"")
    with pytest.raises(InputError, match=r"MRCONSO\.RRF"):
        read(tmp_path)


def test_a_zip_file_is_rejected(meta: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "umls.zip", "w") as archive:
        archive.write(meta / "MRCONSO.RRF", "META/MRCONSO.RRF")
    with pytest.raises(InputError, match=r"umls\.zip"):
        read(tmp_path / "umls.zip")


@pytest.mark.parametrize(("table", "lines"), [("MRCONSO.RRF", 20), ("MRREL.RRF", 8), ("MRSTY.RRF", 7)])
def test_cut_off_table_is_rejected_before_anything_is_read(meta: Path, table: str, lines: int) -> None:
    path = meta / table
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InputError) as caught:
        next(FORMAT.read(Source(meta, "umls")))
    assert (caught.value.path, caught.value.line) == (path, lines)


def test_cut_in_the_middle_of_a_character(meta: Path) -> None:
    path = meta / "MRCONSO.RRF"
    content = path.read_bytes()
    path.write_bytes(content[: content.index("肌".encode()) + 1])
    with pytest.raises(InputError) as caught:
        read(meta)
    assert (caught.value.path, caught.value.line) == (path, 8)


def test_last_line_without_its_end_is_whole(meta: Path) -> None:
    path = meta / "MRCONSO.RRF"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert read(meta)[0] == read(SAMPLE)[0]


def test_cut_off_compressed_table(meta: Path) -> None:
    path = meta / "MRCONSO.RRF"
    content = path.read_bytes()
    path.unlink()
    whole = gzip.compress(content)
    path.with_suffix(".RRF.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"MRCONSO\.RRF\.gz"):
        read(meta)
    # Damaged in the middle.
    path.with_suffix(".RRF.gz").write_bytes(whole[:100] + bytes(100) + whole[200:])
    with pytest.raises(InputError, match=r"MRCONSO\.RRF\.gz"):
        read(meta)
    # Cut off first, compressed afterwards.
    path.with_suffix(".RRF.gz").write_bytes(gzip.compress(content[:-12]))
    with pytest.raises(InputError) as caught:
        read(meta)
    assert (caught.value.path, caught.value.line) == (path.with_suffix(".RRF.gz"), 20)


def test_bad_rows_are_counted_with_their_places(meta: Path) -> None:
    path = meta / "MRCONSO.RRF"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = b"C9000001|ENG|too few|\n"
    lines[3] = lines[3].replace(b"heart attack", b"heart|attack")
    lines[5] = lines[5].replace(b"|MI|", b"|\xff\xfe|")
    lines[6] = lines[6].replace(b"Myocardial Infarction", b"x" * 100_000)
    path.write_bytes(b"".join(lines))
    records, source = read(meta)
    assert source.problems.counts == {"not 19 cells": 2, "not UTF-8": 1, "a name of more than 1,000 characters": 1}
    assert source.problems.places["not 19 cells"] == ["MRCONSO.RRF line 3", "MRCONSO.RRF line 4"]
    assert source.problems.places["a name of more than 1,000 characters"] == ["MRCONSO.RRF line 7"]
    assert {name.text for record in records if record.id == INFARCT for name in record.names} == {
        "Myocardial infarction",
        "MI",
        "心肌梗死",
        "cardiac infarction",
    }


@pytest.mark.parametrize("content", [b"", b"id,name\n1,fever\n", "C9|ENG|\n".encode("utf-16")])
def test_other_tables_are_rejected(meta: Path, content: bytes) -> None:
    (meta / "MRCONSO.RRF").write_bytes(content)
    with pytest.raises(InputError) as caught:
        read(meta)
    assert caught.value.path == meta / "MRCONSO.RRF"
