"""The words of imapeval as types: sample, pair, imap, relation, match, score, failure.

Frozen and free of behaviour beyond what follows from their fields, so that every layer can share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Lang = Literal["en", "zh"]
Decider = Literal["text", "graph", "llm", "encoder", "recorded"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a dialogue: "user" is who asks, "assistant" who answers."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer to be scored.

    Attributes:
        id: Unique within a file.
        question: What was asked. Of a dialogue: all turns before the response, each with its speaker.
        references: The clinicians' answers; the best-matching one counts. May be empty: then there are imaps of
            question and response, but no score that needs a reference.
        response: The generated answer under evaluation. Of a dialogue: its last turn.
        lang: Language of the texts, "en" or "zh".
        system: Who generated the response; "" where nobody said.
        ratings: What people gave, by dimension, such as {"accuracy": 4.5}.
        meta: Every other column of the input, untouched.
        turns: The dialogue that `question` and `response` were made of; empty where there was none.
    """

    id: str
    question: str
    references: tuple[str, ...]
    response: str
    lang: Lang = "en"
    system: str = ""
    ratings: Mapping[str, float] = field(default_factory=dict[str, float])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A term and a value, such as ("treatment", "surgical drainage").

    Attributes:
        term: What kind of fact it is. In the query component the value is "?".
        value: The fact.
        span: Where the value stands in the text it was read from, as 0-based character offsets
            [start, end), or None where it is not a literal quotation. A value completed by the word that governs
            its list ("avoid coffee" in "avoid alcohol, coffee") has the place of its own words ("coffee").
    """

    term: str
    value: str
    span: tuple[int, int] | None = None


def values_by_term(pairs: Sequence[Pair]) -> dict[str, tuple[str, ...]]:
    """Group values by term. The values of a term are a set: an exact duplicate counts once."""
    terms: dict[str, dict[str, None]] = {}
    for pair in pairs:
        terms.setdefault(pair.term, {})[pair.value] = None
    return {term: tuple(values) for term, values in terms.items()}


class Relation(StrEnum):
    """How a reference value relates to a response value, best first (Wang et al. 2024, section 3.3)."""

    EXACT = "exact"
    """Both mean the same."""
    BELONGING = "belonging"
    """The reference value is a kind or part of the response value: the response is more general."""
    CONTAINMENT = "containment"
    """The response value is a kind or part of the reference value: the response is more specific."""
    UNMATCHED = "unmatched"
    """Neither."""


@dataclass(frozen=True, slots=True)
class KnownRelation:
    """A relation that came with an imap from elsewhere and is used as it is."""

    term: str
    reference: str
    response: str
    relation: Relation


@dataclass(frozen=True, slots=True)
class QuestionImap:
    """What a question says.

    Attributes:
        query: What is asked; values are "?".
        constraint: What is given.
        stability: How far repeated readings agreed, in 0..1; None where there was one reading only.
    """

    query: tuple[Pair, ...]
    constraint: tuple[Pair, ...]
    stability: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerImap:
    """What an answer says.

    Attributes:
        inform: Its facts.
        stability: As of a `QuestionImap`.
    """

    inform: tuple[Pair, ...]
    stability: float | None = None


@dataclass(frozen=True, slots=True)
class Imap:
    """What question, one reference and response say, as pairs.

    Attributes:
        query: What is asked.
        constraint: What is given.
        reference: Inform pairs of the reference.
        response: Inform pairs of the response.
        reference_index: Which of the sample's references was read, 0-based.
        relations: Relations recorded together with the pairs; None where matching has still to be done.
            Where given, every pair not listed is unmatched.
        stability: How far repeated readings agreed, in 0..1: the mean over question, reference and response; None where
            there was one reading only.
    """

    query: tuple[Pair, ...]
    constraint: tuple[Pair, ...]
    reference: tuple[Pair, ...]
    response: tuple[Pair, ...]
    reference_index: int = 0
    relations: tuple[KnownRelation, ...] | None = None
    stability: float | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """One judged pair of values of one term.

    Attributes:
        term: The term that both values belong to.
        reference: The reference's value.
        response: The response's value.
        relation: Of the reference value to the response value.
        similarity: Similarity of the two values in 0..1 (encoder cosine, clipped at 0).
        decided_by: Who decided the relation.
        evidence: Why, in a form that can be written as JSON.
    """

    term: str
    reference: str
    response: str
    relation: Relation
    similarity: float
    decided_by: Decider
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)


@dataclass(frozen=True, slots=True)
class Score:
    """A finite number and its parts.

    Raises:
        ValueError: The value or a part is not finite. "Undefined" is a `Failure`, never NaN.
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        for name, number in (("value", self.value), *self.parts.items()):
            if not math.isfinite(number):
                raise ValueError(f"score {name} is {number}; an undefined score is a Failure")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no score.

    Attributes:
        stage: "extraction", "llm", "matching" or "metric".
        kind: Short machine-readable name, such as "no-query".
        message: For people: what happened and what can be done.
        raw: The raw text that could not be used, where there is one.
    """

    stage: str
    kind: str
    message: str
    raw: str | None = None


Outcome = Score | Failure
