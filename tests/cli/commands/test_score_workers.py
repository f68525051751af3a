"""`imapeval score --workers`: the same run from several processes, also when one of them or the first is killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from imapeval.errors import ImapEvalError, ServiceError
from imapeval.evaluation.evaluate import BATCH
from imapeval.evaluation.forecast.simulated_replies import simulate_reply
from imapeval.evaluation.pipeline import Pipeline, open_pipeline
from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import read
from imapeval.evaluation.stores import InMemoryStore
from imapeval.evaluation.workers import BatchScorer, ProcessPool, evaluate_in_workers
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Message, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.registry import add_middleware
from imapeval.llm.sharing import ModelServer, SharedModel
from imapeval.metrics import registry
from imapeval.metrics.base import Case, Metric, option
from imapeval.types import Failure, Imap, Match, Sample
from tests.cli.conftest import Command, Process, WriteData


def lines(run: Path, name: str) -> list[bytes]:
    return sorted((run / name).read_bytes().splitlines())


def scoring(pid: int) -> list[int]:
    """The workers, without the process that tracks multiprocessing's resources."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread or process that has just ended
            found += [n for n in map(int, path.read_text().split()) if b"spawn_main" in read_command(n)]
    return found


def read_command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def await_results(run: Path, process: "subprocess.Popen[str]") -> None:
    while process.poll() is None and not ((run / "results.jsonl").exists() and (run / "results.jsonl").stat().st_size):
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()


SMALL_BATCHES = """
from imapeval.cli.main import run
from imapeval.evaluation import workers

workers.BATCH = 8
run()
"""


@pytest.fixture
def start(tmp_path: Path) -> Process:
    """Start a command that divides few samples among its workers."""

    def start(*args: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SMALL_BATCHES, *map(str, args)]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return start


@pytest.mark.slow
@pytest.mark.usefixtures("small_batches")
def test_workers_write_the_same_run(imapeval: Command, write_data: WriteData, tmp_path: Path):
    data = write_data([replace(s, id=f"{name}-{s.id}") for name in ("sample-en", "sample-zh") for s in read(name)[:12]])
    plain = imapeval("score", data, "--out", "plain")
    assert plain.returncode == 0, plain.stderr
    spread = imapeval("score", data, "--out", "spread", "--workers", "2")
    assert spread.returncode == 0, spread.stderr
    for name in ("results.jsonl", "imaps.jsonl", "samples.jsonl"):
        assert lines(tmp_path / "spread", name) == lines(tmp_path / "plain", name)
    assert (tmp_path / "spread" / "results.csv").read_bytes() == (tmp_path / "plain" / "results.csv").read_bytes()
    assert Run(tmp_path / "spread").manifest["settings"] == Run(tmp_path / "plain").manifest["settings"]


class Replies:
    """Answers as the dry run expects a model to, after some seconds; counts what it was asked."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.asked: Counter[str] = Counter()
        self.seconds = seconds

    def __call__(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.asked[json.dumps(body, sort_keys=True)] += 1
        time.sleep(self.seconds)
        messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
        completion = simulate_reply(Request(messages, schema_name=body["response_format"]["json_schema"]["name"]))
        assert isinstance(completion, Completion)
        choice = {"finish_reason": "stop", "message": {"content": completion.text}}
        return 200, {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}


LLM = ("--llm", "openai:m", "--price", "1,1", "--base-url")


@pytest.mark.slow
@pytest.mark.usefixtures("apart", "small_batches")
def test_workers_share_a_model(
    imapeval: Command,
    serve: Callable[..., Any],
    tmp_path: Path,
    make_cache: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
):
    replies: dict[str, Replies] = {}
    for name, options in {"plain": (), "spread": ("--workers", "2")}.items():
        replies[name] = Replies()
        monkeypatch.setenv("IMAPEVAL_CACHE", make_cache(tmp_path / f"cache-{name}"))
        url = serve(replies[name]).url
        command = ("score", "sample-en", "--limit", "24", "--metrics", "imapscore,judge,rouge1", *LLM, url)
        done = imapeval(*command, "--out", name, *options)
        assert done.returncode == 0, done.stderr
    assert replies["spread"].asked == replies["plain"].asked
    assert set(replies["spread"].asked.values()) == {1}
    plain, spread = Run(tmp_path / "plain"), Run(tmp_path / "spread")
    assert {(r.id, r.metric): r.outcome for r in spread.results()} == {
        (r.id, r.metric): r.outcome for r in plain.results()
    }
    assert lines(tmp_path / "spread", "imaps.jsonl") == lines(tmp_path / "plain", "imaps.jsonl")
    assert spread.manifest["usage"] == plain.manifest["usage"]
    assert spread.manifest["usage"]["calls"] >= sum(replies["spread"].asked.values())


@pytest.mark.slow
@pytest.mark.usefixtures("apart", "small_batches")
def test_a_budget_holds_for_all_workers_together(imapeval: Command, serve: Callable[..., Any], tmp_path: Path):
    replies = Replies()
    url, budget = serve(replies).url, 0.01
    command = ("score", "sample-en", "--limit", "32", "--metrics", "imapscore", *LLM, url, "--out", "run")
    stopped = imapeval(*command, "--workers", "2", "--max-cost", str(budget))
    assert stopped.returncode == 2, stopped.stderr
    assert "--max-cost" in stopped.stderr
    usage = Run(tmp_path / "run").manifest["usage"]
    assert 0 < usage["usd"] + usage["uncertain_usd"] <= budget
    done = imapeval(*command, "--workers", "1", "--max-cost", "10")
    assert done.returncode == 0, done.stderr
    assert set(replies.asked.values()) == {1}


@pytest.mark.slow
@pytest.mark.usefixtures("apart")
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_killed_workers_lose_at_most_what_they_are_sending(start: Process, serve: Callable[..., Any], tmp_path: Path):
    replies, kills, share = Replies(0.05), (20, 60), 2
    url = serve(replies).url
    command = ("score", "sample-en", "--limit", "48", "--metrics", "imapscore", *LLM, url, "--workers", "2")
    process = start(*command, "--out", "spread", "--concurrency", str(2 * share))
    for wanted in kills:
        while process.poll() is None and replies.asked.total() < wanted:
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()
        if workers := scoring(process.pid):
            os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert replies.asked.total() - len(replies.asked) <= share * len(kills)
    run = Run(tmp_path / "spread")
    assert len(run.results()) == 48
    usage = run.manifest["usage"]
    assert usage["calls"] - usage["cached"] == len(replies.asked)


@pytest.mark.slow
@pytest.mark.usefixtures("apart")
def test_ctrl_c_finishes_what_was_asked(imapeval: Command, start: Process, serve: Callable[..., Any], tmp_path: Path):
    replies = Replies(0.2)
    data = ("sample-en", "--limit", "40")
    command = ("score", *data, "--metrics", "imapscore", *LLM, serve(replies).url, "--out", "run")
    process = start(*command, "--workers", "2", "--concurrency", "4")
    while process.poll() is None and replies.asked.total() < 12:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    asked = replies.asked.total()
    assert asked < 60
    assert Run(tmp_path / "run").manifest["usage"]["calls"] == asked
    replies.seconds = 0.0
    done = imapeval(*command)
    assert done.returncode == 0, done.stderr
    assert set(replies.asked.values()) == {1}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_ctrl_c_while_workers_start(tmp_path: Path):
    command = [sys.executable, "-m", "imapeval", "score", "sample-en", "--metrics", "rouge1"]
    process = subprocess.Popen(
        [*command, "--out", "run", "--workers", "2"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while process.poll() is None and not scoring(process.pid):
        time.sleep(0.005)
    # As a terminal does: to all processes.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_an_error_in_a_worker_keeps_its_message(tmp_path: Path):
    sample = Sample("a", "What helps?", ("Rest.",), "Rest.")
    missing = partial(open_pipeline, registry.choose(["imapscore"], {}), imaps=tmp_path / "none.jsonl")
    parts = Pipeline(registry.choose(["rouge1"], {}), None, None, {})
    work = evaluate_in_workers([sample], workers=ProcessPool(1), open_parts=missing, parts=parts, run=InMemoryStore())
    with pytest.raises(ImapEvalError, match=r"none\.jsonl"):
        asyncio.run(work)


@pytest.mark.slow
def test_workers_that_keep_dying_stop_the_run():
    sample = Sample("a", "What helps?", ("Rest.",), "Rest.")
    parts = Pipeline(registry.choose(["rouge1"], {}), None, None, {})
    dying: partial[Pipeline] = partial(os._exit, 1)
    work = evaluate_in_workers([sample], workers=ProcessPool(1), open_parts=dying, parts=parts, run=InMemoryStore())
    with pytest.raises(ServiceError) as raised:
        asyncio.run(work)
    assert raised.value.kind == "worker-died"


class SlowModel:
    """Answers after a while; refuses what asks about costs at once, as a model without money does."""

    identity = "slow"
    concurrency = 8

    async def complete(self, request: Request) -> Completion:
        if "costs" in request.messages[-1].content:
            raise ServiceError("no money", kind="budget")
        await asyncio.sleep(2)
        return Completion("3", "stop", "slow", Usage(1, 1))


class Asks(Metric):
    """Asks a model for a number."""

    name = "asks"
    summary = "What a model says."

    def __init__(self, llm: SharedModel | SlowModel) -> None:
        self.llm = llm

    async def score(self, case: Case) -> float:
        return float((await self.llm.complete(Request((Message("user", case.question),)))).text)


def open_asking(llm: SharedModel | SlowModel) -> Pipeline:
    return Pipeline([Asks(llm)], None, None, {})


@pytest.mark.slow
def test_an_error_for_all_ends_workers_that_wait_for_completions():
    samples = [Sample(str(n), "what it costs" if n < 64 else "what helps", ("x",), "x") for n in range(256)]
    model, run = SlowModel(), InMemoryStore()
    work = evaluate_in_workers(
        samples, workers=ProcessPool(2), open_parts=open_asking, parts=open_asking(model), llm=model, run=run
    )
    with pytest.raises(ServiceError) as raised:
        asyncio.run(asyncio.wait_for(work, 60))
    assert raised.value.kind == "budget"


class Reads:
    """An extractor that asks the model about each sample."""

    signature = "reads"
    concurrency = 8

    def __init__(self, llm: SharedModel) -> None:
        self.llm = llm

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        await self.llm.complete(Request((Message("user", sample.id),)))
        return (Imap((), (), (), ()),)


class Relates:
    """A matcher that finds nothing."""

    signature = "relates"

    async def match(self, imaps: Sequence[Imap], **about: Any) -> list[tuple[Match, ...] | Failure]:
        return [()] * len(imaps)


class Refused(Metric):
    """Cannot score any sample."""

    name = "refused"
    summary = "Nothing."
    requires = frozenset({"imap"})

    def score(self, case: Case) -> float:
        raise ServiceError("no", kind="auth")


class SentByWorkers(ScriptedModel):
    """Is opened by workers, where it answers the first batch of requests at once and the others after a while."""

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.5 if int(request.messages[0].content) >= BATCH else 0.0)
        return await super().complete(request)

    def open_for_workers(self, **about: Any) -> "Callable[[], SentByWorkers]":
        return lambda: self


async def test_a_worker_finishes_what_it_is_sending_when_another_metric_fails(tmp_path: Path):
    model, ledger = SentByWorkers(lambda _: Completion("{}", "stop", "m", Usage(1, 1))), Ledger(price=Price(1.0, 1.0))
    samples = [Sample(str(n), "?", ("x",), "x") for n in range(100)]
    chain = add_middleware(model, cache=tmp_path / "cache.sqlite", ledger=ledger)
    async with ModelServer(chain, host="127.0.0.1", workers=1) as server:
        scorer = BatchScorer(lambda: Pipeline([Refused()], Reads(server.client), Relates(), {}), "mean")

        def score() -> ImapEvalError | None:
            _, error = scorer.score(samples, {})
            scorer._runner.run(asyncio.to_thread(server.client.close))
            scorer._runner.close()
            return error

        assert isinstance(await asyncio.to_thread(score), ServiceError)
    assert ledger.report()["uncertain_usd"] == 0
    assert ledger.report()["calls"] == len(model.requests) > BATCH


class Costs(Metric):
    """Has no money for some questions."""

    name = "costs"
    summary = "Length of the response."

    def score(self, case: Case) -> float:
        if "costs" in case.question:
            raise ServiceError("no money", kind="budget")
        return 1.0


def open_costs() -> Pipeline:
    return Pipeline([Costs()], None, None, {})


@pytest.mark.slow
def test_an_error_for_all_loses_no_result_of_the_others():
    samples = [Sample(str(n), "what helps" if n < 192 else "what it costs", ("x",), "x") for n in range(256)]
    run = InMemoryStore()
    work = evaluate_in_workers(samples, workers=ProcessPool(2), open_parts=open_costs, parts=open_costs(), run=run)
    with pytest.raises(ServiceError) as raised:
        asyncio.run(work)
    assert raised.value.kind == "budget"
    # All batches were begun before the last one, the only one with an error.
    assert sorted(int(result.id) for result in run.results) == list(range(192))


@pytest.mark.slow
@pytest.mark.usefixtures("apart")
def test_a_refused_request_is_a_failure(imapeval: Command, serve: Callable[..., Any], tmp_path: Path):
    # The body of a good reply: Ray's own HTTP stage takes it for one.
    body = {"choices": [{"finish_reason": "stop", "message": {"content": "{}"}}]}
    command = ("score", "sample-en", "--limit", "4", "--metrics", "imapscore", *LLM, serve(lambda _: (400, body)).url)
    done = imapeval(*command, "--out", "run", "--workers", "2")
    assert done.returncode == 1, done.stderr
    results = Run(tmp_path / "run").results()
    assert [r.outcome.kind for r in results if isinstance(r.outcome, Failure)] == ["bad-request"] * 4


class Deadly(Metric):
    """Ends its process at some responses, as a fault in a library does."""

    name = "deadly"
    summary = "Length of the response."

    def score(self, case: Case) -> float:
        if "deadly" in case.response:
            os._exit(1)
        return 1.0


def open_deadly() -> Pipeline:
    return Pipeline([Deadly()], None, None, {})


@pytest.mark.slow
def test_a_sample_that_ends_every_worker_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    # Each halving of a batch costs the start of a worker.
    monkeypatch.setattr("imapeval.evaluation.workers.BATCH", 4)
    samples = [Sample(str(n), "?", ("x",), "deadly" if n in (6, 7, 9) else "x") for n in range(16)]
    run = InMemoryStore()
    work = evaluate_in_workers(samples, workers=ProcessPool(2), open_parts=open_deadly, parts=open_deadly(), run=run)
    asyncio.run(work)
    assert {r.id for r in run.results if isinstance(r.outcome, Failure)} == {"6", "7", "9"}
    assert {r.outcome.stage for r in run.results if isinstance(r.outcome, Failure)} == {"worker"}
    assert not any(r.final for r in run.results if isinstance(r.outcome, Failure))
    assert sorted(int(r.id) for r in run.results) == list(range(16))


@dataclass(frozen=True)
class Cut(Metric):
    """Kills its process in the middle of sending what it made, once."""

    name = "cut"
    summary = "Length of the response."
    mark: str = option("a file that is there after the kill", "")

    def score(self, case: Case) -> float:
        if not Path(self.mark).exists():

            def send(connection: Connection, message: bytes) -> None:
                Path(self.mark).touch()
                os.write(connection.fileno(), message[:100])
                os.kill(os.getpid(), signal.SIGKILL)

            Connection._send = send
        return 1.0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_a_worker_killed_while_it_sends_loses_its_batch_alone(tmp_path: Path):
    samples = [Sample(str(n), "?", ("x",), "x") for n in range(130)]
    parts = Pipeline([Cut(mark=str(tmp_path / "mark"))], None, None, {})
    run = InMemoryStore()
    work = evaluate_in_workers(
        samples,
        workers=ProcessPool(2),
        open_parts=partial(Pipeline, parts.metrics, None, None, {}),
        parts=parts,
        run=run,
    )
    asyncio.run(asyncio.wait_for(work, 60))
    assert sorted(int(r.id) for r in run.results if r.scored) == list(range(130))


def test_an_unknown_engine_leaves_no_run_behind(imapeval: Command, tmp_path: Path):
    done = imapeval("score", "sample-en", "--metrics", "rouge1", "--engine", "dask", "--out", "run")
    assert done.returncode == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_a_kill_loses_no_result(imapeval: Command, start: Process, tmp_path: Path):
    command = ("score", "sample-en", "--metrics", "imapscore,rouge1")
    assert imapeval(*command, "--out", "plain").returncode == 0
    for victim in ("worker", "first process"):
        process = start(*command, "--out", victim, "--workers", "2")
        await_results(tmp_path / victim, process)
        workers = scoring(process.pid)
        assert len(workers) == 2
        if victim == "worker":
            os.kill(workers[0], signal.SIGKILL)
            _, errors = process.communicate()
            assert process.returncode == 0, errors
        else:
            process.kill()
            process.communicate()  # returns once the workers, which hold the same pipes, have ended
            assert imapeval(*command, "--out", victim, "--workers", "2").returncode == 0
        for name in ("results.jsonl", "imaps.jsonl"):
            assert lines(tmp_path / victim, name) == lines(tmp_path / "plain", name)
