"""Private files, written atomically, and whether the process that left a file behind still runs.

Files may hold texts of patients: a new file can be read by its owner only.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from imapeval.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

DRAFT_SUFFIX = ".new"
"""Suffix of files that are being written; a killed process may leave one behind."""

_LOCKED_BYTE = 1 << 30


def expand_user(path: str | Path) -> Path:
    """Return a path with the folder of a user in place of "~" or "~name"; as it is if there is no such user."""
    # `Path.expanduser` raises a RuntimeError then.
    return Path(os.path.expanduser(path))  # noqa: PTH111


def open_private(path: str, flags: int) -> int:
    """Return a file descriptor; a new file is readable by its owner only. An `opener` for `open`."""
    return os.open(path, flags, 0o600)


def make_private_folder(path: Path) -> None:
    """Create a folder, and those above it, if they do not exist; only its owner can enter a new one.

    Raises:
        OSError: It cannot be created.
    """
    # `mkdir(parents=True)` applies the mode to the last one only.
    if not path.is_dir():
        make_private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def private_folder(path: Path) -> Generator[None]:
    """Create a folder as `make_private_folder` does. After an error, those that it created and are empty are removed.

    Raises:
        OSError: It cannot be created.
    """
    created = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        make_private_folder(path)
        yield
    except BaseException:
        for folder in created:
            with suppress(OSError):
                folder.rmdir()
        raise


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


def lock_file(path: Path) -> IO[bytes] | None:
    """Lock a file, which is created if it does not exist, until what is returned is closed or the process ends.

    Returns:
        None if another process holds the lock.

    Raises:
        OSError: The file cannot be opened, or its file system refuses locks, as some network drives do.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    file = os.fdopen(open_private(os.fspath(path), flags), "r+b", buffering=0)
    try:
        if sys.platform == "win32":
            import msvcrt

            # Others cannot read what is locked there: a byte behind the end.
            file.seek(_LOCKED_BYTE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # how the two systems report that another process holds it
        file.close()
        return None
    except OSError:
        file.close()
        raise
    return file


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


def identify_process() -> str:
    """Return what identifies this process on all machines: machine and PID namespace, a space, and its PID."""
    return f"{_locate_processes()} {os.getpid()}"


def has_process_died(identity: str) -> bool:
    """Return whether an identified process is known to have died; False if it ran where that cannot be checked."""
    place, process = identity.split(" ")
    return place == _locate_processes() and not is_process_running(int(process))


def _locate_processes() -> str:
    namespace = ""
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return f"{socket.gethostname()}/{namespace}".replace(" ", "_")


def refuse_stream(path: Path) -> None:
    """Refuse a pipe, a device or a socket in place of a file: reading it could wait, or go on, forever.

    Raises:
        InputError: It is one.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError("is a pipe, a device or a socket", path=path, fix="Give a file.")


def replace_file(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file atomically: readers see the old or the new content, never a mixture.

    A symbolic link at `path` is replaced, and its target is left alone. A new file can be read by its owner only; a
    replaced file keeps its mode. Devices and pipes, such as /dev/stdout, are written to directly.

    Raises:
        OSError: The file cannot be written; the old content is kept.
    """
    parts = (content,) if isinstance(content, bytes) else content
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            device.writelines(parts)
        return
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}{DRAFT_SUFFIX}")
    # O_EXCL: do not follow a link that someone has put there.
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
        with suppress(FileNotFoundError):
            before = path.lstat()
            if stat.S_ISREG(before.st_mode):
                draft.chmod(stat.S_IMODE(before.st_mode))
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def write_private_file(path: Path, content: bytes | Iterable[bytes], *, fix: str) -> None:
    """Write a file as `replace_file` does, in a private folder that is made if necessary.

    Args:
        path: The file.
        content: What to write.
        fix: What the user can do if it cannot be written, as a sentence.

    Raises:
        UsageError: It cannot be written; the old content is kept.
    """
    try:
        with private_folder(path.parent):
            replace_file(path, content)
    except OSError as error:
        raise UsageError(f"cannot write {path} ({error.strerror}). {fix}") from error


def append_to_file(path: Path, content: bytes) -> None:
    """Append to a file, on a line of its own; a new file can be read by its owner only.

    The file stays the same one: whoever names it, such as a CI server, may have it open or own it. What is appended is
    there as a whole or, if the disk is full, not at all. Devices and pipes, such as /dev/stdout, are written to.

    Raises:
        OSError: The file cannot be written, or is a symbolic link to a file, which may be anybody's.
    """
    stream = path.exists() and not path.is_file()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
    if not stream:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(open_private(os.fspath(path), flags), "wb", buffering=0) as file:
        before = 0 if stream else file.seek(0, os.SEEK_END)
        rest = memoryview(b"\n" + content if before else content)
        try:
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            if not stream:
                file.truncate(before)
            raise
