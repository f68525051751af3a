import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.errors import InputError, ProviderError, ServiceError, UsageError
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.structured.templates import find_texts
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.judges.factscore import build
from imapeval.metrics.judges.prompts import knowledge_source
from imapeval.metrics.options import list_options, set_options
from imapeval.types import Failure, Score

(METRIC,) = build()
CASE = Case("1", "How is a boil treated?", "Warm cloths.", "Warm cloths, and antibiotics. Do not squeeze it.", "en")
FACTS = ["Warm cloths treat a boil.", "Antibiotics treat a boil.", "A boil should not be squeezed."]
SUPPORTED = {FACTS[0]: True, FACTS[1]: False, FACTS[2]: True}


def reply(request):
    if request.schema_name == "atomic-facts":
        return json.dumps({"facts": FACTS})
    (fact,) = [fact for fact in FACTS if fact in request.messages[-1].content]
    return json.dumps({"supported": SUPPORTED[fact]})


async def judge(model, case, **options):
    metric = set_options(METRIC, {key: str(value) for key, value in options.items()})
    (outcome,) = await metric.prepare(MetricResources(llm=model)).ascore_batch([case])
    return outcome


async def test_it_is_the_share_of_supported_facts():
    model = ScriptedModel(reply)
    outcome = await judge(model, CASE)
    assert outcome.value == pytest.approx(2 / 3, abs=1e-12)
    assert outcome.parts == {"facts": 3.0, "supported": 2.0, "precision": outcome.value, "penalty": 1.0}
    first, *others = model.requests
    assert CASE.response in first.messages[-1].content
    assert len(others) == 3
    assert all(find_texts(request.messages[-1].content)["source"] == CASE.reference for request in others)


@pytest.mark.parametrize(("gamma", "penalty"), [(2, 1.0), (3, 1.0), (10, math.exp(1 - 10 / 3))])
async def test_few_facts_are_penalised_where_that_is_wanted(gamma, penalty):
    """`1.0 if len(facts) > gamma else np.exp(1 - gamma / len(facts))` in FActScore's factscorer.py."""
    outcome = await judge(ScriptedModel(reply), CASE, gamma=gamma)
    assert outcome.value == pytest.approx(2 / 3 * penalty, abs=1e-12)
    assert outcome.parts["penalty"] == pytest.approx(penalty, abs=1e-12)


async def test_votes_repeat_all_of_its_steps():
    def say_otherwise(request):
        # The second time, the first fact is not supported either.
        if request.seed == 2 and FACTS[0] in request.messages[-1].content:
            return '{"supported": false}'
        return reply(request)

    model = ScriptedModel(say_otherwise)
    (outcome,) = await METRIC.prepare(MetricResources(llm=model, votes=3)).ascore_batch([CASE])
    assert outcome.repetitions == (pytest.approx((2 / 3, 1 / 3, 2 / 3)),)
    assert outcome.value == pytest.approx(5 / 9, abs=1e-12)
    assert outcome.parts["supported"] == pytest.approx(5 / 3, abs=1e-12)
    assert Counter(request.seed for request in model.requests) == {1: 4, 2: 4, 3: 4}
    assert {request.temperature for request in model.requests} == {1.0}


@pytest.mark.parametrize(("texts", "kinds"), [(2, [Score]), (1, [Failure])])
async def test_more_than_half_of_its_votes_count(texts, kinds):
    def state_facts(request):
        if request.schema_name == "atomic-facts" and request.seed > texts:
            return '{"facts": []}'
        return reply(request)

    outcomes = await METRIC.prepare(MetricResources(llm=ScriptedModel(state_facts), votes=3)).ascore_batch([CASE])
    assert [type(outcome) for outcome in outcomes] == kinds


@pytest.mark.parametrize("response", ["", "…", "🙂"])
async def test_a_response_that_says_nothing_abstains(response):
    outcome = await judge(ScriptedModel([]), replace(CASE, response=response))
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind) == ("metric", "abstained")


async def test_a_response_without_facts_abstains():
    model = ScriptedModel(['{"facts": []}'])
    outcome = await judge(model, replace(CASE, response="Thank you for your question."))
    assert isinstance(outcome, Failure)
    assert outcome.kind == "abstained"
    assert len(model.requests) == 1


async def test_a_fact_without_a_verdict_leaves_the_share_unknown():
    def hesitate(request):
        return "perhaps" if FACTS[1] in request.messages[-1].content else reply(request)

    outcome = await judge(ScriptedModel(hesitate), CASE)
    assert isinstance(outcome, Failure)
    assert (outcome.stage, outcome.kind, outcome.raw) == ("metric", "unreadable-completion", "perhaps")


async def test_a_server_that_is_gone_counts_more_than_a_fact_without_a_verdict():
    def fail(request):
        if request.schema_name == "atomic-facts":
            return reply(request)
        return ServiceError("gone", kind="unreachable") if FACTS[2] in request.messages[-1].content else "perhaps"

    model = ScriptedModel(fail)
    with pytest.raises(ServiceError, match="gone"):
        await judge(model, CASE)
    # The list, two facts twice and the last: all are waited for.
    assert len(model.requests) == 6


async def test_a_list_that_is_cut_off_is_asked_for_with_more_room():
    cut = ProviderError("cut", kind="truncated", raw='{"facts": ["Warm cloths treat')
    model = ScriptedModel(
        lambda request: cut if request.schema_name == "atomic-facts" and request.max_tokens <= 4096 else reply(request)
    )
    assert (await judge(model, CASE)).parts["facts"] == 3.0


PASSAGES = [
    {"title": "Boils", "text": "A boil is treated with warm cloths."},
    {"title": "Gout", "text": "Colchicine is a medicine for gout."},
    {"text": "疖子可以用热敷治疗。"},
    {"title": "", "text": "Never squeeze a boil, and never squeeze a carbuncle."},
]


@pytest.fixture
def passages(tmp_path: Path) -> Path:
    path = tmp_path / "books.jsonl"
    path.write_text("\n".join(json.dumps(record, ensure_ascii=False) for record in PASSAGES) + "\n", encoding="utf-8")
    return path


async def test_facts_are_held_against_a_users_knowledge(passages):
    model = ScriptedModel(reply)
    outcome = await judge(model, replace(CASE, reference=""), knowledge=passages)
    assert outcome == Score(2 / 3, {"facts": 3.0, "supported": 2.0, "precision": 2 / 3, "penalty": 1.0})
    sources = {
        next(fact for fact in FACTS if fact in request.messages[-1].content): request.messages[-1].content
        for request in model.requests[1:]
    }
    assert sources[FACTS[0]].index("Boils\nA boil is treated") < sources[FACTS[0]].index("Never squeeze")
    assert "疖子" not in sources[FACTS[2]]


async def test_what_the_knowledge_has_no_word_of_is_not_asked_about(tmp_path):
    path = tmp_path / "other.txt"
    path.write_text("高血压要限盐。\n\n高血压要运动。\n", encoding="utf-8")
    model = ScriptedModel(reply)
    assert (await judge(model, CASE, knowledge=path)).value == 0.0
    assert len(model.requests) == 1


def test_what_it_needs_and_how_it_is_signed(passages, tmp_path):
    assert METRIC.requires == {"llm", "reference"}
    assert {option.name for option in list_options(METRIC)} == {"samples", "knowledge", "gamma"}
    with_books = set_options(METRIC, {"knowledge": str(passages)})
    assert with_books.requires == {"llm"}
    assert "|source:books.jsonl#" in with_books.signature
    other = tmp_path / "books" / "books.jsonl"
    other.parent.mkdir()
    other.write_bytes(passages.read_bytes())
    assert set_options(METRIC, {"knowledge": str(other)}).signature == with_books.signature
    other = tmp_path / "more" / "books.jsonl"
    other.parent.mkdir()
    other.write_bytes(passages.read_bytes() + b'{"text": "more"}\n')
    assert set_options(METRIC, {"knowledge": str(other)}).signature != with_books.signature
    assert set_options(METRIC, {"gamma": "10"}).signature != METRIC.signature
    with pytest.raises(UsageError, match="gamma -1"):
        set_options(METRIC, {"gamma": "-1"})


def test_passages_are_found_by_their_words(passages):
    books = knowledge_source.load(str(passages))
    assert [text[:5] for text in books.search("squeeze boil")] == ["Never", "Boils"]
    assert books.search("热敷") == ["疖子可以用热敷治疗。"]
    assert books.search("COLCHICINE") == ["Gout\nColchicine is a medicine for gout."]
    assert books.search("xyz") == []


@pytest.mark.parametrize("name", ["books.jsonl", "BOOKS.JSONL"])
def test_a_line_ends_where_json_lines_do(name, tmp_path):
    path = tmp_path / name
    path.write_bytes('{"text": "warm\u2028cloths"}\r\n{"text": "rest\u0085well"}\n'.encode())
    assert knowledge_source.load(str(path)).passages == ("warm\u2028cloths", "rest\u0085well")


def test_the_home_of_nobody_has_no_knowledge_source():
    with pytest.raises(InputError) as caught:
        knowledge_source.load("~nobody-of-that-name/books.txt")
    assert "nobody-of-that-name" in str(caught.value.path)


def test_passages_are_ranked_as_by_bm25(tmp_path):
    """Robertson and Zaragoza 2009, worked out by hand: k1 = 1.5, b = .75, passages of 3, 1 and 2 words."""
    path = tmp_path / "books.txt"
    path.write_text("cough cough fever\n\ncough\n\nrash itch", encoding="utf-8")
    books = knowledge_source.load(str(path))
    # Apart from its weight, "cough" gives the short passage 1 * 2.5 / (1 + 1.5 * (.25 + .75 / 2)) = 1.290, and the long
    # one 2 * 2.5 / (2 + 1.5 * (.25 + .75 * 3 / 2)) = 1.231.
    assert books.search("cough") == ["cough", "cough cough fever"]
    assert books.search("cough fever") == ["cough cough fever", "cough"]
    (tmp_path / "many.txt").write_text("cough\n\n" * 9, encoding="utf-8")
    assert len(knowledge_source.load(str(tmp_path / "many.txt")).search("cough")) == knowledge_source.MAX_PASSAGES


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("k.jsonl", b'{"text": "a"}\n{"title": "b"}\n', r"k\.jsonl, line 2: the line is not a passage"),
        ("k.jsonl", b"plain\n", r"k\.jsonl, line 1: the line is not a passage"),
        ("k.txt", b"\n \n--\n", "holds no passage"),
        ("k.txt", "疖子".encode("gb18030"), "is not UTF-8"),
        ("absent.txt", None, "cannot be read"),
    ],
)
def test_a_faulty_source_is_named(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        knowledge_source.load(str(path))
