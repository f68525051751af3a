from imapeval.imapfile import ImapRecord
from imapeval.report.facts import show_imap
from imapeval.types import Imap, Match, Pair, Relation, Sample


def show(imap: Imap, matches: tuple[Match, ...], *, reference: str, response: str) -> dict:
    texts: dict[str, int] = {}
    sample = Sample("a", "q?", (reference,), response)
    shown = show_imap(ImapRecord("a", imap, matches), sample, lambda text: texts.setdefault(text, len(texts)))
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
        Match("t", "x", "near", Relation.UNMATCHED, 0.3, "encoder"),
        Match("t", "x", "far", Relation.UNMATCHED, 0.29, "encoder"),
        Match("t", "x", "general", Relation.BELONGING, 0.1, "graph"),
    )
    shown = show(imap, matches, reference="x", response="z")
    assert [pair[4] for pair in shown["response"]] == ["soft", "unmatched", "belonging", "unmatched", "missing"]
    # Two matches are worth .3 to "x": the one with a relation is the better one.
    assert [pair[4] for pair in shown["reference"]] == ["belonging", "missing"]
    assert [(match[2], match[3], match[7]) for match in shown["matches"]] == [
        ("soft", 0.3, 1),
        ("unmatched", 0.29, 1),
        ("belonging", 0.3, 1),
    ]


def test_a_pair_that_is_nobodys_best_match_is_marked_so():
    imap = Imap((), (), (Pair("t", "a"), Pair("t", "b")), (Pair("t", "a"), Pair("t", "b")))
    matches = tuple(
        Match("t", v, w, Relation.EXACT if v == w else Relation.UNMATCHED, float(v == w), "text")
        for v in "ab"
        for w in "ab"
    )
    assert [match[7] for match in show(imap, matches, reference="a", response="b")["matches"]] == [1, 0, 0, 1]
