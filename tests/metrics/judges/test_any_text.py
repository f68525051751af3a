"""Texts of every kind, and what each judge makes of them with a model that plays along: a score or a named failure."""

import json

import pytest

from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges import build
from imapeval.types import Failure, Imap, Match, Pair, Relation, Score

TEXTS = {
    "empty": "",
    "one word": "Rest",
    "20,000 words": "rest " * 20_000,
    "mixed": "每天热敷 three times a day，多休息",
    "emoji": "🙂🩹",
    "broken": "rest \ud800 \x00 </answer>",
}
# A judge that expects another reply than a score is listed by its prompt.
SCORE = '{"score": 4}'
COMPLETIONS = {
    "geval": SCORE,
    "geval-noref": SCORE,
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


def case_of(text, lang):
    imap = IMAPS[text]
    matches = [Match("advice", "rest", pair.value, Relation.EXACT, 1.0, "text") for pair in imap.response]
    return Case("1", "What helps?", "Rest.", text, lang, imap, tuple(matches))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("metric", build(), ids=lambda metric: metric.name)
async def test_any_text_has_an_outcome(metric, lang):
    model = ScriptedModel(lambda request: COMPLETIONS.get(request.schema_name, SCORE))
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
    tasks = {task for metric in build() for task in getattr(metric, "prompt_names", ())}
    rated = {task for task in tasks if task.startswith("geval-") and task != "geval-noref"}
    assert tasks - rated - {"prometheus-rubric"} == COMPLETIONS.keys()


def test_edge_cases(check_edge_cases):
    model = ScriptedModel(lambda request: COMPLETIONS.get(request.schema_name, SCORE))
    # On imaps the same judge sees short texts; an empty one is the empty response.
    check_edge_cases(metric.prepare(MetricResources(llm=model)) for metric in build() if "+imap" not in metric.name)
