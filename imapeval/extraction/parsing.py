"""Completions of a model read as pairs. Pure; lenient with the wrapping, strict with the content.

Code fences, prose around the JSON, thinking blocks and other shapes of the same content are read. What cannot be a
pair is left out and reported. What cannot be read at all is an error, never an empty imap: an empty imap is a score.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from imapeval.errors import ExtractionError
from imapeval.types import Pair, QuestionImap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ASKED = "?"
"""The value of a query pair."""

MAX_CHARACTERS = 200
"""Longest term or value. The longest of 1,573 values that a strong model extracted from medical answers has 88."""

_FILLERS = frozenset(
    (
        *("not specified", "not mentioned", "not stated", "not given", "not provided", "not available"),
        *("not applicable", "unspecified", "unknown", "n/a", "none", "null", "nil"),
        *(
            "无",
            "暂无",
            "未知",
            "不详",
            "不明",
            "不适用",
            "未提及",
            "未提到",
            "没有提到",
            "未说明",
            "未指定",
            "未给出",
            "未提供",
        ),
    )
)
"""What models write where there is nothing to write."""

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)

Reason = Literal["no pair", "empty", "filler", "too long", "duplicate"]
T = TypeVar("T")


class PairRecord(BaseModel):
    """A pair as the model writes it."""

    model_config = ConfigDict(extra="forbid")

    term: str
    value: str


class QuestionRecord(BaseModel):
    """A question's imap as the model writes it."""

    model_config = ConfigDict(extra="forbid")

    query: list[str]
    constraint: list[PairRecord]


class InformRecord(BaseModel):
    """An answer's pairs as the model writes them."""

    model_config = ConfigDict(extra="forbid")

    inform: list[PairRecord]


QUESTION_SCHEMA: Mapping[str, Any] = QuestionRecord.model_json_schema()
INFORM_SCHEMA: Mapping[str, Any] = InformRecord.model_json_schema()


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something in a completion that is not used, as JSON, and why."""

    item: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What a completion says, and what was left out of it."""

    found: T
    dropped: tuple[Dropped, ...]


def parse_question(completion: str) -> Parsed[QuestionImap]:
    """Read the imap of a question: an object with "query" and "constraint". Query pairs have the value "?".

    Raises:
        ExtractionError: The completion cannot be read (kind "unreadable-completion").
    """
    record = _find_object(completion, "query")
    query = _sift(_queries(record["query"]))
    constraint = _sift(_pairs(record.get("constraint", [])))
    _require_facts(query, completion)
    return Parsed(QuestionImap(query.found, constraint.found), query.dropped + constraint.dropped)


def parse_inform(completion: str) -> Parsed[tuple[Pair, ...]]:
    """Read the pairs of an answer: an object with "inform", or the list itself.

    Raises:
        ExtractionError: The completion cannot be read (kind "unreadable-completion").
    """
    inform = _sift(_pairs(_find_object(completion, "inform")["inform"]))
    _require_facts(inform, completion)
    return inform


def _require_facts(parsed: Parsed[tuple[Pair, ...]], completion: str) -> None:
    """Raise where nothing was kept although something was said: "no facts" would be a wrong score."""
    if not parsed.found and any(dropped.reason in ("no pair", "too long") for dropped in parsed.dropped):
        raise _unreadable(completion, f"none of its {len(parsed.dropped)} entries is a pair")


def _sift(items: Iterable[tuple[Any, Any]]) -> Parsed[tuple[Pair, ...]]:
    """Divide what a model wrote as terms and values into pairs and the rest."""
    kept: dict[Pair, None] = {}
    dropped: list[Dropped] = []
    for item in items:
        pair = _read_pair(*item)
        if isinstance(pair, Pair) and pair in kept:
            pair = "duplicate"
        if isinstance(pair, Pair):
            kept[pair] = None
        else:
            dropped.append(Dropped(_mend(json.dumps(item, ensure_ascii=False)), pair))
    return Parsed(tuple(kept), tuple(dropped))


def _read_pair(term: Any, value: Any) -> Pair | Reason:
    """Return the pair, or why it is none."""
    if not (isinstance(term, str) and _is_plain(value)):
        return "no pair"
    pair = Pair(_clean(term), _clean(str(value)))
    if not any(map(str.isalnum, pair.term)) or not (pair.value == ASKED or any(map(str.isalnum, pair.value))):
        return "empty"
    if not _FILLERS.isdisjoint(text.casefold().strip(" ()[]（）") for text in (pair.term, pair.value)):
        return "filler"
    if max(len(pair.term), len(pair.value)) > MAX_CHARACTERS:
        return "too long"
    return pair


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _clean(text: str) -> str:
    """Return the text on one line without the punctuation of a list or sentence around it."""
    return " ".join(_mend(text).split()).strip(" ;；,，、。").removesuffix(".")


def _mend(text: str) -> str:
    """Return the text without broken surrogates, which can stand in JSON but in no file."""
    return text.encode("utf-8", "replace").decode()


def _queries(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of a query: from names, from {"term", "value"} or from {name: value}."""
    if isinstance(items, dict):
        items = list(cast("dict[str, Any]", items))
    for item in cast("list[Any]", items) if isinstance(items, list) else [items]:
        term = cast("dict[str, Any]", item).get("term") if isinstance(item, dict) else item
        yield term, ASKED


def _pairs(items: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of a list of {"term", "value"} or of {term: value}; a value may be a list of values."""
    if isinstance(items, dict) and "term" not in items:
        items = [{"term": term, "value": value} for term, value in cast("dict[str, Any]", items).items()]
    for item in cast("list[Any]", items if isinstance(items, list) else [items]):
        if not isinstance(item, dict):
            yield None, item
            continue
        record = cast("dict[str, Any]", item)
        values = record.get("value")
        for value in cast("list[Any]", values) if isinstance(values, list) else [values]:
            yield record.get("term"), value


def _find_object(completion: str, key: str) -> Mapping[str, Any]:
    """Return the one object with that key; a list that is all there is counts as the key's value.

    Raises:
        ExtractionError: There is none, or there are several that differ.
    """
    body = _THOUGHT.sub("", completion)
    # Some chat templates begin the thought in the prompt, so that only its end is in the completion.
    body = _THOUGHT_END.split(body)[-1]
    for text in (*_FENCE.findall(body), body):
        whole = _decode(text)
        if isinstance(whole, list):
            return {key: whole}
        fitting = [record for record in map(_fold_keys, _objects(text)) if key in record]
        if any(record != fitting[0] for record in fitting):
            raise _unreadable(completion, f"it holds {len(fitting)} different objects with {key!r}")
        if fitting:
            return fitting[0]
    raise _unreadable(completion, f"it holds no JSON object with {key!r}")


def _fold_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name.casefold(): value for name, value in record.items()}


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    # Not only malformed JSON: a number of thousands of digits is a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        end = start + 1
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            yield cast("dict[str, Any]", found)
        start = text.find("{", end)


def _unreadable(completion: str, why: str) -> ExtractionError:
    return ExtractionError(
        f"the model's completion cannot be read: {why}. "
        "A model that follows JSON schemas, or a stronger one, does better.",
        kind="unreadable-completion",
        raw=completion,
    )
