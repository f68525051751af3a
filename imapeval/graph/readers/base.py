"""What every reader works with: a source and its problems, the records it yields, the description of a format."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from imapeval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from imapeval.graph.model import ConceptType, Name


def _empty_list() -> list[Any]:
    # Not list[str], which takes ten times as long to make an empty list: there are millions of records.
    return []


@dataclass(slots=True)
class Record:
    """What one source, or one line of it, says of one concept.

    Records of one id are combined: a file of translations yields names for ids whose is-a edges are in another file.

    Attributes:
        id: A CURIE such as "DOID:255".
        source: Key of the source, such as "doid"; that of the names as well.
        label: Preferred name in English; "" where this record does not give one.
        type: Its type; None where this record does not give one.
        names: Its names, including the label.
        parents: Ids of broader concepts.
        parent_names: Names of broader concepts, to be looked up after merging.
        wholes: Ids of the concepts it is a part of.
        xrefs: Ids of the same concept in other vocabularies, according to the source.
    """

    id: str
    source: str
    label: str = ""
    type: ConceptType | None = None
    names: list[Name] = field(default_factory=_empty_list)
    parents: list[str] = field(default_factory=_empty_list)
    parent_names: list[str] = field(default_factory=_empty_list)
    wholes: list[str] = field(default_factory=_empty_list)
    xrefs: list[str] = field(default_factory=_empty_list)


MAX_LINE = 1 << 22
"""Maximum length of a line in bytes; a longer one is not a line of an ontology (a definition has thousands)."""

_MAX_PLACES = 5
"""Places recorded for each kind of problem."""

_MAX_EXCERPT = 60
"""Characters of a line shown in a message."""

_PROGRESS_BYTES = 1 << 20
"""Bytes between two calls of `progress`."""


_GBK = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe])*")
"""Text in GB2312, the common part of GBK and GB18030: two bytes a character, both with the highest bit set."""

_GBK_WORD = re.compile(rb"(?:[\xb0-\xf7][\xa1-\xfe]){2}")
"""Two consecutive ideographs of it: four bytes that do not occur in a row in a Latin word."""


class Problems:
    """Problems of a source: how often each occurred, and where first.

    Attributes:
        counts: {what: how often}.
        places: {what: the first places}, such as "MRCONSO.RRF line 17".
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.places: dict[str, list[str]] = {}

    def add(self, what: str, place: str) -> None:
        """Enter one problem. `what` is the same text for all problems of a kind; `place` tells them apart."""
        self.counts[what] += 1
        if len(known := self.places.setdefault(what, [])) < _MAX_PLACES:
            known.append(place)


class Source:
    """A file or folder that a reader reads.

    Attributes:
        path: The file or folder.
        name: Key of the source, such as "doid": `Record.source` and `Name.source`.
        problems: Rows that were left out because they are faulty.
        skipped: What was left out on purpose, such as "names in other languages", and how often.
    """

    def __init__(self, path: Path, name: str, *, progress: Callable[[int, int], None] | None = None) -> None:
        """Make a source.

        Args:
            path: The file or folder.
            name: Its key.
            progress: Called with the number of bytes read so far and of all bytes of the file being read.
        """
        self.path = path
        self.name = name
        self.problems = Problems()
        self.skipped: Counter[str] = Counter()
        self._progress = progress

    def reject(self, what: str, *, line: int | None = None, path: Path | None = None) -> None:
        """Record a problem: its kind, and the line of the file."""
        name = (path or self.path).name
        self.problems.add(what, name if line is None else f"{name} line {line}")

    @contextmanager
    def open(self, path: Path | None = None) -> Generator[BinaryIO]:
        """Open the file, or one in the folder, for reading as bytes; ".gz" is decompressed on the way.

        Raises:
            InputError: It cannot be read, or a compressed file is damaged or truncated.
        """
        path = path or self.path
        try:
            with path.open("rb") as raw:
                counted = io.BufferedReader(_ProgressReader(raw, path.stat().st_size, self._progress), _PROGRESS_BYTES)
                # gzip.GzipFile is a BinaryIO in all but its declared type.
                yield cast("BinaryIO", gzip.GzipFile(fileobj=counted) if path.suffix == ".gz" else counted)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(
                f"it is damaged or cut off ({error})", path=path, fix="Download or copy it again."
            ) from error
        except OSError as error:
            raise InputError(
                f"it cannot be read ({error.strerror or error})", path=path, fix="Give a file that you may read."
            ) from error

    def lines(self, path: Path | None = None) -> Iterator[tuple[int, str]]:
        """Yield (number, text) of every line, from 1, without its end; a byte order mark is left out.

        A line that is not UTF-8, or longer than `MAX_LINE`, is recorded as a problem and skipped. A line in another
        encoding that can be recognised is an error: of a table in GBK some lines would be lost, others garbled.

        Raises:
            InputError: As `open`; or the file is in UTF-16 or GBK.
        """
        path = path or self.path
        with self.open(path) as file:
            number = 0
            while raw := file.readline(MAX_LINE):
                number += 1
                if len(raw) >= MAX_LINE and not raw.endswith(b"\n"):
                    self.reject(f"longer than {MAX_LINE:,} bytes", line=number, path=path)
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(MAX_LINE)
                    continue
                try:
                    text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    reject_other_encodings(raw, path=path, line=number)
                    self.reject("not UTF-8", line=number, path=path)
                    continue
                yield number, text.rstrip("\r\n")


def reject_other_encodings(raw: bytes, *, path: Path, line: int) -> None:
    """Reject a line in another encoding that tables are saved in.

    Args:
        raw: The line, or the beginning of it.
        path: For the message.
        line: For the message.

    Raises:
        InputError: It is UTF-16, or GBK.
    """
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        coding = shown = "UTF-16"
    elif _GBK.fullmatch(raw) and _GBK_WORD.search(raw):
        coding = "GB18030"
        text = raw.decode("gb18030", "replace").strip()
        shown = f"GBK (GB18030), and says {text if len(text) <= _MAX_EXCERPT else text[:_MAX_EXCERPT] + '...'!r}"
    else:
        return
    raise InputError(
        f"it is not in UTF-8; it looks like {shown}",
        path=path,
        line=line,
        fix=f"Save it as UTF-8, in Excel as 'CSV UTF-8', or convert it: iconv -f {coding} -t UTF-8.",
    )


class _ProgressReader(io.RawIOBase):
    """Passes bytes through and reports how many were read."""

    def __init__(self, raw: BinaryIO, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._raw = raw
        self._total = total
        self._progress = progress
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        data = self._raw.read(len(buffer))
        buffer[: len(data)] = data
        self._done += len(data)
        if self._progress is not None:
            self._progress(self._done, self._total)
        return len(data)


@dataclass(frozen=True, slots=True)
class Format:
    """A format of ontology files.

    Attributes:
        name: As in `--source NAME:PATH`.
        title: What it is and how its files are recognised, in a few words.
        recognise: Decides from a path (a file or a folder) and the first 4,096 bytes (decompressed; b"" for a folder)
            whether it is in this format. Exactly one format recognises a well-formed file.
        read: Yields the records of a source. Bad rows go to `Source.reject`; what makes the whole file useless raises
            an InputError that names the file and the fix.
        find_name: Returns the short name that the ontology gives itself in those first bytes ("" if none), or that of
            the only ontology in this format; None for formats without names.
    """

    name: str
    title: str
    recognise: Callable[[Path, bytes], bool]
    read: Callable[[Source], Iterator[Record]]
    find_name: Callable[[bytes], str] | None = None
