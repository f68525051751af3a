"""Models behind the OpenAI API, or behind any server that implements it (vLLM, llama.cpp, Ollama, SGLang, ...)."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import math
import os
import weakref
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from imapeval.errors import ProviderError, ServiceError, UsageError
from imapeval.llm.providers import chat_format, echo_logprobs
from imapeval.redaction import hide_secrets, register_secret, register_url_secrets

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping

    import httpx2
    import openai

    from imapeval.llm.protocol import Completion, Request
    from imapeval.llm.providers.connection import ClientPool

OPENAI_URL = "https://api.openai.com/v1"

_CONCURRENCY = 64

_RAW = {"X-Stainless-Raw-Response": "true"}
"""Makes the package return the raw HTTP response, as its `with_raw_response` does."""

_REPLY_BYTES = 1 << 20
_TOKEN_BYTES = 256
"""Bytes that a reply may have, and additional bytes per token that it may list: a token with its text, its bytes and
its probability takes about a hundred."""

_SHOWN = 200
"""Maximum number of characters of an address quoted in an error message."""


class OpenAIModel:
    """A model reached through the `openai` package, with one attempt per call: retries are up to `RetryingModel`.

    The key is read from OPENAI_API_KEY; a server given by `base_url` needs none. Without `base_url`, OPENAI_BASE_URL is
    used, as by the package itself, which also reads OPENAI_ORG_ID and OPENAI_PROJECT_ID. Optional parameters that a
    model rejects (temperature, seed, one of the two names of the token limit) are omitted from then on.

    Requests contain texts that may be personal data: they are sent to the given address only, and no redirect is
    followed. Connections belong to an event loop and are closed together with it.

    Args:
        name: The model's name on the server.
        base_url: URL of the server, as in "http://127.0.0.1:8000/v1"; None for OpenAI's own.
        timeout: Seconds from sending a request to the complete reply. A local server queues requests and sends nothing
            until a completion is finished.
        concurrency: See `Model`; None for 64. Not enforced here.

    Raises:
        UsageError: The address is invalid; or OpenAI's own server is meant and the key is missing or invalid.
    """

    def __init__(
        self, name: str, *, base_url: str | None = None, timeout: float = 600.0, concurrency: int | None = None
    ) -> None:
        self._name = name
        self._timeout = timeout
        self.concurrency = concurrency or _CONCURRENCY
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        self._address = _find_address(base_url)
        self._is_openai = self._address.url == OPENAI_URL
        self._key = _read_key()
        if self._is_openai and self._key is None:
            raise UsageError(
                f"the model 'openai:{name}' needs a key, but OPENAI_API_KEY is not set. Set it, or give the address "
                "of your own server, as in --base-url http://127.0.0.1:8000/v1."
            )
        self.identity = model_identity(name, base_url=base_url)
        self._sender = f"the model {name!r} at {self._address.url}"
        # OpenAI's newer models accept only the new name; other servers may know only the old one.
        self._limit = "max_completion_tokens" if self._is_openai else "max_tokens"
        self._refused: frozenset[str] = frozenset()
        self._answered = False
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, ClientPool] = weakref.WeakKeyDictionary()

    def open_for_workers(self, *, concurrency: int, local: bool) -> Callable[[], OpenAIModel | None] | None:
        """See `PortableModel`: workers must have the same key, which is not passed on to them."""
        if type(self) is not OpenAIModel:  # a subclass may send something else
            return None
        if not local and _is_this_machine(urlsplit(self._address.url).hostname or ""):
            return None
        return partial(_open_equal, self._name, self._base_url, self._timeout, concurrency, _account_digest())

    def request_body(self, request: Request) -> dict[str, Any]:
        """Return the body that is sent for a request, ready for JSON."""
        if request.given:
            return echo_logprobs.request_body(request, self._name)
        return chat_format.request_body(request, self._name, refused=self._refused, limit=self._limit)

    async def complete(self, request: Request) -> Completion:
        """Send one request: for a chat completion, or for the probabilities of a given text; see `Model.complete`.

        Raises:
            ProviderError: See there; also of kind "unreachable": no connection could be established.
        """
        while True:
            body = self.request_body(request)
            response = await self._post(body, request)
            if response.is_success:
                completion = self._read(response.content, request)
                self._answered = True
                return completion
            if response.has_redirect_location:
                raise self._redirect_error(response)
            fault = chat_format.ErrorReply.parse(response.status_code, response.text)
            if request.given:
                echo_logprobs.raise_if_unsupported(fault, sender=self._sender)
            name = None if request.given else chat_format.find_unsupported_parameter(fault, body, self._refused)
            if name is None:
                raise chat_format.to_error(
                    fault,
                    request,
                    sender=self._sender,
                    answered=self._answered,
                    keyed=self._key is not None,
                    retry_after=read_retry_after(response.headers),
                )
            # Requests in flight meet the same rejection and get here as well.
            self._refused |= {name}

    def _read(self, content: bytes, request: Request) -> Completion:
        if request.given:
            return echo_logprobs.parse_reply(content, request, sender=self._sender)
        return chat_format.parse_reply(content, request, sender=self._sender, answered=self._answered)

    async def _post(self, body: Mapping[str, Any], request: Request) -> httpx2.Response:
        import openai

        from imapeval.llm.providers.connection import OversizedReplyError, max_reply_bytes

        path = "/completions" if request.given else "/chat/completions"
        try:
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError as error:
            raise ProviderError(
                f"the text cannot be sent to {self._sender}: it contains an invalid character ({error.reason})",
                kind="bad-request",
            ) from error
        clients = await self._open_clients()
        # Without a key no Authorization header is sent.
        headers: Any = _RAW if self._key else {**_RAW, "Authorization": openai.Omit()}
        largest = _limit_reply(request, len(content))
        max_reply_bytes.set(largest)
        try:
            with clients.borrow() as client:
                async with asyncio.timeout(self._timeout):
                    # Bytes in both directions: converting requests and replies to the package's types and back would
                    # take more time than the rest of the call.
                    reply: Any = await client.post(
                        path + self._address.query, content=content, cast_to=object, options={"headers": headers}
                    )
                    return reply.http_response
        except openai.APIStatusError as error:
            return error.response
        except TimeoutError as error:
            raise ProviderError(
                f"{self._sender} did not answer within {self._timeout:g} s. If the server is overloaded, lower "
                "--concurrency.",
                kind="timeout",
                maybe_billed=True,
            ) from error
        except OversizedReplyError as error:
            raise ProviderError(
                f"{self._sender} sent a reply of more than {largest / 1e6:.1f} MB, larger than any completion of this "
                "request. The rest was not read. Is this the address of a language model?",
                kind="oversized-reply",
                maybe_billed=True,
            ) from error
        except openai.APIConnectionError as error:
            raise self._connection_error(error) from error

    def _redirect_error(self, response: httpx2.Response) -> ProviderError | ServiceError:
        target = response.headers["Location"]
        with suppress(ValueError):  # not a URL
            target = urljoin(str(response.request.url), target)
        message = (
            f"{self._sender} redirects to {target[:_SHOWN]} (status {response.status_code}). Requests contain texts, "
            "so redirects are not followed. If that is the right server, give its address (--base-url)."
        )
        if self._answered:  # then a proxy may ask for a login, which need not affect every request
            return ProviderError(message, kind="server")
        return ServiceError(message, kind="not-found")

    def _connection_error(self, error: openai.APIConnectionError) -> ProviderError:
        import httpx2

        cause = error.__cause__ or error
        reason = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        match cause:
            case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError():
                kind, what = (
                    "unreachable",
                    "cannot be reached ({}). Check that the server is running and that the address is right.",
                )
            case httpx2.DecodingError():
                kind, what = "unreadable-reply", "sent a reply that cannot be decoded ({})"
            case _:
                kind, what = "server", "closed the connection ({}). Was the server stopped?"
        return ProviderError(f"{self._sender} {what.format(reason)}", kind=kind, maybe_billed=kind != "unreachable")

    async def _open_clients(self) -> ClientPool:
        loop = asyncio.get_running_loop()
        clients = self._clients.get(loop)
        if clients is None:
            from imapeval.llm.providers.connection import ClientPool

            address = self._address
            clients = self._clients[loop] = ClientPool(
                address.url, login=address.login, key=self._key, connections=self.concurrency
            )
            _closers[clients] = _close_with_loop(clients)
            await anext(_closers[clients])
        return clients


def model_identity(name: str, *, base_url: str | None = None) -> str:
    """Return the identity of an `OpenAIModel`; no key is needed.

    It consists of the name and, unless it is OpenAI's own, the server: `vllm serve` can give a model any name.

    Raises:
        UsageError: The address is invalid, or the name contains a secret.
    """
    url = _find_address(base_url).url
    if hide_secrets(name) != name:
        # It is part of every signature.
        raise UsageError("the name of the model contains the key. Write --llm openai:NAME, without the key.")
    return f"openai:{name}" + ("" if url == OPENAI_URL else f"@{url}")


def _is_this_machine(host: str) -> bool:
    """Return whether a host means the machine it is used on, so that it is another one on each."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return f".{host.rstrip('.')}".endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _open_equal(name: str, base_url: str, timeout: float, concurrency: int, account: bytes) -> OpenAIModel | None:
    """Return the model, or None if this process would send its requests on another account."""
    if _account_digest() != account:
        return None
    return OpenAIModel(name, base_url=base_url, timeout=timeout, concurrency=concurrency)


def _account_digest() -> bytes:
    """Return a digest of what the environment says of the account, from which it cannot be found out."""
    values = (os.environ.get(f"OPENAI_{name}", "").strip() for name in ("API_KEY", "ORG_ID", "PROJECT_ID"))
    return hashlib.sha256("\n".join(values).encode("utf-8", "surrogateescape")).digest()


_closers: dict[ClientPool, AsyncGenerator[None, None]] = {}
"""Generators that close the clients in use. They must outlive their model, for the event loop to close them."""


async def _close_with_loop(clients: ClientPool) -> AsyncGenerator[None, None]:
    # `asyncio.run` closes all open generators while the loop can still close connections.
    try:
        yield
    finally:
        await clients.close()
        del _closers[clients]


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds after which to retry, from Retry-After (RFC 9110 10.2.3) or OpenAI's retry-after-ms."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                date = parsedate_to_datetime(value)
                date = date if date.tzinfo else date.replace(tzinfo=UTC)
                seconds = date.timestamp() - datetime.now(UTC).timestamp()
            except (ValueError, OverflowError):  # the latter for years and time zones of too many digits
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _limit_reply(request: Request, sent: int) -> int:
    """Return the largest size of a reply in bytes. Some servers repeat the request in it, or its text once more."""
    listed = len(request.given) or request.max_tokens
    return _REPLY_BYTES + 2 * sent + _TOKEN_BYTES * listed * (1 + request.logprobs)


@dataclass(frozen=True, slots=True)
class _Address:
    """Address of a server.

    Attributes:
        url: The URL without user, password and query, which may be secret.
        login: User and password, if any.
        query: Query string that is appended to the URL of every request, with its question mark; or "".
    """

    url: str
    login: tuple[str, str] | None = None
    query: str = ""


def _find_address(base_url: str | None) -> _Address:
    """Return the address of the server, and register its secrets for redaction.

    Raises:
        UsageError: It is not a valid address of a server.
    """
    given_url = base_url or os.environ.get("OPENAI_BASE_URL")
    if not given_url:
        return _Address(OPENAI_URL)
    given_url = given_url.strip()
    try:
        parts = urlsplit(given_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    source = "--base-url" if base_url else "OPENAI_BASE_URL"
    if "://" not in given_url:
        # The address is not quoted: it may hold a password, which is recognised only behind the scheme.
        raise UsageError(
            f"{source} does not begin with http:// or https://. Give the whole address, such as "
            "http://127.0.0.1:8000/v1."
        )
    # An unescaped slash ends the password, and the rest of it would be shown as part of the path. A fragment is never
    # sent, so what looks like one must belong to something else.
    if parts.scheme not in ("http", "https") or not host or "@" in parts.path or "#" in given_url:
        raise UsageError(
            f"{source} is not a valid server address. Give one such as http://127.0.0.1:8000/v1. In a user or password "
            "write / as %2F, # as %23 and @ as %40."
        )
    register_url_secrets(given_url)
    login = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    shown = f"[{host}]" if ":" in host else host
    url = f"{parts.scheme}://{shown}" + (f":{port}" if port else "") + parts.path.rstrip("/")
    return _Address(url, login, f"?{parts.query}" if parts.query else "")


def _read_key() -> str | None:
    """Return the key, and register it for redaction.

    Raises:
        UsageError: It contains characters that are invalid in a header.
    """
    # A trailing line break, as in a file, is not part of the key.
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(
            "OPENAI_API_KEY contains a line break or another character that is invalid in an HTTP header. Copy the key "
            "again."
        )
    register_secret(key)
    return key or None
