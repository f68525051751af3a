"""The words of imapeval as types: sample, pair, imap, relation, match, score, failure.

Frozen and free of behaviour beyond what follows from their fields, so that every layer can share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from imapeval.redaction import make_printable, redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Lang = Literal["en", "zh"]
Decider = Literal["text", "graph", "llm", "encoder", "recorded"]
Polarity = Literal["affirmed", "denied"]
Certainty = Literal["certain", "possible", "unlikely"]


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
        references: The clinicians' answers; of several, the scores beside each are joined as the run's `references`
            says (`imapeval.evaluation.combine`). May be empty: then there are imaps of question and response, but no score that
            needs a reference.
        response: The generated answer under evaluation. Of a dialogue: its last turn. "" where there is none.
        lang: Language of the texts, "en" or "zh".
        system: Who generated the response; "" where nobody said.
        ratings: What people gave, by dimension, such as {"accuracy": 4.5}.
        meta: Every other column of the input, untouched.
        turns: The dialogue that `question` and `response` were made of; empty where there was none.
        answered: Whether there is a response, be it an empty one. Where there is none, no metric scores the sample.
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
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Pair:
    """A term and a value, such as ("treatment", "surgical drainage").

    Attributes:
        term: What kind of fact it is. In the query component the value is "?".
        value: The fact.
        span: Where the value stands in the text it was read from, as 0-based character offsets
            [start, end), or None where it is not a literal quotation. A value completed by the word that governs
            its list ("avoid coffee" in "avoid alcohol, coffee") has the place of its own words ("coffee").
        polarity: "denied" where the value denies something or advises against it: "no fever", "avoid coffee". The
            value has the words for it all the same, so that it can be read on its own.
        certainty: How sure the text is of it.
        condition: Under which condition alone it holds, as written: "if kidneys are healthy". "" for none.
        amounts: Doses, durations, ages and other amounts in it, as written.
    """

    term: str
    value: str
    span: tuple[int, int] | None = None
    polarity: Polarity = "affirmed"
    certainty: Certainty = "certain"
    condition: str = ""
    amounts: tuple[str, ...] = ()


def values_by_term(pairs: Sequence[Pair]) -> dict[str, tuple[str, ...]]:
    """Group values by term. The values of a term are a set: an exact duplicate counts once."""
    terms: dict[str, dict[str, None]] = {}
    for pair in pairs:
        terms.setdefault(pair.term, {})[pair.value] = None
    return {term: tuple(values) for term, values in terms.items()}


class Relation(StrEnum):
    """How a reference value relates to a response value, best first.

    The first four are those of Wang et al. 2024, section 3.3, which takes contradictions for unmatched.
    """

    EXACT = "exact"
    """Both mean the same."""
    BELONGING = "belonging"
    """The reference value is a kind or part of the response value: the response is more general."""
    CONTAINMENT = "containment"
    """The response value is a kind or part of the reference value: the response is more specific."""
    UNMATCHED = "unmatched"
    """None of these."""
    CONTRADICTION = "contradiction"
    """Both speak of the same thing and cannot both hold: opposite polarity, another amount, another side."""


@dataclass(frozen=True, slots=True)
class KnownRelation:
    """A relation that came with an imap from elsewhere and is used as it is; `other_term` as of a `Match`."""

    term: str
    reference: str
    response: str
    relation: Relation
    other_term: str = ""


@dataclass(frozen=True, slots=True)
class QuestionImap:
    """What a question says.

    Attributes:
        query: What is asked; values are "?".
        constraint: What is given.
    """

    query: tuple[Pair, ...]
    constraint: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class AnswerImap:
    """What an answer says.

    Attributes:
        inform: Its facts.
    """

    inform: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Imap:
    """What question, one reference and response say, as pairs.

    Attributes:
        query: What is asked.
        constraint: What is given.
        reference: Inform pairs of the reference.
        response: Inform pairs of the response.
        reference_index: Which of the sample's references was read, 0-based.
        reading: Which of several readings of the same texts this is, 0-based.
        relations: Relations recorded together with the pairs; None where matching has still to be done.
            Where given, every pair not listed is unmatched.
    """

    query: tuple[Pair, ...]
    constraint: tuple[Pair, ...]
    reference: tuple[Pair, ...]
    response: tuple[Pair, ...]
    reference_index: int = 0
    reading: int = 0
    relations: tuple[KnownRelation, ...] | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """One judged pair of values of one term.

    Attributes:
        term: The term of the reference's value, and as a rule of the response's.
        reference: The reference's value.
        response: The response's value.
        relation: Of the reference value to the response value.
        similarity: Similarity of the two values in 0..1 (encoder cosine, clipped at 0).
        decided_by: Who decided the relation.
        evidence: Why, in a form that can be written as JSON.
        other_term: The response value's term where that is another one: the answers may give one fact under two
            headings. "" where it is the same.
    """

    term: str
    reference: str
    response: str
    relation: Relation
    similarity: float
    decided_by: Decider
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any], compare=False)
    other_term: str = ""

    @property
    def response_term(self) -> str:
        """The term of the response's value."""
        return self.other_term or self.term


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


MAX_RAW_CHARACTERS = 20_000
"""Most characters of a failure's raw text. A completion of 2,048 tokens has some 8,000; a broken server may send
anything."""

_CUT = " [cut]"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no score. Secrets in its texts are hidden from the start.

    Attributes:
        stage: "sample" where the sample is at fault whatever the metric; else "extraction", "llm", "matching" or
            "metric".
        kind: Short machine-readable name, such as "no-query".
        message: For people: what happened and what can be done.
        raw: The beginning of the raw text that could not be used, where there is one.
    """

    stage: str
    kind: str
    message: str
    raw: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", make_printable(redact(self.message)))
        if self.raw is not None:
            # What is redacted is longer than what is kept, so that no half of a secret is left.
            raw = redact(self.raw[: 2 * MAX_RAW_CHARACTERS])
            object.__setattr__(
                self, "raw", raw if len(raw) <= MAX_RAW_CHARACTERS else raw[: MAX_RAW_CHARACTERS - len(_CUT)] + _CUT
            )


Outcome = Score | Failure
