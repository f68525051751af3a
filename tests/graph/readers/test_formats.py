import gzip
from pathlib import Path

import pytest

from imapeval.errors import InputError, UsageError
from imapeval.graph.readers.formats import FORMATS, find_format, open_source, read_head

OBO = "format-version: 1.2\nontology: mondo/imports/hp.owl\n\n[Term]\nid: HP:0001945\nname: Fever\n"
GRAPHS = '{"graphs": [{"id": "http://purl.obolibrary.org/obo/symp.owl", "nodes": [], "edges": []}]}'
OWL = (
    '<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:owl="http://www.w3.org/2002/07/owl#">\n'
    '<owl:Ontology rdf:about="http://purl.obolibrary.org/obo/symp.owl"/>\n</rdf:RDF>'
)
NODES = "id\tcategory\tname\nMESH:D005334\tbiolink:PhenotypicFeature\tFever\n"
EDGES = "subject\tpredicate\tobject\nMESH:D005334\tbiolink:subclass_of\tMESH:D001832\n"
BABELON = (
    "source_language\ttranslation_language\tsubject_id\tpredicate_id\ttranslation_value\nen\tzh\tHP:1\trdfs:label\tx\n"
)

# (file, content, format, name of the source).
WELL_FORMED = [
    ("a.obo", OBO, "obo", "hp"),
    ("download.txt", OBO, "obo", "hp"),
    ("a.json", GRAPHS, "obographs", "symp"),
    ("a.owl", OWL, "owl", "symp"),
    ("a.rdf", OWL, "owl", "symp"),
    ("Mesh_nodes.tsv", NODES, "kgx", "mesh"),
    ("mesh_edges.tsv", EDGES, "kgx", "mesh"),
    ("other.tsv", NODES, "kgx", "other"),
    ("HP-zh.babelon.tsv", BABELON, "babelon", "hp-zh"),
    ("names.csv", "id,name\nMESH:D005334,Fever\n", "table", "names"),
    ("names.tsv", "lang\tname\tconcept\ttype\tkind\tparent\n", "table", "names"),
    ("isa.csv", "child;parent\na;b\n", "table", "isa"),
]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("file", "content", "name", "key"), WELL_FORMED)
def test_exactly_one_format_recognises_a_file(
    tmp_path: Path, file: str, content: str, name: str, key: str, packed: bool
) -> None:
    data = content.encode()
    path = tmp_path / (f"{file}.gz" if packed else file)
    path.write_bytes(gzip.compress(data) if packed else data)
    assert [known.name for known in FORMATS if known.recognise(path, read_head(path))] == [name]
    assert find_format(path).name == name
    known, source = open_source(str(path))
    assert (known.name, source.name, source.path) == (name, key, path)


@pytest.mark.parametrize(
    ("iri", "key"),
    [
        ("http://www.ebi.ac.uk/efo/efo.owl", "efo"),
        ("https://www.orphadata.com/data/ontologies/ordo/last_version/ORDO_en_4.5.owl", "ordo_en_4.5"),
    ],
)
def test_a_source_has_the_last_part_of_the_iri_of_its_ontology(tmp_path: Path, iri: str, key: str) -> None:
    obo, owl = tmp_path / "a.obo", tmp_path / "a.owl"
    obo.write_text(OBO.replace("mondo/imports/hp.owl", iri), encoding="utf-8")
    owl.write_text(OWL.replace(' rdf:about="http://purl.obolibrary.org/obo/symp.owl', f'\n  rdf:about="{iri}'))
    assert [open_source(str(path))[1].name for path in (obo, owl)] == [key, key]


@pytest.mark.parametrize(("form", "key"), [("umls", "umls"), ("rxnorm", "rxnorm"), ("rf2", "snomedct")])
def test_a_format_of_one_ontology_names_the_source(tmp_path: Path, form: str, key: str) -> None:
    # The folder of a release of UMLS is called META, and that of RxNorm rrf.
    (tmp_path / "META").mkdir()
    assert open_source(f"{form}:{tmp_path / 'META'}")[1].name == key


def test_the_format_before_a_colon_is_used(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("id,name\n", encoding="utf-8")
    known, source = open_source(f"obo:{path}")
    assert (known.name, source.path) == ("obo", path)


def test_colons_in_paths_are_not_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("obo:mine.obo", "C:mine.obo", "data:2026.obo"):
        Path(name).write_text(OBO, encoding="utf-8")
        known, source = open_source(name)
        assert (known.name, source.path) == ("obo", Path(name))
    # A drive letter is not a format.
    with pytest.raises(InputError, match="doid"):
        open_source("C:\\data\\doid.obo")
    assert open_source("obo:C:mine.obo")[1].path == Path("C:mine.obo")


def test_unknown_format_lists_all() -> None:
    with pytest.raises(UsageError, match="'obi'") as error:
        open_source("obi:doid.obo")
    assert all(f"\n  {known.name}: {known.title}" in str(error.value) for known in FORMATS)


def test_an_unrecognised_file_is_rejected_with_the_formats(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n", encoding="utf-8")
    for path in (tmp_path / "a.csv", tmp_path):
        with pytest.raises(InputError, match=path.name) as error:
            open_source(str(path))
        assert all(f"\n  {known.name}: " in str(error.value) for known in FORMATS)


def test_web_addresses_and_absent_files() -> None:
    with pytest.raises(UsageError, match=r"http://purl\.obolibrary\.org"):
        open_source("http://purl.obolibrary.org/obo/doid.obo")
    with pytest.raises(InputError, match=r"nowhere\.obo"):
        open_source("nowhere.obo")


def test_names_of_formats_are_unique() -> None:
    assert len({known.name for known in FORMATS}) == len(FORMATS)
    # One letter before a colon is a drive.
    assert all(len(known.name) > 1 for known in FORMATS)


def test_unreadable_paths_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="xxx"):
        open_source("x" * 5000)
    for name in ("umls", "rf2", "mesh", "obo", "kgx"):
        with pytest.raises(InputError, match="nowhere"):
            open_source(f"{name}:{tmp_path / 'nowhere'}")
