"""Processes that share a cache of completions: each request is asked by one of them, also where one dies."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time

import pytest

from imapeval.errors import ProviderError
from imapeval.llm.middleware import cache
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Completion, Message, Request, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from tests.cli.conftest import Stub, make_reply

REQUESTS = 600


def ask(number: int) -> Request:
    return Request((Message("user", str(number)),))


@pytest.fixture
def server(run_server):
    """Answers each request with its own text after `seconds`; `seen` are the texts it was asked."""

    def answer(body):
        (message,) = body["messages"]
        server.seen.append(message["content"])
        time.sleep(server.seconds)
        return make_reply(message["content"], prompt_tokens=10, completion_tokens=1)

    server = Stub(answer)
    server.seen, server.seconds = [], 0.05
    return run_server(server)


PROCESS = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from imapeval.llm.middleware import cache
    from imapeval.llm.protocol import Message, Request
    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.registry import open_model

    path, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if sys.argv[4:]:
        cache._LEASE, cache._RENEWAL = map(float, sys.argv[4:])

    async def main():
        ledger = Ledger()
        model = open_model("openai:m", base_url=url, concurrency=16, cache=path, ledger=ledger)
        waiting = iter(range(count))

        async def work():
            for number in waiting:
                request = Request((Message("user", str(number)),))
                assert (await model.complete(request)).text == str(number)

        await asyncio.gather(*(work() for _ in range(16)))
        print(ledger.spent.calls, ledger.spent.cached, ledger.spent.prompt_tokens)

    asyncio.run(main())
""")


def start(path, server, *arguments):
    call = [sys.executable, "-c", PROCESS, *map(str, (path, server.url, *arguments))]
    return subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env={**os.environ, "OPENAI_API_KEY": ""})


@pytest.mark.slow
def test_each_request_is_sent_by_only_one_of_three_processes(server, tmp_path):
    path = tmp_path / "c.sqlite"
    with (
        start(path, server, REQUESTS) as one,
        start(path, server, REQUESTS) as two,
        start(path, server, REQUESTS) as three,
    ):
        processes = (one, two, three)
        counts = [[*map(int, process.communicate(timeout=120)[0].split())] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(server.seen) == len(set(server.seen)) == REQUESTS
    assert [calls for calls, _, _ in counts] == [REQUESTS] * 3
    # What one process paid for is free for the others.
    assert sum(cached for _, cached, _ in counts) == 2 * REQUESTS
    assert sum(tokens for _, _, tokens in counts) == 10 * REQUESTS


@pytest.mark.slow
def test_a_process_that_died_on_this_machine_holds_up_no_other(server, tmp_path):
    path = tmp_path / "c.sqlite"
    server.seconds = 60  # no request is answered
    with start(path, server, 16, 600.0, 1.0) as killed:
        deadline = time.monotonic() + 60
        while len(set(server.seen)) < 16 and time.monotonic() < deadline:
            time.sleep(0.02)
        killed.kill()
    server.seconds = 0.01
    with start(path, server, 16, 600.0, 1.0) as living:
        living.communicate(timeout=60)
    assert living.returncode == 0
    assert len(server.seen) == 2 * 16


@pytest.mark.slow
def test_claims_of_a_killed_process_expire_with_the_lease(server, tmp_path):
    # Until it is reaped, a killed process counts as running, like one on another machine.
    path = tmp_path / "c.sqlite"
    server.seconds = 60  # no request is answered
    lease = 3.0
    with start(path, server, 40, lease, 1.0) as killed:
        deadline = time.monotonic() + 60
        while len(set(server.seen)) < 16 and time.monotonic() < deadline:
            time.sleep(0.02)
        with start(path, server, 40, lease, 1.0) as living:
            time.sleep(2 * lease)
            # The claims have been renewed.
            assert len(server.seen) == 16
            server.seconds = 0.01
            os.kill(killed.pid, signal.SIGKILL)
            begun = time.monotonic()
            living.communicate(timeout=60)
    assert living.returncode == 0
    assert time.monotonic() - begun < 10 * lease
    assert len(set(server.seen)) == 40
    assert len(server.seen) == 40 + 16


class Slow:
    """Answers, or fails, once `go` is set."""

    identity = "slow"
    concurrency = 4

    def __init__(self):
        self.calls = 0
        self.go = asyncio.Event()
        self.fails = False

    async def complete(self, request):
        self.calls += 1
        await self.go.wait()
        if self.fails:
            raise ProviderError("no", kind="server")
        return Completion("text", "stop", "slow", Usage(1, 1))


async def wait_for(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_waiting_process_asks_itself_if_the_other_fails(tmp_path):
    path = tmp_path / "c.sqlite"
    first, second = Slow(), Slow()
    second.go.set()
    asking = asyncio.create_task(CachedModel(first, path).complete(ask(1)))
    await wait_for(lambda: first.calls)
    waiting = asyncio.create_task(CachedModel(second, path).complete(ask(1)))
    await asyncio.sleep(0.2)
    assert not second.calls
    first.fails = True
    first.go.set()
    with pytest.raises(ProviderError):
        await asking
    assert not (await waiting).cached
    assert second.calls == 1


async def test_a_cancelled_request_releases_its_claim(tmp_path):
    path = tmp_path / "c.sqlite"
    first = Slow()
    cached = CachedModel(first, path)
    asking = asyncio.create_task(cached.complete(ask(1)))
    await wait_for(lambda: first.calls)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    async with asyncio.timeout(5):
        assert (await CachedModel(ScriptedModel(["a"], identity="slow"), path).complete(ask(1))).text == "a"


@pytest.mark.parametrize("until", [-1.0, 86_400.0])
async def test_expired_claims_and_those_from_a_wrong_clock_are_ignored(tmp_path, until):
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(["a"]), path)
    cached.get(ask(1))  # creates the file
    connection = sqlite3.connect(path)
    key = cache.cache_key(cache.canonical_json(ask(1), "scripted"))
    with connection:
        connection.execute("INSERT INTO claim VALUES (?, 'another', ?)", (key, time.time() + until))
    connection.close()
    async with asyncio.timeout(5):
        assert (await cached.complete(ask(1))).text == "a"


async def test_claims_are_removed_after_success_and_failure(tmp_path):
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(["a", ProviderError("no", kind="refusal")]), path)
    await cached.complete(ask(1))
    with pytest.raises(ProviderError):
        await cached.complete(ask(2))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT * FROM claim").fetchall() == []
    connection.close()
