"""A model for dry runs: it sends nothing, records requests, and returns completions that are already in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.llm.protocol import Completion, Request

PENDING = "pending"
"""Kind of the error for a request that has no completion yet."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request to a `DryRunModel`.

    Attributes:
        request: The request as it would be sent.
        completion: The completion from the cache, if any.
        error: The error that was raised instead, if any.
    """

    request: Request
    completion: Completion | None = None
    error: ProviderError | None = None


class DryRunModel:
    """A `Model` that replaces another model, to which nothing is to be sent.

    It wraps the completion cache instead of being wrapped by it: simulated replies must never be cached.

    Args:
        identity: Identity of the model that it replaces.
        find_completion: Looks up a cached completion.
        reply: Returns the reply to any other request: a completion, or an error to raise.

    Attributes:
        recorded: List to which requests are appended; None (the default) to record nothing.
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
        """Return the cached completion or the simulated reply.

        Raises:
            ProviderError: The simulated reply is an error.
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
    """Return the error for a request that has no completion yet."""
    return ProviderError(f"a request ({request.schema_name}) has not been answered yet", kind=PENDING)
