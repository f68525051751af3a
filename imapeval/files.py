"""Files that may hold texts: a new one can be read by its owner only, and is written whole.

And what a process that was killed leaves behind: whoever finds it asks whether that process still runs.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DRAFT_SUFFIX = ".new"
"""How the name of a file ends that a killed process may have left half written."""


def open_private(path: str, flags: int) -> int:
    """Return the descriptor of a file that its owner alone may read where it is new: an `opener` for `open`."""
    return os.open(path, flags, 0o600)


def create_private_file(path: Path) -> None:
    """Make an empty file, for what opens it by its path alone; one that is there stays as it is.

    Raises:
        OSError: The file cannot be made.
    """
    with open(path, "ab", opener=open_private):
        pass


def is_process_running(process: int) -> bool:
    """Tell whether a process of this machine runs, by its number; True where nobody is told."""
    # On Windows signal 0 is not a question.
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that a reader finds the old or the new content, never half of it.

    A symbolic link at `path` is replaced, and what it points to is not touched. A new file can be read by its owner
    only; one that is replaced keeps its mode. A device or a pipe, such as /dev/stdout, is written to as it is.

    Raises:
        OSError: The file cannot be written; what was there before still is.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}{DRAFT_SUFFIX}")
    # O_EXCL follows no link that somebody put there.
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
