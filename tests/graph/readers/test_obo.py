import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.obo import FORMAT

SHARED = Path(__file__).parents[4] / "shared" / "terminology"
DOID_2016 = SHARED / "doid-2016-09-01.obo"

HEADER = "format-version: 1.2\nontology: doid\n\n"


def read(path: Path, text: str | None = None) -> tuple[list[Record], Source]:
    if text is not None:
        path.write_text(text, encoding="utf-8")
    source = Source(path, "doid")
    return list(FORMAT.read(source)), source


def read_term(tmp_path: Path, *lines: str) -> tuple[Record, Source]:
    (record,), source = read(tmp_path / "x.obo", HEADER + "[Term]\nid: DOID:1\n" + "\n".join(lines) + "\n")
    return record, source


def name(text: str, kind: str = "synonym", scope: str = "exact") -> Name:
    return Name(text, "en", kind, "doid", scope)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('synonym: "flu" EXACT []', name("flu")),
        ('synonym: "avian flu" NARROW []', name("avian flu", scope="narrow")),
        ('synonym: "infection" BROAD [DO:ls]', name("infection", scope="broad")),
        ('synonym: "grippe" RELATED []', name("grippe", scope="related")),
        # The default of OBO 1.2 where the scope is left out.
        ('synonym: "grippe" []', name("grippe", scope="related")),
        ('exact_synonym: "flu" []', name("flu")),
        ('synonym: "COPD" EXACT ABBREVIATION []', name("COPD", "abbreviation")),
        ('synonym: "COPD" EXACT OMO:0003000 []', name("COPD", "abbreviation")),
        ('synonym: "wind" EXACT layperson [ORCID:1]', name("wind", "lay")),
        ('synonym: "Brufen" RELATED BRAND_NAME [ChEBI]', name("Brufen", "brand", "related")),
        ('synonym: "say \\"ah\\" sign" EXACT []', name('say "ah" sign')),
        ('synonym: "the so-called "walking" pneumonia" EXACT []', name('the so-called "walking" pneumonia')),
        ('synonym: "1\\,2-x\\: y" EXACT [] {source="a"}', name("1,2-x: y")),
        ('synonym: "flu" EXACT [] {xref="url:https\\://x.org", y="[z]"}', name("flu")),
        ('synonym: "flu" EXACT [DO:x "a \\"described\\" source"]', name("flu")),
        ('synonym:   "two   spaces\\nand a line" EXACT []', name("two spaces and a line")),
    ],
)
def test_synonyms(tmp_path: Path, line: str, expected: Name) -> None:
    record, source = read_term(tmp_path, line)
    assert record.names == [expected]
    assert not source.problems.counts


def test_a_complete_term(tmp_path: Path) -> None:
    record, _ = read_term(
        tmp_path,
        'name: heart\\: left ventricle {source="x"} ! comment',
        "alt_id: DOID:9",
        'xref: SNOMEDCT_US_2016_03_01:87878005 {source="a"} ! heart',
        'xref: url:http\\://en.wikipedia.org/wiki/Heart "page"',
        "xref: UMLS_CUI:C0018827",
        'is_a: DOID:2 {source="x"} ! chamber',
        "relationship: part_of UBERON:0000948 ! heart",
        "relationship: BFO:0000050 UBERON:0000949 ! system",
        "relationship: has_symptom SYMP:0000001 ! pain",
        'relationship: part_of UBERON:0000955 {gci_filler="NCBITaxon:8782"} ! brain',
        "property_value: skos:exactMatch MESH:D006352",
        "intersection_of: DOID:7 ! not read: there is an is_a",
    )
    assert record.label == "heart: left ventricle"
    assert record.type == "disease"
    assert record.names == [name("heart: left ventricle", "name")]
    assert record.parents == ["DOID:2"]
    assert record.wholes == ["UBERON:0000948", "UBERON:0000949"]
    assert record.xrefs == ["DOID:9", "SNOMEDCT:87878005", "UMLS:C0018827", "MESH:D006352"]


def test_the_genus_is_the_parent_if_there_is_no_other(tmp_path: Path) -> None:
    record, _ = read_term(
        tmp_path,
        "intersection_of: DOID:7 ! genus",
        "intersection_of: part_of UBERON:1 ! differentia",
    )
    assert record.parents == ["DOID:7"]


def test_only_equivalent_references_of_mondo_count(tmp_path: Path) -> None:
    record, source = read_term(
        tmp_path,
        'xref: MESH:D001 {source="MONDO:equivalentTo", source="DOID:1"}',
        'xref: MESH:D002 {source="MONDO:relatedTo"}',
        'xref: MESH:D003 {source="DOID:1"}',
    )
    assert record.xrefs == ["MESH:D001", "MESH:D003"]
    assert source.skipped == {"references to what is not the same": 1}


def test_other_stanzas_are_left_out(tmp_path: Path) -> None:
    text = (
        HEADER
        + "[Typedef]\nid: part_of\nname: part of\n\n[Instance]\nid: DOID:8\nname: x\n\n"
        + "[Term]\nid: DOID:3\nname: gone\nis_obsolete: true\nis_a: DOID:4\n\n"
        + '[Term]\nid: DOID:5\nname: kept\nsynonym: "no more" EXACT obsolete_synonym []\n'
    )
    records, source = read(tmp_path / "x.obo", text)
    assert [record.id for record in records] == ["DOID:5"]
    assert records[0].names == [name("kept", "name")]
    assert source.skipped == {"obsolete terms": 1, "synonyms that the source has discarded": 1}


def test_only_bad_lines_are_left_out(tmp_path: Path) -> None:
    text = HEADER + (
        "[Term]\nid: DOID:1\nname: one\nsynonym: flu EXACT []\nname: uno\nthis line is no tag\n\n"
        "[Term]\nname: without an id\n\n[Term]\nid: DOID:2\nname: two\nis_a: DOID:1\n"
    )
    records, source = read(tmp_path / "x.obo", text)
    assert [(record.id, record.label) for record in records] == [("DOID:1", "one"), ("DOID:2", "two")]
    assert source.problems.places == {
        "a line without a tag and value": ["x.obo line 9"],
        "a synonym that cannot be read": ["x.obo line 7"],
        "a second label in English": ["x.obo line 8"],
        "a term without an id": ["x.obo line 11"],
    }


def test_cycles_and_repeated_ids_are_kept(tmp_path: Path) -> None:
    text = HEADER + "[Term]\nid: DOID:1\nis_a: DOID:2\n\n[Term]\nid: DOID:2\nis_a: DOID:1\n\n[Term]\nid: DOID:1\n"
    records, _ = read(tmp_path / "x.obo", text)
    assert [(record.id, record.parents) for record in records] == [
        ("DOID:1", ["DOID:2"]),
        ("DOID:2", ["DOID:1"]),
        ("DOID:1", []),
    ]


TAGS = ("id", "name", "synonym", "xref", "is_a", "relationship", "intersection_of", "alt_id", "property_value")


@given(st.sampled_from(TAGS), st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"])))
def test_no_line_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, tag: str, value: str) -> None:
    path = tmp_path_factory.mktemp("obo") / "x.obo"
    records, _ = read(path, HEADER + f"[Term]\nid: DOID:1\n{tag}: {value}\n\n[Term]\nid: DOID:2\nname: two\n")
    assert records[-1].label == "two"


SPECIAL = st.text(st.sampled_from('"\\[]{}!=:, aEXACT'), max_size=40)


@given(SPECIAL)
def test_no_quoting_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, value: str) -> None:
    path = tmp_path_factory.mktemp("obo") / "x.obo"
    records, source = read(path, HEADER + f'[Term]\nid: DOID:1\nname: one\nsynonym: "{value}" EXACT []\n')
    (record,) = records
    assert record.label == "one"
    # The synonym is there, or a problem is reported, or it is "one" again.
    assert len(record.names) == 2 or source.problems.counts or " ".join(value.split()) == "one"


@pytest.mark.skipif(not DOID_2016.exists(), reason="needs ../shared/terminology")
def test_disease_ontology_of_2016_is_read_whole() -> None:
    # fastobo and pronto refuse this file. Counted in it with grep: 9,344 [Term], 2,373 "is_obsolete: true".
    records, source = read(DOID_2016)
    assert len(records) == 9344 - 2373
    assert not source.problems.counts
    found = {record.id: record for record in records}
    angiosarcoma = found["DOID:0001816"]
    assert angiosarcoma.names == [name("angiosarcoma", "name"), name("hemangiosarcoma")]
    assert angiosarcoma.parents == ["DOID:1115"]
    assert angiosarcoma.xrefs[:3] == ["DOID:267", "DOID:4508", "MESH:D006394"]
    # grep -c '^is_a': every one belongs to a living term.
    assert sum(len(record.parents) for record in records) == 8155


def test_compressed(tmp_path: Path) -> None:
    (tmp_path / "x.obo.gz").write_bytes(gzip.compress((HEADER + "[Term]\nid: DOID:1\nname: one\n").encode()))
    records, _ = read(tmp_path / "x.obo.gz")
    assert [record.label for record in records] == ["one"]
