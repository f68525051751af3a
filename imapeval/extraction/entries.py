"""Clean the terms and values of a completion and turn them into pairs. Pure.

The entries of every output format pass through here: list punctuation is stripped, fillers and duplicates are dropped,
and everything dropped is reported with its reason.
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
"""Longest term or value, in characters. The longest of 1,573 values that a strong model extracted from medical answers
has 88."""

MAX_RAW_TERM_CHARACTERS = 2 * MAX_PAIR_CHARACTERS
"""Longest term before cleaning, in characters. A term is repeated in the pair of each of its values, of which it may
have thousands."""

_FILLERS = frozenset(
    (
        *("not specified", "not mentioned", "not stated", "not given", "not provided", "not available"),
        *("not applicable", "unspecified", "unknown", "n/a", "none", "null", "nil"),
        *("无", "暂无", "未知", "不详", "不明", "不适用", "未提及", "未提到", "没有提到", "未说明", "未指定", "未给出"),
        "未提供",
    )
)
"""Values that models write if there is none."""

_EDGES = " ;；,，、。"
"""Punctuation, and spaces, that are stripped from both ends of a term or value."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")

DropReason = Literal[
    "no pair",
    "no term",
    "empty",
    "filler",
    "too long",
    "duplicate",
    "not asked",
    "not in the text",
    "copied from the question",
]
"""Why an entry of a completion is dropped. The last three reasons are found in `selection`."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dropped:
    """An entry of a completion that was dropped, as JSON, and the reason."""

    item: str
    reason: DropReason


@dataclass(frozen=True, slots=True)
class Parsed(Generic[T]):
    """The content of a completion.

    Attributes:
        found: The usable content.
        dropped: The entries that were dropped.
        complete: Whether the completion reached its end. If not, an unknown part is missing.
    """

    found: T
    dropped: tuple[Dropped, ...] = ()
    complete: bool = True


def clean_entries(items: Iterable[tuple[Any, Any]]) -> Parsed[tuple[Pair, ...]]:
    """Turn (term, value) entries of any types into pairs; the rest is dropped."""
    kept: dict[Pair, None] = {}
    dropped: list[Dropped] = []
    for item in items:
        pair = _make_pair(*item)
        if isinstance(pair, Pair) and pair in kept:
            pair = "duplicate"
        if isinstance(pair, Pair):
            kept[pair] = None
        else:
            dropped.append(make_dropped(item, pair))
    return Parsed(tuple(kept), tuple(dropped))


def make_dropped(item: Any, reason: DropReason) -> Dropped:
    """Return the record of a dropped entry."""
    return Dropped(_replace_surrogates(json.dumps(item, ensure_ascii=False)), reason)


def all_entries_dropped(parsed: Parsed[tuple[Pair, ...]]) -> bool:
    """Return whether there were entries but none was kept, so that an empty result would be a wrong score.

    Fillers do not count: they mean that there is nothing.
    """
    return not parsed.found and any(dropped.reason != "filler" for dropped in parsed.dropped)


def _make_pair(term: Any, value: Any) -> Pair | DropReason:
    """Return the pair, or why the entry is not one."""
    if isinstance(term, str) and len(term) > MAX_RAW_TERM_CHARACTERS:
        return "too long"
    if not (isinstance(term, str) and _is_plain(value)):
        return "no pair"
    pair = Pair(_clean(term), _clean(str(value)))
    has_term, has_value = (any(map(str.isalnum, text)) for text in (pair.term, pair.value))
    if has_value and not has_term:
        return "no term"
    if not (has_term and (has_value or pair.value == QUERY_VALUE)):
        return "empty"
    if not _FILLERS.isdisjoint(text.casefold().strip(" ()[]（）") for text in (pair.term, pair.value)):
        return "filler"
    if max(len(pair.term), len(pair.value)) > MAX_PAIR_CHARACTERS:
        return "too long"
    return pair


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _clean(text: str) -> str:
    """Return the text on one line, without surrounding punctuation of a list or sentence."""
    text = " ".join(_replace_surrogates(text).split()).strip(_EDGES)
    return text.removesuffix(".").rstrip(_EDGES)


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can express but files cannot hold."""
    return _SURROGATE.sub("\ufffd", text)
