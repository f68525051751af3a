"""Retries: transient failures are repeated, and an outage of the server is waited out by all requests together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.middleware import ModelWrapper
from imapeval.llm.middleware.limits import AdaptiveConcurrencyLimiter, RequestRateLimiter
from imapeval.llm.protocol import STOPPED, WORKER_DIED, Usage
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from imapeval.llm.middleware.budget import Ledger
    from imapeval.llm.protocol import Completion, Model, Request

_OUTAGE_KINDS = frozenset({"unreachable", "server", "timeout", "unreadable-reply"})
"""Failures that a server which is down would also cause."""

_TRANSIENT_KINDS = _OUTAGE_KINDS | {"rate-limit", WORKER_DIED}
"""Failures that may pass; all others are caused by the request itself."""

_OVERLOAD_KINDS = frozenset({"rate-limit", "timeout"})

_MAX_ATTEMPTS = 5
"""Per request, with pauses of 0 to 1, 2, 4 and 8 seconds."""

_MAX_PAID = 2
"""Per request, if its replies cost tokens but cannot be used."""

_MAX_TIMEOUTS = 3
"""Per request. Each attempt that times out keeps a server busy for minutes."""

_MAX_RATE_LIMITED = 12
"""Per request. The pauses add up to five minutes at most, plus those that the server requests."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
"""Seconds between two attempts. After a minute, limits per minute have been reset."""

_LONGEST_RETRY_AFTER = 900.0
"""Longest pause in seconds that a server may ask for. More is a limit per hour or day, too long to wait for."""

_OUTAGE_THRESHOLD = 5
"""Different requests that fail in a row before the server rather than the requests is considered at fault. A failed
connection counts as an outage at once."""

_FIRST_PROBE_INTERVAL = 1.0
_LONGEST_PROBE_INTERVAL = 15.0
"""Seconds between two probes of a server that is down."""

_LONGEST_OUTAGE = 120.0
"""Seconds to wait for a server that has answered before: a restart with a large model takes a minute or two."""

_LONGEST_OUTAGE_AT_START = 10.0
"""Seconds to wait for a server that has never answered: the address is probably wrong."""

_VERDICT_SECONDS = 30.0
"""How long later requests fail immediately after the server was given up."""

_log = get_logger(__name__)


class RetryingModel(ModelWrapper):
    """A `Model` that repeats failed requests when that can help, and adapts its load to what the server can take.

    Timeouts, overload, server errors, broken connections and unreadable replies are retried after the pause that the
    server asks for, or with exponential back-off and full jitter. A waiting request does not count towards the limit of
    concurrent ones. May be used from several threads and event loops, one at a time.

    Args:
        model: The wrapped model, which makes one attempt per call.
        rpm: Maximum number of requests per minute; None for no limit.
        tpm: Maximum number of tokens per minute; None for no limit.
        random: Source of the random pauses.
        ledger: Counts requests that fail for good and cost nothing. What attempts cost is up to `BudgetedModel`.
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
        super().__init__(model)
        self._random = random or Random()
        self._limiter = AdaptiveConcurrencyLimiter(model.concurrency)
        self._rates = RequestRateLimiter(rpm=rpm, tpm=tpm)
        self._breaker = CircuitBreaker(self._random)
        self._last_success = -math.inf
        self._ledger = ledger
        self._stopped = False
        self._waiting: set[asyncio.Timeout] = set()
        self._sending = 0
        self._idle = asyncio.Event()

    def stop(self) -> None:
        """Send no further request and no retry; see `ModelWrapper.stop`.

        Requests that are not in flight fail with a `ServiceError` of kind "stopped", as soon as none is in flight: a
        caller with several concurrent requests does not give up before the last completion has arrived.
        """
        self._stopped = True
        for waiting in self._waiting:
            waiting.reschedule(0)

    async def complete(self, request: Request) -> Completion:
        """Ask until there is a completion or retrying is pointless; see `Model.complete`.

        Raises:
            ProviderError: The error of the last attempt.
            ServiceError: The model's own; or of kind "unreachable": the server has been down for too long; or of kind
                "rate-limit": it rejects every request; or of kind "stopped": it was not sent, or failed, after `stop`.
        """
        waiting = asyncio.timeout(0 if self._stopped else None)
        try:
            async with waiting:
                self._waiting.add(waiting)
                try:
                    return await self._complete(request, waiting)
                finally:
                    self._waiting.discard(waiting)
        except TimeoutError:
            if not waiting.expired():
                raise
            raise await self._make_stopped_error() from None
        except ProviderError as error:
            if self._ledger is not None and error.tokens is None:
                self._ledger.record_call(Usage(0, 0), failed=True)
            raise

    async def _complete(self, request: Request, waiting: asyncio.Timeout) -> Completion:
        call = _Call(asyncio.get_running_loop().time(), waiting)
        while True:
            try:
                return await self._attempt(request, call)
            except ProviderError as error:
                if error.kind not in _TRANSIENT_KINDS:
                    raise
                pause = 0.0
                # During an outage the request is not at fault, and the circuit breaker decides how long to wait.
                if error.kind != "unreachable" and not (call.is_probe and _may_be_outage(error)):
                    call.failures += 1
                    pause = self._pause_before_retry(error, call)
                    _log.info("attempt %d failed, retrying in %.1f s: %s", call.failures, pause, error)
            await asyncio.sleep(pause)

    async def _attempt(self, request: Request, call: _Call) -> Completion:
        generation = await self._limiter.acquire()
        try:
            estimated = await self._rates.wait(request)
            async with self._breaker.attempt(request) as call.is_probe:
                completion = await self._send(request, call.waiting)
        except ProviderError as error:
            if error.kind in _OVERLOAD_KINDS:
                self._limiter.report_overload(generation)
            if error.kind == "rate-limit" and error.retry_after:
                self._limiter.pause(min(error.retry_after, _LONGEST_RETRY_AFTER))
            raise
        finally:
            self._limiter.release()
        self._limiter.report_success()
        self._rates.correct(estimated, completion)
        self._last_success = asyncio.get_running_loop().time()
        return completion

    async def _send(self, request: Request, waiting: asyncio.Timeout) -> Completion:
        """Ask the model, which `stop` does not interrupt; a retry after it is interrupted."""
        if self._stopped:
            raise await self._make_stopped_error()
        self._waiting.discard(waiting)
        self._sending += 1
        self._idle.clear()
        try:
            return await self._model.complete(request)
        except ProviderError:
            if self._stopped:
                waiting.reschedule(0)
            raise
        finally:
            self._waiting.add(waiting)
            self._sending -= 1
            if not self._sending:
                self._idle.set()

    async def _make_stopped_error(self) -> ServiceError:
        """Return the error of a request that is not sent any more, once no other is in flight."""
        if self._sending:
            await self._idle.wait()
        return ServiceError("the run was stopped.", kind=STOPPED)

    def _pause_before_retry(self, error: ProviderError, call: _Call) -> float:
        """Return how many seconds to wait before the next attempt, or raise if there should be none."""
        retry_after = error.retry_after or 0.0
        if error.kind == "rate-limit":
            if retry_after > _LONGEST_RETRY_AFTER:
                raise ServiceError(
                    f"{_end_sentence(error)} It asks for a pause of {retry_after / 60:.0f} minutes.", kind="rate-limit"
                ) from error
            if call.failures >= _MAX_RATE_LIMITED:
                if self._last_success >= call.started:
                    raise error
                minutes = (asyncio.get_running_loop().time() - call.started) / 60
                raise ServiceError(
                    f"{_end_sentence(error)} It has rejected every request for {minutes:.0f} minutes.",
                    kind="rate-limit",
                ) from error
        elif call.failures >= _max_attempts(error):
            raise error
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (call.failures - 1))
        return min(retry_after, _LONGEST_RETRY_AFTER) + self._random.uniform(0, longest)


def _end_sentence(error: ProviderError) -> str:
    message = str(error)
    return message if message.endswith((".", "?", "!", "。", "？", "！")) else f"{message}."


def _is_paid(error: ProviderError) -> bool:
    """Return whether a model has answered and its tokens were counted, but the reply cannot be used."""
    return any(error.tokens or ())


def _may_be_outage(error: ProviderError) -> bool:
    return error.kind in _OUTAGE_KINDS and not _is_paid(error)


def _max_attempts(error: ProviderError) -> int:
    if _is_paid(error):
        return _MAX_PAID
    return _MAX_TIMEOUTS if error.kind == "timeout" else _MAX_ATTEMPTS


@dataclass(slots=True)
class _Call:
    """The state of a request over its attempts.

    Attributes:
        started: When it arrived, in the event loop's time.
        waiting: Ends all waiting for the next attempt.
        failures: Failed attempts for which the request may be to blame.
        is_probe: Whether the last attempt was a probe during an outage.
    """

    started: float
    waiting: asyncio.Timeout
    failures: int = 0
    is_probe: bool = False


class CircuitBreaker:
    """Detects outages of a server, and makes requests wait together while one of them probes it.

    Args:
        random: Source of the random pauses.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        # With the requests themselves, because the id of one that is gone may be given to another.
        self._failing: dict[int, Request] = {}
        self._outage: _Outage | None = None
        self._has_answered = False

    @contextlib.asynccontextmanager
    async def attempt(self, request: Request) -> AsyncGenerator[bool]:
        """Wait until the request may be sent, and learn from its outcome.

        Yields:
            Whether the request is a probe during an outage.

        Raises:
            ServiceError: The server has been down for too long.
        """
        outage = await self._wait()
        try:
            yield outage is not None
        except ProviderError as error:
            if _may_be_outage(error):
                self._note_failure(error, request, outage)
            elif error.kind not in ("unsupported", WORKER_DIED):  # some models raise the former without a request
                self._note_answer()
            raise
        else:
            self._note_answer()
        finally:
            if outage is not None:
                outage.probe_lock.release()

    async def _wait(self) -> _Outage | None:
        """Return None once the server is up, or the outage, with its lock held, when this caller is to probe."""
        loop = asyncio.get_running_loop()
        while (outage := self._outage) is not None:
            if outage.verdict:
                if loop.time() < outage.next_at:
                    raise ServiceError(outage.verdict, kind="unreachable")
                self._outage = None
            elif outage.loop is not loop:
                self._outage = None
            else:
                await outage.probe_lock.acquire()
                try:
                    if outage is self._outage and not outage.verdict:
                        await asyncio.sleep(outage.next_at - loop.time())
                except asyncio.CancelledError:
                    outage.probe_lock.release()
                    raise
                if outage is self._outage and not outage.verdict:
                    return outage
                outage.probe_lock.release()
        return None

    def _note_answer(self) -> None:
        self._has_answered = True
        self._failing.clear()
        if self._outage is not None:
            self._outage = None
            _log.warning("the server answers again")

    def _note_failure(self, error: ProviderError, request: Request, outage: _Outage | None) -> None:
        now = asyncio.get_running_loop().time()
        # A server error or an unreadable reply shows that there is a server.
        self._has_answered |= error.kind in ("server", "unreadable-reply")
        if self._outage is None:
            self._failing[id(request)] = request
            if error.kind == "unreachable" or len(self._failing) >= _OUTAGE_THRESHOLD:
                # A server that was never seen is given up so soon that the error is enough.
                _log.log(logging.WARNING if self._has_answered else logging.INFO, "waiting for the server: %s", error)
                self._outage = _Outage(since=now, next_at=now + self._probe_interval(0))
        elif outage is not None and outage is self._outage:
            outage.probes += 1
            pause = max(self._probe_interval(outage.probes), min(error.retry_after or 0.0, _LONGEST_PAUSE))
            outage.next_at = now + pause
            if outage.next_at > outage.since + (_LONGEST_OUTAGE if self._has_answered else _LONGEST_OUTAGE_AT_START):
                outage.verdict = (
                    f"{_end_sentence(error)} imapeval gave up after {now - outage.since:.0f} s; the same command "
                    "continues where it stopped."
                )
                outage.next_at = now + _VERDICT_SECONDS

    def _probe_interval(self, probes: int) -> float:
        return min(_LONGEST_PROBE_INTERVAL, _FIRST_PROBE_INTERVAL * 2**probes) * self._random.uniform(0.5, 1.0)


@dataclass(slots=True, eq=False)
class _Outage:
    """A period in which the server is down.

    Attributes:
        since: When it was noticed.
        next_at: When to probe next; once there is a verdict, until when it holds.
        probes: Number of failed probes.
        verdict: The error message, once the server was given up.
        probe_lock: Held by the request that probes.
        loop: The event loop that the lock belongs to.
    """

    since: float
    next_at: float
    probes: int = 0
    verdict: str = ""
    probe_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
