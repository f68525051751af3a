"""A model of one process, asked by others through `SharedModel`."""

import asyncio
import pickle
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from imapeval.errors import (
    ExtractionError,
    ImapEvalError,
    InputError,
    MissingExtraError,
    ProviderError,
    ServiceError,
)
from imapeval.llm import sharing, tokens
from imapeval.llm.middleware.budget import Ledger
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Message, Request, Token, Usage
from imapeval.llm.providers.scripted import ScriptedModel
from imapeval.llm.registry import add_middleware
from imapeval.llm.sharing import STOPPED, ModelServer, SharedModel

REQUEST = Request((Message("user", "x" * 1_000_000),), schema={"type": "object"}, logprobs=2)
COMPLETION = Completion("{}", "stop", "m", Usage(3, 1), tokens=(Token("{}", -0.5, (("{}", -0.5),)),))


class Keeping(ScriptedModel):
    """Remembers what was rejected."""

    def __init__(self, replies):
        super().__init__(replies, identity="kept", concurrency=3)
        self.rejected = []

    def reject(self, request, completion):
        self.rejected.append((request, completion))


async def send(address, content: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(content)
    writer.write_eof()
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


class Portable(ScriptedModel):
    """A model that workers open by a function."""

    def __init__(self, replies, opener):
        super().__init__(replies, identity="kept", concurrency=3)
        self.opener = opener

    def open_for_workers(self, *, concurrency, local):
        self.opened = (concurrency, local)
        return self.opener


def sent_by_a_worker(client: SharedModel) -> SharedModel:
    return pickle.loads(pickle.dumps(client))


async def test_a_request_and_its_completion_pass_unchanged():
    model = Keeping([COMPLETION])
    async with ModelServer(model, host="127.0.0.1", workers=2) as server:
        client = sent_by_a_worker(server.client)
        assert await client.complete(REQUEST) == COMPLETION
        client.close()
    assert model.requests == [REQUEST]
    assert (client.identity, client.concurrency) == ("kept", 2)


async def test_a_worker_sends_its_requests_itself_once_it_may():
    mine = ScriptedModel([ProviderError("slow down", kind="rate-limit"), COMPLETION, COMPLETION])
    model = Portable([], lambda: mine)
    async with ModelServer(add_middleware(model), host="127.0.0.1", workers=2) as server:
        assert await server.client.complete(REQUEST) == COMPLETION
        assert await server.client.complete(replace(REQUEST, seed=1)) == COMPLETION
    assert (model.requests, mine.requests) == ([], [REQUEST, REQUEST, replace(REQUEST, seed=1)])
    assert model.opened == (2, True)


@pytest.mark.parametrize("kind", ["truncated", "server"])
async def test_an_error_that_a_worker_meets_passes_through_the_main_process(kind: str):
    error, ledger = ProviderError("cut", kind=kind, raw="{", tokens=(5, 7)), Ledger()
    model = add_middleware(Portable([], lambda: ScriptedModel(lambda _: error)), ledger=ledger)
    async with ModelServer(model, host="127.0.0.1", workers=1) as server:
        with pytest.raises(ProviderError) as raised:
            await server.client.complete(REQUEST)
    assert vars(raised.value) == vars(error)
    assert ledger.report()["failed"] > 0


async def test_the_main_process_decides_that_no_request_will_succeed():
    # As "not found" in an unknown format from a proxy, which a model takes for the server's until it has had an answer.
    mine = ScriptedModel([COMPLETION, ServiceError("no", kind="not-found"), ServiceError("no", kind="auth")])
    model = Portable([COMPLETION, ServiceError("never", kind="auth")], lambda: mine)
    async with ModelServer(add_middleware(model), host="127.0.0.1", workers=1) as server:
        for seed in (1, 2):
            assert await server.client.complete(replace(REQUEST, seed=seed)) == COMPLETION
        with pytest.raises(ServiceError, match="never"):
            await server.client.complete(REQUEST)
    assert (len(mine.requests), len(model.requests)) == (3, 2)


async def test_a_fault_of_the_program_in_a_worker_is_no_completion():
    model = add_middleware(Portable([], lambda: ScriptedModel(lambda request: 1 // 0)))
    async with ModelServer(model, host="127.0.0.1", workers=1) as server:
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            await server.client.complete(REQUEST)


@pytest.mark.parametrize(
    "opener",
    [
        None,
        lambda: None,
        lambda: ScriptedModel([ProviderError("no route", kind="unreachable")]),
        lambda: ScriptedModel([ServiceError("the proxy of this machine is no URL", kind="unreachable")]),
    ],
)
async def test_the_main_process_sends_what_a_worker_cannot(opener):
    model = Portable([COMPLETION] * 2, opener)
    async with ModelServer(add_middleware(model), host="127.0.0.1", workers=1) as server:
        for seed in (1, 2):
            assert await server.client.complete(replace(REQUEST, seed=seed)) == COMPLETION
    assert len(model.requests) == 2


class DyingWorker:
    """A worker that takes requests and dies before it sends them."""

    def __init__(self, client: SharedModel) -> None:
        self._client = client
        self._connections: list[sharing._Streams] = []

    async def ask(self, request: Request) -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(*self._client.address)
        writer.write(self._client.token + sharing._pack(sharing._Message(request, can_send=True)))
        self._connections.append((reader, writer))
        return reader

    def die(self) -> None:
        for _, writer in self._connections:
            writer.close()


async def test_the_main_process_sends_again_what_a_dead_worker_was_sending(tmp_path: Path):
    ledger = Ledger(price=Price(1.0, 1.0))
    model = Portable([COMPLETION], lambda: None)
    chain = add_middleware(model, cache=tmp_path / "cache.sqlite", ledger=ledger)
    async with ModelServer(chain, host="127.0.0.1", workers=1) as server:
        worker = DyingWorker(server.client)
        assert await sharing._receive(await worker.ask(REQUEST)) is sharing._Reply.SEND
        worker.die()
        other = sent_by_a_worker(replace(server.client, open_model=None))
        assert (await other.complete(REQUEST)).text == COMPLETION.text
        other.close()
    assert model.requests == [REQUEST]
    assert ledger.report()["calls"] - ledger.report()["cached"] == 1
    assert ledger.report()["uncertain_usd"] > 0


async def test_what_a_dead_worker_was_never_told_to_send_costs_nothing():
    ledger = Ledger(price=Price(1.0, 1.0))
    model = Portable([COMPLETION] * 3, lambda: None)
    model.concurrency = 1
    async with ModelServer(add_middleware(model, ledger=ledger), host="127.0.0.1", workers=1) as server:
        worker = DyingWorker(server.client)
        assert await sharing._receive(await worker.ask(REQUEST)) is sharing._Reply.SEND
        for seed in (1, 2):
            await worker.ask(replace(REQUEST, seed=seed))
        await asyncio.sleep(0.1)
        worker.die()
        async with asyncio.timeout(20):
            while len(model.requests) < 3:
                await asyncio.sleep(0.01)
    assert ledger.report()["calls"] == 3
    assert ledger.report()["uncertain_usd"] == Price(1.0, 1.0).cost_of(
        Usage(tokens.bound_prompt(REQUEST), REQUEST.max_tokens)
    )


async def test_a_cancelled_request_that_a_worker_is_sending_is_paid_for_once(tmp_path: Path):
    sending, answering = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedModel):
        async def complete(self, request):
            sending.set()
            await answering.wait()
            return await super().complete(request)

    model, mine = Portable([], lambda: mine), Slow([COMPLETION])
    chain = add_middleware(model, cache=tmp_path / "cache.sqlite")
    async with ModelServer(chain, host="127.0.0.1", workers=1) as server:
        work = asyncio.ensure_future(server.client.complete(REQUEST))
        await sending.wait()
        work.cancel()
        await asyncio.wait([work])
        answering.set()
        assert (await server.client.complete(REQUEST)).text == COMPLETION.text
    assert (model.requests, mine.requests) == ([], [REQUEST])


async def test_a_machine_that_vanishes_is_noticed():
    accepted: list[socket.socket] = []

    class Watched(ModelServer):
        def _accept(self, reader, writer):
            super()._accept(reader, writer)
            accepted.append(writer.get_extra_info("socket"))

    async with Watched(Keeping([COMPLETION]), host="127.0.0.1", workers=1) as server:
        await server.client.complete(REQUEST)
        assert [bool(each.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)) for each in accepted] == [True]


async def test_requests_one_after_the_other_take_one_connection(monkeypatch: pytest.MonkeyPatch):
    opened, connect = [], asyncio.open_connection

    async def count(*address):
        opened.append(address)
        return await connect(*address)

    monkeypatch.setattr(asyncio, "open_connection", count)
    async with ModelServer(ScriptedModel([COMPLETION] * 9), host="127.0.0.1", workers=1) as server:
        for _ in range(9):
            await server.client.complete(REQUEST)
    assert len(opened) == 1


async def test_a_cancelled_request_leaves_no_reply_to_the_next():
    async def answer(request):
        await asyncio.sleep(0.2)
        return replace(COMPLETION, text=request.messages[0].content)

    class Slow(ScriptedModel):
        complete = staticmethod(answer)

    async with ModelServer(Slow([]), host="127.0.0.1", workers=1) as server:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server.client.complete(Request((Message("user", "first"),))), 0.05)
        assert (await server.client.complete(Request((Message("user", "second"),)))).text == "second"


async def test_an_error_keeps_its_type_and_fields():
    error = ProviderError("cut", kind="truncated", raw="{", tokens=(5, 7))
    async with ModelServer(ScriptedModel([error]), host="127.0.0.1", workers=1) as server:
        with pytest.raises(ProviderError) as raised:
            await server.client.complete(REQUEST)
    assert vars(raised.value) == vars(error)


async def test_a_fault_of_the_program_is_no_completion():
    async with ModelServer(ScriptedModel(lambda request: 1 // 0), host="127.0.0.1", workers=1) as server:
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            await server.client.complete(REQUEST)


async def test_a_rejection_reaches_the_model():
    model = Keeping([COMPLETION])
    async with ModelServer(model, host="127.0.0.1", workers=1) as server:
        client = sent_by_a_worker(server.client)
        completion = await client.complete(REQUEST)
        await asyncio.to_thread(client.reject, REQUEST, completion)
        while not model.rejected:
            await asyncio.sleep(0.01)
        client.close()
    assert model.rejected == [(REQUEST, COMPLETION)]


@pytest.mark.parametrize("token", [b"", b"\0" * 31, b"\0" * 32])
async def test_who_does_not_know_the_token_is_not_read(token: bytes, monkeypatch: pytest.MonkeyPatch):
    model = ScriptedModel([COMPLETION])
    async with ModelServer(model, host="127.0.0.1", workers=1) as server:
        content = token + pickle.dumps((REQUEST, None))
        monkeypatch.setattr(pickle, "loads", None)
        assert await send(server.client.address, content) == b""
    assert model.requests == []


async def test_once_stopped_nothing_more_is_asked():
    model, stop = ScriptedModel([COMPLETION]), asyncio.Event()
    async with ModelServer(model, host="127.0.0.1", workers=1, is_stopped=stop.is_set) as server:
        stop.set()
        with pytest.raises(ServiceError) as raised:
            await server.client.complete(REQUEST)
    assert raised.value.kind == STOPPED
    assert model.requests == []


async def test_without_the_first_process():
    async with ModelServer(ScriptedModel([COMPLETION]), host="127.0.0.1", workers=1) as server:
        pass
    with pytest.raises(ServiceError) as raised:
        await server.client.complete(REQUEST)
    assert raised.value.kind == "unreachable"
    server.client.reject(REQUEST, COMPLETION)


async def test_a_worker_that_dies_does_not_cancel_its_request():
    asked, answered = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedModel):
        async def complete(self, request):
            asked.set()
            await asyncio.sleep(0.1)
            answered.set()
            return COMPLETION

    async with ModelServer(Slow([]), host="127.0.0.1", workers=1) as server:
        worker = DyingWorker(server.client)
        await worker.ask(REQUEST)
        await asked.wait()
        worker.die()
        await asyncio.wait_for(answered.wait(), 5)


@pytest.mark.parametrize(
    "error",
    [
        InputError("bad", path="p", line=3, fix="Correct it."),
        ServiceError("down", kind="unreachable"),
        MissingExtraError("pyarrow", extra="parquet", needed_for="Reading Parquet files"),
        ExtractionError("no query", kind="no-query", raw="{}"),
    ],
)
def test_errors_pass_between_processes(error: ImapEvalError):
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
