"""Parse completions into pairs. Pure; lenient about the wrapping, strict about the content.

Code fences, prose around the JSON, reasoning blocks, other structures of the same content and the line format are
accepted, whatever was requested. Entries that cannot be pairs are dropped and reported; of a truncated completion the
first part is parsed, and marked as incomplete. A completion that cannot be parsed is an error, not an empty imap, which
would be a score. So nothing is lenient where nothing was found: the whole completion must then be the requested form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from imapeval.errors import ExtractionError
from imapeval.extraction import line_format
from imapeval.extraction.entries import MAX_RAW_TERM_CHARACTERS, QUERY_VALUE, Parsed, all_entries_dropped, clean_entries
from imapeval.extraction.line_format import LineEntries
from imapeval.llm.structured.json_objects import (
    find_json_object,
    fold_keys,
    parse_truncated_json,
    parse_whole,
    strip_fence,
    strip_reasoning,
    unreadable_error,
)
from imapeval.types import QuestionImap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.types import Pair


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


_SHOWN = 40
"""Maximum number of characters that an error shows of the name of a field."""

_MAX_NAMED = 3
"""Maximum number of fields that an error names."""

QUESTION_SCHEMA: Mapping[str, Any] = QuestionRecord.model_json_schema()
INFORM_SCHEMA: Mapping[str, Any] = InformRecord.model_json_schema()


def parse_question(completion: str) -> Parsed[QuestionImap]:
    """Parse the imap of a question: an object with "query" and "constraint", or lines. Query pairs have the value "?".

    There are no constraints if "constraint" is an empty list or object, or null; anything else has to hold a pair.

    Raises:
        ExtractionError: The completion cannot be parsed (kinds of `find_json_object`).
    """
    entries = _parse_entries(completion, "query")
    if isinstance(entries, LineEntries):
        if entries.inform and not entries.query:
            raise unreadable_error(completion, "it holds no lines of a question")
        query = clean_entries((term, QUERY_VALUE) for term, _ in entries.query)
        constraint = clean_entries(entries.constraint)
    else:
        query = clean_entries(_list_query_entries(entries.found["query"]))
        if entries.complete:
            _require_constraint(entries.found, completion)
        given = entries.found.get("constraint")
        constraint = clean_entries([] if given is None or given == {} else _list_pair_entries(given))
    if entries.complete and not (query.found or constraint.found) and not _states_nothing(completion, QuestionRecord):
        raise unreadable_error(completion, "it has no pair, and is not the requested form without pairs either")
    for parsed, what in ((query, "queries"), (constraint, "constraints")):
        if entries.complete and all_entries_dropped(parsed):
            raise unreadable_error(completion, f"none of its {len(parsed.dropped)} {what} is a valid pair")
    return Parsed(QuestionImap(query.found, constraint.found), query.dropped + constraint.dropped, entries.complete)


def _require_constraint(record: Mapping[str, Any], completion: str) -> None:
    """Refuse a question without "constraint", unless it has nothing but the query.

    Another field may be a damaged "constraint", or the object may have been closed before it.
    """
    if "constraint" in record:
        return
    if others := [name[:_SHOWN] for name in record if name != "query"]:
        why = f"its JSON object has no 'constraint', but {', '.join(map(repr, others[:_MAX_NAMED]))}"
        raise unreadable_error(completion, why)
    if '"constraint"' in strip_reasoning(completion):
        raise unreadable_error(completion, "'constraint' is outside its JSON object")


def parse_inform(completion: str, *, asked: Sequence[str] = ()) -> Parsed[tuple[Pair, ...]]:
    """Parse the pairs of an answer: an object with "inform", the list itself, or lines.

    Args:
        completion: The completion.
        asked: Terms that were asked for; they may contain hyphens, which in a line also separate term and value.

    Raises:
        ExtractionError: The completion cannot be parsed (kinds of `find_json_object`).
    """
    entries = _parse_entries(completion, "inform", terms=asked)
    if isinstance(entries, LineEntries):
        if not entries.inform and (entries.query or entries.constraint):
            raise unreadable_error(completion, "it holds no lines of an answer")
        inform = clean_entries(entries.inform)
    else:
        inform = clean_entries(_list_pair_entries(entries.found["inform"]))
    if (
        entries.complete
        and not inform.found
        and (all_entries_dropped(inform) or not _states_nothing(completion, InformRecord))
    ):
        raise unreadable_error(completion, "it has no pair, and is not the requested form without facts either")
    return Parsed(inform.found, inform.dropped, entries.complete)


def _states_nothing(completion: str, form: type[BaseModel]) -> bool:
    """Return whether a completion, apart from reasoning and a code fence, is the requested form without pairs.

    Anything beside it, such as a sentence or another field, may be a refusal or the report of an error.
    """
    if line_format.has_only_lines(strip_fence(strip_reasoning(completion))):
        return True
    try:
        form.model_validate(parse_whole(completion))
    except ValidationError:
        return False
    return True


def _list_query_entries(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a query: names, {"term", "value"} or {name: "?"}."""
    if isinstance(items, dict):
        # With any other content, such as {"error": "overloaded"}, it is not a query.
        names = cast("dict[str, Any]", items)
        items = [*names] if names and all(value in (QUERY_VALUE, "") for value in names.values()) else [None]
    for item in cast("list[Any]", items) if isinstance(items, list) else [items]:
        term = fold_keys(cast("dict[str, Any]", item)).get("term") if isinstance(item, dict) else item
        yield term, QUERY_VALUE


def _list_pair_entries(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a list of {"term", "values"} or {"term", "value"}, or of {term: values}.

    Only an empty list means that there are none: `{"facts": []}` is something else.
    """
    if isinstance(items, dict) and "term" not in fold_keys(groups := cast("dict[str, Any]", items)):
        items = [{"term": term, "values": value} for term, value in groups.items()] if any(groups.values()) else [None]
    for item in cast("list[Any]", items if isinstance(items, list) else [items]):
        if not isinstance(item, dict):
            yield None, item
            continue
        record = fold_keys(cast("dict[str, Any]", item))
        term, values = record.get("term"), record.get("values", record.get("value", [None]))
        if record.get("value", values) != values:
            # An empty list under one name would hide the values under the other.
            values = [None]
        if not isinstance(term, str) or len(term) > MAX_RAW_TERM_CHARACTERS:
            # Only once, however many values it has: the fault is in the term.
            yield term, values
            continue
        for value in cast("list[Any]", values) if isinstance(values, list) else [values]:
            yield term, value


def _parse_entries(completion: str, key: str, *, terms: Sequence[str] = ()) -> Parsed[Mapping[str, Any]] | LineEntries:
    """Return the object with that key, else the lines, else the beginning of a truncated object."""
    try:
        return Parsed(find_json_object(completion, key))
    except ExtractionError as error:
        if error.kind == "different-objects":
            raise
        body = strip_reasoning(completion)
        if found := line_format.parse_lines(body, terms=terms):
            return found
        part = parse_truncated_json(body)
        if isinstance(part, list):
            return Parsed({key: part}, complete=False)
        if isinstance(part, dict) and key in (record := fold_keys(cast("dict[str, Any]", part))):
            return Parsed(record, complete=False)
        raise
