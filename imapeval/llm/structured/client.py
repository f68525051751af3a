"""Asking a model so that something usable comes back: in the best form its server takes, once more after a fault."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ProviderError, SampleError
from imapeval.extraction import parsing
from imapeval.llm.protocol import CachingModel
from imapeval.llm.structured import faults
from imapeval.llm.structured.output_format import OutputFormat
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.protocol import Completion, Model, Request
    from imapeval.types import Lang

_T = TypeVar("_T")

_log = get_logger(__name__)

MAX_CHARACTERS = 1_000_000
"""Of a completion that is read. More than any request asks for: a server that sends it is broken, or in a loop."""

_SHOWN = 1_000
"""Characters that are kept of a completion that is longer."""


class StructuredOutputClient:
    """Asks a model; what its server can be held to is learnt once, for all requests.

    Args:
        model: Who is asked.
        note: The prompt with which a second request says what was wrong with the first completion.
    """

    def __init__(self, model: Model, *, retry_note: str = faults.RETRY_NOTE) -> None:
        self._model = model
        self._note = retry_note
        self._form = OutputFormat.SCHEMA

    async def complete(
        self, make_request: Callable[[OutputFormat], Request], parse: Callable[[Completion], _T], *, lang: Lang
    ) -> _T:
        """Ask and understand; where the completion has a fault that asking again may mend, once more.

        Args:
            make: Makes the request in a form.
            understand: Reads the completion; raises a `SampleError` whose kind is a `Fault`.
            lang: Of the note that a second request carries.

        Raises:
            SampleError: Neither completion can be used.
            ProviderError: The model did not answer.
        """
        try:
            return await self._read(make_request, parse)
        except SampleError as error:
            fault = faults.fault_of(error)
            if fault is None:
                raise
            _log.info("asking again, because of a completion: %s", fault)
            try:

                def change(form: OutputFormat) -> Request:
                    return faults.amend_request(make_request(form), fault, lang=lang, note=self._note)

                return await self._read(change, parse)
            except ProviderError as second:
                # The longer request did not fit the model; what was wrong is the first one's truncation.
                raise error if second.kind == "too-long" else second from None

    async def _read(self, make: Callable[[OutputFormat], Request], understand: Callable[[Completion], _T]) -> _T:
        request, completion = await self._complete(make)
        try:
            if len(completion.text) > MAX_CHARACTERS:
                why = f"it has {len(completion.text)} characters, more than the {MAX_CHARACTERS} that are read"
                raise parsing.unreadable_error(completion.text[:_SHOWN], why)
            # In a thread: to hold a list of facts against a long text takes seconds.
            return await asyncio.to_thread(understand, completion)
        except SampleError:
            if isinstance(self._model, CachingModel):
                self._model.reject(request)
            raise

    async def _complete(self, make: Callable[[OutputFormat], Request]) -> tuple[Request, Completion]:
        while True:
            form = self._form
            request = make(form)
            try:
                return request, await self._model.complete(request)
            except ProviderError as error:
                if error.kind != "unsupported" or form is max(OutputFormat):
                    raise
                # Others in flight may have learnt more by now.
                self._form = max(self._form, OutputFormat(form + 1))
