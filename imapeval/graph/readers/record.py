"""What a reader yields: what one source says of one concept, before anything is merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from imapeval.graph.model import ConceptType, Name


def is_storable(text: str) -> bool:
    """Tell whether a file can hold a text: not if it has half characters (lone surrogates), as JSON may name them."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _empty_list() -> list[Any]:
    # Not list[str], which takes ten times as long to make an empty list: there are millions of records.
    return []


@dataclass(slots=True)
class Record:
    """What one source, or one line of it, says of one concept.

    Records of one id add up: a file of translations yields names for ids whose is-a edges stand in another file.

    Attributes:
        id: A CURIE such as "DOID:255".
        source: Key of the source, such as "doid"; that of the names as well.
        label: Preferred name in English; "" where this record does not say.
        type: What kind of thing it is; None where this record does not say.
        names: Its names, the label among them.
        parents: Ids of broader concepts.
        parent_names: Names of broader concepts, to be looked up after merging.
        wholes: Ids of what it is a part of.
        xrefs: Ids that the source says are the same concept elsewhere.
    """

    id: str
    source: str
    label: str = ""
    type: ConceptType | None = None
    names: list[Name] = field(default_factory=_empty_list)
    parents: list[str] = field(default_factory=_empty_list)
    parent_names: list[str] = field(default_factory=_empty_list)
    wholes: list[str] = field(default_factory=_empty_list)
    xrefs: list[str] = field(default_factory=_empty_list)
