"""Imaps that were made elsewhere, from a file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from imapeval import imapfile
from imapeval.errors import ExtractionError, InputError
from imapeval.signature import signature

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.types import Imap, Sample


class Recorded:
    """An `Extractor` over a file of imaps (see `imapeval.imapfile`), found by sample id.

    Recorded relations go along with the pairs and are used as they are.

    Raises:
        InputError: The file is unreadable, a line is broken, or a sample's reference stands there twice.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._imaps: dict[tuple[str, int], Imap] = {}
        lines: dict[tuple[str, int], int] = {}
        for number, record in imapfile.read(path):
            key = (record.id, record.imap.reference_index)
            if key in lines:
                raise InputError(
                    f"the imap of sample {record.id!r}, reference {key[1]}, stands on line {lines[key]} and again on "
                    f"line {number}",
                    path=path,
                    line=number,
                    mend="Keep one of them.",
                )
            lines[key] = number
            self._imaps[key] = record.imap
        if not lines:
            raise InputError("there are no imaps", path=path, mend="Give a file with at least one imap.")
        self._sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    @property
    def signature(self) -> str:
        """The file's content, by hash."""
        return signature("recorded", sha256=self._sha256[:12])

    @property
    def concurrency(self) -> int:
        """1: nothing here waits for anybody."""
        return 1

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return the recorded imaps of the sample.

        Raises:
            ExtractionError: A reference has none (kind "no-imap").
        """
        try:
            return tuple(self._imaps[sample.id, index] for index in range(max(1, len(sample.references))))
        except KeyError as error:
            raise ExtractionError(
                f"{self._path} holds no imap of sample {sample.id!r}, reference {error.args[0][1]}", kind="no-imap"
            ) from error
