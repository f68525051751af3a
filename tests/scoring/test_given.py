"""What is no text, or no list, is not scored and says so, however it is given."""

from __future__ import annotations

import math
from typing import Any

import pytest

from imapeval import Scorer

USER = {"role": "user", "content": "How is gout treated?"}
ASSISTANT = {"role": "assistant", "content": "Rest."}


@pytest.fixture(scope="module")
def scorer() -> Any:
    with Scorer() as opened:
        yield opened


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reference": math.nan}, "the references are not a list but nan"),
        ({"reference": 5}, "the references are not a list but 5"),
        ({"reference": ["Rest.", None]}, "a reference is empty or not a text"),
        ({"response": math.nan}, "the response is not a text but nan"),
        ({"question": None, "turns": 5}, "the turns are not a list but 5"),
        ({"question": None, "turns": [5]}, "turn 1 is not an object but 5"),
        ({"question": None, "turns": "Hello."}, "the turns are no JSON"),
        ({"question": None, "turns": [USER], "response": None}, "there is no response"),
        ({"question": None, "turns": [], "response": None}, "there is nothing in the dialogue"),
    ],
)
def test_what_cannot_be_read_is_not_scored(scorer: Scorer, fields: dict[str, Any], reason: str):
    given: dict[str, Any] = {"question": USER["content"], "reference": "Rest.", "response": "Rest.", **fields}
    found = scorer.score(**given)
    assert found.value is None
    assert reason in found.reason


def test_a_row_of_a_dialogue_without_a_response_is_not_scored(scorer: Scorer):
    (found,) = scorer.score_all([{"turns": [USER], "reference": "Rest.", "response": None}])
    assert "there is no response" in found.reason


def test_the_last_turn_is_the_response_where_none_is_given(scorer: Scorer):
    found = scorer.score(turns=(USER, ASSISTANT), response=None, reference="Rest.")
    assert found.value == scorer.score(turns=[USER], response="Rest.", reference="Rest.").value == 1.0
