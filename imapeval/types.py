"""The data types that every layer shares: sample, pair, imap, relation, match, score, failure.

Frozen dataclasses without behaviour beyond what follows from their fields.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Literal

from annotated_types import Gt, Le

from imapeval.redaction import hide_logins, redact, redact_message

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

Lang = Literal["en", "zh", "fr", "other"]
"""Languages that texts may be in; `imapeval.text.language.FACT_LANGS` says which of them facts are read in. "other" is
any language whose words stand between spaces, such as German; nothing is known of it but that."""

Decider = Literal["text", "graph", "fact-model", "encoder", "llm", "recorded"]
Polarity = Literal["affirmed", "denied"]
Certainty = Literal["certain", "possible", "unlikely"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a dialogue: the user asks, the assistant answers."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer to score.

    Attributes:
        id: Unique within a file.
        question: What was asked. For a dialogue, all turns before the response, each with its speaker.
        references: The clinicians' answers. The scores against several are combined as the run's `references` says
            (`imapeval.evaluation.combine`). If there are none, imaps have question and response only, and metrics that
            need a reference give no score.
        response: The generated answer under evaluation; for a dialogue its last turn. "" if there is none.
        lang: Language of the texts.
        system: The system that generated the response; "" if unknown.
        ratings: Human ratings by dimension, such as {"accuracy": 4.5}.
        meta: Every other column of the input, unchanged.
        turns: The dialogue that `question` and `response` were taken from; empty if there is none.
        answered: Whether there is a response, which may be empty. A sample without one is not scored.
        fault: Why the data of the sample cannot be read; None if they can. A sample with a fault is not scored, and has
            what could be read.
        numbered: Whether the id is the number of the row, because the data have no ids.
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
    fault: Failure | None = None
    numbered: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """A term and a value, such as ("treatment", "surgical drainage").

    Attributes:
        term: What kind of fact it is. In the query component the value is "?".
        value: The fact.
        span: Position of the value in the text that it was extracted from, as 0-based character offsets [start, end);
            None if it is not a literal quotation. A value completed by the word that governs its list ("avoid coffee"
            in "avoid alcohol, coffee") has the position of its own words ("coffee").
        polarity: "denied" if the value denies something or advises against it: "no fever", "avoid coffee". The value
            still includes the words that say so, and can be read on its own.
        certainty: How certain the text is of the fact.
        condition: The condition under which alone the fact holds, as written: "if kidneys are healthy"; "" for none.
        amounts: Doses, durations, ages and other amounts in the value, as written.
        importance: How much the fact matters to the question, greater than 0 and at most 1: its weight in the score.
    """

    term: str
    value: str
    span: tuple[int, int] | None = None
    polarity: Polarity = "affirmed"
    certainty: Certainty = "certain"
    condition: str = ""
    amounts: tuple[str, ...] = ()
    importance: Annotated[float, Gt(0), Le(1)] = 1.0


def values_by_term(pairs: Sequence[Pair]) -> dict[str, tuple[str, ...]]:
    """Group values by term. The values of a term are a set: an exact duplicate counts once."""
    terms: dict[str, dict[str, None]] = {}
    for pair in pairs:
        terms.setdefault(pair.term, {})[pair.value] = None
    return {term: tuple(values) for term, values in terms.items()}


class Relation(StrEnum):
    """How a reference value relates to a response value, best first.

    The first four are those of Wang et al. 2024, section 3.3, which counts contradictions as unmatched.
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
    """Both are about the same thing and cannot both be true: opposite polarity, different amount, different side."""


@dataclass(frozen=True, slots=True)
class KnownRelation:
    """A relation that was recorded with an imap and is used unchanged; `other_term` and `decided_by` as in `Match`."""

    term: str
    reference: str
    response: str
    relation: Relation
    other_term: str = ""
    decided_by: Decider = "recorded"


@dataclass(frozen=True, slots=True)
class QuestionImap:
    """The facts of a question.

    Attributes:
        query: What is asked; values are "?".
        constraint: What is given.
    """

    query: tuple[Pair, ...]
    constraint: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class AnswerImap:
    """The facts of an answer.

    Attributes:
        inform: The facts.
    """

    inform: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Imap:
    """The facts of a question, one reference and the response, as pairs.

    Attributes:
        query: What is asked.
        constraint: What is given.
        reference: Facts of the reference.
        response: Facts of the response.
        reference_index: 0-based index of the sample's reference.
        reading: 0-based index of the reading, where the texts are read several times.
        relations: Relations recorded with the pairs, in which case pairs that are not listed are unmatched; None if
            matching is still to be done.
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
    """How a value of the reference relates to one of the response.

    Attributes:
        term: The term of the reference's value, and usually of the response's.
        reference: The reference's value.
        response: The response's value.
        relation: The relation of the reference value to the response value.
        similarity: Similarity of the two values in 0..1 (`imapeval.matching.hybrid`).
        decided_by: What decided the relation.
        evidence: Why, as JSON values.
        other_term: The term of the response's value if it differs, since answers may give one fact under two headings;
            else "".
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
    """A finite score and its parts.

    Attributes:
        value: The score.
        parts: What it is made of, and what else was measured.
        repetitions: The scores whose mean it is, if it is one: a row for each reading of the texts, a column for each
            judgement of a reading.

    Raises:
        ValueError: The value or a part is not finite. An undefined score is a `Failure`, never NaN.
    """

    value: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    repetitions: tuple[tuple[float, ...], ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, number in (("value", self.value), *self.parts.items()):
            if not math.isfinite(number):
                raise ValueError(f"score {name} is {number}; an undefined score is a Failure")


def average_repetitions(
    scores: Collection[Score], weights: Sequence[float] | None = None
) -> tuple[tuple[float, ...], ...]:
    """Return the repetitions of the (weighted) mean of several scores; what only some of them have is left out."""
    return tuple(
        tuple(fmean(cells, weights) for cells in zip(*rows, strict=False))
        for rows in zip(*(score.repetitions for score in scores), strict=False)
    )


MAX_RAW_CHARACTERS = 20_000
"""Maximum length of a failure's raw text. A completion of 2,048 tokens has some 8,000 characters, but a broken server
may send anything."""

_CUT = " [cut]"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no score. Secrets in its texts are redacted.

    Attributes:
        stage: "sample" if no metric can score the sample; else "extraction", "llm", "matching", "metric" or "worker".
        kind: Short machine-readable name, such as "no-query".
        message: What happened and what to do about it, for people.
        raw: The beginning of the raw text that could not be used, or None.
    """

    stage: str
    kind: str
    message: str
    raw: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redact_message(self.message))
        if self.raw is not None:
            # Redact more than is kept, so that no half of a secret is left.
            raw = hide_logins(redact(self.raw[: 2 * MAX_RAW_CHARACTERS]))
            object.__setattr__(
                self, "raw", raw if len(raw) <= MAX_RAW_CHARACTERS else raw[: MAX_RAW_CHARACTERS - len(_CUT)] + _CUT
            )

    def to_dict(self) -> dict[str, str]:
        """Return stage, kind and message as JSON values."""
        return {"stage": self.stage, "kind": self.kind, "message": self.message}


Outcome = Score | Failure
