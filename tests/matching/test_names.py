"""Names of one thing are made the same before wordings are compared."""

import pytest

from imapeval.graph.store.graph import Graph
from imapeval.matching.names import NameRelater
from imapeval.text.comparison.wordings import CONTRADICTIONS
from imapeval.types import Relation


@pytest.fixture(scope="module")
def relater():
    with Graph.open() as graph:
        yield NameRelater(graph)


@pytest.mark.parametrize(
    ("reference", "response", "lang", "relation"),
    [
        ("Lasix in the morning", "furosemide in the morning", "en", Relation.EXACT),
        ("Lasix in the morning", "furosemide at night", "en", Relation.CONTRADICTION),
        ("metformin can be continued", "please discontinue Glucophage", "en", Relation.CONTRADICTION),
        ("stop NSAIDs before the operation", "stop ibuprofen before the operation", "en", Relation.CONTAINMENT),
        ("avoid ibuprofen", "NSAIDs may be taken", "en", None),
        ("乙型肝炎表面抗原", "乙型肝炎病毒表面抗原（HBsAg）", "zh", Relation.EXACT),
        ("aspirin", "fever", "en", None),
        ("knee", "knee", "en", None),
    ],
)
def test_relations_in_both_directions(relater, reference, response, lang, relation):
    names = relater.find_names([reference, response], lang)
    ours, theirs = names[reference], names[response]
    decision = relater.relate(reference, response, ours, theirs)
    back = relater.relate(response, reference, theirs, ours)
    assert (decision and decision[0]) == relation
    inverse = {Relation.CONTAINMENT: Relation.BELONGING, Relation.BELONGING: Relation.CONTAINMENT}
    assert (back and back[0]) == (inverse.get(relation, relation) if relation else None)


@pytest.mark.parametrize(
    ("reference", "response", "relation", "path"),
    [
        ("Lasix for leg edema", "furosemide for edema", Relation.BELONGING, 2),
        ("furosemide for edema", "Lasix for leg edema", Relation.CONTAINMENT, 2),
        ("Lasix in the morning", "furosemide at night", Relation.CONTRADICTION, 1),
    ],
)
def test_the_evidence_is_that_of_names_within_the_values_that_give_the_relation(
    relater, reference, response, relation, path
):
    names = relater.find_names([reference, response], "en")
    found, evidence = relater.relate(reference, response, names[reference], names[response])
    assert (found, len(evidence["path"])) == (relation, path)
    assert (evidence["reference"]["how"], evidence["response"]["how"]) == ("mention", "mention")
    assert evidence["reference"]["name"] in reference


@pytest.mark.parametrize(
    ("reference", "response", "lang", "contradicts"),
    [
        ("insulin lowers blood glucose", "glucagon raises blood glucose", "en", False),
        ("肿瘤未侵犯血管", "肿瘤侵犯胸膜", "zh", False),
        # Antonyms and kinds of one thing are no different things.
        ("constipation", "diarrhoea", "en", True),
        ("hyperthyroidism", "hypothyroidism", "en", True),
        ("benign tumour of the liver", "malignant tumour of the liver", "en", True),
        ("the tumour invades the pleura", "the tumour does not invade the pleura", "en", True),
    ],
)
def test_what_is_said_of_different_things_does_not_contradict(relater, reference, response, lang, contradicts):
    pairs = [(reference, response), (response, reference)]
    verdicts = relater.compare(pairs, lang)
    assert {verdict in CONTRADICTIONS for verdict in verdicts.values()} == {contradicts}
