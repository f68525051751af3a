"""Probabilities of given texts: the completions format of the OpenAI API, with `echo`.

The server is asked to repeat the text with the log-probability of each of its tokens, and to add one token, because
not all servers accept that nothing is to be generated. vLLM and SGLang do this, and a few hosted ones; llama.cpp and
OpenAI's chat models do not. lm-evaluation-harness asks in the same way (its model "local-completions").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Completion, Token
from imapeval.llm.providers import chat_format

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.protocol import Request

_SHOWN = 300
"""Characters of a server's own words that a message quotes."""

_NO_ECHO = re.compile(r"\becho\b|log_?prob|completions endpoint", re.I)
"""In older llama.cpp's words "Only no echo is supported", in OpenAI's "Setting 'echo' and 'logprobs' at the same time
is not supported for this model" and "This is a chat model and not supported in the v1/completions endpoint"."""


def request_body(request: Request, model: str) -> dict[str, Any]:
    """Return the body of a request about a given text, ready for JSON."""
    return {
        "model": model,
        "prompt": request.given,
        "max_tokens": 1,
        "temperature": 0.0,
        "echo": True,
        # Of the likeliest tokens at each place none is wanted, but 0 is "no probabilities" to some servers.
        "logprobs": 1,
    }


def parse_reply(content: bytes | str, request: Request, *, who: str) -> Completion:
    """Return the tokens of the given text, out of a reply with status 200.

    Args:
        content: The reply.
        request: What was asked.
        who: Model and server, for messages.

    Raises:
        ProviderError: "unreadable-reply": it is no completion; "unsupported": its tokens do not spell the text.
        ServiceError: "unsupported": it has no tokens of the text at all.
    """
    try:
        reply = _Reply.model_validate_json(content)
    except ValidationError as error:
        text = content if isinstance(content, str) else content.decode(errors="replace")
        raise ProviderError(
            f"{who} replied with something that is no completion: {text[:_SHOWN]!r}. Check the address; it usually "
            "ends in /v1.",
            kind="unreadable-reply",
            raw=text,
        ) from error
    choice = reply.choices[0]
    found = choice.logprobs
    ends = None if found is None else token_ends(found.tokens, request.given)
    if found is None or (ends is None and len(found.tokens) <= 1):
        raise _refuse(who, "its reply repeats no text")
    size = 0 if ends is None else len(ends)
    # Only the first one may have nothing before it.
    logprobs = list(found.token_logprobs[:size])
    if logprobs and logprobs[0] is None:
        logprobs[0] = 0.0
    tokens = [
        Token(text, logprob) for text, logprob in zip(found.tokens, logprobs, strict=False) if logprob is not None
    ]
    usage = chat_format.parse_usage(reply.usage)
    if ends is None or len(tokens) < size:
        raise ProviderError(
            f"{who} tells the probabilities of tokens that do not spell the given text, or not of all its tokens",
            kind="unsupported",
            raw=" ".join(found.tokens),
            tokens=(usage.prompt_tokens, usage.completion_tokens),
        )
    return Completion("", choice.finish_reason or "", reply.model or "", usage, tokens=tuple(tokens))


def raise_if_unsupported(fault: chat_format.ErrorReply, *, who: str) -> None:
    """Raise where an error reply says that the server tells no probabilities of given texts.

    Raises:
        ServiceError: "unsupported".
    """
    if fault.status in (400, 403, 404, 422, 500, 501) and _NO_ECHO.search(fault.message):
        raise _refuse(who, f"status {fault.status}: {fault.message[:_SHOWN]}")


def token_ends(texts: Sequence[str], given: str) -> list[int] | None:
    """Return where the tokens of a text end in it.

    Args:
        texts: Of the tokens, in order: perhaps one before the text that stands for its beginning, the text's own, and
            those that were generated after it. A token may lack the white space before it, as those of some
            tokenizers do that are turned into text one by one; or be empty, where it holds a part of a character that
            a later one has whole.
        given: The text.

    Returns:
        For each token up to the end of the text the number of the text's characters up to its end, for an empty one
        up to the end of the next; None where the tokens do not spell the text.
    """
    # tokens that are passed over, and characters
    ways = [(0, 0), (1, 0)]
    if texts and "\ufffd" in texts[0]:
        # vLLM 0.32 (v1/engine/logprobs.py) puts characters together out of their parts, except for a first character,
        # since its first part has no probability; the later parts of it are empty.
        ways.append((1, 1))
    for tokens, characters in ways:
        ends = _spell(texts[tokens:], given, characters)
        if ends is not None:
            return [characters] * tokens + ends
    return None


def _spell(texts: Sequence[str], given: str, end: int) -> list[int] | None:
    ends: list[int] = []
    empty = 0
    for text in texts:
        if end == len(given):
            break
        start = end
        while not given.startswith(text, start) and start < len(given) and given[start].isspace():
            start += 1
        if not given.startswith(text, start):
            return None
        end = start + len(text)
        empty += 1
        if text:
            ends += [end] * empty
            empty = 0
    return ends if not given[end:].strip() else None


def _refuse(who: str, why: str) -> ServiceError:
    return ServiceError(
        f"{who} does not tell the probabilities of given texts ({why}). Serve the model with vLLM, or have it loaded "
        "here: --set METRIC.model=FOLDER.",
        kind="unsupported",
    )


class _Logprobs(BaseModel):
    # llama.cpp has them in another form here, and of what it generated only.
    tokens: list[str] = []
    token_logprobs: list[float | None] = []


class _Choice(BaseModel):
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Reply(BaseModel):
    """The part of a completion that is used; servers differ in the rest."""

    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    usage: Any = None
