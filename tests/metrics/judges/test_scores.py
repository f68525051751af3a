"""Scores as judges write them, and weights worked out by hand."""

import contextlib
import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import ExtractionError
from imapeval.llm.client import Completion, Token, Usage
from imapeval.metrics.judges.scores import Scale, Weighed, read_result, read_score, read_scores, weigh

KEYS = ("accuracy", "completeness", "specificity")


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        ('{"score": 4}', 4),
        ('{"score":"4"}', 4),
        ('{"score": 4.0}', 4),
        ('{"Score": 2}', 2),
        ('```json\n{"score": 5}\n```', 5),
        ("4", 4),
        ("４", 4),
        ("4/5", 4),
        ("4 out of 5", 4),
        ("**Score:** 3", 3),
        ("- Accuracy: 4", 4),
        ("Score (1-5): 4", 4),
        ("Score (1..5): 4", 4),
        ("Accuracy (1-5): 4", 4),
        ("**准确性评分（1～5）**：4分", 4),
        ("Score [1 to 5]: 4/5", 4),
        ("Score = 1.", 1),
        ("准确性评分：3分", 3),
        ("得分：4／5", 4),
        ('<think>Perhaps 2, or 3?</think>\n{"score": 5}', 5),
        ("He takes 3 tablets for 14 days.\nScore: 2", 2),
        ('{"score": 3}\n{"score": 3}', 3),
    ],
)
def test_a_score_is_read(completion, score):
    assert read_score(completion) == score


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ('{"score": 6}', "off-scale"),
        ('{"score": 0}', "off-scale"),
        ('{"score": -1}', "off-scale"),
        ('{"score": 4.5}', "off-scale"),
        ("6/5", "off-scale"),
        ("4.5", "off-scale"),
        ("Score: 4,5", "off-scale"),
        ("Score: 1,000", "off-scale"),
        ("Score: −4", "off-scale"),
        ("4/10", "off-scale"),
        ("8 out of 10", "off-scale"),
        ("3-4", "off-scale"),
        ("Score: 3 to 4", "off-scale"),
        ("3或4", "off-scale"),
        ("9" * 5000, "off-scale"),
        ('{"score": 4, "score": 5}', "different-scores"),
        ("I would say 4, or rather 5.", "different-scores"),
        ("", "no-score"),
        ("{}", "no-score"),
        ('{"score": null}', "no-score"),
        ("good", "no-score"),
        ("1. The answer is complete.", "no-score"),
        ("四", "no-score"),
        ("<think>The answer is", "only-thinking"),
        ("I'm sorry, but I cannot rate medical advice.", "refusal"),
        ("抱歉，我无法提供评分。", "refusal"),
        ('{"score":' + " " * 200, "whitespace-loop"),
    ],
)
def test_what_is_no_score_has_a_name_and_is_never_guessed(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read_score(completion)
    assert caught.value.kind == kind
    assert caught.value.raw == completion


@given(st.text())
def test_any_text_is_a_score_or_an_error(text):
    with contextlib.suppress(ExtractionError):
        assert 1 <= read_score(text) <= 5


def test_several_scores_are_read_out_of_an_object_or_lines():
    expected = {"accuracy": 4, "completeness": 3, "specificity": 5}
    assert read_scores(json.dumps({"why": "accuracy: 1, 2, 3", **expected}), KEYS) == expected
    assert read_scores("Accuracy (1-5): 4\nCompleteness (1-5): 3\nSpecificity (1-5): 5", KEYS) == expected
    assert read_scores("Accuracy: 4\nCompleteness: 3/5\n**Specificity**: 5", KEYS) == expected


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ('{"accuracy": 4, "completeness": 3}', "no-score"),
        ('{"accuracy": 4, "completeness": 3, "specificity": 6}', "off-scale"),
        ('{"accuracy": true, "completeness": 3, "specificity": 5}', "no-score"),
        (
            '{"accuracy": 4, "completeness": 3, "specificity": 5} {"accuracy": 1, "completeness": 3, "specificity": 5}',
            "different-scores",
        ),
        ("Accuracy: 4\nAccuracy: 2\nCompleteness: 3\nSpecificity: 5", "different-scores"),
    ],
)
def test_one_score_that_is_missing_or_wrong_is_enough(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read_scores(completion, KEYS)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("completion", "score"),
    [
        ("It is right. [RESULT] 4", 4),
        ("A score of 5 would need doses, so: [RESULT] 3", 3),
        ("(feedback) [Result]: (2)", 2),
        ("Good. [RESULT] 5/5", 5),
    ],
)
def test_a_result_is_read(completion, score):
    assert read_result(completion) == score


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ("It deserves a score of 4.", "no-score"),
        ("[RESULT]", "no-score"),
        ("[RESULT] good", "no-score"),
        ("[RESULT] 6", "off-scale"),
        ("[RESULT] 4.5", "off-scale"),
        ("[RESULT] 4 and then [RESULT] 2", "different-scores"),
        ("[RESULT] 4 5", "different-scores"),
        ("[RESULT] (4), 5", "different-scores"),
    ],
)
def test_a_result_is_never_guessed(completion, kind):
    with pytest.raises(ExtractionError) as caught:
        read_result(completion)
    assert caught.value.kind == kind


def completion_of(*tokens: Token, text: str | None = None) -> Completion:
    return Completion(
        "".join(token.text for token in tokens) if text is None else text, "stop", "m", Usage(1, 1), tokens=tokens
    )


def place(text: str, **chances: float) -> Token:
    """A token at whose place others were as likely as said; `_4` is " 4"."""
    top = {name.replace("_", " ").replace("n", ""): chance for name, chance in chances.items()}
    return Token(text, math.log(top.get(text, 1.0)), tuple((name, math.log(chance)) for name, chance in top.items()))


def test_a_score_is_the_mean_of_all_weighted_by_probability():
    # (.5 * 4 + .3 * 5 + .2 * 3) / 1 = 4.1
    weighed = weigh(completion_of(Token('{"score": ', 0.0), place("4", n4=0.5, n5=0.3, n3=0.2), Token("}", 0.0)))
    assert weighed is not None
    assert weighed.value == pytest.approx(4.1, abs=1e-12)
    assert weighed.mass == pytest.approx(1.0, abs=1e-12)


def test_what_is_no_score_has_no_weight():
    # (.4 * 2 + .2 * 4) / .6 = 2.6667; the same score with and without a space is one.
    weighed = weigh(completion_of(place("2", n2=0.3, _2=0.1, n4=0.2, n6=0.2, n0=0.1, Two=0.1)))
    assert weighed is not None
    assert weighed.value == pytest.approx(8 / 3, abs=1e-12)
    assert weighed.mass == pytest.approx(0.6, abs=1e-12)


def test_a_score_may_share_its_token_with_what_follows():
    # (.5 * 4 + .3 * 2 + .1 * 5) / .9; "4.", "3/" and "41" may be other numbers.
    top = {"4": 0.5, " 2}": 0.3, '5"}\n': 0.1, "4.": 0.04, "3/": 0.03, "41": 0.03}
    token = Token("4", math.log(0.5), tuple((text, math.log(chance)) for text, chance in top.items()))
    for text in ("4", " 4}"):
        weighed = weigh(completion_of(replace(token, text=text)))
        assert weighed is not None
        assert weighed.value == pytest.approx(3.1 / 0.9, abs=1e-12)


@pytest.mark.parametrize("logprob", [math.nan, math.inf, 1.0, 1e4])
def test_a_probability_that_is_none_is_not_known(logprob):
    assert weigh(completion_of(Token("4", 0.0, (("4", logprob), ("5", math.log(0.5)))))) is None


def test_what_the_server_rules_out_has_no_probability():
    top = (("4", math.log(0.5)), ("5", -math.inf))
    assert weigh(completion_of(Token("4", math.log(0.5), top))) == Weighed(4.0, pytest.approx(0.5))
    assert weigh(completion_of(Token("4", -math.inf, (("4", -math.inf),)))) is None


def test_a_tie_lies_between():
    weighed = weigh(completion_of(place("2", n2=0.5, n4=0.5)))
    assert weighed is not None
    assert weighed.value == pytest.approx(3.0, abs=1e-12)


def test_the_score_is_found_inside_a_token_and_behind_a_thought():
    whole = Token('":4}', math.log(0.75), (('":4}', math.log(0.75)), ('":1}', math.log(0.25)), ('":"', math.log(0.1))))
    weighed = weigh(
        completion_of(
            Token("<think>3?</think>", 0.0),
            Token('\n{"score', 0.0),
            whole,
            Token("<|im_end|>", 0.0),
            text='<think>3?</think>\n{"score":4}',
        )
    )
    assert weighed is not None
    assert weighed.value == pytest.approx(0.75 * 4 + 0.25 * 1, abs=1e-12)


@pytest.mark.parametrize(
    "completion",
    [
        completion_of(text='{"score": 4}'),
        completion_of(Token('{"score": ', 0.0), Token("4", 0.0), Token("}", 0.0)),
        completion_of(Token("quite another text", 0.0), text='{"score": 4}'),
    ],
    ids=["no tokens", "no alternatives", "tokens of something else"],
)
def test_without_probabilities_there_is_no_weight(completion):
    assert weigh(completion) is None


@given(st.lists(st.floats(-30, 0), min_size=5, max_size=5), st.integers(1, 5))
def test_a_weighted_score_stays_on_the_scale(logprobs, score):
    top = tuple((str(number), logprob) for number, logprob in enumerate(logprobs, 1))
    weighed = weigh(completion_of(Token(str(score), logprobs[score - 1], top)))
    assert isinstance(weighed, Weighed)
    assert 1 - 1e-9 <= weighed.value <= 5 + 1e-9
    assert 0 < weighed.mass <= 1


@pytest.mark.parametrize(
    ("completion", "low", "high", "score"),
    [
        ("0", 0, 3, 0),
        ("10", 0, 10, 10),
        ("10/10", 1, 10, 10),
        ("Empathy (0-100): 85", 0, 100, 85),
        ("Empathy（0～100）：100/100", 0, 100, 100),
        ("-1", -2, 2, -1),
        ("**Empathy (-2-2)**: -2", -2, 2, -2),
        ("Of 7 points it makes 3. Empathy: 6", 1, 7, 6),
        ("Empathy: 2. Score: 3", 1, 5, 3),
    ],
)
def test_scores_of_other_scales(completion, low, high, score):
    assert read_score(completion, scale=Scale(low, high), labels=("score", "empathy")) == score


@pytest.mark.parametrize(("completion", "low", "high"), [("0", 1, 10), ("11", 0, 10), ("4/5", 0, 10), ("-1", 0, 10)])
def test_what_is_off_another_scale(completion, low, high):
    with pytest.raises(ExtractionError) as caught:
        read_score(completion, scale=Scale(low, high))
    assert caught.value.kind == "off-scale"


def test_weights_of_other_scales():
    # (.5 * 0 + .25 * 9) / .75
    token = place("0", n0=0.5, n9=0.25, n5=0.25)
    weighed = weigh(completion_of(token), scale=Scale(0, 9))
    assert weighed == Weighed(pytest.approx(0.25 * 9 + 0.25 * 5), pytest.approx(1.0))
    # "1" may be the first token of "10", so that it tells nothing.
    assert weigh(completion_of(place("1", n1=0.5, n9=0.5)), scale=Scale(0, 10)) is None
    behind = (Token("Of 3 it meets 2. Empathy: ", 0.0), place("4", n4=0.5, n2=0.5))
    assert weigh(completion_of(*behind), labels=("score", "empathy")) == Weighed(pytest.approx(3.0), pytest.approx(1.0))
