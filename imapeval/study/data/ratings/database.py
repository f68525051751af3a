"""The database of a study of ratings (`imapeval rate`): the ratings collected so far, read as a table.

The study's view `study_ratings` has the columns id, rater, dimension and rating, and only what counts: the last
complete entry of each rater on each answer, without training, gold items, attention checks, repeats and adjudication.
The table `dimensions` has the scales.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from imapeval._optional import require
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.rows import Row
from imapeval.redaction import register_url_secrets
from imapeval.study.data.scales import RatingScale

_SQLITE = b"SQLite format 3\0"

_POSTGRESQL = ("postgresql://", "postgres://")

_NEEDED_FOR = "A study of ratings"


def is_url(place: str) -> bool:
    """Return whether the location of a study is the URL of a database; otherwise it is a file."""
    return place.startswith(_POSTGRESQL)


def is_database(place: str) -> bool:
    """Return whether a file or URL is a database."""
    if is_url(place):
        return True
    path = Path(place)
    try:
        # What is read of a pipe is gone.
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False


def make_database_url(place: str) -> Any:
    """Return the URL of a study's database as SQLAlchemy takes it. What is secret in it is registered.

    Raises:
        UsageError: The URL is malformed.
        MissingExtraError: The extra `rate` is not installed.
    """
    sqlalchemy: Any = require("sqlalchemy", distribution="sqlalchemy", extra="rate", needed_for=_NEEDED_FOR)
    if not is_url(place):
        return sqlalchemy.URL.create("sqlite", database=place)
    require("psycopg", distribution="psycopg", extra="rate", needed_for=_NEEDED_FOR)
    errors: Any = require("sqlalchemy.exc", distribution="sqlalchemy", extra="rate", needed_for=_NEEDED_FOR)
    try:
        url = sqlalchemy.make_url(place)
    except (errors.ArgumentError, ValueError) as error:  # ValueError if the port is not a number
        raise UsageError("the URL of the database is malformed. Write postgresql://USER@HOST:PORT/NAME.") from error
    register_url_secrets(place)
    return url.set(drivername="postgresql+psycopg")


def read_database(place: str) -> tuple[tuple[Row, ...], dict[str, RatingScale]]:
    """Return the ratings of a study so far, a row for each, and the scale of each dimension that has ratings.

    Raises:
        UsageError: The URL is malformed.
        InputError: The database cannot be read, does not hold a study, or has no rating yet.
        MissingExtraError: The extra `rate` is not installed.
    """
    url = make_database_url(place)
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import DatabaseError
    from sqlalchemy.pool import NullPool

    shown = url.render_as_string() if is_url(place) else place
    try:
        with create_engine(url, poolclass=NullPool).connect() as connection:
            scales = connection.execute(text("SELECT name, low, high, step FROM dimensions ORDER BY position")).all()
            given = connection.execute(
                text(
                    "SELECT id, rater, study_ratings.dimension, rating FROM study_ratings "
                    "JOIN dimensions ON dimensions.name = study_ratings.dimension ORDER BY id, position, rater"
                )
            ).all()
        found = {name: RatingScale(low, high, step) for name, low, high, step in scales}
    except (DatabaseError, ValueError, TypeError) as error:  # the last two for a scale that is none, or damaged text
        raise InputError(
            f"cannot be read as a study of ratings ({error.orig if isinstance(error, DatabaseError) else error})",
            path=shown,
            fix="Give the study that `imapeval rate init` made.",
        ) from error
    if not given:
        raise InputError("nobody has rated an answer yet", path=shown, fix="Wait for the raters: imapeval rate status")
    rated = {dimension for _, _, dimension, _ in given}
    rows = tuple(
        Row(number, number, {"id": id_, "rater": rater, "dimension": dimension, "rating": rating}, unit="record")
        for number, (id_, rater, dimension, rating) in enumerate(given, 1)
    )
    return rows, {name: scale for name, scale in found.items() if name in rated}
