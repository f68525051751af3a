"""What stands before the app: who may ask, how large a body may be, and how long it may take to arrive.

The token is looked at before anything of the body is read, so that strangers cannot fill the memory.
"""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING, Any

from imapeval.serve.http_error import HttpError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping

    from imapeval.serve.limits import Limits

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PUBLIC_PATHS = frozenset({"/health", "/openapi.json", "/docs"})
"""Paths that need no token: they say nothing that somebody gave."""

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class RequestGuard:
    """An ASGI app around another, which hands on only requests that are fit to be answered.

    Args:
        app: What answers.
        limits: Of size and time.
        token: What a request must bear; None where everybody may ask who reaches this computer's own address.
        posted: Paths that take JSON.
    """

    def __init__(self, app: App, limits: Limits, *, token: str | None, posted: Collection[str]) -> None:
        self._app = app
        self._limits = limits
        self._token = None if token is None else token.encode()
        self._posted = frozenset(posted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            headers = dict(scope["headers"])
            self._authorise(scope, headers)
            body = await self._read_body(headers, receive)
        except HttpError as refusal:
            await _send_error(refusal, send)
            return
        if body is None:
            return  # nobody is there any more
        await self._app(scope, _replay_body(body, receive), send)

    def _authorise(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        if self._token is None:
            # A page in a browser can have its own name point here; it cannot make the browser say another one.
            host = headers.get(b"host", b"").decode("latin-1")
            name = host if host.endswith("]") else host.rpartition(":")[0] or host
            if name.lower() not in _LOCAL_HOSTS:
                raise HttpError(403, "foreign-host", "Without a token only requests to localhost are answered.")
        elif scope["path"] not in PUBLIC_PATHS and not _has_token(headers, self._token):
            raise HttpError(
                401,
                "unauthorised",
                "The token is absent or wrong. Send it as: Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )
        if scope["method"] == "POST" and scope["path"] in self._posted:
            kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
            if kind != b"application/json":
                raise HttpError(415, "not-json", "Send JSON, and the header: Content-Type: application/json")
            if headers.get(b"content-encoding", b"identity").lower() != b"identity":
                raise HttpError(415, "compressed", "Compressed bodies are not read. Send the JSON as it is.")

    async def _read_body(self, headers: Mapping[bytes, bytes], receive: Receive) -> bytes | None:
        """Return the whole body; None where the client went away."""
        too_large = HttpError(
            413, "too-large", f"The body has more than {self._limits.body} bytes. Send less at a time."
        )
        # The server has seen to it that this is a number. Its like is absent where the body comes in chunks.
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


def _has_token(headers: Mapping[bytes, bytes], token: bytes) -> bool:
    scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given, token)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body that was read, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _send_error(refusal: HttpError, send: Send) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(refusal.body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body})
