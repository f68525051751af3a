"""Models behind the OpenAI API and behind every server that speaks it (vLLM, llama.cpp, Ollama, SGLang, ...)."""

from __future__ import annotations

import asyncio
import json
import math
import os
import weakref
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from imapeval.errors import ProviderError, UsageError
from imapeval.llm import chat, given

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    import httpx2
    import openai

    from imapeval.llm.client import Completion, Request

_OPENAI = "https://api.openai.com/v1"

_RAW = {"X-Stainless-Raw-Response": "true"}
"""Has the package hand out the HTTP response as it is, as its `with_raw_response` does."""

_CONNECT_SECONDS = 10.0
"""To reach the server at all. Twice the openai package's: on a busy computer a handshake has to wait its turn."""


class OpenAIModel:
    """A model over the `openai` package, one attempt a call: `Patient` repeats those that deserve it.

    The key comes from OPENAI_API_KEY; a server given by its address needs none. OPENAI_BASE_URL is the address where
    none is given, as with the package itself, which also reads OPENAI_ORG_ID and OPENAI_PROJECT_ID. What a model
    refuses that it need not be told (a temperature, a seed, the one of two names of the limit) is left out from then
    on.

    Connections belong to an event loop and are closed together with it.

    Args:
        name: The model, in the server's word.
        base_url: Address of the server, as in "http://127.0.0.1:8000/v1"; None for OpenAI's own.
        timeout: Seconds from sending a request to the whole answer. A local server queues requests, and says nothing
            until an answer is whole.
        concurrency: See `Model`; no limit by itself.

    Raises:
        UsageError: The address is none, or OpenAI's own server is meant and there is no key.
    """

    def __init__(
        self, name: str, *, base_url: str | None = None, timeout: float = 600.0, concurrency: int = 64
    ) -> None:
        self._name = name
        self._timeout = timeout
        self.concurrency = concurrency
        address = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._shown = _OPENAI if address is None else _show_url(address)
        self._address = address or _OPENAI
        self._own = address is None
        # A line break at its end, as files have, could not be sent.
        self._key = os.environ.get("OPENAI_API_KEY", "").strip() or None
        if self._own and self._key is None:
            raise UsageError(
                f"the model 'openai:{name}' needs a key, and OPENAI_API_KEY is not set. Set it, or give the "
                "address of your own server, as in --base-url http://127.0.0.1:8000/v1."
            )
        self._identity = identify(name, base_url=base_url)
        self._who = f"the model {name!r} at {self._shown}"
        # OpenAI's newer models accept only the one name, other servers may know only the other.
        self._limit = "max_completion_tokens" if self._own else "max_tokens"
        self._refused: frozenset[str] = frozenset()
        self._answered = False
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, openai.AsyncOpenAI] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def identity(self) -> str:
        """See `identify`."""
        return self._identity

    def write(self, request: Request) -> dict[str, Any]:
        """Return what is sent for a request, ready for JSON."""
        if request.given:
            return given.write(request, self._name)
        return chat.write(request, self._name, refused=self._refused, limit=self._limit)

    async def complete(self, request: Request) -> Completion:
        """Send one request, for a chat completion or the probabilities of a given text; see `Model.complete`.

        Raises:
            ProviderError: As there, and of kind "unreachable": no connection could be made.
        """
        while True:
            body = self.write(request)
            response = await self._post(body, "/completions" if request.given else "/chat/completions")
            if response.is_success:
                completion = self._read(response.content, request)
                self._answered = True
                return completion
            fault = chat.Fault.of(response.status_code, response.text)
            if request.given:
                given.check(fault, who=self._who)
            name = None if request.given else chat.find_refused(fault, body, self._refused)
            if name is None:
                raise chat.explain(
                    fault,
                    request,
                    who=self._who,
                    answered=self._answered,
                    keyed=self._key is not None,
                    retry_after=_read_retry_after(response.headers),
                )
            # Requests that were under way meet the same refusal, and come here too.
            self._refused |= {name}

    def _read(self, content: bytes, request: Request) -> Completion:
        if request.given:
            return given.read(content, request, who=self._who)
        return chat.read(content, request, who=self._who, answered=self._answered)

    async def _post(self, body: Mapping[str, Any], path: str) -> httpx2.Response:
        import openai

        try:
            content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError as error:
            raise ProviderError(
                f"the text cannot be sent to {self._who}: it holds a broken character ({error.reason})",
                kind="bad-request",
            ) from error
        client = await self._client()
        # A server without access control is sent no key.
        headers: Any = _RAW if self._key else {**_RAW, "Authorization": openai.Omit()}
        try:
            async with asyncio.timeout(self._timeout):
                # Bytes out, bytes in: turning requests and replies into the package's types and back would take more
                # time than all the rest of a call.
                reply: Any = await client.post(path, content=content, cast_to=object, options={"headers": headers})
                return reply.http_response
        except openai.APIStatusError as error:
            return error.response
        except TimeoutError as error:
            raise ProviderError(
                f"{self._who} did not answer within {self._timeout:g} s. Is it overloaded? Ask it less at a time "
                "(--concurrency).",
                kind="timeout",
            ) from error
        except openai.APIConnectionError as error:
            raise self._explain_connection(error) from error

    def _explain_connection(self, error: openai.APIConnectionError) -> ProviderError:
        import httpx2

        cause = error.__cause__ or error
        said = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        match cause:
            case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.ProxyError():
                kind, what = "unreachable", "cannot be reached ({}). Is the server running, and is the address right?"
            case httpx2.DecodingError() | httpx2.TooManyRedirects():
                kind, what = "unreadable-reply", "sent no reply ({})"
            case _:
                kind, what = "server", "broke the connection off ({}). Has the server been stopped?"
        return ProviderError(f"{self._who} {what.format(said)}", kind=kind)

    async def _client(self) -> openai.AsyncOpenAI:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = self._clients[loop] = _connect(self._address, self._key, self.concurrency)
            _closers[client] = _close_with_loop(client)
            await anext(_closers[client])
        return client


def identify(name: str, *, base_url: str | None = None) -> str:
    """Return the identity of an `OpenAIModel`, for which no key is needed.

    It is the name and, where it is not OpenAI's, the server: what `vllm serve` calls "model" may be anything.

    Raises:
        UsageError: The address is none.
    """
    address = base_url or os.environ.get("OPENAI_BASE_URL") or None
    return f"openai:{name}" + ("" if address is None else f"@{_show_url(address)}")


def _connect(address: str, key: str | None, connections: int) -> openai.AsyncOpenAI:
    import httpx2
    import openai

    return openai.AsyncOpenAI(
        base_url=address,
        api_key=key or "none",  # the package insists on one
        max_retries=0,
        http_client=httpx2.AsyncClient(
            # Its own limits begin anew with every byte, so that a dripping server would never meet them.
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=connections),
            follow_redirects=True,
            # A proxy that the environment names has no way to a server on this computer.
            mounts=dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]")),
        ),
    )


_closers: dict[openai.AsyncOpenAI, AsyncGenerator[None, None]] = {}
"""Of the clients in use. Kept here, because a client has to outlive its model: a loop closes only what still is."""


async def _close_with_loop(client: openai.AsyncOpenAI) -> AsyncGenerator[None, None]:
    # `asyncio.run` ends every generator that is still open, while the loop can still close connections.
    try:
        yield
    finally:
        await client.close()
        del _closers[client]


def _read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until the server wants to be asked again: RFC 9110 10.2.3, and OpenAI's milliseconds."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                date = parsedate_to_datetime(value)
            except ValueError:
                continue
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - datetime.now(UTC).timestamp()
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _show_url(url: str) -> str:
    """Return the address without what may be secret in it: user, password, query.

    Raises:
        UsageError: It is no address of a server.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"{url!r} is not the address of a server. Give one such as http://127.0.0.1:8000/v1 (--base-url)."
        )
    return f"{parts.scheme}://{host}" + (f":{port}" if port else "") + parts.path.rstrip("/")
