"""Pairs of values whose relation a textbook gives: what the shipped graph, index and encoder make of them.

`known_wrong` says what comes out today where that is not what should. A row that has become right must lose its
mark, so that the table stays true.
"""

import csv
from pathlib import Path

import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index import NameIndex
from imapeval.graph.store import Graph
from imapeval.matching.matcher import relate
from imapeval.matching.order import ValueMatcher
from imapeval.types import Relation

TABLE = Path(__file__).with_name("relation_pairs.tsv")
with TABLE.open(encoding="utf-8", newline="") as lines:
    ROWS = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def matcher():
    encoder = open_encoder()
    with Graph.open() as graph:
        yield ValueMatcher(graph=graph, encoder=encoder, index=NameIndex.provide(graph, encoder))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['reference']}/{row['response']}")
async def test_relation_is_the_expected_one(matcher, row):
    match = await relate(matcher, row["reference"], row["response"], lang=row["lang"])
    today = row["known_wrong"] or row["expected"]
    assert match.relation == today, (row["reason"], match.decided_by, dict(match.evidence))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['reference']}/{row['response']}")
async def test_relation_turns_round_with_the_pair(matcher, row):
    turned = {Relation.BELONGING: Relation.CONTAINMENT, Relation.CONTAINMENT: Relation.BELONGING}
    today = Relation(row["known_wrong"] or row["expected"])
    match = await relate(matcher, row["response"], row["reference"], lang=row["lang"])
    assert match.relation == turned.get(today, today), dict(match.evidence)


def test_table_is_large_and_balanced_and_mostly_right():
    assert len(ROWS) >= 60
    assert sum(row["lang"] == "zh" for row in ROWS) * 2 >= len(ROWS)
    assert {row["expected"] for row in ROWS} == {str(relation) for relation in Relation}
    assert all(row["reason"] for row in ROWS)
    assert all(row["known_wrong"] in ("", *Relation) and row["known_wrong"] != row["expected"] for row in ROWS)
    assert sum(bool(row["known_wrong"]) for row in ROWS) * 10 <= len(ROWS)
