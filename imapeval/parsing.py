"""Parsers of JSON and TOML, stricter than those of Python, and what is wrong with the content.

`json` silently takes the last of two equal keys; `tomllib` takes quadratic time for keys with many dots.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jiter import from_json

from imapeval.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_MAX_FIELD_LENGTH = 80
"""Maximum length of the path of a field in a message: keys of damaged JSON may be of any length."""

_MAX_TOML_LINE = 10_000
"""Maximum length of a line of TOML, in characters."""


class DuplicateKeyError(ValueError):
    """An object has a key twice."""


def parse_json(content: str | bytes, *, surrogates: bool = True) -> Any:
    """Parse JSON, including the non-finite numbers that Python writes.

    Args:
        content: The text.
        surrogates: Whether a text may have a lone surrogate.

    Raises:
        DuplicateKeyError: An object has a key twice.
        ValueError: The text is not JSON, is nested too deep, or has a lone surrogate that it may not have.
    """
    raw = content.encode(errors="surrogatepass") if isinstance(content, str) else content
    # Several times as fast as json, but rejects lone surrogates and does not name the key.
    with suppress(ValueError):
        return from_json(raw, catch_duplicate_keys=True)
    try:
        parsed = json.loads(content, object_pairs_hook=_build_object)
        if not surrogates:
            json.dumps(parsed, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError("too many nested brackets") from error
    except UnicodeEncodeError as error:
        raise ValueError("a lone surrogate, half a character") from error
    return parsed


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(members)
    if len(built) < len(members):
        ((name, _),) = Counter(name for name, _ in members).most_common(1)
        raise DuplicateKeyError(f"an object has the key {name[:60]!r} twice")
    return built


def describe_validation_error(error: ValueError) -> str:
    """Return the message of an error; for a validation error of pydantic, its first problem with its field."""
    from pydantic_core import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))[:_MAX_FIELD_LENGTH]
    return f"{field + ': ' if field else ''}{first['msg']}"


DECODER = json.JSONDecoder(object_pairs_hook=_build_object)
"""Parses a value at the beginning of a text as `parse_json` does, except that too deep nesting is a RecursionError."""


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        InputError: It is not TOML, or has a line of over 10,000 characters.
    """
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > _MAX_TOML_LINE:
            fix = 'Break long texts into lines between """ and """.'
            raise InputError(f"a line has over {_MAX_TOML_LINE:,} characters", path=path, line=number, fix=fix)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: numbers may have thousands of digits
        place = re.search(r"at line (\d+)", str(error))
        line = None if place is None else int(place.group(1))
        raise InputError(
            f"invalid TOML ({error})", path=path, line=line, fix='Write lines such as key = "text".'
        ) from error
