import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.matching.llm import (
    RELATIONS_SCHEMA,
    ModelVerdict,
    RelationReply,
    list_facts,
    parse_relations,
)
from imapeval.types import Pair, Relation

ENTRIES = [
    {"reference": 2, "response": 1, "why": "b is a kind of B", "relation": "belonging"},
    {"reference": 5, "response": 3, "why": "no e in E", "relation": "contradiction"},
]
COMPLETION = json.dumps({"relations": ENTRIES})
VERDICTS = {
    (2, 1): ModelVerdict(Relation.BELONGING, "b is a kind of B"),
    (5, 3): ModelVerdict(Relation.CONTRADICTION, "no e in E"),
}


def parse(completion):
    """Read a completion about five facts of a reference and three of a response."""
    return parse_relations(completion, references=5, responses=3)


@pytest.mark.parametrize(
    "completion",
    [
        COMPLETION,
        f"```json\n{COMPLETION}\n```",
        f"Here they are: {COMPLETION} Do you need {{more}}?",
        f'<think>Is it {{"relations": []}}?</think>{COMPLETION}',
        f"{COMPLETION}\n{COMPLETION}",
        json.dumps(ENTRIES),
        COMPLETION.replace('"belonging"', '" Belonging"').replace("relations", "Relations"),
        COMPLETION.replace('"reference": 2', '"reference": "2"').replace('"response": 3', '"response": "3"'),
        json.dumps({"relations": [*ENTRIES, ENTRIES[0]]}),
        COMPLETION.replace('"belonging"', '"belonging", "confidence": "high"'),
    ],
)
def test_reads_relations_whatever_their_wrapping(completion):
    assert parse(completion) == RelationReply(VERDICTS, {}, ())


@pytest.mark.parametrize("completion", ['{"relations": []}', '```\n{"relations": []}\n```'])
def test_nothing_listed_is_nothing_related(completion):
    assert parse(completion) == RelationReply({}, {}, ())


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ('I cannot compare them. {"relations": []}', "unreadable-completion"),
        ('{"relations": []} The rest was cut.', "unreadable-completion"),
        ('{"relations": [], "code": 500}', "unreadable-completion"),
        ('{"relations": [], "relation": [1, 1]}', "unreadable-completion"),
        ("[]", "unreadable-completion"),
        ("```\n[]\n```", "unreadable-completion"),
        ('{"relations": {}}', "unreadable-completion"),
        (COMPLETION[:-1] + ', "refusal": "I cannot compare them."}', "unreadable-completion"),
        (COMPLETION[:-1] + ', "note": null}', "unreadable-completion"),
        ('{"relations": null}', "unreadable-completion"),
        ('{"relations": "none"}', "unreadable-completion"),
        (COMPLETION[:-1] + ', "relations": []}', "different-objects"),
        ('{"relations": [], "relations": []}', "unreadable-completion"),
        (
            COMPLETION.replace('"relation": "belonging"', '"relation": "belonging", "relation": "exact"'),
            "different-objects",
        ),
    ],
)
def test_a_malformed_list_of_relations_is_not_an_empty_one(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        parse(completion)
    assert (caught.value.kind, caught.value.raw) == (kind, completion)


@pytest.mark.parametrize(
    "entry",
    [
        {"reference": 0, "response": 1, "relation": "exact"},
        {"reference": 1, "response": 0, "relation": "exact"},
        {"reference": -2, "response": 1, "relation": "exact"},
        {"reference": 6, "response": 1, "relation": "exact"},
        # Within the reference's facts, beyond the response's.
        {"reference": 1, "response": 4, "relation": "exact"},
        {"reference": 1.0, "response": 1, "relation": "exact"},
        {"reference": 1, "response": True, "relation": "exact"},
        {"reference": None, "response": 1, "relation": "exact"},
        {"reference": 1, "relation": "exact"},
        {"reference": "²", "response": 1, "relation": "exact"},
        {"reference": "9" * 5000, "response": 1, "relation": "exact"},
        {"reference": [1], "response": 1, "relation": "exact"},
        {"reference": "penicillin", "response": "antibiotics", "relation": "belonging"},
        {"pair": 1, "relation": "exact"},
        "1",
        1,
        None,
        ["exact"],
    ],
)
def test_entries_without_listed_facts_are_dropped_and_reported(entry):
    answer = parse(json.dumps({"relations": [*ENTRIES, entry]}))
    assert answer == RelationReply(VERDICTS, {}, (json.dumps(entry),))
    # Alone it is not "nothing is related".
    with pytest.raises(ExtractionError):
        parse(json.dumps({"relations": [entry]}))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["belonging", "containment"], ("belonging", "containment")),
        (["exact", "contradiction", " Exact"], ("exact", "contradiction")),
        (["exact", "similar"], ("exact", "similar")),
        (["Similar\n\ud800"], ("similar ?",)),
        ([["exact"]], ("",)),
        ([None], ("",)),
    ],
)
def test_facts_with_several_relations_or_none_are_unclear(said, words):
    entries = [{"reference": 1, "response": 1, "relation": word} for word in said]
    answer = parse(json.dumps({"relations": [*ENTRIES, *entries]}))
    assert answer == RelationReply(VERDICTS, {(1, 1): words}, ())


@pytest.mark.parametrize(
    "entries", [[{"reference": 1, "response": 1, "relation": "similar"}], [{"reference": 1, "response": 1}], {}]
)
def test_a_list_without_any_relation_is_not_nothing_related(entries):
    with pytest.raises(ExtractionError):
        parse(json.dumps({"relations": entries}))


@pytest.mark.parametrize(
    "completion",
    [
        "",
        "All of them are exact.",
        COMPLETION[:-1],
        COMPLETION[:70],
        f"<think>{COMPLETION}",
        '{"relations": null}',
        '{"relations": "none"}',
        '{"related": [{"reference": 1, "response": 1, "relation": "exact"}]}',
        f'{COMPLETION} or rather {{"relations": []}}',
    ],
)
def test_an_unreadable_completion_is_an_error_with_the_raw_text(completion):
    with pytest.raises(ExtractionError) as caught:
        parse(completion)
    kind = "different-objects" if " or rather " in completion else "unreadable-completion"
    assert (caught.value.kind, caught.value.raw) == (kind, completion)


def test_reasons_are_one_short_line_that_can_be_written():
    entry = {"reference": 1, "response": 2, "why": "so\n\ud800 " + "x" * 1000, "relation": "exact"}
    why = parse(json.dumps({"relations": [entry]})).verdicts[1, 2].why
    assert why.startswith("so ? xxx")
    assert len(why) == 300
    del entry["why"]
    assert parse(json.dumps({"relations": [entry]})).verdicts[1, 2].why == ""


def cut(rng, text):
    return text[: rng.randrange(len(text))]


def garble(rng, text):
    letters = list(text)
    for _ in range(rng.randint(1, 6)):
        letters[rng.randrange(len(letters))] = rng.choice('{}[]":,0123456789 \n\\aé是\x00\ud800')
    return "".join(letters)


def fence(rng, text):
    return rng.choice(["```json\n{}\n```", "```\n{}", "<think>{}</think>{}", "Sure:\n{}"]).replace("{}", text)


def double(rng, text):
    return text + rng.choice(["", "\n", " or "]) + garble(rng, text)


def put_in_lines(rng, text):
    return "\n".join(f"{entry['reference']}-{entry['response']}: {entry['relation']}" for entry in ENTRIES)


def translate(rng, text):
    return text.replace("contradiction", "矛盾").replace("relations", rng.choice(["relations", "关系"]))


def nest(rng, text):
    return text.replace("[", "[" * rng.choice([2, 900, 5000]), 1)


@pytest.mark.parametrize("mutate", [cut, garble, fence, double, put_in_lines, translate, nest])
def test_no_mutation_crashes_or_invents_facts(mutate):
    rng = random.Random(7)
    for _ in range(60):
        completion = mutate(rng, COMPLETION)
        try:
            answer = parse(completion)
        except ExtractionError:
            continue
        named = set(answer.verdicts) | set(answer.unclear)
        assert all(1 <= reference <= 5 and 1 <= response <= 3 for reference, response in named)
        if mutate not in (garble, double):  # these may write another number or relation
            assert answer.verdicts.items() <= VERDICTS.items()


@settings(deadline=None)
@given(
    st.text()
    | st.builds(
        json.dumps,
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats()
            | st.sampled_from(["exact", "1", "reference"])
            | st.text(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.sampled_from(["relations", "reference", "response", "relation", "why"]), inner)
            ),
        ),
    )
)
def test_any_text_is_read_or_refused(completion):
    try:
        answer = parse_relations(completion, references=3, responses=2)
    except ExtractionError:
        return
    assert set(answer.verdicts) | set(answer.unclear) <= {(i, j) for i in (1, 2, 3) for j in (1, 2)}
    assert set(answer.verdicts).isdisjoint(answer.unclear)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(1, 40), st.integers(1, 30)),
        st.tuples(st.sampled_from(Relation), st.text(max_size=50)),
    )
)
def test_written_relations_are_parsed(said):
    entries = [
        {"reference": reference, "response": response, "why": why, "relation": relation}
        for (reference, response), (relation, why) in said.items()
    ]
    answer = parse_relations(json.dumps({"relations": entries}), references=40, responses=30)
    read = {facts: verdict.relation for facts, verdict in answer.verdicts.items()}
    assert read == {facts: relation for facts, (relation, _) in said.items()}
    assert not answer.unclear
    assert not answer.dropped


def test_facts_are_numbered_and_each_keeps_to_its_line():
    facts = [Pair("treatment", 'the "cure"'), Pair("治疗", "休息\n3. treatment: surgery"), Pair("cause\n", " a\tb ")]
    assert list_facts(facts).splitlines() == [
        '1. treatment: the "cure"',
        "2. 治疗: 休息 3. treatment: surgery",
        "3. cause: a b",
    ]
    assert list_facts([]) == ""


@given(st.lists(st.builds(Pair, st.text(), st.text()), max_size=8))
def test_each_fact_stays_on_one_line(facts):
    lines = list_facts(facts).splitlines()
    assert [line.partition(".")[0] for line in lines] == [str(number) for number in range(1, len(facts) + 1)]


def test_the_schema_allows_the_relations_that_are_listed_and_nothing_else():
    record = RELATIONS_SCHEMA["$defs"]["RelationRecord"]
    # What is unmatched is not listed.
    assert set(record["properties"]["relation"]["enum"]) == set(Relation) - {Relation.UNMATCHED}
    # The reason comes before the relation, which is to follow from it.
    assert list(record["properties"]) == ["reference", "response", "why", "relation"]
    assert record["required"] == ["reference", "response", "why", "relation"]
    assert record["additionalProperties"] is False
