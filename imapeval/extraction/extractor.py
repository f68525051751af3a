"""The two protocols by which texts become imaps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from imapeval.errors import SampleError
from imapeval.types import Imap, Lang, Pair, QuestionImap, Sample

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

T = TypeVar("T")


class Extractor(Protocol):
    """Makes the imaps of a sample: one for each reference.

    Attributes:
        signature: Everything that can change what comes out, as `name|key:value|...`.
    """

    @property
    def signature(self) -> str: ...

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        """Return one imap per reference, in the order of `sample.references`.

        Raises:
            SampleError: No imap can be made; the reason becomes a `Failure` for this sample.
        """
        ...


class Reader(Protocol):
    """Reads one text at a time, in the paper's two steps: the question first, then each answer in its light."""

    @property
    def signature(self) -> str: ...

    async def read_question(self, question: str, *, lang: Lang) -> QuestionImap:
        """Return what is asked and what is given.

        Raises:
            SampleError: Nothing is asked, or the text cannot be read.
        """
        ...

    async def read_answer(self, answer: str, *, question: str, imap: QuestionImap, lang: Lang) -> tuple[Pair, ...]:
        """Return the inform pairs of an answer: facts for the terms of `imap.query`, or other terms it informs of.

        An answer that states no fact gives an empty tuple; that is the answer's fault, not an error.

        Raises:
            SampleError: The text cannot be read.
        """
        ...


class TwoStep:
    """An `Extractor` out of a `Reader`.

    Question and references are read once per text, however many systems answer: readings are remembered for
    the life of this object, and requests for a reading in progress wait for it.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._readings: dict[Hashable, asyncio.Future[Any]] = {}

    @property
    def signature(self) -> str:
        return self._reader.signature

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        lang = sample.lang

        async def answer(text: str) -> tuple[Pair, ...]:
            return await self._reader.read_answer(text, question=sample.question, imap=asked, lang=lang)

        asked = await self._once(
            ("question", lang, sample.question), lambda: self._reader.read_question(sample.question, lang=lang)
        )
        *references, response = await asyncio.gather(
            *(
                self._once(("reference", lang, sample.question, text), lambda text=text: answer(text))
                for text in sample.references
            ),
            answer(sample.response),
        )
        return tuple(
            Imap(asked.query, asked.constraint, reference, response, reference_index=index)
            for index, reference in enumerate(references)
        )

    async def _once(self, key: Hashable, read: Callable[[], Awaitable[T]]) -> T:
        if key not in self._readings:
            self._readings[key] = asyncio.ensure_future(read())
        try:
            return await self._readings[key]
        except SampleError:
            # Those who waited share the failure; who asks later tries again.
            self._readings.pop(key, None)
            raise
