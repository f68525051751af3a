"""HTTP client for model servers: no redirects, secrets redacted from replies, and a limit on the size of replies."""

from __future__ import annotations

import zlib
from asyncio import gather
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

import httpx2
import openai

from imapeval.llm.providers.proxies import naming_proxies
from imapeval.redaction import get_logger, hide_secrets

if TYPE_CHECKING:
    import ssl
    from collections.abc import Generator

_CONNECT_SECONDS = 10.0
"""To establish a connection. Twice the openai package's default, because handshakes are slow on a busy computer."""

_CONNECTIONS_OF_CLIENT = 8
"""At every request and reply, a client asks each of its idle connections whether the server has closed it (httpcore2
2.16). With all 64 in one client that is a third of the processor time of a call."""

max_reply_bytes: ContextVar[int] = ContextVar("imapeval_largest_reply")
"""Largest reply to the current task's request, in bytes, both compressed and decompressed."""


class OversizedReplyError(Exception):
    """A reply is larger than allowed; the rest of it was not read."""


class ClientPool:
    """Clients of one server in one event loop, each with a few of its connections.

    Args:
        address: URL of the server, without user, password and query.
        login: User and password, if the server requires them.
        key: API key, if the server requires one.
        connections: Maximum number of idle connections.

    Raises:
        ServiceError: The environment names a proxy that cannot be used.
    """

    def __init__(self, address: str, *, login: tuple[str, str] | None, key: str | None, connections: int) -> None:
        clients = -(-connections // _CONNECTIONS_OF_CLIENT)
        self._clients = [_open_client(address, login=login, key=key) for _ in range(clients)]
        self._in_flight = [0] * clients

    @contextmanager
    def borrow(self) -> Generator[openai.AsyncOpenAI]:
        """Lend the client with the fewest requests in flight for one request."""
        number = self._in_flight.index(min(self._in_flight))
        self._in_flight[number] += 1
        try:
            yield self._clients[number]
        finally:
            self._in_flight[number] -= 1

    async def close(self) -> None:
        """Close all connections."""
        await gather(*(client.close() for client in self._clients))


def _open_client(address: str, *, login: tuple[str, str] | None, key: str | None) -> openai.AsyncOpenAI:
    # Configured for redaction, because it logs the URL of each request.
    get_logger("httpx2")
    with naming_proxies():
        client = _Client(
            auth=login,
            verify=_load_certificates(),
            # The only encoding that is decoded here.
            headers={"Accept-Encoding": "gzip"},
            # Its read timeouts restart with every byte, so a slow trickle would never exceed them.
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_CONNECTIONS_OF_CLIENT),
            follow_redirects=False,
            # Local servers are never reached through a proxy from the environment.
            mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),
        )
    return openai.AsyncOpenAI(
        base_url=address,
        api_key=key or "none",  # the package requires one
        max_retries=0,
        http_client=client,
    )


@cache
def _load_certificates() -> ssl.SSLContext:
    """Return the trusted certificates, which take 20 ms to read; each event loop has a client."""
    return httpx2.create_ssl_context()


class _Client(httpx2.AsyncClient):
    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        """Return the whole reply, whatever its status, even if streaming was requested.

        Raises:
            OversizedReplyError: The reply is larger than `max_reply_bytes`.
            httpx2.DecodingError: The reply has an unsupported encoding or is corrupt.
        """
        response = await super().send(request, stream=True, **options)
        try:
            content = await _read(response, max_reply_bytes.get())
        finally:
            await response.aclose()
        # A server may echo credentials it was sent; they must not end up in messages or files.
        redacted = hide_secrets(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        headers = response.headers.copy()
        for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
            headers.pop(name, None)
        return httpx2.Response(response.status_code, headers=headers, content=redacted, request=request)


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
