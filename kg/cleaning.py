"""How the names of sources are cleaned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from imapeval.graph.build.grouping import invert_qualifiers
from imapeval.graph.model import Name

if TYPE_CHECKING:
    from imapeval.graph.model import NameKind
    from imapeval.graph.readers.base import Record

MAX_NAME = 80
"""Longer names are descriptions; nobody writes them in an answer."""


def drop_opposites(names: list[Name]) -> list[Name]:
    """Return the names without those that say opposite things of one concept: they are kinds of it.

    DOID gives "acute bronchitis" and "chronic bronchitis" as synonyms of bronchitis, which would make the two the same.
    """
    pairs = {name.text: invert_qualifiers(name.text) for name in names}
    known = {folded for folded, _ in pairs.values()}

    def has_opposite(text: str) -> bool:
        folded, turned = pairs[text]
        return turned != folded and turned in known

    return [name for name in names if name.kind == "name" or not has_opposite(name.text)]


def is_usable(name: str) -> bool:
    """Tell whether a name can occur in an answer: short enough, and no leftover of a classification."""
    return (
        1 < len(name) <= MAX_NAME
        and not re.search(r"\[|\]|\bNOS\b|\bNEC\b|\(disorder\)|\(finding\)|\bobsolete\b|unspecified|: ", name)
        and name.count(",") < 3
    )


def is_chemical_string(name: str) -> bool:
    """Tell whether a substance name is a formula or systematic name rather than a word."""
    has_digit = any(char.isdigit() for char in name)
    return (
        len(name) > 40
        or (has_digit and any(char in name for char in "()[]{}"))
        or bool(re.search(r"\d,\d|\d'|^\d|[a-z]-\d+-[a-z]|^[a-z]-[a-z]|\^|~|;", name, re.IGNORECASE))
    )


def guess_kind(name: str) -> NameKind:
    """Tell whether a name is an abbreviation: "COPD", "HbA1c": short, with more capitals than a word has."""
    letters = re.sub(r"[^A-Za-z]", "", name)
    short = " " not in name and len(name) <= 7 and sum(char.isupper() for char in letters) > 1
    return "abbreviation" if short else "synonym"


def add_name(record: Record, text: str, kind: NameKind = "synonym") -> None:
    """Add an English name of the record's source."""
    record.names.append(Name(text, "en", kind, record.source))
