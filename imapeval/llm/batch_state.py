"""The state of a batch folder in SQLite: its tables, and opening it."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from imapeval.files import create_private_file

if TYPE_CHECKING:
    from pathlib import Path

_FORMAT = 1
"""Version of the state's format, stored in its user_version."""

_TABLES = """
CREATE TABLE IF NOT EXISTS model (one INTEGER PRIMARY KEY CHECK (one = 1), identity TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS refused (parameter TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS request (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, file INTEGER NOT NULL, answered INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS failure (
    key TEXT NOT NULL, result TEXT NOT NULL, file INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL, raw TEXT,
    PRIMARY KEY (key, result)
);
"""
"""`file` is the number of the latest file with the request; in `failure`, at the time of the failure. `result` tells
it from other failures of the request (`FailedResults`), so that importing it again does not add another one."""

_MISTYPED = (
    "SELECT 1 FROM model WHERE typeof(identity) <> 'text' OR typeof(name) <> 'text' UNION ALL SELECT 1 FROM failure "
    "WHERE typeof(result) <> 'text' OR typeof(message) <> 'text' OR typeof(raw) NOT IN ('text', 'null') UNION ALL "
    "SELECT 1 FROM request WHERE typeof(key) <> 'text' OR typeof(text) <> 'text' OR typeof(file) <> 'integer' LIMIT 1"
)
"""Finds values of types that were not written: SQLite takes any in any column."""

_BUSY_SECONDS = 30.0
"""How long to wait for another process that writes to the same folder."""


def open_state(path: Path) -> tuple[sqlite3.Connection, tuple[str, str] | None]:
    """Open a state, creating it if it does not exist, and return identity and name of its model, None if it is new.

    Raises:
        sqlite3.Error: It is damaged, of another version, or locked.
        OSError: The file cannot be created.
        UnicodeError: It is damaged.
    """
    create_private_file(path)
    # Transactions are begun explicitly: an export is a single one.
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, _FORMAT):
            raise sqlite3.DatabaseError(f"its format is {version}, but this version of imapeval reads format {_FORMAT}")
        if version == 0:
            # Another process may be creating them at the same time.
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_FORMAT}; COMMIT;")
        model: tuple[str, str] | None = connection.execute("SELECT identity, name FROM model").fetchone()
        if connection.execute(_MISTYPED).fetchone():
            raise sqlite3.DatabaseError("state.sqlite is damaged")
    except BaseException:
        connection.close()
        raise
    return connection, model
