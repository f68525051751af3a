from imapeval.evaluation.imap_files import ImapRecord
from imapeval.explain.facts import imap_to_page_data, list_qualifiers
from imapeval.types import Imap, Match, Pair, Relation, Sample


def show(imap: Imap, matches: tuple[Match, ...], *, reference: str, response: str) -> dict:
    texts: dict[str, int] = {}
    sample = Sample("a", "q?", (reference,), response)
    shown = imap_to_page_data(ImapRecord("a", imap, matches), sample, lambda text: texts.setdefault(text, len(texts)))
    names = list(texts)
    for side in ("reference", "response"):
        shown[side] = [[names[term], names[value], *rest] for term, value, *rest in shown[side]]
    shown["matches"] = [[*match[:6], names[match[6]], match[7]] for match in shown["matches"]]
    return shown


def test_places_are_counted_as_javascript_counts():
    imap = Imap(
        (), (), (Pair("t", "rest"),), (Pair("t", "drainage", (3, 11)), Pair("t", "absent"), Pair("t", "x", (5, 99)))
    )
    shown = show(imap, (), reference="😀 and REST", response="😀😀 drainage")
    # An emoji is one character in Python and two units in JavaScript; without a span the words are searched for.
    assert [pair[2:4] for pair in shown["reference"]] == [[7, 11]]
    assert [pair[2:4] for pair in shown["response"]] == [[5, 13], [-1, -1], [-1, -1]]
    assert [pair[5] for pair in shown["response"]] == [1, 0, 1]


def test_kinds_come_from_the_best_match():
    values = ["near", "far", "general", "alone"]
    imap = Imap(
        (),
        (),
        (Pair("t", "x"), Pair("u", "y")),
        (*(Pair("t", value) for value in values), Pair("v", "z")),
    )
    matches = (
        Match("t", "x", "near", Relation.UNMATCHED, 0.5, "encoder"),
        Match("t", "x", "far", Relation.UNMATCHED, 0.34, "encoder"),
        Match("t", "x", "general", Relation.BELONGING, 0.5, "graph"),
    )
    shown = show(imap, matches, reference="x", response="z")
    assert [pair[4] for pair in shown["response"]] == ["soft", "unmatched", "belonging", "unmatched", "unmatched"]
    # Two matches are worth the root of .5 to "x": the one with a relation is the better one.
    assert [pair[4] for pair in shown["reference"]] == ["belonging", "unmatched"]
    assert [(match[2], match[3], match[7]) for match in shown["matches"]] == [
        ("soft", 0.707, 1),
        ("unmatched", 0.583, 1),
        ("belonging", 0.707, 1),
    ]


def test_a_pair_that_is_nobodys_best_match_is_marked_so():
    imap = Imap((), (), (Pair("t", "a"), Pair("t", "b")), (Pair("t", "a"), Pair("t", "b")))
    matches = tuple(
        Match("t", v, w, Relation.EXACT if v == w else Relation.UNMATCHED, float(v == w), "text")
        for v in "ab"
        for w in "ab"
    )
    assert [match[7] for match in show(imap, matches, reference="a", response="b")["matches"]] == [1, 0, 0, 1]


def test_a_contradiction_is_shown_whatever_else_a_fact_earns():
    imap = Imap((), (), (Pair("t", "5 mg"), Pair("t", "x")), (Pair("t", "10 mg"), Pair("t", "5 mg"), Pair("t", "7 mg")))
    matches = (
        Match("t", "5 mg", "10 mg", Relation.CONTRADICTION, 0.9, "text"),
        Match("t", "5 mg", "5 mg", Relation.EXACT, 1.0, "text"),
        Match("t", "5 mg", "7 mg", Relation.CONTRADICTION, 0.8, "text"),
        Match("t", "x", "10 mg", Relation.UNMATCHED, 0.5, "encoder"),
        Match("t", "x", "7 mg", Relation.CONTRADICTION, 0.9, "text"),
    )
    shown = show(imap, matches, reference="5 mg", response="10 mg")
    assert [pair[4] for pair in shown["reference"]] == ["contradiction", "contradiction"]
    assert [pair[4] for pair in shown["response"]] == ["contradiction", "exact", "contradiction"]
    # The third is the best of neither of its values, and shown all the same.
    assert [(match[2], match[3], match[7]) for match in shown["matches"]] == [
        ("contradiction", 0.0, 1),
        ("exact", 1.0, 1),
        ("contradiction", 0.0, 1),
        ("soft", 0.707, 0),
        ("contradiction", 0.0, 1),
    ]


def test_a_match_joins_facts_of_two_terms():
    imap = Imap((), (), (Pair("advice", "rest"),), (Pair("advice", "walk"), Pair("treatment", "rest")))
    matches = (
        Match("advice", "rest", "walk", Relation.UNMATCHED, 0.0, "encoder"),
        Match("advice", "rest", "rest", Relation.EXACT, 1.0, "text", other_term="treatment"),
    )
    shown = show(imap, matches, reference="rest", response="rest")
    assert [pair[4] for pair in shown["response"]] == ["unmatched", "exact"]
    # By number: the second fact of the response, not one of the reference's term.
    assert [match[:3] for match in shown["matches"]] == [[0, 0, "unmatched"], [0, 1, "exact"]]


def test_what_was_judged_unlike_is_no_soft_match():
    imap = Imap((), (), (Pair("t", "x"), Pair("t", "y")), (Pair("t", "z"), Pair("t", "w")))
    # Where a model has read the two, half of the similarity counts: .2 and .35.
    matches = (
        Match("t", "x", "z", Relation.UNMATCHED, 0.4, "llm"),
        Match("t", "y", "w", Relation.UNMATCHED, 0.7, "llm"),
    )
    assert [match[2:4] for match in show(imap, matches, reference="", response="")["matches"]] == [
        ["unmatched", 0.2],
        ["soft", 0.35],
    ]


def test_what_qualifies_a_fact():
    pair = Pair(
        "t", "no ibuprofen 400 mg", None, "denied", "unlikely", "if kidneys are damaged", ("400 mg", "twice daily")
    )
    assert list_qualifiers(pair) == [
        ("denied", "denied"),
        ("unlikely", "unlikely"),
        ("condition", "if kidneys are damaged"),
        ("amount", "400 mg"),
        ("amount", "twice daily"),
    ]
    assert list_qualifiers(Pair("t", "rest")) == []
