"""Parses completions that are JSON lists: facts, verdicts, questions, answers. Pure.

A verdict or score counts only if the JSON is the whole reply and has no other field, because anything else may take it
back. The same holds for an empty list, which may be part of a refusal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import ExtractionError
from imapeval.llm.structured import faults, json_objects
from imapeval.metrics.judges.client import object_schema
from imapeval.metrics.judges.parsing.scores import blank_wrapping, read_value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_QUESTIONS = 10
"""Maximum number of questions about a text, as in the prompt; further ones are ignored."""

MAX_FACTS = 200
"""Maximum number of facts, forty per page: a longer list repeats itself in other words."""

MAX_CHARACTERS = 500
"""Maximum length of a fact, question or answer in characters; anything longer is a whole text."""

_BOOLEANS = {
    "true": True,
    "yes": True,
    "是": True,
    "支持": True,
    "false": False,
    "no": False,
    "否": False,
    "不支持": False,
}


def _list_schema(name: str, items: Mapping[str, Any]) -> Mapping[str, Any]:
    return object_schema({name: {"type": "array", "items": items}})


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}

FACTS_SCHEMA = _list_schema("facts", _TEXT)
SUPPORT_SCHEMA = object_schema({"supported": {"type": "boolean"}})
QUESTIONS_SCHEMA = _list_schema("questions", object_schema({"question": _TEXT, "answer": _TEXT}))
ANSWERS_SCHEMA = _list_schema("answers", object_schema({"number": _NUMBER, "answer": _TEXT}))
SCORES_SCHEMA = _list_schema("scores", object_schema({"number": _NUMBER, "score": _NUMBER}))


def read_facts(completion: str, *, text: str = "") -> list[str]:
    """Return the facts of a text, each once and in order.

    Raises:
        ExtractionError: The completion is unusable; kinds of `imapeval.llm.structured.faults`.
    """
    facts = dict.fromkeys(_read_text(item, completion) for item in _read_list(completion, "facts"))
    facts.pop("", None)
    if len(facts) > MAX_FACTS:
        raise faults.fault_error("repetition-loop", completion)
    _check_list(completion, "facts", facts, text)
    return list(facts)


def read_support(completion: str) -> bool:
    """Return whether a fact is supported: the value in the object, or a completion of one word such as "yes".

    Raises:
        ExtractionError: As `read_facts`.
    """
    try:
        verdict: Any = _find_value(completion, "supported", alone=True)
    except ExtractionError as error:
        verdict = json_objects.strip_reasoning(completion).strip().strip(".。!！")
        if verdict.casefold() not in _BOOLEANS:
            raise error from None
    if isinstance(verdict, bool):
        return verdict
    if isinstance(verdict, str) and verdict.casefold() in _BOOLEANS:
        return _BOOLEANS[verdict.casefold()]
    raise faults.fault_error("unreadable-completion", completion)


def read_questions(completion: str, *, text: str = "") -> dict[str, str]:
    """Return at most `MAX_QUESTIONS` questions about a text with their answers; pairs with an empty one are skipped.

    Raises:
        ExtractionError: As `read_facts`.
    """
    found: dict[str, str] = {}
    for item in _read_list(completion, "questions"):
        fields = _read_object(item, completion)
        question, answer = (_read_member(fields, name, completion) for name in ("question", "answer"))
        if question and answer:
            found.setdefault(question, answer)
    _check_list(completion, "questions", found, text)
    return dict(list(found.items())[:MAX_QUESTIONS])


def read_answers(completion: str, *, questions: int, text: str = "") -> list[str]:
    """Return the answers to numbered questions; "" if the text has no answer.

    Raises:
        ExtractionError: See `read_facts`; also if a number is missing or has two answers.
    """
    answers = {
        number: _read_member(fields, "answer", completion)
        for number, fields in _read_numbered(completion, "answers", questions).items()
    }
    if faults.are_refusals(filter(None, answers.values()), source=text):
        raise faults.fault_error("refusal", completion)
    return [answers[number] for number in range(1, questions + 1)]


def read_overlaps(completion: str, *, pairs: int) -> list[float]:
    """Return the scores of numbered pairs.

    Raises:
        ExtractionError: See `read_answers` and `read_value`.
    """
    numbered = _read_numbered(completion, "scores", pairs, alone=True)
    if any(fields.keys() - {"number", "score"} for fields in numbered.values()):
        raise faults.fault_error("unreadable-completion", completion)
    return [read_value(numbered[number].get("score"), completion) for number in range(1, pairs + 1)]


def _check_list(completion: str, key: str, found: Collection[str], text: str) -> None:
    """Raise an error if a list consists of refusals, or if it is empty and not the whole reply."""
    if faults.are_refusals(found, source=text):
        raise faults.fault_error("refusal", completion)
    if not found:
        _find_value(completion, key, alone=True)


def _read_numbered(completion: str, key: str, count: int, *, alone: bool = False) -> dict[int, Mapping[str, Any]]:
    """Return the entries of the list by number, with all numbers from 1 to `count`."""
    found: dict[int, Mapping[str, Any]] = {}
    for item in _read_list(completion, key, alone=alone):
        fields = _read_object(item, completion)
        number = fields.get("number")
        if not isinstance(number, int) or isinstance(number, bool) or found.get(number, fields) != fields:
            raise faults.fault_error("unreadable-completion", completion)
        found[number] = fields
    if not set(range(1, count + 1)) <= found.keys():
        raise faults.fault_error("unreadable-completion", completion)
    return found


def _read_list(completion: str, key: str, *, alone: bool = False) -> list[Any]:
    found = _find_value(completion, key, alone=alone)
    if not isinstance(found, list):
        raise faults.fault_error("unreadable-completion", completion)
    return cast("list[Any]", found)


def _find_value(completion: str, key: str, *, alone: bool = False) -> Any:
    """Return the value of a key in the completion's JSON; if `alone`, the reply must have no other content."""
    try:
        found = json_objects.find_json_object(completion, key)[key]
    except ExtractionError as error:
        raise faults.refine_error(error) from None
    if alone:
        try:
            whole = json.loads(blank_wrapping(completion))
        except (ValueError, RecursionError):
            whole = None
        if whole is None or (isinstance(whole, dict) and len(cast("dict[str, Any]", whole)) > 1):
            raise faults.fault_error("unreadable-completion", completion)
    return found


def _read_object(item: Any, completion: str) -> Mapping[str, Any]:
    if not isinstance(item, dict):
        raise faults.fault_error("unreadable-completion", completion)
    return cast("Mapping[str, Any]", item)


def _read_member(fields: Mapping[str, Any], name: str, completion: str) -> str:
    """Return the text of a required field."""
    if name not in fields:
        raise faults.fault_error("unreadable-completion", completion)
    return _read_text(fields[name], completion)


def _read_text(item: Any, completion: str) -> str:
    """Return a text on one line; "" for null, by which models mean that there is none."""
    if item is None:
        return ""
    if not isinstance(item, str) or len(item) > MAX_CHARACTERS:
        raise faults.fault_error("unreadable-completion", completion)
    # JSON may contain lone surrogates, which cannot be written to a file.
    return " ".join(item.encode("utf-8", "replace").decode().split())
