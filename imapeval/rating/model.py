"""The types of a study of ratings: settings, raters, items, entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from imapeval.errors import ImapEvalError
from imapeval.study.data.scales import RatingScale, is_on_scale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.types import Lang

Kind = Literal["training", "rating", "repeat", "gold", "attention", "adjudication"]
"""The purpose of an item. Raters are shown only whether it is training or adjudication.

- training: shown first, with feedback;
- rating: what the study collects, from `raters_per_answer` raters for each answer;
- repeat: an answer that the rater has rated before, to measure consistency;
- gold: an answer whose correct rating is known;
- attention: an answer whose text instructs the rater how to rate it;
- adjudication: a disputed answer, shown with the ratings that it has.
"""

SpanKind = Literal["wrong", "dangerous", "missing"]


class UnknownItemError(ImapEvalError):
    """There is no such item, or it belongs to another rater; the message does not say which."""


class RatingConflictError(ImapEvalError):
    """A different entry was saved under the same `client_id`."""


UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""Characters that PostgreSQL cannot store; a browser can send them."""


def _require_storable(text: str) -> str:
    if UNSTORABLE.search(text):
        raise ValueError("contains a NUL character or half of a surrogate pair")
    return text


_Text = Annotated[str, AfterValidator(_require_storable)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Dimension(_Strict):
    """A dimension of the ratings, such as accuracy, and its scale.

    Attributes:
        name: Its name.
        low, high: The worst and the best possible rating.
        step: Distance between neighbouring ratings; None if any number between the ends is possible.
    """

    name: str
    low: float
    high: float
    step: float | None = None

    @property
    def scale(self) -> RatingScale:
        """Its scale."""
        return RatingScale(self.low, self.high, self.step)


class StoppingRule(_Strict):
    """When a study may end, stated before its first rating.

    Attributes:
        measure: "answers" (those with all their ratings), "mean", or a statistic of agreement.
        dimension: The dimension that the measure is about; "" with "answers".
        limit: Minimum number of answers, or maximum width of the 95% interval.
    """

    measure: str
    dimension: str = ""
    limit: float = Field(gt=0, allow_inf_nan=False)


class StudySettings(_Strict):
    """Settings fixed when a study is created.

    Attributes:
        title: Shown to raters.
        instructions: Shown to raters; plain text, paragraphs separated by empty lines.
        dimensions: Dimensions of the ratings.
        raters_per_answer: Number of raters of each answer.
        panel: Total number of raters.
        seed: Random seed for blocks, orders and repeats.
        show_reference: Whether raters see the clinicians' answers.
        side_by_side: Whether the answers to one question follow each other; otherwise they are kept apart
            where possible.
        facts: Whether half of the raters see the facts marked in the responses.
        stopping: When the study may end; None if all ratings are collected.
    """

    title: str
    instructions: str = ""
    dimensions: tuple[Dimension, ...] = Field(min_length=1)
    raters_per_answer: int = Field(ge=1)
    panel: int = Field(ge=1)
    seed: int = 0
    show_reference: bool = True
    side_by_side: bool = False
    facts: bool = False
    stopping: StoppingRule | None = None


class Span(_Strict):
    """An error in a response, marked as in ESA or MQM.

    Attributes:
        kind: Kind of error. Wrong and dangerous statements are in the response; missing ones are not.
        start, end: Characters of the response, [start, end), counted in Unicode code points (JavaScript counts UTF-16
            code units: `Array.from(text)`). None for what is missing.
        text: These characters; for what is missing, a description of it.
    """

    kind: SpanKind
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=1)
    text: _Text = Field(min_length=1, max_length=20_000)

    @model_validator(mode="after")
    def _check_place(self) -> Span:
        if (self.kind == "missing") != (self.start is None) or (self.start is None) != (self.end is None):
            raise ValueError("'wrong' and 'dangerous' have start and end, 'missing' has neither")
        return self


class Entry(_Strict):
    """What a rater enters for an item. It is complete once every dimension is rated or marked "cannot judge".

    Attributes:
        client_id: Random id chosen by the client for each change, so that an entry that is sent again is saved once.
        values: Ratings by dimension.
        cannot_judge: Reasons, by dimension that the rater cannot judge.
        comment: The rater's comment.
        confidence: 1 (unsure), 2 or 3 (sure); None if not stated.
        spans: Marked errors.
        seconds: Active time on this item since the previous entry; the times of an item's entries are added up.
    """

    client_id: str = Field(pattern=r"^[A-Za-z0-9_-]{8,64}$")
    values: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(default_factory=dict, max_length=100)
    cannot_judge: dict[str, Annotated[_Text, Field(max_length=1000)]] = Field(default_factory=dict, max_length=100)
    comment: _Text = Field(default="", max_length=10_000)
    confidence: int | None = Field(default=None, ge=1, le=3)
    spans: tuple[Span, ...] = Field(default=(), max_length=200)
    seconds: float = Field(default=0, ge=0, le=86_400, allow_inf_nan=False)

    def find_fault(self, dimensions: tuple[Dimension, ...], response: str) -> str | None:
        """Return what is wrong with the entry for this study and response, as a sentence; None if nothing is."""
        known = {dimension.name: dimension for dimension in dimensions}
        for name in (*self.values, *self.cannot_judge):
            if name not in known:
                return f"There is no dimension {name[:60]!r}."
        for name, value in self.values.items():
            if not is_on_scale(known[name].scale, value):
                return f"{value:g} is not a rating of {name!r}."
            if name in self.cannot_judge:
                return f"{name!r} is both rated and marked 'cannot judge'."
        for span in self.spans:
            if span.start is not None and response[span.start : span.end] != span.text:
                return f"The marked text {span.text[:60]!r} is not at position {span.start}."
        return None

    def is_complete(self, dimensions: tuple[Dimension, ...]) -> bool:
        """Return whether every dimension is rated or cannot be judged."""
        return all(dimension.name in self.values or dimension.name in self.cannot_judge for dimension in dimensions)


@dataclass(frozen=True, slots=True)
class Rater:
    """The person a secret belongs to.

    Attributes:
        id: Number of the rater; 0 for the study's owner.
        name: Name given by the owner; never shown to raters.
        role: What the secret gives access to.
    """

    id: int
    name: str
    role: Literal["rater", "adjudicator", "owner"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that is marked in a response.

    Attributes:
        start, end: Characters of the response, [start, end), in Unicode code points.
        term: Kind of fact.
        value: The fact.
    """

    start: int
    end: int
    term: str
    value: str


@dataclass(frozen=True, slots=True)
class Item:
    """An answer as a rater sees it. It does not reveal the system, the answer's id or the purpose of the item.

    Attributes:
        token: Random name of the item for this rater.
        position: Place in the rater's order, from 1.
        total: Number of the rater's items.
        training: Whether it is practice, with feedback.
        adjudication: Whether the rater settles a dispute between others.
        question, response: The texts.
        references: The clinicians' answers; empty where the study does not show them.
        lang: Language of the texts.
        facts: Marked facts; empty for raters who do not see them.
        entry: The rater's last entry; None if there is none.
        complete: Whether a complete entry is saved.
        earlier: Entries of the raters, whom they do not name; empty except in adjudication.
    """

    token: str
    position: int
    total: int
    training: bool
    adjudication: bool
    question: str
    response: str
    references: tuple[str, ...]
    lang: Lang
    facts: tuple[Fact, ...]
    entry: Entry | None
    complete: bool
    earlier: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback on a training item.

    Attributes:
        expected: Correct ratings by dimension.
        explanation: The owner's explanation, or "".
    """

    expected: Mapping[str, float]
    explanation: str


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved entry.

    Attributes:
        revision: 1 for the first entry of an item, 2 for its first change, and so on.
        complete: Whether this entry is complete.
        repeated: Whether the entry had been saved before.
        feedback: For a complete entry on a training item; otherwise None.
    """

    revision: int
    complete: bool
    repeated: bool
    feedback: Feedback | None


@dataclass(frozen=True, slots=True)
class SavedEntry:
    """A line of an item's history.

    Attributes:
        saved_at: UTC, ISO 8601.
        values: Ratings by dimension.
    """

    saved_at: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Progress:
    """A rater's progress.

    Attributes:
        done, total: Items with a complete entry, and all items.
        training_total: Number of training items.
        open: Positions (from 1) of items without a complete entry.
        stopped: Whether the owner has ended the study, so that raters get no further items.
    """

    done: int
    total: int
    training_total: int
    open: tuple[int, ...]
    stopped: bool
