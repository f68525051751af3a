from dataclasses import replace

import numpy as np
import pytest

from imapeval.fact_model import open_fact_model
from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.linking.linker import Linker
from imapeval.graph.model import Concept, Name
from imapeval.graph.store.graph import Graph
from imapeval.graph.store.writer import write_graph
from imapeval.matching import hybrid
from imapeval.matching.hybrid import HybridMatcher
from imapeval.matching.learned import combine_agreement
from imapeval.text.comparison.similarity import measure_wording_similarity
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
        yield HybridMatcher(graph=graph, encoder=encoder, index=NameIndex.build(graph, encoder, folder / "names.faiss"))


@pytest.mark.parametrize(
    ("reference", "response", "relation", "decided_by"),
    [
        ("Fevers", "fever", Relation.EXACT, "text"),
        ("no fever", "fever", Relation.CONTRADICTION, "text"),
        ("aspirin 100 mg", "aspirin 75 mg", Relation.CONTRADICTION, "text"),
        ("aspirin 100 mg", "aspirin", Relation.BELONGING, "text"),
        ("aspirin", "aspirin 100 mg", Relation.CONTAINMENT, "text"),
        ("acute fever", "chronic fever", Relation.CONTRADICTION, "text"),
        # Who has no fever has no high fever; who has no high fever may have another.
        ("no fever", "high fever", Relation.CONTRADICTION, "text"),
        ("fever", "no high fever", Relation.UNMATCHED, "graph"),
        ("high fever", "fever", Relation.BELONGING, "graph"),
        ("fever", "high fever", Relation.CONTAINMENT, "graph"),
        # Under different conditions nothing follows, whatever the graph says.
        ("aspirin if the pain lasts", "Aspirin if the knee swells", Relation.UNMATCHED, "graph"),
        ("avoid aspirin if you bleed", "take aspirin if you have a cold", Relation.UNMATCHED, "graph"),
        ("high fever if it rains", "fever when it snows", Relation.UNMATCHED, "graph"),
        ("high fever above 39 °C if it rains", "fever", Relation.BELONGING, "graph"),
        ("high fever", "fever if it rains", Relation.UNMATCHED, "graph"),
        ("aspirin if the test is positive", "aspirin if the test is negative", Relation.UNMATCHED, "text"),
        ("severe dizziness", "dizziness", Relation.BELONGING, "text"),
        ("fever", "aspirin", Relation.UNMATCHED, "encoder"),
    ],
)
async def test_the_first_decider_that_knows_the_relation_decides(
    matcher, reference, response, relation, decided_by, make_imap
):
    ((match,),) = await matcher.match([make_imap([reference], [response])], langs=["en"])
    assert (match.relation, match.decided_by) == (relation, decided_by)


@pytest.mark.parametrize(
    ("reference", "response", "why"),
    [
        ("high fever for 3 days", "fever for 10 days", "the amounts differ"),
        ("high fever", "fever for 10 days", "neither says all that the other says"),
        ("aspirin if the pain lasts", "Aspirin if the knee swells", "they hold under different conditions"),
        # A denial has been the reason before the amounts are compared.
        ("fever for 3 days", "no high fever for 10 days", None),
    ],
)
async def test_why_values_with_a_path_are_unmatched(matcher, reference, response, why, make_imap):
    ((match,),) = await matcher.match([make_imap([reference], [response])], langs=["en"])
    assert (match.relation, match.decided_by, match.evidence.get("why")) == (Relation.UNMATCHED, "graph", why)


async def test_a_value_with_a_name_in_it_is_no_name(matcher, inner, make_imap):
    for used, reference, response, how in (
        (matcher, "high fever", "fever", ("exact", "exact")),
        (matcher, "High fever!", "fever if it rains", ("exact", "mention")),
        (matcher, "fever", "no high fever", ("exact", "mention")),
        (inner, "fractures of the finger", "fractures of the hand", ("mention", "mention")),
        (inner, "ibuprofen 200 mg", "do not take NSAIDs", ("mention", "mention")),
    ):
        ((match,),) = await used.match([make_imap([reference], [response])], langs=["en"])
        assert match.decided_by == "graph", reference
        assert (match.evidence["reference"]["how"], match.evidence["response"]["how"]) == how, reference


async def test_recorded_relations_take_precedence_and_all_others_are_unmatched(matcher, make_imap):
    known = (KnownRelation("advice", "fever", "aspirin", Relation.EXACT),)
    (matches,) = await matcher.match([make_imap(["fever"], ["aspirin", "fever"], relations=known)], langs=["en"])
    assert [(m.relation, m.decided_by, m.evidence) for m in matches] == [
        (Relation.EXACT, "recorded", {}),
        (Relation.UNMATCHED, "recorded", {}),
    ]
    assert matches[1].similarity == 1  # the soft credit stays


async def test_similarities_of_contradictions_and_unrelated_values(matcher, make_imap):
    (matches,) = await matcher.match([make_imap(["fever"], ["no fever", "aspirin", "high fever"])], langs=["en"])
    denied, other, kind = (match.similarity for match in matches)
    assert denied == 0
    assert 0 <= other < 0.5 < kind < 1
    # The same advice in the opposite case is no evidence.
    cases = make_imap(["aspirin if the test is positive"], ["aspirin if the test is negative"])
    (matches,) = await matcher.match([cases], langs=["en"])
    assert [match.similarity for match in matches] == [0]


async def test_what_the_reference_states_as_well_contradicts_none_of_its_facts(matcher, make_imap):
    both = ["go within 72 hours", "go within two weeks"]
    (matches,) = await matcher.match([make_imap(both, both)], langs=["en"])
    assert [match.relation for match in matches] == [
        Relation.EXACT,
        Relation.UNMATCHED,
        Relation.UNMATCHED,
        Relation.EXACT,
    ]
    # Neither of the two is evidence for the other.
    assert [match.similarity for match in matches] == [1, 0, 0, 1]
    # Another term makes it another fact.
    warfarin = Imap((), (), (Pair("drug", "warfarin"), Pair("advice", "stop warfarin")), (Pair("advice", "warfarin"),))
    (others,) = await matcher.match([warfarin], langs=["en"])
    assert [match.relation for match in others] == [Relation.EXACT, Relation.CONTRADICTION]
    # A response that states a fact and its opposite still contradicts it.
    (matches,) = await matcher.match([make_imap(both[:1], both)], langs=["en"])
    assert [match.relation for match in matches] == [Relation.EXACT, Relation.CONTRADICTION]


async def test_similarity_does_not_depend_on_the_rest_of_the_batch(matcher, make_imap):
    wanted = make_imap(["headache in the morning"], ["matutinal cephalalgia"])
    ((alone,),) = await matcher.match([wanted], langs=["en"])
    others = [make_imap([f"value {n}"], [f"other {n}", "fever"]) for n in range(40)]
    together = await matcher.match([*others, wanted], langs=["en"] * 41)
    assert together[-1] == (alone,)
    assert np.isclose(alone.similarity, round(alone.similarity, 4), atol=1e-12)


async def test_digits_that_are_open_come_from_the_values_alone(matcher, make_imap, monkeypatch):
    """With the error so large that each digit is open, a cosine is that of the two vectors computed alone."""
    monkeypatch.setattr(hybrid, "_COSINE_ERROR", 1.0)
    values = ["matutinal cephalalgia", "rest for two weeks", "chest pain", "take two tablets"]
    (pair,) = await matcher.match([make_imap(["headache in the morning"], values[:1])], langs=["en"])
    one, other = matcher.index.centre(matcher.encoder.encode_alone([pair[0].reference, values[0]]), "en")
    overlap = measure_wording_similarity(pair[0].reference, values[0]).overlap
    assert pair[0].similarity == round((float(one.astype(float) @ other.astype(float)) + overlap) / 2, 4)
    (together,) = await matcher.match([make_imap(["headache in the morning", "fever"], values)], langs=["en"])
    assert together[0] == pair[0]


async def test_each_fact_is_compared_with_each_also_under_another_term(matcher):
    imap = Imap(
        (),
        (),
        (Pair("symptom", "high fever"), Pair("drug", "aspirin")),
        (Pair("sign", "fever"), Pair("drug", "aspirin"), Pair("drug", "aspirin"), Pair("sign", "no aspirin")),
    )
    (matches,) = await matcher.match([imap], langs=["en"])
    assert [(m.term, m.reference, m.response_term, m.response, m.relation) for m in matches] == [
        ("symptom", "high fever", "sign", "fever", Relation.BELONGING),
        ("symptom", "high fever", "drug", "aspirin", Relation.UNMATCHED),
        ("symptom", "high fever", "sign", "no aspirin", Relation.UNMATCHED),
        ("drug", "aspirin", "sign", "fever", Relation.UNMATCHED),
        ("drug", "aspirin", "drug", "aspirin", Relation.EXACT),
        ("drug", "aspirin", "sign", "no aspirin", Relation.CONTRADICTION),
    ]
    assert [m.other_term for m in matches] == ["sign", "drug", "sign", "sign", "", "sign"]


async def test_a_recorded_relation_holds_between_its_terms_only(matcher):
    known = (KnownRelation("symptom", "fever", "aspirin", Relation.EXACT, "drug"),)
    response = (Pair("drug", "aspirin"), Pair("symptom", "aspirin"))
    imap = Imap((), (), (Pair("symptom", "fever"),), response, relations=known)
    (matches,) = await matcher.match([imap], langs=["en"])
    assert [(m.other_term, m.relation) for m in matches] == [("drug", Relation.EXACT), ("", Relation.UNMATCHED)]


async def test_the_question_is_not_used(matcher, make_imap):
    imap = make_imap(["high fever"], ["fever", "aspirin"])
    assert await matcher.match([imap], langs=["en"], questions=["Is it fever?"]) == await matcher.match(
        [imap], langs=["en"]
    )


async def test_only_values_not_decided_by_wording_are_linked(matcher, monkeypatch, make_imap):
    linked = []
    link_many = Linker.link_many
    monkeypatch.setattr(
        Linker, "link_many", lambda self, values, **o: linked.extend(values) or link_many(self, values, **o)
    )
    await matcher.match([make_imap(["aspirin"], ["no aspirin", "aspirin"])], langs=["en"])
    assert linked == []
    await matcher.match([make_imap(["fever", "aspirin"], ["high fever", "aspirin"])], langs=["en"])
    assert {"fever", "high fever"} <= set(linked)


async def test_values_without_counterpart_are_not_encoded(matcher, monkeypatch, make_imap):
    encoded = []
    encode = type(matcher.encoder).encode
    monkeypatch.setattr(
        type(matcher.encoder), "encode", lambda self, texts: encoded.extend(texts) or encode(self, texts)
    )
    await matcher.match([make_imap(["cough"], []), make_imap(["fever"], ["rash"])], langs=["en", "en"])
    assert "cough" not in encoded
    assert {"fever", "rash"} <= set(encoded)


async def test_as_many_languages_as_imaps(matcher, make_imap):
    with pytest.raises(ValueError, match="zip"):
        await matcher.match([make_imap(["fever"], ["fever"])], langs=[])


async def test_nothing_to_match_gives_nothing(matcher, make_imap):
    assert await matcher.match([], langs=[]) == []
    assert await matcher.match([make_imap([], ["fever"]), make_imap(["fever"], [])], langs=["en", "en"]) == [(), ()]


async def test_the_small_model_has_a_say_in_similarity_unless_the_facts_have_been_judged(matcher, make_imap):
    with_model = replace(matcher, facts=open_fact_model())
    # No word is shared, or half of the words.
    imap = make_imap(["poor sleep", "hand surgery"], ["broken nights", "hand cream"])
    ours, theirs = (
        np.array([match.similarity for match in matches]).reshape(2, 2)
        for (matches,) in [await one.match([imap], langs=["en"]) for one in (with_model, matcher)]
    )
    probabilities = open_fact_model().relate(["poor sleep", "hand surgery"], ["broken nights", "hand cream"], theirs)
    assert ours == pytest.approx(combine_agreement(probabilities, theirs), abs=1e-4)
    for decided_by, similarities in (("recorded", theirs), ("llm", theirs), ("encoder", ours)):
        known = (KnownRelation("advice", "poor sleep", "broken nights", Relation.EXACT, decided_by=decided_by),)
        (matches,) = await with_model.match([replace(imap, relations=known)], langs=["en"])
        assert [match.similarity for match in matches] == similarities.ravel().tolist(), decided_by
    assert with_model.signature != matcher.signature
