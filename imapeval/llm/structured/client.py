"""Request structured output from a model: in the best format its server supports, with one retry after a fault."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ProviderError, SampleError
from imapeval.llm.protocol import CachingModel
from imapeval.llm.structured import faults
from imapeval.llm.structured.json_objects import unreadable_error
from imapeval.redaction import get_logger
from imapeval.threads import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.protocol import Completion, Model, Request
    from imapeval.types import Lang

_T = TypeVar("_T")

_log = get_logger(__name__)

MAX_CHARACTERS = 1_000_000
"""Longest completion that is parsed, more than any request allows: a longer one is an endless loop."""

_QUOTED = 1_000
"""Characters that are kept of a longer completion."""


class OutputFormat(IntEnum):
    """What a server can guarantee about a completion, best first."""

    SCHEMA = 0
    """It follows a JSON schema."""
    JSON = 1
    """It is a JSON object."""
    TEXT = 2
    """Nothing: free text."""


class StructuredOutputClient:
    """Sends requests for structured output. The format that the server supports is determined once for all requests.

    Args:
        model: The model.
        retry_note: Name of the prompt that describes, in a second request, what was wrong with the first completion.
    """

    def __init__(self, model: Model, *, retry_note: str = faults.RETRY_NOTE) -> None:
        self._model = model
        self._retry_note = retry_note
        self._format = OutputFormat.SCHEMA

    async def complete(
        self, make_request: Callable[[OutputFormat], Request], parse: Callable[[Completion], _T], *, lang: Lang
    ) -> _T:
        """Request a completion and parse it; retry once if it has a fault that a second request may avoid.

        Args:
            make_request: Makes the request for an output format.
            parse: Parses the completion; raises a `SampleError` whose kind is a `CompletionFault`. Called in a thread,
                because checking a list of facts against a long text takes seconds.
            lang: Language of the note in a second request.

        Raises:
            SampleError: Neither completion can be used.
            ProviderError: The model returned no completion.
        """
        try:
            return await self._complete_and_parse(make_request, parse)
        except SampleError as error:
            fault = faults.fault_of(error)
            if fault is None:
                raise
            _log.info("retrying because of a faulty completion: %s", fault)

            def amend(output_format: OutputFormat) -> Request:
                return faults.amend_request(make_request(output_format), fault, lang=lang, note=self._retry_note)

            try:
                return await self._complete_and_parse(amend, parse)
            except ProviderError as second:
                # If only the longer request does not fit the model, the first completion's fault is the reason.
                raise faults.advise(error if second.kind == "too-long" else second) from None

    async def _complete_and_parse(
        self, make_request: Callable[[OutputFormat], Request], parse: Callable[[Completion], _T]
    ) -> _T:
        request, completion = await self._complete(make_request)
        try:
            if len(completion.text) > MAX_CHARACTERS:
                why = f"it has {len(completion.text)} characters, more than the limit of {MAX_CHARACTERS}"
                raise unreadable_error(completion.text[:_QUOTED], why)
            read = sum(len(message.content) for message in request.messages) + len(completion.text)
            return await run_in_thread(lambda: parse(completion), size=read)
        except SampleError:
            if isinstance(self._model, CachingModel):
                self._model.reject(request, completion)
            raise

    async def _complete(self, make_request: Callable[[OutputFormat], Request]) -> tuple[Request, Completion]:
        while True:
            output_format = self._format
            request = make_request(output_format)
            try:
                return request, await self._model.complete(request)
            except ProviderError as error:
                if error.kind != "unsupported" or output_format is max(OutputFormat):
                    raise
                # Another request may have fallen back further meanwhile.
                self._format = max(self._format, OutputFormat(output_format + 1))
