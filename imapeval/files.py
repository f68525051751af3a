"""Private files, written atomically, and whether the process that left a file behind still runs.

Files may hold texts of patients: a new file can be read by its owner only.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DRAFT_SUFFIX = ".new"
"""Suffix of files that are being written; a killed process may leave one behind."""


def open_private(path: str, flags: int) -> int:
    """Return a file descriptor; a new file is readable by its owner only. An `opener` for `open`."""
    return os.open(path, flags, 0o600)


def create_private_file(path: Path) -> None:
    """Create an empty private file if there is none, for libraries that open a file by its path.

    Raises:
        OSError: The file cannot be created.
    """
    # An existing file must not even be opened: closing it would drop all POSIX locks that this process holds on it,
    # also those of SQLite's connections, and another process could then damage a database that is in use
    # (https://www.sqlite.org/howtocorrupt.html, section 2.2).
    with suppress(FileExistsError):
        os.close(open_private(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY))


def is_process_running(process: int) -> bool:
    """Return whether the process with this id runs on this machine; True where that cannot be found out."""
    # On Windows, signal 0 terminates the process.
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old or the new content, never a mixture.

    A symbolic link at `path` is replaced, and its target is left alone. A new file can be read by its owner only; a
    replaced file keeps its mode. Devices and pipes, such as /dev/stdout, are written to directly.

    Raises:
        OSError: The file cannot be written; the old content is kept.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}{DRAFT_SUFFIX}")
    # O_EXCL: do not follow a link that someone has put there.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        with suppress(FileNotFoundError):
            before = path.lstat()
            if stat.S_ISREG(before.st_mode):
                draft.chmod(stat.S_IMODE(before.st_mode))
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
