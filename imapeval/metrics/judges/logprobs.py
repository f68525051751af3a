"""Finds out once whether a server returns log-probabilities, as `StructuredOutputClient` does for the output format."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

_FIRST = 2
"""Number of requests that decide. A single completion may lack log-probabilities for another reason: tokens that spell
a secret, or have an unknown format, are dropped."""

PATIENCE = 60.0
"""Seconds that the other requests wait for the first ones, which may hang or be repeated for minutes."""


class LogprobsSupport:
    """Whether a server returns log-probabilities. May be used from several event loops.

    Attributes:
        absent: Whether it has returned none, neither in the first completions nor in any other so far.
    """

    def __init__(self) -> None:
        self.absent = False
        self._found = self._missed = 0
        self._first: WeakKeyDictionary[asyncio.AbstractEventLoop, list[asyncio.Event]] = WeakKeyDictionary()

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[None]:
        """Surround a request: the first ones of an event loop start at once, the others after these have ended."""
        first = self._first.setdefault(asyncio.get_running_loop(), [])
        if len(first) < _FIRST:
            first.append(ended := asyncio.Event())
            try:
                yield
            finally:
                ended.set()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                for ended in first:
                    await ended.wait()
        yield

    def record(self, *, given: bool) -> None:
        """Record whether a usable completion had log-probabilities."""
        self._found += given
        self._missed += not given
        self.absent = not self._found and self._missed >= _FIRST
