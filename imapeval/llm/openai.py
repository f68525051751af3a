"""Models behind the OpenAI API and behind every server that speaks it (vLLM, llama.cpp, Ollama, SGLang, ...)."""

from __future__ import annotations

import asyncio
import os
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from imapeval.errors import ProviderError, UsageError
from imapeval.llm.client import Completion, Usage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import openai

    from imapeval.llm.client import Request

_SHOWN = 300
"""Characters of a server's own words that a message quotes."""


class OpenAIModel:
    """A model over the `openai` package: one client for all calls, its own retries with back-off and Retry-After.

    The key comes from OPENAI_API_KEY; a server given by its address needs none. OPENAI_BASE_URL is the address where
    none is given, as with the package itself. The client belongs to an event loop and is closed together with it.

    Args:
        name: The model, in the server's word.
        base_url: Address of the server, as in "http://127.0.0.1:8000/v1"; None for OpenAI's own.
        timeout: Seconds without a word from the server before an attempt ends. A local server queues requests, and
            says nothing until an answer is whole.
        max_retries: Attempts after the first, for connections, timeouts, rate limits and server errors.
        concurrency: Most requests at the same time.

    Raises:
        UsageError: The address is none, or OpenAI's own server is meant and there is no key.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        timeout: float = 300.0,
        max_retries: int = 3,
        concurrency: int = 8,
    ) -> None:
        self._name = name
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._timeout = timeout
        self._max_retries = max_retries
        self._concurrency = concurrency
        self._url = "https://api.openai.com/v1" if self._base_url is None else _show_url(self._base_url)
        self._key = os.environ.get("OPENAI_API_KEY")
        if not self._key:
            if self._base_url is None:
                raise UsageError(
                    f"the model 'openai:{name}' needs a key, and OPENAI_API_KEY is not set. Set it, or give the "
                    "address of your own server, as in --base-url http://127.0.0.1:8000/v1."
                )
            # The package insists on one; a server without access control ignores it.
            self._key = "none"
        self._sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Session] = weakref.WeakKeyDictionary()

    @property
    def identity(self) -> str:
        """Name and, where it is not OpenAI's, the server: what `vllm serve` calls "model" may be anything."""
        return f"openai:{self._name}" + ("" if self._base_url is None else f"@{self._url}")

    async def complete(self, request: Request) -> Completion:
        """Send one chat completion request; see `Model.complete`."""
        import openai

        session = await self._session()
        try:
            async with session.gate:
                create: Any = session.client.chat.completions.with_raw_response.create
                text: str = (await create(**self._body(request))).text
        except openai.APIError as error:
            raise self._explain(error) from error
        except UnicodeEncodeError as error:
            raise ProviderError(
                f"the text cannot be sent to {self._who}: it holds a broken character ({error.reason})",
                kind="bad-request",
            ) from error
        return self._read(text, request)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": message.role, "content": message.content} for message in request.messages],
            "temperature": request.temperature,
            # OpenAI's newer models accept only the one name, other servers may know only the other.
            "max_completion_tokens" if self._base_url is None else "max_tokens": request.max_tokens,
        }
        if request.seed is not None:
            body["seed"] = request.seed
        if request.schema is not None:
            schema = {"name": request.schema_name, "schema": request.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _read(self, text: str, request: Request) -> Completion:
        try:
            reply = _Reply.model_validate_json(text)
        except ValidationError as error:
            raise ProviderError(
                f"{self._who} replied with something that is no chat completion: {text[:_SHOWN]!r}. Check the address; "
                "it usually ends in /v1.",
                kind="unreadable-reply",
                raw=text,
            ) from error
        choice = reply.choices[0]
        content = choice.message.content or ""
        if choice.message.refusal or choice.finish_reason == "content_filter":
            refusal = choice.message.refusal or content
            raise ProviderError(f"{self._who} refused to answer: {refusal[:_SHOWN]!r}", kind="refusal", raw=refusal)
        if choice.finish_reason == "length":
            raise ProviderError(
                f"{self._who} was cut off at {request.max_tokens} tokens, or where its context was full",
                kind="truncated",
                raw=content,
            )
        if not content.strip():
            raise ProviderError(
                f"{self._who} replied without any text (finish reason {choice.finish_reason!r})",
                kind="unreadable-reply",
                raw=text,
            )
        usage = Usage(reply.usage.prompt_tokens, reply.usage.completion_tokens) if reply.usage else Usage(0, 0)
        return Completion(content, choice.finish_reason or "", reply.model, usage)

    def _explain(self, error: openai.APIError) -> ProviderError:
        import openai

        kind, mend = "server", "Try again later; the same command goes on where it stopped."
        match error:
            case openai.APITimeoutError():
                kind = "timeout"
                mend = f"It said nothing for {self._timeout:g} s. Is it overloaded? Ask it less at a time."
            case openai.APIConnectionError():
                kind, mend = "unreachable", "Is the server running, and is the address right?"
            case openai.RateLimitError():
                kind, mend = "rate-limit", "Wait, ask less at a time, or raise the account's limit."
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                kind, mend = "auth", "Check OPENAI_API_KEY and what it may use."
            case openai.NotFoundError():
                kind, mend = "not-found", "Check the model's name, and the address: it usually ends in /v1."
            case openai.InternalServerError():
                pass
            case openai.APIStatusError():
                kind, mend = (
                    "bad-request",
                    "The server takes no such request: is the text too long for the model?",
                )
            case _:
                pass
        said = f"{type(error.__cause__).__name__}: {error.__cause__}" if error.__cause__ else error.message
        return ProviderError(f"{self._who} did not answer ({said[:_SHOWN]}). {mend}", kind=kind)

    @property
    def _who(self) -> str:
        return f"the model {self._name!r} at {self._url}"

    async def _session(self) -> _Session:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            import openai

            client = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self._base_url,
                max_retries=self._max_retries,
                timeout=openai.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS)),
            )
            session = self._sessions[loop] = _Session(client, asyncio.Semaphore(self._concurrency))
            _closers[client] = _close_with_loop(client)
            await anext(_closers[client])
        return session


_CONNECT_SECONDS = 5.0
"""To reach the server at all: the openai package's own default."""


@dataclass(frozen=True, slots=True)
class _Session:
    """What belongs to one event loop."""

    client: openai.AsyncOpenAI
    gate: asyncio.Semaphore


_closers: dict[openai.AsyncOpenAI, AsyncGenerator[None, None]] = {}
"""Of the clients in use. Kept here, because a client has to outlive its model: a loop closes only what still is."""


async def _close_with_loop(client: openai.AsyncOpenAI) -> AsyncGenerator[None, None]:
    # `asyncio.run` ends every generator that is still open, while the loop can still close connections.
    try:
        yield
    finally:
        await client.close()
        del _closers[client]


class _ReplyMessage(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _ReplyMessage
    finish_reason: str | None = None


class _ReplyUsage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Reply(BaseModel):
    """The part of a chat completion that is used; servers differ in the rest."""

    choices: list[_Choice] = Field(min_length=1)
    model: str = ""
    usage: _ReplyUsage | None = None


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
