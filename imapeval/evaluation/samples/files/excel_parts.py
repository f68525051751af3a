"""The parts of an Excel file, with limits: a file of a kilobyte can hold XML that takes gigabytes when it is parsed."""

from __future__ import annotations

from itertools import islice
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zipfile import ZipFile

    from imapeval.errors import InputError
    from imapeval.evaluation.samples.files.text_lines import SourceFile

MAX_XML = 16 * 2**20
"""Maximum size in bytes of the XML that is held in memory at a time: a row, a text, or a part such as the formats. Its
elements take up to fifty times as much."""

_MAX_DEPTH = 100
"""Deepest nesting of the XML. Each open element takes memory; a sheet has about eight levels."""

_STRICT = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
"""The namespace of sheets in ISO/IEC 29500-1, Strict."""

_T = TypeVar("_T")


def too_large_error(file: SourceFile, what: str) -> InputError:
    """Return the error for a file that is too large in one respect."""
    return file.error(f"the file {what}", fix="Save the table as CSV.")


class DepthLimit:
    """Counts the open elements of XML that an expat parser reads.

    Raises:
        InputError: There are too many, from its methods, which are handlers of the parser.
    """

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._depth = 0

    def make_parser(self) -> expat.XMLParserType:
        """Return a parser that keeps to the limit."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self.open, self.close
        return parser

    def open(self, *_: object) -> None:
        """Count an element that begins."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise too_large_error(self._file, f"has XML nested deeper than {_MAX_DEPTH} levels")

    def close(self, *_: object) -> None:
        """Count an element that ends."""
        self._depth -= 1


class WholeParts:
    """The parts of a file that openpyxl reads as a whole, in place of its `ZipFile`."""

    def __init__(self, archive: ZipFile, file: SourceFile) -> None:
        self._archive = archive
        self._file = file

    def read(self, name: str) -> bytes:
        """Return a part.

        Raises:
            InputError: It is too large, nested too deeply, or in the namespace of Strict Open XML, which openpyxl does
                not know.
        """
        if self._archive.getinfo(name).file_size > MAX_XML:
            raise too_large_error(self._file, f"has a part {name!r} of more than {MAX_XML // 2**20} MiB")
        content = self._archive.read(name)
        if _STRICT in content:
            problem = "an Excel file of the type Strict Open XML"
            raise self._file.error(problem, fix="Save it as Excel Workbook (.xlsx), or as CSV.")
        DepthLimit(self._file).make_parser().Parse(content, True)
        return content

    def namelist(self) -> list[str]:
        """Return the names of the parts."""
        return self._archive.namelist()


class SizeLimitedPart:
    """A part of the file in which no row or text may be too long, and no element nested too deeply.

    Attributes:
        size: Bytes read for it so far.
    """

    def __init__(self, part: IO[bytes], file: SourceFile) -> None:
        self._part = part
        self._file = file
        self._parser = DepthLimit(file).make_parser()
        self.size = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            InputError: Too many were read for one row or text, or they are nested too deeply.
        """
        chunk = self._part.read(size)
        self.size += len(chunk)
        if self.size > MAX_XML:
            raise too_large_error(self._file, f"has a row or text of more than {MAX_XML // 2**20} MiB")
        self._parser.Parse(chunk)
        return chunk

    def limit_rows(self, rows: Iterable[_T]) -> Iterator[_T]:
        """Yield the rows; the limit applies to each row anew."""
        for row in rows:
            self.size = 0
            yield row


class SharedTexts:
    """The texts to which cells refer by number, parsed as far as they are needed.

    Args:
        archive: The parts of the file.
        file: The file.
        path: Their name within the archive; None if there are none.
    """

    def __init__(self, archive: ZipFile, file: SourceFile, path: str | None) -> None:
        self._known: list[str] = []
        self._further = iter(()) if path is None else self._parse(archive, file, path)

    def __getitem__(self, number: int) -> str:
        if number >= len(self._known):
            self._known.extend(islice(self._further, number + 1 - len(self._known)))
        return self._known[number]

    def _parse(self, archive: ZipFile, file: SourceFile, path: str) -> Iterator[str]:
        from openpyxl.cell.text import Text
        from openpyxl.xml.constants import SHEET_MAIN_NS
        from openpyxl.xml.functions import iterparse

        with archive.open(path) as opened:
            source = SizeLimitedPart(opened, file)
            elements: Iterator[tuple[str, Any]] = iterparse(cast("Any", source), events=("start", "end"))
            _, root = next(elements)
            for event, element in elements:
                if event == "end" and element.tag == f"{{{SHEET_MAIN_NS}}}si":
                    text: Any = Text.from_tree(element)
                    yield text.content
                    root.clear()
                    source.size = 0
