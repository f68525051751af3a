import asyncio
import contextlib
import gc
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import pytest

from imapeval.errors import ProviderError, ResourceError
from imapeval.llm.middleware import cache
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.protocol import Completion, Message, Request, Usage, canonical_json
from imapeval.llm.providers.scripted import ScriptedModel

REQUEST = Request((Message("user", "头痛怎么办 \ud800"),), schema={"type": "object"})


def echo(request):
    return f"re: {request.messages[-1].content}"


def ask(number: int) -> Request:
    return Request((Message("user", str(number)),))


async def test_a_completion_is_paid_for_once(tmp_path):
    path = tmp_path / "deep" / "c.sqlite"
    model = ScriptedModel(["头痛 <b>\ud83d"])
    cached = CachedModel(model, path)
    first = await cached.complete(REQUEST)
    second = await CachedModel(model, path).complete(REQUEST)
    assert (first.cached, second.cached) == (False, True)
    assert replace(second, cached=False) == first
    assert len(model.requests) == 1
    assert cached.identity == "scripted"


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, temperature=0.9),
        replace(REQUEST, seed=1),
        replace(REQUEST, max_tokens=1),
        replace(REQUEST, schema=None),
        replace(REQUEST, messages=(Message("user", "头痛"),)),
    ],
)
async def test_requests_that_differ_have_different_entries(tmp_path, other):
    model = ScriptedModel(["a", "b"])
    cached = CachedModel(model, tmp_path / "c.sqlite")
    assert [(await cached.complete(request)).text for request in (REQUEST, other)] == ["a", "b"]


async def test_models_have_different_entries(tmp_path):
    path = tmp_path / "c.sqlite"
    assert (await CachedModel(ScriptedModel(["a"], identity="m"), path).complete(REQUEST)).text == "a"
    assert (await CachedModel(ScriptedModel(["b"], identity="n"), path).complete(REQUEST)).text == "b"


@pytest.mark.parametrize("kind", ["refusal", "truncated", "rate-limit"])
async def test_errors_are_never_cached(tmp_path, kind):
    cached = CachedModel(ScriptedModel([ProviderError("no", kind=kind), "good"]), tmp_path / "c.sqlite")
    with pytest.raises(ProviderError):
        await cached.complete(REQUEST)
    assert (await cached.complete(REQUEST)).text == "good"


async def test_later_processes_ask_again_for_an_unusable_completion(tmp_path):
    path = tmp_path / "c.sqlite"
    model = ScriptedModel(["<html>", "still <html>", "good"])
    first, concurrent = CachedModel(model, path), CachedModel(model, path)
    unusable = await first.complete(REQUEST)
    first.reject(REQUEST, unusable)
    # A run, and those that run at the same time, pay for it once.
    assert [(await cached.complete(REQUEST)).text for cached in (first, concurrent)] == ["<html>"] * 2
    second = CachedModel(model, path)
    assert second.get(REQUEST) is None
    still_unusable = await second.complete(REQUEST)
    assert still_unusable.text == "still <html>"
    second.reject(REQUEST, still_unusable)
    assert (await second.complete(REQUEST)).cached
    third = CachedModel(model, path)
    assert (await third.complete(REQUEST)).text == "good"
    # A process that only now finds its older completion unusable says nothing about the newer one.
    first.reject(REQUEST, unusable)
    assert (await CachedModel(model, path).complete(REQUEST)).text == "good"
    assert len(model.requests) == 3


async def test_no_other_process_stores_a_completion_while_the_last_one_is_marked(tmp_path, monkeypatch):
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(["<html>"]), path)
    completion = await cached.complete(REQUEST)
    locked = []

    def read_while_another_writes(text):
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as other, pytest.raises(sqlite3.OperationalError):
            other.execute("DELETE FROM completion")
        locked.append(True)
        return read(text)

    read = json.loads
    monkeypatch.setattr(json, "loads", read_while_another_writes)
    cached.reject(REQUEST, completion)
    assert locked
    monkeypatch.setattr(json, "loads", read)
    assert CachedModel(ScriptedModel([]), path).get(REQUEST) is None


async def test_a_long_lived_process_asks_again_after_a_while(tmp_path, monkeypatch):
    cached = CachedModel(ScriptedModel(["<html>", "good"]), tmp_path / "c.sqlite")
    cached.reject(REQUEST, await cached.complete(REQUEST))
    assert (await cached.complete(REQUEST)).text == "<html>"
    monkeypatch.setattr(cache, "_UNUSABLE_SECONDS", 0.0)
    assert (await cached.complete(REQUEST)).text == "good"


async def test_completions_are_held_in_memory_while_the_disk_is_full(tmp_path, caplog):
    path = tmp_path / "c.sqlite"
    model = ScriptedModel(lambda request: echo(request) * 2000)
    cached = CachedModel(model, path)
    await cached.complete(ask(0))
    connection = cached._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(2):
        for number in range(5):
            assert (await cached.complete(ask(number))).text == f"re: {number}" * 2000
    assert len(model.requests) == 5
    (warning,) = caplog.records
    assert str(path) in warning.getMessage()
    cached.reject(ask(4), await cached.complete(ask(4)))
    assert CachedModel(model, path).get(ask(1)) is None

    connection.execute("PRAGMA max_page_count = 100000")
    await cached.complete(ask(5))
    later = CachedModel(model, path)
    assert [later.get(ask(number)) is None for number in range(6)] == [False, False, False, False, True, False]
    assert len(caplog.records) == 1


async def test_storing_on_a_full_disk_raises(tmp_path):
    cached = CachedModel(ScriptedModel([]), tmp_path / "c.sqlite")
    cached.get(REQUEST)
    (pages,) = cached._connection.execute("PRAGMA page_count").fetchone()
    cached._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ResourceError, match=r"c\.sqlite"):
        cached.store(REQUEST, Completion("text" * 5000, "stop", "m", Usage(1, 1)))


class Slow:
    """Answers once `go` is set."""

    identity = "slow"

    def __init__(self):
        self.calls = 0
        self.go = asyncio.Event()

    async def complete(self, request):
        self.calls += 1
        await self.go.wait()
        if request.seed:
            raise ProviderError("no", kind="server")
        return Completion("text", "stop", "slow", Usage(1, 1))


async def test_identical_requests_in_flight_share_one_call(tmp_path):
    model = Slow()
    cached = CachedModel(model, tmp_path / "c.sqlite")
    waiting = [asyncio.create_task(cached.complete(REQUEST)) for _ in range(5)]
    await asyncio.sleep(0)
    model.go.set()
    assert [completion.cached for completion in await asyncio.gather(*waiting)] == [False, *[True] * 4]
    assert model.calls == 1


async def test_a_cancelled_caller_does_not_cancel_the_call_of_the_others(tmp_path):
    model = Slow()
    cached = CachedModel(model, tmp_path / "c.sqlite")
    first, second = (asyncio.create_task(cached.complete(REQUEST)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    model.go.set()
    assert (await second).text == "text"
    assert first.cancelled()
    assert model.calls == 1


async def test_claims_are_renewed_while_the_event_loop_is_blocked(tmp_path, monkeypatch):
    path = tmp_path / "completions.sqlite"
    monkeypatch.setattr(cache, "_RENEWAL", 0.01)

    def read_expiry() -> float:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT until FROM claim").fetchone()[0]

    class Blocking(ScriptedModel):
        async def complete(self, request):
            before, give_up = read_expiry(), time.monotonic() + 60
            while read_expiry() == before:
                assert time.monotonic() < give_up
                time.sleep(0.01)
            return await super().complete(request)

    completion = await CachedModel(Blocking(["text"]), path).complete(REQUEST)
    assert completion.text == "text"


async def test_a_claim_that_could_not_be_released_is_not_renewed_with_others(tmp_path, monkeypatch):
    path = tmp_path / "completions.sqlite"
    monkeypatch.setattr(cache, "_RENEWAL", 0.01)
    monkeypatch.setattr(CachedModel, "_release", lambda *_: None)

    def read_expiries() -> dict[str, float]:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            return dict(connection.execute("SELECT key, until FROM claim"))

    class FailingOnce(ScriptedModel):
        async def complete(self, request):
            if request != REQUEST:
                raise ProviderError("no", kind="server")
            before, give_up = read_expiries(), time.monotonic() + 60
            while (now := read_expiries()) == before:
                assert time.monotonic() < give_up
                time.sleep(0.01)
            assert len(before.items() & now.items()) == 1
            return await super().complete(request)

    model = CachedModel(FailingOnce(["text"]), path)
    with pytest.raises(ProviderError):
        await model.complete(replace(REQUEST, max_tokens=7))
    assert (await model.complete(REQUEST)).text == "text"


async def test_a_failed_call_is_not_cached(tmp_path):
    model = Slow()
    model.go.set()
    cached = CachedModel(model, tmp_path / "c.sqlite")
    for _ in range(2):
        with pytest.raises(ProviderError):
            await cached.complete(replace(REQUEST, seed=1))
    assert model.calls == 2


def test_can_be_used_in_several_event_loops(tmp_path):
    cached = CachedModel(ScriptedModel(echo), tmp_path / "c.sqlite")
    texts = [asyncio.run(cached.complete(ask(number))).text for number in (1, 2, 1)]
    assert texts == ["re: 1", "re: 2", "re: 1"]


async def test_the_request_is_stored_beside_the_completion(tmp_path):
    path = tmp_path / "c.sqlite"
    await CachedModel(ScriptedModel(["a"]), path).complete(REQUEST)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT request FROM completion").fetchall() == [(canonical_json(REQUEST, "scripted"),)]
    connection.close()


@pytest.mark.parametrize(
    "content", [b"this is no database, but a text of some length\n" * 40, b"SQLite format 3\0junk"]
)
async def test_a_damaged_file_is_named_and_not_touched(tmp_path, content):
    path = tmp_path / "c.sqlite"
    path.write_bytes(content)
    with pytest.raises(ResourceError, match=r"c\.sqlite"):
        await CachedModel(ScriptedModel(["a"]), path).complete(REQUEST)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [
        '{"text": "a", "finish_r',
        "[1]",
        "[" * 100_000,
        '{"usage": {}}',
        '{"text": 5, "finish_reason": "stop", "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}',
        '{"text": "a", "finish_reason": "stop", "model": "m", "usage": {"prompt_tokens": "", "completion_tokens": 1}}',
        *(
            '{"text": "a", "finish_reason": "stop", "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1}'
            f', "tokens": [{token}]}}'
            for token in (
                '{"text": 5, "logprob": 0, "top": []}',
                '{"text": "a", "logprob": "0", "top": []}',
                '{"text": "a", "logprob": 0, "top": [["a", null]]}',
                '{"text": "a", "logprob": 0, "top": [[["a"], 0]]}',
            )
        ),
    ],
)
async def test_the_file_of_a_damaged_entry_is_named(tmp_path, content):
    path = tmp_path / "c.sqlite"
    await CachedModel(ScriptedModel(["a"]), path).complete(REQUEST)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE completion SET completion = ?", (content,))
    connection.close()
    with pytest.raises(ResourceError, match=r"c\.sqlite"):
        await CachedModel(ScriptedModel(["b"]), path).complete(REQUEST)


async def test_a_file_of_another_format_is_rejected(tmp_path):
    path = tmp_path / "c.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ResourceError, match="99"):
        await CachedModel(ScriptedModel(["a"]), path).complete(REQUEST)


async def test_a_path_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError, match=r"file/c\.sqlite"):
        await CachedModel(ScriptedModel(["a"]), tmp_path / "file" / "c.sqlite").complete(REQUEST)


PROCESS = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from imapeval.llm.middleware.cache import CachedModel
    from imapeval.llm.protocol import Message, Request
    from imapeval.llm.providers.scripted import ScriptedModel

    async def main():
        cached = CachedModel(ScriptedModel(lambda request: "re: " + request.messages[0].content), Path(sys.argv[1]))
        for number in range(int(sys.argv[2]), int(sys.argv[3])):
            await cached.complete(Request((Message("user", str(number)),)))
        print("done", flush=True)
        if sys.argv[4:]:
            await asyncio.sleep(60)

    asyncio.run(main())
""")


def run(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", PROCESS, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


async def test_two_processes_share_a_file(tmp_path):
    path = tmp_path / "c.sqlite"
    with run(path, 0, 60) as one, run(path, 30, 90) as other:
        assert {one.wait(30), other.wait(30)} == {0}
    cached = CachedModel(ScriptedModel([]), path)
    for number in range(90):
        assert (await cached.complete(ask(number))).text == f"re: {number}"


async def test_two_caches_of_one_process_and_another_process_share_a_file(tmp_path):
    path = tmp_path / "c.sqlite"
    first, second = (CachedModel(ScriptedModel(echo), path) for _ in range(2))
    for cached in (first, second):
        await cached.complete(ask(0))
    # As SQLite's last connection, that of the other process would delete the log that ours still write to.
    with run(path, 0, 1) as other:
        assert other.wait(30) == 0
    await first.complete(ask(1))
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM completion").fetchone() == (2,)
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_waits_for_another_process_that_creates_the_file(tmp_path):
    path = tmp_path / "c.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")  # SQLite itself does not wait in this state
    timer = threading.Timer(0.2, other.close)
    timer.start()
    assert (await CachedModel(ScriptedModel(["a"]), path).complete(REQUEST)).text == "a"
    timer.join()


async def test_a_file_that_stays_locked_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_BUSY_SECONDS", 0.1)
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel([]), path)
    begun = time.monotonic()
    with lock(path):
        failed = await asyncio.gather(*(cached.complete(ask(number)) for number in range(64)), return_exceptions=True)
    assert time.monotonic() - begun < 64 * 0.1  # only the first one waits for the lock
    assert {type(error) for error in failed} == {ResourceError}
    assert str(path) in str(failed[0])


async def test_kill_9_loses_no_completion(tmp_path):
    path = tmp_path / "c.sqlite"
    with run(path, 0, 20, "stay") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "done\n"
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
    cached = CachedModel(ScriptedModel([]), path)
    for number in range(20):
        assert (await cached.complete(ask(number))).cached


SLOW = textwrap.dedent("""
    import asyncio, sys
    from pathlib import Path
    from imapeval.llm.middleware import cache
    from imapeval.llm.protocol import Completion, Message, Request, Usage

    cache._LEASE, cache._RENEWAL = 0.5, 0.1

    class Slow:
        identity = "scripted"

        async def complete(self, request):
            print("asked", flush=True)
            await asyncio.sleep(0.3)
            return Completion("of the suspended", "stop", "m", Usage(1, 1))

    async def main():
        cached = cache.CachedModel(Slow(), Path(sys.argv[1]))
        requests = [Request((Message("user", str(number)),)) for number in range(4)]
        # One is finished, two are in flight when the process is suspended, the last one follows.
        await cached.complete(requests[0])
        found = await asyncio.gather(*map(cached.complete, requests[1:3]))
        found.append(await cached.complete(requests[3]))
        print(*(completion.text for completion in found), sep=",", flush=True)

    asyncio.run(main())
""")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGSTOP")
async def test_of_a_suspended_process_only_requests_in_flight_are_paid_for_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_LEASE", 0.5)
    path = tmp_path / "c.sqlite"
    with subprocess.Popen([sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["asked\n"] * 3
        os.kill(process.pid, signal.SIGSTOP)
        model = ScriptedModel(echo)
        cached = CachedModel(model, path)
        found = await asyncio.gather(*(cached.complete(ask(number)) for number in range(4)))
        os.kill(process.pid, signal.SIGCONT)
        # It goes on with what it has received, takes the last one from the file, and asks no more.
        assert process.stdout.read() == "of the suspended,of the suspended,re: 3\n"
        assert process.wait(30) == 0
    assert [completion.text for completion in found] == ["of the suspended", "re: 1", "re: 2", "re: 3"]
    assert sorted(request.messages[0].content for request in model.requests) == ["1", "2", "3"]
    later = CachedModel(ScriptedModel([]), path)
    assert all([(await later.complete(ask(number))).cached for number in range(4)])


@contextlib.contextmanager
def lock(path):
    """Lock the file as another program does."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def test_a_file_that_is_locked_for_a_while_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_BUSY_SECONDS", 0.05)
    path = tmp_path / "c.sqlite"
    model = ScriptedModel(echo)
    cached = CachedModel(model, path)
    await cached.complete(ask(0))
    with lock(path):
        begun = time.monotonic()
        await asyncio.gather(*(cached.complete(ask(number)) for number in range(200)))
        assert time.monotonic() - begun < 200 * 0.05  # only the first one waits for the lock
    await cached.complete(ask(200))
    later = CachedModel(ScriptedModel([]), path)
    assert all(later.get(ask(number)) for number in range(201))
    assert len(model.requests) == 201


async def test_what_is_held_is_written_when_the_process_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_BUSY_SECONDS", 0.05)
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(echo), path)
    await cached.complete(ask(0))
    with lock(path):
        await cached.complete(ask(1))
    del cached
    gc.collect()
    assert CachedModel(ScriptedModel([]), path).get(ask(1))


async def test_an_unusable_completion_is_marked_as_soon_as_that_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_BUSY_SECONDS", 0.05)
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(echo), path)
    completion = await cached.complete(ask(0))
    with lock(path):
        cached.reject(ask(0), completion)
    await cached.complete(ask(1))
    assert CachedModel(ScriptedModel([]), path).get(ask(0)) is None


async def test_a_held_unusable_completion_is_asked_for_again_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_BUSY_SECONDS", 0.05)
    monkeypatch.setattr(cache, "_UNUSABLE_SECONDS", 0.0)
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(["a", "<html>", "good"]), path)
    await cached.complete(ask(0))
    with lock(path):
        for _ in range(2):
            cached.reject(ask(1), await cached.complete(ask(1)))
        await asyncio.sleep(0.01)
        assert (await cached.complete(ask(1))).text == "good"


@pytest.mark.parametrize("replaced", [False, True])
async def test_a_file_that_is_deleted_or_replaced_is_opened_anew(tmp_path, replaced):
    path, other = tmp_path / "c.sqlite", tmp_path / "other.sqlite"
    await CachedModel(ScriptedModel(echo), other).complete(ask(1))
    gc.collect()  # closes it
    cached = CachedModel(ScriptedModel(echo), path)
    await cached.complete(ask(0))
    for part in tmp_path.glob("c.sqlite*"):
        part.unlink()
    if replaced:
        other.rename(path)
    await cached.complete(ask(1))
    await cached.complete(ask(2))
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM completion").fetchone() == (2,)
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_file_that_is_damaged_during_a_run_does_not_end_it(tmp_path, caplog):
    path = tmp_path / "c.sqlite"
    cached = CachedModel(ScriptedModel(echo), path)
    await cached.complete(ask(0))
    for part in tmp_path.glob("c.sqlite*"):
        part.unlink()
    path.write_bytes(b"no database\n" * 100)
    assert [(await cached.complete(ask(number))).text for number in (1, 2, 1)] == ["re: 1", "re: 2", "re: 1"]
    (warning,) = caplog.records
    assert str(path) in warning.getMessage()
