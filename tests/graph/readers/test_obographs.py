import json
from pathlib import Path
from typing import Any

import pytest

from imapeval.errors import InputError
from imapeval.graph.model import Name
from imapeval.graph.readers.base import Record, Source
from imapeval.graph.readers.obographs import FORMAT

SHARED = Path(__file__).parents[4] / "shared" / "terminology"
IRI = "http://purl.obolibrary.org/obo/"
OIO = "http://www.geneontology.org/formats/oboInOwl#"


def read(path: Path, nodes: list[Any] | None = None, edges: list[Any] | None = None) -> tuple[list[Record], Source]:
    if nodes is not None:
        path.write_text(json.dumps({"graphs": [{"nodes": nodes, "edges": edges or []}]}), encoding="utf-8")
    source = Source(path, "x")
    return list(FORMAT.read(source)), source


def test_a_complete_node(tmp_path: Path) -> None:
    meta = {
        "synonyms": [
            {"pred": "hasExactSynonym", "val": "COPD", "synonymType": IRI + "OMO_0003000"},
            {"pred": "hasRelatedSynonym", "val": "smoker's lung", "synonymType": IRI + "hp#layperson"},
            {"pred": "hasNarrowSynonym", "val": "chronic bronchitis"},
        ],
        "xrefs": [{"val": "UMLS_CUI:C0024117"}, {"val": "url:http://x.org"}],
        "basicPropertyValues": [
            {"pred": OIO + "hasAlternativeId", "val": "DOID:9"},
            {"pred": "http://www.w3.org/2004/02/skos/core#exactMatch", "val": "http://identifiers.org/mesh/D029424"},
        ],
    }
    (record,), source = read(
        tmp_path / "x.json",
        [{"id": IRI + "DOID_3083", "type": "CLASS", "lbl": "chronic obstructive pulmonary disease", "meta": meta}],
        [
            {"sub": IRI + "DOID_3083", "pred": "is_a", "obj": IRI + "DOID_850"},
            {"sub": IRI + "DOID_3083", "pred": IRI + "BFO_0000050", "obj": IRI + "UBERON_0002048"},
            {"sub": IRI + "DOID_3083", "pred": IRI + "RO_0002200", "obj": IRI + "HP_0006510"},
        ],
    )
    assert record == Record(
        "DOID:3083",
        "x",
        label="chronic obstructive pulmonary disease",
        type="disease",
        names=[
            Name("chronic obstructive pulmonary disease", "en", "name", "x"),
            Name("COPD", "en", "abbreviation", "x"),
            Name("smoker's lung", "en", "lay", "x", "related"),
            Name("chronic bronchitis", "en", "synonym", "x", "narrow"),
        ],
        parents=["DOID:850"],
        wholes=["UBERON:0002048"],
        xrefs=["UMLS:C0024117", "DOID:9", "MESH:D029424"],
    )
    assert not source.problems.counts


def test_only_current_classes_are_read(tmp_path: Path) -> None:
    records, source = read(
        tmp_path / "x.json",
        [
            {"id": IRI + "BFO_0000050", "type": "PROPERTY", "lbl": "part of"},
            {"id": IRI + "DOID_1", "type": "CLASS", "lbl": "gone", "meta": {"deprecated": True}},
            {"id": "http://example.org/x", "type": "CLASS", "lbl": "elsewhere"},
            {"type": "CLASS"},
            "node",
            {"id": IRI + "DOID_2", "type": "CLASS", "lbl": "x" * 100_000, "meta": {"synonyms": ["s"]}},
        ],
        [{"sub": IRI + "DOID_1", "pred": "is_a", "obj": IRI + "DOID_2"}, {"sub": 1}],
    )
    assert records == [Record("DOID:2", "x", type="disease")]
    assert source.skipped == {"obsolete terms": 1, "relations of terms that are obsolete or not classes": 1}
    assert source.problems.places == {
        "an id that is neither a CURIE nor an IRI of a known ontology": ["x.json 'http://example.org/x'"],
        "a node without an id": ["x.json node 4", "x.json node 5"],
        "a name of more than 1,000 characters": [f"x.json {IRI}DOID_2"],
        "a synonym without pred and val": [f"x.json {IRI}DOID_2"],
        "an edge without sub, pred and obj": ["x.json edge 2"],
    }


@pytest.mark.parametrize(
    ("content", "line", "value"),
    [
        ('{"graphs": [\n{"nodes": [}', 2, None),
        ('{"graph": []}', None, "'graphs'"),
        ('{"graphs": []}', None, "'graphs'"),
        ('{"graphs": [{"nodes": {}}]}', None, "'nodes'"),
        ("[" * 200_000, None, None),
    ],
)
def test_broken_files_are_rejected(tmp_path: Path, content: str, line: int | None, value: str | None) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=value) as caught:
        read(tmp_path / "x.json")
    assert (caught.value.path, caught.value.line) == (tmp_path / "x.json", line)


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/terminology")
def test_disease_ontology_of_2018() -> None:
    records, source = read(SHARED / "doid-2018-07-05.obographs.json.gz")
    # Of its main graph, counted with jq: 11,305 nodes of type CLASS, 2,399 of them deprecated.
    assert len(records) == 11305 - 2399
    assert source.skipped["imported graphs"] == 12
    assert not source.problems.counts


@pytest.mark.parametrize(
    ("relation", "is_part"),
    [
        (IRI + "BFO_0000050", True),
        (IRI + "doid#part_of", True),
        ("part_of", True),
        ("BFO:0000050", True),
        (IRI + "uberon/core#produced_by_part_of", False),
        (IRI + "BFO_0000051", False),
    ],
)
def test_spellings_of_part_of(tmp_path: Path, relation: str, is_part: bool) -> None:
    nodes = [{"id": f"{IRI}UBERON_{number}", "type": "CLASS", "lbl": "x"} for number in (1, 2)]
    (part, _), _ = read(tmp_path / "x.json", nodes, [{"sub": nodes[0]["id"], "pred": relation, "obj": nodes[1]["id"]}])
    assert part.wholes == (["UBERON:2"] if is_part else [])
