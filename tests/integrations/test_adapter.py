"""What adapters find in what a host hands over, and what they hand back."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from imapeval import Scorer
from imapeval.errors import UsageError
from imapeval.integrations.adapter import (
    QUESTION_KEYS,
    REFERENCE_KEYS,
    RESPONSE_KEYS,
    FieldKeys,
    HostScorer,
    RowColumns,
    choose_scorer,
    describe_score,
    shared_scorer,
)
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from tests.integrations.answers import PAGES

ASKED = "What treats flu?"


def read(asked: Any, answered: Any, expected: Any) -> dict[str, Any]:
    return FieldKeys().read(question=asked, response=answered, reference=expected)


class Message:
    """Like those of LangChain and of OpenAI's client: an object that can be dumped."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        {"question": ASKED},
        {"query": ASKED, "user": "7"},
        {"question": None, "input": ASKED},
        {"messages": ASKED},
    ],
)
def test_questions(asked: Any) -> None:
    assert read(asked, "Rest.", "Rest.") == {"question": ASKED, "response": "Rest.", "reference": "Rest."}


@pytest.mark.parametrize(
    "asked",
    [
        [{"role": "user", "content": ASKED}],
        {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASKED}]},
        [
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Yes?"},
            {"role": "user", "content": ASKED},
        ],
        {"question": {"role": "user", "content": [{"type": "text", "text": "What treats "}, "flu?"]}},
        [Message(type="human", content=ASKED)],
        [Message(type="HumanMessageChunk", content=ASKED)],
    ],
)
def test_questions_in_messages(asked: Any) -> None:
    found = read(asked, "Rest.", "Rest.")
    with Scorer("rouge1") as scorer:
        scored = scorer.score(**found)
    assert scored.value == 1
    assert scored.sample.question.endswith(ASKED)


@pytest.mark.parametrize("role", ["system", "assistant"])
def test_a_message_that_is_not_the_users_asks_nothing(role: str) -> None:
    with Scorer("rouge1") as scorer:
        scored = scorer.score(**read([{"role": role, "content": "I am brief."}], "Rest.", "Rest."))
    assert scored.failure is not None
    assert scored.failure.kind == "bad-input"


def test_tools_say_nothing_in_a_dialogue() -> None:
    messages = [
        {"role": "user", "content": "I have flu."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": "39 °C"},
        {"role": "assistant", "content": "Since when?"},
        {"role": "user", "content": "Today."},
    ]
    turns = read(messages, "", "")["turns"]
    assert [turn["content"] for turn in turns] == ["I have flu.", "Since when?", "Today."]


def test_a_dialogue_never_gives_the_response() -> None:
    messages = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "Rest."}]
    with Scorer("rouge1") as scorer:
        scored = scorer.score(**read(messages, None, "Rest."))
    assert scored.failure is not None
    assert scored.reason.startswith("not scored: there is no response")


@pytest.mark.parametrize(
    "answered",
    [
        "Rest.",
        {"answer": "Rest."},
        {"messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "Rest."}]},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Rest."}}]},
        {
            "output": [
                {"type": "reasoning"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "Rest."}]},
            ]
        },
        Message(choices=[{"message": {"role": "assistant", "content": "Rest."}}]),
        Message(type="ai", content="Rest."),
        # langchain-core 1.x: what is streamed, also once it is added up.
        Message(type="AIMessageChunk", content="Rest."),
        {"role": "assistant", "content": "Rest."},
    ],
)
def test_responses(answered: Any) -> None:
    assert read(ASKED, answered, None)["response"] == "Rest."


def test_of_several_choices_the_first_is_the_response() -> None:
    choices = [
        {"index": n, "message": {"role": "assistant", "content": text}} for n, text in enumerate(["Rest.", "No."])
    ]
    assert read(ASKED, {"choices": choices}, choices) == {"question": ASKED, "response": "Rest.", "reference": "Rest."}
    # Wrapped messages of a dialogue are no choices.
    dialogue = [{"message": {"role": "user", "content": ASKED}}, *choices]
    assert read(ASKED, dialogue, None)["response"] == "No."


@pytest.mark.parametrize("answered", [{"message": None}, {"message": 5}, {"message": "some content"}, Message])
def test_what_only_looks_like_a_message_is_handed_on(answered: Any) -> None:
    assert read(ASKED, answered, None)["response"] == answered
    assert read(ASKED, {"choices": [answered]}, None)["response"] == [answered]


@pytest.mark.parametrize("answered", [None, {}, float("nan"), {"answer": None}, [{"role": "user", "content": ASKED}]])
def test_nobody_answered(answered: Any) -> None:
    assert read(ASKED, answered, None)["response"] is None


@pytest.mark.parametrize(
    ("expected", "reference"),
    [
        ("Rest.", "Rest."),
        (["Rest.", "Sleep."], ["Rest.", "Sleep."]),
        (("Rest.", "Sleep."), ("Rest.", "Sleep.")),
        ({"references": ["Rest."], "reference": None}, ["Rest."]),
        ({"references": ["Rest."], "reference": float("nan")}, ["Rest."]),
        ({"expected_response": "Rest.", "guidelines": ["Be brief."]}, "Rest."),
        ({"messages": [{"role": "assistant", "content": "Rest."}]}, "Rest."),
        (None, None),
        ({}, None),
        (float("nan"), None),
    ],
)
def test_references(expected: Any, reference: Any) -> None:
    assert read(ASKED, "Rest.", expected)["reference"] == reference


@pytest.mark.parametrize("page", ["mlflow", "openevals", "langfuse"])
def test_the_pages_name_the_keys(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    for name, keys in (("question", QUESTION_KEYS), ("response", RESPONSE_KEYS), ("reference", REFERENCE_KEYS)):
        (row,) = (line for line in text.splitlines() if line.startswith(f"| {name} |"))
        assert row.endswith(f" | {', '.join(f'`{key}`' for key in keys)} |")


def test_keys_of_ones_own() -> None:
    found = FieldKeys(question="q", response="a", reference="gold").read(
        question={"q": ASKED, "question": "no"},
        response={"a": "Rest.", "answer": "no"},
        reference={"gold": "Sleep.", "answer": "no"},
    )
    assert found == {"question": ASKED, "response": "Rest.", "reference": "Sleep."}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("asked", {"q": ASKED}),
        ("answered", {"a": 1}),
        ("answered", 5),
        ("expected", {"gold": "Rest."}),
        ("expected", 5),
    ],
)
def test_what_holds_no_text_is_not_scored(field: str, value: Any) -> None:
    given = {"asked": ASKED, "answered": "Rest.", "expected": "Rest.", field: value}
    with Scorer("rouge1") as scorer:
        scored = scorer.score(**read(**given))
    assert scored.failure is not None
    assert scored.failure.kind == "bad-input"
    assert str(value) in scored.reason


def test_an_assessment_for_each_metric() -> None:
    with Scorer("imapscore,rouge1") as scorer:
        host = HostScorer(scorer=scorer)
        first, second = host.score(question="?!", response="Rest.", reference="Rest.")
        assert (first.metric, first.value, second.metric, second.value) == ("imapscore", None, "rouge1", 1)
        assert describe_score(first) == {"signature": first.signatures["imapscore"], "failure": "extraction/no-query"}
        scored = scorer.score(question=ASKED, reference="Rest.", response="Rest.")
        first, second = asyncio.run(host.ascore(question=ASKED, response="Rest.", reference="Rest."))
    # ROUGE does not look at facts.
    assert "facts" not in second.reason
    assert second.reason.startswith("rouge1 1.000")
    assert describe_score(first)["table"] == scored.table
    assert set(describe_score(second)) == {"signature", "parts"}
    assert json.dumps(describe_score(first))


def test_from_many_threads_at_once() -> None:
    host = HostScorer(metrics="rouge1")
    with ThreadPoolExecutor(16) as pool:
        found = pool.map(lambda _: host.score(question=ASKED, response="Rest.", reference="Rest.")[0].value, range(64))
        assert list(found) == [1.0] * 64


def test_rows() -> None:
    row = {
        "question": ASKED,
        "reference": None,
        "references": ["Rest.", "Sleep."],
        "lang": "English",
    }
    found = RowColumns().read(row, "Rest.")
    assert found == {**row, "response": "Rest.", "lang": None}
    found = RowColumns(reference="gold").read({**row, "gold": "Fluids.", "lang": "zh"}, None)
    assert found == {"question": ASKED, "reference": "Fluids.", "response": None, "lang": "zh"}
    with pytest.raises(UsageError, match="'asked'"):
        RowColumns(question="asked").read(row, "Rest.")


@pytest.mark.parametrize("reference", [None, "", " ", float("nan")])
@pytest.mark.parametrize("references", ['["Rest.", "Rest."]', ["Rest.", "Rest."], ("Rest.", "Rest.")])
def test_the_references_of_a_row_are_those_of_a_file(reference: Any, references: Any) -> None:
    row = {"question": ASKED, "reference": reference, "references": references}
    with Scorer("rouge1") as scorer:
        scored, both = scorer.score_all([RowColumns().read(r, "Rest.") for r in (row, {**row, "reference": "Rest."})])
    assert (scored.value, scored.parts["references"]) == (1, 2)
    assert both.failure is not None
    assert both.failure.kind == "bad-input"


def test_one_scorer_or_options() -> None:
    with Scorer("rouge1,rouge2") as scorer:
        assert choose_scorer(scorer, {}) is scorer
        assert choose_scorer(scorer, {"metrics": None}) is scorer
        with pytest.raises(UsageError, match="'votes'"):
            choose_scorer(scorer, {"votes": 3, "llm": None})
        with pytest.raises(UsageError, match="'mine'"):
            HostScorer(scorer=scorer, name="mine")
    assert choose_scorer(None, {"metrics": "rouge1"}) is choose_scorer(None, {"metrics": "rouge1"})
    with pytest.raises(UsageError, match="'mine'"):
        choose_scorer("mine", {})  # pyright: ignore[reportArgumentType]
    with pytest.raises(UsageError, match="'metric'"):
        choose_scorer(None, {"metric": "rouge1"})
    with pytest.raises(UsageError, match="'rouge99'"):
        choose_scorer(None, {"metrics": "rouge99"})


def test_scorers_are_shared_by_their_options() -> None:
    assert shared_scorer(metrics="rouge1") is shared_scorer(metrics="rouge1", llm=None)
    assert shared_scorer(metrics="rouge1") is not shared_scorer(metrics="rouge2")


def test_models_that_look_alike_are_told_apart_by_their_identity() -> None:
    class Quiet(ScriptedModel):
        def __repr__(self) -> str:
            return "Quiet()"

    one, other = (Quiet([], identity=name) for name in ("a", "b"))
    assert shared_scorer(llm=one) is shared_scorer(llm=one)
    assert shared_scorer(llm=one) is not shared_scorer(llm=other)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL"])
def test_a_key_or_server_that_is_corrected_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:8/v1")
    first = shared_scorer(metrics="rouge1")
    monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    assert shared_scorer(metrics="rouge1") is not first


@pytest.mark.parametrize(("name", "value"), [("metric", "rouge1"), ("kg", 5), ("max_cost", "5")])
def test_an_option_that_is_wrong_is_named(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"\b{name}\b"):
        shared_scorer(**{name: value, "llm": ScriptedModel([])})


def test_a_bug_in_a_metric_is_not_taken_for_a_wrong_option(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TypeError

    monkeypatch.setattr("imapeval.scoring.scorer.choose_metrics", fail)
    with pytest.raises(TypeError):
        shared_scorer(metrics="rougeL")


def test_what_a_model_cost() -> None:
    def refuse(_: object) -> Completion:
        return Completion("nothing to read", "stop", "scripted", Usage(100, 10))

    with Scorer("imapscore,rouge1", llm=ScriptedModel(refuse), price=Price(1.0, 2.0)) as scorer:
        scored, other = HostScorer(scorer=scorer).score(question=ASKED, response="Rest.", reference="Rest.")
    assert scored.failure is not None
    assert scored.spent is not None
    told = describe_score(scored)
    assert told["tokens"] == 110 * scored.spent.calls > 0
    assert told["usd"] == pytest.approx(scored.spent.calls * 120 / 1e6)
    # A sum over the scores counts it once.
    assert describe_score(other).keys().isdisjoint({"tokens", "usd"})
