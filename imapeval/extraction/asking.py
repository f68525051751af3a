"""Asking a model so that something usable comes back: in the best form its server takes, once more after a fault."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ProviderError, SampleError
from imapeval.extraction import faults, parsing
from imapeval.extraction.forms import Form
from imapeval.llm.client import Keeping
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.client import Completion, Model, Request
    from imapeval.types import Lang

_T = TypeVar("_T")

_log = get_logger(__name__)

MAX_CHARACTERS = 1_000_000
"""Of a completion that is read. More than any request asks for: a server that sends it is broken, or in a loop."""

_SHOWN = 1_000
"""Characters that are kept of a completion that is longer."""


class Asker:
    """Asks a model; what its server can be held to is learnt once, for all requests.

    Args:
        model: Who is asked.
        note: The prompt with which a second request says what was wrong with the first completion.
    """

    def __init__(self, model: Model, *, note: str = faults.RETRY_NOTE) -> None:
        self._model = model
        self._note = note
        self._form = Form.SCHEMA

    async def ask(self, make: Callable[[Form], Request], understand: Callable[[Completion], _T], *, lang: Lang) -> _T:
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
            return await self._read(make, understand)
        except SampleError as error:
            fault = faults.name_fault(error)
            if fault is None:
                raise
            _log.info("asking again, because of a completion: %s", fault)
            try:

                def change(form: Form) -> Request:
                    return faults.change(make(form), fault, lang=lang, note=self._note)

                return await self._read(change, understand)
            except ProviderError as second:
                # The longer request did not fit the model; what was wrong is the first one's truncation.
                raise error if second.kind == "too-long" else second from None

    async def _read(self, make: Callable[[Form], Request], understand: Callable[[Completion], _T]) -> _T:
        request, completion = await self._complete(make)
        try:
            if len(completion.text) > MAX_CHARACTERS:
                why = f"it has {len(completion.text)} characters, more than the {MAX_CHARACTERS} that are read"
                raise parsing.unreadable(completion.text[:_SHOWN], why)
            # In a thread: to hold a list of facts against a long text takes seconds.
            return await asyncio.to_thread(understand, completion)
        except SampleError:
            if isinstance(self._model, Keeping):
                self._model.reject(request)
            raise

    async def _complete(self, make: Callable[[Form], Request]) -> tuple[Request, Completion]:
        while True:
            form = self._form
            request = make(form)
            try:
                return request, await self._model.complete(request)
            except ProviderError as error:
                if error.kind != "unsupported" or form is max(Form):
                    raise
                # Others in flight may have learnt more by now.
                self._form = max(self._form, Form(form + 1))
