"""Taking the ratings out of a study: as a table, as a log of all changes, or as a copy of the whole study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from imapeval.rating import schema
from imapeval.rating.database import Database
from imapeval.rating.records import read_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.rating.records import RatingRecord
    from imapeval.rating.store import RatingStudy

_BATCH = 1000
"""Rows copied at once: a statement with many times more would exceed the limits of a database."""


def list_exported(study: RatingStudy, *, everything: bool = False, by_facts: bool = False) -> list[dict[str, Any]]:
    """Return a row for each answer and rater, as `imapeval study --ratings` reads it.

    Ratings are in columns `ratings.<dimension>`, so that readers take no other column for a dimension.

    Args:
        study: The study.
        everything: Also training, repeats, gold items, attention checks and adjudication; the column `kind` names them.
        by_facts: Whether ratings of raters who saw facts, and of the others, are separate dimensions.
    """
    with study.database.read() as connection:
        records = read_records(connection)
        stopped = connection.scalar(sa.select(sa.func.min(schema.events.c.at)).where(schema.events.c.kind == "stopped"))
    names = [dimension.name for dimension in study.settings.dimensions]

    def is_late(record: RatingRecord) -> bool:
        # Adjudicators go on after the end.
        return stopped is not None and record.kind != "adjudication" and record.saved_at > stopped

    return [
        _to_row(record, names, by_facts=by_facts, after_stop=is_late(record))
        for record in records
        if everything or record.kind == "rating"
    ]


def _to_row(record: RatingRecord, names: Sequence[str], *, by_facts: bool, after_stop: bool) -> dict[str, Any]:
    ratings = {f"ratings.{name}": record.values.get(name) for name in names}
    if by_facts:
        ratings = {
            f"{name} ({'facts' if seen else 'no facts'})": value if seen == record.saw_facts else None
            for name, value in ratings.items()
            for seen in (True, False)
        }
    return {
        "id": record.id,
        "rater": record.rater,
        **ratings,
        "kind": record.kind,
        "order": record.order,
        "saved_at": record.saved_at,
        "seconds": round(record.seconds, 3),
        "revision": record.revision,
        "confidence": record.confidence,
        "comment": record.comment,
        **{f"cannot_judge.{name}": record.cannot_judge.get(name) for name in names},
        "spans": json.dumps(record.spans, ensure_ascii=False),
        "saw_facts": record.saw_facts,
        "after_stop": after_stop,
    }


def list_log(study: RatingStudy) -> list[dict[str, Any]]:
    """Return every change of a study, oldest first: what the owner did, and what raters entered.

    Each has `at` (UTC, ISO 8601), `by` (a rater's name, or "owner"), `what`, and further keys that depend on it.
    """
    assignments, answers, raters, entries = schema.assignments, schema.answers, schema.raters, schema.entries
    entered = (
        sa.select(entries, assignments.c.kind, answers.c.name.label("answer_name"), raters.c.name.label("rater_name"))
        .join(assignments, assignments.c.token == entries.c.token)
        .join(answers, answers.c.id == assignments.c.answer)
        .join(raters, raters.c.id == entries.c.rater)
    )
    with study.database.read() as connection:
        names = {row.id: row.name for row in connection.execute(sa.select(raters.c.id, raters.c.name))}
        cells: dict[tuple[str, int], dict[str, Any]] = {}
        for cell in connection.execute(sa.select(schema.entry_values)):
            given = cell.value if cell.reason is None else f"cannot judge: {cell.reason}"
            cells.setdefault((cell.token, cell.revision), {})[cell.dimension] = given
        lines: list[dict[str, Any]] = []
        for event in connection.execute(sa.select(schema.events)):
            detail = dict(event.detail)
            if "rater" in detail:
                detail["rater"] = names[detail["rater"]]
                # The current name is also the one at that time, because raters are never renamed.
                detail.pop("name", None)
            lines.append({"at": event.at, "by": "owner", "what": event.kind, **detail})
        lines += [
            {
                "at": row.saved_at,
                "by": row.rater_name,
                "what": "entered",
                "answer": row.answer_name,
                "kind": row.kind,
                "revision": row.revision,
                "ratings": cells.get((row.token, row.revision), {}),
                "confidence": row.confidence,
                "comment": row.comment,
                "spans": row.spans,
                "seconds": row.seconds,
            }
            for row in connection.execute(entered)
        ]
    return sorted(lines, key=lambda line: (line["at"], line.get("revision", 0)))


def copy_study(study: RatingStudy, target: str) -> None:
    """Copy a whole study, as it is at one moment, to a new file or an empty PostgreSQL database.

    Raters go on meanwhile. The copy is a study: all commands take it, and links of raters open it as well.

    Raises:
        UsageError: The file exists, or the database is not empty.
        ResourceError: The study is damaged, or the copy cannot be written.
    """
    database = Database(target, create=True)
    try:
        with database.write() as copy, study.database.read() as source:
            schema.create(copy, raters_per_answer=study.settings.raters_per_answer)
            for table in schema.metadata.sorted_tables:
                for batch in source.execute(sa.select(table)).mappings().partitions(_BATCH):
                    copy.execute(table.insert(), [dict(row) for row in batch])
    except IntegrityError as error:
        database.discard()
        raise study.database.damaged(error.orig) from error
    except BaseException:
        database.discard()
        raise
    finally:
        database.close()
