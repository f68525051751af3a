"""Cleans the names of sources, and finds the nearest ancestors that are kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.graph.build.grouping import invert_qualifiers
from imapeval.graph.model import Name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from imapeval.graph.model import NameKind
    from imapeval.graph.readers.base import Record

MAX_NAME = 80
"""Maximum length of a name; longer ones are descriptions, which answers do not contain."""


def drop_opposites(names: list[Name]) -> list[Name]:
    """Return the names without synonyms that have opposite qualifiers: these are kinds of the concept.

    DOID has "acute bronchitis" and "chronic bronchitis" as synonyms of bronchitis, which would make the two the same.
    """
    pairs = {name.text: invert_qualifiers(name.text) for name in names}
    known = {folded for folded, _ in pairs.values()}

    def has_opposite(text: str) -> bool:
        folded, opposite = pairs[text]
        return opposite != folded and opposite in known

    return [name for name in names if name.kind == "name" or not has_opposite(name.text)]


def is_usable(name: str) -> bool:
    """Return whether a name can occur in an answer: it is short and has no tag of a classification."""
    return (
        1 < len(name) <= MAX_NAME
        and not re.search(r"\[|\]|\bNOS\b|\bNEC\b|\(disorder\)|\(finding\)|\bobsolete\b|unspecified|: ", name)
        and name.count(",") < 3
    )


def is_chemical_string(name: str) -> bool:
    """Return whether a substance name is a formula or systematic name rather than a word."""
    has_digit = any(char.isdigit() for char in name)
    return (
        len(name) > 40
        or (has_digit and any(char in name for char in "()[]{}"))
        or bool(re.search(r"\d,\d|\d'|^\d|[a-z]-\d+-[a-z]|^[a-z]-[a-z]|\^|~|;", name, re.IGNORECASE))
    )


def guess_kind(name: str) -> NameKind:
    """Return "abbreviation" for a short name with several capitals ("COPD", "HbA1c"), else "synonym"."""
    letters = re.sub(r"[^A-Za-z]", "", name)
    short = " " not in name and len(name) <= 7 and sum(char.isupper() for char in letters) > 1
    return "abbreviation" if short else "synonym"


def add_name(record: Record, text: str, kind: NameKind = "synonym") -> None:
    """Add an English name to a record."""
    record.names.append(Name(text, "en", kind, record.source))


def find_nearest(start: str, kept: Collection[str], list_parents: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the kept ancestors of a concept that are reached without passing another kept one, nearest first."""
    queue = list(dict.fromkeys(list_parents(start)))
    seen = set(queue)
    for concept in queue:
        if concept not in kept:
            fresh = [parent for parent in list_parents(concept) if parent not in seen]
            queue += fresh
            seen.update(fresh)
    return [concept for concept in queue if concept in kept]
