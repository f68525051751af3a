"""Rejects XML files whose entities could expand to gigabytes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.parsers import expat

from imapeval.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.graph.readers.base import Source

_CHUNK = 1 << 16

MAX_ENTITY = 200
"""Maximum length of an entity: OWL files abbreviate the IRIs of vocabularies, all of which are shorter."""


def reject_large_entities(source: Source, path: Path) -> None:
    """Reject a file with an entity that contains other entities or is longer than `MAX_ENTITY`.

    Raises:
        InputError: It has one, or cannot be read.
    """
    parser = expat.ParserCreate()
    bad: list[str] = []
    begun = False

    def judge(name: str, is_parameter: bool, value: str | None, *rest: object) -> None:
        # What stands elsewhere (value None) is not fetched.
        if value is not None and ("&" in value or "%" in value or len(value) > MAX_ENTITY):
            bad.append(name)

    def stop(tag: str, attributes: object) -> None:
        nonlocal begun
        begun = True  # nothing can be declared after the first element

    parser.EntityDeclHandler, parser.StartElementHandler = judge, stop
    with source.open(path) as file:
        while not begun and (chunk := file.read(_CHUNK)):
            try:
                parser.Parse(chunk)
            except expat.ExpatError:
                break  # the reader reports what is wrong, and where
    if bad:
        raise InputError(
            f"it declares the entity {bad[0]!r}, which contains other entities or has over {MAX_ENTITY} characters",
            path=path,
            fix="Give the file as its publisher has it, or write out the entity.",
        )
