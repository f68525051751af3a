"""Reads completions as the cache stores them, as JSON."""

from __future__ import annotations

import json
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from imapeval.llm.protocol import Completion, Token, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_completion(content: str) -> Completion:
    """Return a completion of the cache.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, RecursionError: It is damaged.
    """
    record = json.loads(content)
    tokens = tuple(_read_token(token) for token in record.get("tokens", ()))
    completion = Completion(**record | {"usage": Usage(**record["usage"]), "cached": True, "tokens": tokens})
    texts = record["text"], record["finish_reason"], record["model"]
    # A bool is an int as well, but no number of tokens.
    if not all(isinstance(text, str) for text in texts) or any(
        type(number) is not int for number in astuple(completion.usage)
    ):
        raise TypeError("a completion has a value of another type")
    return completion


def _read_token(token: Mapping[str, Any]) -> Token:
    top = tuple((text, logprob) for text, logprob in token["top"])
    for text, logprob in ((token["text"], token["logprob"]), *top):
        if not isinstance(text, str) or type(logprob) not in (int, float):
            raise TypeError("a token has a value of another type")
    return Token(token["text"], token["logprob"], top)
