"""Cost of a model's work: a ledger that counts every call, and a budget that no call may exceed."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from imapeval.errors import ProviderError, ServiceError, UsageError
from imapeval.llm import tokens
from imapeval.llm.middleware import ModelWrapper
from imapeval.llm.prices import Price
from imapeval.llm.protocol import CachingModel, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from imapeval.llm.protocol import Completion, Model, Request


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Calls of a model, and what they took.

    Attributes:
        calls: Requests that got a completion or a `ProviderError`.
        cached: Those of them that were free: from the cache, or shared with an identical request in flight.
        failed: Those of them that ended in an error.
        estimated: Those of them whose tokens the server did not count, so that they are estimated.
        prompt_tokens, completion_tokens, reused_tokens: Tokens of all calls that were not free; see `Usage`.
        usd: Cost in USD; None if the price is unknown.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    estimated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reused_tokens: int = 0
    usd: float | None = None

    def __add__(self, other: UsageTotals) -> UsageTotals:
        """Return the totals of both."""
        return UsageTotals(
            self.calls + other.calls,
            self.cached + other.cached,
            self.failed + other.failed,
            self.estimated + other.estimated,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.reused_tokens + other.reused_tokens,
            None if self.usd is None or other.usd is None else self.usd + other.usd,
        )


class Ledger:
    """Counts what a model's work costs, and refuses calls that could exceed the budget.

    May be used from several threads and event loops.

    Args:
        price: Price of the model; None if unknown.
        max_cost: Budget in USD, or None for no limit.

    Raises:
        UsageError: A budget without a price.
    """

    def __init__(self, *, price: Price | None = None, max_cost: float | None = None) -> None:
        if max_cost is not None and price is None:
            raise UsageError(
                "--max-cost needs the price of the model, which is not known. Give it in USD per million tokens of "
                "prompts and completions, as in --price 0.40,1.60."
            )
        self.price = price
        self._max_cost = max_cost
        self._spent = UsageTotals(usd=None if price is None else 0.0)
        self._lock = threading.Lock()
        self._reserved = 0.0
        self._in_flight = 0
        self._longest: int | None = None
        self._waiting: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._callback: Callable[[dict[str, Any]], None] | None = None

    @property
    def spent(self) -> UsageTotals:
        """The totals so far."""
        return self._spent

    def add_earlier_sessions(self, report: Mapping[str, Any]) -> None:
        """Add what earlier sessions of the same run spent, from their `report`.

        If only the earlier sessions or only this one has a price, it applies to all of them.
        """
        if self.price is None and report["price"] is not None:
            self.price = Price(**report["price"])
            self._spent = replace(self._spent, usd=0.0)
        before = UsageTotals(**{name: report[name] for name in UsageTotals.__slots__})
        usd = before.usd
        if usd is None and self.price is not None:
            usd = self.price.cost_of(Usage(before.prompt_tokens, before.completion_tokens, before.reused_tokens))
        with self._lock:
            self._spent += replace(before, usd=usd)

    def on_change(self, callback: Callable[[dict[str, Any]], None]) -> None:
        """Call back with a `report` now and after each change, before the completion that was paid for is used."""
        with self._lock:
            self._callback = callback
            callback(self.report())

    def report(self) -> dict[str, Any]:
        """Return the totals and the price, as written to manifests and `--json`."""
        return {**asdict(self._spent), "price": None if self.price is None else asdict(self.price)}

    def record_call(self, usage: Usage, *, failed: bool = False, estimated: bool = False) -> None:
        """Count a call that the model was sent."""
        if (part := _part_of(self)) is not None:
            part.record_call(usage, failed=failed, estimated=estimated)
        with self._lock:
            if usage.completion_tokens:
                self._longest = max(self._longest or 0, usage.completion_tokens)
            self._add(
                UsageTotals(
                    1,
                    failed=int(failed),
                    estimated=int(estimated),
                    prompt_tokens=usage.prompt_tokens,
                    completion_tokens=usage.completion_tokens,
                    reused_tokens=usage.reused_tokens,
                    usd=None if self.price is None else self.price.cost_of(usage),
                )
            )

    def record_failure(self, request: Request, error: ProviderError) -> None:
        """Count a call that ended in an error. Tokens of a reply that the server did not count are estimated."""
        usage = Usage(*(error.tokens or (0, 0)))
        estimated = error.tokens is not None and not any(error.tokens)
        if estimated:
            usage = Usage(tokens.estimate_prompt(request), tokens.estimate(error.raw or ""))
        self.record_call(usage, failed=True, estimated=estimated)

    def record_cached(self) -> None:
        """Count a call that cost nothing."""
        if (part := _part_of(self)) is not None:
            part.record_cached()
        with self._lock:
            self._add(UsageTotals(1, cached=1, usd=None if self.price is None else 0.0))

    def _add(self, totals: UsageTotals) -> None:
        self._spent += totals
        if self._callback is not None:
            self._callback(self.report())

    async def record_retry(self, request: Request, error: ProviderError) -> None:
        """Count an attempt that is retried, and reserve what the next attempt may cost.

        Raises:
            ServiceError: See `reserve`.
        """
        self.record_failure(request, error)
        if self.release():
            await self.reserve(request)

    async def reserve(self, request: Request) -> None:
        """Reserve what the current task's request may cost, until `release`.

        That is the price of the prompt, as estimated, and of the longest completion so far (of `max_tokens` until there
        is one). Waits while reservations of calls in flight leave too little.

        Raises:
            ServiceError: "over-budget": there is not enough left.
        """
        if self._max_cost is None or self.price is None:
            return
        prompt = tokens.estimate_prompt(request)
        while True:
            with self._lock:
                longest = request.max_tokens if self._longest is None else min(request.max_tokens, self._longest)
                cost = self.price.cost_of(Usage(prompt, longest))
                spent = self._spent.usd or 0.0
                if spent + self._reserved + cost <= self._max_cost:
                    self._reserved += cost
                    self._in_flight += 1
                    _RESERVED.set(cost)
                    return
                # Until the first completion the cost is an upper bound, which can only drop.
                if not self._in_flight or (self._longest is not None and spent + cost > self._max_cost):
                    raise ServiceError(
                        f"{format_usd(spent)} has been spent, and the next call, of up to {format_usd(cost)}, could "
                        f"exceed --max-cost {self._max_cost:g}. All completions so far are kept. Raise --max-cost and "
                        "repeat the command.",
                        kind="over-budget",
                    )
                loop = asyncio.get_running_loop()
                turn = loop.create_future()
                self._waiting[turn] = loop
            try:
                await turn
            finally:
                with self._lock:
                    self._waiting.pop(turn, None)

    def release(self) -> bool:
        """Release the current task's reservation, after recording the call; return whether there was one."""
        reserved = _RESERVED.get()
        if reserved is None:
            return False
        _RESERVED.set(None)
        with self._lock:
            self._in_flight -= 1
            # Exactly zero when nothing is in flight, without the rounding errors of many additions.
            self._reserved = self._reserved - reserved if self._in_flight else 0.0
            for turn, loop in self._waiting.items():
                loop.call_soon_threadsafe(_wake, turn)
        return True


_RESERVED: ContextVar[float | None] = ContextVar("imapeval_reserved", default=None)
"""USD that are reserved for the current task's call."""

_PART: ContextVar[Ledger | None] = ContextVar("imapeval_ledger", default=None)


@contextmanager
def track_separately(price: Price | None) -> Generator[Ledger]:
    """Yield a ledger of what this task and the tasks it starts ask; the model's own ledger counts it as well.

    If several tasks share a request, it counts for the first one.
    """
    part = Ledger(price=price)
    token = _PART.set(part)
    try:
        yield part
    finally:
        _PART.reset(token)


def _part_of(ledger: Ledger) -> Ledger | None:
    part = _PART.get()
    return None if part is ledger else part


class BudgetedModel(ModelWrapper):
    """A `Model` whose calls are recorded in a ledger and stay within its budget.

    It belongs inside the cache, whose completions are free, and outside retries: `RetryingModel` itself records what a
    retried attempt cost.
    """

    def __init__(self, model: Model, ledger: Ledger) -> None:
        super().__init__(model)
        self._ledger = ledger

    async def complete(self, request: Request) -> Completion:
        """Ask the model within the budget.

        Raises:
            ServiceError: See `Model.complete`; "over-budget" if the budget does not allow the call.
            ProviderError: See `Model.complete`.
        """
        await self._ledger.reserve(request)
        try:
            completion = await self._model.complete(request)
            usage = completion.usage
            unknown = not usage.prompt_tokens and not usage.completion_tokens
            if unknown:
                usage = Usage(tokens.estimate_prompt(request), tokens.estimate(completion.text))
            self._ledger.record_call(usage, estimated=unknown)
            return completion
        except ProviderError as error:
            self._ledger.record_failure(request, error)
            raise
        finally:
            self._ledger.release()


class CountingModel(ModelWrapper):
    """A `Model` around the cache that records in the ledger what came from the cache for free."""

    def __init__(self, model: Model, ledger: Ledger) -> None:
        super().__init__(model)
        self._ledger = ledger

    async def complete(self, request: Request) -> Completion:
        """Ask the model; see `Model.complete`."""
        completion = await self._model.complete(request)
        if completion.cached:
            self._ledger.record_cached()
        return completion

    def reject(self, request: Request, completion: Completion) -> None:
        """Pass the rejection on to the cache; see `CachedModel.reject`. The cost stays counted."""
        if isinstance(self._model, CachingModel):
            self._model.reject(request, completion)


def format_report(report: Mapping[str, Any]) -> str:
    """Return a ledger's report as one line for people."""
    calls, cached, failed, estimated = (report[name] for name in ("calls", "cached", "failed", "estimated"))
    parts = [f"{calls:,} call{'' if calls == 1 else 's'}"]
    if cached:
        parts.append(f"{cached:,} of them from the cache")
    if failed:
        parts.append(f"{failed:,} failed")
    prompt, completion = (_format_count(report[name]) for name in ("prompt_tokens", "completion_tokens"))
    counts = f"{prompt} prompt and {completion} completion tokens"
    if estimated:
        counts += f" (estimated for {estimated:,})"
    usd = report["usd"]
    return f"{', '.join(parts)}; {counts}; {'no price known' if usd is None else format_usd(usd)}"


def format_usd(usd: float) -> str:
    """Return an amount for people: in cents, and with two significant digits below ten cents."""
    return f"USD {usd:.2f}" if usd >= 0.1 or not usd else f"USD {Decimal(f'{usd:.2g}'):f}"


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _format_count(number: int) -> str:
    return f"{number / 1e6:.1f} M" if number >= 100_000 else f"{number:,}"
