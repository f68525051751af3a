"""What every reader yields: one concept of one source, before merging."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from imapeval.graph.model import ConceptType, NameKind
    from imapeval.types import Lang

MAX_NAME = 80
"""Longer names are descriptions; nobody writes them in an answer."""


@dataclass(slots=True)
class Entry:
    """One concept of one source.

    Attributes:
        id: A CURIE.
        label: Preferred English name.
        type: What kind of thing it is.
        source: Key of the source in sources.toml.
        parents: Ids of broader concepts, of the same source unless `parent_names` is used.
        parent_names: Names of broader concepts, to be looked up after merging (our own tables).
        names: (text, language, kind).
        same_as: Ids that this source says are the same concept elsewhere.
        type_is_open: Our own tables call it a disease here and a symptom there.
    """

    id: str
    label: str
    type: ConceptType
    source: str
    parents: list[str] = field(default_factory=list[str])
    parent_names: list[str] = field(default_factory=list[str])
    names: list[tuple[str, Lang, NameKind]] = field(default_factory=list)
    same_as: list[str] = field(default_factory=list[str])
    type_is_open: bool = False


# One thing may be typed either way by different sources ("fever"; "endoscopy" is diagnostic and therapeutic).
_FAMILIES: tuple[set[ConceptType], ...] = ({"disease", "symptom"}, {"procedure", "test"}, {"procedure", "lifestyle"})


_PAIRS = (("acute", "chronic"), ("primary", "secondary"), ("upper", "lower"), ("type 1", "type 2"))
_OPPOSITES = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_OPPOSITE = re.compile(rf"\b(?:{'|'.join(_OPPOSITES)})\b")


def are_kin(one: ConceptType, other: ConceptType) -> bool:
    """Tell whether two types are the same or so close that sources type one thing either way."""
    return one == other or any({one, other} <= family for family in _FAMILIES)


def turn_round(name: str) -> str:
    """Return an inverted index entry in its natural order.

    >>> turn_round("Anemia, Aplastic")
    'Aplastic Anemia'
    >>> turn_round("Leukemia, Myeloid, Acute")
    'Acute Myeloid Leukemia'

    Enumerations ("Ear, Nose and Throat") and locants ("1,4-Dioxane") stay as they are.
    """
    if ", " not in name or re.search(r"\b(and|or|with|without|due|not|in|of)\b", name):
        return name
    return " ".join(reversed(name.split(", ")))


def drop_opposites(names: list[tuple[str, Lang, NameKind]]) -> list[tuple[str, Lang, NameKind]]:
    """Return the names without those that say opposite things of one concept: they are kinds of it.

    DOID gives "acute bronchitis" and "chronic bronchitis" as synonyms of bronchitis, which would make the two the same.
    """
    known = {text.lower() for text, *_ in names}

    def has_opposite(text: str) -> bool:
        turned = _OPPOSITE.sub(lambda found: _OPPOSITES[found.group()], text.lower())
        return turned != text.lower() and turned in known

    return [name for name in names if name[2] == "name" or not has_opposite(name[0])]


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
