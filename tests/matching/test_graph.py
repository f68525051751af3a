import pytest

from imapeval.graph.model import Concept, Link, Name
from imapeval.graph.store import Graph
from imapeval.graph.writer import write_graph
from imapeval.matching.graph import MAX_STEPS, relate_links
from imapeval.types import Relation

CHAIN = [Concept(f"c:{n}", f"step {n}", "disease", (f"c:{n + 1}",) if n < 9 else ()) for n in range(10)]
CONCEPTS = [
    *CHAIN,
    Concept("d:analgesic", "analgesic", "drug", ()),
    Concept("d:nsaid", "NSAID", "drug", ("d:analgesic",)),
    Concept("d:ibuprofen", "ibuprofen", "drug", ("d:nsaid",)),
    Concept("d:aspirin", "aspirin", "drug", ("d:nsaid",)),
    Concept("x:root", "disease", "disease", ()),
    Concept("x:asthma", "asthma", "disease", ("x:root",)),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "graph.sqlite"
    # Enough other concepts that only the one given is general.
    others = [Concept(f"f:{n}", f"filler {n}", "factor", ()) for n in range(400)]
    names = [(concept.id, Name(concept.label, "en", "name", "test")) for concept in CONCEPTS]
    write_graph(path, [*CONCEPTS, *others], names, general=["x:root"])
    with Graph.open(path) as graph:
        yield graph


def links(*pairs):
    return tuple(Link(concept, concept, how, 1.0) for concept, how in pairs)


def relation(graph, a, b):
    found = relate_links(graph, links(*a), links(*b))
    return found and found[0]


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        (("d:ibuprofen", "exact"), ("d:ibuprofen", "core"), Relation.EXACT),
        (("d:ibuprofen", "exact"), ("d:nsaid", "exact"), Relation.BELONGING),
        (("d:ibuprofen", "exact"), ("d:analgesic", "treatment"), Relation.BELONGING),
        (("d:nsaid", "exact"), ("d:ibuprofen", "index"), Relation.CONTAINMENT),
        (("d:ibuprofen", "exact"), ("d:aspirin", "exact"), None),  # siblings
        (("d:ibuprofen", "kind"), ("d:ibuprofen", "exact"), Relation.BELONGING),
        (("d:ibuprofen", "exact"), ("d:ibuprofen", "kind"), Relation.CONTAINMENT),
        (("d:ibuprofen", "kind"), ("d:ibuprofen", "kind"), None),  # two kinds of one thing need not be the same
        (("d:ibuprofen", "kind"), ("d:nsaid", "exact"), Relation.BELONGING),
        (("d:nsaid", "kind"), ("d:ibuprofen", "exact"), None),  # ibuprofen may be another kind
        (("d:ibuprofen", "exact"), ("d:nsaid", "kind"), None),
        (("x:asthma", "exact"), ("x:root", "exact"), None),  # "disease" says nothing
        (("x:asthma", "kind"), ("x:root", "exact"), None),
        (("x:root", "kind"), ("x:root", "exact"), None),
        (("x:root", "exact"), ("x:root", "exact"), Relation.EXACT),
    ],
)
def test_relation_of_two_links(graph, reference, response, expected):
    assert relation(graph, [reference], [response]) == expected


def test_far_ancestors_do_not_count(graph):
    assert relation(graph, [("c:0", "exact")], [(f"c:{MAX_STEPS}", "exact")]) == Relation.BELONGING
    assert relation(graph, [("c:0", "exact")], [(f"c:{MAX_STEPS + 1}", "exact")]) is None
    assert relation(graph, [("c:0", "kind")], [(f"c:{MAX_STEPS}", "exact")]) is None


def test_best_relation_over_all_links_counts(graph):
    several = [("x:asthma", "exact"), ("d:nsaid", "exact"), ("d:ibuprofen", "exact")]
    assert relation(graph, [("d:ibuprofen", "exact")], several) == Relation.EXACT
    assert relation(graph, [("d:ibuprofen", "exact")], several[:2]) == Relation.BELONGING


def test_no_links_give_nothing(graph):
    assert relate_links(graph, (), links(("d:nsaid", "exact"))) is None
    assert relate_links(graph, links(("d:nsaid", "exact")), ()) is None


def test_evidence_names_concepts_and_the_path_in_words(graph):
    reference = (Link("d:ibuprofen", "ibuprofen", "kind", 0.6, ("d:aspirin", 0.5)),)
    found = relate_links(graph, reference, links(("d:analgesic", "treatment")))
    assert found is not None
    assert found[1] == {
        "reference": {
            "concept": "d:ibuprofen",
            "label": "ibuprofen",
            "name": "ibuprofen",
            "how": "kind",
            "score": 0.6,
            "runner_up": ["d:aspirin", 0.5],
        },
        "response": {
            "concept": "d:analgesic",
            "label": "analgesic",
            "name": "d:analgesic",
            "how": "treatment",
            "score": 1.0,
        },
        "path": ["a kind of ibuprofen", "ibuprofen", "NSAID", "analgesic"],
    }
