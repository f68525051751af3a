from pathlib import Path

import pytest

from imapeval import _optional
from imapeval.errors import InputError, MissingExtraError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.owl import FORMAT

ONTOLOGY = """<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [<!ENTITY obo "http://purl.obolibrary.org/obo/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oio="http://www.geneontology.org/formats/oboInOwl#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#">
{}
</rdf:RDF>
"""

HEART = """
<owl:ObjectProperty rdf:about="&obo;BFO_0000050"><rdfs:label>part of</rdfs:label></owl:ObjectProperty>
<owl:Class rdf:about="&obo;UBERON_0002084">
  <rdfs:subClassOf rdf:resource="&obo;UBERON_0004151"/>
  <rdfs:subClassOf><owl:Restriction>
    <owl:onProperty rdf:resource="&obo;BFO_0000050"/><owl:someValuesFrom rdf:resource="&obo;UBERON_0000948"/>
  </owl:Restriction></rdfs:subClassOf>
  <rdfs:subClassOf><owl:Restriction>
    <owl:onProperty rdf:resource="&obo;RO_0002202"/><owl:someValuesFrom rdf:resource="&obo;UBERON_0000001"/>
  </owl:Restriction></rdfs:subClassOf>
  <rdfs:label xml:lang="zh-CN">左心室</rdfs:label>
  <rdfs:label xml:lang="de">linke Herzkammer</rdfs:label>
  <rdfs:label xml:lang="en">left ventricle</rdfs:label>
  <oio:hasExactSynonym>LV</oio:hasExactSynonym>
  <oio:hasBroadSynonym>ventricle</oio:hasBroadSynonym>
  <oio:hasDbXref>FMA:7101</oio:hasDbXref>
  <oio:hasDbXref>MESH:D006352</oio:hasDbXref>
  <oio:hasAlternativeId>UBERON:0000009</oio:hasAlternativeId>
  <skos:exactMatch rdf:resource="http://snomed.info/id/87878005"/>
</owl:Class>
<owl:Axiom>
  <owl:annotatedSource rdf:resource="&obo;UBERON_0002084"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasExactSynonym"/>
  <owl:annotatedTarget>LV</owl:annotatedTarget>
  <oio:hasSynonymType rdf:resource="&obo;OMO_0003000"/>
</owl:Axiom>
<owl:Axiom>
  <owl:annotatedSource rdf:resource="&obo;UBERON_0002084"/>
  <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#hasDbXref"/>
  <owl:annotatedTarget>MESH:D006352</owl:annotatedTarget>
  <oio:source>MONDO:relatedTo</oio:source>
</owl:Axiom>
<owl:Class rdf:about="&obo;UBERON_1"><owl:deprecated>true</owl:deprecated><rdfs:label>gone</rdfs:label></owl:Class>
<owl:Class rdf:about="http://example.org/x"><rdfs:label>elsewhere</rdfs:label></owl:Class>
"""


def read(path: Path, content: str) -> tuple[list[Record], Source]:
    path.write_text(content, encoding="utf-8")
    source = Source(path, "x")
    return list(FORMAT.read(source)), source


@pytest.fixture
def extra() -> None:
    pytest.importorskip("pyoxigraph", reason="needs the extra 'owl'")


@pytest.mark.usefixtures("extra")
def test_a_complete_class(tmp_path: Path) -> None:
    records, source = read(tmp_path / "x.owl", ONTOLOGY.format(HEART))
    assert records == [
        Record(
            "UBERON:0002084",
            "x",
            label="left ventricle",
            type="body_part",
            names=[
                Name("left ventricle", "en", "name", "x"),
                Name("左心室", "zh", "name", "x"),
                Name("LV", "en", "abbreviation", "x"),
                Name("ventricle", "en", "synonym", "x", "broad"),
            ],
            parents=["UBERON:0004151"],
            wholes=["UBERON:0000948"],
            xrefs=["FMA:7101", "UBERON:0000009", "SNOMEDCT:87878005"],
        )
    ]
    assert source.skipped == {
        "names in other languages": 1,
        "references to what is not the same": 1,
        "obsolete terms": 1,
    }
    assert source.problems.places == {
        "an id that is neither a CURIE nor an IRI of a known ontology": ["x.owl http://example.org/x"]
    }


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    "content",
    [
        ONTOLOGY.format(HEART)[:-400],
        ONTOLOGY.format(""),
        "Prefix(:=<http://x.org/>)\nOntology(<http://x.org/>)",
    ],
)
def test_broken_and_other_files_are_rejected(tmp_path: Path, content: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x.owl", content)
    assert caught.value.path == tmp_path / "x.owl"


@pytest.mark.usefixtures("extra")
def test_a_name_that_is_too_long_has_its_place(tmp_path: Path) -> None:
    body = f'<owl:Class rdf:about="&obo;UBERON_2"><rdfs:label>{"x" * 100_000}</rdfs:label></owl:Class>'
    records, source = read(tmp_path / "x.owl", ONTOLOGY.format(body))
    assert records == [Record("UBERON:2", "x", type="body_part")]
    (places,) = source.problems.places.values()
    assert places == ["x.owl http://purl.obolibrary.org/obo/UBERON_2"]


def test_a_missing_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_optional, "installed", lambda distribution: False)
    with pytest.raises(MissingExtraError, match=r"imapeval\[owl\]"):
        read(tmp_path / "x.owl", ONTOLOGY.format(HEART))


def test_nested_entities_are_rejected(tmp_path: Path) -> None:
    # Nine lines like these made the parser ask for a gigabyte and end the whole process.
    path = tmp_path / "x.owl"
    path.write_text(ONTOLOGY.format(HEART).replace("]>", ' <!ENTITY a "&obo;&obo;">]>', 1), encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.owl.*'a'"):
        list(FORMAT.read(Source(path, "x")))


@pytest.mark.usefixtures("extra")
def test_all_axioms_about_one_statement_count(tmp_path: Path) -> None:
    # HEART has an axiom for the type of LV and one for the source of MESH:D006352.
    later = "".join(
        f"""<owl:Axiom><owl:annotatedSource rdf:resource="&obo;UBERON_0002084"/>
        <owl:annotatedProperty rdf:resource="http://www.geneontology.org/formats/oboInOwl#{name}"/>
        <owl:annotatedTarget>{value}</owl:annotatedTarget><oio:hasDbXref>X:1</oio:hasDbXref></owl:Axiom>"""
        for name, value in (("hasExactSynonym", "LV"), ("hasDbXref", "MESH:D006352"))
    )
    expected = read(tmp_path / "x.owl", ONTOLOGY.format(HEART))[0]
    assert read(tmp_path / "x.owl", ONTOLOGY.format(HEART + later))[0] == expected
