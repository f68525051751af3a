"""Find JSON objects in completions: lenient with what surrounds them, strict with their content.

Code fences, prose around the JSON and reasoning blocks are skipped. A completion that cannot be read is an error.
"""

from __future__ import annotations

import json
import re
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import ExtractionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_REASONING = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_REASONING_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+(?P<end>"?)|[{}\[\]]', re.DOTALL)
"""A bracket, or a string, whose `end` is empty if it is not terminated."""

_OPENING = re.compile(r'\{(?=[ \t\r\n]*+["}])')
"""Where an object may begin."""

_CLOSING = {"{": "}", "[": "]"}

_MAX_CUTS = 8
"""Positions at which to try cutting back a truncated object. Undoing a group of a term and values takes at most 5."""

_MAX_FALSE_STARTS = 100
"""Openings that begin no object before a completion is given up, because each may be scanned to the end."""

_MAX_DEPTH = 100
"""Deepest nesting that is repaired. An imap has four levels; a completion that opens more is in a loop."""


def find_json_object(completion: str, key: str) -> Mapping[str, Any]:
    """Return the only object with that key, with its keys in lower case; a bare list counts as the key's value.

    A bare empty list does not count: that nothing was found must be stated in the requested format.

    Raises:
        ExtractionError: There is none, it reports an error, or a key occurs twice (kind "unreadable-completion"), or
            there are several different ones, or the values of such a key differ (kind "different-objects").
    """
    body = strip_reasoning(completion)
    if isinstance(whole := _decode(body), list) and whole:
        return {key: whole}
    fitting: list[dict[str, Any]] = []

    def take_list(fence: re.Match[str]) -> str:
        found = _decode(fence[1])
        if not (isinstance(found, list) and found):
            return fence[0]
        fitting.append({key: found})
        return ""

    # Also beside a fence: whichever of two results is meant is not known.
    rest = _FENCE.sub(take_list, body)
    fitting += [record for *_, found in find_json_objects(rest, completion) if key in (record := fold_keys(found))]
    if any(record != fitting[0] for record in fitting):
        why = f"it holds {len(fitting)} different objects with {key!r}"
        raise unreadable_error(completion, why, kind="different-objects")
    if fitting and fitting[0].get("error"):
        # Other content beside a reported error, such as an empty list, is not the model's answer.
        raise unreadable_error(completion, "its JSON object reports an error")
    if fitting:
        return fitting[0]
    raise unreadable_error(completion, f"it holds no JSON object with {key!r}")


def find_json_objects(text: str, completion: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and content of each outermost JSON object in a text.

    Args:
        text: The text to search, a part of the completion.
        completion: The whole completion, for errors.

    Raises:
        ExtractionError: There are too many openings that begin no object, or a key occurs twice.
    """
    false_starts = 0
    opening = _OPENING.search(text)
    while opening:
        try:
            found, end = _DECODER.raw_decode(text, opening.start())
        except _DuplicateKeyError as error:
            kind = "different-objects" if error.values_differ else "unreadable-completion"
            raise unreadable_error(completion, str(error), kind=kind) from None
        except (ValueError, RecursionError):
            end = opening.end()
            false_starts += 1
            if false_starts > _MAX_FALSE_STARTS:
                why = f"more than {_MAX_FALSE_STARTS} objects begin in it and do not end"
                raise unreadable_error(completion, why) from None
        else:
            yield opening.start(), end, cast("dict[str, Any]", found)
        opening = _OPENING.search(text, end)


def parse_truncated_json(text: str) -> Any:
    """Return the value that begins at the first bracket, as far as it goes; None if it is complete or invalid."""
    first = min((at for at in map(text.find, "{[") if at >= 0), default=len(text))
    stack: list[str] = []
    ends: deque[tuple[int, str]] = deque(maxlen=_MAX_CUTS)
    for token in _TOKEN.finditer(text, first):
        mark = token[0]
        if token["end"] == "":
            break
        if mark in _CLOSING:
            if len(stack) == _MAX_DEPTH:
                return None
            stack.append(_CLOSING[mark])
        elif len(mark) == 1 and (not stack or stack.pop() != mark):
            return None
        if not stack:
            return None
        ends.append((token.end(), "".join(reversed(stack))))
    # Cut back to the last position at which only closing brackets are missing.
    for end, missing in reversed(ends):
        found = _decode(text[first:end] + missing)
        if found is not None:
            return found
    return None


def strip_reasoning(completion: str) -> str:
    """Return the completion without reasoning blocks."""
    # Some chat templates open the block in the prompt, so that only its end is in the completion.
    return _REASONING_END.split(_REASONING.sub("", completion))[-1]


def strip_fence(text: str) -> str:
    """Return the content of a text that is a code fence as a whole; any other text unchanged."""
    found = _FENCE.fullmatch(text.strip())
    return found[1] if found else text


def parse_whole(completion: str) -> Any:
    """Return the JSON value that a whole completion is, apart from reasoning and a code fence; else None."""
    return _decode(strip_fence(strip_reasoning(completion)))


def fold_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with its keys in lower case."""
    return {name.casefold(): value for name, value in record.items()}


def unreadable_error(completion: str, why: str, *, kind: str = "unreadable-completion") -> ExtractionError:
    """Return the error for a completion that cannot be read; it holds the completion."""
    return ExtractionError(
        f"the model's completion cannot be read: {why}. "
        "A model that follows JSON schemas, or a stronger one, does better.",
        kind=kind,
        raw=completion,
    )


class _DuplicateKeyError(ValueError):
    """A key occurs twice in an object, ignoring case: the last would hide the others.

    Attributes:
        values_differ: Whether it has different values.
    """

    def __init__(self, name: str, *, values_differ: bool) -> None:
        self.values_differ = values_differ
        super().__init__(f"an object has the key {name!r} twice")


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these members.

    Raises:
        _DuplicateKeyError: Two keys are equal, ignoring case.
    """
    contents: dict[str, Any] = {}
    for name, value in members:
        if (folded := name.casefold()) in contents:
            raise _DuplicateKeyError(name, values_differ=contents[folded] != value)
        contents[folded] = value
    return dict(members)


_DECODER = json.JSONDecoder(object_pairs_hook=_build_object)


def _decode(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    # Besides malformed JSON: a number of thousands of digits is a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError):
        return None
