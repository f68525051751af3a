"""Requests out to files in the form of OpenAI's Batch API, and the results back in.

A folder holds what was handed out: `requests-001.jsonl` and so on, which `vllm run-batch` reads as well, and
`state.sqlite`, which says what the requests are in full and what became of them. A request is known by the key of the
cache of completions, its `custom_id`. Good completions go into that cache, failures into the state. Both are written
so that a process killed at any point leaves a folder to go on with.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from pydantic import ValidationError

from imapeval.errors import ProviderError, ResourceError, ServiceError, UsageError
from imapeval.files import create_private_file
from imapeval.llm.batch_results import ResultLine, read_lines
from imapeval.llm.dry_run import pending_error
from imapeval.llm.middleware.cache import cache_key
from imapeval.llm.protocol import PERMANENT_KINDS, Message, Request, canonical_json
from imapeval.llm.providers import chat_format

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from imapeval.llm.middleware.cache import CachedModel

MAX_LINES = 50_000
MAX_BYTES = 200_000_000
"""Of one file: "up to 50,000 requests, and can be up to 200 MB in size" (openai 3.52, batches.create)."""

ENDPOINT = "/v1/chat/completions"
"""The one that every request names."""

_FORMAT = 1
"""Of the state, kept in its user_version."""

_TABLES = """
CREATE TABLE model (one INTEGER PRIMARY KEY CHECK (one = 1), identity TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE refused (parameter TEXT PRIMARY KEY);
CREATE TABLE request (
    key TEXT PRIMARY KEY, text TEXT NOT NULL, file INTEGER NOT NULL, answered INTEGER NOT NULL
);
CREATE TABLE failure (
    key TEXT NOT NULL, result TEXT NOT NULL, file INTEGER NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL, raw TEXT,
    PRIMARY KEY (key, result)
);
"""
"""`file` is the number of the latest file with the request, in `failure` that at the time. `result` is the result's own
id: the same failure imported again is not a new one."""

_NOT_FAILED = "NOT EXISTS (SELECT * FROM failure WHERE failure.key = request.key AND failure.file = request.file)"
"""Of a request: no failure of it has been seen since it was last written."""

_BUSY_SECONDS = 30.0
"""How long to wait for another process that writes to the same folder."""


@dataclass(frozen=True, slots=True)
class BatchFile:
    """A file of requests, complete and ready to be handed in."""

    path: Path
    requests: int
    bytes: int


@dataclass(slots=True)
class ImportReport:
    """What the results of batches held. Places are texts such as "results.jsonl, line 7".

    Attributes:
        new: Completions that were kept.
        known: Results that say what was kept before.
        differing: Places of results that say something else than what was kept before, which stays.
        failures: Kind and message of the failures of requests that have no completion, by `custom_id`.
        foreign: Places of results of requests that were never exported to the folder.
        unreadable: Lines that are no result: what is wrong, by place.
        prompt_tokens, completion_tokens: Of the new completions, as the server counted them.
    """

    new: int = 0
    known: int = 0
    differing: list[str] = field(default_factory=list[str])
    failures: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    foreign: list[str] = field(default_factory=list[str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    prompt_tokens: int = 0
    completion_tokens: int = 0


class BatchFolder:
    """What was handed out to be answered in batches, and what became of it; used in a `with`.

    Args:
        path: The folder; made where it does not exist.
        model: Identity and, in the server's word, name of the model that is asked; None for that of an existing folder.

    Raises:
        UsageError: The folder belongs to another model, or there is none yet.
        ResourceError: The folder or its state cannot be used.
    """

    def __init__(self, path: Path, *, model: tuple[str, str] | None = None) -> None:
        self.path = path
        state = path / "state.sqlite"
        if model is None and not state.is_file():
            raise UsageError(f"{path} is no folder of batches. `imapeval batch export ... --out {path}` makes one.")
        with self._guarded():
            path.mkdir(parents=True, exist_ok=True)
            self._state = _connect(state)
            found: tuple[str, str] | None = self._state.execute("SELECT identity, name FROM model").fetchone()
        if found is None and model is None:
            self._state.close()
            raise UsageError(f"{path} holds no requests. `imapeval batch export ... --out {path}` writes them.")
        self.identity, self._name = found or model or ("", "")
        if model is not None:
            self.require_model(model[0])

    def __enter__(self) -> BatchFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self._state.close()

    def require_model(self, identity: str) -> None:
        """Make sure that the requests are to the model of that identity.

        Raises:
            UsageError: They are to another one.
        """
        if identity != self.identity:
            self._state.close()
            raise UsageError(
                f"{self.path} holds requests to {self.identity}, not to {identity}. Choose another folder, or give the "
                "same --llm and --base-url."
            )

    def failure_lookup(self) -> Callable[[Request], ProviderError]:
        """Return what says of a request that has no completion why: it failed for a lasting reason, or is pending.

        It goes by what has been imported by now.
        """
        rows = self._state.execute("SELECT key, kind, message, raw FROM failure ORDER BY rowid")
        failures = {key: (kind, message, raw) for key, kind, message, raw in rows if kind in PERMANENT_KINDS}
        identity = self.identity

        def reply(request: Request) -> ProviderError:
            failure = failures.get(cache_key(canonical_json(request, identity))) if failures else None
            return (
                pending_error(request)
                if failure is None
                else ProviderError(failure[1], kind=failure[0], raw=failure[2])
            )

        return reply

    @contextlib.contextmanager
    def open_writer(self) -> Generator[BatchWriter]:
        """Yield what writes requests to new files, which appear at the end, or not at all where that fails.

        Raises:
            ResourceError: The folder cannot be written.
        """
        with self._guarded():
            # Keeps a second process from writing to the same files.
            self._state.execute("BEGIN IMMEDIATE")
            for stale in self.path.glob("*.part"):
                stale.unlink()
            self._state.execute("INSERT OR IGNORE INTO model VALUES (1, ?, ?)", (self.identity, self._name))
            writer = BatchWriter(self, self._state)
            try:
                yield writer
                # The state first: results of a file that it does not know are lost, an absent file is written again.
                writer.close()
                self._state.commit()
            except BaseException:
                writer.close()
                self._state.rollback()
                raise
            for file in writer.files:
                _unfinished(file.path).replace(file.path)

    def import_results(self, results: Sequence[Path], *, cache: CachedModel) -> ImportReport:
        """Keep the completions that are in files of results. Taking a file twice changes nothing.

        Args:
            results: Files of results, in any order.
            cache: Where the completions go; of the same model.

        Raises:
            InputError: A file cannot be read at all.
            ResourceError: The state or the cache cannot be written.
        """
        taken = ImportReport()
        with self._guarded():
            for path in results:
                for line, content in read_lines(path):
                    self._take(content, f"{path}, line {line}", taken, cache)
            self._state.commit()
        return taken

    def count_waiting(self) -> dict[str, int]:
        """Return how many requests of each file have no result yet, by the name of the file."""
        rows = self._state.execute(
            f"SELECT file, count(*) FROM request WHERE NOT answered AND {_NOT_FAILED} GROUP BY file ORDER BY file"
        )
        return {self.file_path(number).name: count for number, count in rows if self.file_path(number).exists()}

    def file_path(self, number: int) -> Path:
        """Return the path of the file of that number, from 1."""
        return self.path / f"requests-{number:03}.jsonl"

    def _take(self, content: bytes, place: str, taken: ImportReport, cache: CachedModel) -> None:
        try:
            result = ResultLine.model_validate_json(content)
        except ValidationError as error:
            taken.unreadable[place] = error.errors(include_url=False)[0]["msg"]
            return
        key = result.custom_id
        row = self._state.execute("SELECT text, file FROM request WHERE key = ?", (key,)).fetchone()
        if row is None:
            taken.foreign.append(place)
            return
        request = _restore(row[0])
        kept = cache.get(request)
        try:
            completion = result.parse_completion(request, who=self._who)
        except (ProviderError, ServiceError) as error:
            if kept is None:
                taken.failures[key] = (error.kind, str(error))
                self._note_failure(result, row[1], error, request)
            return
        taken.failures.pop(key, None)
        if kept is None:
            cache.store(request, completion)
            taken.new += 1
            taken.prompt_tokens += completion.usage.prompt_tokens
            taken.completion_tokens += completion.usage.completion_tokens
        elif kept.text == completion.text:
            taken.known += 1
        else:
            taken.differing.append(place)
        self._state.execute("UPDATE request SET answered = 1 WHERE key = ?", (key,))

    def _note_failure(
        self, result: ResultLine, file: int, error: ProviderError | ServiceError, request: Request
    ) -> None:
        kind = error.kind
        refused = chat_format.find_unsupported_parameter(
            result.error_reply(), self.request_body(request), self._refused
        )
        if refused is not None:
            # Of no interest to whoever asked: the next file says the same in another way.
            self._state.execute("INSERT OR IGNORE INTO refused VALUES (?)", (refused,))
            kind = "refused-parameter"
        raw = error.raw if isinstance(error, ProviderError) else None
        self._state.execute(
            "INSERT OR IGNORE INTO failure VALUES (?, ?, ?, ?, ?, ?)",
            (result.custom_id, result.id or cache_key(result.model_dump_json()), file, kind, str(error), raw),
        )

    def request_body(self, request: Request) -> Any:
        """Return what is sent to the server for a request, ready for JSON; see `chat_format.request_body`."""
        limit = "max_completion_tokens" if self._own else "max_tokens"
        return chat_format.request_body(request, self._name, refused=self._refused, limit=limit)

    @property
    def _own(self) -> bool:
        """Whether it is OpenAI's own server: its identity has no address."""
        return self.identity == f"openai:{self._name}"

    @property
    def _who(self) -> str:
        """The model as a live one calls itself, so that failures read the same."""
        address = "https://api.openai.com/v1" if self._own else self.identity.removeprefix(f"openai:{self._name}@")
        return f"the model {self._name!r} at {address}"

    @property
    def _refused(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._state.execute("SELECT parameter FROM refused"))

    @contextlib.contextmanager
    def _guarded(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ResourceError(
                f"the folder of batches {self.path} cannot be used ({error}). Make sure that it can be written, that "
                "the disk is not full and that no other process writes to it. If its state.sqlite is damaged, export "
                "to a new folder."
            ) from error


class BatchWriter:
    """Writes requests to files of at most `MAX_LINES` and `MAX_BYTES`, each request once.

    Attributes:
        files: What was written.
        waiting: How many of the requests are in an earlier file of the folder that has no result of them yet. They are
            not written again; once the file is gone they are.
    """

    def __init__(self, folder: BatchFolder, state: sqlite3.Connection) -> None:
        self.files: list[BatchFile] = []
        self.waiting = 0
        self._folder = folder
        self._state = state
        (self._number,) = state.execute("SELECT coalesce(max(file), 0) FROM request").fetchone()
        self._seen: set[str] = set()
        self._file: BinaryIO | None = None
        self._lines = 0

    def add(self, request: Request) -> None:
        """Write a request, unless it was added before or waits for its result."""
        text = canonical_json(request, self._folder.identity)
        key = cache_key(text)
        if key in self._seen:
            return
        self._seen.add(key)
        if self._is_waiting(key):
            self.waiting += 1
            # It may have been answered, and the completion dropped from the cache: its results are wanted again.
            self._state.execute("UPDATE request SET answered = 0 WHERE key = ?", (key,))
            return
        record = {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": self._folder.request_body(request)}
        # Chinese as it is: readable, and half the size. But half a surrogate pair has no form other than its escape.
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        if self._file is None or self._lines == MAX_LINES or self._file.tell() + len(line) > MAX_BYTES:
            self.close()
            self._number += 1
            draft = _unfinished(self._folder.file_path(self._number))
            create_private_file(draft)
            self._file = draft.open("wb")
        self._file.write(line)
        self._lines += 1
        self._state.execute("INSERT OR REPLACE INTO request VALUES (?, ?, ?, 0)", (key, text, self._number))

    def close(self) -> None:
        """Finish the file that is being written, if any."""
        if self._file is not None:
            self.files.append(BatchFile(self._folder.file_path(self._number), self._lines, self._file.tell()))
            self._file.close()
            self._file, self._lines = None, 0

    def _is_waiting(self, key: str) -> bool:
        row = self._state.execute(f"SELECT file FROM request WHERE key = ? AND {_NOT_FAILED}", (key,)).fetchone()
        return row is not None and self._folder.file_path(row[0]).exists()


def _restore(text: str) -> Request:
    """Return the request of a canonical text."""
    fields = json.loads(text)
    del fields["identity"]
    return Request(**fields | {"messages": tuple(Message(**message) for message in fields["messages"])})


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _connect(path: Path) -> sqlite3.Connection:
    # Transactions are begun by hand: a batch of requests is one.
    create_private_file(path)
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS)
    try:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT):
            raise sqlite3.DatabaseError(f"its format is {found}, this imapeval reads {_FORMAT}")
        if found == 0:
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {_FORMAT}; COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection
