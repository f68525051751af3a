"""What a model wrote as terms and values, divided into pairs and the rest. Pure.

Whatever the form of a completion, its entries come through here: cleaned of a list's punctuation, fillers and
duplicates left out, and everything left out reported with its reason.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from imapeval.types import Pair

if TYPE_CHECKING:
    from collections.abc import Iterable

QUERY_VALUE = "?"
"""The value of a query pair."""

MAX_PAIR_CHARACTERS = 200
"""Longest term or value. The longest of 1,573 values that a strong model extracted from medical answers has 88."""

MAX_RAW_TERM_CHARACTERS = 2 * MAX_PAIR_CHARACTERS
"""Characters of a term with all of its white space. Thousands of values may stand with it, each a pair of its own."""

_FILLERS = frozenset(
    (
        *("not specified", "not mentioned", "not stated", "not given", "not provided", "not available"),
        *("not applicable", "unspecified", "unknown", "n/a", "none", "null", "nil"),
        *("无", "暂无", "未知", "不详", "不明", "不适用", "未提及", "未提到", "没有提到", "未说明", "未指定", "未给出"),
        "未提供",
    )
)
"""What models write where there is nothing to write."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")

DropReason = Literal[
    "no pair", "empty", "filler", "too long", "duplicate", "not asked", "not in the text", "copied from the question"
]
"""Why something in a completion is not used. The last three are given by who knows the text (`grounding`)."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dropped:
    """Something in a completion that is not used, as JSON, and why."""

    item: str
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """What a completion says.

    Attributes:
        found: What can be used.
        dropped: What was left out.
        whole: Whether the completion reached its end; what is missing from one that did not, nobody can say.
    """

    found: T
    dropped: tuple[Dropped, ...] = ()
    complete: bool = True


def clean_entries(items: Iterable[tuple[Any, Any]]) -> Parsed[tuple[Pair, ...]]:
    """Divide (term, value) entries, of whatever types, into pairs and the rest."""
    kept: dict[Pair, None] = {}
    dropped: list[Dropped] = []
    for item in items:
        pair = _read_pair(*item)
        if isinstance(pair, Pair) and pair in kept:
            pair = "duplicate"
        if isinstance(pair, Pair):
            kept[pair] = None
        else:
            dropped.append(make_dropped(item, pair))
    return Parsed(tuple(kept), tuple(dropped))


def make_dropped(item: Any, reason: DropReason) -> Dropped:
    """Return the note that something is left out."""
    return Dropped(_replace_surrogates(json.dumps(item, ensure_ascii=False)), reason)


def lost_everything(parsed: Parsed[tuple[Pair, ...]]) -> bool:
    """Say whether nothing was kept although something was said: "no facts" would be a wrong score.

    Fillers say that there is nothing, and a duplicate is kept as its twin.
    """
    return not parsed.found and any(dropped.reason not in ("empty", "filler") for dropped in parsed.dropped)


def _read_pair(term: Any, value: Any) -> Pair | DropReason:
    """Return the pair, or why it is none."""
    if isinstance(term, str) and len(term) > MAX_RAW_TERM_CHARACTERS:
        return "too long"
    if not (isinstance(term, str) and _is_plain(value)):
        return "no pair"
    pair = Pair(_clean(term), _clean(str(value)))
    if not any(map(str.isalnum, pair.term)) or not (pair.value == QUERY_VALUE or any(map(str.isalnum, pair.value))):
        return "empty"
    if not _FILLERS.isdisjoint(text.casefold().strip(" ()[]（）") for text in (pair.term, pair.value)):
        return "filler"
    if max(len(pair.term), len(pair.value)) > MAX_PAIR_CHARACTERS:
        return "too long"
    return pair


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _clean(text: str) -> str:
    """Return the text on one line without the punctuation of a list or sentence around it."""
    return " ".join(_replace_surrogates(text).split()).strip(" ;；,，、。").removesuffix(".")


def _replace_surrogates(text: str) -> str:
    """Return the text without broken surrogates, which can stand in JSON but in no file."""
    return _SURROGATE.sub("\ufffd", text)
