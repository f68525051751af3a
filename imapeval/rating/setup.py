"""Creating a study: answers, seats for raters, who rates what and in which order."""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imapeval.errors import InputError
from imapeval.rating import schema
from imapeval.rating.database import Database, now
from imapeval.rating.design import assign_blocks, choose_repeats, insert_spread, order_items
from imapeval.rating.model import UNSTORABLE
from imapeval.study.data.scales import describe_scale, is_on_scale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import sqlalchemy as sa

    from imapeval.rating.model import Dimension, Fact, StudySettings
    from imapeval.types import Sample

ItemKey = tuple[str, int]
"""Kind and answer of an item."""


@dataclass(frozen=True, slots=True)
class StudyContent:
    """The answers of a study.

    Attributes:
        samples: The answers to rate.
        training: Answers with correct ratings, for practice; a column `explanation` is shown as feedback.
        gold: Answers with correct ratings, hidden among the others.
        attention: Answers whose text instructs the rater how to rate them, with those ratings.
        repeats: Number of answers that each rater sees a second time.
        facts: Facts to mark in responses, by id of the answer.
    """

    samples: Sequence[Sample]
    training: Sequence[Sample] = ()
    gold: Sequence[Sample] = ()
    attention: Sequence[Sample] = ()
    repeats: int = 0
    facts: Mapping[str, Sequence[Fact]] = field(default_factory=dict[str, "Sequence[Fact]"])


def create_study(place: str, settings: StudySettings, content: StudyContent) -> None:
    """Create a study in a new file, or in an empty PostgreSQL database.

    Raises:
        UsageError: The file exists, the database is not empty, or the settings contradict each other.
        InputError: A training, gold or attention item has no correct rating, or one that is not on its scale.
    """
    answers = _list_answers(settings, content)
    assignments = _assign(settings, content, answers)
    # Half of the raters, so that the influence of marked facts can be measured.
    seeing = set(random.Random(f"{settings.seed}/facts").sample(range(1, settings.panel + 1), settings.panel // 2))
    database = Database(place, create=True)
    try:
        with database.write() as connection:
            schema.create(connection, raters_per_answer=settings.raters_per_answer)
            connection.execute(
                schema.study.insert().values(
                    id=1, format=schema.FORMAT, settings=settings.model_dump(mode="json"), created_at=now()
                )
            )
            connection.execute(
                schema.dimensions.insert(),
                [one.model_dump() | {"position": place} for place, one in enumerate(settings.dimensions)],
            )
            connection.execute(schema.answers.insert(), answers)
            connection.execute(
                schema.raters.insert(),
                [
                    {"id": seat, "name": None, "role": "rater", "sees_facts": settings.facts and seat in seeing}
                    for seat in range(1, settings.panel + 1)
                ],
            )
            connection.execute(schema.assignments.insert(), assignments)
            record_event(connection, "made", answers=len(content.samples), seed=settings.seed)
    except BaseException:
        database.discard()
        raise
    finally:
        database.close()


def record_event(connection: sa.Connection, kind: str, **detail: Any) -> None:
    """Log an action of the owner."""
    connection.execute(schema.events.insert().values(id=secrets.token_hex(16), at=now(), kind=kind, detail=detail))


def make_assignment(key: ItemKey, *, rater: int | None, slot: int, position: int) -> dict[str, Any]:
    """Return a row of the table, with a random token."""
    kind, answer = key
    return {
        "token": secrets.token_urlsafe(12),
        "answer": answer,
        "kind": kind,
        "slot": slot,
        "rater": rater,
        "position": position,
    }


def order_for_rater(
    rated: Sequence[int],
    extra: Sequence[int],
    question: Mapping[int, int],
    *,
    settings: StudySettings,
    rater: int,
    repeats: int,
) -> list[ItemKey]:
    """Return the order of a rater's items after the training.

    Args:
        rated: Answers to rate.
        extra: Gold and attention items, as answers with their own numbers.
        question: The question of each answer.
        settings: Settings of the study.
        rater: Number of the rater.
        repeats: Number of answers that are shown again, in the last third.

    Returns:
        Items as (kind, answer); those of `extra` have the kind "extra".
    """
    rng = random.Random(f"{settings.seed}/order/{rater}")
    of = {("rating", answer): question[answer] for answer in rated}
    of |= {("extra", answer): question[answer] for answer in extra}
    ordered = order_items(
        [("rating", answer) for answer in rated],
        of,
        rng=rng,
        together=settings.side_by_side,
    )
    again = [("repeat", answer) for _, answer in choose_repeats(ordered, repeats, rng=rng)]
    of |= {key: question[key[1]] for key in again}
    ordered = insert_spread(ordered, again, of, rng=rng, start=2 / 3)
    hidden = [("extra", answer) for answer in rng.sample(list(extra), len(extra))]
    return insert_spread(ordered, hidden, of, rng=rng)


def _assign(
    settings: StudySettings, content: StudyContent, answers: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    purpose = {row["id"]: row["purpose"] for row in answers}
    question = {row["id"]: row["question_number"] for row in answers}
    numbers = {kind: [id_ for id_, one in purpose.items() if one == kind] for kind in set(purpose.values())}
    blocks = assign_blocks(
        [sample.system for sample in content.samples],
        panel=settings.panel,
        raters_per_answer=settings.raters_per_answer,
        seed=settings.seed,
    )
    slots = {
        (answer, seat + 1): slot
        for answer, block in zip(numbers["rating"], blocks, strict=True)
        for slot, seat in enumerate(block)
    }
    practice = numbers.get("training", [])
    training = random.Random(f"{settings.seed}/training").sample(practice, len(practice))
    rows: list[dict[str, Any]] = []
    for rater in range(1, settings.panel + 1):
        items: list[ItemKey] = [("training", answer) for answer in training]
        items += [
            (purpose[answer] if kind == "extra" else kind, answer)
            for kind, answer in order_for_rater(
                [answer for answer, one in slots if one == rater],
                [*numbers.get("gold", ()), *numbers.get("attention", ())],
                question,
                settings=settings,
                rater=rater,
                repeats=content.repeats,
            )
        ]
        rows += [
            make_assignment(
                key, rater=rater, slot=slots[key[1], rater] if key[0] == "rating" else rater, position=place
            )
            for place, key in enumerate(items, 1)
        ]
    return rows


def _list_answers(settings: StudySettings, content: StudyContent) -> list[dict[str, Any]]:
    questions: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for purpose, samples in (
        ("rating", content.samples),
        ("training", content.training),
        ("gold", content.gold),
        ("attention", content.attention),
    ):
        for sample in samples:
            expected = {} if purpose == "rating" else _read_expected(sample, settings.dimensions, purpose=purpose)
            explanation = sample.meta.get("explanation")
            rows.append(
                {
                    "id": len(rows) + 1,
                    "name": _clean(sample.id),
                    "purpose": purpose,
                    "system": _clean(sample.system),
                    "question_number": questions.setdefault(sample.question, len(questions)),
                    "question": _clean(sample.question),
                    "response": _clean(sample.response),
                    "reference_texts": [_clean(text) for text in sample.references],
                    "lang": sample.lang,
                    "facts": [
                        {"start": fact.start, "end": fact.end, "term": _clean(fact.term), "value": _clean(fact.value)}
                        for fact in content.facts.get(sample.id, ())
                    ]
                    if purpose == "rating"
                    else [],
                    "expected": expected,
                    "explanation": _clean(explanation) if isinstance(explanation, str) else "",
                }
            )
    return rows


def _read_expected(sample: Sample, dimensions: Sequence[Dimension], *, purpose: str) -> dict[str, float]:
    expected = {one.name: sample.ratings[one.name] for one in dimensions if one.name in sample.ratings}
    if not expected:
        raise InputError(
            f"the {purpose} item {sample.id[:60]!r} has no correct rating",
            fix=f"Give it in a column such as ratings.{dimensions[0].name}.",
        )
    for one in dimensions:
        if one.name in expected and not is_on_scale(one.scale, expected[one.name]):
            raise InputError(
                f"the {purpose} item {sample.id[:60]!r} has the rating {one.name!r} {expected[one.name]:g}, and its "
                f"scale is {describe_scale(one.scale)}",
                fix="Correct it.",
            )
    return expected


def _clean(text: str) -> str:
    """Return the text with characters that PostgreSQL cannot store replaced one by one, so that positions stay."""
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
