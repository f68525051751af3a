"""Read files of batch results, from OpenAI's Batch API and from `vllm run-batch`, whose errors differ."""

from __future__ import annotations

import codecs
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, model_validator

from imapeval.errors import InputError, ProviderError
from imapeval.llm.middleware.cache import cache_key
from imapeval.llm.providers import chat_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from imapeval.llm.protocol import Completion, Request

_MAX_LINE = 1 << 26
"""Maximum length of a line in bytes: a completion with probabilities has some megabytes. A longer one may be a device
that never ends."""


class _Response(BaseModel):
    status_code: int
    body: Any = None


class BatchResultLine(BaseModel):
    """A line of a file of results."""

    id: str | None = None
    custom_id: str
    response: _Response | None = None
    error: Any = None

    @model_validator(mode="after")
    def _require_outcome(self) -> BatchResultLine:
        if self.response is None and self.error is None:
            raise ValueError("neither a response nor an error: this is not a line of batch results")
        return self

    def parse_completion(self, request: Request, *, sender: str) -> Completion:
        """Return the completion.

        Raises:
            ProviderError: This request has no completion.
            ServiceError: The server would answer no request; see `chat_format.to_error`.
        """
        if self.response is not None and self.response.status_code == HTTPStatus.OK and self.error is None:
            return chat_format.parse_reply(json.dumps(self.response.body), request, sender=sender)
        fault = self.error_reply()
        if not fault.status:
            # Never sent: the OpenAI batch expired or was cancelled.
            raise ProviderError(
                f"{sender} did not answer ({fault.code}: {fault.message[: chat_format.SHOWN]})", kind="server"
            )
        raise chat_format.to_error(fault, request, sender=sender)

    def error_reply(self) -> chat_format.ErrorReply:
        """Return the error reply; its status is 0 if the request was never sent."""
        status, body = (0, None) if self.response is None else (self.response.status_code, self.response.body)
        return chat_format.ErrorReply.parse(status, json.dumps(body if self.error is None else self.error))


class FailedResults:
    """Failures in files of results, each with a text that tells it from other failures of its request.

    The text is the id of the result. Some servers give every result the same id, or none: then it is the id with the
    content and the place of the result, so that a second failure is not taken for the first one imported again.

    Args:
        known: The texts of earlier imports.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._shared = {"", *(text.partition("\n")[0] for text in known if "\n" in text)}
        self._owners: dict[str, str] = {}
        self._failures: list[tuple[str, str, str, tuple[int, str, str, str | None]]] = []

    def note_id(self, result: BatchResultLine) -> None:
        """Note to which request the id of a result belongs."""
        id_ = result.id or ""
        if self._owners.setdefault(id_, result.custom_id) != result.custom_id:
            self._shared.add(id_)

    def add(self, result: BatchResultLine, location: str, outcome: tuple[int, str, str, str | None]) -> None:
        """Add a failed result; the outcome is the number of the file of requests, kind, message and raw text."""
        place = f"{result.id or ''}\n{cache_key(result.model_dump_json())}\n{location}"
        self._failures.append((result.custom_id, result.id or "", place, outcome))

    def take(self) -> list[tuple[str, str, int, str, str, str | None]]:
        """Return and forget the failures added, at the end of a file: `custom_id`, the text, and the outcome."""
        added, self._failures = self._failures, []
        return [(key, place if id_ in self._shared else id_, *outcome) for key, id_, place, outcome in added]


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the non-blank lines with their numbers, from 1.

    Raises:
        InputError: The file cannot be read, or a line is too long.
    """
    try:
        with path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE + 1), b""), start=1):
                if len(line) > _MAX_LINE:
                    raise InputError(
                        f"it has more than {_MAX_LINE:,} bytes",
                        path=path,
                        line=number,
                        fix="Give files of results as the server returned them.",
                    )
                content = line.strip() if number > 1 else line.removeprefix(codecs.BOM_UTF8).strip()
                if content:
                    yield number, content
    except OSError as error:
        raise InputError(
            f"it cannot be read ({error.strerror})", fix="Give files of results as the server returned them.", path=path
        ) from error
