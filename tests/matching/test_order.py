import numpy as np
import pytest

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index import NameIndex
from imapeval.graph.linker import Linker
from imapeval.graph.model import Concept, Name
from imapeval.graph.store import Graph
from imapeval.graph.writer import write_graph
from imapeval.matching.order import ValueMatcher
from imapeval.types import Imap, KnownRelation, Pair, Relation

CONCEPTS = (
    Concept("d:fever", "fever", "symptom", ()),
    Concept("d:high", "high fever", "symptom", ("d:fever",)),
    Concept("m:aspirin", "aspirin", "drug", ()),
)


@pytest.fixture(scope="module")
def matcher(tmp_path_factory):
    folder = tmp_path_factory.mktemp("graph")
    names = [(c.id, Name(c.label, "en", "name", "test")) for c in CONCEPTS]
    write_graph(folder / "graph.sqlite", CONCEPTS, names)
    encoder = open_encoder()
    with Graph.open(folder) as graph:
        yield ValueMatcher(graph=graph, encoder=encoder, index=NameIndex.build(graph, encoder, folder / "names.faiss"))


def make_imap(reference, response, relations=None):
    return Imap(
        (), (), tuple(Pair("t", v) for v in reference), tuple(Pair("t", v) for v in response), relations=relations
    )


@pytest.mark.parametrize(
    ("reference", "response", "relation", "decided_by"),
    [
        ("Fevers", "fever", Relation.EXACT, "text"),
        ("no fever", "fever", Relation.UNMATCHED, "text"),
        ("aspirin 100 mg", "aspirin 75 mg", Relation.UNMATCHED, "text"),
        ("high fever", "fever", Relation.BELONGING, "graph"),
        ("fever", "high fever", Relation.CONTAINMENT, "graph"),
        ("severe dizziness", "dizziness", Relation.BELONGING, "text"),
        ("fever", "aspirin", Relation.UNMATCHED, "encoder"),
    ],
)
async def test_first_who_knows_decides(matcher, reference, response, relation, decided_by):
    ((match,),) = await matcher.match([make_imap([reference], [response])], langs=["en"])
    assert (match.relation, match.decided_by) == (relation, decided_by)


async def test_recorded_relations_come_before_all_others_and_what_is_not_recorded_is_unmatched(matcher):
    known = (KnownRelation("t", "fever", "aspirin", Relation.EXACT),)
    (matches,) = await matcher.match([make_imap(["fever"], ["aspirin", "fever"], known)], langs=["en"])
    assert [(m.relation, m.decided_by, m.evidence) for m in matches] == [
        (Relation.EXACT, "recorded", {}),
        (Relation.UNMATCHED, "recorded", {}),
    ]
    assert matches[1].similarity == 1  # the soft credit stays


async def test_contradiction_earns_no_soft_credit_and_a_stranger_little(matcher):
    (matches,) = await matcher.match([make_imap(["fever"], ["no fever", "aspirin", "high fever"])], langs=["en"])
    denied, other, kind = (match.similarity for match in matches)
    assert denied == 0
    assert 0 <= other < 0.5 < kind < 1


async def test_similarity_does_not_depend_on_what_else_is_in_the_batch(matcher):
    wanted = make_imap(["headache in the morning"], ["matutinal cephalalgia"])
    ((alone,),) = await matcher.match([wanted], langs=["en"])
    others = [make_imap([f"value {n}"], [f"other {n}", "fever"]) for n in range(40)]
    together = await matcher.match([*others, wanted], langs=["en"] * 41)
    assert together[-1] == (alone,)
    assert np.isclose(alone.similarity, round(alone.similarity, 4), atol=1e-12)


async def test_only_what_can_matter_is_linked_and_encoded(matcher, monkeypatch):
    linked, encoded = [], []
    link_many, encode = Linker.link_many, type(matcher.encoder).encode
    monkeypatch.setattr(
        Linker, "link_many", lambda self, values, **o: linked.extend(values) or link_many(self, values, **o)
    )
    monkeypatch.setattr(
        type(matcher.encoder), "encode", lambda self, texts: encoded.extend(texts) or encode(self, texts)
    )
    imap = Imap(
        (),
        (),
        (Pair("t", "fever"), Pair("t", "no aspirin"), Pair("mine", "cough")),
        (Pair("t", "high fever"), Pair("t", "aspirin"), Pair("yours", "rash")),
    )
    (matches,) = await matcher.match([imap], langs=["en"])
    assert len(matches) == 4
    assert set(linked) == {"fever", "high fever", "aspirin", "no aspirin"}
    assert not {"cough", "rash"} & set(encoded)
    linked.clear()
    await matcher.match([make_imap(["aspirin"], ["no aspirin"])], langs=["en"])
    assert linked == []  # the wording decides


async def test_imaps_and_languages_must_be_as_many(matcher):
    with pytest.raises(ValueError, match="zip"):
        await matcher.match([make_imap(["fever"], ["fever"])], langs=[])


async def test_nothing_to_match_gives_nothing(matcher):
    assert await matcher.match([], langs=[]) == []
    assert await matcher.match([make_imap([], ["fever"]), make_imap(["fever"], [])], langs=["en", "en"]) == [(), ()]
