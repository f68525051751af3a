"""One model for several processes: workers pass their requests on to the main process, which sends them to the model.

So everything that must hold for all of them together is in one place: limits of requests, tokens and cost, the ledger
and the cache of completions. A worker that dies loses no completion, because the main process receives and keeps it.
"""

from __future__ import annotations

import asyncio
import pickle
import secrets
import socket
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imapeval.errors import ImapEvalError, ServiceError
from imapeval.llm.protocol import STOPPED, CachingModel, Completion

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from imapeval.llm.protocol import Model, Request

_TOKEN_BYTES = 32

_TOKEN_SECONDS = 60.0
"""How long a connection may take to send the token. Without a limit, one that never does would stay open forever."""

_BACKLOG = 1024
"""Connections that may wait to be accepted."""


_LENGTH_BYTES = 8

_Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


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
    """A `Model` that passes every request on to the process that has the real one. Can be pickled until it is used.

    All requests must be made in one event loop. Connections are kept and used again: one for each request would use up
    the ports of a machine.

    Attributes:
        address: Host and port of the `ModelServer`.
        token: Proves to the server that a request comes from one of its workers.
        identity: Identity of the real model.
        concurrency: Most requests that are passed on at the same time.
    """

    address: tuple[str, int]
    token: bytes = field(repr=False)
    identity: str
    concurrency: int
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
        async with self._places:
            try:
                outcome = await self._exchange(_pack((request, None)))
            except (OSError, asyncio.IncompleteReadError) as error:
                raise self._unreachable() from error
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _exchange(self, message: bytes) -> Any:
        if self._idle:
            reader, writer = self._idle.pop()
        else:
            reader, writer = await asyncio.open_connection(*self.address)
            writer.write(self.token)
        try:
            writer.write(message)
            outcome = await _receive(reader)
        except BaseException:
            # Closed, because a reply that still arrives would be taken for that of the next request.
            writer.close()
            raise
        self._idle.append((reader, writer))
        return outcome

    def reject(self, request: Request, completion: Completion) -> None:
        """Report that a completion is unusable; see `CachingModel.reject`."""
        # If the main process is gone, there is no cache left to correct.
        with suppress(OSError), socket.create_connection(self.address) as connection:
            connection.sendall(self.token + _pack((request, completion)))

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


class ModelServer:
    """Answers the requests of workers by a model. An asynchronous context manager; answers while it is entered.

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
        self.client = SharedModel(self._socket.getsockname()[:2], self._token, model.identity, share)

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
            async with asyncio.timeout(_TOKEN_SECONDS):
                if not secrets.compare_digest(await reader.readexactly(_TOKEN_BYTES), self._token):
                    return
            while True:
                request, rejected = await _receive(reader)
                if rejected is None:
                    writer.write(_pack(await self._complete(request)))
                    await writer.drain()
                elif isinstance(self._model, CachingModel):
                    self._model.reject(request, rejected)

    async def _complete(self, request: Request) -> Completion | Exception:
        if self._is_stopped is not None and self._is_stopped():
            return ServiceError("the run was stopped.", kind=STOPPED)
        (outcome,) = await asyncio.gather(self._model.complete(request), return_exceptions=True)
        if isinstance(outcome, Completion | ImapEvalError):
            return outcome
        # A bug: raised in the worker, where it affects only one sample, as it would without workers.
        return RuntimeError(f"{type(outcome).__name__}: {outcome}")
