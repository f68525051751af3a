"""One model for several processes: the first process asks it, and workers pass their requests on to the first process.

So there is one place for everything that must hold for all of them together: limits of requests, tokens and cost, the
ledger and the cache of completions. A worker that dies loses no completion: the first process receives and keeps it.
"""

from __future__ import annotations

import asyncio
import pickle
import secrets
import socket
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.errors import ImapEvalError, ServiceError
from imapeval.llm.protocol import CachingModel, Completion

if TYPE_CHECKING:
    from types import TracebackType

    from imapeval.llm.protocol import Model, Request

STOPPED = "stopped"
"""Kind of the `ServiceError` of requests after the run was stopped."""

_TOKEN_BYTES = 32

_READ_SECONDS = 60.0
"""How long a connection may take to send its request: one that never does would be open for ever."""

_BACKLOG = 1024
"""Connections that may wait to be accepted."""


@dataclass(slots=True)
class SharedModel:
    """A `Model` that passes every request on to the process that has the real one. Can be pickled until it is used.

    All requests must be made in one event loop.

    Attributes:
        address: Host and port of the `ModelServer`.
        token: What proves to it that a request comes from one of its workers.
        identity: Identity of the real model.
        concurrency: Most requests that are passed on at the same time.
    """

    address: tuple[str, int]
    token: bytes = field(repr=False)
    identity: str
    concurrency: int
    _places: asyncio.Semaphore | None = field(default=None, init=False)

    async def complete(self, request: Request) -> Completion:
        """Have the request answered; see `Model.complete`.

        Raises:
            ServiceError: "unreachable" if the first process is gone, or as the real model raises it.
            ProviderError: As the real model raises it.
        """
        if self._places is None:
            self._places = asyncio.Semaphore(self.concurrency)
        async with self._places:
            try:
                reader, writer = await asyncio.open_connection(*self.address)
                with closing(writer):
                    writer.write(self._encode(request, None))
                    writer.write_eof()
                    reply = await reader.read()
            except OSError as error:
                raise self._unreachable() from error
        if not reply:
            raise self._unreachable()
        outcome = pickle.loads(reply)  # from the first process
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def reject(self, request: Request, completion: Completion) -> None:
        """Report that a completion is unusable; see `CachingModel.reject`."""
        # If the first process is gone, so is the reason to tell it.
        with suppress(OSError), socket.create_connection(self.address) as connection:
            connection.sendall(self._encode(request, completion))

    def _encode(self, request: Request, rejected: Completion | None) -> bytes:
        return self.token + pickle.dumps((request, rejected))

    def _unreachable(self) -> ServiceError:
        host, port = self.address
        return ServiceError(
            f"the process that asks the language model does not answer at {host}:{port}. If it is still running, "
            "let the machines of the cluster connect to each other on all ports.",
            kind="unreachable",
        )


class ModelServer:
    """Answers the requests of workers by a model. An asynchronous context manager; answers while it is entered.

    Only who knows the token is answered, and nothing else that is received is unpickled.

    Args:
        model: The model.
        host: Address of this machine at which the workers reach it.
        workers: Number of workers that share the model's concurrency.
        stop: Once set, further requests are refused; those under way are finished.

    Attributes:
        client: The model for the workers.
    """

    def __init__(self, model: Model, *, host: str, workers: int, stop: asyncio.Event | None = None) -> None:
        self._model = model
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        self._stop = stop
        self._refusing = False
        self._socket = socket.create_server((host, 0), backlog=_BACKLOG)
        share = -(-model.concurrency // workers)
        self.client = SharedModel(self._socket.getsockname()[:2], self._token, model.identity, share)

    async def __aenter__(self) -> ModelServer:
        self._server = await asyncio.start_server(self._answer, sock=self._socket, backlog=_BACKLOG)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()

    def refuse(self) -> None:
        """Refuse further requests; those under way are finished."""
        self._refusing = True

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_READ_SECONDS):
                if not secrets.compare_digest(await reader.readexactly(_TOKEN_BYTES), self._token):
                    return
                request, rejected = pickle.loads(await reader.read())  # from a worker of ours
            if rejected is None:
                writer.write(pickle.dumps(await self._complete(request)))
                await writer.drain()
            elif isinstance(self._model, CachingModel):
                self._model.reject(request, rejected)

    async def _complete(self, request: Request) -> Completion | Exception:
        if self._refusing or (self._stop is not None and self._stop.is_set()):
            return ServiceError("the run was stopped.", kind=STOPPED)
        (outcome,) = await asyncio.gather(self._model.complete(request), return_exceptions=True)
        if isinstance(outcome, Completion | ImapEvalError):
            return outcome
        # A fault of the program: raised in the worker, where it concerns one sample, as it would be without workers.
        return RuntimeError(f"{type(outcome).__name__}: {outcome}")
