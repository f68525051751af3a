"""An `Extractor` that reads every sample several times: each reading gives imaps, and scores, of its own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ProviderError, SampleError
from imapeval.llm.protocol import PERMANENT_KINDS
from imapeval.signature import signature

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

    from imapeval.extraction.protocols import Extractor
    from imapeval.types import Imap, Sample

TEMPERATURE = 0.9
"""Of sampling, so that readings differ where the text leaves room: Wang et al. 2024."""

_T = TypeVar("_T")


class RepeatedExtractor:
    """Reads each sample with every one of several extractors.

    A reading that fails counts as one that was not made, as long as more than half of them are left. Only where asking
    again may help, as after a timeout, the sample fails whatever the others say: its score must not depend on the
    weather.

    Args:
        extractors: At least 2, alike but for the seed.
    """

    def __init__(self, extractors: Sequence[Extractor]) -> None:
        if len(extractors) < 2:
            raise ValueError(f"{len(extractors)} extractors do not read several times")
        self._extractors = extractors
        self._needed = len(extractors) // 2 + 1

    @property
    def signature(self) -> str:
        """How many readings there are, how many it takes, and what reads."""
        read = signature("repeated", readings=len(self._extractors), needed=self._needed, v="1")
        return f"{read}|{self._extractors[0].signature}"

    @property
    def concurrency(self) -> int:
        """So many samples that their readings together are as many as the extractor makes good use of."""
        return -(-self._extractors[0].concurrency // len(self._extractors))

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return the imaps of every reading that was made; see `Extractor.extract`.

        Raises:
            SampleError: Too many readings failed, as the first that did.
        """

        async def read(number: int, extractor: Extractor) -> list[Imap]:
            return [replace(imap, reading=number) for imap in await extractor.extract(sample)]

        readings = await gather_readings((read(*item) for item in enumerate(self._extractors)), needed=self._needed)
        return tuple(imap for reading in readings for imap in reading)


async def gather_readings(readings: Iterable[Awaitable[_T]], *, needed: int) -> list[_T]:
    """Return the readings that were made, at least so many.

    Raises:
        ImapEvalError: One failed for a reason that concerns more than this text, else for one that does not last.
        SampleError: Too many failed, as the first that did.
    """
    # Every reading is waited for even where one fails: it is paid for, and the cache keeps it.
    made = await asyncio.gather(*readings, return_exceptions=True)
    errors = [reading for reading in made if isinstance(reading, BaseException)]
    # What does not last may not happen again, or waits for its batch ("pending").
    passing = [error for error in errors if not _is_permanent(error)]
    if passing:
        # What ends the run must not hide behind what fails one text.
        raise min(passing, key=lambda error: isinstance(error, SampleError))
    if len(made) - len(errors) < needed:
        raise errors[0]
    return [reading for reading in made if not isinstance(reading, BaseException)]


def _is_permanent(error: BaseException) -> bool:
    return error.kind in PERMANENT_KINDS if isinstance(error, ProviderError) else isinstance(error, SampleError)
