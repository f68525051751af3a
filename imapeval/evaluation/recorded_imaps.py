"""Imaps that were made elsewhere, from a file."""

from __future__ import annotations

import hashlib
from itertools import product
from typing import TYPE_CHECKING

from imapeval.errors import ExtractionError, InputError
from imapeval.evaluation import imap_files
from imapeval.signature import signature

if TYPE_CHECKING:
    from pathlib import Path

    from imapeval.types import Imap, Sample


class RecordedImaps:
    """An `Extractor` over a file of imaps (see `imapeval.evaluation.imap_files`), found by sample id.

    Recorded relations go along with the pairs and are used as they are.

    Raises:
        InputError: The file is unreadable, a line is broken, or a reading of a sample's reference stands there twice.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._imaps: dict[str, dict[tuple[int, int], Imap]] = {}
        lines: dict[tuple[str, int, int], int] = {}
        for number, record in imap_files.read_records(path):
            imap = record.imap
            key = (record.id, imap.reading, imap.reference_index)
            if key in lines:
                raise InputError(
                    f"the imap of {_describe_key(*key)}, stands on line {lines[key]} and again on line {number}",
                    path=path,
                    line=number,
                    fix="Keep one of them, or number them as several readings (reading).",
                )
            lines[key] = number
            self._imaps.setdefault(record.id, {})[key[1:]] = imap
        if not lines:
            raise InputError("there are no imaps", path=path, fix="Give a file with at least one imap.")
        self._readings = max(len({reading for reading, _ in imaps}) for imaps in self._imaps.values())
        self._sha256 = hashlib.sha256(path.read_bytes()).hexdigest()

    @property
    def signature(self) -> str:
        """The file's content, by hash, and how often texts were read."""
        return signature("recorded", sha256=self._sha256[:12], readings=self._readings)

    @property
    def concurrency(self) -> int:
        """1: nothing here waits for anybody."""
        return 1

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return the recorded imaps of the sample, all of its readings.

        Raises:
            ExtractionError: A reference has none in one of the readings (kind "no-imap").
        """
        imaps = self._imaps.get(sample.id, {})
        readings = sorted({reading for reading, _ in imaps}) or [0]
        try:
            return tuple(imaps[key] for key in product(readings, range(max(1, len(sample.references)))))
        except KeyError as error:
            told = _describe_key(sample.id, *error.args[0])
            raise ExtractionError(f"{self._path} holds no imap of {told}", kind="no-imap") from error


def _describe_key(id_: str, reading: int, reference: int) -> str:
    return f"sample {id_!r}, reference {reference}" + (f", reading {reading}" if reading else "")
