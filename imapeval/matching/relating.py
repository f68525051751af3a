"""What a language model is asked about open pairs of values, and its completions read as relations. Pure.

Pairs are numbered from 1, and the model writes `{"relations": [{"pair": 1, "why": "...", "relation": "exact"}]}`: what
it does not list is unmatched. The wrapping may differ (see `imapeval.extraction.parsing`), the content may not: an
entry that names no listed pair is left out and reported, and a pair of which it says no one relation keeps none. Where
no entry names a listed pair and a relation the completion is unreadable, for "nothing is related" is a judgement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import BaseModel, ConfigDict

from imapeval.extraction.parsing import find_object, unreadable
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.types import Match

_KEY = "relations"
_RELATIONS = {relation.value: relation for relation in Relation}

MAX_WORDS = 300
"""Characters of the model's words on a pair that are kept."""


class RelationRecord(BaseModel):
    """The relation of one pair as the model writes it: the reason first, so that the relation follows from it."""

    model_config = ConfigDict(extra="forbid")

    pair: int
    why: str
    relation: Literal["exact", "belonging", "containment", "unmatched"]


class RelationsRecord(BaseModel):
    """What the model writes of a list of pairs."""

    model_config = ConfigDict(extra="forbid")

    relations: list[RelationRecord]


RELATIONS_SCHEMA: Mapping[str, Any] = RelationsRecord.model_json_schema()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the model says of one pair: the relation, and why, which may be empty."""

    relation: Relation
    why: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a completion says.

    Attributes:
        verdicts: By the pair's number; a pair that is not here is unmatched.
        unclear: Pairs of which it says no one relation, with its words: several, or one that is no relation.
        dropped: Entries that name no listed pair, as JSON.
    """

    verdicts: Mapping[int, Verdict]
    unclear: Mapping[int, tuple[str, ...]]
    dropped: tuple[str, ...]


def list_pairs(matches: Sequence[Match]) -> str:
    """Write pairs as the prompt shows them: numbered from 1, below their terms, every text quoted as in JSON."""
    lines: list[str] = []
    for term, of_term in groupby(enumerate(matches, 1), key=lambda numbered: numbered[1].term):
        lines.append(f"term {_quote(term)}")
        lines += [f"{n}. reference {_quote(m.reference)}; response {_quote(m.response)}" for n, m in of_term]
    return "\n".join(lines)


def parse_relations(completion: str, *, pairs: int) -> Answer:
    """Read how so many pairs are related.

    Raises:
        ExtractionError: The completion cannot be read (kinds of `find_object`).
    """
    entries = find_object(completion, _KEY)[_KEY]
    if not isinstance(entries, (list, dict)):
        raise unreadable(completion, f"{_KEY!r} is no list")
    said: dict[int, dict[str, str]] = {}
    dropped: list[str] = []
    items = cast("list[Any]", entries if isinstance(entries, list) else [entries])
    for entry in items:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        pair = _read_number(fields.get("pair"))
        if pair is None or not 1 <= pair <= pairs:
            dropped.append(json.dumps(entry))
        else:
            word = _read_words(fields.get("relation")).casefold()
            said.setdefault(pair, {}).setdefault(word, _read_words(fields.get("why")))
    if items and not any(word in _RELATIONS for words in said.values() for word in words):
        raise unreadable(completion, f"none of its {len(items)} entries names a listed pair and a relation")
    verdicts: dict[int, Verdict] = {}
    unclear: dict[int, tuple[str, ...]] = {}
    for pair, words in said.items():
        word, *others = words
        if others or word not in _RELATIONS:
            unclear[pair] = tuple(words)
        else:
            verdicts[pair] = Verdict(_RELATIONS[word], words[word])
    return Answer(verdicts, unclear, tuple(dropped))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _read_number(value: Any) -> int | None:
    if isinstance(value, str):
        # Long runs of digits are no number of a pair, and int() refuses them.
        return int(value) if value.isascii() and value.isdigit() and len(value) < 5 else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _read_words(value: Any) -> str:
    # Broken surrogates can stand in JSON but in no file.
    return " ".join(value.encode("utf-8", "replace").decode().split())[:MAX_WORDS] if isinstance(value, str) else ""
