"""The two protocols by which texts become imaps."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from imapeval.errors import SampleError
from imapeval.types import AnswerImap, Imap, Lang, QuestionImap, Sample

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")

_MAX_CACHED_READINGS = 4096
"""Readings that are kept in memory. What falls out is read again, from the cache of completions where there is one."""


class Extractor(Protocol):
    """Makes the imaps of a sample: one for each reference and reading, without reference pairs where there is none.

    Attributes:
        signature: Everything that can change what comes out, as `name|key:value|...`.
        concurrency: How many samples at the same time it makes good use of, at least 1.
    """

    @property
    def signature(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return one imap for each reference, or one where there is none; of several readings as many of each.

        They say which reference (`Imap.reference_index`) and which reading (`Imap.reading`) they are of.

        Raises:
            SampleError: No imap can be made; the reason becomes a `Failure` for this sample.
        """
        ...


class ImapReader(Protocol):
    """Reads one text at a time, in the paper's two steps: the question first, then each answer in its light.

    Attributes:
        signature: Everything that can change what comes out, as `name|key:value|...`.
        concurrency: How many texts at the same time it makes good use of, at least 1.
    """

    @property
    def signature(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Return what is asked and what is given.

        Raises:
            SampleError: Nothing is asked, or the text cannot be read.
        """
        ...

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        """Return what an answer informs of: facts for the terms of `imap.query`, or other terms it informs of.

        An answer that states no fact gives none; that is the answer's fault, not an error.

        Raises:
            SampleError: The text cannot be read.
        """
        ...


class TwoStepExtractor:
    """An `Extractor` out of a `Reader`.

    Question and references are read once per text, however many systems answer: the last few thousand readings are
    remembered, and requests for a reading in progress wait for it.
    """

    def __init__(self, reader: ImapReader) -> None:
        self._reader = reader
        self._readings: OrderedDict[Hashable, asyncio.Future[Any]] = OrderedDict()

    @property
    def signature(self) -> str:
        return self._reader.signature

    @property
    def concurrency(self) -> int:
        return self._reader.concurrency

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        lang = sample.lang

        async def answer(text: str) -> AnswerImap:
            return await self._reader.read_answer(text, question=sample.question, imap=asked, lang=lang)

        asked = await self._once(
            ("question", lang, sample.question), lambda: self._reader.read_question(sample.question, lang=lang)
        )
        # Each is waited for even where one fails: it is paid for, and must not go on unseen when the run is over.
        made = await asyncio.gather(
            *(
                self._once(("reference", lang, sample.question, text), lambda text=text: answer(text))
                for text in sample.references
            ),
            answer(sample.response),
            return_exceptions=True,
        )
        errors = [reading for reading in made if isinstance(reading, BaseException)]
        if errors:
            # What concerns all samples says more than what concerns this one.
            raise next((error for error in errors if not isinstance(error, SampleError)), errors[0])
        *references, answered = (reading for reading in made if not isinstance(reading, BaseException))
        return tuple(
            Imap(
                asked.query,
                asked.constraint,
                reference.inform,
                answered.inform,
                reference_index=index,
            )
            for index, reference in enumerate(references or [AnswerImap(())])
        )

    async def _once(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        reading = self._readings.get(key)
        if reading is None:
            reading = self._readings[key] = asyncio.ensure_future(read())
            reading.add_done_callback(lambda done: self._forget(key, done))
            if len(self._readings) > _MAX_CACHED_READINGS:
                self._readings.popitem(last=False)
        else:
            self._readings.move_to_end(key)
        # Shielded: who gives up waiting must not take the reading from the others.
        return await asyncio.shield(reading)

    def _forget(self, key: Hashable, reading: asyncio.Future[Any]) -> None:
        """Drop a reading that failed: those who waited share the failure, who asks later tries again."""
        failed = reading.cancelled() or reading.exception() is not None
        if failed and self._readings.get(key) is reading:
            del self._readings[key]
