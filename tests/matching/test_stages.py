"""A stage is a kind of its disease, and no other stage of it: by the shipped graph."""

import pytest

from imapeval.evaluation.pipeline import open_matcher
from imapeval.graph.store.graph import Graph
from imapeval.matching.protocol import relate_values
from imapeval.types import Relation


@pytest.fixture(scope="module")
def matcher():
    with Graph.open() as graph:
        yield open_matcher(graph)


@pytest.mark.parametrize(
    ("staged", "disease", "lang"),
    [
        ("慢性肾脏病4期", "慢性肾脏病", "zh"),
        ("4期慢性肾脏病", "慢性肾脏病", "zh"),
        ("肺癌Ⅲ期", "肺癌", "zh"),
        ("高血压病2级", "高血压", "zh"),
        ("烧伤二度", "烧伤", "zh"),
        ("脑梗死恢复期", "脑梗死", "zh"),
        ("chronic kidney disease stage 4", "chronic kidney disease", "en"),
        ("stage 4 CKD", "chronic kidney disease", "en"),
    ],
)
async def test_a_stage_is_a_kind_of_its_disease(matcher, staged, disease, lang):
    there = await relate_values(matcher, staged, disease, lang=lang)
    back = await relate_values(matcher, disease, staged, lang=lang)
    assert (there.relation, there.decided_by) == (Relation.BELONGING, "graph")
    assert (back.relation, back.decided_by) == (Relation.CONTAINMENT, "graph")


@pytest.mark.parametrize(
    ("one", "other", "lang"),
    [
        ("慢性肾脏病4期", "慢性肾脏病3期", "zh"),
        ("肺癌Ⅲ期", "肺癌IV期", "zh"),
        ("高血压3级", "2级高血压", "zh"),
        ("晚期肺癌", "肺癌早期", "zh"),
        ("stage 4 CKD", "stage III CKD", "en"),
    ],
)
async def test_another_stage_contradicts(matcher, one, other, lang):
    match = await relate_values(matcher, one, other, lang=lang)
    assert (match.relation, match.decided_by) == (Relation.CONTRADICTION, "text")


@pytest.mark.parametrize(
    ("one", "other"), [("肺癌III-IV期", "肺癌IV期"), ("肺癌中晚期", "肺癌晚期"), ("肺癌IIIA期", "肺癌III期")]
)
async def test_stages_that_overlap_do_not_contradict(matcher, one, other):
    match = await relate_values(matcher, one, other, lang="zh")
    assert match.relation is not Relation.EXACT
    assert match.relation is not Relation.CONTRADICTION
