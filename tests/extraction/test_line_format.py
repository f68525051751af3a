import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.extraction import line_format
from imapeval.extraction.entries import clean_entries
from imapeval.extraction.parsing import parse_inform, parse_question
from imapeval.types import Pair, QuestionImap


def test_the_papers_own_example_is_read():
    """Wang et al. 2024, section 3.1: an imap of a question and its answer."""
    text = "Query-treatment-?\nConstraint-age-34 years\nEnd"
    assert parse_question(text).found == QuestionImap((Pair("treatment", "?"),), (Pair("age", "34 years"),))
    assert parse_inform("Inform-diagnosis-oral stomatitis\nEnd").found == (Pair("diagnosis", "oral stomatitis"),)


@pytest.mark.parametrize(
    ("line", "asked", "pair"),
    [
        ("Inform-follow-up-in 2 weeks", ["follow-up"], Pair("follow-up", "in 2 weeks")),
        ("Inform-treatment-x-ray at 8:00", [], Pair("treatment", "x-ray at 8:00")),
        ("inform – 治疗 – 休息", [], Pair("治疗", "休息")),
        ("* Inform: treatment: rest", [], Pair("treatment", "rest")),
    ],
)
def test_lines_are_split_after_the_term(line, asked, pair):
    assert parse_inform(f"{line}\nEnd", asked=asked).found == (pair,)


@pytest.mark.parametrize(
    "completion",
    [
        "Inform-treatment-rest",
        "Inform-treatment-rest\nInf",
        "Inf7rm-treatment-tea\nInform-treatment-rest\nEnd",
        "Inform-treatment-te\na\nInform-treatment-rest\nEnd",
        "Inform-treatment-teaInform-treatment-rest\nEnd",
    ],
)
def test_a_completion_that_may_have_lost_a_line_is_incomplete(completion):
    assert not parse_inform(completion).complete


@pytest.mark.parametrize(
    "completion",
    [
        "I'm sorry, but I cannot do this.\nEnd",
        "无法提取。\nEnd",
        "<html>\nEnd\n</html>",
        "Query-treatment-?\nEnd",
        "Constraint-age-34 years\nEnd",
    ],
)
def test_an_end_line_after_prose_does_not_mean_no_facts(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_inform(completion)
    assert caught.value.kind == "unreadable-completion"


def test_lines_of_an_answer_are_not_those_of_a_question():
    with pytest.raises(ExtractionError):
        parse_question("Inform-treatment-rest\nEnd")
    assert parse_question("Constraint-age-34 years\nEnd").found.query == ()


@pytest.mark.parametrize("completion", ["", "Rest.", "To inform you: rest.", '{"inform": []}', "The end"])
def test_other_texts_are_not_lines(completion):
    assert line_format.parse_lines(completion) is None


words = st.from_regex(r"[a-z一-龥]{2,8}( [a-z]{2,5}){0,2}", fullmatch=True).filter(
    lambda text: clean_entries([("t", text)]).found
)
records = st.lists(
    st.fixed_dictionaries({"term": words, "values": st.lists(words, min_size=1, max_size=3)}), max_size=4
)


@given(records)
def test_formatted_lines_are_parsed_to_the_same_entries(groups):
    record = json.dumps({"inform": groups})
    parsed = parse_inform(line_format.format_lines(record))
    assert parsed.found == parse_inform(record).found
    assert parsed.complete


@given(st.text() | st.text(alphabet="Inform-Query-: \nEnd?"))
def test_never_crashes(text):
    line_format.parse_lines(text)
