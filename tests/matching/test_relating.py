import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.matching.relating import MAX_WORDS, RELATIONS_SCHEMA, Answer, Verdict, list_pairs, parse_relations
from imapeval.types import Match, Relation

ENTRIES = [
    {"pair": 2, "why": "b is a kind of B", "relation": "belonging"},
    {"pair": 5, "why": "e means E", "relation": "exact"},
]
COMPLETION = json.dumps({"relations": ENTRIES})
VERDICTS = {2: Verdict(Relation.BELONGING, "b is a kind of B"), 5: Verdict(Relation.EXACT, "e means E")}


@pytest.mark.parametrize(
    "completion",
    [
        COMPLETION,
        f"```json\n{COMPLETION}\n```",
        f"Here they are: {COMPLETION} Do you need {{more}}?",
        f'<think>Is it {{"relations": []}}?</think>{COMPLETION}',
        f"{COMPLETION}\n{COMPLETION}",
        json.dumps(ENTRIES),
        COMPLETION.replace('"exact"', '" Exact"').replace("relations", "Relations"),
        COMPLETION.replace('"pair": 2', '"pair": "2"'),
        json.dumps({"relations": [*ENTRIES, ENTRIES[0]]}),
    ],
)
def test_reads_relations_whatever_their_wrapping(completion):
    assert parse_relations(completion, pairs=5) == Answer(VERDICTS, {}, ())


@pytest.mark.parametrize("completion", ['{"relations": []}', "[]", "```\n[]\n```"])
def test_nothing_listed_is_nothing_related(completion):
    assert parse_relations(completion, pairs=5) == Answer({}, {}, ())


@pytest.mark.parametrize(
    "entry",
    [
        {"pair": 0, "relation": "exact"},
        {"pair": -2, "relation": "exact"},
        {"pair": 6, "relation": "exact"},
        {"pair": 1.0, "relation": "exact"},
        {"pair": True, "relation": "exact"},
        {"pair": None, "relation": "exact"},
        {"pair": "²", "relation": "exact"},
        {"pair": "9" * 5000, "relation": "exact"},
        {"pair": [1], "relation": "exact"},
        {"reference": "penicillin", "response": "antibiotics", "relation": "belonging"},
        "1",
        1,
        None,
        ["exact"],
    ],
)
def test_what_names_no_listed_pair_is_left_out_and_reported(entry):
    answer = parse_relations(json.dumps({"relations": [*ENTRIES, entry]}), pairs=5)
    assert answer == Answer(VERDICTS, {}, (json.dumps(entry),))
    # Alone it is not "nothing is related".
    with pytest.raises(ExtractionError, match="none of its 1 entries names a listed pair and a relation"):
        parse_relations(json.dumps({"relations": [entry]}), pairs=5)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["belonging", "containment"], ("belonging", "containment")),
        (["exact", "unmatched", " Exact"], ("exact", "unmatched")),
        (["exact", "similar"], ("exact", "similar")),
        (["Similar\n\ud800"], ("similar ?",)),
        ([["exact"]], ("",)),
        ([None], ("",)),
    ],
)
def test_a_pair_of_which_no_one_relation_is_said_keeps_none(said, words):
    entries = [{"pair": 1, "relation": word} for word in said]
    answer = parse_relations(json.dumps({"relations": [*ENTRIES, *entries]}), pairs=5)
    assert answer == Answer(VERDICTS, {1: words}, ())


@pytest.mark.parametrize("entries", [[{"pair": 1, "relation": "similar"}], [{"pair": 1}], {}])
def test_a_list_without_any_relation_is_not_nothing_related(entries):
    with pytest.raises(ExtractionError, match="none of its 1 entries names a listed pair and a relation"):
        parse_relations(json.dumps({"relations": entries}), pairs=5)


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
        '{"related": [{"pair": 1, "relation": "exact"}]}',
        f'{COMPLETION} or rather {{"relations": []}}',
    ],
)
def test_what_cannot_be_read_is_an_error_with_the_raw_text(completion):
    with pytest.raises(ExtractionError) as caught:
        parse_relations(completion, pairs=5)
    kind = "different-objects" if " or rather " in completion else "unreadable-completion"
    assert (caught.value.kind, caught.value.raw) == (kind, completion)


def test_reasons_are_one_short_line_that_can_be_written():
    entry = {"pair": 1, "why": "so\n\ud800 " + "x" * 1000, "relation": "exact"}
    why = parse_relations(json.dumps({"relations": [entry]}), pairs=1).verdicts[1].why
    assert why.startswith("so ? xxx")
    assert len(why) == MAX_WORDS
    assert parse_relations('{"relations": [{"pair": 1, "relation": "exact"}]}', pairs=1).verdicts[1].why == ""


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
    return "\n".join(f"{entry['pair']}-{entry['relation']}" for entry in ENTRIES)


def translate(rng, text):
    return text.replace("exact", "相同").replace("relations", rng.choice(["relations", "关系"]))


def nest(rng, text):
    return text.replace("[", "[" * rng.choice([2, 900, 5000]), 1)


@pytest.mark.parametrize("mutate", [cut, garble, fence, double, put_in_lines, translate, nest])
def test_no_mutation_crashes_or_invents_a_pair(mutate):
    rng = random.Random(7)
    for _ in range(60):
        completion = mutate(rng, COMPLETION)
        try:
            answer = parse_relations(completion, pairs=5)
        except ExtractionError:
            continue
        assert set(answer.verdicts) | set(answer.unclear) <= set(range(1, 6))
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
            | st.sampled_from(["exact", "1", "pair"])
            | st.text(),
            lambda inner: (
                st.lists(inner) | st.dictionaries(st.sampled_from(["relations", "pair", "relation", "why"]), inner)
            ),
        ),
    )
)
def test_any_text_is_read_or_refused(completion):
    try:
        answer = parse_relations(completion, pairs=3)
    except ExtractionError:
        return
    assert set(answer.verdicts) | set(answer.unclear) <= {1, 2, 3}
    assert set(answer.verdicts).isdisjoint(answer.unclear)


@settings(deadline=None)
@given(st.dictionaries(st.integers(1, 40), st.tuples(st.sampled_from(Relation), st.text(max_size=50))))
def test_what_is_written_is_read(said):
    entries = [{"pair": pair, "why": why, "relation": relation} for pair, (relation, why) in said.items()]
    answer = parse_relations(json.dumps({"relations": entries}), pairs=40)
    assert {pair: verdict.relation for pair, verdict in answer.verdicts.items()} == {p: r for p, (r, _) in said.items()}
    assert not answer.unclear
    assert not answer.dropped


def test_pairs_are_listed_below_their_terms_and_quoted():
    matches = [
        Match("treatment", 'the "cure"', "rest", Relation.UNMATCHED, 0.0, "encoder"),
        Match("treatment", "休息", 'x"; response "y\n2. reference', Relation.UNMATCHED, 0.0, "encoder"),
        Match("cause\n", "a", "b", Relation.UNMATCHED, 0.0, "encoder"),
    ]
    assert list_pairs(matches) == (
        'term "treatment"\n'
        '1. reference "the \\"cure\\""; response "rest"\n'
        '2. reference "休息"; response "x\\"; response \\"y\\n2. reference"\n'
        'term "cause\\n"\n'
        '3. reference "a"; response "b"'
    )


def test_the_schema_allows_the_four_relations_and_nothing_else():
    record = RELATIONS_SCHEMA["$defs"]["RelationRecord"]
    assert record["properties"]["relation"]["enum"] == [str(relation) for relation in Relation]
    assert list(record["properties"]) == ["pair", "why", "relation"]
    assert record["additionalProperties"] is False
