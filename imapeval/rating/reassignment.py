"""Reassigning the unrated items of a rater who leaves, and giving disputed answers to an adjudicator."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from imapeval.errors import UsageError
from imapeval.rating import schema
from imapeval.rating.administration import check_name, find_rater, issue_link, require_running, revoke_links
from imapeval.rating.database import now
from imapeval.rating.design import insert_spread, insert_together, order_items
from imapeval.rating.setup import make_assignment, record_event
from imapeval.rating.store import COMPLETE, is_stopped

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from imapeval.rating.store import RatingStudy


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The outcome of a reassignment or adjudication.

    Attributes:
        given: Number of items by rater ("seat N" if nobody has been invited to it).
        open: Number of items without a rater, because everybody who could take them has had the answer.
        secret: Secret of a new rater's link; None if there is no new rater.
    """

    given: dict[str, int]
    open: int
    secret: str | None = None


def reassign(study: RatingStudy, name: str, *, to: str | None = None) -> HandedOver:
    """Take the unrated items from a rater who leaves, and give them to others.

    Ratings stay and count. The link is revoked. No rater gets an answer twice.

    Args:
        study: The study.
        name: The rater who leaves.
        to: A new or existing rater who gets all items; somebody new takes part only if there are any. With None, each
            goes to the rater with the fewest unrated items.

    Raises:
        UsageError: There is no such rater, both are the same, an adjudicator is to be replaced by a rater, or a rater
            leaves a study that has been stopped.
        ResourceError: The study is damaged.
    """
    raters, assignments = schema.raters, schema.assignments
    with _write(study) as connection:
        leaver = find_rater(connection, name)
        if name == to:
            raise UsageError(f"{name!r} cannot take over from {name!r}. Name somebody else with --to.")
        role = connection.scalar(sa.select(raters.c.role).where(raters.c.id == leaver))
        if role == "rater":
            require_running(connection)
        elif to is not None:
            raise UsageError(
                f"{name!r} is an adjudicator. Leave out --to, and then run imapeval rate adjudicate STUDY with another "
                "--by NAME."
            )
        # Whoever saves an entry holds the row's lock: after this, every entry is either seen or refused.
        mine = assignments.c.rater == leaver, assignments.c.slot.is_not(None)
        connection.execute(sa.select(assignments.c.token).where(*mine).with_for_update()).all()
        rows = connection.execute(sa.select(assignments).where(*mine, ~COMPLETE)).all()
        # After the end (only adjudicators leave then), nobody can give ratings that have no rater.
        unassigned = sa.select(assignments).where(assignments.c.rater.is_(None))
        waiting = () if is_stopped(connection) else connection.execute(unassigned).all()
        freed = [row for row in rows if row.kind == "rating"]
        if rows:
            tokens = [row.token for row in rows]
            connection.execute(assignments.update().where(assignments.c.token.in_(tokens)).values(slot=None))
        places = [(row.answer, row.slot) for row in (*freed, *waiting)]
        if waiting:
            tokens = [row.token for row in waiting]
            connection.execute(assignments.delete().where(assignments.c.token.in_(tokens)))
        connection.execute(raters.update().where(raters.c.id == leaver).values(left_at=now()))
        revoke_links(connection, leaver)
        secret = None
        if to is None:
            active = raters.c.role == "rater", raters.c.left_at.is_(None)
            takers = list(connection.scalars(sa.select(raters.c.id).where(*active).order_by(raters.c.id)))
        else:
            taker = _find(connection, to, role="rater")
            # A new rater without any answer would have the checks alone, and the study would wait for them.
            if taker is None and places:
                taker, secret = _add(connection, to, role="rater", like=leaver)
            takers = [] if taker is None else [taker]
        given = _distribute(study, connection, places, takers)
        answers = {
            row.id: row.name for row in connection.execute(sa.select(schema.answers.c.id, schema.answers.c.name))
        }
        seats: dict[int | None, str] = {
            row.id: row.name or f"seat {row.id}" for row in connection.execute(sa.select(raters.c.id, raters.c.name))
        }
        record_event(
            connection,
            "reassigned",
            rater=leaver,
            items=[
                {"answer": answers[answer], "to": seats.get(taker)} for taker, own in given.items() for answer in own
            ],
            withdrawn=[{"answer": answers[row.answer], "kind": row.kind} for row in rows if row.kind != "rating"],
        )
        counts = {seats[taker]: len(own) for taker, own in given.items() if taker is not None}
        return HandedOver(counts, len(given.get(None, ())), secret)


def adjudicate(study: RatingStudy, answers: Sequence[str], *, by: str) -> HandedOver:
    """Give disputed answers to an adjudicator, who sees the ratings of the others without their names.

    This is possible after the study has been stopped as well.

    Args:
        study: The study.
        answers: Ids of answers; those already given to an adjudicator are skipped.
        by: A new name, or that of an adjudicator; raters of the study cannot adjudicate.

    Raises:
        UsageError: The name is a rater's, or an answer is unknown.
        ResourceError: The study is damaged.
    """
    raters, assignments = schema.raters, schema.assignments
    with _write(study) as connection:
        role = connection.scalar(sa.select(raters.c.role).where(raters.c.name == by))
        if role == "rater":
            raise UsageError(f"{by!r} rates in this study. Let somebody else settle its disputes, with --by NAME.")
        adjudicator, secret = _find(connection, by, role="adjudicator"), None
        if adjudicator is None:
            adjudicator, secret = _add(connection, by, role="adjudicator")
        numbers = {
            name: (id_, question)
            for id_, name, question in connection.execute(
                sa.select(schema.answers.c.id, schema.answers.c.name, schema.answers.c.question_number).where(
                    schema.answers.c.purpose == "rating"
                )
            )
        }
        for name in answers:
            if name not in numbers:
                raise UsageError(f"there is no answer {name[:60]!r} in this study.")
        # Not those whose adjudicator has left.
        given = assignments.c.kind == "adjudication", assignments.c.slot.is_not(None)
        taken = set(connection.scalars(sa.select(assignments.c.answer).where(*given)))
        wanted = {numbers[name] for name in answers if numbers[name][0] not in taken}
        questions = dict(sorted(wanted))
        own = sa.select(sa.func.max(assignments.c.position)).where(assignments.c.rater == adjudicator)
        last = int(connection.scalar(own) or 0)
        rng = random.Random(f"{study.settings.seed}/adjudication/{adjudicator}/{last}")
        ordered = order_items(list(questions), questions, rng=rng, together=study.settings.side_by_side)
        if ordered:
            connection.execute(
                assignments.insert(),
                [
                    make_assignment(("adjudication", answer), rater=adjudicator, slot=0, position=place)
                    for place, answer in enumerate(ordered, last + 1)
                ],
            )
        names = {id_: name for name, (id_, _) in numbers.items()}
        record_event(connection, "adjudication", rater=adjudicator, items=[names[answer] for answer in ordered])
        return HandedOver({by: len(ordered)}, 0, secret)


@contextmanager
def _write(study: RatingStudy) -> Generator[sa.Connection]:
    try:
        with study.database.write() as connection:
            yield connection
    except IntegrityError as error:
        raise study.database.damaged(error.orig) from error


def _find(connection: sa.Connection, name: str, *, role: str) -> int | None:
    """Return a rater or adjudicator; None if the name is new.

    Raises:
        UsageError: The person has left or has another role, or nobody can have this name.
    """
    raters = schema.raters
    found = connection.execute(sa.select(raters).where(raters.c.name == name)).one_or_none()
    if found is None:
        check_name(connection, name)
        return None
    if found.left_at is not None:
        raise UsageError(f"{name!r} has left the study. Name somebody else.")
    if found.role != role:
        raise UsageError(f"{name!r} takes part as {found.role}. Name somebody else.")
    return found.id


def _add(connection: sa.Connection, name: str, *, role: str, like: int | None = None) -> tuple[int, str]:
    """Return a new rater or adjudicator, with the training and hidden items of `like`, and a secret."""
    raters, assignments = schema.raters, schema.assignments
    rater = int(connection.scalar(sa.select(sa.func.max(raters.c.id))) or 0) + 1
    sees = connection.scalar(sa.select(raters.c.sees_facts).where(raters.c.id == like))
    connection.execute(raters.insert().values(id=rater, name=name, role=role, sees_facts=bool(sees)))
    own = ("training", "gold", "attention")
    copied = connection.execute(sa.select(assignments).where(assignments.c.rater == like, assignments.c.kind.in_(own)))
    rows = [
        make_assignment((row.kind, row.answer), rater=rater, slot=rater, position=row.position) for row in copied.all()
    ]
    if rows:
        connection.execute(assignments.insert(), rows)
    record_event(connection, "added", rater=rater, name=name, role=role)
    return rater, issue_link(connection, rater)


def _distribute(
    study: RatingStudy, connection: sa.Connection, places: Iterable[tuple[int, int]], takers: Sequence[int]
) -> dict[int | None, list[int]]:
    """Give each (answer, slot) to the taker with the fewest unrated items who has not had the answer.

    Returns:
        Answers by taker; by None those that every taker has had.
    """
    assignments = schema.assignments
    known = {
        (rater, answer)
        for rater, answer in connection.execute(
            sa.select(assignments.c.rater, assignments.c.answer).where(assignments.c.kind == "rating")
        )
    }
    left: dict[int, int] = dict.fromkeys(takers, 0)
    for rater, count in connection.execute(
        sa.select(assignments.c.rater, sa.func.count())
        .where(assignments.c.slot.is_not(None), ~COMPLETE)
        .group_by(assignments.c.rater)
    ):
        if rater in left:
            left[rater] = count
    new: dict[int | None, list[tuple[int, int]]] = {}
    for answer, slot in places:
        free = [rater for rater in takers if (rater, answer) not in known]
        taker = min(free, key=lambda rater: (left[rater], rater), default=None)
        new.setdefault(taker, []).append((answer, slot))
        if taker is not None:
            left[taker] += 1
            known.add((taker, answer))
    for taker, given in new.items():
        rows = [make_assignment(("rating", answer), rater=taker, slot=slot, position=0) for answer, slot in given]
        connection.execute(assignments.insert(), rows)
        if taker is not None:
            _insert_at_random(study, connection, taker, rows)
    return {taker: [answer for answer, _ in given] for taker, given in new.items()}


def _insert_at_random(
    study: RatingStudy, connection: sa.Connection, rater: int, rows: Sequence[dict[str, Any]]
) -> None:
    """Put new items at random places among those that a rater has not rated yet."""
    assignments, answers = schema.assignments, schema.answers
    query = (
        sa.select(assignments.c.token, answers.c.question_number, COMPLETE.label("done"), assignments.c.position)
        .join(answers, answers.c.id == assignments.c.answer)
        .where(assignments.c.rater == rater, assignments.c.slot.is_not(None), assignments.c.kind != "training")
        .order_by(assignments.c.position)
    )
    found = connection.execute(query).all()
    new = {row["token"] for row in rows}
    question = {row.token: row.question_number for row in found}
    done = [row.token for row in found if row.done]
    before = [row.token for row in found if not row.done and row.token not in new]
    rng = random.Random(f"{study.settings.seed}/order/{rater}/{len(found)}")
    together = study.settings.side_by_side
    fresh = order_items(sorted(new), question, rng=rng, together=together)
    if together:
        ordered = insert_together([*done, *before], fresh, question, rng=rng, start=len(done))
    else:
        base, extra = (before, fresh) if len(before) >= len(fresh) else (fresh, before)
        ordered = [*done, *insert_spread(base, extra, question, rng=rng)]
    start = min((row.position for row in found if row.position > 0), default=1)
    connection.execute(
        assignments.update().where(assignments.c.token == sa.bindparam("item")).values(position=sa.bindparam("place")),
        [{"item": token, "place": place} for place, token in enumerate(ordered, start)],
    )
