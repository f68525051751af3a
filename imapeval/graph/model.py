"""Types of the knowledge graph: concepts, names, and links from values to concepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from imapeval.types import Lang

ConceptType = Literal[
    "disease",
    "symptom",
    "drug",
    "procedure",
    "test",
    "body_part",
    "department",
    "organism",
    "lifestyle",
    "factor",
    "other",
]
NameKind = Literal["name", "synonym", "abbreviation", "brand", "lay"]
Scope = Literal["exact", "narrow", "broad", "related"]


class Name(NamedTuple):
    """One wording of a concept in one language.

    Attributes:
        text: The name as the source writes it.
        lang: Its language.
        kind: What sort of name it is.
        source: Key of the source that has the name, such as "doid".
        scope: Meaning relative to the concept, as in OBO: exact, narrower, broader or merely related.
    """

    text: str
    lang: Lang
    kind: NameKind
    source: str
    scope: Scope = "exact"


class NameRow(NamedTuple):
    """A name as looked up by its row id.

    Attributes:
        text: The name as the source writes it.
        norm: Its normal form.
        concept: Id of its concept.
        lang: Its language.
    """

    text: str
    norm: str
    concept: str
    lang: Lang


@dataclass(frozen=True, slots=True)
class Concept:
    """A node of the graph.

    Attributes:
        id: A CURIE such as "DOID:255" or "imap:ibuprofen".
        label: The preferred English name.
        parents: Ids of the broader concepts (is-a).
        wholes: Ids of the concepts it is a part of; never mixed with is-a.
        aliases: Ids that other sources use for it.
    """

    id: str
    label: str
    type: ConceptType
    parents: tuple[str, ...]
    wholes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


LinkKind = Literal["exact", "brackets", "core", "mention", "treatment", "index", "kind"]


@dataclass(frozen=True, slots=True)
class Link:
    """A value tied to a concept, with the evidence.

    Attributes:
        concept: Id of the concept.
        name: The name that was found, as the graph writes it or in normal form.
        how: How the value relates to the concept, and how that was found:
            "exact": the concept itself; the value is one of its names;
            "brackets": the concept itself; its name is outside or inside the brackets of the value;
            "core": the concept itself; its name remains after removing words that do not change the meaning;
            "mention": the concept itself; its name is a part of the value, and the rest of the value is compared by its
                wording;
            "index": the concept itself; its name is the nearest one and close enough (misspellings, variants);
            "treatment": a treatment with the concept, which is a drug or a class of drugs;
            "kind": an unnamed kind of the concept, whose name is the head of the value or precedes narrowing brackets.
        score: Confidence in 0..1: 1 for a value that is a name, a little less if words were removed from it; for
            "index" the similarity of a misspelling, else the probability (`Candidate.score`); for the head of a value
            the share of its characters that the name covers.
        runner_up: The next best concept's id and score, or None.
    """

    concept: str
    name: str
    how: LinkKind
    score: float
    runner_up: tuple[str, float] | None = None
