"""How much may be under way: so many requests at a time, so many requests and tokens a minute."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from typing import TYPE_CHECKING

from imapeval.llm import tokens

if TYPE_CHECKING:
    from imapeval.llm.protocol import Completion, Request

_MINUTE = 60.0

_TYPICAL = 200.0
"""Tokens of a completion before the first one is seen: some 12 facts of 15 tokens, and what is around them."""

_WEIGHT = 0.05
"""Of the newest completion in the running mean of their tokens, which so looks back over some 20."""


class AdaptiveConcurrencyLimiter:
    """Lets a number of requests through at a time, first come, first served; fewer while the server is overloaded.

    Congestion control as of TCP: the number is halved where the server says that it is too much, once for all the
    requests that were under way then, and grows by one each time that so many in a row went well.

    Args:
        most: The largest number, and the first.
    """

    def __init__(self, maximum: int) -> None:
        self._most = maximum
        self._allowed = float(maximum)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._era = 0
        self._closed_until = -math.inf

    @property
    def limit(self) -> int:
        """How many at a time at present."""
        return int(self._allowed)

    async def acquire(self) -> int:
        """Wait for a place. Every entry is followed by `leave`.

        Returns:
            The number to give to `narrow`.
        """
        while True:
            await self._queue()
            pause = self._closed_until - asyncio.get_running_loop().time()
            if pause <= 0:
                return self._era
            self.release()
            await asyncio.sleep(pause)

    def release(self) -> None:
        """Give the place back."""
        self._inside -= 1
        self._admit()

    def report_overload(self, era: int) -> None:
        """Note that the server was overloaded when a request was under way that entered with this number."""
        if era == self._era:
            self._era += 1
            self._allowed = max(1.0, self._allowed / 2)

    def pause(self, seconds: float) -> None:
        """Let nobody through for some time."""
        self._closed_until = max(self._closed_until, asyncio.get_running_loop().time() + seconds)

    def report_success(self) -> None:
        """Note that a request went well."""
        self._allowed = min(self._most, self._allowed + 1 / self._allowed)
        self._admit()

    async def _queue(self) -> None:
        if not self._waiting and self._inside < self.limit:
            self._inside += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # Given up while waiting, or in the moment between being let in and noticing it.
            if turn.cancelled():
                with contextlib.suppress(ValueError):
                    self._waiting.remove(turn)
            else:
                self.release()
            raise

    def _admit(self) -> None:
        while self._waiting and self._inside < self.limit:
            turn = self._waiting.popleft()
            # One that was given up stands here until its task has run.
            if not turn.done():
                self._inside += 1
                turn.set_result(None)


class RateLimiter:
    """Spreads amounts evenly, so that no minute sees more than is allowed: a token bucket without bursts.

    Args:
        per_minute: How much a minute may see.
    """

    def __init__(self, per_minute: float) -> None:
        self._seconds = _MINUTE / per_minute
        self._free_at = 0.0

    def reserve(self, amount: float, now: float) -> float:
        """Take an amount; return the seconds to wait before it is used."""
        start = max(self._free_at, now)
        self._free_at = start + amount * self._seconds
        return start - now

    def correct(self, difference: float) -> None:
        """Take so much more, or give so much back, because the amount was only an estimate."""
        self._free_at += difference * self._seconds


class RequestRateLimiter:
    """Requests and tokens a minute together.

    Tokens are estimated before, by the length of the texts and by what completions took so far, and corrected by what
    the server counted.

    Args:
        rpm: Most requests a minute, or None.
        tpm: Most tokens a minute, of prompts and completions together, or None.
    """

    def __init__(self, *, rpm: int | None = None, tpm: int | None = None) -> None:
        self._requests = None if rpm is None else RateLimiter(rpm)
        self._tokens = None if tpm is None else RateLimiter(tpm)
        self._typical = _TYPICAL

    async def wait(self, request: Request) -> float:
        """Wait until the request may be sent; return the tokens that it is thought to take."""
        if self._requests is None and self._tokens is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        pause = 0.0 if self._requests is None else self._requests.reserve(1, now)
        estimated = 0.0
        if self._tokens is not None:
            prompt = tokens.estimate_prompt(request)
            estimated = prompt + min(self._typical, request.max_tokens)
            pause = max(pause, self._tokens.reserve(estimated, now))
        if pause:
            await asyncio.sleep(pause)
        return estimated

    def correct(self, estimated: float, completion: Completion) -> None:
        """Note what a request took in truth."""
        usage = completion.usage
        if self._tokens is not None and usage.prompt_tokens:
            self._tokens.correct(usage.prompt_tokens + usage.completion_tokens - estimated)
            self._typical += _WEIGHT * (usage.completion_tokens - self._typical)
