"""An `Extractor` that reads every sample several times; each reading has its own imaps and scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.llm.gathering import gather_results
from imapeval.signature import signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.extraction.protocols import Extractor
    from imapeval.types import Imap, Sample

TEMPERATURE = 0.9
"""Sampling temperature, so that readings differ where the text is open to interpretation: Wang et al. 2024."""


class RepeatedExtractor:
    """Reads each sample with each of several extractors.

    Readings that fail are ignored as long as more than half succeed. A transient failure, such as a timeout, fails the
    sample whatever the others say: its score must not depend on chance events.

    Args:
        extractors: At least 2, identical except for the seed.
    """

    def __init__(self, extractors: Sequence[Extractor]) -> None:
        if len(extractors) < 2:
            raise ValueError(f"expected at least 2 extractors, got {len(extractors)}")
        self._extractors = extractors
        self._needed = len(extractors) // 2 + 1

    @property
    def signature(self) -> str:
        """The number of readings, how many must succeed, and the extractor."""
        read = signature("repeated", readings=len(self._extractors), needed=self._needed, v="1")
        return f"{read}|{self._extractors[0].signature}"

    @property
    def concurrency(self) -> int:
        """The number of samples whose readings together use the extractor's concurrency."""
        return -(-self._extractors[0].concurrency // len(self._extractors))

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return the imaps of every successful reading; see `Extractor.extract`.

        Raises:
            SampleError: Too many readings failed; the first of their errors.
        """

        async def read(number: int, extractor: Extractor) -> list[Imap]:
            return [replace(imap, reading=number) for imap in await extractor.extract(sample)]

        readings = await gather_results((read(*item) for item in enumerate(self._extractors)), needed=self._needed)
        return tuple(imap for reading in readings for imap in reading)
