"""Usage and cost of a language model, on disk: rewritten at every call, so that a killed process hides no cost."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from imapeval._resources import cache_folder
from imapeval.errors import InputError, UsageError
from imapeval.evaluation.runs.schema import RunUsage
from imapeval.files import lock_file, make_private_folder, open_private
from imapeval.parsing import describe_validation_error, parse_json

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from imapeval.llm.middleware.budget import Ledger

_BYTES = 1024
"""Size of the file. It is constant, so that it can be overwritten on a full disk."""

_MIN_FREE = 16_000_000
"""Bytes that must be free on the disk before a request is sent: room for the results of a batch, and for a thousand
completions in flight of 10 kB each with their requests if the cache is on the same disk."""


class UsageFile:
    """Writes a ledger's report to a file, now and after each call.

    No request is sent if the disk is full or the file is gone, because what it costs might be lost.

    Args:
        path: The file; created if it does not exist, readable by its owner only.
        ledger: Counts the calls.

    Raises:
        UsageError: The file cannot be opened or written, or is a symbolic link.
    """

    def __init__(self, path: Path, ledger: Ledger) -> None:
        # Unbuffered, so that nothing is lost when the process is killed and closing cannot fail.
        flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with report_write_errors(path), ExitStack() as opened:
            self._file = opened.enter_context(os.fdopen(open_private(os.fspath(path), flags), "wb", buffering=0))
            self._store(ledger.report())
            opened.pop_all()
        self._path = path
        ledger.on_change(self._write, check=self._check_space)

    def clear(self) -> None:
        """Empty the file, which `read_usage` then takes for none, until the next call.

        Raises:
            OSError: It cannot be emptied.
        """
        self._file.truncate(0)

    def close(self) -> None:
        """Write and check nothing more."""
        self._file.close()

    def _check_space(self) -> None:
        """Check that what is about to be paid for can be saved.

        Raises:
            UsageError: The file has been removed, most likely with its folder, or the disk has too little room.
        """
        # The ledger may count other work after the run.
        if self._file.closed:
            return
        try:
            self._path.stat()
            disk = shutil.disk_usage(self._path.parent)
        except FileNotFoundError as error:
            raise UsageError(
                f"{self._path} has been removed or moved, so no request is sent: its result could not be saved. "
                "Repeat the command; completions in the cache are not asked for again."
            ) from error
        except OSError:
            return
        # Some network file systems do not tell their size.
        if disk.total and disk.free < _MIN_FREE:
            raise UsageError(
                f"the disk of {self._path.parent} is almost full ({disk.free / 1e6:.1f} MB free), so no request is "
                f"sent: its result might be lost. Free {_MIN_FREE / 1e6:.0f} MB and repeat the command to resume."
            )

    def _write(self, usage: Mapping[str, Any]) -> None:
        # A call may end after the run, and must not fail if its cost cannot be written; the next report includes it.
        if not self._file.closed:
            with suppress(OSError):
                self._store(usage)

    def _store(self, usage: Mapping[str, Any]) -> None:
        self._file.seek(0)
        rest = memoryview(json.dumps(usage).encode().ljust(_BYTES))
        while rest:
            rest = rest[self._file.write(rest) :]


@contextmanager
def add_up_usage(out: Path, ledger: Ledger | None) -> Generator[None]:
    """Keep the usage of a command in a file beside its output, FILE.usage.json, until the command has succeeded.

    What a killed or interrupted command has spent for the same output is added to the ledger first.

    Args:
        out: The output, which is written as a whole at the end; for a command without one, a path in its place.
        ledger: Counts the calls; None if there is no model.

    Raises:
        UsageError: Another process writes the same output, or the file cannot be written.
        InputError: The file is damaged.
    """
    if ledger is None:
        yield
        return
    path = out.with_name(f"{out.name}.usage.json")
    with report_write_errors(path):
        make_private_folder(path.parent)
        lock = lock_file(path)
    if lock is None:
        raise UsageError(f"another process is making {out}. Wait for it to end.")
    with lock:
        if (earlier := read_usage(path, fix="Remove it: what it says is then not counted.")) is not None:
            ledger.add_earlier_sessions(earlier)
        file = UsageFile(path, ledger)
        try:
            yield
            with suppress(OSError):
                file.clear()  # Windows does not remove a file that is open
                path.unlink()
        finally:
            file.close()


def read_usage(path: Path, *, fix: str) -> dict[str, Any] | None:
    """Return the content of a usage file; None if it is missing or empty, as a killed process may leave it.

    Args:
        path: The file.
        fix: What to do if it is damaged.

    Raises:
        InputError: The file is damaged or unreadable.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix=fix) from error
    if not content.strip():
        return None
    try:
        usage = parse_json(content)
        RunUsage.model_validate(usage)
    except ValueError as error:
        raise InputError(f"not a valid usage file ({describe_validation_error(error)})", path=path, fix=fix) from error
    return usage


@contextmanager
def report_write_errors(path: Path) -> Generator[None]:
    """Raise a `UsageError` for an `OSError`."""
    try:
        yield
    except OSError as error:
        # Runs at URLs, and the usage of commands without output, are in the cache.
        option = "IMAPEVAL_CACHE" if path.is_relative_to(cache_folder()) else "--out"
        raise UsageError(
            f"cannot write to {path} ({error.strerror}). Choose another place with {option}, or free some space and "
            "repeat the command to resume."
        ) from error
