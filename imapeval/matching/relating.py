"""What a language model is asked about the facts of two answers, and its completions read as relations. Pure.

The facts of each answer are numbered from 1, and the model writes `{"relations": [{"reference": 1, "response": 2,
"why": "...", "relation": "exact"}]}`: what it does not list is unmatched. The wrapping may differ (see
`imapeval.llm.structured.json_objects`), the content may not: an entry that names no listed facts is left out and
reported, and a pair of which it says no one relation keeps none. Where no entry names listed facts and a relation the
completion is unreadable, for "nothing is related" is a judgement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict

from imapeval.llm.structured.json_objects import find_json_object, unreadable_error
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.types import Pair

_RELATIONS_KEY = "relations"
_RELATIONS = {relation.value: relation for relation in Relation}

MAX_WORDS = 300
"""Characters of the model's words on a pair that are kept."""


class RelationRecord(BaseModel):
    """How two facts relate as the model writes it: the reason first, so that the relation follows from it."""

    model_config = ConfigDict(extra="forbid")

    reference: int
    response: int
    why: str
    relation: Literal["exact", "belonging", "containment", "contradiction"]


class RelationsRecord(BaseModel):
    """What the model writes of two lists of facts."""

    model_config = ConfigDict(extra="forbid")

    relations: list[RelationRecord]


RELATIONS_SCHEMA: Mapping[str, Any] = RelationsRecord.model_json_schema()


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """What the model says of one pair of facts: the relation, and why, which may be empty."""

    relation: Relation
    why: str


@dataclass(frozen=True, slots=True)
class RelationReply:
    """What a completion says, by the numbers of the reference's and the response's fact.

    Attributes:
        verdicts: The pairs with a relation; those that are not here are unmatched.
        unclear: Pairs of which it says no one relation, with its words: several, or one that is no relation.
        dropped: Entries that name no listed facts, as JSON.
    """

    verdicts: Mapping[tuple[int, int], ModelVerdict]
    unclear: Mapping[tuple[int, int], tuple[str, ...]]
    dropped: tuple[str, ...]


def list_facts(pairs: Sequence[Pair]) -> str:
    """Write facts as the prompt shows them: numbered from 1, each on one line behind its term."""
    return "\n".join(
        f"{number}. {_join_lines(pair.term)}: {_join_lines(pair.value)}" for number, pair in enumerate(pairs, 1)
    )


def parse_relations(completion: str, *, references: int, responses: int) -> RelationReply:
    """Read how so many facts of a reference relate to so many of a response.

    Raises:
        ExtractionError: The completion cannot be read (kinds of `find_json_object`).
    """
    entries = find_json_object(completion, _RELATIONS_KEY)[_RELATIONS_KEY]
    if not isinstance(entries, (list, dict)):
        raise unreadable_error(completion, f"{_RELATIONS_KEY!r} is no list")
    said: dict[tuple[int, int], dict[str, str]] = {}
    dropped: list[str] = []
    items = cast("list[Any]", entries if isinstance(entries, list) else [entries])
    for entry in items:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        reference, response = (_read_number(fields.get(side)) for side in ("reference", "response"))
        if reference is None or response is None or not (1 <= reference <= references and 1 <= response <= responses):
            dropped.append(json.dumps(entry))
        else:
            word = _clean_words(fields.get("relation")).casefold()
            said.setdefault((reference, response), {}).setdefault(word, _clean_words(fields.get("why")))
    if items and not any(word in _RELATIONS for words in said.values() for word in words):
        raise unreadable_error(completion, f"none of its {len(items)} entries names listed facts and a relation")
    verdicts: dict[tuple[int, int], ModelVerdict] = {}
    unclear: dict[tuple[int, int], tuple[str, ...]] = {}
    for pair, words in said.items():
        word, *others = words
        if others or word not in _RELATIONS:
            unclear[pair] = tuple(words)
        else:
            verdicts[pair] = ModelVerdict(_RELATIONS[word], words[word])
    return RelationReply(verdicts, unclear, tuple(dropped))


def _join_lines(text: str) -> str:
    """Return a text on one line: a line break in a fact must not look like the next fact."""
    return " ".join(text.split())


def _read_number(value: Any) -> int | None:
    if isinstance(value, str):
        # Long runs of digits are no number of a fact, and int() refuses them.
        return int(value) if value.isascii() and value.isdigit() and len(value) < 5 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _clean_words(value: Any) -> str:
    # Broken surrogates can stand in JSON but in no file.
    return " ".join(value.encode("utf-8", "replace").decode().split())[:MAX_WORDS] if isinstance(value, str) else ""
