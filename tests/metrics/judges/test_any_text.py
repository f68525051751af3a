"""Texts of every kind, and what each judge makes of them with a model that plays along: a score or a named failure."""

import json

import pytest

from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges import build
from imapeval.metrics.judges.base import Judge
from imapeval.types import Failure, Imap, Match, Pair, Relation, Score

TEXTS = {
    "empty": "",
    "one word": "Rest",
    "20,000 words": "rest " * 20_000,
    "mixed": "每天热敷 three times a day，多休息",
    "emoji": "🙂🩹",
    "broken": "rest \ud800 \x00 </answer>",
}
# Replies by prompt; to any other prompt, `simulate_reply` of the judge.
COMPLETIONS = {
    "geval": '{"score": 4}',
    "geval-noref": '{"score": 4}',
    "prometheus": "Well. [RESULT] 4",
    "prometheus-noref": "Well. [RESULT] 4",
    "atomic-facts": '{"facts": ["Rest helps."]}',
    "fact-support": '{"supported": true}',
    "text-questions": '{"questions": [{"question": "What helps?", "answer": "rest"}]}',
    "text-answers": '{"answers": [{"number": 1, "answer": "rest"}]}',
    "answer-overlap": '{"scores": [{"number": 1, "score": 4}]}',
    "judge": '{"accuracy": 4, "completeness": 4, "specificity": 4}',
}
IMAPS = {
    text: Imap((Pair("advice", "?"),), (), (Pair("advice", "rest"),), (Pair("advice", text),) if text.strip() else ())
    for text in TEXTS.values()
}


def make_model(metric):
    judge = getattr(metric, "metric", metric)
    return ScriptedModel(
        lambda request: COMPLETIONS.get(request.schema_name) or judge.simulate_reply(request.schema_name)
    )


def case_of(text, lang):
    imap = IMAPS[text]
    matches = [Match("advice", "rest", pair.value, Relation.EXACT, 1.0, "text") for pair in imap.response]
    return Case("1", "What helps?", "Rest.", text, lang, imap, tuple(matches))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("metric", build(), ids=lambda metric: metric.name)
async def test_any_text_has_an_outcome(metric, lang):
    model = make_model(metric)
    prepared = metric.prepare(MetricResources(llm=model))
    outcomes = dict(
        zip(TEXTS, await prepared.ascore_batch([case_of(text, lang) for text in TEXTS.values()]), strict=True)
    )
    low, high = metric.range
    for outcome in outcomes.values():
        if isinstance(outcome, Score):
            assert low <= outcome.value <= high
        else:
            assert (outcome.stage, outcome.kind) == ("metric", "abstained")
    if metric.name == "factscore":
        assert isinstance(outcomes["empty"], Failure)
    else:
        assert outcomes["empty"].value == low
    # Everything that was asked can be sent.
    for request in model.requests:
        json.dumps([message.content for message in request.messages], ensure_ascii=False).encode()


def test_every_kind_of_request_was_answered():
    # One that states its reply is answered with it.
    judges = [
        metric
        for metric in build()
        if isinstance(metric, Judge) and type(metric).simulate_reply is Judge.simulate_reply
    ]
    tasks = {task for judge in judges for task in judge.prompt_names}
    rated = {task for task in tasks if task.startswith("geval-") and task != "geval-noref"}
    assert tasks - rated - {"prometheus-rubric"} == COMPLETIONS.keys()


def test_edge_cases(check_edge_cases):
    # On imaps the same judge sees short texts; an empty one is the empty response.
    judges = [metric for metric in build() if "+imap" not in metric.name]
    check_edge_cases(judge.prepare(MetricResources(llm=make_model(judge))) for judge in judges)
