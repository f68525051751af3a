"""The chat completions format of the OpenAI API: build request bodies, and interpret replies and error replies."""

from __future__ import annotations

import codecs
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import BaseModel, Field, ValidationError

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Completion, Token
from imapeval.llm.providers.token_counts import find_usage, parse_usage
from imapeval.redaction import hide_logins, hide_secrets, repeats_password

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.llm.protocol import Request

SHOWN = 300
"""Maximum number of characters of a server's reply quoted in an error message."""

_CONTENT = re.compile(r'"content"\s*:')

_SURROGATE = re.compile(rb"\\ud[89a-f]", re.I)

_REPLACEMENTS = {
    "temperature": None,
    "seed": None,
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
    "logprobs": None,
}
"""Parameters that some models reject, and what to send instead. OpenAI's reasoning models accept no temperature,
return no probabilities and call the limit "max_completion_tokens"; older servers call it "max_tokens"."""

_QUOTED = re.compile(
    rf"""['"`]({"|".join(_REPLACEMENTS)})\\?['"`](?!\s*:\s*(?:-?\d|(?:null|None|[Tt]rue|[Ff]alse)\b))"""
)
"""OpenAI: "Unsupported value: 'temperature' ..."; Google: 'Unknown name "seed"'; Mistral, in JSON: ["body","seed"].
A parameter with its value is from the request, which some servers quote whatever they reject."""

_NO_LOGPROBS = re.compile(r"log_?prob", re.I)
"""OpenAI: "You are not allowed to request logprobs from this model" (status 403); Google: "Logprobs is not enabled
for models/..."; vLLM: "Requested sample logprobs of 20, which is greater than max allowed: 5"."""

_REJECTS_PARAMETER = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|unexpected", re.I)

_TOO_LONG = re.compile(
    r"context_length_exceeded"  # OpenAI, Azure
    r"|exceed_context_size|available context size"  # llama.cpp
    r"|context (length|window|size)|max_model_len"  # vLLM, SGLang, OpenRouter, Ollama
    r"|prompt is too long|too many (input )?tokens|max_new_tokens`? must be",  # others, TGI
    re.I,
)

_UNSUPPORTED = re.compile(
    r"response.?format|json.?(schema|object|mode)|structured.?output|guided|grammar|xgrammar|outlines", re.I
)

_LOST_BY_GATEWAY = frozenset({502, 504, 524})
"""Statuses of a gateway that got no reply in time, or a broken one: the server behind it may have billed one."""

_FILTERED = re.compile(r"content_?(filter|policy)", re.I)

_FLAGGED = re.compile(r"moderation|flagged", re.I)  # OpenRouter, with status 403


def request_body(
    request: Request, model: str, *, refused: frozenset[str] = frozenset(), limit: str = "max_tokens"
) -> Any:
    """Return the body of the request, ready for JSON.

    Args:
        request: The request.
        model: Name of the model on the server.
        refused: Parameters that the model rejects; see `find_unsupported_parameter`.
        limit: The server's name of the token limit: "max_tokens" or "max_completion_tokens".
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in request.messages],
        "temperature": request.temperature,
        limit: request.max_tokens,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.schema is not None:
        schema = {"name": request.schema_name, "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif request.json:
        body["response_format"] = {"type": "json_object"}
    for name in refused & body.keys():
        value = body.pop(name)
        if instead := _REPLACEMENTS[name]:
            body[instead] = value
    if request.logprobs and "logprobs" not in refused:
        body |= {"logprobs": True, "top_logprobs": request.logprobs}
    return body


def parse_reply(content: bytes | str, request: Request, *, sender: str, answered: bool = False) -> Completion:
    """Return the completion of a reply with status 200.

    Args:
        content: The reply.
        request: The request.
        sender: Model and server, for error messages.
        answered: See `to_error`.

    Raises:
        ProviderError: The reply is a refusal, truncated, without text, or not a chat completion, or repeats a password.
        ServiceError: The reply is an error in spite of its status; see `to_error`.
    """
    repaired = repair(content)
    try:
        reply = _Reply.model_validate_json(repaired)
        _check_envelope(reply, repaired)
    except ValueError as error:
        text = repaired.decode(errors="replace")
        fault = ErrorReply.parse(200, text)
        if re.fullmatch("[45][0-9][0-9]", fault.code):  # OpenRouter's errors after it has begun to reply
            raised = to_error(ErrorReply.parse(int(fault.code), text), request, sender=sender, answered=answered)
            if isinstance(raised, ProviderError):
                raised.tokens = find_usage(repaired)
            raise raised from error
        raise unreadable_reply(
            text, sender=sender, expected="a chat completion", tokens=find_usage(repaired)
        ) from error
    choice = reply.choices[0]
    usage = parse_usage(reply.usage)
    answer, refusal = _join_parts(choice.message.content, "text"), _join_parts(choice.message.content, "refusal")
    refusal = _text_or_empty(choice.message.refusal) or refusal
    reason = _text_or_empty(choice.finish_reason)
    if refusal or reason == "content_filter":
        answer = refusal or answer
        kind, what = "refusal", f"refused to answer: {answer[:SHOWN]!r}"
    elif reason == "length":
        kind, what = "truncated", f"was cut off at {request.max_tokens} tokens, or because its context was full"
    elif reason == "error":  # OpenRouter's, if the model behind it fails
        kind, what = "server", "broke off in the middle of its reply"
    elif not answer.strip():
        kind, what = "unreadable-reply", f"replied without any text (finish reason {choice.finish_reason!r})"
    elif repeats_password(answer):
        # The text must not be kept; nor must it be read with words missing, which may have been the model's own.
        kind = "repeats-password"
        what = (
            "repeated the password or a key of its address or of a proxy's. If that is an ordinary word, choose another"
        )
    else:
        tokens = _read_tokens(choice.logprobs, request)
        model = hide_logins(_text_or_empty(reply.model))
        return Completion(answer, hide_logins(reason), model, usage, tokens=tokens)
    raise ProviderError(
        f"{sender} {what}", kind=kind, raw=hide_logins(answer), tokens=(usage.prompt_tokens, usage.completion_tokens)
    )


def unreadable_reply(text: str, *, sender: str, expected: str, tokens: tuple[int, int] | None = None) -> ProviderError:
    """Return the error for a reply that is not what was expected."""
    return ProviderError(
        f"{sender} replied with something other than {expected}: {text[:SHOWN]!r}. Check the address; it usually ends "
        "in /v1.",
        kind="unreadable-reply",
        raw=text,
        tokens=tokens,
        maybe_billed=tokens is None,
    )


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """An error reply of a server.

    Attributes:
        status: HTTP status.
        message: The error message, or the whole reply if it is not in a known error format.
        code: The server's error code, or "".
        param: The parameter at fault, or "".
        text: The whole reply.
        known: Whether the reply is in a known error format.
    """

    status: int
    message: str
    code: str
    param: str
    text: str
    known: bool

    @classmethod
    def parse(cls, status: int, text: str) -> ErrorReply:
        """Parse an error reply; its format differs between servers."""
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            reply = None
        # OpenAI: {"error": {...}}; Google: that in a list; older vLLM: the bare fields; Ollama: {"error": "message"}.
        if isinstance(reply, list) and len(listed := cast("list[Any]", reply)) == 1:
            (reply,) = listed
        fields = cast("dict[str, Any]", reply) if isinstance(reply, dict) else {}
        error = fields.get("error", fields)
        found = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}
        message = found.get("message")
        if not isinstance(message, str):
            return cls(status, text.strip(), "", "", text, known=False)
        code, param = (str(found.get(name) or "") for name in ("code", "param"))
        return cls(status, message, code, param, text, known=True)


def find_unsupported_parameter(fault: ErrorReply, body: Mapping[str, Any], refused: frozenset[str]) -> str | None:
    """Return the parameter that a model rejects, if the request can be sent again without it, else None."""
    refuses = _NO_LOGPROBS.search(fault.message) and not _TOO_LONG.search(fault.text)
    if "logprobs" in body and fault.status in (400, 403, 422) and refuses:
        return "logprobs"
    if fault.status not in (400, 422) or _TOO_LONG.search(fault.text) or not _REJECTS_PARAMETER.search(fault.text):
        return None
    # What to send instead is named after what is refused.
    quoted = _QUOTED.search(fault.message)
    named = fault.param if fault.param in _REPLACEMENTS else quoted[1] if quoted else ""
    return named if named in body and _REPLACEMENTS[named] not in refused else None


def to_error(
    fault: ErrorReply,
    request: Request,
    *,
    sender: str,
    answered: bool = False,
    keyed: bool = True,
    retry_after: float | None = None,
) -> ProviderError | ServiceError:
    """Return the exception for an error reply.

    Args:
        fault: The error reply.
        request: The request.
        sender: Model and server, for error messages.
        answered: Whether the same server has answered before. Then a "not found" or "forbidden" page in an unknown
            format comes from a proxy and need not affect every request.
        keyed: Whether a key was sent.
        retry_after: Seconds after which the server asks clients to retry.
    """
    kind, hint = _classify(fault, request, from_model_server=fault.known or not answered)
    if kind == "auth" and not keyed:
        hint = "The server requires a key; set OPENAI_API_KEY."
    outcome = "refused the key" if fault.status == 401 and keyed else "did not answer"
    message = f"{sender} {outcome} (status {fault.status}: {fault.message[:SHOWN]}). {hint}"
    if kind in ("auth", "not-found", "no-credit"):
        return ServiceError(message, kind=kind)
    return ProviderError(message, kind=kind, maybe_billed=fault.status in _LOST_BY_GATEWAY, retry_after=retry_after)


def _classify(fault: ErrorReply, request: Request, *, from_model_server: bool) -> tuple[str, str]:
    """Return the error kind of an error reply, which may come from a proxy, and a hint on how to fix it."""
    status, text = fault.status, fault.text
    structured = request.schema is not None or request.json
    if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(text)):
        return (
            "too-long",
            "The text is too long for the model, or for the context length that its server is configured with.",
        )
    if (status == 400 and _FILTERED.search(text)) or (status == 403 and _FLAGGED.search(text)):
        return "refusal", "A content filter rejected this text."
    if structured and status in (400, 404, 422, 500, 501) and _UNSUPPORTED.search(fault.message):
        return "unsupported", "The server does not support this response format."
    match status:
        case 401:
            return "auth", "Check OPENAI_API_KEY and its permissions."
        case 403 if from_model_server:
            return "auth", "Check OPENAI_API_KEY and its permissions."
        case 402:
            return "no-credit", "The account has no credit left. Add credit."
        case 429 if "insufficient_quota" in text:
            return "no-credit", "The account has no credit left. Add credit."
        case 404 | 405 if from_model_server:
            return "not-found", "Check the model's name, and the address: it usually ends in /v1."
        case 429 | 529:
            return "rate-limit", "Wait, lower --concurrency or --rpm, or raise the account's limit."
        case 408 | 504 | 524:
            return "timeout", "If the server is overloaded, lower --concurrency."
        case _ if status in (404, 405, 409, 425) or status >= 500:
            return "server", "Try again later."
        case _:
            return "bad-request", "The server rejects this request."


# Fields other than the text are not validated: a completion is paid for, whatever the rest looks like.


class _ReplyMessage(BaseModel):
    content: Any = None
    refusal: Any = None


class _Choice(BaseModel):
    message: _ReplyMessage
    finish_reason: Any = None
    logprobs: Any = None


class _Reply(BaseModel):
    """The fields of a chat completion that are used; the others differ between servers."""

    choices: list[_Choice] = Field(min_length=1)
    error: Any = None
    model: Any = None
    usage: Any = None


Logprob = Annotated[float, Field(le=0.01)]
"""A log-probability, not NaN; half precision may round it to a little more than 0."""


class _TopToken(BaseModel):
    token: str
    logprob: Logprob


class _TokenPosition(_TopToken):
    top_logprobs: list[_TopToken] = []


class _Logprobs(BaseModel):
    content: list[_TokenPosition]


def repair(content: bytes | str) -> bytes:
    """Return a reply in the UTF-8 and JSON that pydantic reads: without a byte-order mark and lone surrogates."""
    raw = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    raw = raw.removeprefix(codecs.BOM_UTF8)
    # Half an emoji, where a server cuts texts by UTF-16 units. Looked for, because parsing twice takes time.
    if _SURROGATE.search(raw):
        with suppress(ValueError, RecursionError):
            return json.dumps(json.loads(raw), ensure_ascii=False).encode(errors="replace")
    return raw


def _check_envelope(reply: _Reply, content: bytes) -> None:
    """Raise a ValueError for a reply that reports an error beside its text, or that has a field twice."""
    if reply.error:
        raise ValueError("the reply reports an error")
    listed = sum(bool(choice.logprobs) for choice in reply.choices)
    text = content.decode(errors="replace")
    # Which of two texts counts is not known. Counted first, because parsing twice takes time.
    if sum(1 for _ in _CONTENT.finditer(text)) > len(reply.choices) + listed:
        json.loads(text, object_pairs_hook=_refuse_duplicates)


def _refuse_duplicates(members: list[tuple[str, Any]]) -> None:
    if len(dict(members)) < len(members):
        raise ValueError("an object has a field twice")


def _join_parts(content: Any, kind: str) -> str:
    """Return the text of that kind in a message's content, which is a string or a list of parts."""
    texts: list[str] = []
    for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            fields = cast("dict[str, Any]", part)
            # "output_text" is the Responses API's name; other types are reasoning, images and so on.
            matches = str(fields.get("type", kind)).removeprefix("output_") == kind
            texts.append(_text_or_empty(fields.get(kind)) if matches else "")
        elif kind == "text":
            texts.append(_text_or_empty(part))
    return "".join(texts)


def _text_or_empty(value: Any) -> str:
    # The reply itself was redacted when it arrived, but JSON can write any character as an escape.
    return hide_secrets(value) if isinstance(value, str) else ""


def _read_tokens(logprobs: Any, request: Request) -> tuple[Token, ...]:
    """Return the tokens of a reply; () if they are in an unknown format."""
    if not request.logprobs or logprobs is None:
        return ()
    try:
        positions = _Logprobs.model_validate(logprobs).content
    except ValidationError:
        return ()
    # A secret in pieces cannot be redacted.
    if hide_secrets(text := "".join(position.token for position in positions)) != text:
        return ()
    return tuple(
        Token(position.token, position.logprob, tuple((top.token, top.logprob) for top in position.top_logprobs))
        for position in positions
    )
