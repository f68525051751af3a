"""The protocols `Extractor` and `ImapReader`, which turn texts into imaps, and an extractor built from a reader."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from imapeval.errors import SampleError
from imapeval.llm.gathering import gather_results
from imapeval.types import AnswerImap, Imap, Lang, QuestionImap, Sample

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")

_MAX_CACHED_READINGS = 4096
"""Readings kept in memory. Evicted ones are made again, from the completion cache if there is one."""

MAX_FACTS = 400
"""Maximum number of facts of one text. More than any real answer has; bounds the quadratic cost of matching."""


class Extractor(Protocol):
    """Makes the imaps of a sample: one per reference and reading, without reference pairs if there is no reference.

    Attributes:
        signature: Everything that can change the result, as `name|key:value|...`.
        concurrency: Number of samples that it can usefully process at the same time, at least 1.
    """

    @property
    def signature(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return one imap per reference, or a single one without references; for several readings, as many of each.

        `Imap.reference_index` and `Imap.reading` identify them.

        Raises:
            SampleError: No imap can be made; the error becomes a `Failure` of this sample.
        """
        ...


class ImapReader(Protocol):
    """Reads one text at a time, in the paper's two steps: the question first, then each answer given the question.

    Attributes:
        signature: Everything that can change the result, as `name|key:value|...`.
        concurrency: Number of texts that it can usefully process at the same time, at least 1.
    """

    @property
    def signature(self) -> str: ...

    @property
    def concurrency(self) -> int: ...

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Return the query and constraint pairs of a question.

        Raises:
            SampleError: Nothing is asked, or the text cannot be read.
        """
        ...

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> AnswerImap:
        """Return the inform pairs of an answer: facts for the terms of `imap.query`, or for other terms.

        An answer that states no fact gives no pair; that is not an error.

        Raises:
            SampleError: The text cannot be read.
        """
        ...


class TwoStepExtractor:
    """An `Extractor` made from an `ImapReader`.

    Each question and reference is read once, however many systems answer: the last few thousand readings are cached,
    and requests for a reading in progress wait for it.
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

        reading = self._read_once(
            ("question", lang, sample.question), lambda: self._reader.read_question(sample.question, lang=lang)
        )
        asked = await _name_text("question", reading)
        several = len(sample.references) > 1
        work = [
            _name_text(
                f"reference {number}" if several else "reference",
                self._read_once(("reference", lang, sample.question, text), lambda text=text: answer(text)),
            )
            for number, text in enumerate(sample.references, 1)
        ]
        *references, answered = await gather_results([*work, _name_text("response", answer(sample.response))])
        return tuple(
            Imap(asked.query, asked.constraint, reference.inform, answered.inform, reference_index=index)
            for index, reference in enumerate(references or [AnswerImap(())])
        )

    async def _read_once(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        reading = self._readings.get(key)
        if reading is None:
            reading = self._readings[key] = asyncio.ensure_future(read())
            reading.add_done_callback(lambda done: self._forget(key, done))
            if len(self._readings) > _MAX_CACHED_READINGS:
                self._readings.popitem(last=False)
        else:
            self._readings.move_to_end(key)
        # Shielded: cancelling one waiter must not cancel the reading for the others.
        return await asyncio.shield(reading)

    def _forget(self, key: Hashable, reading: asyncio.Future[Any]) -> None:
        """Drop a reading that failed, so that later requests try again; those already waiting get the failure."""
        failed = reading.cancelled() or reading.exception() is not None
        if failed and self._readings.get(key) is reading:
            del self._readings[key]


async def _name_text(name: str, reading: Awaitable[T]) -> T:
    """Await the reading of a text; if the completion was cut off, the error says which text is too long for it."""
    try:
        return await reading
    except SampleError as error:
        if error.kind != "truncated":
            raise
        # A new error: this one may be raised for other samples, too.
        raise type(error)(f"reading the {name}: {error}", kind=error.kind, raw=error.raw) from None
