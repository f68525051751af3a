"""MeSH: samples that we wrote to NLM's document types (see data/README-nlm-snomed.md), and a slice of the real file."""

import gzip
import shutil
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.mesh_xml import FORMAT

SAMPLE = Path(__file__).parent / "data/mesh"
REAL = Path(__file__).parents[4] / "shared/terminology/mesh-2015-subset.xml"


def read(path: Path) -> list[Record]:
    return list(FORMAT.read(Source(path, "mesh")))


def collect(path: Path) -> dict[str, Record]:
    """Return the records by the id behind the prefix, those of one id added up."""
    found: dict[str, Record] = {}
    for record in read(path):
        known = found.setdefault(record.id.removeprefix("MESH:"), record)
        if known is not record:
            known.parents += record.parents
            known.wholes += record.wholes
            known.names += record.names
    return found


def test_headings_are_in_natural_order() -> None:
    anemia = collect(SAMPLE / "desc2026.xml")["D900002"]
    assert (anemia.id, anemia.label, anemia.type) == ("MESH:D900002", "Aplastic Anemia", "disease")
    assert collect(SAMPLE / "desc2026.xml")["D900003"].label == "Fatigue & Weakness"
    # An enumeration is none.
    assert collect(SAMPLE / "desc2026.xml")["D900015"].label == "Ear, Nose and Throat Rooms"


def test_names_have_scope_and_kind() -> None:
    records = collect(SAMPLE / "desc2026.xml")
    assert records["D900002"].names == [
        Name("Aplastic Anemia", "en", "name", "mesh"),
        Name("AA", "en", "abbreviation", "mesh"),
        Name("Idiopathic Aplastic Anemia", "en", "synonym", "mesh", "narrow"),
        Name("Blood-Cell Aplasia", "en", "synonym", "mesh", "related"),
        Name("Bone Marrow Failure", "en", "synonym", "mesh", "broad"),
    ]
    assert Name("Motrin", "en", "brand", "mesh") in records["D900010"].names
    assert Name("NSAIDs", "en", "abbreviation", "mesh") in records["D900012"].names


def test_types_come_from_the_trees() -> None:
    records = collect(SAMPLE / "desc2026.xml")
    types = {ui: record.type for ui, record in records.items()}
    assert types["D900003"] == "symptom"
    assert types["D900004"] == types["D900007"] == "body_part"
    assert types["D900010"] == types["D900012"] == "drug"
    assert types["D900011"] is None  # a class of chemicals without action: not known to be drugs
    assert types["D900015"] == "department"  # by its semantic type


def test_trees_give_kinds_and_parts() -> None:
    records = collect(SAMPLE / "desc2026.xml")
    assert records["D900002"].parents == ["MESH:D900001"]
    assert (records["D900005"].parents, records["D900005"].wholes) == ([], ["MESH:D900004"])
    # Lymphocytes are a kind of blood cells; the step between the two numbers is not in the file.
    assert (records["D900007"].parents, records["D900007"].wholes) == (["MESH:D900006"], [])


def test_drugs_belong_to_classes_not_to_precursors() -> None:
    records = collect(SAMPLE / "desc2026.xml")
    # The non-steroidal anti-inflammatory agents and, two steps up the tree, the phenylpropionates; phenylpropionic
    # acid between them is a substance.
    assert records["D900010"].parents == ["MESH:D900012", "MESH:D900011"]
    assert records["D900012"].parents == ["MESH:D900014"]


def test_supplementary_records() -> None:
    records = collect(SAMPLE / "supp2026.xml")
    assert (records["C900001"].type, records["C900001"].parents) == ("drug", ["MESH:D900012", "MESH:D900010"])
    # Mapped with a qualifier: about the heading, not a kind of it.
    assert (records["C900002"].type, records["C900002"].parents) == (None, [])
    # Only headings with a star.
    assert (records["C900003"].type, records["C900003"].parents) == ("disease", ["MESH:D900002"])


def test_pharmacological_actions() -> None:
    assert {ui: (record.type, record.parents) for ui, record in collect(SAMPLE / "pa2026.xml").items()} == {
        "D900010": ("drug", ["MESH:D900012"]),
        "C900001": ("drug", ["MESH:D900012"]),
    }


def test_all_files_of_a_folder_are_read(tmp_path: Path) -> None:
    assert FORMAT.recognise(SAMPLE, b"")
    assert set(collect(SAMPLE)) == {ui for file in SAMPLE.iterdir() for ui in collect(file)}
    assert not FORMAT.recognise(tmp_path, b"")
    with pytest.raises(InputError, match="MeSH"):
        read(tmp_path)


@pytest.mark.parametrize("file", ["desc2026.xml", "supp2026.xml", "pa2026.xml"])
def test_files_are_recognised_by_their_beginning(file: str) -> None:
    assert FORMAT.recognise(Path("any.xml"), (SAMPLE / file).read_bytes()[:4096])


def test_compressed_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "desc2026.xml.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + (SAMPLE / "desc2026.xml").read_bytes().replace(b"\n", b"\r\n")))
    assert read(path) == read(SAMPLE / "desc2026.xml")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"desc2026\.xml\.gz"):
        read(path)


@pytest.mark.skipif(not REAL.exists(), reason="needs ../shared/terminology/mesh-2015-subset.xml")
def test_a_truncated_real_file(tmp_path: Path) -> None:
    # The slice is the first 1,000 lines of desc2015.xml; the third record lacks its end.
    with pytest.raises(InputError, match=r"\b2\b") as caught:
        read(REAL)
    assert caught.value.line == 1001
    text = REAL.read_text()
    (mended := tmp_path / "desc2015.xml").write_text(
        text[: text.rindex("<DescriptorRecord ")] + "</DescriptorRecordSet>\n"
    )
    records = collect(mended)
    assert set(records) == {"D000001", "D000002"}
    calcimycin = records["D000001"]
    assert (calcimycin.label, calcimycin.type) == ("Calcimycin", "drug")
    # Anti-Bacterial Agents, Calcium Ionophores.
    assert calcimycin.parents == ["MESH:D000900", "MESH:D061207"]
    assert [(name.text, name.kind, name.scope) for name in calcimycin.names] == [
        ("Calcimycin", "name", "exact"),
        ("A-23187", "synonym", "narrow"),
        ("A 23187", "synonym", "narrow"),
        ("Antibiotic A23187", "synonym", "narrow"),
        ("A23187", "synonym", "narrow"),
    ]
    assert ("Temephos", "brand", "exact") in {(name.text, name.kind, name.scope) for name in records["D000002"].names}


def test_nested_entities_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "desc2026.xml"
    bomb = (
        '<!DOCTYPE DescriptorRecordSet [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        "<DescriptorRecordSet><DescriptorRecord><DescriptorUI>&b;</DescriptorUI></DescriptorRecord></DescriptorRecordSet>"
    )
    # In UTF-16 too, where a search for "<!ENTITY" in the bytes finds nothing.
    for encoding in ("utf-8", "utf-16"):
        path.write_bytes(bomb.encode(encoding))
        with pytest.raises(InputError, match=r"desc2026\.xml.*'b'"):
            read(path)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"", None),
        (b"D000001\tCalcimycin\n", None),
        (b"<rdf><a/></rdf>", "<rdf>"),
        (b'<DescriptorRecordSet LanguageCode="fre"/>', "'fre'"),
        (b"<DescriptorRecordSet><DescriptorRecord></Descriptor>", None),
        (b"<DescriptorRecordSet><DescriptorRecord>\xff", None),
        ("<DescriptorRecordSet><DescriptorRecord>心".encode()[:-1], None),
    ],
)
def test_other_files_are_rejected(tmp_path: Path, content: bytes, value: str | None) -> None:
    path = tmp_path / "desc2026.xml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=value) as caught:
        read(path)
    assert caught.value.path == path


def test_bad_records_and_long_names_are_counted(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLE / "desc2026.xml", tmp_path))
    text = path.read_text().replace("<DescriptorUI>D900001</DescriptorUI>", "").replace("Motrin", "x" * 100_000)
    path.write_text(text)
    source = Source(path, "mesh")
    records = list(FORMAT.read(source))
    assert "MESH:D900001" not in {record.id for record in records}
    assert source.problems.counts == {
        "a record without id or name": 1,
        "a name of more than 1,000 characters": 1,
    }
    assert source.problems.places["a name of more than 1,000 characters"] == ["desc2026.xml record 8"]
    assert source.problems.places["a record without id or name"] == ["desc2026.xml record 1"]


def test_a_heading_that_is_too_long_is_no_name(tmp_path: Path) -> None:
    path = Path(shutil.copy(SAMPLE / "desc2026.xml", tmp_path))
    path.write_text(path.read_text().replace("Anemia, Aplastic", "x" * 1001))
    source = Source(path, "mesh")
    (anemia,) = (record for record in FORMAT.read(source) if record.id == "MESH:D900002" and record.names)
    assert anemia.label == ""
    assert "AA" in {name.text for name in anemia.names}
    assert all(len(name.text) <= 1000 for name in anemia.names)
    assert source.problems.counts == {"a name of more than 1,000 characters": 1}


@pytest.mark.parametrize(
    ("file", "ui", "blank"),
    [
        ("supp2026.xml", "D900012", " "),
        ("supp2026.xml", "*D900010", "* "),
        ("pa2026.xml", "D900012", " "),
        ("pa2026.xml", "C900001", " "),
    ],
)
def test_a_blank_id_is_none(tmp_path: Path, file: str, ui: str, blank: str) -> None:
    path = Path(shutil.copy(SAMPLE / file, tmp_path))
    path.write_text(path.read_text().replace(f"UI>{ui}<", f"UI>{blank}<"))
    assert "MESH:" not in {one for record in read(path) for one in (record.id, *record.parents)}


def test_a_folder_with_compressed_files_as_nlm_names_them(tmp_path: Path) -> None:
    (tmp_path / "desc2026.gz").write_bytes(gzip.compress((SAMPLE / "desc2026.xml").read_bytes()))
    assert FORMAT.recognise(tmp_path, b"")
