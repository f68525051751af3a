import asyncio
import gc
from itertools import pairwise
from random import Random

import pytest

from imapeval.errors import ProviderError, ServiceError
from imapeval.llm.middleware import retry
from imapeval.llm.middleware.budget import Ledger, UsageTotals
from imapeval.llm.middleware.retry import RetryingModel
from imapeval.llm.prices import Price
from imapeval.llm.protocol import Completion, Message, Request, Usage
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.llm.registry import add_middleware


def ask(number=0):
    return Request((Message("user", str(number)),))


class Server:
    """Answers in virtual time, as `behave(number of the request, time)` says.

    Attributes:
        calls: Number of the request and time of every attempt.
        peak: Most concurrent attempts.
    """

    identity = "server"

    def __init__(self, behave, *, concurrency=64, seconds=1.0):
        self.concurrency = concurrency
        self.calls = []
        self.peak = 0
        self._behave = behave
        self._seconds = seconds
        self._in_flight = 0

    async def complete(self, request):
        loop = asyncio.get_running_loop()
        number = int(request.messages[0].content)
        self.calls.append((number, loop.time()))
        self._in_flight += 1
        self.peak = max(self.peak, self._in_flight)
        try:
            await asyncio.sleep(self._seconds)
            fault = self._behave(number, loop.time())
            if fault is not None:
                raise fault
            return Completion("text", "stop", "m", Usage(1, 1))
        finally:
            self._in_flight -= 1


def fail(kind, *, times=10**9, retry_after=None):
    """Fail `times` times, then answer."""
    left = times

    def behave(_number, _time):
        nonlocal left
        left -= 1
        return ProviderError("it says no.", kind=kind, retry_after=retry_after) if left >= 0 else None

    return behave


def down(until, kind="unreachable"):
    return lambda _number, time: ProviderError("down.", kind=kind) if time < until else None


async def ask_all(model, numbers):
    return await asyncio.gather(*(model.complete(ask(number)) for number in numbers), return_exceptions=True)


def retrying(server, **options):
    return RetryingModel(server, random=Random(1), **options)


@pytest.mark.parametrize("kind", ["timeout", "rate-limit", "server", "unreadable-reply", "unreachable"])
def test_transient_failures_are_retried(timeless, kind):
    server = Server(fail(kind, times=2))
    completion, seconds = timeless(retrying(server).complete(ask()))
    assert completion.text == "text"
    assert len(server.calls) == 3
    assert 3 < seconds < 3 + 1 + 2


@pytest.mark.parametrize(("kind", "attempts"), [("timeout", 3), ("server", 5), ("unreadable-reply", 5)])
def test_lasting_failures_are_given_up(timeless, kind, attempts):
    server = Server(fail(kind))
    with pytest.raises(ProviderError) as caught:
        timeless(retrying(server).complete(ask()))
    assert caught.value.kind == kind
    assert len(server.calls) == attempts


@pytest.mark.parametrize("kind", ["bad-request", "too-long", "unsupported", "refusal", "truncated"])
def test_failures_caused_by_the_request_are_not_retried(timeless, kind):
    server = Server(fail(kind))
    with pytest.raises(ProviderError) as caught:
        timeless(retrying(server).complete(ask()))
    assert caught.value.kind == kind
    assert len(server.calls) == 1


@pytest.mark.parametrize("kind", ["auth", "not-found", "no-credit", "over-budget"])
def test_service_errors_are_not_retried(timeless, kind):
    server = Server(lambda *_: ServiceError("no", kind=kind))
    with pytest.raises(ServiceError):
        timeless(retrying(server).complete(ask()))
    assert len(server.calls) == 1


def test_one_failing_request_does_not_affect_the_others(timeless):
    server = Server(lambda number, _time: ProviderError("boom", kind="server") if number == 3 else None)
    results, _ = timeless(ask_all(retrying(server), range(20)))
    assert [number for number, result in enumerate(results) if isinstance(result, ProviderError)] == [3]
    assert len(server.calls) == 19 + 5


def test_requests_that_are_gone_count_as_different(timeless):
    """An outage is noticed as soon by one request after the other as by several at once."""

    async def main():
        model = retrying(Server(fail("server")))
        for number in range(50):
            with pytest.raises(ProviderError):
                await model.complete(ask(number))
            gc.collect()

    with pytest.raises(ServiceError) as caught:
        timeless(main())
    assert caught.value.kind == "unreachable"


@pytest.mark.parametrize("end", ["", ".", "?"])
def test_what_is_added_to_a_message_is_a_sentence_of_its_own(timeless, end):
    server = Server(lambda *_: ProviderError(f"it says no{end}", kind="unreachable"))
    with pytest.raises(ServiceError) as caught:
        timeless(retrying(server).complete(ask()))
    assert str(caught.value).startswith(f"it says no{end or '.'} ")


def test_pauses_grow_and_are_random(timeless):
    starts = []
    for seed in range(200):
        server = Server(fail("server", times=4), seconds=0)
        timeless(RetryingModel(server, random=Random(seed)).complete(ask()))
        times = [time for _, time in server.calls]
        starts.append([b - a for a, b in pairwise(times)])
    for longest, pauses in zip((1, 2, 4, 8), zip(*starts, strict=True), strict=True):
        assert 0 <= min(pauses) < 0.1 * longest
        assert 0.9 * longest < max(pauses) <= longest


def test_all_requests_respect_retry_after(timeless):
    server = Server(fail("rate-limit", times=1, retry_after=30), seconds=0.5, concurrency=2)
    timeless(ask_all(retrying(server), range(6)))
    early = [time for _, time in server.calls if time < 30]
    assert early == [0, 0]  # already in flight
    assert len(server.calls) == 7


def test_rate_limits_get_more_attempts(timeless):
    server = Server(fail("rate-limit", times=11))
    assert timeless(retrying(server).complete(ask()))[0].text == "text"


def test_a_server_that_rejects_everything_ends_the_run(timeless):
    server = Server(fail("rate-limit"))
    with pytest.raises(ServiceError) as caught:
        timeless(retrying(server).complete(ask()))
    assert caught.value.kind == "rate-limit"


def test_a_single_rate_limited_request_is_one_failure(timeless):
    server = Server(lambda number, _time: ProviderError("slow", kind="rate-limit") if number == 0 else None)

    async def main():
        model = retrying(server)
        call = asyncio.create_task(model.complete(ask(0)))
        while not call.done():
            await model.complete(ask(1))
            await asyncio.sleep(10)
        return call.exception()

    error, _ = timeless(main())
    assert isinstance(error, ProviderError)


def test_a_pause_of_hours_ends_the_run(timeless):
    server = Server(fail("rate-limit", retry_after=7200))
    with pytest.raises(ServiceError, match="120") as caught:
        timeless(retrying(server).complete(ask()))
    assert caught.value.kind == "rate-limit"
    assert len(server.calls) == 1


def test_overload_halves_the_requests_in_flight(timeless):
    server = Server(lambda number, time: ProviderError("", kind="rate-limit") if time < 1.5 else None)
    model = retrying(server)
    results, _ = timeless(ask_all(model, range(200)))
    assert server.peak == 64
    assert not [result for result in results if isinstance(result, Exception)]
    late = [time for _, time in server.calls if 1.5 < time < 2.5]
    assert 0 < len(late) <= 40


def test_queueing_does_not_count_towards_the_timeout(timeless):
    """A request queues outside the attempt, and only the attempt has a timeout."""
    server = Server(lambda *_: None, concurrency=1, seconds=500)
    results, seconds = timeless(ask_all(retrying(server), range(10)))
    assert all(isinstance(result, Completion) for result in results)
    assert server.peak == 1
    assert seconds == pytest.approx(5000)


def test_requests_per_minute_are_limited(timeless):
    server = Server(lambda *_: None)
    _, seconds = timeless(ask_all(retrying(server, rpm=120), range(100)))
    assert seconds == pytest.approx(99 / 2 + 1)


@pytest.mark.parametrize("kind", ["unreachable", "server"])
def test_all_requests_wait_for_a_server_that_comes_back(timeless, kind, caplog):
    """As when `vllm serve` restarts: no request is lost, and the server is not flooded."""
    server = Server(lambda number, time: down(110, kind)(number, time) if time > 10 else None)
    model = retrying(server)

    async def main():
        await ask_all(model, range(100))  # the server has been seen
        await asyncio.sleep(15)
        return await ask_all(model, range(100, 400))

    results, seconds = timeless(main())
    assert not [result for result in results if isinstance(result, Exception)]
    attempts = [time for _, time in server.calls if 18 < time < 105]
    assert len(attempts) < 20  # a single prober, with pauses
    assert seconds < 110 + 16 + 5 + 300 / 64
    assert "waiting for the server" in caplog.text
    assert "answers again" in caplog.text


def test_a_server_that_stays_down_ends_the_run_after_two_minutes(timeless):
    server = Server(lambda number, time: None if time < 2 else ProviderError("down.", kind="unreachable"), seconds=0.1)
    model = retrying(server)

    async def main():
        await ask_all(model, range(10))
        await asyncio.sleep(5)
        begun = asyncio.get_running_loop().time()
        results = await ask_all(model, range(200))
        # Later requests fail at once.
        late = await ask_all(model, range(5))
        return results + late, asyncio.get_running_loop().time() - begun

    (results, seconds), _ = timeless(main())
    assert {type(result) for result in results} == {ServiceError}
    assert {result.kind for result in results} == {"unreachable"}
    assert "down." in str(results[0])
    assert 90 < seconds < 130
    assert len(server.calls) < 10 + 64 + 30


def test_a_server_that_was_never_seen_is_given_up_in_seconds(timeless):
    server = Server(fail("unreachable"), seconds=0.1)
    with pytest.raises(ServiceError) as caught:
        timeless(retrying(server).complete(ask()))
    assert caught.value.kind == "unreachable"
    (_, seconds) = timeless(ask_all(retrying(Server(fail("unreachable"), seconds=0.1)), range(100)))
    assert seconds < 11


def test_requests_wait_for_a_server_that_is_still_loading(timeless):
    """llama.cpp answers 503 until the model is loaded, so there is a server."""
    server = Server(down(60, "server"))
    results, _ = timeless(ask_all(retrying(server), range(10)))
    assert not [result for result in results if isinstance(result, Exception)]


def test_a_request_that_crashes_the_server_each_time_is_given_up(timeless):
    """The server returns after 20 s; the other requests must neither wait forever nor be given up too."""
    up_at = 0.0

    def behave(number, time):
        nonlocal up_at
        if time < up_at:
            return ProviderError("down", kind="unreachable")
        if number == 3:
            up_at = time + 20
            return ProviderError("crash", kind="server")
        return None

    results, _ = timeless(ask_all(retrying(Server(behave, concurrency=4)), range(40)))
    assert [number for number, result in enumerate(results) if isinstance(result, Exception)] == [3]
    assert isinstance(results[3], ProviderError)


def test_a_server_that_was_given_up_is_probed_again_later(timeless):
    server = Server(down(100), seconds=0.1)
    model = retrying(server)

    async def main():
        with pytest.raises(ServiceError):
            await model.complete(ask())
        await asyncio.sleep(120)
        return await model.complete(ask())

    assert timeless(main())[0].text == "text"


def test_a_cancelled_probe_passes_to_the_next_request(timeless):
    server = Server(lambda number, time: None if time < 2 else down(20)(number, time))
    model = retrying(server)

    async def main():
        await model.complete(ask())
        await asyncio.sleep(1)
        calls = [asyncio.create_task(model.complete(ask(number))) for number in range(8)]
        for call in calls[:7]:
            await asyncio.sleep(1)
            call.cancel()
        return await calls[7]

    assert timeless(main())[0].text == "text"


def test_may_be_used_in_one_event_loop_after_another(timeless):
    """Interrupted during an outage, then used in a new event loop."""
    server = Server(down(3))
    model = retrying(server)

    async def interrupted():
        calls = [asyncio.create_task(model.complete(ask(number))) for number in range(5)]
        await asyncio.sleep(2)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    timeless(interrupted())
    server._behave = lambda *_: None
    results, _ = timeless(ask_all(model, range(100)))
    assert not [result for result in results if isinstance(result, Exception)]


def test_identity_and_concurrency_are_the_wrapped_models():
    model = retrying(Server(lambda *_: None, concurrency=7))
    assert (model.identity, model.concurrency) == ("server", 7)


EMPTY = {"choices": [{"finish_reason": "stop", "message": {"content": ""}}], "usage": {"prompt_tokens": 9}}
WHOLE = {
    "choices": [{"finish_reason": "stop", "message": {"content": "text"}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2},
}


async def test_every_paid_empty_reply_is_counted(faulty, monkeypatch):
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.01)
    ledger = Ledger(price=Price(1.0, 4.0))
    model = add_middleware(OpenAIModel("stub", base_url=faulty.url), ledger=ledger)
    # An HTML error page costs nothing.
    faulty.script = [EMPTY, "html", EMPTY, WHOLE]
    with pytest.raises(ProviderError):
        await model.complete(ask())
    assert (await model.complete(ask())).text == "text"
    assert ledger.spent == UsageTotals(3, failed=2, prompt_tokens=27, completion_tokens=2, usd=pytest.approx(35e-6))
    faulty.script = [EMPTY]
    with pytest.raises(ProviderError):
        await model.complete(ask())
    assert len(faulty.bodies) == 4 + 2
    assert (ledger.spent.calls, ledger.spent.failed, ledger.spent.prompt_tokens) == (3 + 2, 2 + 2, 27 + 18)


async def test_the_cost_of_an_empty_reply_without_usage_is_estimated(faulty, monkeypatch):
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.01)
    ledger = Ledger()
    faulty.script = [{**EMPTY, "usage": None}]
    with pytest.raises(ProviderError):
        await add_middleware(OpenAIModel("stub", base_url=faulty.url), ledger=ledger).complete(ask())
    assert (ledger.spent.calls, ledger.spent.failed, ledger.spent.estimated) == (5, 5, 5)
    assert ledger.spent.prompt_tokens > 0


@pytest.mark.parametrize("seconds", [0.001, 1.0])
def test_retries_stay_within_the_budget(timeless, seconds):
    # Each empty reply costs as much as the attempt after it.
    cost = (100 * 1.0 + 10 * 4.0) / 1e6
    bound = (400 + 272) * 1e-6 + 20 * 4e-6

    class Forgetful(Server):
        async def complete(self, request):
            await super().complete(request)
            if len(self.calls) % 3 == 1:
                raise ProviderError("no text", kind="unreadable-reply", tokens=(100, 10))
            return Completion("text", "stop", "m", Usage(100, 10))

    ledger = Ledger(price=Price(1.0, 4.0), max_cost=39.5 * cost + bound)
    server = Forgetful(lambda *_: None, concurrency=16, seconds=seconds)
    model = add_middleware(server, ledger=ledger)
    requests = [Request((Message("user", f"{number:0400}"),), max_tokens=20) for number in range(64)]

    async def ask_each():
        return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)

    outcomes, _ = timeless(ask_each())
    assert {outcome.kind for outcome in outcomes if isinstance(outcome, ServiceError)} == {"over-budget"}
    assert ledger.spent.usd == pytest.approx(40 * cost)
    assert len(server.calls) == ledger.spent.calls == 40


def stop_after(seconds, server, numbers, **options):
    """Ask for several completions, stop after some time, and return the outcomes."""
    model = retrying(server, **options)

    async def work():
        asyncio.get_running_loop().call_later(seconds, model.stop)
        return await ask_all(model, numbers)

    return work()


def test_paid_replies_without_text_are_no_outage(timeless):
    def behave(_number, _time):
        return ProviderError("no text", kind="unreadable-reply", tokens=(100, 10))

    server = Server(behave)
    outcomes, _ = timeless(ask_all(retrying(server), range(20)))
    assert {outcome.kind for outcome in outcomes} == {"unreadable-reply"}
    assert len(server.calls) == 40


def test_after_stop_only_what_is_in_flight_is_finished(timeless):
    server = Server(lambda _number, _time: None, concurrency=2)
    outcomes, _ = timeless(stop_after(1.5, server, range(9)))
    assert [type(outcome) for outcome in outcomes] == [Completion] * 4 + [ServiceError] * 5
    assert {outcome.kind for outcome in outcomes[4:]} == {"stopped"}
    assert len(server.calls) == 4


@pytest.mark.parametrize(
    ("behave", "options"),
    [
        (fail("server"), {}),
        (fail("timeout"), {}),
        (fail("rate-limit", retry_after=500.0), {}),
        (down(1000), {}),
        (lambda _number, _time: None, {"rpm": 1}),
        (lambda _number, _time: None, {"tpm": 1}),
    ],
)
def test_stop_ends_all_waiting(timeless, behave, options):
    server = Server(behave)
    outcomes, ended = timeless(stop_after(1.25, server, range(9), **options))
    calls = [time for _, time in server.calls]
    assert max(calls) <= 1.25
    # What was in flight takes a second.
    assert ended <= max(1.25, max(calls) + 1)
    assert {outcome.kind for outcome in outcomes if isinstance(outcome, Exception)} == {"stopped"}


def test_a_request_that_is_refused_waits_for_those_in_flight(timeless):
    """Who asks for several at once gives up at the first error, and the others would be lost."""
    server = Server(lambda _number, _time: None)
    model = retrying(server)

    async def work():
        first = asyncio.create_task(model.complete(ask(1)))
        await asyncio.sleep(0.5)
        model.stop()
        with pytest.raises(ServiceError, match="stopped"):
            await model.complete(ask(2))
        return first.done()

    assert timeless(work()) == (True, 1.0)


def test_a_failure_for_good_is_told_after_stop(timeless):
    server = Server(fail("refusal"))
    outcomes, _ = timeless(stop_after(0.5, server, range(2)))
    assert [outcome.kind for outcome in outcomes] == ["refusal", "refusal"]
