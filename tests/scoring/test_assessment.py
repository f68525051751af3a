"""What an assessment says of itself: in words, as a table, as HTML, as JSON."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from imapeval import Assessment, Assessments, Failure, Imap, Match, Pair, Relation, Sample, Score
from imapeval.evaluation.imap_files import ImapRecord, parse_record
from imapeval.metrics.imapscore import score_graded
from imapeval.scoring.assessment import MAX_SHOWN

HOSTILE = '<img src=x onerror=alert(1)> | "a" & \\b\n\n# head'


def build(*values: str) -> Assessment:
    """Reference: two facts of one term and one of another; response: one that fits, one that does not, one beyond."""
    fits, lacks, alone, beyond, other = values or ("drainage", "antibiotics", "10 days", "rest", "rarely")
    imap = Imap(
        (Pair("treatment", "?"), Pair("duration", "?")),
        (),
        (Pair("treatment", fits), Pair("treatment", lacks), Pair("duration", alone)),
        (Pair("treatment", fits), Pair("treatment", beyond), Pair("frequency", other)),
    )
    matches = (
        Match("treatment", fits, fits, Relation.EXACT, 1.0, "text", {"why": "the same words"}),
        Match("treatment", fits, beyond, Relation.UNMATCHED, 0.1, "encoder"),
        Match("treatment", lacks, fits, Relation.UNMATCHED, 0.2, "encoder"),
        Match("treatment", lacks, beyond, Relation.UNMATCHED, 0.0, "encoder"),
    )
    sample = Sample("a", "What helps?", ("Drainage, antibiotics for 10 days.",), "Drainage, rest.", system="s")
    outcomes = {
        "imapscore": Score(0.5, {"recall": 0.4, "precision": 0.6}),
        "geval": Failure("llm", "timeout", "the model did not answer in time."),
    }
    signatures = {"imapscore": "imapscore|v:1", "geval": "geval|v:1"}
    return Assessment("a", sample, outcomes, signatures, (ImapRecord("a", imap, matches),))


def test_the_facts_side_by_side():
    assert [(row.term, row.reference, row.response, row.kind, row.credit) for row in build().rows] == [
        ("treatment", "drainage", "drainage", "exact", 1.0),
        ("treatment", "antibiotics", "", "unmatched", pytest.approx(0.2**0.5)),
        ("duration", "10 days", "", "unmatched", 0.0),
        ("treatment", "", "rest", "unmatched", pytest.approx(0.1**0.5)),
        ("frequency", "", "rarely", "unmatched", 0.0),
    ]


def test_in_words():
    assert build().reason == (
        "imapscore 0.500 (recall 0.4, precision 0.6). The response has 1 of 3 facts of the reference; "
        "it lacks antibiotics (treatment), 10 days (duration). "
        "Of its own facts 2 are not in the reference: rest (treatment), rarely (frequency)."
    )


def test_a_value_that_several_share_is_no_fact_beyond():
    imap = Imap((Pair("t", "?"),), (), (Pair("t", "a"), Pair("t", "b")), (Pair("t", "c"),))
    matches = (
        Match("t", "a", "c", Relation.CONTAINMENT, 0.2, "graph"),
        Match("t", "b", "c", Relation.EXACT, 1.0, "graph"),
    )
    sample = Sample("", "q", ("r",), "c")
    found = Assessment("", sample, {"m": Score(1.0)}, {"m": "m"}, (ImapRecord("", imap, matches),))
    assert [(row.reference, row.response, row.kind) for row in found.rows] == [
        ("a", "c", "containment"),
        ("b", "c", "exact"),
    ]
    assert found.reason.endswith("The response has 2 of 2 facts of the reference.")


def contradict(*matches: Match, reference: tuple[Pair, ...], response: tuple[Pair, ...]) -> Assessment:
    record = ImapRecord("", Imap((Pair("medicine", "?"),), (), reference, response), matches)
    return Assessment("", Sample("", "q", ("r",), "x"), {"m": Score(0.25)}, {"m": "m"}, (record,))


def test_what_contradicts_comes_first():
    rest, dose, sleep = Pair("advice", "rest"), Pair("medicine", "ibuprofen 400 mg"), Pair("advice", "sleep well")
    found = contradict(
        Match("advice", "rest", "rest", Relation.EXACT, 1.0, "text"),
        Match("advice", "sleep well", "rest", Relation.UNMATCHED, 0.1, "encoder"),
        Match("medicine", "ibuprofen 400 mg", "ibuprofen 200 mg", Relation.CONTRADICTION, 0.9, "text"),
        Match("medicine", "ibuprofen 400 mg", "ibuprofen 400 mg twice", Relation.CONTAINMENT, 0.9, "text"),
        Match("medicine", "ibuprofen 400 mg", "no ibuprofen", Relation.CONTRADICTION, 0.0, "graph", other_term="drug"),
        reference=(rest, dose, sleep),
        response=(
            rest,
            Pair("medicine", "ibuprofen 200 mg"),
            Pair("medicine", "ibuprofen 400 mg twice"),
            Pair("drug", "no ibuprofen"),
        ),
    )
    assert [(row.terms, row.reference, row.response, row.kind, row.credit) for row in found.rows] == [
        ("medicine", "ibuprofen 400 mg", "ibuprofen 200 mg", "contradiction", 0.0),
        ("medicine / drug", "ibuprofen 400 mg", "no ibuprofen", "contradiction", 0.0),
        ("advice", "rest", "rest", "exact", 1.0),
        ("advice", "sleep well", "", "unmatched", pytest.approx(0.1**0.5)),
        ("medicine", "ibuprofen 400 mg", "ibuprofen 400 mg twice", "containment", pytest.approx(0.9**0.5)),
    ]
    # The fact of three rows is one fact, and earns nothing, although the response has it besides.
    assert found.reason == (
        "m 0.250. It contradicts the reference on medicine: ibuprofen 400 mg against ibuprofen 200 mg; "
        "medicine / drug: ibuprofen 400 mg against no ibuprofen. "
        "The response has 1 of 3 facts of the reference; it lacks sleep well (advice)."
    )
    assert "| medicine | ibuprofen 400 mg | ibuprofen 200 mg | ≠ contradiction | 0.00 |" in found.table
    contradicted, related = (found._repr_html_().split("<tr")[line] for line in (2, 4))
    assert ("≠ contradiction" in contradicted, "font-weight:bold" in contradicted) == (True, True)
    assert "font-weight:bold" not in related
    assert re.findall("solid (#[0-9a-f]+)", contradicted) != re.findall("solid (#[0-9a-f]+)", related)


def test_a_fact_and_its_opposite_are_counted_as_in_the_score():
    take, avoid = Pair("t", "take aspirin"), Pair("t", "do not take aspirin")
    matches = (
        Match("t", take.value, take.value, Relation.EXACT, 1.0, "text"),
        Match("t", take.value, avoid.value, Relation.CONTRADICTION, 0.0, "text"),
    )
    found = contradict(*matches, reference=(take,), response=(take, avoid))
    score = score_graded(found.records[0].imap, matches)
    assert isinstance(score, Score)
    assert score.value == 0
    assert found.reason.endswith("The response has 0 of 1 fact of the reference.")


def test_likeness_alone_is_not_held_against_a_contradiction():
    found = contradict(
        Match("t", "rest the knee", "do not rest the knee", Relation.CONTRADICTION, 0.0, "text"),
        Match("t", "rest the knee", "rest the elbow", Relation.UNMATCHED, 0.7, "encoder"),
        reference=(Pair("t", "rest the knee"),),
        response=(Pair("t", "do not rest the knee"), Pair("t", "rest the elbow")),
    )
    assert [row.kind for row in found.rows] == ["contradiction", "soft"]
    # As in the score: the reference's fact earns nothing by it.
    assert found.reason.endswith("The response has 0 of 1 fact of the reference.")


def test_the_nearest_fact_stands_beside_credit_that_is_not_small():
    found = contradict(
        Match("t", "paracetamol is preferred", "use acetaminophen", Relation.UNMATCHED, 0.34, "encoder"),
        Match("t", "no alcohol", "use acetaminophen", Relation.UNMATCHED, 0.2, "encoder"),
        Match("t", "rest", "use acetaminophen", Relation.CONTRADICTION, 0.9, "text"),
        reference=(Pair("t", "paracetamol is preferred"), Pair("t", "no alcohol"), Pair("t", "rest")),
        response=(Pair("t", "use acetaminophen"),),
    )
    nearest = {row.reference: row.nearest for row in found.rows}
    assert nearest == {"paracetamol is preferred": "use acetaminophen", "no alcohol": "", "rest": ""}
    assert "| paracetamol is preferred | (nearest: use acetaminophen) | unmatched | 0.58 |" in found.table
    assert "| no alcohol | – | unmatched | 0.45 |" in found.table
    assert "paracetamol is preferred (t; nearest: use acetaminophen)" in found.reason
    assert "no alcohol (t)" in found.reason
    assert "(nearest: use acetaminophen)" in found._repr_html_()


def test_a_reference_without_facts_is_not_held_against_the_response():
    found = contradict(reference=(), response=(Pair("t", "rest"), Pair("t", "drink water")))
    assert "0 of 0" not in found.reason
    assert "rest" not in found.reason


def test_similar_facts_are_not_counted_beside_the_whole():
    facts = [Pair("t", name) for name in ("a", "b")]
    alike = [Match("t", name, f"{name} so", Relation.UNMATCHED, 0.7, "encoder") for name in ("a", "b")]
    response = tuple(Pair("t", f"{name} so") for name in ("a", "b"))
    assert "2 of 2 facts" in contradict(*alike, reference=tuple(facts), response=response).reason


def test_many_contradictions_are_counted():
    facts = [f"{number} mg" for number in range(7)]
    found = contradict(
        *(Match("dose", fact, f"1{fact}", Relation.CONTRADICTION, 0.5, "text") for fact in facts),
        reference=tuple(Pair("dose", fact) for fact in facts),
        response=tuple(Pair("dose", f"1{fact}") for fact in facts),
    )
    assert "4 mg against 14 mg; 2 more. The response has 0 of 7 facts of the reference." in found.reason


def test_an_answer_without_facts_is_told_from_one_that_comes_nowhere_near():
    said = [Pair("t", "a"), Pair("t", "b")]
    for response, why in (((), "the other answer states no fact"), ((said[1],), "nothing in the other answer")):
        found = contradict(reference=(said[0],), response=response)
        assert found.rows[0].kind == "unmatched"
        assert found.rows[0].why.startswith(why)
        assert ("No fact was read in the response. The response has 0 of 1 fact" in found.reason) is (not response)


def test_why_there_is_no_score():
    failure = Failure("extraction", "no-query", "nothing is asked")
    found = Assessment("a", Sample("a", "", (), ""), {"imapscore": failure}, {"imapscore": "x"})
    assert found.reason == "not scored: nothing is asked (extraction/no-query)"
    assert (found.value, found.failure, found.parts, found.rows, found.table) == (None, failure, {}, [], "")
    assert "not scored: nothing is asked" in found._repr_html_()


def test_markdown_keeps_hostile_values_in_their_cells():
    table = build(HOSTILE, "x", "y", "z", "`code`").table
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    assert [token.type for token in tokens if token.nesting == 1 and token.type.startswith(("table", "head"))] == [
        "table_open"
    ]
    assert sum(token.type == "td_open" for token in tokens) == 5 * 5
    inside = [part.type for token in tokens for part in token.children or ()]
    assert set(inside) <= {"text", "text_special"}


def test_markdown_shows_values_as_they_are():
    # GitHub also strikes what stands between single tildes, as in ranges.
    values = ["&lt;5 mg", "a~~b~~", "3~5天，每天2~3次", "rest", "rarely"]
    table = build(*values).table
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(table)
    cells = {"".join(part.content for part in token.children or ()) for token in tokens if token.type == "inline"}
    assert set(values) <= cells
    assert table.count("~") == table.count("\\~")


@pytest.mark.parametrize("value", ["<7%", "< 7 mmol/L", "a<=7", "<1@example.org>"])
def test_markdown_shows_amounts_as_they_are(value: str):
    table = contradict(reference=(Pair("t", value),), response=()).table
    assert (f"| {value} |" in table) is ("@" not in value)
    tokens = MarkdownIt("commonmark").enable("table").parse(table)
    shown = ["".join(part.content for part in token.children) for token in tokens if token.children]
    assert value in shown
    assert {part.type for token in tokens for part in token.children or ()} <= {"text", "text_special"}


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_takes_hostile_values_for_text():
    hostile = build(HOSTILE, "x", "y", "z", "</table><script>")
    elements = Elements(hostile._repr_html_())
    assert elements.names == {"div", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert {HOSTILE, "</table><script>"} <= set(elements.texts)
    assert "not scored: the model did not answer in time." in "".join(elements.texts)


def test_as_json():
    told = json.loads(json.dumps(build().to_dict()))
    assert (told["id"], told["score"], told["failure"]) == ("a", 0.5, None)
    assert told["metrics"]["geval"] == {
        "score": None,
        "parts": {},
        "failure": {"stage": "llm", "kind": "timeout", "message": "the model did not answer in time."},
        "signature": "geval|v:1",
    }
    (line,) = told["imaps"]
    assert parse_record(json.dumps(line)).imap.reference == build().records[0].imap.reference


def test_many():
    failure = Failure("sample", "bad-input", "no")
    bad = Assessment("b", Sample("b", "", (), "", fault=failure), {"imapscore": failure, "geval": Score(3.0)}, {})
    many = Assessments([build(), bad])
    assert many.means == {"imapscore": 0.5, "geval": 3.0}
    assert [item.id for item in many.failed] == ["a", "b"]
    assert many.to_rows() == [
        {"id": "a", "system": "s", "imapscore": 0.5, "geval": None, "failure": "timeout"},
        {"id": "b", "system": "", "imapscore": None, "geval": 3.0, "failure": "bad-input"},
    ]
    assert "means imapscore=0.500, geval=3.000" in repr(many)
    assert "means" not in repr(Assessments([]))
    assert repr(many[0]) == "<Assessment of a: imapscore=0.500, geval=not scored (timeout)>"
    assert many[-1:][0] is bad
    assert Assessments([bad]).means == {"imapscore": None, "geval": 3.0}


@pytest.mark.parametrize(("count", "more"), [(MAX_SHOWN, ""), (MAX_SHOWN + 2, "and 2 more")])
def test_a_notebook_shows_so_many(count: int, more: str):
    shown = Assessments([build()] * count)._repr_html_()
    assert shown.count("<tr>") == MAX_SHOWN + 1
    assert more in shown
