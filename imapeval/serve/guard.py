"""Limits of the server, and the ASGI middleware that enforces access, body size and arrival time.

The token is checked before any of the body is read, so that strangers cannot fill the memory.
"""

from __future__ import annotations

import asyncio
import hmac
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imapeval.errors import UsageError
from imapeval.parsing import DuplicateKeyError, parse_json
from imapeval.serve.http_error import HttpError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PUBLIC_PATHS = frozenset({"/health", "/openapi.json", "/docs"})
"""Paths that need no token: they return nothing that a client has sent."""

FASTAPI_OPTIONS: Mapping[str, Any] = {
    # The documentation pages of FastAPI load scripts from other servers.
    "docs_url": None,
    "redoc_url": None,
    "openapi_url": None,
    "redirect_slashes": False,
    # Where the process has OpenTelemetry providers, FastAPI would send them paths, and error messages that may quote
    # texts.
    "telemetry": {
        "tracing": False,
        "metrics": False,
        "logs": False,
        "operation_spans": False,
        "auto_configure": False,
    },
}
"""Options of every app."""

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits beyond which the server rejects requests.

    Attributes:
        body: Maximum size of a request body in bytes.
        work: Maximum time of a request in seconds, from when it has arrived.
        waiting: Maximum number of answers that wait or are being scored.
        arriving: Seconds within which the head of a request must arrive, then its body, and within which a client that
            reads its response too slowly must catch up.
        connections: Maximum number of open connections.

    Raises:
        UsageError: A limit is not above 0, or is infinite.
    """

    body: int = 1 << 20
    work: float = 60.0
    waiting: int = 1000
    arriving: float = 10.0
    connections: int = 1000

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"the limit {name!r} is {getattr(self, name)}. Give a number above 0.")


class RequestGuard:
    """ASGI middleware that passes on only requests that are authorised and well-formed.

    Args:
        app: The wrapped app.
        limits: Limits of size and time.
        token: The token that requests must carry; None admits every request to this computer's own host names.
        posted: Paths that accept JSON; one that ends with "/" means those directly below it.
        any_host: Without a token, admit requests to every host name: the app itself checks who asks.
    """

    def __init__(
        self, app: App, limits: RequestLimits, *, token: str | None, posted: Collection[str], any_host: bool = False
    ) -> None:
        self._app = app
        self._limits = limits
        self._token = None if token is None else token.encode()
        self._posted = frozenset(posted)
        self._any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or reject it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            headers = dict(scope["headers"])
            self._authorise(scope, headers)
            body = await self._read_body(headers, receive)
            if body is not None and self._takes_json(scope):
                _check_keys(body)
        except HttpError as refusal:
            await _send_error(refusal, send)
            return
        if body is None:
            return  # the client has disconnected
        await self._app(scope, _replay_body(body, receive), send)

    def _authorise(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        if b"transfer-encoding" in headers and b"content-length" in headers:
            # RFC 9112, 6.1: an attempt at request smuggling; the connection is not used any further.
            raise HttpError(
                400,
                "bad-http",
                "The request has both Transfer-Encoding and Content-Length. Send one of them.",
                {"Connection": "close"},
            )
        if self._token is not None:
            if scope["path"] not in PUBLIC_PATHS and not _has_token(headers, self._token):
                raise HttpError(
                    401,
                    "unauthorised",
                    "The token is missing or wrong. Send it as: Authorization: Bearer TOKEN",
                    {"WWW-Authenticate": "Bearer"},
                )
        elif not self._any_host:
            # DNS rebinding: a web page can make its own host name point here, but cannot change the Host header.
            host = headers.get(b"host", b"").decode("latin-1")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name.lower() not in _LOCAL_HOSTS:
                raise HttpError(403, "foreign-host", "Without a token, only requests to localhost are answered.")
        if self._takes_json(scope):
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise HttpError(415, "not-json", "Send JSON with the header Content-Type: application/json")
            if headers.get(b"content-encoding", b"identity").lower() != b"identity":
                raise HttpError(415, "compressed", "Compressed bodies are not supported. Send plain JSON.")

    def _takes_json(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return scope["method"] == "POST" and (path in self._posted or f"{path.rpartition('/')[0]}/" in self._posted)

    async def _read_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the whole body; None if the client has disconnected."""
        too_large = HttpError(
            413, "too-large", f"The body has more than {self._limits.body} bytes. Send less per request."
        )
        # The server has checked that this is a number. Chunked bodies have no such header.
        if int(headers.get(b"content-length", b"0")) > self._limits.body:
            raise too_large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._limits.arriving):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    if size > self._limits.body:
                        raise too_large
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError as error:
            raise HttpError(
                408,
                "too-slow",
                f"The body did not arrive within {self._limits.arriving:g} seconds.",
                {"Connection": "close"},
            ) from error


def _check_keys(body: bytes) -> None:
    """Refuse JSON in which a field occurs twice. Invalid JSON is refused by the app."""
    try:
        parse_json(body)
    except DuplicateKeyError as error:
        raise HttpError(422, "bad-field", "An object has a field twice. Send each field once.") from error
    except ValueError:
        pass


def _has_token(headers: Mapping[bytes, bytes], token: bytes) -> bool:
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given, token)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body already read, then whatever follows."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _send_error(refusal: HttpError, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(refusal.body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
