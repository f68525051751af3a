"""Completions of a model read as pairs. Pure; lenient with the wrapping, strict with the content.

Code fences, prose around the JSON, thinking blocks, other shapes of the same content and the line format (`lines`) are
read, whatever was asked for. What cannot be a pair is left out and reported; of a completion that breaks off what came
before is read, and the rest is said to be missing. What cannot be read at all is an error, never an empty imap: an
empty imap is a score.
"""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict

from imapeval.errors import ExtractionError
from imapeval.extraction import line_format
from imapeval.extraction.entries import MAX_RAW_TERM_CHARACTERS, QUERY_VALUE, Parsed, clean_entries, lost_everything
from imapeval.extraction.line_format import LineEntries
from imapeval.types import QuestionImap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.types import Pair

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+(?P<end>"?)|[{}\[\]]', re.DOTALL)
"""A bracket or a string, whose `end` is empty where it has none."""

_OPENING = re.compile(r'\{(?=[ \t\r\n]*+["}])')
"""Where an object may begin."""

_CLOSING = {"{": "}", "[": "]"}

_MAX_CUTS = 8
"""Places to cut a broken-off object back to. A group of a term and values takes at most 5 to undo."""

_MAX_FALSE_STARTS = 100
"""Openings of an object that lead to none before a completion is given up: each may be followed to its end."""

_MAX_DEPTH = 100
"""Brackets within each other that are still closed for a model. An imap has four; one that opens more is in a loop."""


class GroupRecord(BaseModel):
    """Pairs of one term as the model writes them: grouped, because a term repeated with every value costs tokens."""

    model_config = ConfigDict(extra="forbid")

    term: str
    values: list[str]


class QuestionRecord(BaseModel):
    """A question's imap as the model writes it."""

    model_config = ConfigDict(extra="forbid")

    query: list[str]
    constraint: list[GroupRecord]


class InformRecord(BaseModel):
    """An answer's pairs as the model writes them."""

    model_config = ConfigDict(extra="forbid")

    inform: list[GroupRecord]


QUESTION_SCHEMA: Mapping[str, Any] = QuestionRecord.model_json_schema()
INFORM_SCHEMA: Mapping[str, Any] = InformRecord.model_json_schema()


def parse_question(completion: str) -> Parsed[QuestionImap]:
    """Read the imap of a question: an object with "query" and "constraint", or lines. Query pairs have the value "?".

    Raises:
        ExtractionError: The completion cannot be read (kinds of `find_json_object`).
    """
    entries = _parse_entries(completion, "query")
    if isinstance(entries, LineEntries):
        if entries.inform and not entries.query:
            raise unreadable_error(completion, "it holds no lines of a question")
        query = clean_entries((term, QUERY_VALUE) for term, _ in entries.query)
        constraint = clean_entries(entries.constraint)
    else:
        query = clean_entries(_list_query_entries(entries.record["query"]))
        # A key that is not ours may be a damaged one of ours.
        missing = "constraint" not in entries.record and len(entries.record) > 1
        entries = _Object(entries.record, entries.complete and not missing)
        constraint = clean_entries(_list_pair_entries(entries.record.get("constraint") or []))
    if entries.complete and lost_everything(query):
        raise unreadable_error(completion, f"none of its {len(query.dropped)} queries is one")
    return Parsed(QuestionImap(query.found, constraint.found), query.dropped + constraint.dropped, entries.complete)


def parse_inform(completion: str, *, asked: Sequence[str] = ()) -> Parsed[tuple[Pair, ...]]:
    """Read the pairs of an answer: an object with "inform", the list itself, or lines.

    Args:
        completion: What the model wrote.
        asked: Terms that were asked for: a line's term may hold the hyphen that divides it from the value.

    Raises:
        ExtractionError: The completion cannot be read (kinds of `find_json_object`).
    """
    entries = _parse_entries(completion, "inform", terms=asked)
    if isinstance(entries, LineEntries):
        if not entries.inform and (entries.query or entries.constraint):
            raise unreadable_error(completion, "it holds no lines of an answer")
        inform = clean_entries(entries.inform)
    else:
        inform = clean_entries(_list_pair_entries(entries.record["inform"]))
    if entries.complete and lost_everything(inform):
        raise unreadable_error(completion, f"none of its {len(inform.dropped)} entries is a pair")
    return Parsed(inform.found, inform.dropped, entries.complete)


def find_json_object(completion: str, key: str) -> Mapping[str, Any]:
    """Return the one object with that key; a list that is all there is counts as the key's value.

    An empty list alone does not: that nothing was found is said in the form that was asked for, or not at all.

    Raises:
        ExtractionError: There is none (kind "unreadable-completion"), or there are several that differ, or a key has
            two contents that differ (kind "different-objects").
    """
    return _find_object(strip_reasoning(completion), key, completion)


def find_json_objects(text: str, completion: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the outermost JSON objects in a text, each with its start and end.

    Raises:
        ExtractionError: There are too many openings that lead to none, or a key has two contents that differ.
    """
    false_starts = 0
    opening = _OPENING.search(text)
    while opening:
        try:
            found, end = _DECODER.raw_decode(text, opening.start())
        except _DuplicateKeyError as error:
            raise unreadable_error(completion, str(error), kind="different-objects") from None
        except (ValueError, RecursionError):
            end = opening.end()
            false_starts += 1
            if false_starts > _MAX_FALSE_STARTS:
                raise unreadable_error(
                    completion, f"more than {_MAX_FALSE_STARTS} objects begin in it and do not end"
                ) from None
        else:
            yield opening.start(), end, cast("dict[str, Any]", found)
        opening = _OPENING.search(text, end)


def unreadable_error(completion: str, why: str, *, kind: str = "unreadable-completion") -> ExtractionError:
    """Return the error that says why a completion cannot be read, and holds it."""
    return ExtractionError(
        f"the model's completion cannot be read: {why}. "
        "A model that follows JSON schemas, or a stronger one, does better.",
        kind=kind,
        raw=completion,
    )


def strip_reasoning(completion: str) -> str:
    """Return the completion without thinking blocks."""
    # Some chat templates begin the thought in the prompt, so that only its end is in the completion.
    return _THOUGHT_END.split(_THOUGHT.sub("", completion))[-1]


def _list_query_entries(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of a query: from names, from {"term", "value"} or from {name: value}, which may not be empty."""
    if isinstance(items, dict):
        items = list(cast("dict[str, Any]", items)) or [None]
    for item in cast("list[Any]", items) if isinstance(items, list) else [items]:
        term = cast("dict[str, Any]", item).get("term") if isinstance(item, dict) else item
        yield term, QUERY_VALUE


def _list_pair_entries(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of a list of {"term", "values"} or {"term", "value"}, or of {term: values}.

    That there are none only a list says, whose groups have terms: `{"facts": []}` is something else.
    """
    if isinstance(items, dict) and "term" not in items:
        groups = cast("dict[str, Any]", items)
        items = [{"term": term, "values": value} for term, value in groups.items()] if any(groups.values()) else [None]
    for item in cast("list[Any]", items if isinstance(items, list) else [items]):
        if not isinstance(item, dict):
            yield None, item
            continue
        record = _fold_keys(cast("dict[str, Any]", item))
        term, values = record.get("term"), record.get("values", record.get("value", [None]))
        if not isinstance(term, str) or len(term) > MAX_RAW_TERM_CHARACTERS:
            # Once, however many values it has: what is wrong is the term.
            yield term, values
            continue
        for value in cast("list[Any]", values) if isinstance(values, list) else [values]:
            yield term, value


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object with the key that was looked for."""

    record: Mapping[str, Any]
    complete: bool = True


def _parse_entries(completion: str, key: str, *, terms: Sequence[str] = ()) -> _Object | LineEntries:
    """Return the object with that key, the lines where there is none, or what there is of an object that breaks off."""
    body = strip_reasoning(completion)
    try:
        return _Object(_find_object(body, key, completion))
    except ExtractionError as error:
        if error.kind == "different-objects":
            raise
        if found := line_format.parse_lines(body, terms=terms):
            return found
        part = _parse_truncated(body)
        if isinstance(part, list):
            return _Object({key: part}, complete=False)
        if isinstance(part, dict) and key in (record := _fold_keys(cast("dict[str, Any]", part))):
            return _Object(record, complete=False)
        raise


def _find_object(body: str, key: str, completion: str) -> Mapping[str, Any]:
    for text in (*_FENCE.findall(body), body):
        whole = _decode(text)
        if isinstance(whole, list) and whole:
            return {key: whole}
        fitting = [record for *_, found in find_json_objects(text, completion) if key in (record := _fold_keys(found))]
        if any(record != fitting[0] for record in fitting):
            why = f"it holds {len(fitting)} different objects with {key!r}"
            raise unreadable_error(completion, why, kind="different-objects")
        if fitting:
            return fitting[0]
    raise unreadable_error(completion, f"it holds no JSON object with {key!r}")


def _parse_truncated(text: str) -> Any:
    """Return the value that begins at the first bracket, as far as it goes; None where it does not break off."""
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
    # Cut back to the last place from which only brackets are missing.
    for end, missing in reversed(ends):
        found = _decode(text[first:end] + missing)
        if found is not None:
            return found
    return None


def _fold_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name.casefold(): value for name, value in record.items()}


class _DuplicateKeyError(ValueError):
    """A key stands twice in an object, with contents that differ: the last would hide the others."""


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these members.

    Raises:
        _DoubledKeyError: Two of them are called the same, in whatever case, and differ.
    """
    contents: dict[str, Any] = {}
    for name, value in members:
        first = contents.setdefault(name.casefold(), value)
        # NaN, which models write, differs from itself.
        if first is not value and first != value:
            raise _DuplicateKeyError(f"an object has the key {name!r} twice, with contents that differ")
    return dict(members)


_DECODER = json.JSONDecoder(object_pairs_hook=_build_object)


def _decode(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    # Not only malformed JSON: a number of thousands of digits is a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError):
        return None
