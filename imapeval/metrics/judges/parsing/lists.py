"""Completions that are lists in JSON, read strictly: facts, verdicts, questions, answers. Pure.

Verdicts and scores are read only where the JSON is the whole reply and has no other field, for what stands beside them
may take them back; and so is a list of nothing, which may belong to a refusal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import ExtractionError
from imapeval.llm.structured import faults, json_objects
from imapeval.metrics.judges.parsing.scores import blank_wrapping, read_value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

MAX_QUESTIONS = 10
"""Most questions about one text, as the prompt says; further ones are left out."""

MAX_FACTS = 200
"""Most facts of a list. Forty a page: a list that has more repeats itself in other words."""

MAX_CHARACTERS = 500
"""Longest fact, question or answer, in characters; anything longer is a whole text."""

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


def _object_schema(**properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}

FACTS_SCHEMA: Mapping[str, Any] = _object_schema(facts={"type": "array", "items": _TEXT})
SUPPORT_SCHEMA: Mapping[str, Any] = _object_schema(supported={"type": "boolean"})
QUESTIONS_SCHEMA: Mapping[str, Any] = _object_schema(
    questions={"type": "array", "items": _object_schema(question=_TEXT, answer=_TEXT)}
)
ANSWERS_SCHEMA: Mapping[str, Any] = _object_schema(
    answers={"type": "array", "items": _object_schema(number=_NUMBER, answer=_TEXT)}
)
SCORES_SCHEMA: Mapping[str, Any] = _object_schema(
    scores={"type": "array", "items": _object_schema(number=_NUMBER, score=_NUMBER)}
)


def read_facts(completion: str, *, text: str = "") -> list[str]:
    """Return the facts of a text, each once and in order; none where the list is empty.

    Raises:
        ExtractionError: The completion cannot be read; kinds of `imapeval.llm.structured.faults`.
    """
    facts = dict.fromkeys(_read_text(item, completion) for item in _read_list(completion, "facts"))
    facts.pop("", None)
    if len(facts) > MAX_FACTS:
        raise faults.fault_error("repetition-loop", completion)
    _check_list(completion, "facts", facts, text)
    return list(facts)


def read_support(completion: str) -> bool:
    """Return whether a fact is supported: the object's value, or the only such word that there is.

    Raises:
        ExtractionError: As `read_facts`.
    """
    try:
        said: Any = _find_value(completion, "supported", alone=True)
    except ExtractionError as error:
        said = json_objects.strip_reasoning(completion).strip().strip(".。!！")
        if said.casefold() not in _BOOLEANS:
            raise error from None
    if isinstance(said, bool):
        return said
    if isinstance(said, str) and said.casefold() in _BOOLEANS:
        return _BOOLEANS[said.casefold()]
    raise faults.fault_error("unreadable-completion", completion)


def read_questions(completion: str, *, text: str = "") -> dict[str, str]:
    """Return at most `MAX_QUESTIONS` questions about a text with their answers, without those of which one is empty.

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
    """Return the answers of a text to so many numbered questions; "" where it has none.

    Raises:
        ExtractionError: As `read_facts`; also where a number is missing, or has two answers.
    """
    answers = {
        number: _read_member(fields, "answer", completion)
        for number, fields in _read_numbered(completion, "answers", questions).items()
    }
    if faults.are_refusals(filter(None, answers.values()), source=text):
        raise faults.fault_error("refusal", completion)
    return [answers[number] for number in range(1, questions + 1)]


def read_overlaps(completion: str, *, pairs: int) -> list[float]:
    """Return the scores of so many numbered pairs.

    Raises:
        ExtractionError: As `read_answers`, and kinds of `read_value`.
    """
    numbered = _read_numbered(completion, "scores", pairs, alone=True)
    if any(fields.keys() - {"number", "score"} for fields in numbered.values()):
        raise faults.fault_error("unreadable-completion", completion)
    return [read_value(numbered[number].get("score"), completion) for number in range(1, pairs + 1)]


def _check_list(completion: str, key: str, found: Collection[str], text: str) -> None:
    """Raise an error where a list is a refusal, or nothing is found beside something else than an empty list."""
    if faults.are_refusals(found, source=text):
        raise faults.fault_error("refusal", completion)
    if not found:
        _find_value(completion, key, alone=True)


def _read_numbered(completion: str, key: str, count: int, *, alone: bool = False) -> dict[int, Mapping[str, Any]]:
    """Return the list's entries by their number, all from 1 to the count."""
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
    """Return the value of a key in the completion's JSON; if `alone`, nothing else may be in it or beside it."""
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
    """Return the text under that name, which has to be there: an object without it says something else."""
    if name not in fields:
        raise faults.fault_error("unreadable-completion", completion)
    return _read_text(fields[name], completion)


def _read_text(item: Any, completion: str) -> str:
    """Return a text on one line; "" for null, which models write for nothing."""
    if item is None:
        return ""
    if not isinstance(item, str) or len(item) > MAX_CHARACTERS:
        raise faults.fault_error("unreadable-completion", completion)
    # Broken surrogates can stand in JSON but in no file.
    return " ".join(item.encode("utf-8", "replace").decode().split())
