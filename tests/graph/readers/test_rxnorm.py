"""RxNorm: samples that we wrote to NLM's published layout; see data/README-nlm-snomed.md."""

import shutil
from pathlib import Path

import pytest

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.rxnorm import FORMAT

SAMPLE = Path(__file__).parent / "data/rxnorm"


def read(path: Path) -> tuple[list[Record], Source]:
    source = Source(path, "rxnorm")
    return list(FORMAT.read(source)), source


def collect_names(records: list[Record], number: str) -> dict[str, str]:
    return {name.text: name.kind for record in records if record.id == f"RXCUI:{number}" for name in record.names}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "release"))


def test_ingredient() -> None:
    records, source = read(SAMPLE)
    record = records[0]
    assert (record.id, record.label, record.type, record.xrefs) == (
        "RXCUI:101",
        "acetaminophen",
        "drug",
        ["MESH:D900101"],
    )
    assert record.names == [
        Name("acetaminophen", "en", "name", "rxnorm"),
        Name("APAP", "en", "synonym", "rxnorm"),
        Name("Acetaminophen", "en", "name", "rxnorm"),
        Name("Paracetamol", "en", "synonym", "rxnorm"),
    ]
    assert source.skipped["suppressed names"] == 1
    assert source.skipped["relations between wordings rather than concepts"] == 1
    assert not source.problems.counts


def test_a_trade_name_is_a_name_of_its_concept() -> None:
    records, _ = read(SAMPLE)
    assert collect_names(records, "101")["Tylenol"] == "brand"
    assert collect_names(records, "104") == {
        "acetaminophen 500 MG Oral Tablet": "name",
        "acetaminophen 500 MG Oral Tablet [Tylenol]": "brand",
    }
    assert not collect_names(records, "102")
    assert not collect_names(records, "105")
    # Who knows the brand by its number finds the ingredient.
    assert [record.xrefs for record in records if record.id == "RXCUI:101"][1] == ["RXCUI:102"]
    # No record speaks of the brand's number any more: its type and relations went with it.
    assert not {"RXCUI:102", "RXCUI:105", "RXCUI:109"} & {record.id for record in records}


def test_trade_name_of_a_combination() -> None:
    records, _ = read(SAMPLE)
    assert collect_names(records, "108") == {"amoxicillin / clavulanate": "name", "Augmentin": "brand"}
    assert "Augmentin" not in collect_names(records, "106")
    # Where RxNorm has no concept for the combination, the brand is one.
    assert collect_names(records, "115") == {"Tylenol with Codeine": "brand"}


def test_relations_are_read_from_the_second_to_the_first() -> None:
    records, _ = read(SAMPLE)
    edges = {(record.id[6:], high[6:]) for record in records for high in record.parents}
    assert edges == {
        ("103", "101"),  # "101|RO|103|has_ingredient": the second has the first
        ("104", "103"),
        ("104", "101"),  # from "102|RO|105|has_ingredient": both ends are trade names
        ("110", "108"),  # both its ingredients make up the combination
        ("112", "111"),  # a salt
    }
    parts = {(record.id[6:], high[6:]) for record in records for high in record.wholes}
    assert parts == {("106", "108"), ("107", "108"), ("101", "115"), ("114", "115")}


def test_types() -> None:
    records, _ = read(SAMPLE)
    types = {record.id: record.type for record in records if record.type}
    assert types["RXCUI:104"] == "drug"
    assert types["RXCUI:113"] == "other"  # "Oral Tablet", a dose form
    assert types["RXCUI:116"] == "lifestyle"  # only another vocabulary has it: a food by its semantic type


def test_release_folder_and_its_rrf_folder() -> None:
    assert FORMAT.recognise(SAMPLE, b"")
    assert FORMAT.recognise(SAMPLE / "rrf", b"")
    assert read(SAMPLE)[0] == read(SAMPLE / "rrf")[0]
    assert not FORMAT.recognise(SAMPLE.parent, b"")
    assert not FORMAT.recognise(SAMPLE.parent / "umls", b"")


def test_mutual_trade_names_are_not_merged(release: Path) -> None:
    path = release / "rrf/RXNREL.RRF"
    extra = "|".join(["102", "", "CUI", "RO", "101", "", "CUI", "tradename_of", "99", "", "RXNORM", "", "", "", "", ""])
    path.write_text(path.read_text() + extra + "|\n")
    records, _ = read(release)
    assert "Tylenol" in collect_names(records, "102")
    assert "acetaminophen" in collect_names(records, "101")
