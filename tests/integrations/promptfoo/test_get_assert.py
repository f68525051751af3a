"""What the assertion gives, without promptfoo; test_promptfoo.py has it with promptfoo."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from imapeval import Scorer
from imapeval.errors import ServiceError, UsageError
from imapeval.integrations.adapter import shared_scorer
from imapeval.integrations.promptfoo import get_assert
from tests.integrations.answers import ROWS

ASTHMA = {"question": "How is asthma treated?", "reference": "Salbutamol and inhaled steroids."}


def grade(output: Any, vars_: dict[str, Any] = ASTHMA, **config: Any) -> dict[str, Any]:
    found = get_assert(output, {"vars": vars_, **({"config": config} if config else {})})
    json.dumps(found, allow_nan=False)  # it goes to promptfoo as JSON
    return found


@pytest.mark.slow
def test_the_same_numbers_as_the_command_from_several_threads(expected):
    with ThreadPoolExecutor(4) as pool:
        grades = list(pool.map(lambda row: grade(row["response"], row), ROWS * 3))
    for row, found in zip(ROWS * 3, grades, strict=True):
        assert found["namedScores"].get("imapscore") == expected[row["id"]]
        assert found["score"] == (expected[row["id"]] or 0)
        assert found["pass"] is (expected[row["id"]] is not None)


def test_a_score_comes_with_its_parts_and_its_reason():
    found = grade(ROWS[0]["response"], ROWS[0])
    ours = Scorer().score(**{key: ROWS[0][key] for key in ("question", "reference", "response")})
    assert found == {
        "pass": True,
        "score": ours.value,
        "reason": ours.reason,
        "namedScores": {
            "imapscore": ours.value,
            "imapscore_recall": ours.parts["recall"],
            "imapscore_precision": ours.parts["precision"],
        },
    }


def test_what_is_not_scored_fails_without_a_named_score():
    assert grade("Drink water.", ROWS[3]) == {
        "pass": False,
        "score": 0,
        "reason": "not scored: the question has no words (extraction/no-query)",
        "namedScores": {},
        "metadata": {"not_scored": {"imapscore": "extraction/no-query"}},
    }


def test_a_second_metric_that_fails_is_told_beside_the_first():
    found = grade("Drink water.", ROWS[3], metrics="rouge1,imapscore", threshold=0.0)
    assert found["pass"]
    assert found["namedScores"] == {"rouge1": found["score"]}
    assert found["reason"].endswith("imapscore is not scored: the question has no words")
    assert found["metadata"] == {"verdict": "pass", "not_scored": {"imapscore": "extraction/no-query"}}


@pytest.mark.parametrize(("threshold", "passes", "close"), [(0.4, True, True), (0.6, False, True), (0.9, False, False)])
def test_a_repeated_score_near_the_threshold_is_too_close_to_call(
    repeated: Any, threshold: float, passes: bool, close: bool
):
    found = grade("Salbutamol.", metrics=[repeated], threshold=threshold)
    assert (found["pass"], "oo close to call" in found["reason"]) == (passes, close)
    assert (found["metadata"]["verdict"] == "too close to call") is close


@pytest.mark.parametrize(("threshold", "passes"), [(0.3, True), (0.9, False), (None, True), (0, True)])
def test_threshold(threshold: float | None, passes: bool):
    assert grade(ROWS[0]["response"], ROWS[0], threshold=threshold)["pass"] is passes


def test_where_lower_is_better_a_threshold_is_the_most_that_passes(monkeypatch: pytest.MonkeyPatch):
    first = type(shared_scorer(metrics="chrf").metrics[0])
    monkeypatch.setattr(first, "higher_is_better", False)
    assert grade(ASTHMA["reference"], metrics="chrf", threshold=50)["pass"] is False
    assert grade("Nothing.", metrics="chrf", threshold=50)["pass"] is True


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (None, "there is no response"),
        ({"text": "Salbutamol."}, "not a text"),
        ("x" * 10_000_000, "too-long"),
    ],
)
def test_what_is_no_answer(output: Any, said: str):
    found = grade(output)
    assert not found["namedScores"]
    assert said in found["reason"]


@pytest.mark.parametrize("output", ["", " \n", "\U0001f600\U0001f489", "<b>{{ 7 * 7 }}</b>\x00|pipe|"])
def test_what_an_answer_with_nothing_in_it_is_worth(output: str):
    assert grade(output)["namedScores"]["imapscore"] < 0.2


@pytest.mark.parametrize(
    ("vars_", "said"),
    [
        ({"question": ASTHMA["question"]}, "no-reference"),
        ({**ASTHMA, "reference": ""}, "no-reference"),
        ({**ASTHMA, "reference": None}, "no-reference"),
        ({"reference": ASTHMA["reference"]}, "the question is empty"),
        ({}, "the question is empty"),
    ],
)
def test_what_a_test_lacks(vars_: dict[str, Any], said: str):
    found = grade("Salbutamol.", vars_)
    assert (found["score"], found["namedScores"]) == (0, {})
    assert said in found["reason"]


def test_several_references_and_variables_of_other_names():
    several = ["Inhaled steroids.", "Salbutamol."]
    alone = [grade("Salbutamol.", {"question": ASTHMA["question"], "reference": text})["score"] for text in several]
    mean = pytest.approx(sum(alone) / 2, abs=1e-4)  # scores are printed with four decimals
    assert grade("Salbutamol.", {"question": ASTHMA["question"], "references": several})["score"] == mean
    named = {"input": ASTHMA["question"], "ideal": several}
    assert grade("Salbutamol.", named, question_key="input", reference_key="ideal")["score"] == mean


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"treshold": 0.5}, "treshold"),
        ({"threshold": "0.5"}, "'0.5'"),
        ({"threshold": True}, "True"),
        ({"threshold": float("nan")}, "nan"),
        ({"metrics": "imapscor"}, "imapscor\\b.*imapscore\\b"),
        ({"reference_key": "ideal"}, "'ideal'.*question, reference"),
        ({"llm": "nobody:x"}, "nobody:x"),
    ],
)
def test_an_invalid_option_is_named(config: dict[str, Any], said: str):
    with pytest.raises(UsageError, match=said):
        grade("Salbutamol.", **config)


def test_a_language_model_and_its_tokens(chat_server):
    with chat_server() as (url, _):
        found = grade("Salbutamol.", llm="openai:stub", base_url=url)
    assert found["namedScores"]["imapscore"] > 0, found
    assert found["tokensUsed"] == {"total": 15, "prompt": 9, "completion": 6, "cached": 0, "numRequests": 3}


@pytest.mark.slow
def test_a_server_that_is_down_is_nobodys_score():
    with pytest.raises(ServiceError, match=r"127\.0\.0\.1:9"):
        grade("Salbutamol.", llm="openai:stub", base_url="http://127.0.0.1:9/v1")
