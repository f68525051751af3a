"""Connections to a server: no redirects, no secrets in what comes back, and no reply that is larger than any answer."""

from __future__ import annotations

import zlib
from contextvars import ContextVar
from typing import Any

import httpx2
import openai

from imapeval.redaction import get_logger, hide_secrets

_CONNECT_SECONDS = 10.0
"""To reach the server at all. Twice the openai package's: on a busy computer a handshake has to wait its turn."""

max_reply_bytes: ContextVar[int] = ContextVar("imapeval_largest_reply")
"""Most bytes that the reply to the request of this task may have, as they arrive and inflated."""


class OversizedReplyError(Exception):
    """A reply is larger than it may be; the rest of it was not read."""


def open_client(
    address: str, *, login: tuple[str, str] | None, key: str | None, connections: int
) -> openai.AsyncOpenAI:
    """Return a client of the running event loop.

    Args:
        address: Of the server, without user, password and query.
        login: User and password, where the server wants those.
        key: Where it wants a key.
        connections: Most that are kept open.
    """
    # It logs the address of each request.
    get_logger("httpx2")
    return openai.AsyncOpenAI(
        base_url=address,
        api_key=key or "none",  # the package insists on one
        max_retries=0,
        http_client=_Client(
            auth=login,
            # The one encoding that is read here.
            headers={"Accept-Encoding": "gzip"},
            # Its own limits begin anew with every byte, so that a dripping server would never meet them.
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=connections),
            follow_redirects=False,
            # A proxy that the environment names has no way to a server on this computer.
            mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),
        ),
    )


class _Client(httpx2.AsyncClient):
    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Return the whole reply, of any status, whether or not it was to be streamed.

        Raises:
            OversizedReplyError: It is larger than `largest_reply`.
            httpx2.DecodingError: It is compressed in a way that is not read.
        """
        response = await super().send(request, stream=True, **options)
        try:
            content = await _read(response, max_reply_bytes.get())
        finally:
            await response.aclose()
        # A server may repeat what it was sent. Nobody here reads that, so that nobody keeps it.
        said = hide_secrets(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        headers = response.headers.copy()
        for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
            headers.pop(name, None)
        return httpx2.Response(response.status_code, headers=headers, content=said, request=request)


async def _read(response: httpx2.Response, largest: int) -> bytes:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("gzip", "identity"):
        raise httpx2.DecodingError(f"compressed as {encoding[:40]!r}, which was not asked for")
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16) if encoding == "gzip" else None
    content = bytearray()
    arrived = 0
    async for chunk in response.aiter_raw():
        arrived += len(chunk)
        try:
            content += chunk if inflater is None else inflater.decompress(chunk, largest + 1 - len(content))
        except zlib.error as error:
            raise httpx2.DecodingError(str(error)) from error
        if max(arrived, len(content)) > largest:
            raise OversizedReplyError
    return bytes(content)
