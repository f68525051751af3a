"""What all readers share: sources with their problems, records, checks of names and files, and the type of a format."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from xml.parsers import expat

from imapeval.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from imapeval.graph.model import ConceptType, Name

HEAD_BYTES = 4096
"""Bytes of a file by which its format is recognised, and in which its first line must end."""


def _empty_list() -> list[Any]:
    # Not list[str], which takes ten times as long: there are millions of records.
    return []


@dataclass(slots=True)
class Record:
    """The statements of one source, or of one line of it, about one concept.

    Records with the same id are combined: translations and is-a edges of one concept may be in different files.

    Attributes:
        id: A CURIE such as "DOID:255".
        source: Key of the source, such as "doid"; that of the names as well.
        label: Preferred name, in English if the source has one; "" where this record does not give one.
        type: Its type; None where this record does not give one.
        names: Its names, including the label.
        parents: Ids of broader concepts.
        parent_names: Names of broader concepts, which are resolved after merging.
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
"""Maximum length of a line in bytes; the longest definitions in ontologies have thousands."""

MAX_NAME = 1000
"""Maximum length of a name. SNOMED CT allows 255 bytes; longer ones in UMLS are formulas and survey questions."""

MAX_ENTITY = 200
"""Maximum length of an XML entity: OWL files abbreviate the IRIs of vocabularies, all of which are shorter."""

_MAX_PLACES = 5
"""Places recorded for each kind of problem."""

_MAX_EXCERPT = 60
"""Characters of a line shown in a message."""

_PROGRESS_BYTES = 1 << 20
"""Bytes between two calls of `progress`."""

XML_CHUNK = 1 << 20
"""Bytes of XML parsed at a time. With each further chunk, expat before 2.6 (CVE-2023-52425) begins again at the start
of a tag or comment that has not ended."""

_TAGGED = re.compile(r"(.*\S)\s*[(（]([^()（）]+)[)）]")

_GBK = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xf7][\xa1-\xfe])*")
"""Text in GB2312, the common part of GBK and GB18030: two bytes a character, both with the highest bit set."""

_GBK_WORD = re.compile(rb"(?:[\xb0-\xf7][\xa1-\xfe]){2}")
"""Two consecutive ideographs: four bytes that do not occur in a row in a Latin word."""


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
        """Record a problem; `what` is the same text for all problems of a kind."""
        self.counts[what] += 1
        if len(known := self.places.setdefault(what, [])) < _MAX_PLACES:
            known.append(place)


class Source:
    """A file or folder to be read.

    Attributes:
        path: The file or folder.
        name: Key of the source, such as "doid": `Record.source` and `Name.source`.
        problems: Rows that were left out because they are faulty.
        skipped: What was left out on purpose, such as "names in other languages", and how often.
    """

    def __init__(self, path: Path, name: str, *, progress: Callable[[int, int], None] | None = None) -> None:
        """Create a source; `progress` is called with the bytes read so far and the size of the file being read."""
        self.path = path
        self.name = name
        self.problems = Problems()
        self.skipped: Counter[str] = Counter()
        self._progress = progress

    def reject(self, what: str, *, line: int | None = None, path: Path | None = None) -> None:
        """Record a problem: its kind, and the line of the file."""
        name = (path or self.path).name
        self.problems.add(what, name if line is None else f"{name} line {line}")

    def check_name(self, text: str, *, line: int, path: Path | None = None) -> bool:
        """Return whether a text can be a name; if not, record a problem."""
        if text.strip() and len(text) <= MAX_NAME:
            return True
        self.reject(f"a name of more than {MAX_NAME:,} characters" if text.strip() else "no name", line=line, path=path)
        return False

    @contextmanager
    def open(self, path: Path | None = None) -> Generator[BinaryIO]:
        """Open the file, or one in the folder, for reading as bytes; ".gz" is decompressed on the way.

        Raises:
            InputError: It cannot be read, or a compressed file is damaged or truncated.
        """
        path = path or self.path
        with convert_read_errors(path), path.open("rb") as raw:
            counted = io.BufferedReader(_ProgressReader(raw, path.stat().st_size, self._progress), _PROGRESS_BYTES)
            # gzip.GzipFile is a BinaryIO in all but its declared type.
            yield cast("BinaryIO", gzip.GzipFile(fileobj=counted) if path.suffix == ".gz" else counted)

    def lines(self, path: Path | None = None) -> Iterator[tuple[int, str]]:
        """Yield (number, text) of every line, from 1, without its end; a byte order mark is left out.

        A line that is not UTF-8, or longer than `MAX_LINE`, is recorded as a problem and skipped. A line in another
        encoding that can be recognised is an error: in a table in GBK some lines would be lost and others garbled.

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


@contextmanager
def convert_read_errors(path: Path) -> Generator[None]:
    """Turn errors of reading a file into InputErrors that name it."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"it is damaged or cut off ({error})", path=path, fix="Download or copy it again.") from error
    except OSError as error:
        raise InputError(
            f"it cannot be read ({error.strerror or error})", path=path, fix="Check its name and permissions."
        ) from error


def restore_word_order(name: str) -> str:
    """Return an inverted index entry in its natural order.

    >>> restore_word_order("Anemia, Aplastic")
    'Aplastic Anemia'
    >>> restore_word_order("Leukemia, Myeloid, Acute")
    'Acute Myeloid Leukemia'

    Enumerations ("Ear, Nose and Throat") and locants ("1,4-Dioxane") stay as they are.
    """
    if ", " not in name or re.search(r"\b(and|or|with|without|due|not|in|of)\b", name):
        return name
    return " ".join(reversed(name.split(", ")))


def split_semantic_tag(name: str) -> tuple[str, str]:
    """Return a fully specified name of SNOMED CT without its semantic tag, and the tag ("" if there is none).

    >>> split_semantic_tag("Asthma (disorder)")
    ('Asthma', 'disorder')
    """
    found = _TAGGED.fullmatch(name)
    return (found[1], found[2]) if found else (name, "")


def reject_large_entities(source: Source, path: Path) -> None:
    """Reject an XML file whose entities could expand to gigabytes.

    Raises:
        InputError: An entity contains other entities or is longer than `MAX_ENTITY`; or the file, or its
            encoding, cannot be read.
    """
    parser = expat.ParserCreate()
    bad: list[str] = []
    in_content = False

    def check_entity(name: str, _is_parameter: bool, value: str | None, *_: object) -> None:
        # External entities (value None) are not fetched.
        if value is not None and ("&" in value or "%" in value or len(value) > MAX_ENTITY):
            bad.append(name)

    def start_content(*_: object) -> None:
        nonlocal in_content
        in_content = True  # nothing can be declared after the first start tag

    parser.EntityDeclHandler, parser.StartElementHandler = check_entity, start_content
    with source.open(path) as file:
        while not in_content and (chunk := file.read(XML_CHUNK)):
            try:
                parser.Parse(chunk)
            except expat.ExpatError:
                break  # the reader reports the error and its line
            except (LookupError, ValueError) as error:
                raise InputError(
                    f"its XML declaration names an encoding that cannot be read ({error})",
                    path=path,
                    fix="Save it as UTF-8, and write so in its first line.",
                ) from error
    if bad:
        raise InputError(
            f"it declares the entity {bad[0]!r}, which contains other entities or has over {MAX_ENTITY} characters",
            path=path,
            fix="Give the publisher's file, or replace the entity by its text.",
        )


def reject_other_encodings(raw: bytes, *, path: Path, line: int) -> None:
    """Reject a line, or the beginning of one, in another encoding of tables.

    Raises:
        InputError: It is UTF-16 or GBK; the error names the path and the line.
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
        title: Description and how its files are recognised, in a few words.
        recognise: Decides from a path (a file or a folder) and the first `HEAD_BYTES` bytes (decompressed; b"" for a
            folder) whether it is in this format. Exactly one format recognises a well-formed file.
        read: Yields the records of a source. Bad rows go to `Source.reject`; what makes the whole file useless raises
            an InputError that names the file and the fix.
        find_name: Returns the short name of the ontology, from those first bytes ("" if they have none) or because it
            is the only one in this format; None for formats without names.
    """

    name: str
    title: str
    recognise: Callable[[Path, bytes], bool]
    read: Callable[[Source], Iterator[Record]]
    find_name: Callable[[bytes], str] | None = None
