"""The supported ontology formats, and detecting the format of a file."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.errors import InputError, UsageError
from imapeval.graph.readers import babelon, kgx, mesh_xml, obo, obographs, owl, rf2, rxnorm, table, umls
from imapeval.graph.readers.base import HEAD_BYTES, Source, convert_read_errors, reject_other_encodings
from imapeval.remote import is_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.graph.readers.base import Format

FORMATS: tuple[Format, ...] = (
    obo.FORMAT,
    obographs.FORMAT,
    owl.FORMAT,
    umls.FORMAT,
    rxnorm.FORMAT,
    rf2.FORMAT,
    mesh_xml.FORMAT,
    kgx.FORMAT,
    babelon.FORMAT,
    table.FORMAT,
)
"""All formats, in the order of lists for users."""

# A single letter is a Windows drive, "C:\\data\\doid.obo".
_PREFIXED = re.compile(r"([A-Za-z][A-Za-z0-9_-]+):(.+)", re.DOTALL)


def find_format(path: Path) -> Format:
    """Return the format of an existing file or folder.

    Raises:
        InputError: It cannot be read, or is in none of the formats, or not in UTF-8.
    """
    head = read_head(path)
    with convert_read_errors(path):
        found = next((known for known in FORMATS if known.recognise(path, head)), None)
    if found is not None:
        return found
    reject_other_encodings(head.partition(b"\n")[0], path=path, line=1)
    raise InputError(
        "its format was not recognised",
        path=path,
        fix=f"These formats are recognised:\n{_list_formats()}\nTo choose one, write FORMAT:PATH.",
    )


def open_source(spec: str, *, progress: Callable[[int, int], None] | None = None) -> tuple[Format, Source]:
    """Return format and source for a command-line argument.

    The source is named after its ontology if the file names it ("doid"), else after the file.

    Args:
        spec: "PATH" or "FORMAT:PATH". The name of an existing file or folder is a path, even if it has colons.
        progress: As in `Source`.

    Raises:
        UsageError: The format is unknown, or it is a URL.
        InputError: It does not exist; or as `find_format`.
    """
    path, chosen = Path(spec), None
    if not _exists(path) and (parts := _PREFIXED.fullmatch(spec)):
        chosen = next((known for known in FORMATS if known.name == parts[1]), None)
        # "obo:/folder" is no URL, nor is "odo:/folder", whose format is misspelt.
        if parts[2].startswith(("//", ":")) or is_url(parts[2]):
            raise UsageError(f"{spec!r} is a URL. Download the file and give its path.")
        if chosen is None:
            raise UsageError(f"{parts[1]!r} is not a format. Use one of these:\n{_list_formats()}")
        path = Path(parts[2])
    # The common prefix of a pair of KGX tables is a path that does not exist.
    if not _exists(path) and not kgx.FORMAT.recognise(path, b""):
        raise InputError("it does not exist", path=path, fix="Give an existing file or folder.")
    if chosen is None:
        chosen = find_format(path)
    name = chosen.find_name(read_head(path)) if chosen.find_name else ""
    return chosen, Source(path, name or _default_name(path), progress=progress)


def read_head(path: Path) -> bytes:
    """Return the first `HEAD_BYTES` bytes of a file, decompressed; b"" for a folder or a missing file.

    Raises:
        InputError: It cannot be read, or is damaged.
    """
    with convert_read_errors(path):
        if not path.is_file():
            return b""
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read(HEAD_BYTES)


def _exists(path: Path) -> bool:
    with convert_read_errors(path):  # the name may be too long
        return path.exists()


def _default_name(path: Path) -> str:
    # "X_nodes.tsv.gz" and "X_edges.tsv.gz" are one source, X.
    stem = path.name.partition(".")[0].lower()
    return re.sub(r"_(nodes|edges)$", "", stem) or path.resolve().name.lower()


def _list_formats() -> str:
    return "\n".join(f"  {known.name}: {known.title}" for known in FORMATS)
