"""Taking the ratings out of a study: as a table, or as a copy of the whole study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from imapeval.rating import schema
from imapeval.rating.database import Database
from imapeval.rating.records import read_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.rating.records import RatingRecord
    from imapeval.rating.store import RatingStudy

_BATCH = 1000
"""Rows copied at once: a statement with many times more would exceed the limits of a database."""


def list_exported(study: RatingStudy, *, everything: bool = False) -> list[dict[str, Any]]:
    """Return a row for each answer and rater, as `imapeval study --ratings` reads it.

    Ratings stand in columns `ratings.<dimension>`, so that readers take no other column for a dimension.

    Args:
        study: The study.
        everything: Also training, repeats, gold items, attention checks and adjudication, as the column `kind` says.
    """
    with study.database.read() as connection:
        records = read_records(connection)
        stopped = connection.scalar(sa.select(sa.func.min(schema.events.c.at)).where(schema.events.c.kind == "stopped"))
    names = [dimension.name for dimension in study.settings.dimensions]
    return [
        _to_row(record, names, after_stop=stopped is not None and record.first_saved_at > stopped)
        for record in records
        if everything or record.kind == "rating"
    ]


def _to_row(record: RatingRecord, names: Sequence[str], *, after_stop: bool) -> dict[str, Any]:
    return {
        "id": record.id,
        "rater": record.rater,
        **{f"ratings.{name}": record.values.get(name) for name in names},
        "kind": record.kind,
        "order": record.order,
        "saved_at": record.saved_at,
        "seconds": round(record.seconds, 3),
        "revision": record.revision,
        "confidence": record.confidence,
        "comment": record.comment,
        **{f"cannot_judge.{name}": record.cannot_judge.get(name) for name in names},
        "spans": json.dumps(list(record.spans), ensure_ascii=False),
        "saw_facts": record.saw_facts,
        "after_stop": after_stop,
    }


def copy_study(study: RatingStudy, target: str) -> None:
    """Copy a whole study, as it is at one moment, to a new file or an empty PostgreSQL database.

    Raters go on meanwhile. The copy is a study: all commands take it, and links of raters open it as well.

    Raises:
        UsageError: The file exists, or the database is not empty.
    """
    database = Database(target, create=True)
    try:
        with study.database.read() as source, database.write() as copy:
            database.require_empty(copy)
            schema.create(copy, raters_per_answer=study.settings.raters_per_answer)
            for table in schema.metadata.sorted_tables:
                for batch in _in_batches(source.execute(sa.select(table)).mappings()):
                    copy.execute(table.insert(), batch)
    except BaseException:
        database.discard()
        raise
    finally:
        database.close()


def _in_batches(rows: Iterable[Any]) -> Iterable[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(dict(row))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
