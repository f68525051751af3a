import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.extraction.entries import MAX_PAIR_CHARACTERS, Dropped, clean_entries
from imapeval.extraction.parsing import INFORM_SCHEMA, QUESTION_SCHEMA, parse_inform, parse_question
from imapeval.types import Pair, QuestionImap

PAIRS = (Pair("treatment", "rest"), Pair("treatment", "no antibiotics"))
INFORM = '{"inform": [{"term": "treatment", "value": "rest"}, {"term": "treatment", "value": "no antibiotics"}]}'
LIST = INFORM[len('{"inform": ') : -1]


@pytest.mark.parametrize(
    "completion",
    [
        INFORM,
        f"```json\n{INFORM}\n```",
        f"Here are the pairs:\n```\n{INFORM}\n```\nI hope this helps {{really}}!",
        f"Sure! {INFORM} Anything else?",
        f"<think>Is {{this}} it: {{'inform': []}}?</think>\n{INFORM}",
        f'The template began the thought: {{"inform": []}}</think>{INFORM}',
        f"{INFORM}\n{INFORM}",
        LIST,
        f"Here is the list:\n```json\n{LIST}\n```\nThe same again:\n```json\n{INFORM}\n```",
        INFORM.replace("inform", "Inform"),
        '{"inform": {"treatment": ["rest", "no antibiotics"]}}',
        '{"inform": [{"term": "treatment", "value": ["rest", "no antibiotics"]}]}',
        '{"inform": {"term": "treatment", "value": ["rest", "no antibiotics"]}}',
        '{"inform": [{"term": "treatment", "values": ["rest", "no antibiotics"]}]}',
        '{"inform": [{"Term": "treatment", "Values": ["rest", "no antibiotics"]}]}',
        '{"inform": {"Term": "treatment", "Values": ["rest", "no antibiotics"]}}',
        "Inform-treatment-rest\nInform-treatment-no antibiotics\nEnd",
        "Here you are:\n```\n- inform - treatment - rest\n- inform - treatment - no antibiotics\nEnd.\n```\nBye!",
        '{"inform": [{"term": " treatment", "value": "rest."}, {"term": "treatment", "value": "no\\n antibiotics;"}]}',
    ],
)
def test_pairs_are_parsed_in_any_wrapping(completion):
    parsed = parse_inform(completion)
    assert parsed.found == PAIRS
    assert parsed.dropped == ()
    assert parsed.complete


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "I'm sorry, but I cannot help with that.",
        INFORM[:4],
        INFORM.replace(",", " ", 1),
        "<think>" + INFORM,
        '{"query": ["treatment"], "constraint": []}',
        '{"inform": ["rest", "no antibiotics"]}',
        '{"inform": null}',
        '{"inform": "rest"}',
        json.dumps({"inform": [{"term": "treatment", "value": "x" * (MAX_PAIR_CHARACTERS + 1)}]}),
        # Only an empty list under the key says that there is nothing.
        "[]",
        "```json\n[]\n```",
        "<think>Nothing?</think>[]",
        "[[]]",
        "[{}]",
        '{"inform": {}}',
        '{"inform": {"facts": []}}',
        '{"inform": {"treatment": []}}',
        '{"inform": {"treatment": {}}}',
        '{"inform": {"term": {"name": "treatment"}, "values": []}}',
        '{"inform": [{"term": {"name": "treatment"}, "values": []}]}',
        '{"inform": [{"term": {"name": "treatment"}, "values": ["rest"]}]}',
        '{"inform": [{"term": "treatment", "values": [{"value": "rest"}]}]}',
        '{"inform": [{"term": "treatment", "values": {}}]}',
        '{"inform": [{"values": []}]}',
        '{"inform": [{"term": "", "values": ["rest"]}]}',
        '{"inform": {"": ["rest"]}}',
        '{"inform": [{"term": "treatment", "value": ["rest"], "values": []}]}',
        '{"inform": [{"term": ["treatment"], "values": []}]}',
        '{"inform": [{}]}',
        '{"result": {"inform": []}}',
        '{"inform": [], "error": "overloaded"}',
        '{"inform": [], "error": {"code": 503}}',
        '{"inform": [{"term": "treatment", "values": [null]}]}',
        "[" * 100_000,
        '{"inform":' * 5_000,
        '{"inform": ' + "9" * 10_000 + "}",
    ],
)
def test_an_unreadable_completion_is_an_error_with_the_raw_text(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_inform(completion)
    assert caught.value.kind == "unreadable-completion"
    assert caught.value.raw == completion


@pytest.mark.parametrize(
    "completion",
    [
        INFORM[:-1] + ', "inform": []}',
        '{"inform": [], ' + INFORM[1:],
        INFORM[:-1] + ', "Inform": []}',
        '{"inform": [{"term": "treatment", "values": ["rest"], "values": []}]}',
        '[{"term": "treatment", "values": ["rest"], "Values": []}]',
        '{"a": {"x": 1, "x": 2}, "b": ' + INFORM + "}",
        "Here: " + INFORM[:-1] + ', "inform": null} Bye.',
    ],
)
def test_a_duplicate_key_with_different_contents_is_an_error(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_inform(completion)
    assert (caught.value.kind, caught.value.raw) == ("different-objects", completion)


@pytest.mark.parametrize(
    "completion",
    [
        INFORM[:-1] + ", " + INFORM[1:],
        '{"inform": [], "inform": []}',
        '{"inform": [], "INFORM": []}',
        '```json\n{"inform": [], "inform": []}\n```',
        '[{"term": "a", "term": "a", "value": "b"}]',
    ],
)
def test_a_duplicate_key_with_the_same_contents_is_not_the_asked_form(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_inform(completion)
    assert (caught.value.kind, caught.value.raw) == ("unreadable-completion", completion)


def test_what_is_no_number_does_no_harm_beside_a_fact():
    assert parse_inform('{"inform": [{"term": "a", "value": "b", "sure": NaN}]}').found == (Pair("a", "b"),)


@pytest.mark.parametrize(
    "completion",
    [
        f'{INFORM} or rather {{"inform": []}}',
        f'```json\n{{"inform": []}}\n```\nor rather {INFORM}',
        f'```json\n{LIST}\n```\nor rather\n```json\n["rest"]\n```',
        f'```json\n{LIST}\n```\nor rather\n```json\n{{"inform": ["rest"]}}\n```',
    ],
)
def test_objects_that_differ_are_an_error(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_inform(completion)
    assert caught.value.kind == "different-objects"


@pytest.mark.parametrize(
    ("completion", "found"),
    [
        (INFORM[:-3], 2),
        (INFORM[:-30], 1),
        (INFORM[:60], 1),
        (f"```json\n{INFORM[:60]}", 1),
        ('{"inform": [{"term": "treatment", "values": ["rest", "no antibio', 1),
        ('[{"term": "treatment", "values": ["rest", "no antibiotics"]}', 2),
        ("Inform-treatment-rest\nInform-treatment-no antibiotics", 2),
        ("Inform-treatment-rest\nInf", 1),
        ('{"inform": [', 0),
    ],
)
def test_the_beginning_of_a_truncated_completion_is_read(completion, found):
    parsed = parse_inform(completion)
    assert parsed.found == PAIRS[:found]
    assert not parsed.complete


@pytest.mark.parametrize(
    "completion",
    [
        '{"inform": []}',
        '```json\n{"inform": []}\n```\n',
        '<think>Is it {"a": 1}? I cannot do it.</think>{"inform": []}',
        '{"inform": [{"term": "cause", "values": []}]}',
        '{"inform": [{"term": "cause", "values": ["not specified"]}]}',
        "End",
        "```\nEnd\n```",
        "Inform-cause-not specified\nEnd",
    ],
)
def test_no_facts_is_not_an_error_in_the_requested_form(completion):
    parsed = parse_inform(completion)
    assert (parsed.found, parsed.complete) == ((), True)


@pytest.mark.parametrize(
    "completion",
    [
        'I cannot do it. {"inform": []}',
        '{"inform": []} Sorry, the text is too long.',
        '```json\n{"inform": []}\n```\nSorry.',
        '```json\n{"inform": []}\n```\n```json\n{"inform": []}\n```',
        '{"inform": [], "status": "error"}',
        '{"inform": [], "code": 500}',
        '{"inform": [], "refusal": "no"}',
        '{"inform": [], "detail": null}',
        '{"Inform": []}',
        '[{"inform": []}]',
        '"{\\"inform\\": []}"',
        '{"inform": [{"term": "t", "values": [], "items": ["a"]}]}',
        '{"inform": [{"term": "t", "facts": ["a"]}]}',
        '{"inform": [{"term": "t", "values": [""]}]}',
        '{"inform": [{"term": "t", "values": ["..."]}]}',
        '{"inform": [{"term": "t", "values": "none"}]}',
        '[{"term": "t", "values": [], "items": ["a"]}]',
        "I cannot do it.\nEnd",
        "I cannot do it.\nInform-cause-not specified\nEnd",
        "Error 500\n\nEnd",
    ],
)
def test_no_facts_in_any_other_form_is_an_error(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_inform(completion)
    assert caught.value.raw == completion


@pytest.mark.parametrize("completion", ['I cannot. {"query": [], "constraint": []}', 'Sorry. {"query": []}'])
def test_a_question_without_pairs_in_any_other_form_is_an_error(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_question(completion)
    assert caught.value.raw == completion


def test_dropped_entries_are_reported():
    entries = [
        {"term": "cause", "value": "virus"},
        {"term": "cause", "value": "Not specified."},
        {"term": "病因", "value": "未提及"},
        {"term": "病因", "value": "（无）"},
        {"term": "cause", "value": " "},
        {"term": "", "value": "virus"},
        {"term": "cause", "value": "…"},
        {"term": "cause", "value": "x" * (MAX_PAIR_CHARACTERS + 1)},
        {"term": "cause", "value": None},
        {"term": "cause"},
        {"term": "cause", "value": True},
        "cause: virus",
        {"term": "cause", "value": "virus"},
    ]
    parsed = parse_inform(json.dumps({"inform": entries}))
    assert parsed.found == (Pair("cause", "virus"),)
    reasons = [dropped.reason for dropped in parsed.dropped]
    assert reasons == [*["filler"] * 3, "empty", "no term", "empty", "too long", *["no pair"] * 4, "duplicate"]
    assert parsed.dropped[1] == Dropped('["病因", "未提及"]', "filler")


def test_a_space_before_a_full_stop_makes_no_other_fact():
    parsed = clean_entries([("aspirin .", "twice daily."), ("aspirin", "twice daily")])
    assert parsed.found == (Pair("aspirin", "twice daily"),)


def test_a_fact_that_looks_like_a_filler_is_kept():
    values = ["no", "没有", "Na", "unknown virus", "5"]
    parsed = parse_inform(json.dumps({"inform": [{"term": "t", "value": value} for value in values]}))
    assert [pair.value for pair in parsed.found] == values


def test_a_broken_character_is_replaced():
    (pair,) = parse_inform('{"inform": [{"term": "cause", "value": "a\\ud800b"}]}').found
    assert pair.value == "a\ufffdb"


@pytest.mark.parametrize(
    "query",
    [
        ["cause", "treatment"],
        [{"term": "cause", "value": "?"}, {"term": "treatment"}],
        [{"Term": "cause"}, {"TERM": "treatment"}],
        {"cause": "?", "treatment": ""},
    ],
)
def test_a_question_is_parsed_in_any_structure(query):
    completion = json.dumps({"query": query, "constraint": [{"term": "age", "value": 34}]})
    parsed = parse_question(completion)
    assert parsed.found.query == (Pair("cause", "?"), Pair("treatment", "?"))
    assert parsed.found.constraint == (Pair("age", "34"),)
    assert parsed.dropped == ()


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ("[]", "unreadable-completion"),
        ('{"query": {}, "constraint": []}', "unreadable-completion"),
        ('{"query": "none"}', "unreadable-completion"),
        ('{"query": [{}], "constraint": []}', "unreadable-completion"),
        ('{"query": [{"term": {"name": "cause"}}], "constraint": []}', "unreadable-completion"),
        ('{"query": null, "constraint": []}', "unreadable-completion"),
        ('{"query": {"error": "overloaded"}, "constraint": []}', "unreadable-completion"),
        ('{"query": ["cause"], "query": [], "constraint": []}', "different-objects"),
        ('{"query": [], "constraint": [], "constraint": []}', "unreadable-completion"),
    ],
)
def test_a_malformed_list_of_queries_is_not_an_empty_one(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        parse_question(completion)
    assert (caught.value.kind, caught.value.raw) == (kind, completion)


def test_a_question_without_a_query_is_read_as_such():
    assert parse_question('{"query": [], "constraint": []}').found.query == ()


@pytest.mark.parametrize("constraint", [[], {}, None])
def test_a_question_without_constraints_is_read_as_such(constraint):
    parsed = parse_question(json.dumps({"query": {"cause": ""}, "constraint": constraint}))
    assert (parsed.found.query, parsed.found.constraint, parsed.dropped) == ((Pair("cause", "?"),), (), ())


@pytest.mark.parametrize(
    "constraint",
    ["a long story", "", 0, False, 34, [""], [None], [{}], [{"term": "age"}], {"age": []}, [{"value": "34"}], [[]]],
    ids=str,
)
def test_an_unreadable_constraint_is_not_an_empty_one(constraint):
    completion = json.dumps({"query": ["cause"], "constraint": constraint})
    with pytest.raises(ExtractionError) as caught:
        parse_question(completion)
    assert (caught.value.kind, caught.value.raw) == ("unreadable-completion", completion)


def test_a_filler_is_no_constraint():
    parsed = parse_question('{"query": ["cause"], "constraint": [{"term": "age", "values": ["unknown"]}]}')
    assert (parsed.found, parsed.complete) == (QuestionImap((Pair("cause", "?"),), ()), True)


@pytest.mark.parametrize("schema", [QUESTION_SCHEMA, INFORM_SCHEMA])
def test_schemas_are_strict(schema):
    """Structured outputs want every property required and no others (OpenAI API guide, "Supported schemas")."""
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])


@given(st.text() | st.text(alphabet='{}[]":,inform query term value\\u<think>`0\n'))
def test_never_crashes(completion):
    for parse in (parse_inform, parse_question):
        with contextlib.suppress(ExtractionError):
            parse(completion)


words = st.from_regex(r"[a-z一-龥][a-z一-龥0-9]{0,8}( [a-z0-9]{1,5})?", fullmatch=True).filter(
    lambda text: clean_entries([("t", text)]).found
)


@given(st.lists(st.builds(Pair, words, words), unique=True), st.booleans())
def test_valid_json_round_trips(pairs, ascii_only):
    completion = json.dumps(
        {"inform": [{"term": pair.term, "value": pair.value} for pair in pairs]}, ensure_ascii=ascii_only
    )
    assert parse_inform(completion).found == tuple(pairs)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["term", "value", "x"]), inner),
    max_leaves=8,
)


@given(json_values)
def test_any_json_value_is_read_or_refused(value):
    for key, parse in (("inform", parse_inform), ("query", parse_question)):
        with contextlib.suppress(ExtractionError):
            parse(json.dumps({key: value}))


@given(st.integers(0, len(INFORM) - 1))
def test_a_truncated_completion_is_never_taken_as_complete(length):
    with contextlib.suppress(ExtractionError):
        parsed = parse_inform(INFORM[:length])
        assert not parsed.complete
        assert parsed.found == PAIRS[: len(parsed.found)]


@pytest.mark.parametrize(
    ("completion", "named"),
    [
        ('{"query": ["cause"], "constrai7t": []}', "constrai7t"),
        ('{"query": ["cause"], "constraints": []}', "constraints"),
        ('{"query": ["treatment"], "inform": []}', "inform"),
        ('```json\n{"query": ["treatment"], "inform": []}\n```', "inform"),
        ('{"query": ["cause"]} "constraint": [{"term": "age", "values": ["5"]}]}', "constraint"),
        ('{"queries": ["cause"], "constraint": []}', "query"),
    ],
)
def test_another_field_in_place_of_the_constraints_is_named(completion, named):
    with pytest.raises(ExtractionError) as caught:
        parse_question(completion)
    assert (caught.value.kind, caught.value.raw) == ("unreadable-completion", completion)
    assert repr(named) in str(caught.value)


def test_a_field_that_breaks_off_makes_a_question_incomplete():
    assert parse_question('{"query": ["cause"]}').complete
    for completion in (
        '{"query": ["cause"], "constr',
        '{"query": ["cause"], "inform": [], "constraint": [{"term": "age',
    ):
        assert not parse_question(completion).complete
