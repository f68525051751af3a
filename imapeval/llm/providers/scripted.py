"""A model with scripted replies, for tests and documentation without a server. Public: use it in your own tests."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from imapeval.llm.protocol import Completion, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from imapeval.llm.protocol import Request

    Reply = str | Completion | Exception


class ScriptedModel:
    """A `Model` that returns scripted replies: texts and completions are returned, exceptions are raised.

        model = ScriptedModel(['{"inform": []}', ProviderError("busy", kind="rate-limit")])
        scorer = imapeval.Scorer(["judge"], llm=model)

    Args:
        replies: One reply per request, in order; or a function from the request to its reply.
        identity: See `Model`.
        concurrency: See `Model`.

    Attributes:
        requests: The requests so far.
    """

    def __init__(
        self, replies: Iterable[Reply] | Callable[[Request], Reply], *, identity: str = "scripted", concurrency: int = 8
    ) -> None:
        self.identity = identity
        self.concurrency = concurrency
        self.requests: list[Request] = []
        self._replies = replies if callable(replies) else deque(replies)

    async def complete(self, request: Request) -> Completion:
        """Return the next reply.

        Raises:
            IndexError: There are no replies left.
        """
        self.requests.append(request)
        reply = self._replies(request) if callable(self._replies) else self._replies.popleft()
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Completion) else Completion(reply, "stop", self.identity, Usage(0, 0))
