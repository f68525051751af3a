"""The ratings so far: the last complete entry of every item, as the owner may see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from imapeval.rating import schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.rating.model import Kind


@dataclass(frozen=True, slots=True)
class RatingRecord:
    """The last complete entry of an item.

    Attributes:
        answer: Number of the answer in the study.
        id: The answer's id in the data.
        question_number: Equal for answers to the same question.
        kind: Purpose of the item.
        rater_id: Number of the rater.
        rater: Name of the rater.
        saw_facts: Whether the rater sees marked facts.
        order: Place among the entries of the rater, by the time they were first completed, from 1.
        values: Ratings by dimension.
        cannot_judge: Reasons by dimension.
        comment, confidence, spans: As entered.
        seconds: Active time on the item, all entries together.
        revision: Number of this entry among those of the item.
        saved_at: When this entry was saved: UTC, ISO 8601.
        expected: Correct ratings of training, gold and attention items.
    """

    answer: int
    id: str
    question_number: int
    kind: Kind
    rater_id: int
    rater: str
    saw_facts: bool
    order: int
    values: Mapping[str, float]
    cannot_judge: Mapping[str, str]
    comment: str
    confidence: int | None
    spans: Sequence[Mapping[str, Any]]
    seconds: float
    revision: int
    saved_at: str
    expected: Mapping[str, float]


def read_records(connection: sa.Connection) -> list[RatingRecord]:
    """Return the last complete entry of each item, by rater and in the order of their first completion."""
    assignments, answers, raters, entries = schema.assignments, schema.answers, schema.raters, schema.entries
    times = (
        sa.select(
            entries.c.token,
            sa.func.sum(entries.c.seconds).label("total_seconds"),
            sa.func.min(sa.case((entries.c.complete, entries.c.saved_at))).label("first_saved_at"),
        )
        .group_by(entries.c.token)
        .subquery("times")
    )
    newest = schema.latest
    query = (
        sa.select(
            entries,
            assignments.c.answer,
            assignments.c.kind,
            answers.c.name.label("answer_name"),
            answers.c.question_number,
            answers.c.expected,
            raters.c.name.label("rater_name"),
            raters.c.sees_facts,
            times.c.total_seconds,
        )
        .join(newest, sa.and_(newest.c.token == entries.c.token, newest.c.revision == entries.c.revision))
        .join(assignments, assignments.c.token == entries.c.token)
        .join(answers, answers.c.id == assignments.c.answer)
        .join(raters, raters.c.id == assignments.c.rater)
        .join(times, times.c.token == entries.c.token)
        .where(assignments.c.slot.is_not(None))
        .order_by(entries.c.rater, times.c.first_saved_at, assignments.c.position)
    )
    cells = sa.select(schema.entry_values).join(
        newest,
        sa.and_(newest.c.token == schema.entry_values.c.token, newest.c.revision == schema.entry_values.c.revision),
    )
    values: dict[str, dict[str, float]] = {}
    reasons: dict[str, dict[str, str]] = {}
    for cell in connection.execute(cells):
        if cell.reason is None:
            values.setdefault(cell.token, {})[cell.dimension] = cell.value
        else:
            reasons.setdefault(cell.token, {})[cell.dimension] = cell.reason
    records: list[RatingRecord] = []
    orders: dict[int, int] = {}
    for row in connection.execute(query):
        orders[row.rater] = orders.get(row.rater, 0) + 1
        records.append(
            RatingRecord(
                answer=row.answer,
                id=row.answer_name,
                question_number=row.question_number,
                kind=row.kind,
                rater_id=row.rater,
                rater=row.rater_name,
                saw_facts=row.sees_facts,
                order=orders[row.rater],
                values=values.get(row.token, {}),
                cannot_judge=reasons.get(row.token, {}),
                comment=row.comment,
                confidence=row.confidence,
                spans=row.spans,
                seconds=float(row.total_seconds),
                revision=row.revision,
                saved_at=row.saved_at,
                expected=row.expected,
            )
        )
    return records
