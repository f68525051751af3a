"""What a format of ontology files is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from imapeval.graph.readers.base import Source
    from imapeval.graph.readers.record import Record


@dataclass(frozen=True, slots=True)
class Format:
    """A format of ontology files.

    Attributes:
        name: As in `--source NAME:PATH`.
        title: What it is and how its files are known, in a few words.
        recognise: Tells from a path (a file or a folder) and the first 4,096 bytes (decompressed; b"" for a folder)
            whether it is in this format. Exactly one format recognises a well-formed file.
        read: Yields the records of a source. Bad rows go to `Source.reject`; what makes the whole file useless raises
            an InputError that names the file and the mend.
        find_name: Returns the short name that the ontology gives itself in those first bytes, "" where it gives none,
            or that of the only ontology in this format; None for formats in which none has one.
    """

    name: str
    title: str
    recognise: Callable[[Path, bytes], bool]
    read: Callable[[Source], Iterator[Record]]
    find_name: Callable[[bytes], str] | None = None
