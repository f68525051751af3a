"""The protocol of a language model: `Model.complete` takes a `Request` and returns a `Completion` or raises."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Role = Literal["system", "user", "assistant"]

PERMANENT_KINDS = frozenset({"refusal", "truncated", "too-long", "unsupported", "bad-request"})
"""Kinds of `ProviderError` that the same request would meet again. The other kinds may pass."""

STOPPED = "stopped"
"""Kind of the `ServiceError` of requests after the run was stopped."""

WORKER_DIED = "worker-died"
"""Kind of the `ProviderError` of a request that a worker was sending when it died. It says nothing of the server."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that is sent to a model, apart from which model it is.

    Attributes:
        messages: The conversation, oldest first.
        schema: JSON schema that the completion must follow, or None.
        schema_name: Name of the schema, for servers that require one.
        json: Whether the completion must be a JSON object; only used without a schema.
        max_tokens: Maximum number of tokens to generate. A completion that reaches the limit is a truncation, which is
            an error.
        temperature: Sampling temperature; 0 is greedy.
        seed: Sampling seed, or None to leave it to the server.
        logprobs: How many of the most likely tokens to return at each position of the completion; 0 for none.
        given: A text whose own token probabilities are wanted instead of an answer; `messages` is then empty. "" asks
            for an answer.
    """

    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    schema_name: str = "answer"
    json: bool = False
    max_tokens: int = 2048
    temperature: float = 0.0
    seed: int | None = None
    logprobs: int = 0
    given: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a completion cost, in tokens; 0 if the server does not report it.

    Attributes:
        prompt_tokens: Tokens of the request.
        completion_tokens: Tokens that were generated, reasoning included.
        reused_tokens: Those of `prompt_tokens` that the server had in its own cache; many providers charge less for
            them.
    """

    prompt_tokens: int
    completion_tokens: int
    reused_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a completion, or of a given text.

    Attributes:
        text: The token's text, white space included.
        logprob: Natural logarithm of its probability at that position, at most 0; 0 for the first token of a given
            text, which has no context.
        top: The most likely tokens at that position with their log-probabilities, the most likely first.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished answer of a model.

    Attributes:
        text: The raw text, not yet parsed; "" if the request was about a given text.
        finish_reason: Why the model stopped, as the server reports it.
        model: Name of the model, as the server reports it.
        usage: What the completion cost when it was made.
        cached: Whether it came from the cache, so that this request cost nothing.
        tokens: The tokens of `text`, or of the given text, with their probabilities, if the request asks for them. ()
            if the server returns none, as many do.
    """

    text: str
    finish_reason: str
    model: str
    usage: Usage
    cached: bool = False
    tokens: tuple[Token, ...] = ()


@runtime_checkable
class Model(Protocol):
    """Answers requests.

    Attributes:
        identity: Provider, model name and server; part of signatures and cache keys. Never contains a secret.
        concurrency: How many simultaneous requests the model can make use of, at least 1. Callers with many requests
            keep about this many in flight; sending more is allowed.
    """

    @property
    def identity(self) -> str:
        """Provider, model name and server; see above."""
        ...

    @property
    def concurrency(self) -> int:
        """Useful number of simultaneous requests; see above."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Return the whole completion.

        Raises:
            ProviderError: This request has no completion. Kinds: "timeout", "rate-limit", "server", "bad-request",
                "too-long" (more than the model's context), "unsupported" (the server does not support this response
                format: ask without `schema`, or without `json`; or it returns no probabilities for this given text),
                "unreadable-reply" (the reply is not a completion), "oversized-reply" (the reply is larger than any
                completion), "repeats-password" (the reply holds one of an address), "refusal", and "truncated" (more
                than `max_tokens`; `raw` holds the partial text).
            ServiceError: No request will succeed. Kinds: "unreachable", "auth", "not-found", "no-credit" (of
                the account), "over-budget" (the limit of cost), "unsupported" (the model never returns probabilities
                for given texts), and "rate-limit" if every request is being rejected.
        """
        ...


@runtime_checkable
class CachingModel(Protocol):
    """A `Model` that stores completions, and in which unusable ones can be rejected."""

    def reject(self, request: Request, completion: Completion) -> None:
        """Record that this completion of the request was unusable."""
        ...


@runtime_checkable
class PortableModel(Protocol):
    """A `Model` that other processes can open for themselves."""

    def open_for_workers(self, *, concurrency: int, local: bool) -> Callable[[], Model | None] | None:
        """Return a picklable function that opens the same model in a worker, or None if no worker can reach it.

        The function returns None in a worker that cannot reach it, or that would reach it as somebody else.

        Args:
            concurrency: Maximum number of concurrent requests of the worker.
            local: Whether all workers run on this machine.
        """
        ...


def canonical_json(request: Request, identity: str) -> str:
    """Return the request to the model with that identity as canonical JSON, in ASCII.

    Two requests have the same text if and only if they ask the same model for the same thing in the same way.

    Raises:
        ValueError: A number is not finite.
        TypeError: The schema is not JSON.
    """
    # Not `asdict`: it deep-copies the schema, which takes longer than everything else here.
    fields = {field: getattr(request, field) for field in Request.__slots__}
    fields["messages"] = [{"role": message.role, "content": message.content} for message in request.messages]
    # Absent unless used, so that requests without probabilities keep the cache keys of earlier versions.
    for name in ("logprobs", "given"):
        if not fields[name]:
            del fields[name]
    return json.dumps({"identity": identity, **fields}, sort_keys=True, allow_nan=False, separators=(",", ":"))


def parse_canonical(text: str) -> Request:
    """Return the request of a canonical text; the inverse of `canonical_json`.

    Raises:
        ValueError: The text is damaged.
    """
    try:
        fields = json.loads(text)
        del fields["identity"]
        return Request(**fields | {"messages": tuple(Message(**message) for message in fields["messages"])})
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"not a canonical request: {error}") from error
