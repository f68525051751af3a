"""A model that never sends anything: it notes what it is asked, and gives what was paid for already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.protocol import Completion, Request

PENDING = "pending"
"""Kind of the error of a request that nobody has answered yet."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that a rehearsal was asked.

    Attributes:
        request: As it would be sent.
        known: The completion that was paid for already, if any.
        error: What was raised in its place, if anything was.
    """

    request: Request
    completion: Completion | None = None
    error: ProviderError | None = None


class DryRunModel:
    """A `Model` in the place of another one that is not to be asked now.

    It stands outside of the cache of completions, not behind it: what it makes up must never be kept.

    Args:
        identity: Of the model it stands for, so that its requests are that model's.
        find: Looks a completion up that was paid for.
        reply: What to say to any other request: a completion, or the error to raise.

    Attributes:
        asked: Where its requests are noted; None, as at first, to note nothing.
    """

    concurrency = 1

    def __init__(
        self,
        identity: str,
        *,
        find_completion: Callable[[Request], Completion | None],
        reply: Callable[[Request], Completion | ProviderError],
    ) -> None:
        self.identity = identity
        self.recorded: list[RecordedRequest] | None = None
        self._find = find_completion
        self._reply = reply

    async def complete(self, request: Request) -> Completion:
        """Return the known completion or the made-up one.

        Raises:
            ProviderError: The reply is one.
        """
        known = self._find(request)
        reply = known or self._reply(request)
        error = reply if isinstance(reply, ProviderError) else None
        if self.recorded is not None:
            self.recorded.append(RecordedRequest(request, known, error))
        if isinstance(reply, ProviderError):
            raise reply
        return reply


def pending_error(request: Request) -> ProviderError:
    """Return the error that says that a request has yet to be answered."""
    return ProviderError(f"a request ({request.schema_name}) has not been answered yet", kind=PENDING)
