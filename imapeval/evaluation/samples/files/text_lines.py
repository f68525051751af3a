"""Opens a source of bytes (file, standard input, gzip) and decodes it line by line, in an encoding it recognises."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import tempfile
import time
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from imapeval.errors import InputError, UsageError
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from imapeval.evaluation.samples.rows import Unit

STDIN = "-"
"""The source that means standard input."""

SHOWN_STDIN = "<stdin>"
"""Its name in messages."""

_HEAD = 4096
"""Number of bytes from which encoding and format are detected."""

_CHUNK = 1 << 16
"""Number of bytes that are decoded at a time, and from which Chinese text is detected."""

MAX_ROW = 64 * 2**20
"""Maximum length of a row, in characters, with images in base64 too; a text of more than 100,000 is not scored. Without
a limit, a compressed file of a megabyte could fill the memory."""

_PATIENCE = 10.0
"""Seconds to wait for a program that writes to a pipe, which may be started after this one."""

_MIN_COMMON = 0.9
"""Share of characters in GB 2312 from which text is taken for Chinese. The standard covers 99.75% of the characters of
running text (GB 2312-80); of misread Latin letters, whose second byte is an ASCII letter, it covers none."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # Before UTF-16, whose mark is the beginning of this one.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """An open source.

    Attributes:
        path: Its name in messages.
        suffix: The type by its name, in lower case, without ".gz"; "" if there is none.
        stream: Its bytes, at the beginning; it can be read from any place.
    """

    path: Path
    suffix: str
    stream: IO[bytes]

    def peek(self) -> bytes:
        """Return the first bytes, and stay at the beginning."""
        self.stream.seek(0)
        head = self.stream.read(_HEAD)
        self.stream.seek(0)
        return head

    def error(self, problem: str, *, fix: str, line: int | None = None, unit: Unit = "line") -> InputError:
        """Return an error that names this source; see `InputError`."""
        return InputError(problem, path=self.path, line=line, unit=unit, fix=fix)


@contextmanager
def open_source(source: str) -> Generator[SourceFile]:
    """Open a file, a pipe, or standard input ("-"); gzip is unpacked.

    Raises:
        InputError: It is missing, empty or unreadable, a device, or a pipe that nothing writes to.
    """
    path = Path(SHOWN_STDIN if source == STDIN else source)
    try:
        if source == STDIN or path.is_fifo():
            with _open_pipe(path, source) as pipe, io.BufferedReader(pipe) as stream:
                yield from _unpack(path, stream)
            return
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError("is a device or a socket", path=path, fix="Give a file, or - for standard input.")
        with path.open("rb") as stream:
            yield from _unpack(path, stream)
    except FileNotFoundError as error:
        raise InputError("no such file", path=path, fix="Check the path.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"damaged gzip ({error})", path=path, fix="Compress the file again.") from error
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Give a readable file.") from error


@contextmanager
def _open_pipe(path: Path, source: str) -> Generator[_PipeReader]:
    """Open standard input or another pipe, without waiting forever for one that has no writer."""
    if source == STDIN:
        if sys.stdin is None:
            raise InputError("is closed", path=path, fix="Write the data to it, or give a file.")
        yield _PipeReader(sys.stdin.buffer)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        deadline = time.monotonic() + _PATIENCE
        # Without a writer nothing is read (b""); with one that has not written yet, None.
        while (first := pipe.read(_CHUNK)) == b"":
            if time.monotonic() > deadline:
                raise InputError(
                    f"a pipe to which nothing has been written for {_PATIENCE:.0f} seconds",
                    path=path,
                    fix="Start the program that writes to it, or give a file.",
                )
            time.sleep(0.02)
        os.set_blocking(descriptor, True)
        yield _PipeReader(pipe, first or b"")


class _PipeReader(io.RawIOBase):
    """Reads from a pipe only what is asked for, and keeps it in a file so that it can be read again.

    Args:
        pipe: The pipe, which stays open.
        first: What has already been read from it.
    """

    def __init__(self, pipe: IO[bytes], first: bytes = b"") -> None:
        # With `read`, a buffered pipe would wait until all bytes asked for have come.
        self._read: Callable[[int], bytes] = getattr(pipe, "read1", pipe.read)
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115
        self._size, self._place = self._kept.write(first), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        if whence == os.SEEK_END:
            while self._fetch(_CHUNK):
                pass
        self._place = offset + (0, self._place, self._size)[whence]
        return self._place

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        while self._size <= self._place and self._fetch(min(len(buffer), _CHUNK)):
            pass
        self._kept.seek(self._place)
        read = self._kept.readinto(buffer)
        self._place += read
        return read

    def close(self) -> None:
        self._kept.close()
        super().close()

    def _fetch(self, size: int) -> bytes:
        chunk = self._read(size)
        self._kept.seek(0, os.SEEK_END)
        self._size += self._kept.write(chunk)
        return chunk


def _unpack(path: Path, stream: IO[bytes]) -> Iterator[SourceFile]:
    stream.seek(0)
    packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    named = Path(path.stem) if packed and path.suffix.lower() == ".gz" else path
    file = SourceFile(
        path, named.suffix.lower(), cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if packed else stream
    )
    head = file.peek()
    if len(head) < _HEAD and not head.strip():
        raise empty_file_error(path)
    yield file


def empty_file_error(path: Path) -> InputError:
    """Return the error for a file without any content."""
    return InputError("the file is empty", path=path, fix="Give a file with at least one row.")


def read_lines(file: SourceFile, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, with their ends and numbers, lazily.

    Args:
        file: The file, at its beginning.
        encoding: Its encoding. None takes UTF-8; UTF-16 by byte-order mark or zero bytes; UTF-32 by byte-order mark;
            and GB 18030 (which includes GBK and GB 2312) if the text before is ASCII, and the rest is not UTF-8 but
            common Chinese characters. An encoding other than UTF-8 is logged.

    Raises:
        UsageError: There is no such encoding.
        InputError: A line has other bytes, or more than `MAX_ROW` characters.
    """
    yield from join_pieces(file, read_pieces(file, encoding))


def join_pieces(file: SourceFile, pieces: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the whole lines of pieces that `read_pieces` has yielded.

    Raises:
        InputError: A line has more than `MAX_ROW` characters.
    """
    begun: list[str] = []
    size = number = 0
    for number, piece in pieces:
        size += len(piece)
        if size > MAX_ROW:
            raise too_long_error(file, number)
        if not piece.endswith("\n"):
            begun.append(piece)
            continue
        yield number, "".join((*begun, piece)) if begun else piece
        begun, size = [], 0
    if begun:
        yield number, "".join(begun)


def read_pieces(file: SourceFile, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield the text of a file lazily, as `read_lines` does, but long lines in several pieces with the same number."""
    head = file.peek()
    mark, marked = _find_mark(head)
    given = None if encoding is None else _look_up(encoding)
    if given in ("utf-16", "utf-32"):
        given = marked or _guess_utf16(head) or f"{given}-le"
    known = given or marked or _guess_utf16(head)
    if known is None or (known == "utf-8" and given is None):
        file.stream.seek(len(mark))
        yield from _read_utf8(file, certain=marked is not None)
        return
    if given is None:
        _log.warning("%s: read as %s", file.path, known.upper())
    file.stream.seek(len(mark) if marked == known else 0)
    yield from _decode(file, known)


def find_wide_encoding(head: bytes) -> str | None:
    """Return the encoding of the first bytes of a file if it is UTF-16 or UTF-32, in which ASCII has several bytes."""
    _, marked = _find_mark(head)
    return _guess_utf16(head) if marked is None else None if marked == "utf-8" else marked


def _find_mark(head: bytes) -> tuple[bytes, str | None]:
    return next(((mark, name) for mark, name in _MARKS if head.startswith(mark)), (b"", None))


def _look_up(encoding: str) -> str:
    try:
        "a".encode(encoding)  # codecs of bytes, such as base64, refuse it
        return codecs.lookup(encoding).name
    except (LookupError, UnicodeError) as error:
        raise UsageError(
            f"unknown encoding {encoding!r}. Give one that Python knows, such as utf-8, gb18030, utf-16 or cp1252."
        ) from error


def _guess_utf16(head: bytes) -> str | None:
    """Return the byte order of UTF-16 without a mark: the one with more ASCII characters; None if it is another."""
    if b"\0" not in head:
        return None
    whole = head[: len(head) // 2 * 2]
    texts = {name: whole.decode(name, "ignore") for name in ("utf-16-le", "utf-16-be")}
    name = max(texts, key=lambda name: sum(character.isascii() for character in texts[name]))
    return None if "\0" in texts[name] or "\n" not in texts[name] else name


def _read_utf8(file: SourceFile, *, certain: bool) -> Iterator[tuple[int, str]]:
    """Yield pieces of lines of UTF-8, or of GB 18030 from the first one on that is not ASCII."""
    stream = file.stream
    number, cut = 1, b""
    while raw := cut + stream.readline(_CHUNK):
        ended = raw.endswith(b"\n") or len(raw) < _CHUNK
        try:
            # A piece may end within a character.
            text, length = codecs.utf_8_decode(raw, "strict", ended)
        except UnicodeDecodeError as error:
            position = stream.tell()
            if not certain and _is_chinese(raw + stream.read(_CHUNK)):
                _log.warning("%s: read as GB18030 (from line %d on it is not UTF-8)", file.path, number)
                stream.seek(position - len(raw))
                yield from _decode(file, "gb18030", first=number)
                return
            raise file.error(
                f"byte 0x{raw[error.start]:02x} is not UTF-8: another encoding, or several mixed in one file",
                line=number,
                fix="Save the whole file as UTF-8, or name its encoding with --encoding, such as cp1252 or gb18030.",
            ) from error
        certain = certain or not text.isascii()
        yield number, text
        number += text.endswith("\n")
        cut = raw[length:]


def _is_chinese(raw: bytes) -> bool:
    wide = [character for character in raw.decode("gb18030", "replace") if not character.isascii()]
    return len("".join(wide).encode("gb2312", "ignore")) >= _MIN_COMMON * 2 * len(wide)


def _decode(file: SourceFile, encoding: str, *, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield pieces of lines from the file's position on; a byte pair such as 0A 4E need not be a line break."""
    decoder = codecs.getincrementaldecoder(encoding)()
    number, begins, ended = first, first == 1, False
    while not ended:
        raw = file.stream.read(_CHUNK)
        ended = not raw
        try:
            text = decoder.decode(raw, final=ended)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode(encoding, "ignore")
            raise file.error(
                f"byte 0x{error.object[error.start]:02x} is not {encoding.upper()}",
                line=number + good.count("\n"),
                fix="Correct the line, or name another encoding with --encoding.",
            ) from error
        if begins and text:
            text, begins = text.removeprefix("\ufeff"), False
        *lines, last = text.split("\n")
        for line in lines:
            yield number, f"{line}\n"
            number += 1
        if last:
            yield number, last


def too_long_error(file: SourceFile, line: int, unit: Unit = "line") -> InputError:
    """Return the error for a row of more than `MAX_ROW` characters."""
    return file.error(
        f"a row has more than {MAX_ROW:,} characters",
        line=line,
        unit=unit,
        fix="Leave out what is not scored. JSON Lines have one row per line; in CSV, close quotation marks.",
    )
