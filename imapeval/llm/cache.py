"""Completions that were paid for once, kept in an SQLite file.

The key is the whole canonical request, which stands beside the answer. Only good completions are kept: an error, a
refusal or a truncation is asked again the next time. Each completion is committed at once, so that a killed process
loses none; two processes may share a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import threading
import time
import weakref
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError
from imapeval.llm.client import Completion, Token, Usage, canonical

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from imapeval.llm.client import Model, Request

_FORMAT = 1
"""Of the file, kept in its user_version."""

_BUSY_SECONDS = 30.0
"""How long to wait for another process that writes. A commit takes milliseconds: only a hung process lasts longer."""

_BUSY_PAUSE = 0.01
"""Seconds between two looks where SQLite does not wait by itself."""


class Cached:
    """A `Model` that asks another one only what is not in the file yet.

    Identical requests in flight share one call. May be used from several threads and event loops, one at a time.

    Args:
        model: Who is asked.
        path: The file; it and its folder are made when the first completion is looked up.
    """

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._in_flight: dict[str, asyncio.Task[Completion]] = {}

    @property
    def identity(self) -> str:
        """The model's own: the cache does not change what it says."""
        return self._model.identity

    @property
    def concurrency(self) -> int:
        """The model's own."""
        return self._model.concurrency

    async def complete(self, request: Request) -> Completion:
        """Return the kept completion, or ask the model and keep its answer.

        Raises:
            ProviderError: The model gave none; nothing is kept.
            ResourceError: The file cannot be read or written.
        """
        text = canonical(request, self.identity)
        key = digest(text)
        if known := self._find(key):
            return known
        call = self._in_flight.get(key)
        joined = call is not None
        if call is None:
            call = self._in_flight[key] = asyncio.ensure_future(self._ask(request, key, text))
            call.add_done_callback(lambda done: self._land(key, done))
        # Shielded: who gives up waiting must not take a call from the others, or a paid completion from the file.
        completion = await asyncio.shield(call)
        return replace(completion, cached=True) if joined else completion

    def find(self, request: Request) -> Completion | None:
        """Return the kept completion of a request, if there is one.

        Raises:
            ResourceError: The file cannot be read.
        """
        return self._find(digest(canonical(request, self.identity)))

    def keep(self, request: Request, completion: Completion) -> None:
        """Keep the completion of a request that was answered elsewhere.

        Raises:
            ResourceError: The file cannot be written.
        """
        text = canonical(request, self.identity)
        self._keep(digest(text), text, completion)

    async def _ask(self, request: Request, key: str, text: str) -> Completion:
        completion = await self._model.complete(request)
        self._keep(key, text, completion)
        return completion

    def _keep(self, key: str, text: str, completion: Completion) -> None:
        record = asdict(completion)
        if not completion.tokens:
            # As it was before there were any, so that an earlier imapeval reads it.
            del record["tokens"]
        with self._opened() as connection, connection:
            connection.execute("INSERT OR REPLACE INTO completion VALUES (?, ?, ?)", (key, text, json.dumps(record)))

    def _land(self, key: str, call: asyncio.Task[Completion]) -> None:
        del self._in_flight[key]
        if not call.cancelled():
            # Looked at, so that asyncio does not complain where everybody has stopped waiting.
            call.exception()

    def _find(self, key: str) -> Completion | None:
        with self._opened() as connection:
            row = connection.execute("SELECT completion FROM completion WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            record = json.loads(row[0])
            tokens = tuple(_restore(token) for token in record.get("tokens", ()))
            return Completion(**record | {"usage": Usage(**record["usage"]), "cached": True, "tokens": tokens})

    @contextlib.contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = _connect(self._path)
                    weakref.finalize(self, self._connection.close)
                yield self._connection
        except (sqlite3.Error, OSError, ValueError, TypeError, KeyError) as error:
            raise ResourceError(
                f"the cache of completions {self._path} cannot be used ({error}). Make sure that the folder can be "
                "written and the disk is not full; if the file is damaged, move it away: a new one is made, and "
                "what was in it is asked and paid for again."
            ) from error


def digest(text: str) -> str:
    """Return the key of a canonical request."""
    return hashlib.sha256(text.encode()).hexdigest()


def _restore(token: Mapping[str, Any]) -> Token:
    return Token(token["text"], token["logprob"], tuple((text, logprob) for text, logprob in token["top"]))


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        _write_ahead(connection)
        # Enough for what survives a killed process; a power cut may cost the last completions, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT):
            raise sqlite3.DatabaseError(f"its format is {found}, this imapeval reads {_FORMAT}")
        with connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS completion "
                "(key TEXT PRIMARY KEY, request TEXT NOT NULL, completion TEXT NOT NULL)"
            )
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Set the mode in which reading and writing do not wait for each other.

    Where another process makes the same file at that moment, SQLite says so at once whatever the timeout.
    """
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # The lower byte; the others say more of it.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_BUSY_PAUSE)
