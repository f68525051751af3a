"""The tables of a study, the same in SQLite and PostgreSQL.

Entries of raters (`entries`, `entry_values`) and actions of the owner (`events`) are append-only: triggers refuse
changes. `imapeval study` and other programs read the view `study_ratings`: one row per rating that counts.

Keys are made by the program, not by sequences, so that a study can be copied from one database to another.
"""

from __future__ import annotations

from functools import cache

import sqlalchemy as sa

from imapeval.errors import UsageError

FORMAT = 1
"""Version of the tables; studies of other versions are refused."""

metadata = sa.MetaData()

study = sa.Table(
    "study",
    metadata,
    sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("created_at", sa.String, nullable=False),
)

dimensions = sa.Table(
    "dimensions",
    metadata,
    sa.Column("name", sa.String, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False, unique=True),
    sa.Column("low", sa.Double, nullable=False),
    sa.Column("high", sa.Double, nullable=False),
    sa.Column("step", sa.Double),
)
"""A copy of the settings' dimensions, for the view and its readers."""

answers = sa.Table(
    "answers",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    # The answer's id in the data; the same one may be an answer to rate and one for training.
    sa.Column("name", sa.String, nullable=False),
    sa.Column("purpose", sa.String, nullable=False),
    sa.Column("system", sa.String, nullable=False),
    # Answers with the same number are answers to the same question.
    sa.Column("question_number", sa.Integer, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("response", sa.Text, nullable=False),
    sa.Column("reference_texts", sa.JSON, nullable=False),
    sa.Column("lang", sa.String, nullable=False),
    sa.Column("facts", sa.JSON, nullable=False),
    sa.Column("expected", sa.JSON, nullable=False),
    sa.Column("explanation", sa.Text, nullable=False),
    sa.UniqueConstraint("name", "purpose"),
    sa.CheckConstraint("purpose IN ('rating', 'training', 'gold', 'attention')"),
)

raters = sa.Table(
    "raters",
    metadata,
    sa.Column("id", sa.Integer, sa.CheckConstraint("id > 0"), primary_key=True, autoincrement=False),
    # None until somebody is invited to the seat.
    sa.Column("name", sa.String, unique=True),
    sa.Column("role", sa.String, nullable=False),
    sa.Column("sees_facts", sa.Boolean, nullable=False),
    sa.Column("left_at", sa.String),
    sa.CheckConstraint("role IN ('rater', 'adjudicator')"),
)

links = sa.Table(
    "links",
    metadata,
    # SHA-256 suffices: the secret is random, so there is nothing to guess from a dictionary.
    sa.Column("secret_hash", sa.String, primary_key=True),
    # None for the owner.
    sa.Column("rater", sa.Integer, sa.ForeignKey("raters.id")),
    sa.Column("issued_at", sa.String, nullable=False),
    sa.Column("revoked_at", sa.String),
)

assignments = sa.Table(
    "assignments",
    metadata,
    sa.Column("token", sa.String, primary_key=True),
    sa.Column("answer", sa.Integer, sa.ForeignKey("answers.id"), nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    # For ratings 0 to raters_per_answer - 1, otherwise the rater's id. None if the rater has been released from it.
    sa.Column("slot", sa.Integer),
    # None if no rater was found for the item after another was released.
    sa.Column("rater", sa.Integer, sa.ForeignKey("raters.id"), index=True),
    sa.Column("position", sa.Integer, nullable=False),
    # No answer gets more than its raters, and none is given twice to one.
    sa.UniqueConstraint("answer", "kind", "slot"),
    sa.UniqueConstraint("answer", "kind", "rater"),
    # For the foreign key of `entries`: an entry belongs to the rater of its item.
    sa.UniqueConstraint("token", "rater"),
    sa.CheckConstraint("kind IN ('training', 'rating', 'repeat', 'gold', 'attention', 'adjudication')"),
)

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("token", sa.String, primary_key=True),
    sa.Column("revision", sa.Integer, sa.CheckConstraint("revision > 0"), primary_key=True, autoincrement=False),
    sa.Column("rater", sa.Integer, nullable=False),
    sa.Column("client_id", sa.String, nullable=False),
    sa.Column("complete", sa.Boolean, nullable=False),
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("confidence", sa.Integer),
    sa.Column("spans", sa.JSON, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("saved_at", sa.String, nullable=False),
    sa.UniqueConstraint("token", "client_id"),
    sa.ForeignKeyConstraint(["token", "rater"], ["assignments.token", "assignments.rater"]),
)

entry_values = sa.Table(
    "entry_values",
    metadata,
    sa.Column("token", sa.String, primary_key=True),
    sa.Column("revision", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("dimension", sa.String, sa.ForeignKey("dimensions.name"), primary_key=True),
    sa.Column("value", sa.Double),
    sa.Column("reason", sa.Text),
    sa.ForeignKeyConstraint(["token", "revision"], ["entries.token", "entries.revision"]),
    sa.CheckConstraint("(value IS NULL) <> (reason IS NULL)"),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("at", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("detail", sa.JSON, nullable=False),
)
"""Actions of the owner."""

APPEND_ONLY = (entries, entry_values, events)

latest = (
    sa.select(entries.c.token, sa.func.max(entries.c.revision).label("revision"))
    .where(entries.c.complete)
    .group_by(entries.c.token)
    .subquery("latest")
)
"""The last complete entry of each item: the one that counts."""

_STUDY_RATINGS = (
    sa.select(
        answers.c.name.label("id"),
        raters.c.name.label("rater"),
        entry_values.c.dimension,
        entry_values.c.value.label("rating"),
    )
    .select_from(latest)
    .join(assignments, assignments.c.token == latest.c.token)
    .join(answers, answers.c.id == assignments.c.answer)
    .join(raters, raters.c.id == assignments.c.rater)
    .join(
        entry_values,
        sa.and_(entry_values.c.token == latest.c.token, entry_values.c.revision == latest.c.revision),
    )
    .where(assignments.c.kind == "rating", assignments.c.slot.is_not(None))
)


def create(connection: sa.Connection, *, raters_per_answer: int) -> None:
    """Make the tables, triggers and view in an empty database.

    Raises:
        UsageError: It has tables already.
    """
    if sa.inspect(connection).get_table_names():
        raise UsageError("the database has tables already. Make an empty one with: createdb NAME")
    _limit_raters(raters_per_answer).create_all(connection, checkfirst=False)
    for statement in _make_append_only(connection.dialect.name):
        connection.exec_driver_sql(statement)
    select = _STUDY_RATINGS.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    connection.exec_driver_sql(f"CREATE VIEW study_ratings AS {select}")


@cache
def _limit_raters(raters_per_answer: int) -> sa.MetaData:
    """Return the tables of a study, with a constraint on the number of raters of an answer."""
    limit = sa.CheckConstraint(
        f"kind <> 'rating' OR slot IS NULL OR slot BETWEEN 0 AND {raters_per_answer - 1}", name="raters_per_answer"
    )
    limited = sa.MetaData()
    for table in metadata.sorted_tables:
        table.to_metadata(limited)
    limited.tables["assignments"].append_constraint(limit)
    return limited


def find_missing(connection: sa.Connection) -> list[str]:
    """Return the tables and columns of a study, and those with rows that others refer to, that a database lacks."""
    found = sa.inspect(connection)
    missing = [name for name in (*metadata.tables, "study_ratings") if not found.has_table(name)]
    for table in metadata.tables.values():
        if table.name not in missing:
            there = {column["name"] for column in found.get_columns(table.name)}
            missing += [f"{table.name}.{column.name}" for column in table.columns if column.name not in there]
    if not missing and connection.dialect.name == "sqlite":  # PostgreSQL does not let such rows go
        violations = connection.exec_driver_sql("PRAGMA foreign_key_check")
        missing = sorted({f"rows of {parent}" for _, _, parent, _ in violations})
    return missing


def _make_append_only(dialect: str) -> list[str]:
    if dialect == "sqlite":
        # INSERT OR REPLACE deletes what is there, and no trigger sees it.
        replacing = [
            f"CREATE TRIGGER {table.name}_replace_{'_'.join(one.name for one in key.columns)} "
            f"BEFORE INSERT ON {table.name} WHEN EXISTS (SELECT 1 FROM {table.name} WHERE "
            f"{' AND '.join(f'{one.name} = NEW.{one.name}' for one in key.columns)}) "
            f"BEGIN SELECT RAISE(ABORT, '{table.name} can only be added to'); END"
            for table in APPEND_ONLY
            for key in table.constraints
            if isinstance(key, sa.PrimaryKeyConstraint | sa.UniqueConstraint)
        ]
        return replacing + [
            f"CREATE TRIGGER {table.name}_{action.lower()} BEFORE {action} ON {table.name} "
            f"BEGIN SELECT RAISE(ABORT, '{table.name} can only be added to'); END"
            for table in APPEND_ONLY
            for action in ("UPDATE", "DELETE")
        ]
    function = (
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION USING MESSAGE = TG_TABLE_NAME || ' can only be added to'; END $$"
    )
    return [
        function,
        *(
            f"CREATE TRIGGER {table.name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table.name} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
            for table in APPEND_ONLY
        ),
    ]
