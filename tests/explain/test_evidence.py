"""Sentences from evidence, as `relate_links`, `explain_unrelated` and `compose` give it."""

from imapeval.explain.evidence import explain_match
from imapeval.types import Match, Relation

IBUPROFEN = {"concept": "CHEBI:5855", "label": "ibuprofen", "zh": "布洛芬"}
NSAID = {"concept": "CHEBI:35475", "label": "anti-inflammatory drug", "zh": "非甾体抗炎药"}
PAINKILLER = {"concept": "CHEBI:35480", "label": "analgesic"}
HEART = {"concept": "MESH:D006321", "label": "heart"}
VENTRICLE = {"concept": "WN:05391977", "label": "left ventricle"}


def link(concept, name, how="exact", score=1.0, kind="drug"):
    return {**concept, "type": kind, "name": name, "how": how, "score": score}


def tell(reference, response, relation, evidence, decided_by="graph"):
    return explain_match(Match("term", reference, response, relation, 0.5, decided_by, evidence))


def test_path_is_told_step_by_step_in_both_languages():
    evidence = {
        "reference": link(IBUPROFEN, "ibuprofen"),
        "response": link(PAINKILLER, "analgesic", "treatment", 0.9),
        "path": [IBUPROFEN, NSAID, PAINKILLER],
        "steps": ["is a", "is a"],
        "confidence": "high",
    }
    assert tell("Ibuprofen", "analgesic therapy", Relation.BELONGING, evidence) == (
        "“Ibuprofen” is a name of ibuprofen / 布洛芬 (CHEBI:5855)",
        "“analgesic therapy” is a treatment with analgesic (CHEBI:35480)",
        "ibuprofen / 布洛芬 is a kind of anti-inflammatory drug / 非甾体抗炎药, which is a kind of analgesic",
    )


def test_parts_and_guesses_are_told():
    evidence = {
        "reference": link(HEART, "heart", kind="body_part"),
        "response": link(VENTRICLE, "left ventricle", "index", 0.912, kind="body_part"),
        "path": [VENTRICLE, HEART],
        "steps": ["part of"],
        "confidence": "low",
    }
    assert tell("heart", "left ventrical", Relation.CONTAINMENT, evidence) == (
        "“heart” is a name of heart (MESH:D006321)",
        "“left ventrical” is nearest to a name of left ventricle (WN:05391977), “left ventricle” (rated 0.91)",
        "left ventricle is a part of heart",
        "low confidence",
    )


def test_names_within_values_are_told():
    evidence = {
        "reference": link(IBUPROFEN, "Brufen", "mention"),
        "response": link(IBUPROFEN, "ibuprofen", "mention"),
        "path": [IBUPROFEN],
        "steps": [],
        "confidence": "low",
    }
    reference, *_ = tell("Brufen at night", "ibuprofen at night", Relation.EXACT, evidence)
    assert all(f"“{name}”" in reference for name in ("Brufen at night", "Brufen"))
    assert "(CHEBI:5855)" in reference
    # The name is that of the text with its synonyms unified, which is not quoted as a part of the value.
    evidence["reference"] = link(NSAID, "painkiller", "mention")
    reference, *_ = tell("analgesic 500 mg", "ibuprofen at night", Relation.BELONGING, evidence)
    assert "“analgesic 500 mg”" in reference
    assert "painkiller" not in reference


def test_one_concept_and_its_unnamed_kind():
    evidence = {
        "reference": link(NSAID, "nsaid", "kind", 0.6),
        "response": link(NSAID, "nsaid"),
        "path": [NSAID],
        "steps": [],
        "confidence": "low",
    }
    assert tell("topical NSAID", "NSAID", Relation.BELONGING, evidence) == (
        "“topical NSAID” is read as a kind of anti-inflammatory drug / 非甾体抗炎药 (CHEBI:35475), by its head “nsaid”",
        "“NSAID” is a name of anti-inflammatory drug / 非甾体抗炎药 (CHEBI:35475)",
        "low confidence",
    )


def test_unmatched_values_say_what_they_were_tied_to_and_why_they_are_apart():
    both = {"reference": link(IBUPROFEN, "布洛芬"), "response": link(PAINKILLER, "analgesic")}
    siblings = tell(
        "布洛芬", "analgesic", Relation.UNMATCHED, {**both, "reason": "siblings", "under": NSAID}, "encoder"
    )
    assert siblings[2:] == ("both are kinds of anti-inflammatory drug / 非甾体抗炎药, and neither of the other",)
    other = {"reference": link(IBUPROFEN, "布洛芬"), "response": link(HEART, "heart", kind="body_part")}
    types = tell("布洛芬", "heart", Relation.UNMATCHED, {**other, "reason": "types"})
    assert types[2] == "they are different sorts of things (drug and body part)"
    # Laser capture microdissection and cytological techniques: the types of both are the same, those between are not.
    between = {side: link(concept, "x", kind="test") for side, concept in (("reference", HEART), ("response", NSAID))}
    told = tell("heart", "NSAID", Relation.UNMATCHED, {**between, "reason": "types"})
    assert told[2] == "one lies below the other, but only by way of another sort of thing"
    unknown = tell(
        "布洛芬", "xyzzy", Relation.UNMATCHED, {"reference": both["reference"], "reason": "no link"}, "encoder"
    )
    assert unknown == (
        "“布洛芬” is a name of ibuprofen / 布洛芬 (CHEBI:5855)",
        "the graph does not know “xyzzy”",
    )


def test_two_unknown_values_are_told_at_once():
    told = tell("xyzzy", "plugh", Relation.UNMATCHED, {"reason": "no link"}, "encoder")
    assert told == ("the graph knows neither value",)


def test_composition_says_its_words():
    evidence = {"head": "headache", "modifier": "severe", "confidence": "low"}
    assert tell("headache", "severe headache", Relation.CONTAINMENT, evidence, "text") == (
        "“severe headache” is read as a kind of “headache”, its last words: “severe” only narrows it",
        "low confidence",
    )


def test_what_others_decided_is_shown_as_it_is():
    assert tell("a", "b", Relation.EXACT, {"why": "same wording"}, "text") == ("same wording",)
    # Relations of a file of imaps have no evidence, whoever decided them.
    for decider in ("recorded", "text", "graph", "encoder", "llm"):
        alone = "came with the imap; the similarity alone counts"
        assert tell("a", "b", Relation.EXACT, {}, decider) == ("came with the imap",)
        assert tell("a", "b", Relation.UNMATCHED, {}, decider) == (alone,)
    assert tell("a", "b", Relation.UNMATCHED, {"why": "no", "n": 3}, "llm") == ("no", "n: 3")
    # Evidence of an older version, or of somebody else's.
    assert tell("a", "b", Relation.EXACT, {"path": ["a", "b"]}) == ("path: ['a', 'b']",)


def test_a_path_and_another_polarity():
    evidence = {
        "reference": link(IBUPROFEN, "ibuprofen"),
        "response": link(NSAID, "nsaid"),
        "path": [IBUPROFEN, NSAID],
        "steps": ["is a"],
        "confidence": "low",
    }
    why = "one affirms what the other denies or advises against"
    assert tell("ibuprofen", "avoid NSAIDs", Relation.CONTRADICTION, {**evidence, "why": why})[2:] == (
        "ibuprofen / 布洛芬 is a kind of anti-inflammatory drug / 非甾体抗炎药",
        why,
        "low confidence",
    )
    # Who advises against ibuprofen may allow another NSAID.
    assert tell("avoid ibuprofen", "take an NSAID", Relation.UNMATCHED, evidence)[3] == (
        "one is denied or advised against and the other is not, but both can hold"
    )


def test_a_path_and_another_amount_or_condition():
    evidence = {
        "reference": link(IBUPROFEN, "ibuprofen", "mention"),
        "response": link(NSAID, "nsaid", "mention"),
        "path": [IBUPROFEN, NSAID],
        "steps": ["is a"],
        "confidence": "high",
    }
    for why in ("the amounts differ", "they hold under different conditions"):
        told = tell("ibuprofen 200 mg", "NSAID 400 mg", Relation.UNMATCHED, {**evidence, "why": why})
        assert told[3:] == (why,)


def test_whom_a_language_model_overrules():
    evidence = {"why": "one is no kind of the other", "prompt": "value-relation.en@2", "said": "containment"}
    for decider, name in (("graph", "the graph"), ("text", "the wording")):
        overruled = {**evidence, "overruled": {"decided_by": decider, "relation": "belonging"}}
        assert tell("a", "b", Relation.CONTAINMENT, overruled, "llm") == (
            "one is no kind of the other",
            f"overrules {name}, which said belonging",
            "prompt: value-relation.en@2",
        )
    assert tell("a", "b", Relation.CONTAINMENT, evidence, "llm") == (
        "one is no kind of the other",
        "prompt: value-relation.en@2",
    )


def test_evidence_of_another_make_is_shown_as_it_is():
    for evidence in (
        {"reference": {}, "response": {}, "path": [1], "steps": ["is a"], "confidence": None},
        {"reference": {"how": "by ear"}, "response": {}, "reason": "far"},
        {"reference": 3, "reason": "types"},
    ):
        told = tell("a", "b", Relation.EXACT, evidence)
        assert told == tuple(f"{key}: {value}" for key, value in evidence.items())
