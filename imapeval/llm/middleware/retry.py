"""Patience: what passes is tried again, and a server that is down is waited for, by all requests together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.middleware.limits import AdaptiveConcurrencyLimiter, RequestRateLimiter
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.protocol import Completion, Model, Request

_DOWN = frozenset({"unreachable", "server", "timeout", "unreadable-reply"})
"""Failures that a server which is down would give as well."""

_PASSING = _DOWN | {"rate-limit"}
"""Failures that may pass; the others are the request's own."""

_OVERLOADED = frozenset({"rate-limit", "timeout"})

_ATTEMPTS = 5
"""For one request. With pauses of 0 to 1, 2, 4 and 8 seconds."""

_TIMEOUT_ATTEMPTS = 3
"""For one request that is never answered in time: each of them keeps a server busy for minutes."""

_RATE_LIMIT_ATTEMPTS = 12
"""For one request that comes too soon. The pauses take five minutes at most, and what the server asks for on top."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
"""Seconds between two attempts; limits by the minute have passed then."""

_LONGEST_ASKED = 900.0
"""Seconds that a server may ask to be left alone. More is a limit by the hour or day, and no night's work."""

_FAILING = 5
"""Requests that have failed, none answered in between, before the server and not the requests is thought to be at
fault. One to which no connection can be made is down at once."""

_FIRST_PROBE = 1.0
_LONGEST_PROBE = 15.0
"""Seconds between two looks whether the server is up again."""

_PATIENCE = 120.0
"""Seconds that a server may be down that was there before: a restart with a large model takes a minute or two."""

_PATIENCE_AT_FIRST = 10.0
"""Seconds that a server may be down that was never there: the address is probably wrong."""

_VERDICT_HOLDS = 30.0
"""Seconds for which a server that was given up is not looked for again: for the requests that are still to come."""

_log = get_logger(__name__)


class RetryingModel:
    """A `Model` that asks another one again where it makes sense, and never asks too much of it.

    Timeouts, overload, server errors, broken connections and unreadable replies are tried again after pauses that grow
    and are random ("exponential back-off with full jitter"), or that the server asks for. Who waits takes no place.
    Several threads and event loops may use it, one at a time.

    Args:
        model: Who is asked, one attempt a call.
        rpm: Most requests a minute; None for no limit.
        tpm: Most tokens a minute; None for no limit.
        random: Of the pauses.
        ledger: Where attempts are entered that were paid for and are repeated, such as replies without a text; None for
            nowhere. What the last attempt comes to is not its business.
    """

    def __init__(
        self,
        model: Model,
        *,
        rpm: int | None = None,
        tpm: int | None = None,
        random: Random | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._model = model
        self._random = random or Random()
        self._gate = AdaptiveConcurrencyLimiter(model.concurrency)
        self._rates = RequestRateLimiter(rpm=rpm, tpm=tpm)
        self._breaker = CircuitBreaker(self._random)
        self._last_good = -math.inf
        self._ledger = ledger

    @property
    def identity(self) -> str:
        """The model's own: patience does not change what it says."""
        return self._model.identity

    @property
    def concurrency(self) -> int:
        """The model's own, and the most requests that are sent at a time."""
        return self._model.concurrency

    async def complete(self, request: Request) -> Completion:
        """Ask until there is an answer or it makes no sense any more; see `Model.complete`.

        Raises:
            ProviderError: The last attempt's.
            ServiceError: The model's own; or of kind "unreachable", the server has been down for too long; or of kind
                "rate-limit", it lets nothing through any more; or of kind "over-budget", an attempt was paid for that
                cannot be repeated within the ledger's limit.
        """
        call = _Call(asyncio.get_running_loop().time())
        while True:
            try:
                return await self._attempt(request, call)
            except ProviderError as error:
                if error.kind not in _PASSING:
                    raise
                pause = 0.0
                # Else it is no fault of the request, and the breaker says how long to wait.
                if error.kind != "unreachable" and not (call.looked and error.kind in _DOWN):
                    call.failures += 1
                    pause = self._pause_before_retry(error, call)
                    _log.info("attempt %d failed, the next follows in %.1f s: %s", call.failures, pause, error)
                if self._ledger is not None and error.tokens is not None:
                    await self._ledger.record_retry(request, error)
            await asyncio.sleep(pause)

    async def _attempt(self, request: Request, call: _Call) -> Completion:
        era = await self._gate.acquire()
        try:
            estimated = await self._rates.wait(request)
            async with self._breaker.attempt(request) as call.looked:
                completion = await self._model.complete(request)
        except ProviderError as error:
            if error.kind in _OVERLOADED:
                self._gate.report_overload(era)
            if error.kind == "rate-limit" and error.retry_after:
                self._gate.pause(min(error.retry_after, _LONGEST_ASKED))
            raise
        finally:
            self._gate.release()
        self._gate.report_success()
        self._rates.correct(estimated, completion)
        self._last_good = asyncio.get_running_loop().time()
        return completion

    def _pause_before_retry(self, error: ProviderError, call: _Call) -> float:
        """Return how long to wait before the next attempt, or raise where there should be none."""
        asked = error.retry_after or 0.0
        if error.kind == "rate-limit":
            if asked > _LONGEST_ASKED:
                raise ServiceError(
                    f"{error} It asks for a pause of {asked / 60:.0f} minutes.", kind="rate-limit"
                ) from error
            if call.failures >= _RATE_LIMIT_ATTEMPTS:
                if self._last_good >= call.begun:
                    raise error
                raise ServiceError(
                    f"{error} It has let nothing through for "
                    f"{(asyncio.get_running_loop().time() - call.begun) / 60:.0f} minutes.",
                    kind="rate-limit",
                ) from error
        elif call.failures >= (_TIMEOUT_ATTEMPTS if error.kind == "timeout" else _ATTEMPTS):
            raise error
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (call.failures - 1))
        return min(asked, _LONGEST_ASKED) + self._random.uniform(0, longest)


@dataclass(slots=True)
class _Call:
    """What has come of a request so far.

    Attributes:
        begun: When it came.
        failures: Attempts that may have failed because of it.
        looked: Whether the last attempt was to see if the server is up again.
    """

    begun: float
    failures: int = 0
    looked: bool = False


class CircuitBreaker:
    """Knows whether a server is down, and makes those who want to ask it wait together while one of them looks.

    Args:
        random: Of the pauses.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._failing: set[int] = set()
        self._outage: _Outage | None = None
        self._seen = False

    @contextlib.asynccontextmanager
    async def attempt(self, request: Request) -> AsyncGenerator[bool]:
        """Wait until the request may be sent, and learn from what comes of it.

        Yields:
            Whether it is sent to see if the server is up again.

        Raises:
            ServiceError: The server has been down for too long.
        """
        outage = await self._wait()
        try:
            yield outage is not None
        except ProviderError as error:
            if error.kind in _DOWN:
                self._note_failure(error, request, outage)
            elif error.kind != "unsupported":  # that some models say without asking their server
                self._note_answer()
            raise
        else:
            self._note_answer()
        finally:
            if outage is not None:
                outage.probe.release()

    async def _wait(self) -> _Outage | None:
        """Return when the server is up (None), or when it is one's turn to look (the outage, its lock held)."""
        loop = asyncio.get_running_loop()
        while (outage := self._outage) is not None:
            if outage.verdict:
                if loop.time() < outage.next_at:
                    raise ServiceError(outage.verdict, kind="unreachable")
                self._outage = None
            elif outage.loop is not loop:
                self._outage = None
            else:
                await outage.probe.acquire()
                try:
                    if outage is self._outage and not outage.verdict:
                        await asyncio.sleep(outage.next_at - loop.time())
                except asyncio.CancelledError:
                    outage.probe.release()
                    raise
                if outage is self._outage and not outage.verdict:
                    return outage
                outage.probe.release()
        return None

    def _note_answer(self) -> None:
        self._seen = True
        self._failing.clear()
        if self._outage is not None:
            self._outage = None
            _log.warning("the server answers again")

    def _note_failure(self, error: ProviderError, request: Request, outage: _Outage | None) -> None:
        now = asyncio.get_running_loop().time()
        # An error of the server's own or a broken connection: somebody is there.
        self._seen |= error.kind in ("server", "unreadable-reply")
        if self._outage is None:
            self._failing.add(id(request))
            if error.kind == "unreachable" or len(self._failing) >= _FAILING:
                # One that was never there is given up so soon that the error is enough.
                _log.log(logging.WARNING if self._seen else logging.INFO, "waiting for the server: %s", error)
                self._outage = _Outage(since=now, next_at=now + self._pause(0))
        elif outage is not None and outage is self._outage:
            outage.probes += 1
            pause = max(self._pause(outage.probes), min(error.retry_after or 0.0, _LONGEST_PAUSE))
            outage.next_at = now + pause
            if outage.next_at > outage.since + (_PATIENCE if self._seen else _PATIENCE_AT_FIRST):
                outage.verdict = (
                    f"{error} It was given up after {now - outage.since:.0f} s; the same command goes on where it "
                    "stopped."
                )
                outage.next_at = now + _VERDICT_HOLDS

    def _pause(self, probes: int) -> float:
        return min(_LONGEST_PROBE, _FIRST_PROBE * 2**probes) * self._random.uniform(0.5, 1.0)


@dataclass(slots=True, eq=False)
class _Outage:
    """A time in which the server is down.

    Attributes:
        since: When it was noticed.
        next_at: When to look next; after the verdict, until when that holds.
        probes: How often somebody has looked.
        verdict: Why it was given up, once it was.
        probe: Held by who looks.
        loop: That the lock belongs to.
    """

    since: float
    next_at: float
    probes: int = 0
    verdict: str = ""
    probe: asyncio.Lock = field(default_factory=asyncio.Lock)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
