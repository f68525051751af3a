"""Cost of a model's work: a ledger that counts every call, and a budget that is reserved before each attempt."""

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
        calls: Requests that got a completion or a `ProviderError`. An attempt that was paid for but failed counts as a
            call of its own, even if the next one succeeds.
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
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in UsageTotals.__slots__}
        totals: dict[str, Any] = {name: None if None in pair else sum(pair) for name, pair in pairs.items()}
        return UsageTotals(**totals)


class Ledger:
    """Counts what a model's work costs, and refuses calls that could exceed the budget.

    May be used from several threads and event loops.

    Args:
        price: Price of the model; None if unknown.
        max_cost: Budget in USD, or None for no limit.

    Attributes:
        spent: The totals so far.

    Raises:
        UsageError: A budget without a price.
    """

    def __init__(self, *, price: Price | None = None, max_cost: float | None = None) -> None:
        if max_cost is not None and price is None:
            raise UsageError(
                "--max-cost needs the price of the model, which is not known. Give it in USD per million tokens of "
                "prompts and completions: --price 0.40,1.60, or in Python price='0.40,1.60'."
            )
        self.price = price
        self._max_cost = max_cost
        self.spent = UsageTotals(usd=None if price is None else 0.0)
        self._lock = threading.Lock()
        self._uncertain = 0.0
        self._reserved = 0.0
        self._in_flight = 0
        self._waiting: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._callback: Callable[[dict[str, Any]], None] | None = None
        self._check: Callable[[], None] | None = None

    def add_earlier_sessions(self, report: Mapping[str, Any]) -> None:
        """Add what earlier sessions of the same run spent, from their `report`.

        If only the earlier sessions or only this one has a price, it applies to all of them.
        """
        if self.price is None and report["price"] is not None:
            self.price = Price(**report["price"])
            self.spent = replace(self.spent, usd=0.0)
        before = UsageTotals(**{name: report[name] for name in UsageTotals.__slots__})
        usd = before.usd
        if usd is None and self.price is not None:
            usd = self.price.cost_of(Usage(before.prompt_tokens, before.completion_tokens, before.reused_tokens))
        with self._lock:
            self.spent += replace(before, usd=usd)
            self._uncertain += report.get("uncertain_usd") or 0.0

    def on_change(self, callback: Callable[[dict[str, Any]], None], *, check: Callable[[], None]) -> None:
        """Call back with a `report` now and after each change, before the completion that was paid for is used.

        Args:
            callback: Called with the report.
            check: Called before each request; it raises an `ImapEvalError` if nothing more may be sent.
        """
        with self._lock:
            self._callback, self._check = callback, check
            callback(self.report())

    def report(self) -> dict[str, Any]:
        """Return the totals and the price, as written to manifests and `--json`.

        `uncertain_usd` is the most that requests may have cost in addition whose reply was lost or has yet to come.
        """
        price = self.price
        uncertain = None if price is None else self._uncertain + self._reserved
        return {**asdict(self.spent), "uncertain_usd": uncertain, "price": None if price is None else asdict(price)}

    def record_call(
        self, usage: Usage, *, failed: bool = False, estimated: bool = False, reserved: float | None = None
    ) -> None:
        """Count a call that the model was sent, in place of what `reserve` returned for it."""
        if (part := _part_of(self)) is not None:
            part.record_call(usage, failed=failed, estimated=estimated, reserved=reserved)
        with self._lock:
            self.spent += UsageTotals(
                1,
                failed=int(failed),
                estimated=int(estimated),
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                reused_tokens=usage.reused_tokens,
                usd=None if self.price is None else self.price.cost_of(usage),
            )
            self._release(reserved)

    def record_cached(self) -> None:
        """Count a call that cost nothing."""
        if (part := _part_of(self)) is not None:
            part.record_cached()
        with self._lock:
            self.spent += UsageTotals(1, cached=1, usd=None if self.price is None else 0.0)
            self._report_usage()

    async def reserve(self, request: Request) -> float | None:
        """Reserve the most that a request may cost, and return it; None without a price.

        That is the price of as many prompt tokens as there are bytes, and of `max_tokens`. Waits while reservations of
        calls in flight leave too little.

        Raises:
            ServiceError: "over-budget": there is not enough left.
            ImapEvalError: The check of `on_change` raised it.
        """
        part = _part_of(self)
        for ledger in (self, part):
            if ledger is not None and ledger._check is not None:
                ledger._check()
        if self.price is None:
            return None
        cost = self.price.cost_of(Usage(tokens.bound_prompt(request), request.max_tokens))
        while True:
            with self._lock:
                spent = (self.spent.usd or 0.0) + self._uncertain
                if self._max_cost is None or spent + self._reserved + cost <= self._max_cost:
                    self._reserve(cost)
                    break
                if spent + cost > self._max_cost:
                    raise ServiceError(
                        f"{_describe_cost(self.report())} has been spent, and the next call, of up to "
                        f"{format_usd(cost)}, could exceed --max-cost {self._max_cost:g}. All completions so far are "
                        "kept. Raise --max-cost and repeat the command.",
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
        if part is not None:
            with part._lock:
                part._reserve(cost)
        return cost

    def release(self, reserved: float | None, *, lost: bool = False) -> None:
        """Release what `reserve` returned for a call that is not recorded.

        Args:
            reserved: What was reserved.
            lost: Whether the call may have been billed: then it counts as `uncertain_usd`.
        """
        if (part := _part_of(self)) is not None:
            part.release(reserved, lost=lost)
        with self._lock:
            if lost and reserved is not None:
                self._uncertain += reserved
            self._release(reserved)

    def _reserve(self, cost: float) -> None:
        self._reserved += cost
        self._in_flight += 1
        self._report_usage()

    def _release(self, reserved: float | None) -> None:
        if reserved is not None:
            self._in_flight -= 1
            # Exactly zero when nothing is in flight, without the rounding errors of many additions.
            self._reserved = self._reserved - reserved if self._in_flight else 0.0
            for turn, loop in self._waiting.items():
                loop.call_soon_threadsafe(_wake, turn)
        self._report_usage()

    def _report_usage(self) -> None:
        if self._callback is not None:
            self._callback(self.report())


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

    It belongs inside the retries, because each attempt may be paid for.
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
        reserved = await self._ledger.reserve(request)
        try:
            completion = await self._model.complete(request)
        except ProviderError as error:
            if error.tokens is None:
                self._ledger.release(reserved, lost=error.maybe_billed)
            else:
                self._record(request, Usage(*error.tokens), error.raw or "", failed=True, reserved=reserved)
            raise
        except BaseException as error:
            self._ledger.release(reserved, lost=isinstance(error, asyncio.CancelledError))
            raise
        self._record(request, completion.usage, completion.text, failed=False, reserved=reserved)
        return completion

    def _record(self, request: Request, usage: Usage, text: str, *, failed: bool, reserved: float | None) -> None:
        """Record a call; tokens that the server did not count are estimated."""
        known = replace(
            usage,
            prompt_tokens=usage.prompt_tokens or tokens.estimate_prompt(request),
            completion_tokens=usage.completion_tokens or tokens.estimate(text),
        )
        self._ledger.record_call(known, failed=failed, estimated=known != usage, reserved=reserved)


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
    return f"{', '.join(parts)}; {counts}; {'no price known' if report['usd'] is None else _describe_cost(report)}"


def format_usd(usd: float) -> str:
    """Return an amount for people: in cents, and with two significant digits below ten cents."""
    return f"USD {usd:.2f}" if usd >= 0.0995 or not usd else f"USD {Decimal(f'{usd:.2g}'):f}"


def _describe_cost(report: Mapping[str, Any]) -> str:
    uncertain = report.get("uncertain_usd")
    # Files of earlier versions do not have it.
    more = f" (and up to {format_usd(uncertain)} for requests without a reply)" if uncertain else ""
    return format_usd(report["usd"]) + more


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _format_count(number: int) -> str:
    return f"{number / 1e6:.1f} M" if number >= 100_000 else f"{number:,}"
