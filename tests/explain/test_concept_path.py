"""The concepts of two values and the way between them."""

import pytest

from imapeval.explain.evidence import find_concept_path
from imapeval.types import Match, Relation

IBUPROFEN = {"concept": "CHEBI:5855", "label": "ibuprofen", "zh": "布洛芬"}
NSAID = {"concept": "MESH:D000894", "label": "nonsteroidal anti-inflammatory drug", "zh": "非甾体抗炎药"}
ASPIRIN = {"concept": "CHEBI:15365", "label": "aspirin"}


def match(relation, evidence):
    return Match("medicine", "a", "b", relation, 0.5, "graph", evidence)


def test_path_runs_from_the_reference_to_the_response():
    evidence = {"path": [IBUPROFEN, NSAID], "steps": ["is a"]}
    up = [*IBUPROFEN.values(), "reference", "is a kind of"], [*NSAID.values(), "response", ""]
    down = [*NSAID.values(), "reference", "has the kind"], [*IBUPROFEN.values(), "response", ""]
    assert find_concept_path(match(Relation.BELONGING, evidence)) == list(up)
    assert find_concept_path(match(Relation.CONTAINMENT, evidence)) == list(down)


def test_one_concept_belongs_to_both():
    shown = find_concept_path(match(Relation.EXACT, {"path": [ASPIRIN], "steps": []}))
    assert shown == [["CHEBI:15365", "aspirin", "", "reference response", ""]]


def test_siblings_meet_in_what_is_above_both():
    evidence = {"reference": IBUPROFEN, "response": ASPIRIN, "under": NSAID, "reason": "siblings"}
    shown = find_concept_path(match(Relation.UNMATCHED, evidence))
    assert [(step[1], step[3], step[4]) for step in shown] == [
        ("ibuprofen", "reference", "is a kind of"),
        ("nonsteroidal anti-inflammatory drug", "", "has the kind"),
        ("aspirin", "response", ""),
    ]


@pytest.mark.parametrize("evidence", [{}, {"why": "nobody"}, {"reference": IBUPROFEN, "reason": "no link"}])
def test_nothing_to_draw_where_nothing_links_the_two(evidence):
    assert find_concept_path(match(Relation.UNMATCHED, evidence)) == []


@pytest.mark.parametrize("relation", [Relation.CONTRADICTION, Relation.UNMATCHED])
def test_where_polarity_decided_the_path_still_runs_from_the_reference(relation):
    path = {"path": [IBUPROFEN, NSAID], "steps": ["is a"]}
    up = find_concept_path(match(relation, {"reference": IBUPROFEN, "response": NSAID, **path}))
    down = find_concept_path(match(relation, {"reference": NSAID, "response": IBUPROFEN, **path}))
    assert [(step[1], step[4]) for step in up] == [
        ("ibuprofen", "is a kind of"),
        ("nonsteroidal anti-inflammatory drug", ""),
    ]
    assert [(step[1], step[4]) for step in down] == [
        ("nonsteroidal anti-inflammatory drug", "has the kind"),
        ("ibuprofen", ""),
    ]


@pytest.mark.parametrize(
    "evidence",
    [
        {"path": [{"concept": "x"}], "steps": []},
        {"path": [IBUPROFEN, NSAID], "steps": []},
        {"path": [IBUPROFEN, NSAID], "steps": ["was a"]},
        {"path": [IBUPROFEN, 3], "steps": ["is a"]},
        {"path": [{"concept": "x", "label": {"en": "x"}}], "steps": []},
        {"path": [IBUPROFEN], "steps": [[]], "reference": 5},
        {"reference": 1, "response": None, "reason": "siblings", "under": []},
    ],
    ids=str,
)
def test_evidence_that_nobody_can_read_shows_no_way(evidence):
    for relation in Relation:
        assert find_concept_path(match(relation, evidence)) in (
            [],
            [["CHEBI:5855", "ibuprofen", "布洛芬", "reference response", ""]],
        )
