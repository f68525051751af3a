"""What `--dry-run` foretells is held against what a well-behaved stub is then asked."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from imapeval.evaluation.extract import extract
from imapeval.evaluation.pipeline import open_extractor, open_graph
from imapeval.llm import tokens
from imapeval.llm.middleware.cache import CachedModel, cache_key
from imapeval.llm.protocol import Completion, Request, Usage, canonical_json
from imapeval.types import Sample
from tests.cli.conftest import Command, WriteData

pytestmark = pytest.mark.usefixtures("apart")

IDENTITY = "openai:m@http://127.0.0.1:9/v1"
OPTIONS = ("--llm", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--dry-run", "--json")
READING = ("--metrics", "imapscore", "--relations", "graph")
"""The model reads, and neither relates nor judges; for those see commands/test_relate_llm.py and test_judges.py."""

FEVER, COUGH = "What helps against a fever?", "咳嗽吃什么药？"
SAMPLES = [
    Sample("a", FEVER, ("Take ibuprofen.", "Drink plenty."), "Take paracetamol."),
    Sample("b", FEVER, ("Take ibuprofen.", "Drink plenty."), "Rest in bed."),
    Sample("c", COUGH, ("口服止咳糖浆。",), "多喝水。", lang="zh"),
    Sample("d", FEVER, (), "Take paracetamol."),
]


class WellBehaved:
    """A model whose completions can be used at once; counts what it is asked."""

    identity = IDENTITY
    concurrency = 1

    def __init__(self) -> None:
        self.asked: dict[str, Request] = {}

    async def complete(self, request: Request) -> Completion:
        self.asked[cache_key(canonical_json(request, IDENTITY))] = request
        said: dict[str, Any] = {"inform": []}
        if request.schema_name == "question-imap":
            chinese = COUGH in request.messages[-1].content
            said = {"query": ["药物", "检查"] if chinese else ["medicine", "test"], "constraint": []}
        return Completion(json.dumps(said), "stop", "m", Usage(100, 20))


def foretell(imapeval: Command, data: Path, *options: str, command: str = "score") -> dict[str, Any]:
    done = imapeval(command, data, *OPTIONS, *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


async def read_all(model: Any, votes: int) -> None:
    async for _ in extract(SAMPLES, extractor=open_extractor(open_graph(), llm=model, votes=votes)):
        pass


def test_what_nobody_answered_costs_nothing(imapeval: Command, write_data: WriteData):
    unanswered = [
        Sample("e", "What helps against a cough?", ("Honey.",), "", answered=False),
        Sample("f", FEVER, ("Take ibuprofen.", "Drink plenty."), "N/A"),
    ]
    whole = foretell(imapeval, write_data(SAMPLES), "--metrics", "imapscore,geval")
    options = ("--metrics", "imapscore,geval", "--missing", "N/A")
    more = foretell(imapeval, write_data([*SAMPLES, *unanswered], "more.jsonl"), *options)
    assert (more["samples"], more["failed"]["no-response"]) == (6, 2)
    same = ("questions", "references", "responses", "calls", "prompt_tokens", "tasks")
    assert {name: more[name] for name in same} == {name: whole[name] for name in same}


@pytest.mark.parametrize("votes", [1, 3])
def test_it_counts_the_calls_of_the_run(imapeval: Command, write_data: WriteData, votes: int):
    model = WellBehaved()
    asyncio.run(read_all(model, votes))
    found = foretell(imapeval, write_data(SAMPLES), "--votes", str(votes), *READING)
    assert found["calls"] == len(model.asked) == votes * (2 + 3 + 3)
    assert found["cached"] == 0
    assert (found["samples"], found["questions"], found["references"], found["responses"]) == (4, 2, 3, 4)
    # Questions are foretold to the letter; answers but for the terms that a model will find asked.
    questions, answers = found["tasks"]
    assert (questions["name"], questions["calls"]) == ("question-imap", 2 * votes)
    text = [message.content for request in model.asked.values() for message in request.messages]
    exact = sum(map(tokens.estimate, text))
    assert not found["prompt_tokens_exact"]
    assert found["prompt_tokens"] == pytest.approx(exact, abs=10 * len(model.asked))
    assert found["completion_tokens"] == questions["completion_tokens"] + answers["completion_tokens"] > 0
    # All but the last message of a prompt are those of earlier ones, in any order, of the same language and kind.
    openings = Counter(tuple(m.content for m in request.messages[:-1]) for request in model.asked.values())
    repeated = sum((n - 1) * sum(map(tokens.estimate, opening)) for opening, n in openings.items())
    assert found["repeated_tokens"] == repeated > 0


def test_what_is_in_the_cache_costs_nothing(imapeval: Command, write_data: WriteData, tmp_path: Path):
    cached = CachedModel(WellBehaved(), tmp_path / "cache" / "completions.sqlite")
    asyncio.run(read_all(cached, 3))
    data = write_data(SAMPLES)
    found = foretell(imapeval, data, "--votes", "3", "--price", "1,2", *READING)
    assert (found["calls"], found["cached"], found["prompt_tokens"], found["usd"]) == (24, 24, 0, 0.0)
    # One sample more, with a question that is new: what completions take is known by now, for the answers.
    more = write_data([*SAMPLES, Sample("e", "What helps against gout?", ("Rest.",), "Rest.")], "more.jsonl")
    found = foretell(imapeval, more, "--votes", "3", "--price", "1,2", *READING)
    assert (found["calls"], found["cached"]) == (30, 24)
    questions, answers = found["tasks"]
    assert (questions["seen"], answers["seen"], answers["completion_tokens"]) == (0, 18, 3 * 20)
    cost = (found["prompt_tokens"] + 2 * found["completion_tokens"]) / 1e6
    assert found["usd"] == pytest.approx(cost)
    # A price that is given has none for a server's own cache.
    assert found["usd_with_prefix_cache"] == found["usd"]


def test_nothing_is_written(imapeval: Command, write_data: WriteData, tmp_path: Path):
    data = write_data(SAMPLES)
    before = sorted(tmp_path.rglob("*"))
    foretell(imapeval, data, *READING)
    foretell(imapeval, data, command="extract")
    assert sorted(tmp_path.rglob("*")) == before


def test_metrics_on_texts_ask_nobody(imapeval: Command, write_data: WriteData):
    assert foretell(imapeval, write_data(SAMPLES), "--metrics", "rouge1")["calls"] == 0
    done = imapeval("score", write_data(SAMPLES), "--dry-run")
    assert "nothing is sent" in done.stdout


def test_the_table(imapeval: Command, write_data: WriteData):
    options = [option for option in OPTIONS if option != "--json"]
    done = imapeval("score", write_data(SAMPLES), *options, "--votes", "3", "--price", "0.4,1.6")
    assert done.returncode == 0
    assert "openai:m: 2 questions, 3 references, 4 responses, each read 3 times" in done.stdout
    assert "question-imap" in done.stdout
    assert "at 0.4 and 1.6 USD per million tokens (--price)" in done.stdout
    assert "Nothing was sent" in done.stdout
    assert "give it with --price" in imapeval("extract", write_data(SAMPLES), *options).stdout


def test_servers_without_log_probabilities_cost_more(imapeval: Command, write_data: WriteData):
    data = write_data(SAMPLES)
    judged = ("--metrics", "judge", "--votes", "3", "--price", "1,2")
    found = foretell(imapeval, data, *judged)
    most = found["without_logprobs"]
    # Two that do not count, and three for each answer and reference.
    assert (found["calls"], most["calls"]) == (5, 2 + 3 * 5)
    assert most["usd"] == pytest.approx((most["prompt_tokens"] + 2 * most["completion_tokens"]) / 1e6)
    assert most["usd"] > 3 * found["usd"]
    shown = imapeval("score", data, *(option for option in OPTIONS if option != "--json"), *judged).stdout
    (price,) = [line for line in shown.splitlines() if line.startswith("price:")]
    assert f"{found['usd']:.4f} USD" in price
    assert f"{most['usd']:.4f}" in price
    (assumed,) = [line for line in shown.splitlines() if "5 of judge" in line]
    assert "17 calls" in assumed


def test_a_single_rating_costs_the_same_without_log_probabilities(imapeval: Command, write_data: WriteData):
    found = foretell(imapeval, write_data(SAMPLES), "--metrics", "judge")
    assert (found["calls"], found["without_logprobs"]) == (5, None)


def test_a_sample_that_will_not_be_read_is_told(imapeval: Command, write_data: WriteData):
    long = Sample("long", FEVER, ("Rest.",), "word " * 30_000)
    found = foretell(imapeval, write_data([*SAMPLES, long]), *READING)
    assert (found["calls"], found["failed"]) == (8, {"too-long": 1})
