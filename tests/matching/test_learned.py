"""What the small model decides, by given probabilities; and by its own, on pairs that it was not trained on."""

from dataclasses import replace

import numpy as np
import pytest

from imapeval.evaluation.imap_files import ImapRecord, dump_record, parse_record
from imapeval.evaluation.pipeline import open_matcher
from imapeval.fact_model import RELATIONS
from imapeval.graph.store.graph import Graph
from imapeval.matching.learned import decide_relations
from imapeval.matching.protocol import relate_values
from imapeval.metrics.imapscore import compute_credit
from imapeval.types import Match, Relation

EXACT, CONTAINMENT, UNMATCHED, CONTRADICTION = (
    Relation.EXACT,
    Relation.CONTAINMENT,
    Relation.UNMATCHED,
    Relation.CONTRADICTION,
)


def make_matches(rows, columns, decided=()):
    """Return undecided matches of so many facts, with those relations that wording has decided, by place."""
    known = dict(decided)
    return [
        Match("t", f"reference {row}", f"response {column}", known.get((row, column), UNMATCHED), 0.3, decider)
        for row in range(rows)
        for column in range(columns)
        for decider in ["text" if (row, column) in known else "encoder"]
    ]


def make_probabilities(rows, columns, sure=(), relation=CONTRADICTION, probability=0.8):
    """Return probabilities by which the pairs at some places have a relation, and all others are unmatched."""
    found = np.zeros((rows, columns, len(RELATIONS)))
    found[..., 0] = 1
    for place in sure:
        found[place] = 0
        found[place][RELATIONS.index(relation.value)] = probability
        found[place][0] = 1 - probability
    return found


def find_contradictions(matches):
    return {(match.reference, match.response) for match in matches if match.relation is CONTRADICTION}


@pytest.mark.parametrize("relation", [EXACT, CONTAINMENT, Relation.BELONGING, CONTRADICTION])
def test_of_two_facts_that_stand_alone_it_decides_any_relation(relation):
    (match,) = decide_relations(make_matches(1, 1), make_probabilities(1, 1, [(0, 0)], relation))
    assert (match.relation, match.decided_by) == (relation, "fact-model")
    assert "0.80" in match.evidence["why"]


def test_it_decides_nothing_that_it_holds_to_be_unlikely_or_unmatched():
    matches = make_matches(1, 1)
    unsure = np.array([[[0.21, 0.59, 0.0, 0.2, 0.0]]])
    assert decide_relations(matches, unsure) == matches
    (match,) = decide_relations(matches, unsure + np.array([0, 0.02, 0, -0.02, 0]))
    assert match.relation is EXACT
    assert decide_relations(matches, make_probabilities(1, 1)) == matches


def test_it_overrules_nothing():
    matches = make_matches(1, 1, {(0, 0): EXACT}.items())
    assert decide_relations(matches, make_probabilities(1, 1, [(0, 0)])) == matches
    siblings = [replace(match, evidence={"reason": "siblings"}) for match in make_matches(1, 1)]
    assert decide_relations(siblings, make_probabilities(1, 1, [(0, 0)], EXACT)) == siblings


def relate_singly(reference, response, relation):
    """Return the relation of two single facts of which the model is sure that they have this relation."""
    match = Match("t", reference, response, UNMATCHED, 0.3, "encoder")
    places = [] if relation is UNMATCHED else [(0, 0)]
    (found,) = decide_relations([match], make_probabilities(1, 1, places, relation))
    return found.relation


@pytest.mark.parametrize(
    ("reference", "response"),
    [
        ("vision test yearly in diabetics", "eye check-up once every ten years is enough with diabetes"),
        ("lumbar puncture headache: lying flat helps", "the headache after a spinal tap eases on standing up"),
        ("thin bones are a problem of men in their twenties", "osteoporosis: women after menopause"),
        ("补叶酸可预防神经管畸形", "补叶酸会引起神经管畸形"),
        ("类风湿晨僵超过1小时", "患者早上手指发僵一般几分钟就活动开了"),
        # "Dual" is no fraction of an amount.
        ("双抗至少12个月", "双联抗血小板1个月就够"),
    ],
)
def test_related_facts_that_name_other_amounts_or_sides_contradict(reference, response):
    assert relate_singly(reference, response, EXACT) is CONTRADICTION


@pytest.mark.parametrize(
    ("reference", "response"),
    [
        ("half of a 20 mg tablet", "10 mg"),
        ("plaster: keep dry", "the cast must not get wet"),
        ("usually clears up by itself", "self-limiting in most cases"),
        ("boys are affected more often than girls", "girls get it less frequently than boys"),
        ("consult your physician before changing the dose", "only adjust the amount after talking to your doctor"),
        ("预后良好", "恢复前景好"),
        ("叶酸预防神经管畸形", "缺乏叶酸会导致神经管畸形"),
        ("the vaccine prevents cervical cancer", "it protects against the virus that causes cervical cancer"),
        ("not dangerous to fly with asthma", "safe to fly with asthma"),
        ("two puffs of a double dose", "four puffs"),
    ],
)
def test_related_facts_stay_related(reference, response):
    assert relate_singly(reference, response, EXACT) is EXACT


@pytest.mark.parametrize(
    ("reference", "response", "related", "relation"),
    [
        ("6-8 weeks", "the cast comes off after ten days", 0.11, CONTRADICTION),
        ("6-8 weeks", "the cast comes off after ten days", 0.09, UNMATCHED),
        ("6-8 weeks", "the cast comes off", 0.11, UNMATCHED),
        ("INR 2-3", "aim for INR 3.5-4.5", 0.0, CONTRADICTION),
        ("fever for 3 days", "cough for 10 days", 0.29, UNMATCHED),
    ],
)
def test_amounts_that_stand_alone_are_about_the_same_thing(reference, response, related, relation):
    match = Match("t", reference, response, UNMATCHED, 0.3, "encoder")
    assert decide_relations([match], np.array([[[1 - related, related, 0, 0, 0]]]))[0].relation is relation


def test_an_amount_that_stands_alone_says_all_of_the_same_amount():
    match = Match("t", "every six months", "check-ups twice a year", UNMATCHED, 0.3, "encoder")
    unsure = np.array([[[0.65, 0.05, 0.0, 0.0, 0.3]]])
    assert decide_relations([match], unsure)[0].relation is EXACT
    assert decide_relations([match], unsure + np.array([0.1, 0, 0, 0, -0.1])) == [match]
    under_another_term = replace(match, other_term="test")
    assert decide_relations([under_another_term], unsure) == [under_another_term]
    under_a_condition = replace(match, response="check-ups twice a year if the pain persists")
    assert decide_relations([under_a_condition], unsure) == [under_a_condition]


def test_possibly_related_facts_that_name_other_sides_contradict():
    match = Match("t", "treat it with insulin in the morning", "nightly injections help", UNMATCHED, 0.3, "encoder")
    unsure = np.array([[[0.69, 0.1, 0.1, 0.1, 0.01]]])
    assert decide_relations([match], unsure)[0].relation is CONTRADICTION
    assert decide_relations([match], unsure + np.array([0.02, -0.02, 0, 0, 0])) == [match]


def test_siblings_contradict_each_other_if_they_differ_in_one_word():
    siblings = [
        Match("t", *values, UNMATCHED, 0.3, "encoder", {"reason": "siblings"})
        for values in (("weight gain", "patients lose weight"), ("high white cell count", "low platelets"))
    ]
    found = [decide_relations([match], make_probabilities(1, 1, [(0, 0)])) for match in siblings]
    assert [match.relation for (match,) in found] == [CONTRADICTION, UNMATCHED]


@pytest.mark.parametrize("relation", [EXACT, CONTAINMENT])
def test_names_that_differ_by_a_code_do_not_agree(relation):
    assert relate_singly("L4-L5 disc herniation", "L5-S1 disc herniation", relation) is UNMATCHED
    assert relate_singly("HER2 positive", "ERBB2 positive", relation) is relation


def test_names_that_differ_by_a_code_may_contradict():
    assert relate_singly("BRCA1 mutation", "BRCA2 mutation", CONTRADICTION) is CONTRADICTION


@pytest.mark.parametrize(
    ("reference", "response", "relation"),
    [
        ("gout affects men more often than women", "women get gout less often than men", UNMATCHED),
        ("antibiotics before surgery", "surgery follows after antibiotics", UNMATCHED),
        ("slows the pulse", "speeds up the heart rate", CONTRADICTION),
    ],
)
def test_facts_that_differ_in_nothing_do_not_contradict(reference, response, relation):
    assert relate_singly(reference, response, CONTRADICTION) is relation


def test_in_longer_answers_it_decides_contradictions_only():
    matches = make_matches(3, 3)
    assert decide_relations(matches, make_probabilities(3, 3, [(0, 0), (1, 1), (2, 2)], EXACT)) == matches


@pytest.mark.parametrize(
    ("rows", "contradicted", "enough"),
    [
        (2, 1, False),  # one of two, and one is not several
        (2, 2, True),
        (3, 1, False),
        (5, 2, True),
        (6, 2, True),
        (7, 2, False),  # less than a third
        (7, 3, True),
        (9, 3, True),
        (10, 3, False),
    ],
)
def test_contradictions_must_be_several(rows, contradicted, enough):
    places = [(row, 0) for row in range(contradicted)]
    found = find_contradictions(decide_relations(make_matches(rows, 2), make_probabilities(rows, 2, places)))
    assert found == ({(f"reference {row}", "response 0") for row in range(contradicted)} if enough else set())


@pytest.mark.parametrize(
    ("rows", "probability", "enough"), [(2, 0.69, False), (2, 0.71, True), (1, 0.89, False), (1, 0.91, True)]
)
def test_contradictions_must_be_likely_and_a_single_one_nearly_certain(rows, probability, enough):
    places = [(row, 0) for row in range(rows)]
    probabilities = make_probabilities(rows, 2, places, probability=probability)
    assert bool(find_contradictions(decide_relations(make_matches(rows, 2), probabilities))) is enough


def test_contradictions_that_wording_or_graph_found_count():
    matches = make_matches(3, 3, {(0, 0): CONTRADICTION}.items())
    assert len(find_contradictions(decide_relations(matches, make_probabilities(3, 3, [(1, 1)])))) == 2


def test_what_the_response_has_in_common_with_the_reference_contradicts_nothing():
    matches = make_matches(3, 3, {(2, 0): CONTAINMENT}.items())
    found = decide_relations(matches, make_probabilities(3, 3, [(0, 0), (1, 1)]))
    # The other contradiction is then alone.
    assert find_contradictions(found) == set()


def test_a_response_that_says_a_thing_and_its_opposite_contradicts_it():
    matches = make_matches(3, 3, {(0, 2): EXACT}.items())
    found = decide_relations(matches, make_probabilities(3, 3, [(0, 0), (1, 1)]))
    assert find_contradictions(found) == {("reference 0", "response 0"), ("reference 1", "response 1")}


@pytest.fixture(scope="module")
def matcher():
    with Graph.open() as graph:
        yield open_matcher(graph)


@pytest.mark.parametrize(
    ("reference", "response", "lang", "relation"),
    [
        ("stop aspirin a week before the operation", "keep taking aspirin right up to surgery", "en", CONTRADICTION),
        ("the hearing loss is permanent", "hearing returns fully in time", "en", CONTRADICTION),
        ("slows the pulse", "speeds up the heart rate", "en", CONTRADICTION),
        ("usually clears up by itself", "self-limiting in most cases", "en", EXACT),
        ("hormone therapy", "low-dose estrogen patch", "en", CONTAINMENT),
        ("take with food", "causes headache", "en", UNMATCHED),
        ("整片吞服，不可嚼碎", "应嚼碎后咽下", "zh", CONTRADICTION),
        ("患儿应在家隔离", "患儿可以照常上幼儿园", "zh", CONTRADICTION),
        ("过敏", "尘螨过敏", "zh", CONTAINMENT),
    ],
)
async def test_what_wording_and_graph_leave_open(matcher, reference, response, lang, relation):
    match = await relate_values(matcher, reference, response, lang=lang)
    assert match.relation is relation
    assert match.decided_by == ("encoder" if relation is UNMATCHED else "fact-model")
    without = await relate_values(replace(matcher, facts=None), reference, response, lang=lang)
    assert (without.relation, without.decided_by) == (UNMATCHED, "encoder")
    mirrored = {CONTAINMENT: Relation.BELONGING}.get(relation, relation)
    assert (await relate_values(matcher, response, reference, lang=lang)).relation is mirrored


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("gastric ulcer", "duodenal ulcer"),
        ("HSV-1", "HSV-2"),
        ("chest X-ray", "chest CT"),
        ("renal artery", "renal vein"),
    ],
)
async def test_two_kinds_of_one_thing_stay_what_the_graph_knows_them_to_be(matcher, one, other):
    match = await relate_values(matcher, one, other, lang="en")
    assert (match.relation, match.decided_by) == (UNMATCHED, "encoder")


@pytest.mark.parametrize(
    ("reference", "response"),
    [
        (["imaging of the abdomen"], ["ultrasound of the liver"]),
        (["use a warm compress", "use a cold compress"], ["use a warm compress", "rest for weeks"]),
        (["stop aspirin before surgery", "stay at home"], ["keep taking aspirin until surgery", "go to work at once"]),
    ],
)
async def test_recorded_relations_give_the_same_matches_again(matcher, make_imap, reference, response):
    imap = make_imap(reference, response)
    (matches,) = await matcher.match([imap], langs=["en"])
    line = dump_record(ImapRecord("1", imap, matches))
    (again,) = await matcher.match([parse_record(line).imap], langs=["en"])
    assert [compute_credit(match) for match in again] == [compute_credit(match) for match in matches]
