"""Token counts in the replies of servers, in whatever form they are sent."""

from __future__ import annotations

import re
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from imapeval.llm.protocol import Usage

_COUNT = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
"""A token count that a server sends as a string."""

_MAX_TOKENS = 10**9
"""Largest token count of a reply. No context is as long; a larger count is corrupt and would exhaust any --max-cost."""


def parse_usage(usage: Any) -> Usage:
    """Return the token usage of a reply; zeros, which mean "unknown", if any count is invalid.

    Fractions and numbers sent as strings are accepted, because some servers send them.
    """
    fields = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    prompt, completion = (_read_count(fields.get(name)) for name in ("prompt_tokens", "completion_tokens"))
    if prompt is None or completion is None:
        return Usage(0, 0)
    details = fields.get("prompt_tokens_details")
    reused = _read_count(cast("dict[str, Any]", details).get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(prompt, completion, min(prompt, reused or 0))


def find_usage(content: bytes | str) -> tuple[int, int] | None:
    """Return the token counts of a reply that has no completion; None if it reports none."""
    try:
        usage = parse_usage(_UsageReply.model_validate_json(content).usage)
    except ValidationError:
        return None
    return usage.prompt_tokens, usage.completion_tokens


class _UsageReply(BaseModel):
    """A reply of which only the usage can be read."""

    usage: dict[str, Any]


def _read_count(value: Any) -> int | None:
    """Return a token count, 0 if it is absent, or None if it is invalid."""
    if value is None:
        return 0
    if isinstance(value, str) and _COUNT.fullmatch(value):
        value = float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= _MAX_TOKENS:
        return None
    return int(value)
