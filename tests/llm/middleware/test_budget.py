import asyncio
import random

import pytest

from imapeval.errors import ProviderError, ServiceError, UsageError
from imapeval.llm import tokens
from imapeval.llm.middleware.budget import (
    BudgetedModel,
    Ledger,
    UsageTotals,
    format_report,
    format_usd,
    track_separately,
)
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Message, Model, Request, Usage
from imapeval.llm.registry import add_middleware

PRICE = Price(1.0, 4.0)


class Server:
    """A model that reports its usage; the texts "fail", "garbled", "lost" and "down" raise errors."""

    identity = "server"
    concurrency = 64

    def __init__(self, completion_tokens=lambda: 100, *, prompt_tokens: int = 1000, usage: bool = True):
        self.calls = 0
        self._completion_tokens = completion_tokens
        self._prompt_tokens = prompt_tokens
        self._usage = usage

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        await asyncio.sleep(0.001)
        usage = Usage(self._prompt_tokens, self._completion_tokens()) if self._usage else Usage(0, 0)
        match request.messages[0].content:
            case "fail":
                raise ProviderError("cut off", kind="truncated", tokens=(usage.prompt_tokens, usage.completion_tokens))
            case "garbled":
                raise ProviderError("what?", kind="bad-request")
            case "lost":
                raise ProviderError("closed", kind="bad-request", maybe_billed=True)
            case "down":
                raise ServiceError("down", kind="unreachable")
            case _:
                return Completion("four words of text", "stop", "m", usage)


def ask(text: object, max_tokens: int = 2048) -> Request:
    return Request((Message("user", str(text)),), max_tokens=max_tokens)


def chain(server: Server, ledger: Ledger, path) -> Model:
    return add_middleware(server, cache=path, ledger=ledger)


async def test_paid_free_and_failed_calls(tmp_path):
    ledger = Ledger(price=PRICE)
    model = chain(Server(), ledger, tmp_path / "c.sqlite")
    await asyncio.gather(*(model.complete(ask(number % 2)) for number in range(5)))
    for text in ("fail", "garbled"):
        with pytest.raises(ProviderError):
            await model.complete(ask(text))
    # Two calls were made and three shared their completions; the truncated one is paid for like any other.
    expected = UsageTotals(7, cached=3, failed=2, prompt_tokens=3000, completion_tokens=300, usd=pytest.approx(0.0042))
    assert ledger.spent == expected
    assert (model.identity, model.concurrency) == ("server", 64)


async def test_a_second_run_is_free(tmp_path):
    for expected in (
        UsageTotals(1, prompt_tokens=1000, completion_tokens=100, usd=0.0014),
        UsageTotals(1, cached=1, usd=0.0),
    ):
        ledger = Ledger(price=PRICE)
        await chain(Server(), ledger, tmp_path / "c.sqlite").complete(ask("x"))
        assert ledger.spent == expected


async def test_an_unknown_price_is_not_zero():
    ledger = Ledger()
    await BudgetedModel(Server(), ledger).complete(ask("x"))
    assert ledger.report()["usd"] is None
    assert ledger.report()["price"] is None
    assert format_report(ledger.report()) == "1 call; 1,000 prompt and 100 completion tokens; no price known"


async def test_tokens_that_the_server_does_not_count_are_estimated():
    ledger = Ledger(price=PRICE)
    await BudgetedModel(Server(usage=False), ledger).complete(ask("four words of text"))
    assert ledger.spent == UsageTotals(1, estimated=1, prompt_tokens=5, completion_tokens=5, usd=pytest.approx(25e-6))
    assert "(estimated for 1)" in format_report(ledger.report())


@pytest.mark.parametrize(
    ("reported", "counted"), [(Usage(0, 7), Usage(5, 7)), (Usage(9, 0), Usage(9, 5)), (Usage(9, 7), Usage(9, 7))]
)
async def test_a_count_that_is_missing_is_estimated(reported: Usage, counted: Usage):
    server = Server(lambda: reported.completion_tokens, prompt_tokens=reported.prompt_tokens)
    ledger = Ledger(price=PRICE)
    await BudgetedModel(server, ledger).complete(ask("four words of text"))
    spent = ledger.spent
    assert (spent.prompt_tokens, spent.completion_tokens) == (counted.prompt_tokens, counted.completion_tokens)
    assert spent.estimated == (reported != counted)


async def test_a_cancelled_caller_is_charged_nevertheless(tmp_path):
    ledger = Ledger(price=PRICE)
    call = asyncio.create_task(chain(Server(), ledger, tmp_path / "c.sqlite").complete(ask("x")))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.sleep(0.1)
    assert ledger.spent.usd == 0.0014


@pytest.mark.parametrize("seed", range(3))
async def test_concurrent_calls_stay_within_the_budget(seed: int):
    numbers = random.Random(seed)
    server = Server(lambda: numbers.randint(20, 180))
    ledger = Ledger(price=PRICE, max_cost=0.5)
    model = BudgetedModel(server, ledger)
    waiting = iter(range(100_000))

    async def work() -> ServiceError:
        for number in waiting:
            try:
                await model.complete(ask(f"{number:01000}", max_tokens=200))
            except ServiceError as error:
                return error
        raise AssertionError

    errors = await asyncio.gather(*(work() for _ in range(64)))
    assert {error.kind for error in errors} == {"over-budget"}
    assert "--max-cost" in str(errors[0])
    spent = ledger.spent.usd
    assert spent is not None
    # What one more call could have cost is left: 1,000 bytes and what a template may add, and 200 tokens.
    assert 0.5 - 0.0022 <= spent <= 0.5
    assert server.calls == ledger.spent.calls


async def test_calls_that_could_exceed_the_budget_wait_for_those_in_flight():
    # At 2,048 tokens a call could cost 0.008, so only 3 of 64 fit at a time; they cost 0.00008 each.
    server = Server(lambda: 20, prompt_tokens=1)
    ledger = Ledger(price=PRICE, max_cost=0.03)
    model = BudgetedModel(server, ledger)
    calls = [asyncio.create_task(model.complete(ask(number))) for number in range(64)]
    await asyncio.sleep(0)
    assert server.calls == 3
    await asyncio.gather(*calls)
    assert ledger.spent.calls == 64


async def test_a_call_beyond_the_budget_is_not_made():
    server = Server()
    with pytest.raises(ServiceError, match=r"USD 0\.0085.* 0\.005") as caught:
        await BudgetedModel(server, Ledger(price=PRICE, max_cost=0.005)).complete(ask("x"))
    assert caught.value.kind == "over-budget"
    assert server.calls == 0


async def test_cached_completions_are_free_when_the_budget_is_used_up(tmp_path):
    path = tmp_path / "c.sqlite"
    await chain(Server(), Ledger(), path).complete(ask("x"))
    model = chain(Server(), Ledger(price=PRICE, max_cost=0), path)
    assert (await model.complete(ask("x"))).cached
    with pytest.raises(ServiceError):
        await model.complete(ask("y"))


async def test_a_lost_reply_may_have_been_billed():
    ledger = Ledger(price=PRICE, max_cost=0.02)
    reports = []
    ledger.on_change(reports.append, check=lambda: None)
    model = BudgetedModel(Server(), ledger)
    for _ in range(2):
        with pytest.raises(ProviderError):
            await model.complete(ask("lost"))
    bound = tokens.bound_prompt(ask("lost")) * 1e-6 + 2048 * 4e-6
    assert ledger.report()["uncertain_usd"] == pytest.approx(2 * bound)
    with pytest.raises(ServiceError) as caught:
        await model.complete(ask("x"))
    assert caught.value.kind == "over-budget"
    # As long as it is in flight, a call may be billed as well: the process may be killed.
    assert reports[1]["uncertain_usd"] == pytest.approx(bound)
    resumed = Ledger(price=PRICE, max_cost=0.02)
    resumed.add_earlier_sessions(reports[-1])
    assert resumed.report() == ledger.report()
    assert "up to USD 0.017" in format_report(ledger.report())


async def test_a_part_of_the_work_has_its_own_uncertain_cost():
    ledger = Ledger(price=PRICE)
    model = BudgetedModel(Server(), ledger)
    with track_separately(PRICE) as part:
        reports = []
        part.on_change(reports.append, check=lambda: None)
        with pytest.raises(ProviderError):
            await model.complete(ask("lost"))
        await model.complete(ask("x"))
    assert part.report() == ledger.report()
    assert part.report()["uncertain_usd"] > 0
    # While both were in flight, the last one was uncertain as well.
    assert reports[-2]["uncertain_usd"] > reports[-1]["uncertain_usd"]


async def test_a_cancelled_call_may_have_been_billed():
    ledger = Ledger(price=PRICE)
    call = asyncio.create_task(BudgetedModel(Server(), ledger).complete(ask("x")))
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert ledger.report()["uncertain_usd"] > 0.008


@pytest.mark.parametrize("text", ["fail", "garbled", "down"])
async def test_an_error_releases_the_reservation(text: str):
    ledger = Ledger(price=PRICE, max_cost=0.02)
    model = BudgetedModel(Server(), ledger)
    for _ in range(5):
        with pytest.raises((ProviderError, ServiceError)):
            await model.complete(ask(text))
    await model.complete(ask("x"))


def test_a_call_that_waits_in_one_loop_is_woken_from_another():
    ledger = Ledger(price=PRICE, max_cost=0.009)
    server = Server(lambda: 5, prompt_tokens=1)
    model = BudgetedModel(server, ledger)

    async def wait_for(number: int):
        return await asyncio.wait_for(model.complete(ask(number)), 10)

    async def main():
        threads = [asyncio.to_thread(asyncio.run, wait_for(number)) for number in range(8)]
        return await asyncio.gather(*threads)

    assert len(asyncio.run(main())) == 8
    assert ledger.spent.calls == 8


async def test_a_cancelled_call_leaves_the_queue():
    ledger = Ledger(price=PRICE, max_cost=0.009)
    model = BudgetedModel(Server(), ledger)
    first, second = (asyncio.create_task(model.complete(ask(number))) for number in range(2))
    await asyncio.sleep(0)
    second.cancel()
    await first
    assert ledger.spent.calls == 1


def test_a_budget_needs_a_price():
    with pytest.raises(UsageError, match="--price"):
        Ledger(max_cost=1.0)


def test_earlier_sessions_count():
    before = Ledger(price=PRICE)
    before.record_call(Usage(1000, 100))
    before.record_call(Usage(1000, 100, 500), failed=True)
    ledger = Ledger(price=Price(2.0, 8.0))
    ledger.add_earlier_sessions(before.report())
    ledger.record_call(Usage(1000, 100))
    assert ledger.spent == UsageTotals(3, 0, 1, 0, 3000, 300, 500, pytest.approx(2 * 0.0014 + 0.0028))


def test_a_price_known_to_one_session_applies_to_all():
    unpriced = Ledger()
    unpriced.record_call(Usage(1000, 100))
    priced = Ledger(price=PRICE)
    priced.add_earlier_sessions(unpriced.report())
    assert priced.spent.usd == 0.0014
    late = Ledger()
    late.add_earlier_sessions(priced.report())
    late.record_call(Usage(1000, 100))
    assert late.spent.usd == 0.0028


def test_format_report():
    report = {
        "calls": 1204,
        "cached": 310,
        "failed": 2,
        "estimated": 0,
        "prompt_tokens": 1_234_567,
        "completion_tokens": 98_765,
        "reused_tokens": 0,
        "usd": 0.614,
    }
    assert format_report(report) == (
        "1,204 calls, 310 of them from the cache, 2 failed; 1.2 M prompt and 98,765 completion tokens; USD 0.61"
    )


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0.0, "0.00"),
        (0.0000123, "0.000012"),
        (0.0456, "0.046"),
        (0.0994, "0.099"),
        (0.0996, "0.10"),
        (0.1234, "0.12"),
        (0.999, "1.00"),
        (12.345, "12.35"),
    ],
)
def test_amounts(usd: float, shown: str):
    assert format_usd(usd) == f"USD {shown}"
