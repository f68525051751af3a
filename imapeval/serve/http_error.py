"""Errors over HTTP: what each status means, and the one form in which it is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from imapeval.errors import ImapEvalError

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS_DESCRIPTIONS: Mapping[int, str] = {
    400: "The body is no JSON in UTF-8, or the request is no HTTP.",
    401: "The token is absent or wrong.",
    403: "Without a token only requests to this computer's own names are answered.",
    404: "There is nothing at this path.",
    405: "The path knows other methods.",
    408: "The request did not arrive in time.",
    413: "The body is too large, or has more answers than may wait.",
    415: "The body is not declared as JSON.",
    422: "A field is absent, unknown or of the wrong kind.",
    500: "A fault of the server; its log says more.",
    502: "The language model cannot be asked: it is down, refuses the key, or its budget is spent.",
    503: "Too much is waiting; try again after `Retry-After` seconds.",
    504: "The work took too long.",
}
"""What a status that is not 200 means, by its number."""


class HttpError(ImapEvalError):
    """A request that is not answered.

    Attributes:
        status: Of `STATUS_DESCRIPTIONS`.
        kind: A short name for programs, such as "too-large".
        message: A sentence for people, without what the request holds.
        headers: Of the response.
    """

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = headers or {}
        super().__init__(message)

    @property
    def body(self) -> bytes:
        """What is sent."""
        return dump_json({"error": {"kind": self.kind, "message": self.message}})


def dump_json(value: Any) -> bytes:
    """Write JSON. What a language model wrote may hold half a character, which UTF-8 cannot say."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
