"""Batches: requests are exported to files in the format of OpenAI's Batch API, and their results imported.

A batch folder contains the exported files, `requests-001.jsonl` and so on, which `vllm run-batch` also reads, and
`state.sqlite` with the full requests and their outcomes. The `custom_id` of a request is its key in the completion
cache. Completions are imported into that cache, failures into the state. A process that is killed at any point leaves a
folder that can be used further.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from pydantic import ValidationError

from imapeval.errors import ProviderError, ResourceError, ServiceError, UsageError
from imapeval.files import create_private_file, make_private_folder
from imapeval.llm.batch_results import BatchResultLine, FailedResults, read_lines
from imapeval.llm.batch_state import open_state
from imapeval.llm.dry_run import pending_error
from imapeval.llm.middleware.cache import cache_key
from imapeval.llm.protocol import PERMANENT_KINDS, Request, canonical_json, parse_canonical
from imapeval.llm.providers import chat_format
from imapeval.llm.providers.openai import OPENAI_URL
from imapeval.parsing import describe_validation_error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from imapeval.llm.middleware.cache import CachedModel

MAX_LINES = 50_000
MAX_BYTES = 200_000_000
"""Limits of a file: "up to 50,000 requests, and can be up to 200 MB in size" (openai 3.52, batches.create)."""

ENDPOINT = "/v1/chat/completions"
"""The endpoint that every request names."""

_NOT_FAILED = "NOT EXISTS (SELECT * FROM failure WHERE failure.key = request.key AND failure.file = request.file)"
"""Condition on a request: it has not failed since it was last exported."""


@dataclass(frozen=True, slots=True)
class BatchFile:
    """A complete file of requests, ready for submission."""

    path: Path
    requests: int
    bytes: int


@dataclass(slots=True)
class ImportReport:
    """What an import of batch results found. Locations have the form "results.jsonl, line 7".

    Attributes:
        new: Number of completions that were added to the cache.
        known: Number of results that equal the cached completion.
        differing: Locations of results that differ from the cached completion, which is kept.
        failures: Kind and message of the failures of requests that have no completion, by `custom_id`.
        foreign: Locations of results whose requests were never exported to the folder.
        unreadable: What is wrong with lines that are not results, by location.
        prompt_tokens, completion_tokens: Tokens of the new completions, as the server counted them.
        uncounted: Number of new completions without usable counts of tokens.
    """

    new: int = 0
    known: int = 0
    differing: list[str] = field(default_factory=list[str])
    failures: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    foreign: list[str] = field(default_factory=list[str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0


class BatchFolder:
    """A folder of batches, with its requests and their outcomes; a context manager.

    Args:
        path: The folder; created if it does not exist and `model` is given.
        model: Identity of the model, and its name on the server; None for the model of an existing folder.

    Raises:
        UsageError: The folder belongs to another model, or it does not exist and `model` is None.
        ResourceError: The folder or its state cannot be used.
    """

    def __init__(self, path: Path, *, model: tuple[str, str] | None = None) -> None:
        self.path = path
        state = path / "state.sqlite"
        if model is None and not state.is_file():
            raise UsageError(f"{path} is not a batch folder. Create one with `imapeval batch export ... --out {path}`.")
        with self._guarded():
            make_private_folder(path)
            self._state, found = open_state(state)
        known = found or model
        if known is None:
            self._state.close()
            raise UsageError(f"{path} contains no requests. `imapeval batch export ... --out {path}` writes them.")
        self.identity, self._name = known
        if model is not None:
            self.require_model(model[0])

    def __enter__(self) -> BatchFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self._state.close()

    def require_model(self, identity: str) -> None:
        """Check that the folder belongs to the model with that identity.

        Raises:
            UsageError: It belongs to another model.
        """
        if identity != self.identity:
            self._state.close()
            raise UsageError(
                f"{self.path} contains requests to {self.identity}, not to {identity}. Choose another folder, or give "
                "the same --llm and --base-url."
            )

    def failure_lookup(self) -> Callable[[Request], ProviderError]:
        """Return a function from a request without a completion to its error: a permanent failure, or "pending".

        It reflects what has been imported so far.

        Raises:
            ResourceError: The state is damaged.
        """
        with self._guarded():
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
        """Yield a writer of new files of requests, which appear when the context ends without an error.

        Raises:
            ResourceError: The folder cannot be written.
        """
        with self._guarded():
            # Prevents a second process from writing the same files.
            self._state.execute("BEGIN IMMEDIATE")
            self._remove_drafts()
            self._state.execute("INSERT OR IGNORE INTO model VALUES (1, ?, ?)", (self.identity, self._name))
            writer = BatchWriter(self, self._state)
            try:
                yield writer
                writer.close()
                # The state first: results of an unknown file would be lost, but a missing file is written again.
                self._state.commit()
            except BaseException:
                with contextlib.suppress(OSError):  # what is still to be written may not fit on the disk
                    writer.close()
                self._remove_drafts()
                self._state.rollback()
                raise
            for file in writer.files:
                _unfinished(file.path).replace(file.path)

    def import_results(self, results: Sequence[Path], *, cache: CachedModel) -> ImportReport:
        """Import files of results. Importing a file twice changes nothing.

        Args:
            results: Files of results, in any order.
            cache: The completion cache of the same model.

        Raises:
            InputError: A file cannot be read at all.
            ResourceError: The state or the cache cannot be written.
        """
        report = ImportReport()
        with self._guarded():
            failed = FailedResults(text for (text,) in self._state.execute("SELECT result FROM failure"))
            for path in results:
                for line, content in read_lines(path):
                    self._import_line(content, f"{path}, line {line}", report, cache, failed)
                self._state.executemany("INSERT OR IGNORE INTO failure VALUES (?, ?, ?, ?, ?, ?)", failed.take())
            self._state.commit()
        return report

    def count_waiting(self) -> dict[str, int]:
        """Return how many requests of each file have no result yet, by file name."""
        with self._guarded():
            rows = self._state.execute(
                f"SELECT file, count(*) FROM request WHERE NOT answered AND {_NOT_FAILED} GROUP BY file ORDER BY file"
            ).fetchall()
        return {self.file_path(number).name: count for number, count in rows if self.file_path(number).exists()}

    def file_path(self, number: int) -> Path:
        """Return the path of the file of that number, from 1."""
        return self.path / f"requests-{number:03}.jsonl"

    def _remove_drafts(self) -> None:
        for draft in self.path.glob("requests-*.jsonl.part"):
            draft.unlink()

    def _import_line(
        self, content: bytes, location: str, report: ImportReport, cache: CachedModel, failed: FailedResults
    ) -> None:
        try:
            result = BatchResultLine.model_validate_json(chat_format.repair(content))
        except ValidationError as error:
            report.unreadable[location] = describe_validation_error(error)
            return
        failed.note_id(result)
        key = result.custom_id
        row = self._state.execute("SELECT text, file FROM request WHERE key = ?", (key,)).fetchone()
        if row is None:
            report.foreign.append(location)
            return
        if cache_key(row[0]) != key:
            raise sqlite3.DatabaseError("a request in state.sqlite is damaged")
        request = parse_canonical(row[0])
        cached = cache.get(request)
        try:
            completion = result.parse_completion(request, sender=self._sender)
        except (ProviderError, ServiceError) as error:
            if cached is None:
                kind = self._note_refusal(result, request) or error.kind
                report.failures[key] = (kind, str(error))
                raw = error.raw if isinstance(error, ProviderError) else None
                failed.add(result, location, (row[1], kind, str(error), raw))
            return
        report.failures.pop(key, None)
        if cached is None:
            cache.store(request, completion)
            report.new += 1
            report.prompt_tokens += completion.usage.prompt_tokens
            report.completion_tokens += completion.usage.completion_tokens
            report.uncounted += completion.usage.prompt_tokens == 0
        elif cached.text == completion.text:
            report.known += 1
        else:
            report.differing.append(location)
        self._state.execute("UPDATE request SET answered = 1 WHERE key = ?", (key,))

    def _note_refusal(self, result: BatchResultLine, request: Request) -> str | None:
        """Note the parameter that the server refuses, and return the kind of this failure; None if there is none."""
        reply = result.error_reply()
        # The request may have been exported before an earlier result showed that the parameter is refused.
        for known in (self._refused, frozenset[str]()):
            refused = chat_format.find_unsupported_parameter(reply, self.request_body(request, refused=known), known)
            if refused is not None:
                # Not a failure of the request: the next export omits or replaces the parameter.
                self._state.execute("INSERT OR IGNORE INTO refused VALUES (?)", (refused,))
                return "refused-parameter"
        return None

    def request_body(self, request: Request, *, refused: frozenset[str] | None = None) -> Any:
        """Return the body of a request, ready for JSON, by default without the parameters known to be refused."""
        limit = "max_completion_tokens" if self._is_openai else "max_tokens"
        known = self._refused if refused is None else refused
        return chat_format.request_body(request, self._name, refused=known, limit=limit)

    @property
    def _is_openai(self) -> bool:
        """Whether it is OpenAI's own server, so that the identity has no address."""
        return self.identity == f"openai:{self._name}"

    @property
    def _sender(self) -> str:
        """Model and server in error messages, as in those of `OpenAIModel`."""
        address = OPENAI_URL if self._is_openai else self.identity.removeprefix(f"openai:{self._name}@")
        return f"the model {self._name!r} at {address}"

    @property
    def _refused(self) -> frozenset[str]:
        return frozenset(name for (name,) in self._state.execute("SELECT parameter FROM refused"))

    @contextlib.contextmanager
    def _guarded(self) -> Generator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeError) as error:  # damaged text is not always an error of SQLite
            raise ResourceError(
                f"the batch folder {self.path} cannot be used ({error}). Make sure that it is writable, that the disk "
                "is not full and that no other process writes to it. If its state.sqlite is damaged, export to a new "
                "folder."
            ) from error


class BatchWriter:
    """Writes requests to files of at most `MAX_LINES` and `MAX_BYTES`, each request once.

    Attributes:
        files: The files written so far.
        waiting: Number of requests that are in an earlier file of the folder and have no result yet. They are not
            written again, unless that file was deleted.
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
        """Write a request, unless it was already added or is waiting for its result."""
        text = canonical_json(request, self._folder.identity)
        key = cache_key(text)
        if key in self._seen:
            return
        self._seen.add(key)
        if self._is_waiting(key):
            self.waiting += 1
            # If it was answered but its completion was deleted from the cache, its result is needed again.
            self._state.execute("UPDATE request SET answered = 0 WHERE key = ?", (key,))
            return
        record = {"custom_id": key, "method": "POST", "url": ENDPOINT, "body": self._folder.request_body(request)}
        # Chinese is not escaped: it is readable and half the size. A lone surrogate can only be written as an escape.
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
        """Finish the current file, if any."""
        if self._file is not None:
            file, self._file = self._file, None
            with file:
                self.files.append(BatchFile(self._folder.file_path(self._number), self._lines, file.tell()))
            self._lines = 0

    def _is_waiting(self, key: str) -> bool:
        row = self._state.execute(f"SELECT file FROM request WHERE key = ? AND {_NOT_FAILED}", (key,)).fetchone()
        return row is not None and self._folder.file_path(row[0]).exists()


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")
