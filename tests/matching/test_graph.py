import pytest

from imapeval.graph.model import Concept, Link, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph
from imapeval.matching.graph import MAX_PART_STEPS, MAX_STEPS, explain_unrelated, relate_links
from imapeval.matching.linked import LinkedValue, relate_linked
from imapeval.text.comparison.wordings import WordingVerdict
from imapeval.text.phrases import parse_phrase
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
    Concept("s:edema", "edema", "symptom", ()),
    Concept("x:lung-edema", "pulmonary edema", "disease", ("s:edema",)),
    Concept("s:crackles", "crackles", "symptom", ("x:lung-edema",)),
    Concept("d:water", "water pill", "drug", ("s:edema",)),
    Concept("o:thing", "thing", "other", ("d:nsaid",)),
    Concept("d:odd", "odd drug", "drug", ("o:thing", "d:analgesic")),
    Concept("b:body", "body", "body_part", ()),
    Concept("b:organ", "organ", "body_part", ("b:body",)),
    Concept("b:heart", "heart", "body_part", ("b:organ",), ("b:chest",)),
    Concept("b:chest", "chest", "body_part", ("b:body",), ("b:body",)),
    Concept("b:chamber", "heart chamber", "body_part", ("b:body",), ("b:heart",)),
    Concept("b:ventricle", "left ventricle", "body_part", ("b:chamber",), ("b:both",)),
    Concept("b:both", "both", "body_part", (), ()),
    Concept("b:side", "side", "body_part", ("b:both",), ("b:both",)),
    *(Concept(f"b:{n}", f"nest {n}", "body_part", (), (f"b:{n + 1}",) if n < 9 else ()) for n in range(10)),
    Concept("p:surgery", "surgery", "procedure", ()),
    Concept("t:scopy", "endoscopy", "test", ("p:surgery",)),
    Concept("p:special", "esophagoscopy", "procedure", ("t:scopy",)),
    Concept("f:habit", "habit", "factor", ()),
    Concept("l:habit", "way of life", "lifestyle", ("f:habit",)),
    Concept("p:therapy", "diet therapy", "procedure", ("l:habit",)),
    Concept("l:diet", "diet", "lifestyle", ("p:therapy",)),
    Concept("p:step", "step", "procedure", (), ("p:whole",)),
    Concept("p:whole", "whole", "procedure", ()),
]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "graph.sqlite"
    # Enough other concepts that only the one given is general.
    others = [Concept(f"f:{n}", f"filler {n}", "factor", ()) for n in range(400)]
    names = [(concept.id, Name(concept.label, "en", "name", "test")) for concept in CONCEPTS]
    names.append(("d:ibuprofen", Name("布洛芬", "zh", "name", "test")))
    write_graph(path, [*CONCEPTS, *others], names, general=["x:root", "b:body"])
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
        (("d:ibuprofen", "mention"), ("d:ibuprofen", "mention"), Relation.EXACT),
        (("d:ibuprofen", "mention"), ("d:nsaid", "mention"), Relation.BELONGING),
        (("x:asthma", "exact"), ("x:root", "exact"), None),  # "disease" says nothing
        (("x:asthma", "kind"), ("x:root", "exact"), None),
        (("x:root", "kind"), ("x:root", "exact"), None),
        (("x:root", "exact"), ("x:root", "exact"), Relation.EXACT),
    ],
)
def test_relation_of_two_links(graph, reference, response, expected):
    assert relation(graph, [reference], [response]) == expected


def test_distant_ancestors_do_not_count(graph):
    assert relation(graph, [("c:0", "exact")], [(f"c:{MAX_STEPS}", "exact")]) == Relation.BELONGING
    assert relation(graph, [("c:0", "exact")], [(f"c:{MAX_STEPS + 1}", "exact")]) is None
    assert relation(graph, [("c:0", "kind")], [(f"c:{MAX_STEPS}", "exact")]) is None


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        ("x:lung-edema", "s:edema", Relation.BELONGING),  # a disease may be a kind of a finding
        ("s:crackles", "x:lung-edema", Relation.BELONGING),  # and what one source calls a finding of a disorder
        ("s:crackles", "s:edema", Relation.BELONGING),
        ("t:scopy", "p:surgery", None),  # an examination is no treatment
        ("p:special", "t:scopy", Relation.BELONGING),
        ("p:special", "p:surgery", None),  # nor by way of one
        ("l:diet", "p:therapy", Relation.BELONGING),
        ("l:diet", "f:habit", Relation.BELONGING),
        ("p:therapy", "f:habit", None),  # every step may be, but the ends are no kin
        ("d:water", "s:edema", None),  # a drug is no kind of what it treats, whatever a source says
        ("d:odd", "d:analgesic", Relation.BELONGING),
        ("d:odd", "d:nsaid", Relation.BELONGING),  # what has no type is no obstacle
    ],
)
def test_paths_change_only_between_compatible_types(graph, reference, response, expected):
    assert relation(graph, [(reference, "exact")], [(response, "exact")]) == expected


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        ("b:chamber", "b:heart", Relation.BELONGING),
        ("b:heart", "b:chamber", Relation.CONTAINMENT),
        ("b:ventricle", "b:heart", Relation.BELONGING),  # a kind of a part is a part
        ("b:chamber", "b:organ", Relation.BELONGING),  # and a part of a kind is a part of what is above it
        ("b:chamber", "b:body", None),  # general
        ("b:0", f"b:{MAX_PART_STEPS}", Relation.BELONGING),
        ("b:0", f"b:{MAX_PART_STEPS + 1}", None),
        ("p:step", "p:whole", None),  # only body parts: part of a procedure is no kind of answer
    ],
)
def test_parts_of_the_body_belong_to_the_whole(graph, reference, response, expected):
    assert relation(graph, [(reference, "exact")], [(response, "exact")]) == expected


def test_paths_that_cross_types_are_of_low_confidence(graph):
    found = relate_links(graph, links(("x:lung-edema", "exact")), links(("s:edema", "exact")))
    assert found is not None
    assert found[1]["confidence"] == "low"


def test_steps_are_named(graph):
    found = relate_links(graph, links(("b:ventricle", "exact")), links(("b:heart", "exact")))
    assert found is not None
    assert [concept["label"] for concept in found[1]["path"]] == ["left ventricle", "heart chamber", "heart"]
    assert found[1]["steps"] == ["is a", "part of"]


def test_exact_concept_counts_before_a_path(graph):
    several = [("x:asthma", "exact"), ("d:nsaid", "exact"), ("d:ibuprofen", "exact")]
    assert relation(graph, [("d:ibuprofen", "exact")], several) == Relation.EXACT
    assert relation(graph, [("d:ibuprofen", "exact")], several[:2]) == Relation.BELONGING


@pytest.mark.parametrize(
    ("several", "path"),
    [
        ([("c:3", "exact"), ("c:1", "exact")], ["step 0", "step 1"]),  # fewer steps
        ([("b:both", "exact"), ("b:heart", "exact")], ["left ventricle", "both"]),  # part-of both, fewer steps
        ([("o:thing", "exact"), ("d:analgesic", "exact")], ["odd drug", "analgesic"]),  # the typed one
    ],
)
def test_conflicts_are_resolved_in_the_order_stated(graph, several, path):
    below = {"step 0": "c:0", "left ventricle": "b:ventricle", "odd drug": "d:odd"}[path[0]]
    for order in (several, several[::-1]):
        found = relate_links(graph, links((below, "exact")), links(*order))
        assert found is not None
        assert [concept["label"] for concept in found[1]["path"]] == path


def test_is_a_comes_before_part_of(graph):
    found = relate_links(graph, links(("b:side", "exact")), links(("b:both", "exact")))
    assert found is not None
    assert found[1]["steps"] == ["is a"]
    # Over two meanings as well, though the part-of path is shorter.
    below, above = [("b:ventricle", "exact"), ("c:0", "exact")], [("b:both", "exact"), ("c:2", "exact")]
    found = relate_links(graph, links(*below), links(*above))
    assert found is not None
    assert found[1]["steps"] == ["is a", "is a"]


def test_head_counts_after_names(graph):
    by_head = Link("d:ibuprofen", "ibuprofen", "kind", 0.5)
    by_name = Link("c:0", "step 0", "exact", 1.0)
    response = links(("d:nsaid", "exact"), ("c:3", "exact"))
    for order in ((by_head, by_name), (by_name, by_head)):
        found = relate_links(graph, order, response)
        assert found is not None
        assert found[1]["reference"]["concept"] == "c:0"


@pytest.mark.parametrize(
    ("how", "others", "confidence"),
    [
        ("exact", (), "high"),
        ("core", (), "high"),
        ("treatment", (), "high"),
        ("index", (), "low"),
        ("exact", ("x:asthma",), "high"),  # half of the meanings
        ("exact", ("x:asthma", "c:9"), "low"),  # a third of them
    ],
)
def test_guesses_and_rare_meanings_are_of_low_confidence(graph, how, others, confidence):
    meanings = links(("d:ibuprofen", how), *((other, "exact") for other in others))
    found = relate_links(graph, meanings, links(("d:nsaid", "exact")))
    assert found is not None
    assert found[1]["confidence"] == confidence


@pytest.mark.parametrize(
    ("score", "confidence"),
    [(0.5, "low"), (1.0, "high")],  # a head that was taken for the name; a narrower name that a source gives
)
def test_heads_are_guesses_and_narrower_names_are_not(graph, score, confidence):
    found = relate_links(graph, [Link("d:nsaid", "nsaid", "kind", score)], links(("d:nsaid", "exact")))
    assert found is not None
    assert (found[0], found[1]["confidence"]) == (Relation.BELONGING, confidence)


@pytest.mark.parametrize(
    ("reference", "response", "reason"),
    [
        (None, ("d:nsaid", "exact"), "no link"),
        (("d:nsaid", "exact"), None, "no link"),
        (("d:ibuprofen", "exact"), ("d:aspirin", "exact"), "siblings"),
        (("d:nsaid", "kind"), ("d:ibuprofen", "exact"), "two kinds"),
        (("d:nsaid", "kind"), ("d:nsaid", "kind"), "two kinds"),
        (("x:root", "kind"), ("x:root", "kind"), "two kinds"),
        (("x:root", "kind"), ("x:root", "exact"), "general"),  # one of which is no kind
        (("x:root", "exact"), ("x:root", "kind"), "general"),
        (("x:root", "exact"), ("x:asthma", "kind"), "general"),
        (("c:0", "kind"), (f"c:{MAX_STEPS}", "exact"), "far"),  # a kind is a step below
        ((f"c:{MAX_STEPS}", "exact"), ("c:0", "kind"), "far"),
        (("x:asthma", "exact"), ("x:root", "exact"), "general"),
        (("c:0", "exact"), (f"c:{MAX_STEPS + 1}", "exact"), "far"),
        (("d:water", "exact"), ("s:edema", "exact"), "types"),
        (("x:asthma", "exact"), ("d:aspirin", "exact"), "types"),
        (("x:asthma", "exact"), ("c:0", "exact"), "unrelated"),
    ],
)
def test_reasons_for_unrelated_values(graph, reference, response, reason):
    sides = {"reference": reference, "response": response}
    evidence = explain_unrelated(graph, *(links(side) if side else () for side in (reference, response)))
    assert evidence["reason"] == reason
    assert {side for side in sides if side in evidence} == {side for side, link in sides.items() if link}
    assert evidence.get("under", {}).get("label") == ("NSAID" if reason == "siblings" else None)


def test_no_links_give_nothing(graph):
    assert relate_links(graph, (), links(("d:nsaid", "exact"))) is None
    assert relate_links(graph, links(("d:nsaid", "exact")), ()) is None


def test_evidence_names_concepts_and_the_path(graph):
    reference = (Link("d:ibuprofen", "ibuprofen", "kind", 0.6, ("d:aspirin", 0.5)),)
    found = relate_links(graph, reference, links(("d:analgesic", "treatment")))
    assert found is not None
    assert found[1] == {
        "reference": {
            "concept": "d:ibuprofen",
            "label": "ibuprofen",
            "zh": "布洛芬",
            "type": "drug",
            "name": "ibuprofen",
            "how": "kind",
            "score": 0.6,
            "runner_up": ["d:aspirin", 0.5],
        },
        "response": {
            "concept": "d:analgesic",
            "label": "analgesic",
            "type": "drug",
            "name": "d:analgesic",
            "how": "treatment",
            "score": 1.0,
        },
        "path": [
            {"concept": "d:ibuprofen", "label": "ibuprofen", "zh": "布洛芬"},
            {"concept": "d:nsaid", "label": "NSAID"},
            {"concept": "d:analgesic", "label": "analgesic"},
        ],
        "steps": ["is a", "is a"],
        "confidence": "low",
    }


@pytest.mark.parametrize(
    ("values", "concepts", "why"),
    [
        (("avoid NSAIDs", "ibuprofen if feverish"), ("d:nsaid", "d:ibuprofen"), WordingVerdict.OPPOSITE),
        (
            ("ibuprofen 400 mg", "ibuprofen 200 mg if there is fever"),
            ("d:ibuprofen", "d:ibuprofen"),
            WordingVerdict.OTHER_AMOUNT,
        ),
    ],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_condition_is_not_the_reason_of_a_contradiction(graph, values, concepts, why, turn):
    phrases = map(parse_phrase, values)
    linked = [
        LinkedValue(links((concept, "name")), phrase.stance.denies, phrase)
        for concept, phrase in zip(concepts, phrases, strict=True)
    ]
    decision = relate_linked(graph, *linked[::turn])
    assert decision is not None
    assert (decision[0], decision[1]["why"]) == (Relation.CONTRADICTION, why.value)
