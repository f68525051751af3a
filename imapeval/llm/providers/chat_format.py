"""The chat completions format of the OpenAI API: a request on the wire, and what replies and error replies mean."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, Field, ValidationError

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.protocol import Completion, Token, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.llm.protocol import Request

_SHOWN = 300
"""Characters of a server's own words that a message quotes."""

_COUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
"""A number of tokens, as some servers write it in quotation marks."""

_MOST_TOKENS = 10**9
"""Of one reply. No context is as long; what says more is damaged, and would use up every --max-cost."""

_INSTEAD = {
    "temperature": None,
    "seed": None,
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
    "logprobs": None,
}
"""Parameters that some models refuse, and what says the same to those. Reasoning models of OpenAI take no temperature,
give no probabilities and know the limit as "max_completion_tokens"; older servers know it as "max_tokens"."""

_NO_LOGPROBS = re.compile(r"log_?prob", re.I)
"""OpenAI says "You are not allowed to request logprobs from this model" (status 403), Google "Logprobs is not enabled
for models/...", vLLM "Requested sample logprobs of 20, which is greater than max allowed: 5"."""

_REFUSES = re.compile(r"unsupported|not support|unknown|unrecogni[sz]ed|not permitted|unexpected", re.I)

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

_FILTERED = re.compile(r"content_?(filter|policy)", re.I)

_FLAGGED = re.compile(r"moderation|flagged", re.I)  # OpenRouter, with status 403


def request_body(
    request: Request, model: str, *, refused: frozenset[str] = frozenset(), limit: str = "max_tokens"
) -> Any:
    """Return the body of the request, ready for JSON.

    Args:
        request: What is asked.
        model: Whom, in the server's word.
        refused: Parameters that the model does not take; see `find_refused`.
        limit: How the server calls the limit of tokens: "max_tokens" or "max_completion_tokens".
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
        if instead := _INSTEAD[name]:
            body[instead] = value
    if request.logprobs and "logprobs" not in refused:
        body |= {"logprobs": True, "top_logprobs": request.logprobs}
    return body


def parse_reply(content: bytes | str, request: Request, *, who: str, answered: bool = False) -> Completion:
    """Return the completion of a reply with status 200.

    Args:
        content: The reply.
        request: What was asked.
        who: Model and server, for messages.
        answered: As of `explain`.

    Raises:
        ProviderError: It is a refusal, cut off, without text, or no chat completion.
        ServiceError: It is an error in spite of its status; see `explain`.
    """
    try:
        reply = _Reply.model_validate_json(content)
    except ValidationError as error:
        text = content if isinstance(content, str) else content.decode(errors="replace")
        fault = ErrorReply.parse(200, text)
        if re.fullmatch("[45][0-9][0-9]", fault.code):  # as OpenRouter says what happened after it began to reply
            raise to_error(ErrorReply.parse(int(fault.code), text), request, who=who, answered=answered) from error
        raise ProviderError(
            f"{who} replied with something that is no chat completion: {text[:_SHOWN]!r}. Check the address; it "
            "usually ends in /v1.",
            kind="unreadable-reply",
            raw=text,
            tokens=_find_cost(content),
        ) from error
    choice = reply.choices[0]
    usage = parse_usage(reply.usage)
    said, refusal = _join_parts(choice.message.content, "text"), _join_parts(choice.message.content, "refusal")
    refusal = _take_text(choice.message.refusal) or refusal
    reason = _take_text(choice.finish_reason)
    if refusal or reason == "content_filter":
        said = refusal or said
        kind, what = "refusal", f"refused to answer: {said[:_SHOWN]!r}"
    elif reason == "length":
        kind, what = "truncated", f"was cut off at {request.max_tokens} tokens, or where its context was full"
    elif reason == "error":  # OpenRouter's, where the model behind it fails
        kind, what = "server", "broke off in the middle of its answer"
    elif not said.strip():
        kind, what = "unreadable-reply", f"replied without any text (finish reason {choice.finish_reason!r})"
    else:
        tokens = _read_tokens(choice.logprobs, request)
        return Completion(said, reason, _take_text(reply.model), usage, tokens=tokens)
    raise ProviderError(f"{who} {what}", kind=kind, raw=said, tokens=(usage.prompt_tokens, usage.completion_tokens))


def parse_usage(said: Any) -> Usage:
    """Return what a reply says that it cost; zeros, which stand for "not told", where any of it cannot be meant.

    Numbers with a fraction and numbers in quotation marks are read, as some servers write them.
    """
    fields = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
    prompt, completion = (_read_count(fields.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    if prompt is None or completion is None:
        return Usage(0, 0)
    details = fields.get("prompt_tokens_details")
    reused = _read_count(cast("dict[str, Any]", details).get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(prompt, completion, min(prompt, reused or 0))


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """What a server says in place of an answer.

    Attributes:
        status: Of HTTP.
        message: Its words, or the whole reply where that is not an error in any known form.
        code: Its name for what happened, or "".
        param: The parameter at fault, or "".
        text: The whole reply.
        known: Whether the reply is an error in a known form.
    """

    status: int
    message: str
    code: str
    param: str
    text: str
    known: bool

    @classmethod
    def parse(cls, status: int, text: str) -> ErrorReply:
        """Read an error reply; servers differ in its form."""
        try:
            reply = json.loads(text)
        except (ValueError, RecursionError):
            reply = None
        # {"error": {...}} is OpenAI's; bare fields were vLLM's, {"error": "words"} is Ollama's.
        fields = cast("dict[str, Any]", reply) if isinstance(reply, dict) else {}
        error = fields.get("error", fields)
        found = cast("dict[str, Any]", error) if isinstance(error, dict) else {"message": error}
        message = found.get("message")
        if not isinstance(message, str):
            return cls(status, text.strip(), "", "", text, known=False)
        code, param = (str(found.get(name) or "") for name in ("code", "param"))
        return cls(status, message, code, param, text, known=True)


def find_unsupported_parameter(fault: ErrorReply, body: Mapping[str, Any], refused: frozenset[str]) -> str | None:
    """Return the parameter that a model does not take, where the request can be sent again without it."""
    refuses = _NO_LOGPROBS.search(fault.message) and not _TOO_LONG.search(fault.text)
    if "logprobs" in body and fault.status in (400, 403, 422) and refuses:
        return "logprobs"
    if fault.status not in (400, 422) or _TOO_LONG.search(fault.text) or not _REFUSES.search(fault.text):
        return None
    for name, instead in _INSTEAD.items():
        if name in body and instead not in refused and (fault.param == name or f"'{name}'" in fault.message):
            return name
    return None


def to_error(
    fault: ErrorReply,
    request: Request,
    *,
    who: str,
    answered: bool = False,
    keyed: bool = True,
    retry_after: float | None = None,
) -> ProviderError | ServiceError:
    """Return the error that an error reply stands for.

    Args:
        fault: The reply.
        request: What was asked.
        who: Model and server, for messages.
        answered: Whether the same server has answered before: then a page that is not its own ("not found", "not
            allowed") comes from something in between, and does not concern every request.
        keyed: Whether a key was sent.
        retry_after: Seconds after which the server wants to be asked again.
    """
    kind, mend = _judge(fault, request, ours=fault.known or not answered)
    if kind == "auth" and not keyed:
        mend = "It wants a key, and OPENAI_API_KEY is not set."
    message = f"{who} did not answer (status {fault.status}: {fault.message[:_SHOWN]}). {mend}"
    if kind in ("auth", "not-found", "over-budget"):
        return ServiceError(message, kind=kind)
    return ProviderError(message, kind=kind, retry_after=retry_after)


def _judge(fault: ErrorReply, request: Request, *, ours: bool) -> tuple[str, str]:
    """Return the kind of a fault and its mend."""
    status, text = fault.status, fault.text
    shaped = request.schema is not None or request.json
    if status == 413 or (status in (400, 422, 500) and _TOO_LONG.search(text)):
        return "too-long", "The text is too long for the model, or for the context that its server gives it."
    if (status == 400 and _FILTERED.search(text)) or (status == 403 and _FLAGGED.search(text)):
        return "refusal", "A filter in front of the model declines this text."
    if shaped and status in (400, 404, 422, 500, 501) and _UNSUPPORTED.search(fault.message):
        return "unsupported", "It cannot be held to this form of answer."
    match status:
        case 401:
            return "auth", "Check OPENAI_API_KEY and what it may use."
        case 403 if ours:
            return "auth", "Check OPENAI_API_KEY and what it may use."
        case 402:
            return "over-budget", "The account has no credit left; top it up."
        case 429 if "insufficient_quota" in text:
            return "over-budget", "The account has no credit left; top it up."
        case 404 | 405 if ours:
            return "not-found", "Check the model's name, and the address: it usually ends in /v1."
        case 429 | 529:
            return "rate-limit", "Wait, ask less at a time (--concurrency, --rpm), or raise the account's limit."
        case 408 | 504 | 524:
            return "timeout", "Is it overloaded? Ask it less at a time (--concurrency)."
        case 404 | 405 | 409 | 425:
            return "server", _LATER
        case _ if status >= 500:
            return "server", _LATER
        case _:
            return "bad-request", "The server takes no such request."


_LATER = "Try again later."


# What a reply holds beside its text is taken as it comes: a completion is paid for, whatever form the rest has.


class _ReplyMessage(BaseModel):
    content: Any = None
    refusal: Any = None


class _Choice(BaseModel):
    message: _ReplyMessage
    finish_reason: Any = None
    logprobs: Any = None


class _Reply(BaseModel):
    """The part of a chat completion that is used; servers differ in the rest."""

    choices: list[_Choice] = Field(min_length=1)
    model: Any = None
    usage: Any = None


class _Bill(BaseModel):
    """A reply of which nothing but its cost is clear."""

    usage: dict[str, Any]


class _Chance(BaseModel):
    token: str
    logprob: float


class _Place(_Chance):
    top_logprobs: list[_Chance] = []


class _Logprobs(BaseModel):
    content: list[_Place]


def _join_parts(content: Any, kind: str) -> str:
    """Return what a message's content has of that kind: a text, or the texts of a list of parts."""
    texts: list[str] = []
    for part in cast("list[Any]", content) if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            fields = cast("dict[str, Any]", part)
            # "output_text" is what OpenAI's other API calls it; the other types are thinking, images and the like.
            fits = str(fields.get("type", kind)).removeprefix("output_") == kind
            texts.append(_take_text(fields.get(kind)) if fits else "")
        elif kind == "text":
            texts.append(_take_text(part))
    return "".join(texts)


def _find_cost(content: bytes | str) -> tuple[int, int] | None:
    """Return what a reply says that it cost although it holds no completion; None where it says nothing of it."""
    try:
        usage = parse_usage(_Bill.model_validate_json(content).usage)
    except ValidationError:
        return None
    return usage.prompt_tokens, usage.completion_tokens


def _take_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _read_count(value: Any) -> int | None:
    """Return a number of tokens, 0 where there is none; None for what cannot be one."""
    if value is None:
        return 0
    if isinstance(value, str) and _COUNT.fullmatch(value):
        value = float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _MOST_TOKENS:
        return None
    return int(value)


def _read_tokens(logprobs: Any, request: Request) -> tuple[Token, ...]:
    """Return the tokens of a reply; none where the server has them in a form of its own."""
    if not request.logprobs or logprobs is None:
        return ()
    try:
        places = _Logprobs.model_validate(logprobs).content
    except ValidationError:
        return ()
    return tuple(
        Token(place.token, place.logprob, tuple((top.token, top.logprob) for top in place.top_logprobs))
        for place in places
    )
