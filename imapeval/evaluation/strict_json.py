"""JSON in which no key hides another. The parser of Python takes the last of two equal keys, without a word."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any


class DuplicateKeyError(ValueError):
    """An object has a key twice."""


def parse_json(content: str | bytes) -> Any:
    """Parse JSON, including lone surrogates and the non-finite numbers that Python writes.

    Raises:
        DuplicateKeyError: An object has a key twice.
        ValueError: The text is not JSON, or is nested too deep.
    """
    try:
        return json.loads(content, object_pairs_hook=_build_object)
    except RecursionError as error:
        raise ValueError("too many nested brackets") from error


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(members)
    if len(built) < len(members):
        ((name, _),) = Counter(name for name, _ in members).most_common(1)
        raise DuplicateKeyError(f"an object has the key {name[:60]!r} twice")
    return built


DECODER = json.JSONDecoder(object_pairs_hook=_build_object)
"""Parses a value at the beginning of a text as `parse_json` does, except that too deep nesting is a RecursionError."""
