"""Log-probabilities of a given text: the completions format of the OpenAI API, with `echo`.

The server is asked to echo the text with the log-probability of each token and to generate one more token, because not
all servers accept a limit of 0. vLLM, SGLang and a few hosted services support this; llama.cpp and OpenAI's chat models
do not. lm-evaluation-harness sends the same request (its model "local-completions").
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Completion, Token
from imapeval.llm.providers import chat_format
from imapeval.llm.providers.token_counts import parse_usage
from imapeval.redaction import hide_logins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.llm.protocol import Request

_NO_ECHO = re.compile(r"\becho\b|log_?prob|completions endpoint", re.I)
"""Older llama.cpp: "Only no echo is supported"; OpenAI: "Setting 'echo' and 'logprobs' at the same time is not
supported for this model" and "This is a chat model and not supported in the v1/completions endpoint"."""


def request_body(request: Request, model: str) -> dict[str, Any]:
    """Return the body of a request about a given text, ready for JSON."""
    return {
        "model": model,
        "prompt": request.given,
        "max_tokens": 1,
        "temperature": 0.0,
        "echo": True,
        # The most likely tokens are not needed, but some servers take 0 for "no probabilities".
        "logprobs": 1,
    }


def parse_reply(content: bytes | str, request: Request, *, sender: str) -> Completion:
    """Return the tokens of the given text from a reply with status 200.

    Args:
        content: The reply.
        request: The request.
        sender: Model and server, for error messages.

    Raises:
        ProviderError: "unreadable-reply": it is not a completion; "unsupported": its tokens do not spell the text.
        ServiceError: "unsupported": it has no tokens of the text at all.
    """
    try:
        reply = _Reply.model_validate_json(content)
    except ValidationError as error:
        text = content if isinstance(content, str) else content.decode(errors="replace")
        raise chat_format.unreadable_reply(text, sender=sender, expected="a completion") from error
    choice = reply.choices[0]
    found = choice.logprobs
    ends = None if found is None else token_ends(found.tokens, request.given)
    if found is None or (ends is None and len(found.tokens) <= 1):
        raise _unsupported(sender, "its reply does not echo the text")
    size = 0 if ends is None else len(ends)
    # Only the first token may lack a probability, because it has no context.
    logprobs = list(found.token_logprobs[:size])
    if logprobs and logprobs[0] is None:
        logprobs[0] = 0.0
    tokens = [
        Token(text, logprob) for text, logprob in zip(found.tokens, logprobs, strict=False) if logprob is not None
    ]
    usage = parse_usage(reply.usage)
    if ends is None or len(tokens) < size:
        raise ProviderError(
            f"{sender} returned tokens that do not spell the given text, or not all of them with a probability",
            kind="unsupported",
            raw=" ".join(found.tokens),
            tokens=(usage.prompt_tokens, usage.completion_tokens),
        )
    reason, model = hide_logins(choice.finish_reason or ""), hide_logins(reply.model or "")
    return Completion("", reason, model, usage, tokens=tuple(tokens))


def raise_if_unsupported(fault: chat_format.ErrorReply, *, sender: str) -> None:
    """Raise if an error reply says that the server does not return probabilities of given texts.

    Raises:
        ServiceError: "unsupported".
    """
    if fault.status in (400, 403, 404, 422, 500, 501) and _NO_ECHO.search(fault.message):
        raise _unsupported(sender, f"status {fault.status}: {fault.message[: chat_format.SHOWN]}")


def token_ends(texts: Sequence[str], given: str) -> list[int] | None:
    """Return where in a text its tokens end.

    Args:
        texts: The token texts in order: possibly a beginning-of-text token, then the tokens of the text, then generated
            ones. A token may lack the white space before it, as with some tokenizers that decode tokens one by one; or
            be empty, if it holds part of a character that a later token has whole.
        given: The text.

    Returns:
        For each token up to the end of the text, the offset of its end in characters (for an empty token, that of the
        next one); None if the tokens do not spell the text.
    """
    # (tokens to skip, characters to skip)
    alignments = [(0, 0), (1, 0)]
    if texts and "\ufffd" in texts[0]:
        # vLLM 0.32 (v1/engine/logprobs.py) joins the parts of a character in its last token, but not for the first
        # character, whose first part has no probability; its later parts are empty.
        alignments.append((1, 1))
    for tokens, characters in alignments:
        ends = _find_token_ends(texts[tokens:], given, characters)
        if ends is not None:
            return [characters] * tokens + ends
    return None


def _find_token_ends(texts: Sequence[str], given: str, end: int) -> list[int] | None:
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


def _unsupported(sender: str, why: str) -> ServiceError:
    return ServiceError(
        f"{sender} does not return the probabilities of given texts ({why}). Serve the model with vLLM, or load it "
        "locally with --set METRIC.model=FOLDER.",
        kind="unsupported",
    )


class _Logprobs(BaseModel):
    # llama.cpp uses another format here, and only covers generated tokens.
    tokens: list[str] = []
    token_logprobs: list[chat_format.Logprob | None] = []


class _Choice(BaseModel):
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Reply(BaseModel):
    """The fields of a completion that are used; the others differ between servers."""

    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    usage: Any = None
