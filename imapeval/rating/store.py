"""`RatingStudy`: what raters see and enter. Actions of the owner are in `administration`."""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError

from imapeval.errors import ResourceError, UsageError
from imapeval.rating import schema
from imapeval.rating.database import Database, now
from imapeval.rating.model import (
    Entry,
    Fact,
    Feedback,
    Item,
    Progress,
    Rater,
    RatingConflictError,
    Saved,
    SavedEntry,
    StudySettings,
    UnknownItemError,
)

MAX_ENTRIES, MAX_TEXT = 1000, 1 << 20
"""Maximum number of entries of an item, and of characters in all of them, so that no rater can fill the disk."""

OWNER = Rater(0, "owner", "owner")

_IN_ORDER = (sa.case((schema.assignments.c.kind == "training", 0), else_=1), schema.assignments.c.position)
"""Training comes first."""

COMPLETE = sa.exists().where(schema.entries.c.token == schema.assignments.c.token, schema.entries.c.complete)
"""Condition on `assignments`: there is a complete entry."""


class RatingStudy:
    """An open study of ratings. Its methods may be called from several threads; each is one transaction.

    Call `identify` for every request, so that a revoked link stops working. Nothing that the other methods return
    names a system, another rater or the id of an answer.

    Args:
        place: File of the study, or URL of its database.

    Attributes:
        database: The database of the study.
        settings: Settings of the study.

    Raises:
        UsageError: There is no such study.
        ResourceError: The database is not a study, or one of another version.
        MissingExtraError: The extra `rate` is not installed.
    """

    def __init__(self, place: str) -> None:
        self.database = Database(place)
        try:
            self.settings = _read_settings(self.database)
        except BaseException:
            self.database.close()
            raise

    def close(self) -> None:
        """Close the connections to the database."""
        self.database.close()

    def __enter__(self) -> RatingStudy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def identify(self, secret: str) -> Rater | None:
        """Return the person a secret belongs to; None if it is unknown or revoked."""
        links, raters = schema.links, schema.raters
        query = (
            sa.select(links.c.rater, raters.c.name, raters.c.role)
            .select_from(links.outerjoin(raters, raters.c.id == links.c.rater))
            .where(links.c.secret_hash == hash_secret(secret), links.c.revoked_at.is_(None))
        )
        with self.database.read() as connection:
            row = connection.execute(query).one_or_none()
        if row is None:
            return None
        return OWNER if row.rater is None else Rater(row.rater, row.name, row.role)

    def list_links(self) -> frozenset[str]:
        """Return the hashes of all secrets that are valid."""
        query = sa.select(schema.links.c.secret_hash).where(schema.links.c.revoked_at.is_(None))
        with self.database.read() as connection:
            return frozenset(connection.scalars(query))

    def next_item(self, rater: Rater) -> Item | None:
        """Return the first item without a complete entry; None if there is none, or the study is over for the rater.

        Training comes first: no other item is given before all of it is complete.
        """
        with self.database.read() as connection:
            if _is_over(connection, rater):
                return None
            query = sa.select(schema.assignments.c.token).where(*_of_rater(rater), ~COMPLETE).order_by(*_IN_ORDER)
            token = connection.scalar(query.limit(1))
            return None if token is None else self._load_item(connection, rater, token)

    def item_at(self, rater: Rater, position: int) -> Item:
        """Return the item at a position of the rater's order, to go back to it.

        Args:
            rater: The rater.
            position: From 1. Items after the first one that is not complete are not given yet, and none that is not
                complete once the study is over for the rater.

        Raises:
            UnknownItemError: There is no such item, or its turn has not come.
        """
        with self.database.read() as connection:
            tokens = _list_items(connection, rater)
            first_open = next((place for place, (_, done) in enumerate(tokens, 1) if not done), len(tokens))
            if not 1 <= position <= len(tokens) or (
                not tokens[position - 1][1] and (position > first_open or _is_over(connection, rater))
            ):
                raise UnknownItemError(f"there is no item {position}.")
            return self._load_item(connection, rater, tokens[position - 1][0])

    def save(self, rater: Rater, token: str, entry: Entry) -> Saved:
        """Add an entry to an item's history. The last complete one counts.

        When this returns, the entry is on disk. An entry that arrives again (with the same `client_id`) is not added.
        Entries are still accepted after the study has been stopped, for raters who were offline.

        Raises:
            UnknownItemError: The rater has no such item.
            UsageError: The entry does not fit the study or the response, or the item has too many entries.
            RatingConflictError: A different entry was saved under the same `client_id`.
        """
        entries = schema.entries
        with self.database.write() as connection:
            row = _find_item(connection, rater, token, lock=True)
            if fault := entry.find_fault(self.settings.dimensions, row.response):
                raise UsageError(fault)
            complete = entry.is_complete(self.settings.dimensions)
            feedback = _make_feedback(row) if complete and row.kind == "training" else None
            same_id = entries.c.token == token, entries.c.client_id == entry.client_id
            if (before := connection.scalar(sa.select(entries.c.revision).where(*same_id))) is not None:
                if _read_entry(connection, token, before) != entry:
                    raise RatingConflictError("another entry was saved under this client_id. Make a new one.")
                return Saved(before, complete, True, feedback)
            revision = 1 + (_find_last(connection, token) or 0)
            if revision > 1 and _is_overfull(connection, token, revision, entry):
                raise UsageError("this answer has been changed too often. Tell the owner of the study.")
            connection.execute(
                entries.insert().values(
                    token=token,
                    revision=revision,
                    rater=rater.id,
                    client_id=entry.client_id,
                    complete=complete,
                    comment=entry.comment,
                    confidence=entry.confidence,
                    spans=[span.model_dump() for span in entry.spans],
                    seconds=entry.seconds,
                    saved_at=now(),
                )
            )
            values = [{"dimension": name, "value": value, "reason": None} for name, value in entry.values.items()]
            values += [{"dimension": name, "value": None, "reason": why} for name, why in entry.cannot_judge.items()]
            if values:
                connection.execute(
                    schema.entry_values.insert(), [{"token": token, "revision": revision} | value for value in values]
                )
        return Saved(revision, complete, False, feedback)

    def history(self, rater: Rater, token: str) -> tuple[SavedEntry, ...]:
        """Return all entries of an item, oldest first.

        Raises:
            UnknownItemError: The rater has no such item.
        """
        with self.database.read() as connection:
            _find_item(connection, rater, token)
            entries, cells = schema.entries, schema.entry_values
            values: dict[int, dict[str, float]] = {}
            rated = sa.select(cells).where(cells.c.token == token, cells.c.value.is_not(None))
            for cell in connection.execute(rated):
                values.setdefault(cell.revision, {})[cell.dimension] = cell.value
            query = (
                sa.select(entries.c.revision, entries.c.saved_at)
                .where(entries.c.token == token)
                .order_by(entries.c.revision)
            )
            return tuple(
                SavedEntry(saved_at, values.get(revision, {})) for revision, saved_at in connection.execute(query)
            )

    def feedback(self, rater: Rater, token: str) -> Feedback | None:
        """Return the feedback on a training item with a complete entry; None for any other item.

        Raises:
            UnknownItemError: The rater has no such item.
        """
        with self.database.read() as connection:
            row = _find_item(connection, rater, token)
            if row.kind != "training" or _find_last(connection, token, complete=True) is None:
                return None
            return _make_feedback(row)

    def progress(self, rater: Rater) -> Progress:
        """Return the progress of a rater."""
        with self.database.read() as connection:
            kinds = sa.select(schema.assignments.c.kind, COMPLETE.label("done"))
            query = kinds.where(*_of_rater(rater)).order_by(*_IN_ORDER)
            items = [(kind, bool(done)) for kind, done in connection.execute(query)]
            return Progress(
                done=sum(done for _, done in items),
                total=len(items),
                training_total=sum(kind == "training" for kind, _ in items),
                open=tuple(place for place, (_, done) in enumerate(items, 1) if not done),
                stopped=is_stopped(connection),
            )

    def _load_item(self, connection: sa.Connection, rater: Rater, token: str) -> Item:
        row = _find_item(connection, rater, token)
        places = {one: (place, done) for place, (one, done) in enumerate(_list_items(connection, rater), 1)}
        last = _find_last(connection, token)
        position, complete = places[token]
        adjudication = row.kind == "adjudication"
        return Item(
            token=token,
            position=position,
            total=len(places),
            training=row.kind == "training",
            adjudication=adjudication,
            question=row.question,
            response=row.response,
            references=tuple(row.reference_texts) if self.settings.show_reference else (),
            lang=row.lang,
            facts=tuple(Fact(**fact) for fact in row.facts) if row.sees_facts else (),
            entry=None if last is None else _read_entry(connection, token, last),
            complete=complete,
            earlier=_read_earlier(connection, row.id) if adjudication else (),
        )


def hash_secret(secret: str) -> str:
    """Return the hash of a secret, as the database stores it."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _read_settings(database: Database) -> StudySettings:
    with database.read() as connection:
        if not sa.inspect(connection).has_table("study"):
            raise ResourceError(f"{database.place} is not a rating study. Make one with: imapeval rate init")
        # Another format may have other columns.
        if (found := connection.execute(sa.select(schema.study.c.format)).scalar_one()) != schema.FORMAT:
            raise ResourceError(
                f"{database.place} is a study of format {found}, and this version of imapeval reads {schema.FORMAT}. "
                "Install the version that made it."
            )
        if missing := schema.find_missing(connection):
            raise database.damaged(f"it lacks {', '.join(missing)}")
        row = connection.execute(sa.select(schema.study)).one()
    try:
        return StudySettings.model_validate(row.settings)
    except ValidationError as error:
        raise ResourceError(f"{database.place}: the settings of the study are damaged. Restore a backup.") from error


def is_stopped(connection: sa.Connection) -> bool:
    """Return whether the owner has ended the study."""
    return connection.scalar(sa.select(sa.exists().where(schema.events.c.kind == "stopped"))) is True


def _is_over(connection: sa.Connection, rater: Rater) -> bool:
    """Return whether a rater gets no further items. Disputes can be settled after the study has been stopped."""
    return rater.role != "adjudicator" and is_stopped(connection)


def _of_rater(rater: Rater) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions for a rater's items, without those that the rater has been released from."""
    return schema.assignments.c.rater == rater.id, schema.assignments.c.slot.is_not(None)


def _find_item(connection: sa.Connection, rater: Rater, token: str, *, lock: bool = False) -> Any:
    """Return the row of an item.

    The lock makes revisions of one item consecutive in PostgreSQL; SQLite has one writer at a time anyhow.

    Raises:
        UnknownItemError: The rater has no such item.
    """
    query = (
        sa.select(schema.assignments.c.kind, schema.raters.c.sees_facts, schema.answers)
        .join(schema.answers, schema.answers.c.id == schema.assignments.c.answer)
        .join(schema.raters, schema.raters.c.id == schema.assignments.c.rater)
        .where(schema.assignments.c.token == token, *_of_rater(rater))
    )
    row = connection.execute(query.with_for_update(of=schema.assignments) if lock else query).one_or_none()
    if row is None:
        raise UnknownItemError("there is no such item.")
    return row


def _list_items(connection: sa.Connection, rater: Rater) -> list[tuple[str, bool]]:
    """Return the tokens of a rater's items in order, each with whether it has a complete entry."""
    query = sa.select(schema.assignments.c.token, COMPLETE.label("done")).where(*_of_rater(rater)).order_by(*_IN_ORDER)
    return [(token, bool(done)) for token, done in connection.execute(query)]


def _find_last(connection: sa.Connection, token: str, *, complete: bool = False) -> int | None:
    """Return the last (complete) revision of an item; None if there is none."""
    entries = schema.entries
    wanted = (entries.c.token == token, entries.c.complete) if complete else (entries.c.token == token,)
    return connection.scalar(sa.select(sa.func.max(entries.c.revision)).where(*wanted))


def _is_overfull(connection: sa.Connection, token: str, revision: int, entry: Entry) -> bool:
    """Return whether an item would have too many entries, or too much text in them, with this one."""
    entries, cells = schema.entries, schema.entry_values
    texts = sa.func.length(entries.c.comment) + sa.func.length(sa.cast(entries.c.spans, sa.Text))
    sums = (
        sa.select(sa.func.sum(texts)).where(entries.c.token == token),
        sa.select(sa.func.sum(sa.func.length(cells.c.reason))).where(cells.c.token == token),
    )
    size = len(entry.model_dump_json(include={"comment", "spans", "cannot_judge"}))
    return revision > MAX_ENTRIES or size + sum(int(connection.scalar(one) or 0) for one in sums) > MAX_TEXT


def _read_entry(connection: sa.Connection, token: str, revision: int) -> Entry:
    entries, cells = schema.entries, schema.entry_values
    row = connection.execute(sa.select(entries).where(entries.c.token == token, entries.c.revision == revision)).one()
    given: dict[str, dict[str, Any]] = {"values": {}, "cannot_judge": {}}
    for cell in connection.execute(sa.select(cells).where(cells.c.token == token, cells.c.revision == revision)):
        kind, content = ("values", cell.value) if cell.reason is None else ("cannot_judge", cell.reason)
        given[kind][cell.dimension] = content
    return Entry.model_validate(
        {
            "client_id": row.client_id,
            "comment": row.comment,
            "confidence": row.confidence,
            "spans": row.spans,
            "seconds": row.seconds,
            **given,
        }
    )


def _read_earlier(connection: sa.Connection, answer: int) -> tuple[Entry, ...]:
    """Return the ratings of an answer, in the order of the items' random tokens, which reveals no rater."""
    query = (
        sa.select(schema.assignments.c.token)
        .where(
            schema.assignments.c.answer == answer,
            schema.assignments.c.kind == "rating",
            schema.assignments.c.slot.is_not(None),
            COMPLETE,
        )
        .order_by(schema.assignments.c.token)
    )
    last = ((token, _find_last(connection, token, complete=True)) for token in connection.scalars(query).all())
    return tuple(_read_entry(connection, token, revision) for token, revision in last if revision is not None)


def _make_feedback(row: Any) -> Feedback:
    return Feedback(expected=row.expected, explanation=row.explanation)
