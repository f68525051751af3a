"""Limits on the load of a server: concurrent requests, requests per minute and tokens per minute."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from typing import TYPE_CHECKING

from imapeval.llm import tokens

if TYPE_CHECKING:
    from imapeval.llm.protocol import Completion, Request

_TYPICAL_COMPLETION = 200.0
"""Tokens of a completion before the first one is seen: about 12 facts of 15 tokens, and the JSON around them."""

_NEWEST_WEIGHT = 0.05
"""Weight of the newest completion in the running mean of tokens, which thus covers about the last 20."""


class AdaptiveConcurrencyLimiter:
    """Limits concurrent requests, first come, first served except after a pause, and lowers the limit in overload.

    Congestion control as in TCP: an overload halves the limit, once for all requests that were in flight at the time;
    it grows by about one whenever as many requests as the limit have succeeded.

    Args:
        maximum: The initial and largest limit.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._limit = float(maximum)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._generation = 0
        self._paused_until = -math.inf

    @property
    def limit(self) -> int:
        """The current limit."""
        return int(self._limit)

    async def acquire(self) -> int:
        """Wait for a place. Each call must be followed by `release`.

        Returns:
            The number to pass to `report_overload`.
        """
        while True:
            await self._queue()
            pause = self._paused_until - asyncio.get_running_loop().time()
            if pause <= 0:
                return self._generation
            self.release()
            await asyncio.sleep(pause)

    def release(self) -> None:
        """Give the place back."""
        self._in_flight -= 1
        self._admit()

    def report_overload(self, generation: int) -> None:
        """Record that the server was overloaded while the request that acquired this number was in flight."""
        if generation == self._generation:
            self._generation += 1
            self._limit = max(1.0, self._limit / 2)

    def report_success(self) -> None:
        """Record that a request succeeded."""
        self._limit = min(self._maximum, self._limit + 1 / self._limit)
        self._admit()

    def pause(self, seconds: float) -> None:
        """Admit no request for some time."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    async def _queue(self) -> None:
        if not self._waiting and self._in_flight < self.limit:
            self._in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # Cancelled while waiting, or between being admitted and resuming.
            if turn.cancelled():
                with contextlib.suppress(ValueError):
                    self._waiting.remove(turn)
            else:
                self.release()
            raise

    def _admit(self) -> None:
        while self._waiting and self._in_flight < self.limit:
            turn = self._waiting.popleft()
            # A cancelled future stays in the queue until its task has run.
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)


class RateLimiter:
    """Spreads amounts evenly over time: a token bucket without bursts.

    Args:
        per_minute: Maximum amount per minute.
    """

    def __init__(self, per_minute: float) -> None:
        self._seconds_per_unit = 60.0 / per_minute
        self._free_at = 0.0

    def reserve(self, amount: float, now: float) -> float:
        """Reserve an amount; return the seconds to wait before using it."""
        start = max(self._free_at, now)
        self._free_at = start + amount * self._seconds_per_unit
        return start - now

    def correct(self, difference: float) -> None:
        """Reserve so much more, or give so much back, because the reserved amount was an estimate."""
        self._free_at += difference * self._seconds_per_unit


class RequestRateLimiter:
    """Limits requests and tokens per minute.

    Tokens are estimated in advance, from the length of the texts and the size of earlier completions, and corrected by
    what the server counted.

    Args:
        rpm: Maximum number of requests per minute, or None.
        tpm: Maximum number of tokens per minute, of prompts and completions together, or None.
    """

    def __init__(self, *, rpm: int | None = None, tpm: int | None = None) -> None:
        self._requests = None if rpm is None else RateLimiter(rpm)
        self._tokens = None if tpm is None else RateLimiter(tpm)
        self._typical_completion = _TYPICAL_COMPLETION

    async def wait(self, request: Request) -> float:
        """Wait until the request may be sent; return its estimated tokens."""
        if self._requests is None and self._tokens is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        pause = 0.0 if self._requests is None else self._requests.reserve(1, now)
        estimated = 0.0
        if self._tokens is not None:
            estimated = tokens.estimate_prompt(request) + min(self._typical_completion, request.max_tokens)
            pause = max(pause, self._tokens.reserve(estimated, now))
        if pause:
            await asyncio.sleep(pause)
        return estimated

    def correct(self, estimated: float, completion: Completion) -> None:
        """Replace the estimate by what the completion actually took."""
        usage = completion.usage
        if self._tokens is not None and usage.prompt_tokens:
            self._tokens.correct(usage.prompt_tokens + usage.completion_tokens - estimated)
            self._typical_completion += _NEWEST_WEIGHT * (usage.completion_tokens - self._typical_completion)
