"""What a language model is: a `Request` goes in, a `Completion` comes out, or a `ProviderError`."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

Role = Literal["system", "user", "assistant"]

PERMANENT_KINDS = frozenset({"refusal", "truncated", "too-long", "unsupported", "bad-request"})
"""Kinds of a `ProviderError` that the same request would meet again. The others pass, or may pass."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that a model is asked, apart from which model it is.

    Attributes:
        messages: The conversation, oldest first.
        schema: JSON schema that the completion has to follow, or None.
        schema_name: Its name, for servers that want one.
        json: Whether the completion has to be a JSON object where no schema says so; else it is free text.
        max_tokens: Most tokens that may be generated; more is a truncation, which is an error.
        temperature: Of sampling; 0 is greedy.
        seed: Of sampling, or None to leave it to the server.
        logprobs: How many of the likeliest tokens are wanted at each place of the completion; 0 for none.
        given: A text whose own tokens are wanted with their probabilities, in place of an answer; then there are no
            messages. "" for an answer.
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
    """What a completion cost, in tokens; 0 where the server does not say.

    Attributes:
        prompt_tokens: Of what was asked.
        completion_tokens: Of what came back, thinking included.
        reused_tokens: Those of `prompt_tokens` that the server still had in its own cache; many sell them cheaper.
    """

    prompt_tokens: int
    completion_tokens: int
    reused_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a completion.

    Attributes:
        text: As the model has it, white space included.
        logprob: Natural logarithm of its probability at that place, at most 0; 0 for the first token of a given text,
            before which there is nothing.
        top: The likeliest tokens at that place with theirs, the likeliest first.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished answer of a model.

    Attributes:
        text: As it came, not yet parsed; "" where the request was about a given text.
        finish_reason: Why the model stopped, in the server's word.
        model: Who answered, in the server's word.
        usage: What it cost when it was made.
        cached: Whether it was there already, so that this request cost nothing.
        tokens: What `text` is made of, with probabilities, where the request wants them; () where the server gives
            none all the same, as many do. Those of the given text where the request was about one.
    """

    text: str
    finish_reason: str
    model: str
    usage: Usage
    cached: bool = False
    tokens: tuple[Token, ...] = ()


class Model(Protocol):
    """Answers requests.

    Attributes:
        identity: Provider, model name and server, without white space; part of signatures and cache keys. Never
            holds a secret.
        concurrency: How many requests at the same time it makes good use of, at least 1. Who has many requests keeps
            about so many under way; asking more at once is allowed.
    """

    @property
    def identity(self) -> str:
        """Who answers; see above."""
        ...

    @property
    def concurrency(self) -> int:
        """How many at a time; see above."""
        ...

    async def complete(self, request: Request) -> Completion:
        """Return the whole answer.

        Raises:
            ProviderError: There is none for this request. Kinds: "timeout", "rate-limit", "server", "bad-request",
                "too-long" (more than the model's context), "unsupported" (no such response format: ask without
                `schema`, or without `json`; or no probabilities of this given text), "unreadable-reply" (the reply is
                no completion), "oversized-reply" (the reply is larger than any completion), "refusal", and "truncated"
                (more than `max_tokens`; `raw` holds what came).
            ServiceError: There will be none for any request. Kinds: "unreachable", "auth", "not-found", "over-budget",
                "unsupported" (it never tells probabilities of given texts), and "rate-limit" where it lets nothing
                through any more.
        """
        ...


@runtime_checkable
class CachingModel(Protocol):
    """A `Model` that keeps completions, and wants to know which of them were of no use."""

    def reject(self, request: Request) -> None:
        """Note that the completion of a request was of no use."""
        ...


_FIELDS = tuple(field.name for field in dataclasses.fields(Request))


def canonical_json(request: Request, identity: str) -> str:
    """Return the whole request to the model of that identity as canonical JSON, in ASCII.

    Two requests have the same text exactly if they ask the same model the same in the same way.

    Raises:
        ValueError: A number is not finite.
        TypeError: The schema is not JSON.
    """
    # By hand: `asdict` copies the schema all the way down, which takes longer than all the rest.
    fields = {field: getattr(request, field) for field in _FIELDS}
    fields["messages"] = [{"role": message.role, "content": message.content} for message in request.messages]
    # Requests that want no probabilities have the keys that they had before there were any.
    for name in ("logprobs", "given"):
        if not fields[name]:
            del fields[name]
    return json.dumps({"identity": identity, **fields}, sort_keys=True, allow_nan=False, separators=(",", ":"))
