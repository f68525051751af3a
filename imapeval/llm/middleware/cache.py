"""Completions that were paid for once, kept in an SQLite file.

The key is the whole canonical request, which stands beside the answer. Errors are never kept, and a completion that its
reader could not use serves only the processes that ran then: a later one asks again. Each completion is committed at
once, so that a killed process loses none. Processes share a file: who asks claims the request first, and the others
wait for the completion as long as the claim is renewed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import socket
import sqlite3
import threading
import time
import uuid
import weakref
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError
from imapeval.files import create_private_file, is_process_running
from imapeval.llm.protocol import Completion, Token, Usage, canonical_json
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from imapeval.llm.protocol import Model, Request

_FORMAT = 1
"""Of the file, kept in its user_version."""

_BUSY_SECONDS = 30.0
"""How long to wait for another process that writes. A commit takes milliseconds: only a hung process lasts longer."""

_BUSY_PAUSE = 0.01
"""Seconds between two looks where SQLite does not wait by itself."""

_LEASE = 10.0
"""Seconds after which the claim of a process that does not renew it is void: how long a killed one holds up others on
other machines. On the same machine its death is seen at once."""

_RENEWAL = 2.0
"""Seconds after which a claim is renewed. Some may be missed, as when the event loop is held up."""

_FIRST_LOOK, _LAST_LOOK = 0.05, 1.0
"""Seconds between two looks for the completion of another process: twice as many each time."""

_UNUSABLE_SECONDS = 3600.0
"""How long a completion that was of no use still stands for the same request in a process that ran by then. A run must
not pay for it again and again; a server process lives for weeks, and is to notice that the model was mended."""

_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
"""What SQLite says where the disk has no room: the first by the file system, the second by a quota or limit."""

_TABLES = """
CREATE TABLE IF NOT EXISTS completion (key TEXT PRIMARY KEY, request TEXT NOT NULL, completion TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS unusable (key TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claim (key TEXT PRIMARY KEY, session TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""
"""Times are those of the system's clock, which processes share."""

_log = get_logger(__name__)


def _locate_processes() -> str:
    """Return where this process's number means this process: the machine and, in a container, its own numbering."""
    numbering = ""
    with contextlib.suppress(OSError):
        numbering = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()}/{numbering}".replace(" ", "_")


def _has_died(session: str) -> bool:
    """Tell whether a session's process ran here and no longer does; False where that cannot be seen."""
    place, number, _ = session.split(" ")
    return place == _locate_processes() and not is_process_running(int(number))


class CachedModel:
    """A `Model` that asks another one only what is not in the file yet.

    Identical requests in flight share one call, also those of several processes. May be used from several threads and
    event loops, one at a time.

    A disk that has no room left ends nothing: completions are held in memory until they can be written.

    Args:
        model: Who is asked.
        path: The file; it and its folder are made when the first completion is looked up.
    """

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        self._session = f"{_locate_processes()} {os.getpid()} {uuid.uuid4().hex}"
        self._begun = time.time()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._in_flight: dict[str, asyncio.Task[Completion]] = {}
        self._held: dict[str, Completion] = {}
        self._unwritten: dict[str, str] = {}
        self._warned = False

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
            ResourceError: The file cannot be read, or is locked or damaged.
        """
        text = canonical_json(request, self.identity)
        key = cache_key(text)
        if known := self._find(key):
            return known
        call = self._in_flight.get(key)
        joined = call is not None
        if call is None:
            call = self._in_flight[key] = asyncio.ensure_future(self._obtain(request, key, text))
            call.add_done_callback(lambda done: self._land(key, done))
        # Shielded: who gives up waiting must not take a call from the others, or a paid completion from the file.
        completion = await asyncio.shield(call)
        return replace(completion, cached=True) if joined else completion

    def reject(self, request: Request) -> None:
        """Note that the completion of a request was of no use, so that whoever begins later asks again."""
        key = cache_key(canonical_json(request, self.identity))
        self._unwritten.pop(key, None)
        # On a full disk the mark is lost, not the run.
        with contextlib.suppress(ResourceError), self._opened() as connection, connection:
            connection.execute("INSERT OR IGNORE INTO unusable VALUES (?, ?)", (key, time.time()))

    def get(self, request: Request) -> Completion | None:
        """Return the kept completion of a request, if there is one.

        Raises:
            ResourceError: The file cannot be read.
        """
        return self._find(cache_key(canonical_json(request, self.identity)))

    def store(self, request: Request, completion: Completion) -> None:
        """Keep the completion of a request that was answered elsewhere.

        Raises:
            ResourceError: The file cannot be written.
        """
        text = canonical_json(request, self.identity)
        self._keep(cache_key(text), text, completion)

    async def _obtain(self, request: Request, key: str, text: str) -> Completion:
        """Claim the request and ask the model, or wait for another session that does."""
        pause = _FIRST_LOOK
        while not self._claim(key):
            await asyncio.sleep(pause)
            pause = min(_LAST_LOOK, 2 * pause)
            if known := self._find(key):
                return known
        try:
            # Another session may have been answered between the look and the claim.
            if known := self._find(key):
                self._release(key)
                return known
            with self._renewing(key):
                completion = await self._model.complete(request)
        except BaseException:
            self._release(key)
            raise
        try:
            self._keep(key, text, completion)
        except ResourceError as error:
            self._hold(key, text, completion, error)
        else:
            self._write_held()
        return completion

    def _claim(self, key: str) -> bool:
        """Claim a request, or renew the claim; False where another session has claimed it."""
        now = time.time()
        try:
            with self._opened() as connection, connection:
                changed = connection.execute(
                    "INSERT INTO claim VALUES (:key, :session, :until) ON CONFLICT (key) DO UPDATE "
                    "SET session = excluded.session, until = excluded.until "
                    # One that lasts much longer than a lease was made before the clock was set back; one that lasts a
                    # little longer, since this session looked at the clock.
                    "WHERE claim.session = excluded.session OR claim.until NOT BETWEEN :now AND :now + 2 * :lease",
                    {"key": key, "session": self._session, "now": now, "until": now + _LEASE, "lease": _LEASE},
                )
                if changed.rowcount:
                    return True
                holder = connection.execute("SELECT session FROM claim WHERE key = ?", (key,)).fetchone()
                if holder and _has_died(holder[0]):
                    connection.execute("DELETE FROM claim WHERE session = ?", holder)
                return False
        except ResourceError as error:
            # Better that two processes ask the same than that nobody asks.
            if _is_full(error):
                return True
            raise

    def _release(self, key: str) -> None:
        # What cannot be released now runs out by itself.
        with contextlib.suppress(ResourceError), self._opened() as connection, connection:
            connection.execute("DELETE FROM claim WHERE key = ? AND session = ?", (key, self._session))

    @contextlib.contextmanager
    def _renewing(self, key: str) -> Generator[None]:
        loop = asyncio.get_running_loop()

        def renew() -> None:
            nonlocal timer
            timer = loop.call_later(_RENEWAL, renew)
            with contextlib.suppress(ResourceError):
                self._claim(key)

        timer = loop.call_later(_RENEWAL, renew)
        try:
            yield
        finally:
            timer.cancel()

    def _keep(self, key: str, text: str, completion: Completion) -> None:
        record = asdict(completion)
        if not completion.tokens:
            # As it was before there were any, so that an earlier imapeval reads it.
            del record["tokens"]
        with self._opened() as connection, connection:
            connection.execute("INSERT OR REPLACE INTO completion VALUES (?, ?, ?)", (key, text, json.dumps(record)))
            connection.execute("DELETE FROM unusable WHERE key = ?", (key,))
            connection.execute("DELETE FROM claim WHERE key = ? AND session = ?", (key, self._session))

    def _hold(self, key: str, text: str, completion: Completion, error: ResourceError) -> None:
        self._held[key] = completion
        self._unwritten[key] = text
        if not self._warned:
            self._warned = True
            _log.warning(
                "the cache of completions %s cannot be written (%s). The run goes on and uses every completion, but "
                "those that still cannot be written when it ends are asked and paid for again by the next. Free some "
                "space on that disk.",
                self._path,
                error.__cause__,
            )

    def _write_held(self) -> None:
        with contextlib.suppress(ResourceError):
            for key, text in [*self._unwritten.items()]:
                self._keep(key, text, self._held[key])
                del self._held[key], self._unwritten[key]

    def _land(self, key: str, call: asyncio.Task[Completion]) -> None:
        del self._in_flight[key]
        if not call.cancelled():
            # Looked at, so that asyncio does not complain where everybody has stopped waiting.
            call.exception()

    def _find(self, key: str) -> Completion | None:
        if held := self._held.get(key):
            return replace(held, cached=True)
        with self._opened() as connection:
            row = connection.execute(
                "SELECT completion FROM completion LEFT JOIN unusable USING (key) WHERE key = ? "
                "AND (since IS NULL OR since >= ?)",
                (key, max(self._begun, time.time() - _UNUSABLE_SECONDS)),
            ).fetchone()
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


def cache_key(text: str) -> str:
    """Return the key of a canonical request."""
    return hashlib.sha256(text.encode()).hexdigest()


def _is_full(error: ResourceError) -> bool:
    cause = error.__cause__
    # The lower byte; the others say more of it.
    return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF in _FULL


def _restore(token: Mapping[str, Any]) -> Token:
    return Token(token["text"], token["logprob"], tuple((text, logprob) for text, logprob in token["top"]))


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    create_private_file(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, check_same_thread=False)
    try:
        _write_ahead(connection)
        # Enough for what survives a killed process; a power cut may cost the last completions, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT):
            raise sqlite3.DatabaseError(f"its format is {found}, this imapeval reads {_FORMAT}")
        connection.executescript(_TABLES)
        if not found:
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
