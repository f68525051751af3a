"""Parts and wholes on a real ontology: Uberon, as Mondo imports it. Expected relations are textbook anatomy."""

from pathlib import Path

import pytest

from imapeval.graph.build.builder import build_graph
from imapeval.graph.model import Link
from imapeval.graph.readers.formats import open_source
from imapeval.graph.store.graph import Graph
from imapeval.matching.graph import relate_links

UBERON = Path(__file__).parents[3] / "shared" / "terminology" / "uberon_import_mondo.obo"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not UBERON.exists(), reason=f"needs {UBERON}"),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    build_graph([open_source(str(UBERON))], folder)
    with Graph.open(folder) as graph:
        yield graph


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("heart left ventricle", "heart"),
        ("mitral valve", "heart"),
        ("retina", "eye"),
        ("renal glomerulus", "kidney"),
        ("alveolus of lung", "lung"),
        ("hippocampal formation", "brain"),
        ("cerebellum", "brain"),
        ("duodenum", "small intestine"),
        ("ileum", "digestive tract"),
        ("lumbar vertebra", "vertebral column"),
    ],
)
def test_part_belongs_to_its_whole_by_parts_and_kinds(graph, part, whole):
    reference, response = ([Link(i, name, "exact", 1.0) for i in graph.lookup(name)] for name in (part, whole))
    found = relate_links(graph, reference, response)
    assert found is not None
    assert found[0] == "belonging"
    assert "part of" in found[1]["steps"]
    inverse = relate_links(graph, response, reference)
    assert inverse is not None
    assert inverse[0] == "containment"


@pytest.mark.parametrize(("one", "other"), [("heart", "lung"), ("kidney", "liver"), ("retina", "cornea")])
def test_neighbours_are_unrelated(graph, one, other):
    links = ([Link(i, name, "exact", 1.0) for i in graph.lookup(name)] for name in (one, other))
    assert relate_links(graph, *links) is None
