"""The parts of phrases that list several things, each of which may be affirmed or denied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.text.dimensions.opposites import find_opposites
from imapeval.text.dimensions.table import RESULT, TIME_OF_DAY
from imapeval.text.phrases import parse_phrase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.text.phrases import Phrase

_LIST_SEPARATOR = re.compile(r"[,，、;/]|\b(?:and|or|nor)\b|以及|[或和与及]", re.IGNORECASE)
_PART = re.compile(
    r"[,，;；、]|\b(?:and|but)\b|(?<=\w)\s(?=(?:without|with no)\b)|(?<=[^有])(?=[无没])|但是?"
    r"|\bwith(?= (?:high|low|raised|elevated|normal|reduced|increased|decreased)\b)|(?<=[片粒颗包袋支丸滴次克])(?=[早中晚午睡])",
    re.IGNORECASE,
)
"""What stands between the parts of a list."""
_CONTRAST = re.compile(r"\bbut\b|但", re.IGNORECASE)


def split_list(text: str) -> list[str]:
    """Return the members of a list; empty if there is only one."""
    parts = [part for part in _LIST_SEPARATOR.split(text) if part.strip()]
    return parts if len(parts) > 1 else []


def is_list(phrase: Phrase) -> bool:
    """Return whether a phrase has several parts."""
    return _PART.search(phrase.text) is not None


def split_parts(phrase: Phrase) -> list[Phrase]:
    """Return the parts of a list; none if a denial in the first one governs all: "no fever, cough or pain"."""
    parts = [parse_phrase(part) for text in _PART.split(phrase.text) if (part := text.strip())]
    named = all(part.subject == part.whole and not part.stance.denies for part in parts[1:])
    # "IgM negative, IgG positive" denies the first only.
    governs = parts and parts[0].stance.denies and RESULT not in find_opposites(parts[0].text).sides
    shared = governs and named and not _CONTRAST.search(phrase.text)
    return [] if shared else parts


def divide_by_stance(parts: Sequence[Phrase]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of the parts that affirm, and of those that deny."""
    affirmed, denied = (
        frozenset[str]().union(*(part.words for part in parts if part.stance.denies == denies))
        for denies in (False, True)
    )
    return affirmed, denied


def index_parts(parts: Sequence[Phrase]) -> dict[tuple[frozenset[str], frozenset[int]], Phrase]:
    """Return the parts of a list by what each is about and the time of day; empty if two are about the same."""
    by_subject: dict[tuple[frozenset[str], frozenset[int]], Phrase] = {}
    for part in parts:
        opposites = find_opposites(part.amounts.rest)
        words = frozenset(word for word in parse_phrase(opposites.remainder).words if not word.isdigit())
        by_subject[words, opposites.sides.get(TIME_OF_DAY, frozenset())] = part
    return by_subject if len(by_subject) == len(parts) else {}
