"""The database of a study: a SQLite file, or PostgreSQL by URL."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError, UsageError
from imapeval.files import make_private_folder
from imapeval.study.data.ratings.database import is_url, make_database_url

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager

    import sqlalchemy as sa

_BUSY_SECONDS = 30
"""How long a writer of SQLite waits for others; each holds the lock for some milliseconds."""

_DAMAGED = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of SQLite for another schema, a damaged file and one of another kind."""


def now() -> str:
    """Return the time: UTC, ISO 8601, in texts that sort by time."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Database:
    """Transactions on a study's database. For use from several threads and processes.

    Args:
        place: A file or a URL.
        create: Whether to create the file.

    Raises:
        UsageError: The file exists (with `create`) or does not exist, or the URL is malformed.
        MissingExtraError: The extra `rate` is not installed.
    """

    def __init__(self, place: str, *, create: bool = False) -> None:
        self.place = place
        self._engine = _connect_postgresql(place) if is_url(place) else _connect_sqlite(Path(place), create=create)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def discard(self) -> None:
        """Remove an incomplete file. In PostgreSQL, nothing is left of a failed transaction."""
        self.close()
        if not is_url(self.place):
            for suffix in ("", "-wal", "-shm"):
                Path(self.place + suffix).unlink(missing_ok=True)

    def read(self) -> AbstractContextManager[sa.Connection]:
        """Read one state of the database, whatever others write meanwhile.

        Raises:
            ResourceError: The database cannot be reached or is damaged.
        """
        return self._transaction(isolation_level="REPEATABLE READ")

    def write(self) -> AbstractContextManager[sa.Connection]:
        """Write in one transaction, which is on disk once the block has been left.

        Raises:
            ResourceError: The database cannot be reached, is full or is damaged.
        """
        return self._transaction(isolation_level="READ COMMITTED")

    @contextmanager
    def _transaction(self, *, isolation_level: str) -> Generator[sa.Connection]:
        from sqlalchemy import exc

        options: dict[str, Any] = (
            {"writes": isolation_level == "READ COMMITTED"}
            if self._engine.dialect.name == "sqlite"
            else {"isolation_level": isolation_level}
        )
        try:
            with self._engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        # Mistakes of ours, or conflicts that the caller expects.
        except (exc.IntegrityError, exc.ProgrammingError, exc.DataError):
            raise
        except exc.DatabaseError as error:
            if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise self.damaged(error.orig) from error
            raise ResourceError(
                f"{self.place}: the database of the study cannot be used: {error.orig}. Check that it runs, can be "
                "written and has space."
            ) from error
        except exc.DBAPIError:
            raise
        except exc.StatementError as error:
            raise self.damaged(error.orig) from error  # a cell of the wrong type, given to another statement
        # JSON in a column, or what is made of it, and rows that every study has.
        except (ValueError, TypeError, RecursionError, exc.NoResultFound, exc.MultipleResultsFound) as error:
            raise self.damaged(error) from error
        except exc.TimeoutError as error:
            raise ResourceError(f"{self.place}: all connections to the database are in use. Try again.") from error

    def damaged(self, error: object) -> ResourceError:
        """Return the error for content that no study can have."""
        return ResourceError(
            f"{self.place}: is no study, or a damaged one ({error}). Give what `imapeval rate init` made, or restore a "
            "backup."
        )


def _connect_sqlite(path: Path, *, create: bool) -> sa.Engine:
    import sqlalchemy as sa
    from sqlalchemy import event

    if create:
        try:
            make_private_folder(path.parent)
            # Other users of this computer must not read names and ratings.
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError as error:
            raise UsageError(f"{path} exists. Choose another file with --out, or remove it.") from error
        except OSError as error:
            raise UsageError(f"cannot write {path} ({error.strerror}). Choose another file with --out.") from error
    elif not path.is_file():
        raise UsageError(f"there is no study {path}. Make one with: imapeval rate init")
    engine = sa.create_engine(
        make_database_url(str(path)), connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None}
    )

    def set_up(connection: Any, _record: Any) -> None:
        # FULL: a saved rating also survives a loss of power.
        for pragma in ("foreign_keys = ON", "journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")

    def begin(connection: sa.Connection) -> None:
        # A transaction that reads first and then writes would fail, not wait, where another one writes in between.
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", begin)
    return engine


def _connect_postgresql(url: str) -> sa.Engine:
    import sqlalchemy as sa

    return sa.create_engine(make_database_url(url), pool_size=10, max_overflow=10, pool_pre_ping=True)
