"""Docs say that every text stands between markers, except in Prometheus's prompts: all prompts, all requests."""

import re

import pytest

from imapeval import _resources
from imapeval.errors import ExtractionError
from imapeval.extraction.llm_reader import LLMReader
from imapeval.llm.protocol import Message
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured import templates
from imapeval.llm.tokens import estimate
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges import build
from imapeval.metrics.judges.custom import load_geval
from imapeval.metrics.judges.prompts.custom_prompt import ALIASES, VARIABLES
from imapeval.study.robustness.rewording import reword_answers
from imapeval.types import Imap, Match, Pair, QuestionImap, Relation, Sample

PROMPTS = sorted(_resources.find("prompts").glob("*.md"))
OURS = {"id", "fault", "criterion", "low", "high", "step", "rubric"}
"""What no text of the data goes into. The places of `geval-own-form` are filled before the markers are put in."""

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_FENCED = re.compile(r"<(?P<tag>[\w-]+)-\{\{id\}\}>\s*\{\{\w+\}\}\s*</(?P=tag)-\{\{id\}\}>")
_MARKED = re.compile(r"<(?P<tag>[\w-]+)-(?P<id>[0-9a-f]{8})>.*?</(?P=tag)-(?P=id)>", re.DOTALL)


def list_open_places(messages: tuple[Message, ...]) -> set[str]:
    return {name for message in messages for name in _PLACE.findall(_FENCED.sub("", message.content))}


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_every_place_of_a_prompt_is_between_markers(path):
    task, lang, version = path.stem.split(".")
    places = list_open_places(templates.load(task, lang=lang, version=int(version[1:])).messages) - OURS
    if task.startswith("prometheus"):
        assert places <= {"question", "answer", "reference"}
    elif task == "geval-own-form":
        assert places == {"name", "criteria", "steps", "given"}
    else:
        assert not places


@pytest.mark.parametrize("path", PROMPTS, ids=lambda path: path.stem)
def test_markers_and_line_cost_as_many_tokens_as_the_page_says(path, monkeypatch):
    task, lang, version = path.stem.split(".")

    def count():
        template = templates.load.__wrapped__(task, lang=lang, version=int(version[1:]))
        places = {name for message in template.messages for name in _PLACE.findall(message.content)} - {"id"}
        return sum(estimate(message.content) for message in template.render(**dict.fromkeys(places, "Rest.")))

    with_markers = count()
    monkeypatch.setattr(templates, "delimit_texts", lambda messages, lang: tuple(messages))
    monkeypatch.setattr(templates, "_delimit_examples", tuple)
    assert with_markers - count() in (0, *range(50, 111))


CUSTOM = {
    "running text": "Rate (1-5): is {{response}} as good as {{reference}}, to '{{question}}'? {{imapscore}}",
    "tags of its own": "(1-5) <answer>{{response}}</answer><x y='{{question}}'>",
    "JSON": '## system\n{"question": "{{question}}"} (1-5)\n## user\n{"answer": "{{response}}", "score": N}',
    "twice": "(1-5) {{response}}{{response}} {{ Answer }}",
    "all": "(1-5) " + " ".join(f"{{{{{name}}}}}" for name in (*VARIABLES, *ALIASES)),
    "our form": "---\ncriteria: as good as {{reference}}\nsteps:\n- Read {{question}}.\ngiven: response\n---\n",
}


@pytest.mark.parametrize("text", CUSTOM.values(), ids=CUSTOM)
def test_every_place_of_a_prompt_of_the_users_is_between_markers(text, tmp_path):
    (tmp_path / "own.md").write_text(text)
    assert list_open_places(load_geval(tmp_path / "own.md").prompt.template.messages) <= {"id", "imapscore"}


CASE = Case(
    *("1", "What helps zq-question?", "Zq-reference helps.", "Zq-response helps.", "en"),
    Imap((Pair("zq-a", "?"),), (Pair("zq-b", "zq-c"),), (Pair("zq-a", "zq-d"),), (Pair("zq-a", "zq-e"),)),
    (Match("zq-a", "zq-d", "zq-e", Relation.EXACT, 1.0, "text"),),
)
REPLIES = {
    "atomic-facts": '{"facts": ["zq-fact"]}',
    "fact-support": '{"supported": true}',
    "text-questions": '{"questions": [{"question": "zq-asked", "answer": "zq-answer"}]}',
    "text-answers": '{"answers": [{"number": 1, "answer": "zq-answer"}]}',
    "answer-overlap": '{"scores": [{"number": 1, "score": 4}]}',
}


def find_unmarked(requests):
    """Return the requests in which a text of the data stands outside of markers, by their name."""
    sent = [(request.schema_name, message.content) for request in requests for message in request.messages]
    assert any("zq-" in content for _, content in sent)
    return {name for name, content in sent if "zq-" in _MARKED.sub("", content).casefold()}


def answer_second_time(request):
    """Reply with what cannot be used, so that it is asked for once more."""
    again = any(words in request.messages[-1].content for words in ("could not be used", "无法使用"))
    return REPLIES.get(request.schema_name, "…") if again else "…"


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_every_text_of_a_request_of_a_judge_is_between_markers(lang, tmp_path):
    (tmp_path / "own.md").write_text(CUSTOM["all"])
    asked = []
    for judge in (*build(), load_geval(tmp_path / "own.md")):
        model = ScriptedModel(answer_second_time)
        case = Case(CASE.id, CASE.question, CASE.reference, CASE.response, lang, CASE.imap, CASE.matches)
        await judge.prepare(MetricResources(llm=model)).ascore_batch([case])
        asked += model.requests
    assert {request.schema_name for request in asked} >= REPLIES.keys()
    assert find_unmarked(asked) == {"prometheus", "prometheus-noref"}


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_every_text_of_a_request_of_a_reader_is_between_markers(lang):
    model = ScriptedModel(lambda _: "…")
    reader, asked = LLMReader(model), QuestionImap((Pair("zq-a", "?"),), (Pair("zq-b", "zq-c"),))
    with pytest.raises(ExtractionError):
        await reader.read_question(CASE.question, lang=lang)
    with pytest.raises(ExtractionError):
        await reader.read_answer(CASE.response, question=CASE.question, imap=asked, lang=lang)
    await reword_answers([Sample("1", CASE.question, (CASE.reference,), CASE.response, lang)], model=model)
    assert len(model.requests) == 6
    assert not find_unmarked(model.requests)
