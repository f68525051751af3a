import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.index.ngram_index import NgramIndex
from imapeval.graph.linking.linker import Linker
from imapeval.graph.linking.series import find_in_series, is_series_code
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph

# As Mondo names them: IMD80 is a synonym there that this graph lacks.
NAMES = {
    "x:79": ["immunodeficiency 79", "IMD79"],
    "x:80": ["immunodeficiency 80 with or without congenital cardiomyopathy", "MCM10 deficiency"],
    "x:81": ["immunodeficiency 81", "IMD81"],
    "x:82": ["immunodeficiency 82 with systemic inflammation"],
    "y:80": ["autosomal dominant deafness 80", "DFNA80"],
    "y:81": ["autosomal dominant deafness 81"],
    "z:1": ["asthma"],
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    names = [
        (concept, Name(text, "en", "synonym" if place else "name", "test"))
        for concept, own in NAMES.items()
        for place, text in enumerate(own)
    ]
    write_graph(folder / "graph.sqlite", [Concept(c, own[0], "disease", ()) for c, own in NAMES.items()], names)
    with Graph.open(folder) as graph:
        yield graph, NgramIndex.build(graph), NameIndex.build(graph, open_encoder(), folder / "names.faiss")


def find(parts, norm):
    graph, grams, _ = parts
    rows, nearness = find_in_series(graph, grams, norm, grams.search(norm, 10)[0].tolist())
    found = zip(graph.names_at(rows.tolist()), nearness.tolist(), strict=True)
    return {name.concept: near for name, near in found}


def test_a_code_is_expanded_like_others_of_its_series(parts):
    found = find(parts, "imd80")
    assert found.keys() == {"x:80", "y:80"}  # no other immunodeficiency
    assert 2 * found["y:80"] < found["x:80"] < 1  # the deafness has but the number of it
    assert find(parts, "imd82").keys() == {"x:82"}
    found = find(parts, "dfna81")
    assert found["y:81"] == pytest.approx(1.0, abs=1e-5)
    assert 2 * found["x:81"] < found["y:81"]


@pytest.mark.parametrize("norm", ["imd99", "abc80", "asthma", "immunodeficiency 80", ""])
def test_other_texts_are_not_expanded(parts, norm):
    assert find(parts, norm) == {}


def test_search_and_links_find_the_code(parts):
    graph, grams, index = parts
    linker = Linker(graph, index.encoder, index, grams)
    best = linker.search("DFNA81", lang="en")[0]
    assert best.concept == "y:81"
    assert best.evidence["series"] == pytest.approx(1.0, abs=1e-5)
    [links, none] = linker.link_many(["DFNA81", "DFNA99"], lang="en")
    assert [(link.concept, link.how) for link in links] == [("y:81", "index")]
    assert none == ()


@pytest.mark.parametrize(
    ("norm", "expected"),
    [("imd80", True), ("lgmd2w", True), ("h1n1", False), ("type 2", False), ("asthma", False), ("80", False)],
)
def test_code(norm, expected):
    assert is_series_code(norm) is expected
