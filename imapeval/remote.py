"""Files of other storage by their URL, such as `s3://bucket/answers.parquet`: all that fsspec reaches.

A `file://` URL is another spelling of a path and is treated as one. Files of other storage are copied to this computer
before they are read. Output is written to this computer first, where files can be locked and lines appended, and copied
to its URL at the end, also after an error. What did not arrive is kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import threading
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

from imapeval._optional import installed, require
from imapeval._resources import cache_folder
from imapeval.errors import InputError, UsageError
from imapeval.files import lock_file, make_private_folder
from imapeval.redaction import redact, register_url_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_Made = TypeVar("_Made")

_FIX = "Check the address, the credentials, and whether the storage's package is installed, such as s3fs for s3://."

MAX_BYTES = 16 * 2**30
"""Most bytes that are copied from a URL, after unpacking: more than any file of answers has, less than fills a disk."""

_PATIENCE = 60.0
"""Seconds in which at least `_LEAST_BYTES` of a file have to arrive."""

_LEAST_BYTES = 64 * 2**10

_LISTING_PATIENCE = 300.0
"""Seconds to list a folder, of which no progress is seen."""

_MAX_SHOWN = 300
"""Maximum length of a storage's error in a message; some quote what they have received."""

_LOCAL_NAMES = (".lock",)
"""Files that only mean something on this computer."""


_URL = re.compile(r"(?:[a-z][a-z0-9+.-]*::)*[a-z][a-z0-9+.-]+:/", re.I)
"""One slash is what `pathlib` leaves of two. A scheme has two letters or more: "C:/" is a drive."""


def is_url(place: str) -> bool:
    """Return whether a place is a URL, also a chain such as `simplecache::s3://...`, and not a path."""
    return _URL.match(place) is not None


def resolve_file_url(place: str) -> str:
    """Return the path that a `file://` URL names; any other place as it is.

    Raises:
        UsageError: It names another computer, or has a query or fragment.
    """
    if not re.match("file:/", place, re.I):
        return place
    from urllib.request import url2pathname  # brings an HTTP client, which takes 15 ms to import

    parts = urlsplit(place)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise UsageError(
            f"{place} is not the URL of a file of this computer. Write file:///FOLDER/NAME, with %3F for ? and "
            "%23 for #, or the path."
        )
    return url2pathname(parts.path)


def download(url: str, folder: Path, *, select: Callable[[Path], bool]) -> list[tuple[Path, str]]:
    """Copy a file, some files of a folder, or the files that match a pattern.

    Args:
        url: The URL; with "*", "?" or "[" it is a pattern. A URL of HTTP is always that of one file.
        folder: Where to; an existing, empty folder.
        select: Which files of a folder are meant, by their names.

    Returns:
        Each copy with its URL, in the order of the names.

    Raises:
        InputError: There is no such file, the storage cannot be reached or is too slow, or the files have more than
            `MAX_BYTES`.
        MissingExtraError: fsspec is not installed.
    """
    files: list[tuple[Path, str]] = []
    storage, place = _open_storage(url)
    with _report_errors(url, "cannot be read"):
        left = MAX_BYTES
        for number, file in enumerate(sorted(_wait_for(lambda: _list_files(storage, url, place, select)))):
            name = unquote(urlsplit(file).path) if _is_http(url) else file
            copy = folder / str(number) / (Path(name).name or "data")
            copy.parent.mkdir()
            _copy(storage, file, copy, left=left)
            left -= copy.stat().st_size
            files.append((copy, storage.unstrip_protocol(file)))
    if not files:
        raise InputError("there is no such file", path=url, fix=_FIX)
    return files


def _list_files(storage: Any, url: str, place: str, select: Callable[[Path], bool]) -> list[str]:
    # fsspec takes for a folder what holds a link, and for a pattern what has a query.
    if _is_http(url):
        return [place]
    if re.search(r"[*?[]", place):
        return [name for name, found in storage.glob(place, detail=True).items() if found["type"] != "directory"]
    if storage.isdir(place):
        files = [found["name"] for found in storage.ls(place, detail=True) if found["type"] != "directory"]
        return [file for file in files if select(Path(file))]
    return [place]


def _is_http(url: str) -> bool:
    return re.match(r"https?:", url.rpartition("::")[2], re.I) is not None


def _copy(storage: Any, file: str, copy: Path, *, left: int) -> None:
    """Copy a file of a storage.

    Raises:
        TimeoutError: It arrives too slowly.
        InputError: It has more than `left` bytes.
    """
    stopped, too_many = threading.Event(), threading.Event()

    def check(size: int | None, received: int, **_: Any) -> None:
        if max(size or 0, received) > left:
            too_many.set()
        if too_many.is_set() or stopped.is_set():
            raise OSError("stopped")

    callback: Any = import_module("fsspec.callbacks").Callback(hooks={"check": check})

    def count() -> int:
        # Not every storage tells how far it has come.
        return max(callback.value, copy.stat().st_size if copy.exists() else 0)

    try:
        _wait_for(lambda: storage.get_file(file, str(copy), callback=callback), patience=_PATIENCE, progress=count)
    except Exception as error:
        if not too_many.is_set():
            raise
        raise InputError(
            f"has more than {MAX_BYTES:,} bytes",
            path=storage.unstrip_protocol(file),
            fix="Give a smaller file, or copy it to this computer and give its path.",
        ) from error
    finally:
        stopped.set()


def _wait_for(
    work: Callable[[], _Made], *, patience: float = _LISTING_PATIENCE, progress: Callable[[], int] = lambda: 0
) -> _Made:
    """Return the result of work, which is left to its thread where it takes too long.

    Raises:
        TimeoutError: `progress` has not grown by `_LEAST_BYTES` in `patience` seconds.
    """
    from concurrent.futures import Future, wait  # takes 9 ms to import

    result: Future[_Made] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # noqa: BLE001  # it is raised below
            result.set_exception(error)

    # The end of the program does not wait for a daemon.
    threading.Thread(target=run, daemon=True).start()
    before = 0
    while not wait([result], patience).done:
        now = progress()
        if now - before < _LEAST_BYTES:
            raise TimeoutError(f"{now - before} bytes in {patience:.0f} seconds")
        before = now
    return result.result()


class Output:
    """A file or folder that a command writes: a path of this computer, or a URL.

    Args:
        place: The path or URL.

    Attributes:
        path: Where it is written on this computer.

    Raises:
        UsageError: Such a URL cannot be written.
        InputError: There is no such storage.
        MissingExtraError: fsspec is not installed.
    """

    def __init__(self, place: str) -> None:
        place = resolve_file_url(place)
        self.path = Path(place)
        self._url = ""
        if is_url(place):
            self._url = place.rstrip("/")
            register_url_secrets(place)
            if "::" in place or "?" in place:
                raise UsageError(f"output cannot be written to {place}: give a URL without '::' and '?'.")
            self._storage, found = _open_storage(self._url)
            # A storage may take other spellings of a name for other files, or for no files at all.
            parts = [part for part in found.split("/") if part not in ("", ".")]
            if not parts or ".." in parts:
                raise InputError("the output has no name", path=self._url, fix="End the URL with a name.")
            self._place = "/" * found.startswith("/") + "/".join(parts)
            # The place does not name the server, and the URL may spell it in several ways.
            server = [self._storage.storage_options.get(name) for name in ("host", "port")]
            identity = json.dumps([self._storage.protocol, server, self._place])
            staging = cache_folder() / "output" / hashlib.sha256(identity.encode()).hexdigest()[:16]
            self.path = staging / parts[-1]

    def show(self, path: Path) -> str:
        """Return the name of the output, or of a file in it, for people."""
        return redact("/".join((self._url, *path.relative_to(self.path).parts))) if self._url else str(path)

    @contextmanager
    def open(self) -> Generator[Path]:
        """Bring what is at the URL to `path`, and at the end `path` to the URL. For a path, nothing is done.

        If an earlier process was killed, or its output did not arrive, its copy is continued and not the URL's.

        Raises:
            InputError: The URL cannot be read or written.
            UsageError: Another process of this computer writes there, or the cache folder cannot be written.
        """
        if not self._url:
            yield self.path
            return
        staging = self.path.parent
        try:
            make_private_folder(staging)
            lock = lock_file(staging.with_suffix(".lock"))
        except OSError as error:
            raise UsageError(
                f"cannot write to {staging} ({error.strerror}), where {self._url} is written first. Make the folder "
                "writable, free some space, or name another folder in IMAPEVAL_CACHE."
            ) from error
        if lock is None:
            raise UsageError(f"another process is writing to {self._url}. Wait for it to end.")
        with lock:
            with _report_errors(self._url, "cannot be written"):
                # What cannot be written at the end should not be computed first.
                self._storage.makedirs(self._place.rpartition("/")[0], exist_ok=True)
                self._storage.pipe_file(f"{self._place}.writing", b"")
                self._storage.rm_file(f"{self._place}.writing")
                if not any(staging.iterdir()):
                    self._download()
            try:
                yield self.path
            finally:
                with _report_errors(self._url, f"cannot be written, and the output is kept in {self.path}"):
                    self._upload()
                shutil.rmtree(staging)

    def _download(self) -> None:
        """Copy what is there; nothing is in its place before all of it has arrived."""
        home = Path(self._place).parent
        draft = self.path.parent.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        files: dict[str, dict[str, Any]] = {}
        for place in self._list_places():
            files |= _wait_for(lambda place=place: self._storage.find(place, detail=True))
        # Not every storage tells the sizes.
        if sum(file.get("size") or 0 for file in files.values()) > MAX_BYTES:
            raise InputError(
                f"has more than {MAX_BYTES:,} bytes",
                path=self._url,
                fix="Give another URL, or copy it to this computer and give its path.",
            )
        left = MAX_BYTES
        try:
            for file in files:
                name = Path(file).relative_to(home)
                if ".." in name.parts:
                    raise ValueError(f"the name {file!r} leads out of the folder")
                copy = draft / name
                make_private_folder(copy.parent)
                _copy(self._storage, file, copy, left=left)
                left -= copy.stat().st_size
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        if files:
            self.path.parent.rmdir()
            draft.rename(self.path.parent)

    def _upload(self) -> None:
        for place in self._list_places():
            local = self.path.with_name(Path(place).name)
            files = [file for file in (local, *local.rglob("*")) if file.is_file() and file.name not in _LOCAL_NAMES]
            for file in files:
                target = Path(place, file.relative_to(local)).as_posix()
                self._storage.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._storage.put_file(str(file), target)
            if not files and self._storage.isfile(place):
                self._storage.rm_file(place)

    def _list_places(self) -> tuple[str, str]:
        """Return the output and the file beside it that a command keeps until a file is whole."""
        return self._place, f"{self._place}.usage.json"


@contextmanager
def _report_errors(url: str, problem: str) -> Generator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # each storage has errors of its own
        shown = (f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)[:_MAX_SHOWN]
        raise InputError(f"{problem} ({shown})", path=url, fix=_FIX) from error


def _open_storage(url: str) -> tuple[Any, str]:
    """Return the storage of a URL and the place in it."""
    register_url_secrets(url)
    # Otherwise an error of the storage may quote a part of the password as the port.
    if re.match(r"[^/?#@:]*:(?!\d+/)[^/?#@]*[/?#].*@", url.rpartition("://")[2]):
        raise UsageError(f"{url} cannot be parsed. In a password write / as %2F, ? as %3F and # as %23.")
    fsspec: Any = require("fsspec", distribution="fsspec", extra="remote", needed_for=f"{url.partition(':')[0]}://")
    with _report_errors(url, "cannot be opened"):  # some storages connect here
        return fsspec.core.url_to_fs(url, **_make_options(url))


def _make_options(url: str) -> dict[str, Any]:
    """Return options of a storage: for HTTP no limit on the whole time, which is 5 minutes otherwise."""
    if not (_is_http(url) and installed("aiohttp")):
        return {}
    aiohttp: Any = import_module("aiohttp")
    kwargs = {"client_kwargs": {"timeout": aiohttp.ClientTimeout(total=None, sock_connect=_PATIENCE)}}
    return {"http": kwargs, "https": kwargs} if "::" in url else kwargs
