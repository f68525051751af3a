"""What a model's work costs: counted per call, kept below a limit, told in one line."""

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
from imapeval.llm.prices import Price
from imapeval.llm.protocol import CachingModel, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from imapeval.llm.protocol import Completion, Model, Request


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """What was asked of a model, and what it took.

    Attributes:
        calls: Requests that got an answer or an error of their own.
        cached: Those of them that were free: kept from earlier, or shared with an identical one under way.
        failed: Those of them that ended in an error.
        estimated: Those of them whose tokens the server did not count, so that they are estimates.
        prompt_tokens, completion_tokens, reused_tokens: Of all calls that were not free; see `Usage`.
        usd: What they cost; None where there is no price.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    estimated: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reused_tokens: int = 0
    usd: float | None = None


class Ledger:
    """Counts what a model's work costs, and refuses the call that could cost too much.

    May be used from several threads and event loops.

    Args:
        price: Of the model; None where it is not known.
        max_cost: Most USD to be spent, or None for no limit.

    Raises:
        UsageError: A limit without a price.
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
        self._under_way = 0
        self._longest: int | None = None
        self._waiting: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._note: Callable[[dict[str, Any]], None] | None = None

    @property
    def spent(self) -> UsageTotals:
        """Everything so far."""
        return self._spent

    def add_earlier_sessions(self, report: Mapping[str, Any]) -> None:
        """Add what earlier sessions of the same run spent, as their `report` told it.

        Where only they or only this one knows a price, it is the price of all.
        """
        if self.price is None and report["price"] is not None:
            self.price = Price(**report["price"])
            self._spent = replace(self._spent, usd=0.0)
        before = UsageTotals(**{name: report[name] for name in UsageTotals.__slots__})
        usd = before.usd
        if usd is None and self.price is not None:
            usd = self.price.cost_of(Usage(before.prompt_tokens, before.completion_tokens, before.reused_tokens))
        with self._lock:
            self._spent = _add(self._spent, replace(before, usd=usd))

    def on_change(self, note: Callable[[dict[str, Any]], None]) -> None:
        """Have every change told, as a `report`, the moment it is made and before what was paid for is used."""
        with self._lock:
            self._note = note
            note(self.report())

    def report(self) -> dict[str, Any]:
        """Return what was spent and the price, as it is written into manifests and `--json`."""
        return {**asdict(self._spent), "price": None if self.price is None else asdict(self.price)}

    def record_call(self, usage: Usage, *, failed: bool = False, estimated: bool = False) -> None:
        """Count a call that the model was asked."""
        if (part := _part_of(self)) is not None:
            part.record_call(usage, failed=failed, estimated=estimated)
        cost = None if self.price is None else self.price.cost_of(usage)
        with self._lock:
            if usage.completion_tokens:
                self._longest = max(self._longest or 0, usage.completion_tokens)
            self._enter(
                UsageTotals(
                    1,
                    failed=int(failed),
                    estimated=int(estimated),
                    prompt_tokens=usage.prompt_tokens,
                    completion_tokens=usage.completion_tokens,
                    reused_tokens=usage.reused_tokens,
                    usd=cost,
                )
            )

    def record_failure(self, request: Request, error: ProviderError) -> None:
        """Count a call that ended in an error; a reply whose tokens the server does not count is estimated."""
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
            self._enter(UsageTotals(1, cached=1, usd=None if self.price is None else 0.0))

    def _enter(self, spent: UsageTotals) -> None:
        self._spent = _add(self._spent, spent)
        if self._note is not None:
            self._note(self.report())

    async def record_retry(self, request: Request, error: ProviderError) -> None:
        """Count an attempt that is repeated, and set aside what the next one may cost.

        Raises:
            ServiceError: As of `reserve`.
        """
        self.record_failure(request, error)
        if self.release():
            await self.reserve(request)

    async def reserve(self, request: Request) -> None:
        """Set aside what the request of this task may cost, until `release`.

        That is the price of the prompt, as estimated, and of the longest completion so far; of the longest allowed as
        long as there was none. Waits while calls under way hold so much that there may not be enough left.

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
                    self._under_way += 1
                    _RESERVED.set(cost)
                    return
                # Before the first completion the cost is a guess that only gets lower.
                if not self._under_way or (self._longest is not None and spent + cost > self._max_cost):
                    raise ServiceError(
                        f"the model's work has cost {format_usd(spent)}, and with the next call, of up to "
                        f"{format_usd(cost)}, it could cost more than --max-cost {self._max_cost:g}. What was paid for "
                        "is kept. Raise --max-cost and repeat the command.",
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
        """Give back what was set aside, once the call is paid for if it was to be; say whether anything was."""
        reserved = _RESERVED.get()
        if reserved is None:
            return False
        _RESERVED.set(None)
        with self._lock:
            self._under_way -= 1
            # Nothing under way holds nothing, not the rounding errors of many additions.
            self._reserved = self._reserved - reserved if self._under_way else 0.0
            for turn, loop in self._waiting.items():
                loop.call_soon_threadsafe(_wake, turn)
        return True


_RESERVED: ContextVar[float | None] = ContextVar("imapeval_reserved", default=None)
"""USD that are set aside for the call that a task makes."""

_ASKING: ContextVar[Ledger | None] = ContextVar("imapeval_ledger", default=None)


@contextmanager
def track_separately(price: Price | None) -> Generator[Ledger]:
    """Count apart what this task and the tasks that it starts ask; the model's own ledger counts it as well.

    What several ask at once and only one pays for stands with the one that asked first.
    """
    part = Ledger(price=price)
    token = _ASKING.set(part)
    try:
        yield part
    finally:
        _ASKING.reset(token)


def _part_of(ledger: Ledger) -> Ledger | None:
    part = _ASKING.get()
    return None if part is ledger else part


class BudgetedModel:
    """A `Model` that is asked only within the ledger's limit, and each of whose calls is entered there.

    It belongs inside the cache, whose completions are free, and outside retries, which tell the ledger themselves what
    an attempt cost that they repeat (`Patient`).
    """

    def __init__(self, model: Model, ledger: Ledger) -> None:
        self._model = model
        self._ledger = ledger

    @property
    def identity(self) -> str:
        """The model's own."""
        return self._model.identity

    @property
    def concurrency(self) -> int:
        """The model's own."""
        return self._model.concurrency

    async def complete(self, request: Request) -> Completion:
        """Ask the model.

        Raises:
            ServiceError: As `Model.complete`; "over-budget" where the ledger has not enough left.
            ProviderError: As `Model.complete`.
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


class CountingModel:
    """A `Model` around the cache, which enters in the ledger what came out of it for nothing."""

    def __init__(self, model: Model, ledger: Ledger) -> None:
        self._model = model
        self._ledger = ledger

    @property
    def identity(self) -> str:
        """The model's own."""
        return self._model.identity

    @property
    def concurrency(self) -> int:
        """The model's own."""
        return self._model.concurrency

    async def complete(self, request: Request) -> Completion:
        """Ask the model; see `Model.complete`."""
        completion = await self._model.complete(request)
        if completion.cached:
            self._ledger.record_cached()
        return completion

    def reject(self, request: Request) -> None:
        """Tell the cache; see `Cached.reject`. What was paid stays counted."""
        if isinstance(self._model, CachingModel):
            self._model.reject(request)


def format_report(report: Mapping[str, Any]) -> str:
    """Return a ledger's report as a line for people."""
    calls, cached, failed, estimated = (report[name] for name in ("calls", "cached", "failed", "estimated"))
    parts = [f"{calls:,} call{'' if calls == 1 else 's'}"]
    if cached:
        parts.append(f"{cached:,} of them from the cache")
    if failed:
        parts.append(f"{failed:,} failed")
    prompt, completion = (_show_count(report[name]) for name in ("prompt_tokens", "completion_tokens"))
    of_tokens = f"{prompt} prompt and {completion} completion tokens"
    if estimated:
        of_tokens += f" (estimated for {estimated:,})"
    usd = report["usd"]
    return f"{', '.join(parts)}; {of_tokens}; {'no price known' if usd is None else format_usd(usd)}"


def format_usd(usd: float) -> str:
    """Return an amount for people: cents, and of less than ten of them two digits."""
    return f"USD {usd:.2f}" if usd >= 0.1 or not usd else f"USD {Decimal(f'{usd:.2g}'):f}"


def _add(a: UsageTotals, b: UsageTotals) -> UsageTotals:
    usd = None if a.usd is None or b.usd is None else a.usd + b.usd
    return UsageTotals(
        a.calls + b.calls,
        a.cached + b.cached,
        a.failed + b.failed,
        a.estimated + b.estimated,
        a.prompt_tokens + b.prompt_tokens,
        a.completion_tokens + b.completion_tokens,
        a.reused_tokens + b.reused_tokens,
        usd,
    )


def _wake(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)


def _show_count(number: int) -> str:
    return f"{number / 1e6:.1f} M" if number >= 100_000 else f"{number:,}"
