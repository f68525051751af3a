"""HTTP errors: the meaning of each status, and the form of the response body."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from imapeval.errors import ImapEvalError

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS_DESCRIPTIONS: Mapping[int, str] = {
    400: "The body is not JSON in UTF-8, or the request is not valid HTTP.",
    401: "The token is missing or wrong.",
    403: "Without a token, only requests to localhost are answered.",
    404: "There is no such path.",
    405: "The path does not support this method.",
    408: "The request did not arrive in time.",
    413: "The body is too large, or has more answers than the queue holds.",
    415: "The body is not declared as JSON.",
    422: "A field is missing, unknown, of the wrong type, or there twice.",
    500: "Internal error; see the log of the server.",
    502: "The language model cannot be used: it is down, the key is refused, or the budget is spent.",
    503: "The server is busy; try again after `Retry-After` seconds.",
    504: "The work took too long.",
}
"""The meaning of each status other than 200."""


PROTECTIVE_HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers that keep browsers from caching, framing, sniffing or sharing a response."""


class HttpError(ImapEvalError):
    """A request that is rejected.

    Attributes:
        status: A status in `STATUS_DESCRIPTIONS`.
        kind: A short machine-readable name, such as "too-large".
        message: A sentence for people, without content of the request.
        headers: Headers of the response.
    """

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = headers or {}
        super().__init__(message)

    @property
    def body(self) -> bytes:
        """The body of the response."""
        return dump_json({"error": {"kind": self.kind, "message": self.message}})


def dump_json(value: Any) -> bytes:
    """Encode JSON in UTF-8; lone surrogates, which a language model may write, become question marks."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
