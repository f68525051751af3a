"""Scores weighted by their probabilities, worked out by hand."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.llm.protocol import Completion, Token, Usage
from imapeval.metrics.judges.parsing.scale import ONE_TO_FIVE, Scale
from imapeval.metrics.judges.parsing.scores import LABELS, ReplyForm, find_scores
from imapeval.metrics.judges.parsing.weights import WeightedScore, weight_by_logprobs


def completion_of(*tokens: Token, text: str | None = None) -> Completion:
    return Completion(
        "".join(token.text for token in tokens) if text is None else text, "stop", "m", Usage(1, 1), tokens=tokens
    )


def weigh(completion, *, scale=ONE_TO_FIVE, labels=LABELS):
    form = ReplyForm({"": labels}, scale, fields=["why"], reasons_first=True)
    return weight_by_logprobs(completion, find_scores(completion.text, form)[""].at, scale=scale)


def place(text: str, **chances: float) -> Token:
    """A token at whose place others were as likely as said, it alone by default; `_4` is " 4"."""
    top = {name.replace("_", " ").replace("n", ""): chance for name, chance in chances.items()} or {text: 1.0}
    return Token(text, math.log(top.get(text, 1.0)), tuple((name, math.log(chance)) for name, chance in top.items()))


def test_a_score_is_the_mean_of_all_weighted_by_probability():
    # (.5 * 4 + .3 * 5 + .2 * 3) / 1 = 4.1
    weighed = weigh(completion_of(Token('{"score": ', 0.0), place("4", n4=0.5, n5=0.3, n3=0.2), Token("}", 0.0)))
    assert weighed is not None
    assert weighed.value == pytest.approx(4.1, abs=1e-12)
    assert weighed.mass == pytest.approx(1.0, abs=1e-12)


def test_white_space_between_the_parts_of_an_object_changes_nothing():
    """SmolLM2, held to a schema by llama.cpp, puts empty lines around the colon."""
    weighed = weigh(completion_of(Token('{\n\n"score"\n\n:\n\n', 0.0), place("4", n4=0.5, n2=0.5), Token("\n\n}", 0.0)))
    assert weighed is not None
    assert weighed.value == pytest.approx(3.0, abs=1e-12)


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
    for before, text in (("", "4"), ('{"score":', " 4}")):
        weighed = weigh(completion_of(Token(before, 0.0), replace(token, text=text)))
        assert weighed is not None
        assert weighed.value == pytest.approx(3.1 / 0.9, abs=1e-12)


@pytest.mark.parametrize("logprob", [math.nan, math.inf, 1.0, 1e4])
def test_a_probability_that_is_none_is_not_known(logprob):
    assert weigh(completion_of(Token("4", 0.0, (("4", logprob), ("5", math.log(0.5)))))) is None


def test_what_the_server_rules_out_has_no_probability():
    top = (("4", math.log(0.5)), ("5", -math.inf))
    assert weigh(completion_of(Token("4", math.log(0.5), top))) == WeightedScore(4.0, pytest.approx(0.5))
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


def test_the_score_has_its_weights_where_others_texts_name_it_too():
    before = '{"why": "\\"score\\": 4 would do. Score: 4", "score": '
    weighed = weigh(completion_of(Token(before, 0.0), place("4", n4=0.75, n1=0.25), Token("}", 0.0)))
    assert weighed == WeightedScore(pytest.approx(3.25), pytest.approx(1.0))


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
    assert isinstance(weighed, WeightedScore)
    assert 1 - 1e-9 <= weighed.value <= 5 + 1e-9
    assert 0 < weighed.mass <= 1


def test_weights_of_other_scales():
    # .5 * 0 + .25 * 9 + .25 * 5, of a mass of 1.
    token = place("0", n0=0.5, n9=0.25, n5=0.25)
    weighed = weigh(completion_of(token), scale=Scale(0, 9))
    assert weighed == WeightedScore(pytest.approx(0.25 * 9 + 0.25 * 5), pytest.approx(1.0))
    behind = (Token("Of 3 it meets 2.\nEmpathy: ", 0.0), place("4", n4=0.5, n2=0.5))
    assert weigh(completion_of(*behind), labels=(*LABELS, "empathy")) == WeightedScore(
        pytest.approx(3.0), pytest.approx(1.0)
    )


HALF_POINTS = Scale(0, 5, half_points=True)


@pytest.mark.parametrize(
    ("tokens", "value"),
    [
        # .6 * 3 + .4 * 4, and in 8 of 10 cases one half more.
        (
            (
                place("3", n3=0.6, n4=0.4),
                Token(".", 0.0, ((".", 0.0),)),
                Token("5", math.log(0.8), (("5", math.log(0.8)), ("0", math.log(0.2)))),
            ),
            3.8,
        ),
        # The model chose 3, but would have written a point in 1 of 4 cases.
        ((place("3", n3=1.0), Token("}", math.log(0.75), (("}", math.log(0.75)), (".", math.log(0.25))))), 3.125),
        # ".5" as one token has 1 in 5 cases; ".0" is no half point, whether the model chose it or not.
        (
            (
                place("4", n4=1.0),
                Token("}", math.log(0.3), ((".0", math.log(0.5)), ("}", math.log(0.3)), (".5", math.log(0.2)))),
            ),
            4.1,
        ),
        ((place("4", n4=1.0), Token(".0", math.log(0.5), ((".0", math.log(0.5)), (".5", math.log(0.5))))), 4.25),
        # The two ways to write it: .2 + .4 * 1
        (
            (
                place("4", n4=1.0),
                Token(".", math.log(0.4), ((".", math.log(0.4)), (".5", math.log(0.2)), ("}", math.log(0.4)))),
                Token("5", 0.0, (("5", 0.0),)),
            ),
            4.3,
        ),
        ((place("3", n3=1.0), Token(".5", math.log(0.5), ((".5", math.log(0.5)), ("}", math.log(0.5))))), 3.25),
        # One token each.
        (
            (Token("3.5", math.log(0.5), (("3.5", math.log(0.5)), ("4", math.log(0.25)), ("2.0", math.log(0.25)))),),
            3.25,
        ),
        # Nothing is above the scale.
        ((place("5", n5=1.0), Token(",", math.log(0.9), ((",", math.log(0.9)), (".", math.log(0.1))))), 5.0),
        ((place("2", n2=0.5, n3=0.5),), 2.5),
    ],
)
def test_half_points(tokens, value):
    closing = () if tokens[-1].text == "}" else (place(' "why": ""}' if tokens[-1].text == "," else "}"),)
    weighed = weigh(completion_of(Token('{"score": ', 0.0), *tokens, *closing), scale=HALF_POINTS)
    assert weighed is not None
    assert weighed.value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    "behind", [Token(".", 0.0), Token(".", 0.0, ((".", math.nan),)), Token(".", 0.0, ((".", -math.inf),))]
)
def test_half_points_of_unknown_probability(behind):
    assert weigh(completion_of(place("3", n3=1.0), behind, Token("5", 0.0)), scale=HALF_POINTS) is None
