"""One model for several processes: the main process decides about all requests, and keeps their completions.

So everything that must hold for all of them together is in one place: limits of requests, tokens and cost, retries, the
ledger and the cache of completions. Once a request may be sent, the worker that made it sends it if it can, because
that takes most of the processor time; otherwise the main process does. If a worker dies, at most the requests that
it has in flight are sent again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import pickle
import secrets
import socket
from contextlib import closing, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from imapeval.errors import ImapEvalError, ProviderError, ServiceError
from imapeval.llm.middleware import ModelWrapper
from imapeval.llm.protocol import STOPPED, WORKER_DIED, CachingModel, Completion, PortableModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from imapeval.llm.protocol import Model, Request

_TOKEN_BYTES = 32

_TOKEN_SECONDS = 60.0
"""How long a connection may take to send the token. Without a limit, one that never does would stay open forever."""

_BACKLOG = 1024
"""Connections that may wait to be accepted."""

_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Seconds until a silent connection is probed, seconds between probes, and lost probes after which it has failed."""

_LENGTH_BYTES = 8

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_Outcome = Completion | Exception


class _Reply(Enum):
    """What the main process answers to a worker's request, other than its outcome."""

    SEND = auto()
    """Send it to the model, and return the outcome."""
    YOURS = auto()
    """Its outcome is the one that the worker has just returned."""


def _pack(content: object) -> bytes:
    """Return a message: the length of the pickled content, and the pickled content."""
    pickled = pickle.dumps(content)
    return len(pickled).to_bytes(_LENGTH_BYTES) + pickled


async def _receive(reader: asyncio.StreamReader) -> Any:
    """Return the content of a message. It must come from a process of this program, because it is unpickled.

    Raises:
        asyncio.IncompleteReadError: The connection ends before the message does.
    """
    length = int.from_bytes(await reader.readexactly(_LENGTH_BYTES))
    return pickle.loads(await reader.readexactly(length))


@dataclass(slots=True)
class SharedModel:
    """A `Model` that asks the process that has the real one about every request. Can be pickled until it is used.

    All requests must be made in one event loop. Connections are kept and used again: one for each request would use up
    the ports of a machine.

    Attributes:
        address: Host and port of the `ModelServer`.
        token: Proves to the server that a request comes from one of its workers.
        identity: Identity of the real model.
        concurrency: Maximum number of requests passed on at the same time.
        open_model: Opens the real model in this process; None if only the other process can reach it.
    """

    address: tuple[str, int]
    token: bytes = field(repr=False)
    identity: str
    concurrency: int
    open_model: Callable[[], Model | None] | None = field(default=None, repr=False)
    _model: Model | None = field(default=None, init=False)
    _has_sent: bool = field(default=False, init=False)
    _places: asyncio.Semaphore | None = field(default=None, init=False)
    _idle: list[_Streams] = field(default_factory=list["_Streams"], init=False)

    async def complete(self, request: Request) -> Completion:
        """Have the request answered; see `Model.complete`.

        Raises:
            ServiceError: "unreachable" if the main process is gone, or the error of the real model.
            ProviderError: The error of the real model.
        """
        if self._places is None:
            self._places = asyncio.Semaphore(self.concurrency)
            self._model = None if self.open_model is None else self.open_model()
        async with self._places:
            try:
                # Shielded, as in `CachedModel.complete`: it may have been sent, and its completion goes to the cache.
                outcome = await asyncio.shield(self._exchange(request))
            except (OSError, asyncio.IncompleteReadError) as error:
                raise self._unreachable() from error
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _exchange(self, request: Request) -> Any:
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection(*self.address)
            writer.write(self.token)
        own = None
        try:
            writer.write(_pack(_Message(request, can_send=self._model is not None)))
            while (reply := await _receive(reader)) is _Reply.SEND:
                own = await self._send(request)
                writer.write(_pack(own))
        except BaseException:
            # Closed, because a reply that still arrives would be taken for that of the next request.
            writer.close()
            raise
        self._idle.append((reader, writer))
        return own if reply is _Reply.YOURS else reply

    async def _send(self, request: Request) -> _Outcome | None:
        """Send a request to the model; return None if the main process must: nothing was billed.

        Whether no request will succeed is up to that process: the reason may be this machine, or a proxy on the way.
        """
        if self._model is None:
            return None
        outcome = await _find_outcome(self._model, request)
        if isinstance(outcome, ServiceError) or (isinstance(outcome, ProviderError) and outcome.kind == "unreachable"):
            if not self._has_sent:  # a machine of a cluster that may not connect to the server, or has a wrong proxy
                self._model = None
            return None
        self._has_sent = True
        return outcome

    def reject(self, request: Request, completion: Completion) -> None:
        """Report that a completion is unusable; see `CachingModel.reject`."""
        # If the main process is gone, there is no cache left to correct.
        with suppress(OSError), socket.create_connection(self.address) as connection:
            connection.sendall(self.token + _pack(_Message(request, rejected=completion)))

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._idle:
            self._idle.pop()[1].close()

    def _unreachable(self) -> ServiceError:
        host, port = self.address
        return ServiceError(
            f"the process that asks the language model does not answer at {host}:{port}. If it is still running "
            "and this is another machine, let the two connect to each other on all ports.",
            kind="unreachable",
        )


@dataclass(frozen=True, slots=True)
class _Message:
    """What a worker asks of the main process.

    Attributes:
        request: The request.
        can_send: Whether the worker can send it to the model itself.
        rejected: A completion of the request that is unusable; None to have the request answered.
    """

    request: Request
    can_send: bool = False
    rejected: Completion | None = None


class _Worker:
    """A worker that waits for the outcome of a request, as the main process sees it.

    Attributes:
        last_outcome: The outcome of the last request that it sent.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.last_outcome: _Outcome | None = None

    async def send(self) -> _Outcome | None:
        """Have the worker send its request to the model; return None if it cannot, or is already dead.

        Raises:
            ProviderError: It died meanwhile, and may have sent the request.
        """
        self.last_outcome = None
        if self._reader.at_eof() or self._reader.exception() is not None:
            return None
        try:
            self._writer.write(_pack(_Reply.SEND))
            self.last_outcome = await _receive(self._reader)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise ProviderError("the worker died", kind=WORKER_DIED, maybe_billed=True) from error
        except BaseException:
            # Closed, because an outcome that still arrives would be taken for the next request.
            self._writer.close()
            raise
        return self.last_outcome


_WORKER: ContextVar[_Worker | None] = ContextVar("imapeval_worker", default=None)
"""The worker whose request is being answered, if it can send it."""


class DelegatingModel(ModelWrapper):
    """A `Model` whose requests are sent by the worker that made them, if it can.

    It belongs inside of everything else, because that must hold for all workers together.
    """

    async def complete(self, request: Request) -> Completion:
        """Have the request sent; see `Model.complete`."""
        worker = _WORKER.get()
        outcome = None if worker is None else await worker.send()
        if isinstance(outcome, Exception):
            raise outcome
        return await self._model.complete(request) if outcome is None else outcome


class ModelServer:
    """Answers the requests of workers by a model. An asynchronous context manager; answers while it is entered.

    Workers send them to the model themselves if it is a `PortableModel` with a `DelegatingModel` around it.

    Only clients that send the token are answered; nothing from other clients is unpickled.

    Args:
        model: The model.
        host: Address of this machine at which the workers reach it.
        workers: Number of workers that share the model's concurrency.
        is_stopped: Whether further requests are refused; those under way are finished.

    Attributes:
        client: The model for the workers.
    """

    def __init__(self, model: Model, *, host: str, workers: int, is_stopped: Callable[[], bool] | None = None) -> None:
        self._model = model
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        self._is_stopped = is_stopped
        self._connections: set[asyncio.Task[None]] = set()
        self._socket = socket.create_server((host, 0), backlog=_BACKLOG)
        share = -(-model.concurrency // workers)
        opener = None
        if isinstance(model, PortableModel):
            opener = model.open_for_workers(concurrency=share, local=ipaddress.ip_address(host).is_loopback)
        self.client = SharedModel(self._socket.getsockname()[:2], self._token, model.identity, share, opener)

    async def __aenter__(self) -> ModelServer:
        self._server = await asyncio.start_server(self._accept, sock=self._socket, backlog=_BACKLOG)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.client.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A separate task, because the one that asyncio would create prints a traceback when it is cancelled.
        task = asyncio.create_task(self._answer(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            _notice_vanished_machines(writer.get_extra_info("socket"))
            async with asyncio.timeout(_TOKEN_SECONDS):
                if not secrets.compare_digest(await reader.readexactly(_TOKEN_BYTES), self._token):
                    return
            worker = _Worker(reader, writer)
            while True:
                message = await _receive(reader)
                if message.rejected is None:
                    _WORKER.set(worker if message.can_send else None)
                    outcome = await self._complete(message.request)
                    writer.write(_pack(_Reply.YOURS if outcome is worker.last_outcome else outcome))
                    await writer.drain()
                elif isinstance(self._model, CachingModel):
                    self._model.reject(message.request, message.rejected)

    async def _complete(self, request: Request) -> _Outcome:
        if self._is_stopped is not None and self._is_stopped():
            return ServiceError("the run was stopped.", kind=STOPPED)
        return await _find_outcome(self._model, request)


def _notice_vanished_machines(connection: socket.socket) -> None:
    """Have the connection fail if the machine at its other end is gone, which could not say so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # which of them there are depends on the system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


async def _find_outcome(model: Model, request: Request) -> _Outcome:
    """Return the model's completion, or the error that it raised instead, in a form that can be pickled."""
    (outcome,) = await asyncio.gather(model.complete(request), return_exceptions=True)
    if isinstance(outcome, Completion | ImapEvalError):
        return outcome
    # A bug: raised in the worker, where it affects only one sample, as it would without workers.
    return RuntimeError(f"{type(outcome).__name__}: {outcome}")
