import gzip
from pathlib import Path

import pytest

from imapeval.errors import InputError
from imapeval.graph.build.merging import combine_by_id, merge
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.kgx import FORMAT

NODES = (
    "id\tcategory\tname\tsynonym\txref\tnarrow_synonym\tdeprecated\n"
    "MESH:D003924\tbiolink:NamedThing|biolink:Disease\tDiabetes Mellitus, Type 2\tNIDDM|T2DM\tUMLS:C0011860\tMODY\t\n"
    'UNII:1\tbiolink:ChemicalEntity\t4"-epi "quoted"\t\t\t\tFalse\n'
    "HP:0000819\t\tDiabetes mellitus\t\tSNOMEDCT_US:73211009|PMID:1\t\t\n"
    "HP:0000001\t\tgone\t\t\t\tTrue\n"
)
EDGES = (
    "subject\tpredicate\tobject\n"
    "MESH:D003924\tbiolink:subclass_of\tMESH:D003920\n"
    "UBERON:0002084\tbiolink:part_of\tUBERON:0000948\n"
    "MESH:D003924\tbiolink:exact_match\tDOID:9352\n"
    "MESH:D003924\tbiolink:related_to\tHP:0000819\n"
    "nothing\tbiolink:subclass_of\tMESH:D003920\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small_nodes.tsv").write_text(NODES, encoding="utf-8")
    (tmp_path / "small_edges.tsv.gz").write_bytes(gzip.compress(EDGES.encode()))
    return tmp_path


def read(path: Path) -> tuple[list[Record], Source]:
    source = Source(path, "small")
    return list(FORMAT.read(source)), source


def test_nodes(folder: Path) -> None:
    diabetes, chemical, hpo, *_ = read(folder / "small_nodes.tsv")[0]
    assert diabetes == Record(
        "MESH:D003924",
        "small",
        label="Diabetes Mellitus, Type 2",
        type="disease",
        names=[
            Name("Diabetes Mellitus, Type 2", "en", "name", "small"),
            Name("NIDDM", "en", "synonym", "small"),
            Name("T2DM", "en", "synonym", "small"),
            Name("MODY", "en", "synonym", "small", "narrow"),
        ],
        xrefs=["UMLS:C0011860"],
    )
    # KGX does not quote, and a chemical need not be a drug.
    assert (chemical.label, chemical.type) == ('4"-epi "quoted"', None)
    # Without a category the prefix gives the type; an article is not a concept.
    assert (hpo.type, hpo.xrefs) == ("symptom", ["SNOMEDCT:73211009"])


def test_edges(folder: Path) -> None:
    records, source = read(folder / "small_edges.tsv.gz")
    assert [record for record in records if not record.names] == [
        Record("MESH:D003924", "small", parents=["MESH:D003920"]),
        Record("UBERON:0002084", "small", wholes=["UBERON:0000948"]),
        Record("MESH:D003924", "small", xrefs=["DOID:9352"]),
    ]
    assert source.skipped == {"obsolete terms": 1, "edges biolink:related_to": 1}
    assert source.problems.places == {
        "an edge whose subject or object is not a CURIE": ["small_edges.tsv.gz line 6"],
    }


@pytest.mark.parametrize("name", ["small_nodes.tsv", "small_edges.tsv.gz", "small", "."])
def test_a_pair_is_found_by_file_prefix_or_folder(folder: Path, name: str) -> None:
    assert [record.id for record in read(folder / name)[0]] == [
        "MESH:D003924",
        "UNII:1",
        "HP:0000819",
        "MESH:D003924",
        "UBERON:0002084",
        "MESH:D003924",
    ]


def test_a_file_of_nodes_alone_is_read(folder: Path) -> None:
    (folder / "small_edges.tsv.gz").unlink()
    assert len(read(folder / "small")[0]) == 3


def test_two_pairs_in_a_folder_are_rejected(folder: Path) -> None:
    (folder / "other_nodes.tsv").write_text(NODES, encoding="utf-8")
    with pytest.raises(InputError, match="X_nodes"):
        read(folder)
    assert len(read(folder / "small")[0]) == 6


def test_a_missing_table_is_not_replaced_by_the_other(folder: Path) -> None:
    (folder / "small_nodes.tsv").unlink()
    assert not FORMAT.recognise(folder / "small_nodes.tsv", b"")
    with pytest.raises(InputError, match="X_nodes"):
        read(folder / "small_nodes.tsv")


@pytest.mark.parametrize("names", [("X_NODES.tsv", "X_EDGES.tsv"), ("knowledges_nodes.tsv", "knowledges_edges.tsv")])
def test_nodes_are_read_first(tmp_path: Path, names: tuple[str, str]) -> None:
    for name, content in zip(names, (NODES, EDGES), strict=True):
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert read(tmp_path)[0][0].names


def test_names_have_their_language_and_blanks_are_none(tmp_path: Path) -> None:
    rows = "id\tcategory\tname\tsynonym\nX:1\t\t糖尿病\tdiabetes|消渴\nX:2\t\t  \t | \n"
    (tmp_path / "x_nodes.tsv").write_text(rows, encoding="utf-8")
    first, second = read(tmp_path / "x_nodes.tsv")[0]
    assert (first.label, [(name.text, name.lang, name.kind) for name in first.names]) == (
        "糖尿病",
        [("糖尿病", "zh", "name"), ("diabetes", "en", "synonym"), ("消渴", "zh", "synonym")],
    )
    assert (second.label, second.names) == ("", [])


def test_a_chinese_name_is_a_label(tmp_path: Path) -> None:
    # In the graph it precedes a narrower synonym in English, and it is evidence of identity.
    rows = "id\tcategory\tname\tnarrow_synonym\tsynonym\n{0}:1\tbiolink:Disease\t糖尿病\t{1}\t{2}\n"
    (tmp_path / "x_nodes.tsv").write_text(rows.format("X", "T2DM", ""), encoding="utf-8")
    (tmp_path / "y_nodes.tsv").write_text(rows.format("Y", "", "diabetes"), encoding="utf-8")
    sources = {name: combine_by_id(read(tmp_path / f"{name}_nodes.tsv")[0]) for name in ("x", "y")}
    (concept,) = merge(sources).concepts
    assert (concept.id, concept.label, concept.aliases) == ("X:1", "糖尿病", ("Y:1",))
