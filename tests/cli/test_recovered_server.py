"""A server whose completions are of no use, and that is mended: it is asked anew, once by each run."""

import json
import shlex
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imapeval.errors import ServiceError
from imapeval.evaluation.runs import Result, Run
from imapeval.evaluation.stores import UNUSABLE_REPLIES, InMemoryStore, UnusableReplyGuard
from imapeval.types import Failure, Sample, Score
from tests.cli.conftest import Command, WriteData, make_reply

SAMPLES = [Sample(str(n), "What helps against pain?", ("Rest.",), f"Rest {n}.") for n in range(4)]
PAGE = "<html><title>502 Bad Gateway</title></html>"
GOOD = {"query": ["help"], "constraint": [], "inform": [{"term": "help", "values": ["Rest"]}]}
USELESS = [PAGE, "I'm sorry, but I can't help with that.", '{"query": ["help"], "constr']


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("useless", USELESS, ids=["page", "refusal", "cut"])
def test_a_mended_server_is_asked_again(
    imapeval: Command, write_data: WriteData, tmp_path: Path, serve: Callable[..., Any], useless: str
) -> None:
    said: list[str] = [useless]
    seen: Counter[str] = Counter()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        seen[json.dumps(body["messages"])] += 1
        return make_reply(said[0] or GOOD)

    server = serve(answer)
    llm = ("--llm", "openai:m", "--base-url", server.url, "--relations", "graph", "--price", "1,1")
    command = ("score", write_data(SAMPLES), "--metrics", "imapscore:paper", "--out", "run", "--json", *llm)
    broken = json.loads(imapeval(*command).stdout)
    assert broken["failed"] == len(SAMPLES)
    # The question that all samples share, and once more with a note; not once for each sample.
    assert set(seen.values()) == {1}
    assert len(seen) == 2

    # As long as nothing is mended, the next run pays once more.
    imapeval(*command)
    assert set(seen.values()) == {2}

    said[0] = ""
    mended = json.loads(imapeval(*command).stdout)
    assert mended["failed"] == 0
    # What was paid for nothing stays counted.
    assert mended["usage"]["prompt_tokens"] == 100 * server.calls

    calls = server.calls
    assert imapeval(*command[:4], "--out", "another", *command[6:]).returncode == 0
    assert server.calls == calls


@pytest.mark.usefixtures("apart")
def test_it_says_which_command_asks_for_failed_replies_again(
    imapeval: Command, write_data: WriteData, serve: Callable[..., Any]
) -> None:
    said = ["I'm sorry, but I can't help with that."]

    url = serve(lambda _: make_reply(said[0] or GOOD)).url
    llm = ("--llm", "openai:m", "--base-url", url, "--relations", "graph")
    command = ("score", write_data(SAMPLES[:1]), "--metrics", "imapscore:paper", *llm)
    (line,) = (line for line in imapeval(*command).stderr.splitlines() if "--out" in line)
    _, _, run = line.partition(" --out ")
    said[0] = ""
    mended = imapeval(*command, "--out", *shlex.split(run))
    assert (mended.returncode, "--out" in mended.stderr) == (0, False)
    # A failure that the data has is not asked for.
    unscored = write_data([Sample("a", "?", ("?",), "?")])
    other = imapeval("score", unscored, "--metrics", "rouge1", "--out", "other")
    assert (other.returncode, "--out" in other.stderr) == (1, False)


NOTHING = ['I cannot read it. {"facts": []}', '{"facts": [], "facts": []}', '{"facts": ["抱歉，我无法提供医疗建议。"]}']


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("useless", NOTHING)
def test_what_looks_like_an_empty_list_is_asked_for_again(
    imapeval: Command, write_data: WriteData, serve: Callable[..., Any], useless: str
) -> None:
    said = [useless]

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        good = {"supported": True} if "fact-support" in json.dumps(body) else {"facts": ["Rest."]}
        return make_reply(said[0] or good)

    server = serve(answer)
    llm = ("--llm", "openai:m", "--base-url", server.url)
    command = ("score", write_data(SAMPLES[:1]), "--metrics", "factscore", "--out", "run", "--json", *llm)
    assert json.loads(imapeval(*command).stdout)["failed"] == 1
    assert server.calls == 2
    said[0] = ""
    assert json.loads(imapeval(*command).stdout)["failed"] == 0
    assert server.calls == 4


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["here", "workers"])
def test_a_run_without_one_usable_reply_is_stopped(
    imapeval: Command, write_data: WriteData, tmp_path: Path, serve: Callable[..., Any], workers: list[str]
) -> None:
    server = serve(lambda _: make_reply(USELESS[1]))
    llm = ("--llm", "openai:m", "--base-url", server.url, "--relations", "graph")
    samples = [Sample(str(n), f"What helps against pain {n}?", ("Rest.",), f"Rest {n}.") for n in range(400)]
    command = ("score", write_data(samples), "--metrics", "imapscore:mean,rouge1", "--out", "run", *llm, *workers)

    stopped = imapeval(*command)
    assert stopped.returncode == 2
    assert "imapscore:mean" in stopped.stderr
    assert "--max-failures" in stopped.stderr
    # To the end it would have been two requests an answer, and as many again after a refusal.
    assert server.calls < len(samples)
    assert {result.metric for result in Run(tmp_path / "run").results()} == {"imapscore:mean", "rouge1"}


@pytest.mark.usefixtures("apart")
def test_a_run_without_one_usable_reply_may_be_allowed(
    imapeval: Command, write_data: WriteData, serve: Callable[..., Any]
) -> None:
    server = serve(lambda _: make_reply(USELESS[1]))
    llm = ("--llm", "openai:m", "--base-url", server.url, "--relations", "graph")
    samples = [Sample(str(n), f"What helps against pain {n}?", ("Rest.",), f"Rest {n}.") for n in range(100)]
    command = ("score", write_data(samples), "--metrics", "imapscore:mean", "--out", "run", *llm)
    assert imapeval(*command).returncode == 2
    allowed = imapeval(*command, "--max-failures", "99", "--json")
    assert allowed.returncode == 1
    failures = json.loads(allowed.stdout)["failures"]
    assert [(row["kind"], row["samples"]) for row in failures] == [("refusal", 100)]
    assert USELESS[1] in failures[0]["example"]


def test_an_earlier_score_shows_that_replies_can_be_used() -> None:
    unusable = Failure("extraction", "refusal", "It refused.")
    results = [Result(str(n), "m", unusable, "s") for n in range(UNUSABLE_REPLIES)]
    with pytest.raises(ServiceError) as caught:
        UnusableReplyGuard(InMemoryStore(), samples=100).add(imaps=(), results=results)
    assert caught.value.kind == "unusable-replies"

    scored = Result("earlier", "m", Score(0.5, {}), "s")
    guard = UnusableReplyGuard(InMemoryStore({scored.key: scored}), samples=100)
    guard.add(imaps=(), results=results)
    guard.add(imaps=(), results=[replace(scored, metric="another"), *results])


def test_after_the_last_sample_nothing_is_stopped() -> None:
    results = [
        Result(str(n), "m", Failure("extraction", "refusal", "It refused."), "s") for n in range(UNUSABLE_REPLIES)
    ]
    UnusableReplyGuard(InMemoryStore(), samples=UNUSABLE_REPLIES).add(imaps=(), results=results)

    earlier = Result("earlier", "m", Failure("sample", "bad-input", "It has no question."), "s")
    store = InMemoryStore({earlier.key: earlier})
    UnusableReplyGuard(store, samples=UNUSABLE_REPLIES + 1).add(imaps=(), results=results)
    with pytest.raises(ServiceError):
        UnusableReplyGuard(store, samples=UNUSABLE_REPLIES + 2).add(imaps=(), results=results)
