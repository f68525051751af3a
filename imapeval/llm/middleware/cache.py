"""A persistent cache of completions in an SQLite file.

The key is the whole canonical request, which is stored beside the completion. Errors are never cached, and a completion
that its reader could not use only serves processes that were already running: later ones ask again. Each completion is
committed at once, so a killed process loses none. Processes share a file: whoever wants a completion claims the request
first, and the others wait for the completion as long as the claim is renewed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from imapeval.errors import ResourceError
from imapeval.files import create_private_file, has_process_died, identify_process, make_private_folder
from imapeval.llm.middleware import ModelWrapper
from imapeval.llm.middleware.completion_json import read_completion
from imapeval.llm.protocol import Completion, canonical_json
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from imapeval.llm.protocol import Model, Request

_FORMAT = 1
"""Version of the file format, stored in its user_version."""

_BUSY_SECONDS = 5.0
"""How long to wait for another process that writes: less than a lease, because the event loop is blocked meanwhile. A
commit takes milliseconds; `imapeval cache clear` and programs that hold the file open for writing take longer."""

_BUSY_PAUSE = 0.01
"""Seconds between two attempts where SQLite does not wait by itself."""

_LEASE = 10.0
"""Seconds after which a claim that is not renewed expires: how long a killed process holds up processes on other
machines. On the same machine its death is detected immediately."""

_RENEWAL = 2.0
"""Seconds between renewals of the claims on requests in flight. Some may be missed while the process does not run."""

_FIRST_POLL, _LONGEST_POLL = 0.05, 1.0
"""Seconds between two looks for the completion of another process, doubled each time."""

_UNUSABLE_SECONDS = 3600.0
"""How long an unusable completion still answers the same request in processes that were already running. A run must not
pay for it again and again; a server process runs for weeks and should notice when the model was fixed."""

_TABLES = """
CREATE TABLE IF NOT EXISTS completion (key TEXT PRIMARY KEY, request TEXT NOT NULL, completion TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS unusable (key TEXT PRIMARY KEY, since REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claim (key TEXT PRIMARY KEY, session TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""
"""Times are those of the system clock, which all processes share."""

_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading a damaged completion may raise."""

_log = get_logger(__name__)

_Write = Callable[[sqlite3.Connection], None]


class CachedModel(ModelWrapper):
    """A `Model` that asks the wrapped model only for completions that are not in the file.

    Identical requests in flight share one call, even across processes. May be used from several threads and event
    loops, one at a time.

    If the file cannot be used any more after the first request was claimed (full disk, locked or damaged file), the
    model is asked, and completions are held in memory until they can be written, at the latest when the process ends.
    A file that was deleted or replaced is opened anew.

    Args:
        model: The wrapped model.
        path: The file. It and its folder are created when the first completion is looked up.
    """

    def __init__(self, model: Model, path: Path) -> None:
        super().__init__(model)
        self._path = path
        self._session = f"{identify_process()} {uuid.uuid4().hex}"
        self._begun = time.time()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._in_flight: dict[str, asyncio.Task[Completion]] = {}
        self._claims: set[str] = set()
        self._renewal: threading.Thread | None = None
        self._held: dict[str, Completion] = {}
        self._unwritten: dict[str, _Write] = {}
        self._has_written = self._warned = False
        self._patience = _BUSY_SECONDS  # for a lock: none after a failure, or each request would wait in turn

    async def complete(self, request: Request) -> Completion:
        """Return the cached completion, or ask the model and cache its completion.

        Raises:
            ProviderError: The model returned none; nothing is cached.
            ResourceError: The file cannot be written, is locked or is damaged, and has been from the start.
        """
        text = canonical_json(request, self.identity)
        key = cache_key(text)
        if known := self._find(key):
            return known
        call = self._in_flight.get(key)
        joined = call is not None
        if call is None:
            call = self._in_flight[key] = asyncio.ensure_future(self._obtain(request, key, text))
            call.add_done_callback(lambda done: self._forget_call(key, done))
        # Shielded: a cancelled caller must not cancel the call for the others, nor lose a completion that was paid for.
        completion = await asyncio.shield(call)
        return replace(completion, cached=True) if joined else completion

    def reject(self, request: Request, completion: Completion) -> None:
        """Mark the completion of a request as unusable, so that processes that start later ask again.

        If the file holds another completion by now, that one stays: a process that started later asked again for it.
        """
        key = cache_key(canonical_json(request, self.identity))
        if key in self._held:
            self._unwritten.pop(key, None)
            asyncio.get_running_loop().call_later(_UNUSABLE_SECONDS, self._held.pop, key, None)
            return
        mark = partial(_mark_unusable, key=key, text=completion.text)
        try:
            with self._writing() as connection:
                mark(connection)
        except ResourceError:
            self._unwritten[key] = mark

    def get(self, request: Request) -> Completion | None:
        """Return the cached completion of a request, or None.

        Raises:
            ResourceError: The file cannot be read.
        """
        return self._find(cache_key(canonical_json(request, self.identity)))

    def store(self, request: Request, completion: Completion) -> None:
        """Cache a completion that was obtained elsewhere.

        Raises:
            ResourceError: The file cannot be written.
        """
        text = canonical_json(request, self.identity)
        self._store_completion(cache_key(text), text, completion)

    async def _obtain(self, request: Request, key: str, text: str) -> Completion:
        """Claim the request and ask the model, or wait for the session that has claimed it."""
        pause = _FIRST_POLL
        while not self._claim(key):
            await asyncio.sleep(pause)
            pause = min(_LONGEST_POLL, 2 * pause)
            if known := self._find(key):
                return known
        try:
            # Another session may have stored it between the lookup and the claim.
            if known := self._find(key):
                self._release(key)
                return known
            with self._renewing(key):
                completion = await self._model.complete(request)
        except BaseException:
            self._release(key)
            raise
        try:
            self._store_completion(key, text, completion)
        except ResourceError as error:
            self._held[key] = completion
            self._unwritten[key] = partial(_insert, key=key, text=text, completion=completion, session=self._session)
            self._warn(error)
        else:
            self._write_held()
        return completion

    def _claim(self, key: str) -> bool:
        """Claim a request; return False if another session holds it."""
        now = time.time()
        try:
            with self._writing() as connection:
                changed = connection.execute(
                    "INSERT INTO claim VALUES (:key, :session, :until) ON CONFLICT (key) DO UPDATE "
                    "SET session = excluded.session, until = excluded.until "
                    # A claim that outlasts two leases was made before the clock was set back; one that outlasts a
                    # single lease may have been made after this session read the clock.
                    "WHERE claim.session = excluded.session OR claim.until NOT BETWEEN :now AND :now + 2 * :lease",
                    {"key": key, "session": self._session, "now": now, "until": now + _LEASE, "lease": _LEASE},
                )
                if changed.rowcount:
                    return True
                holder = connection.execute("SELECT session FROM claim WHERE key = ?", (key,)).fetchone()
                if holder and has_process_died(holder[0].rpartition(" ")[0]):
                    connection.execute("DELETE FROM claim WHERE session = ?", holder)
                return False
        except ResourceError:
            # Two processes asking the same is better than none asking.
            if self._has_written:
                return True
            raise

    def _release(self, key: str) -> None:
        # A claim that cannot be released expires by itself.
        with contextlib.suppress(ResourceError), self._writing() as connection:
            connection.execute("DELETE FROM claim WHERE key = ? AND session = ?", (key, self._session))

    @contextlib.contextmanager
    def _renewing(self, key: str) -> Generator[None]:
        if self._renewal is None:
            # In a thread, because other work may block the event loop for longer than a lease.
            self._renewal = threading.Thread(target=self._renew_claims, args=(weakref.ref(self),), daemon=True)
            self._renewal.start()
        self._claims.add(key)
        try:
            yield
        finally:
            self._claims.discard(key)

    @staticmethod
    def _renew_claims(model: weakref.ref[CachedModel]) -> None:
        while True:
            time.sleep(_RENEWAL)
            if (alive := model()) is None:
                return
            # A copy: meanwhile others are added and removed.
            if claims := tuple(alive._claims):
                with contextlib.suppress(ResourceError), alive._writing() as connection:
                    until = time.time() + _LEASE
                    connection.executemany(
                        "UPDATE claim SET until = ? WHERE key = ? AND session = ?",
                        [(until, key, alive._session) for key in claims],
                    )
            del alive

    def _store_completion(self, key: str, text: str, completion: Completion) -> None:
        with self._writing() as connection:
            _insert(connection, key=key, text=text, completion=completion, session=self._session)

    def _warn(self, error: ResourceError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(
                "the cache of completions %s cannot be written (%s). The run continues and uses every completion, but "
                "completions that still cannot be written when it ends will be requested and paid for again. Free some "
                "space on that disk, or end the program that locks the file.",
                self._path,
                error.__cause__,
            )

    def _write_held(self) -> None:
        with contextlib.suppress(ResourceError):
            for key, write in [*self._unwritten.items()]:
                with self._writing() as connection:
                    write(connection)
                del self._unwritten[key]
                self._held.pop(key, None)

    def _forget_call(self, key: str, call: asyncio.Task[Completion]) -> None:
        del self._in_flight[key]
        if not call.cancelled():
            call.exception()  # retrieved, so that asyncio does not warn if all callers were cancelled

    def _find(self, key: str) -> Completion | None:
        if held := self._held.get(key):
            return replace(held, cached=True)
        try:
            with self._opened() as connection:
                row = connection.execute(
                    "SELECT completion FROM completion LEFT JOIN unusable USING (key) WHERE key = ? "
                    "AND (since IS NULL OR since >= ?)",
                    (key, max(self._begun, time.time() - _UNUSABLE_SECONDS)),
                ).fetchone()
                if row is None:
                    return None
                return read_completion(row[0])
        except ResourceError as error:
            if not self._has_written:
                raise
            self._warn(error)
            return None

    @contextlib.contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        """Yield a connection for a transaction."""
        with self._opened() as connection, connection:
            connection.execute(f"PRAGMA busy_timeout = {round(1000 * self._patience)}")
            yield connection
        self._patience, self._has_written = _BUSY_SECONDS, True

    @contextlib.contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        try:
            with self._lock:
                # SQLite would go on with a deleted file, which no other process sees.
                if self._connection is not None and _identify(self._path) != self._file:
                    self._closing.detach()
                    self._connection.close()
                    self._connection = None
                if self._connection is None:
                    self._connection = _connect(self._path, wait=self._patience)
                    self._file = _identify(self._path)
                    self._closing = weakref.finalize(self, _close, self._connection, self._unwritten)
                yield self._connection
        except (sqlite3.Error, OSError, *_DAMAGE) as error:
            if isinstance(error, sqlite3.OperationalError):
                self._patience = 0.0
            raise ResourceError(
                f"the cache of completions {self._path} cannot be used ({error}). Make sure that the folder is "
                "writable, the disk is not full and no other program locks the file, or name a folder on another disk "
                "in IMAPEVAL_CACHE: some network drives do not support locks. If the file is damaged, move it away: a "
                "new one is created, and its completions are requested and paid for again."
            ) from error


def cache_key(text: str) -> str:
    """Return the cache key of a canonical request: its SHA-256 in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def _insert(connection: sqlite3.Connection, *, key: str, text: str, completion: Completion, session: str) -> None:
    record = asdict(completion)
    if not completion.tokens:
        # Omitted when empty, so that earlier versions of imapeval can read the record.
        del record["tokens"]
    connection.execute("INSERT OR REPLACE INTO completion VALUES (?, ?, ?)", (key, text, json.dumps(record)))
    connection.execute("DELETE FROM unusable WHERE key = ?", (key,))
    connection.execute("DELETE FROM claim WHERE key = ? AND session = ?", (key, session))


def _mark_unusable(connection: sqlite3.Connection, *, key: str, text: str) -> None:
    # From here on no other process stores a new completion, which the mark would be for.
    connection.execute("BEGIN IMMEDIATE")
    row = connection.execute("SELECT completion FROM completion WHERE key = ?", (key,)).fetchone()
    if row and json.loads(row[0])["text"] == text:
        connection.execute("INSERT OR IGNORE INTO unusable VALUES (?, ?)", (key, time.time()))


def _close(connection: sqlite3.Connection, unwritten: Mapping[str, _Write]) -> None:
    with contextlib.suppress(sqlite3.Error, *_DAMAGE):
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * _BUSY_SECONDS)}")
        for write in unwritten.values():
            with connection:
                write(connection)
    connection.close()


def _identify(path: Path) -> tuple[int, int] | None:
    """Return what identifies a file, whatever its path; None if there is none."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _connect(path: Path, *, wait: float) -> sqlite3.Connection:
    make_private_folder(path.parent)
    create_private_file(path)
    connection = sqlite3.connect(path, timeout=wait, check_same_thread=False)
    try:
        _write_ahead(connection, wait=wait)
        # Safe if the process is killed; a power failure may lose the last completions, but never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT):
            raise sqlite3.DatabaseError(f"its format is {found}, but this version of imapeval reads format {_FORMAT}")
        connection.executescript(_TABLES)
        if not found:
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
    except BaseException:
        connection.close()
        raise
    return connection


def _write_ahead(connection: sqlite3.Connection, *, wait: float) -> None:
    """Switch to write-ahead logging, in which readers and writers do not block each other."""
    give_up = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            # If another process is creating the same file, SQLite reports "busy" immediately, whatever the timeout.
            # The primary error code is in the lower byte.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_BUSY_PAUSE)
