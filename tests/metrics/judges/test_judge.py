import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.errors import UsageError
from imapeval.llm.protocol import Completion, Token, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts
from imapeval.metrics import imapscore
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges import blend
from imapeval.metrics.judges import judge as dimension_judge
from imapeval.metrics.options import set_options
from imapeval.types import Failure, Imap, Match, Pair, Relation, Score

(JUDGE,) = dimension_judge.build()
(BLEND,) = blend.build()

IMAP = Imap(
    (Pair("treatment", "?"),),
    (),
    reference=(Pair("treatment", "warm cloths"), Pair("advice", "see a doctor")),
    response=(Pair("treatment", "warm compress"), Pair("treatment", "rest")),
)
MATCHES = (
    Match("treatment", "warm cloths", "warm compress", Relation.EXACT, 0.9, "llm"),
    Match("treatment", "warm cloths", "rest", Relation.UNMATCHED, 0.1, "encoder"),
)
CASE = Case("1", "How is a boil treated?", "Use warm cloths.", "Use a warm compress.", "en", IMAP, MATCHES)


def rating(accuracy: float, completeness: float, specificity: float) -> str:
    scores = {"accuracy": accuracy, "completeness": completeness, "specificity": specificity}
    return json.dumps({key: text for name in scores for key, text in ((f"{name}_reason", "So."), (name, scores[name]))})


RATED = rating(4.5, 2, 4)


async def judge(metric, model, case=CASE):
    (outcome,) = await metric.prepare(MetricResources(llm=model)).ascore_batch([case])
    return outcome


async def test_it_is_the_mean_of_three_dimensions():
    model = ScriptedModel([RATED])
    assert await judge(JUDGE, model) == Score(
        3.5, {"accuracy": 4.5, "completeness": 2.0, "specificity": 4.0, "weighted": 0.0, "samples": 1.0}
    )
    # Without probabilities the one greedy completion is the rating: nothing is asked twice.
    (request,) = model.requests
    assert request.temperature == 0.0


async def test_the_replies_that_the_documentation_counts_are_in_the_form_asked_for():
    lines = (Path(__file__).parents[3] / "benchmarks" / "judge_replies.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [json.loads(line)["response"]["body"]["choices"][0]["message"]["content"] for line in lines]
    model = ScriptedModel(replies)
    scores = [await judge(JUDGE, model) for _ in replies]
    assert len(model.requests) == len(replies) == 100  # No reply is asked for again.
    assert all(isinstance(score, Score) for score in scores)


async def test_several_ratings_are_averaged_by_dimension():
    model = ScriptedModel(lambda request: rating(request.seed or 0, 1, 5))
    outcome = await judge(set_options(JUDGE, {"samples": "4", "weights": "samples"}), model)
    assert outcome.parts == {
        "accuracy": 2.5,
        "completeness": 1.0,
        "specificity": 5.0,
        "weighted": 0.0,
        "samples": 4.0,
    }
    assert outcome.value == pytest.approx(8.5 / 3, abs=1e-12)
    # One row, for the texts are not read; the mean of three dimensions for each rating.
    assert outcome.repetitions == (pytest.approx((7 / 3, 8 / 3, 9 / 3, 10 / 3)),)


async def test_each_rating_is_blended_with_the_reading():
    model = ScriptedModel(lambda request: rating(request.seed or 0, 1, 5))
    outcome = await judge(set_options(BLEND, {"samples": "2", "weights": "samples"}), model)
    read = outcome.parts["imapscore"]
    assert outcome.repetitions == (pytest.approx([(read + 7 / 15) / 2, (read + 8 / 15) / 2]),)
    assert outcome.value == pytest.approx(sum(outcome.repetitions[0]) / 2)


@pytest.mark.parametrize("metric", [JUDGE, BLEND], ids=lambda metric: metric.name)
async def test_votes_are_ratings_too(metric):
    model = ScriptedModel(lambda _: RATED)
    for votes in (1, 3):
        await metric.prepare(MetricResources(llm=model, votes=votes)).ascore_batch([CASE])
    assert [request.seed for request in model.requests if request.temperature] == [1, 2, 3]


async def test_ratings_are_weighted_by_their_probabilities():
    def token(text: str, **chances: float) -> Token:
        top = {name.removeprefix("n"): chance for name, chance in chances.items()} or {text: 1.0}
        return Token(text, math.log(top[text]), tuple((name, math.log(chance)) for name, chance in top.items()))

    tokens = (
        token('{"accuracy": '),
        token("4", n4=0.5, n2=0.25),
        token(', "completeness_reason": "The accuracy: 1.", "completeness": '),
        token("3"),
        token("."),
        Token("5", math.log(0.5), (("5", math.log(0.5)), ("0", math.log(0.5)))),
        token(', "specificity": '),
        token("1"),
        token("}"),
    )
    text = "".join(part.text for part in tokens)
    outcome = await judge(JUDGE, ScriptedModel([Completion(text, "stop", "m", Usage(1, 1), tokens=tokens)]))
    # (.5 * 4 + .25 * 2) / .75, and 3 with one half more in half of the cases.
    assert outcome.parts == {
        "accuracy": pytest.approx(10 / 3),
        "completeness": pytest.approx(3.25),
        "specificity": pytest.approx(1.0),
        "weighted": 1.0,
        "mass": pytest.approx(0.75),
    }


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("scale", "scores"), [("0:5:0.5", [0, 0.5, 1]), ("1:10", [1, 2, 3]), ("0:100:1", [0, 1, 2])])
async def test_what_is_sent(lang, scale, scores):
    model = ScriptedModel(lambda _: rating(1, 1, 1))
    await judge(set_options(JUDGE, {"scale": scale}), model, replace(CASE, lang=lang))
    request = model.requests[0]
    low, high, step = (*scale.split(":"), "1")[:3]
    asked = {"en": f"from {low} to {high} in steps of {step}", "zh": f"{low} 到 {high} 分，以 {step} 分为步长"}[lang]
    assert asked in request.messages[0].content
    texts = {"question": CASE.question, "reference": CASE.reference, "answer": CASE.response}
    assert find_texts(request.messages[-1].content) == texts
    # Each reason comes before its number, so that the number follows from it.
    dimensions = ("accuracy", "completeness", "specificity")
    assert list(request.schema["properties"]) == [key for name in dimensions for key in (f"{name}_reason", name)]
    assert request.schema["properties"]["accuracy"]["enum"][:3] == scores


@pytest.mark.parametrize("scale", ["5:0", "0:5:2", "0..5", "0:5:0", "", "0:0"])
@pytest.mark.parametrize("metric", [JUDGE, BLEND], ids=lambda metric: metric.name)
def test_what_is_no_scale(metric, scale):
    with pytest.raises(UsageError):
        set_options(metric, {"scale": scale})


def test_probabilities_need_scores_of_one_digit():
    with pytest.raises(UsageError):
        set_options(JUDGE, {"scale": "0:10", "weights": "logprobs"})


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        (RATED.replace("4.5", "5.5"), "off-scale"),
        (RATED.replace("4.5", "4.2"), "off-scale"),
        (RATED.replace("4.5", '"5/5, or 4"'), "no-score"),
        (RATED.replace("4.5", "5e2"), "off-scale"),
        (RATED.replace("4.5", '5, "accuracy": 4'), "different-scores"),
        ("4", "no-score"),
        ("Score: 4", "no-score"),
        ('{"accuracy": 4, "completeness": 4}', "no-score"),
        ('{"accuracy_reason": "good"}', "no-score"),
        ("I'm sorry, I cannot judge this.", "refusal"),
        (RATED.replace('"So."', '["So."]'), "no-score"),
    ],
)
@pytest.mark.parametrize("metric", [JUDGE, BLEND], ids=lambda metric: metric.name)
async def test_ratings_are_never_guessed(metric, completion, kind):
    outcome = await judge(metric, ScriptedModel([completion, completion]))
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("metric", kind)


async def test_an_empty_response_is_the_worst_and_not_asked_about():
    outcome = await judge(set_options(JUDGE, {"scale": "1:5"}), ScriptedModel([]), replace(CASE, response=" … "))
    assert outcome == Score(1.0, {"accuracy": 1.0, "completeness": 1.0, "specificity": 1.0})


@pytest.mark.parametrize(("scale", "judged"), [("0:5:0.5", 0.7), ("1:5", 2.5 / 4)])
async def test_a_blend_is_the_mean_of_judge_and_imapscore(scale, judged):
    graded = imapscore.score_graded(IMAP, MATCHES)
    scores = (4.5, 2, 4) if scale == "0:5:0.5" else (5, 2, 3.5)
    model = ScriptedModel([rating(*scores)] if scale == "0:5:0.5" else [rating(5, 2, 4), rating(5, 2, 3)])
    options = {"scale": scale} if scale == "0:5:0.5" else {"scale": scale, "samples": "2", "weights": "samples"}
    outcome = await judge(set_options(BLEND, options), model)
    assert outcome.parts == {"judge": pytest.approx(judged), "imapscore": graded.value}
    assert outcome.value == pytest.approx((judged + graded.value) / 2, abs=1e-12)


async def test_judge_and_blend_ask_the_same():
    requests = []
    for metric in (JUDGE, BLEND):
        model = ScriptedModel([RATED])
        await judge(metric, model)
        requests.append(model.requests)
    assert requests[0] == requests[1]


async def test_a_blend_without_facts_is_no_score():
    for imap, kind in ((replace(IMAP, query=()), "no-query"), (replace(IMAP, reference=()), "no-reference-facts")):
        outcome = await judge(BLEND, ScriptedModel([]), replace(CASE, imap=imap, matches=()))
        assert isinstance(outcome, Failure)
        assert outcome.kind == kind


def test_signatures():
    assert "|scale:0:5:0.5|" in JUDGE.signature
    assert imapscore.GradedImapScore().signature.split("|")[1] in BLEND.signature
    assert set_options(BLEND, {"samples": "3"}).signature != BLEND.signature
