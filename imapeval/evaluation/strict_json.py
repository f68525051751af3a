"""JSON in which no key hides another. The parser of Python takes the last of two equal keys, without a word."""

from __future__ import annotations

import json
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
        names = [name for name, _ in members]
        name = next(name for number, name in enumerate(names) if name in names[:number])
        raise DuplicateKeyError(f"an object has the key {name[:60]!r} twice")
    return built
