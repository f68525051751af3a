import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imapeval.llm.middleware.limits import AdaptiveConcurrencyLimiter, RateLimiter, RequestRateLimiter
from imapeval.llm.protocol import Completion, Message, Request, Usage

REQUEST = Request((Message("user", "word" * 25),))  # 100 characters of Latin script: 25 tokens


async def pass_through(gate, seconds, inside):
    era = await gate.enter()
    inside.append(+1)
    await asyncio.sleep(seconds)
    inside.append(-1)
    gate.leave()
    return era


def most(inside):
    count = peak = 0
    for step in inside:
        count += step
        peak = max(peak, count)
    return peak


def test_no_more_than_allowed_are_inside(timeless):
    inside = []

    async def main():
        gate = AdaptiveConcurrencyLimiter(3)
        await asyncio.gather(*(pass_through(gate, 1, inside) for _ in range(10)))

    _, seconds = timeless(main())
    assert most(inside) == 3
    assert seconds == pytest.approx(4)


def test_a_refusal_of_all_halves_the_number_once(timeless):
    async def main():
        gate = AdaptiveConcurrencyLimiter(64)
        eras = [await gate.acquire() for _ in range(64)]
        for era in eras:
            gate.release()
            gate.report_overload(era)
        assert gate.limit == 32
        gate.report_overload(await gate.acquire())
        gate.release()
        assert gate.limit == 16
        for _ in range(10):
            gate.report_overload(await gate.acquire())
            gate.release()
        assert gate.limit == 1

    timeless(main())


def test_the_number_grows_by_one_a_round_up_to_the_first(timeless):
    async def main():
        gate = AdaptiveConcurrencyLimiter(8)
        gate.report_overload(await gate.acquire())
        assert gate.limit == 4
        for _ in range(5):
            gate.report_success()
        assert gate.limit == 5
        for _ in range(1000):
            gate.report_success()
        assert gate.limit == 8

    timeless(main())


def test_a_closed_gate_opens_by_itself_for_as_many_as_are_allowed(timeless):
    inside = []

    async def main():
        gate = AdaptiveConcurrencyLimiter(2)
        calls = [asyncio.create_task(pass_through(gate, 1, inside)) for _ in range(6)]
        await asyncio.sleep(0.5)
        gate.pause(10)
        gate.pause(5)  # the longer pause holds
        await asyncio.gather(*calls)

    _, seconds = timeless(main())
    assert most(inside) == 2
    assert seconds == pytest.approx(10.5 + 2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 5), st.none() | st.floats(0, 5)), min_size=1, max_size=20))
def test_who_gives_up_waiting_leaves_no_place_taken(timeless, calls):
    async def main():
        gate = AdaptiveConcurrencyLimiter(2)

        async def call(stay):
            await gate.acquire()
            try:
                await asyncio.sleep(stay)
            finally:
                gate.release()

        tasks = [asyncio.create_task(call(stay)) for stay, _ in calls]
        for task, (_, patience) in zip(tasks, calls, strict=True):
            if patience is not None:
                asyncio.get_running_loop().call_later(patience, task.cancel)
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(1):
            await gate.acquire()
            await gate.acquire()

    timeless(main())


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(0, 1000)), max_size=200), st.integers(1, 10_000))
def test_no_minute_sees_more_than_allowed(asked, per_minute):
    pace, now, used = RateLimiter(per_minute), 0.0, []
    for pause, amount in asked:
        now += pause
        used.append((now + pace.reserve(amount, now), amount))
    for start, first in used:
        within = sum(amount for moment, amount in used if start <= moment < start + 60)
        # The last one may begin before the minute ends.
        assert within <= per_minute + max((amount for _, amount in used), default=first) + 1e-6


def completion(prompt, answer):
    return Completion("x", "stop", "m", Usage(prompt, answer))


def test_requests_are_spread_evenly(timeless):
    times = []

    async def ask(rates):
        await rates.wait(REQUEST)
        times.append(asyncio.get_running_loop().time())

    async def main():
        rates = RequestRateLimiter(rpm=60)
        await asyncio.gather(*(ask(rates) for _ in range(5)))
        await asyncio.sleep(100)
        await asyncio.gather(*(ask(rates) for _ in range(2)))

    timeless(main())
    assert times == pytest.approx([0, 1, 2, 3, 4, 104, 105])


def test_without_limits_nothing_waits(timeless):
    async def main():
        rates = RequestRateLimiter()
        for _ in range(100):
            rates.correct(await rates.wait(REQUEST), completion(25, 5))

    assert timeless(main())[1] == 0


def test_tokens_are_estimated_and_corrected(timeless):
    async def main():
        rates, loop = RequestRateLimiter(tpm=6000), asyncio.get_running_loop()
        assert await rates.wait(REQUEST) == 225  # 25 and a typical completion
        # 225 tokens were thought to take 2.25 s of the minute; 50 took 0.5.
        rates.correct(225, completion(25, 25))
        second = await rates.wait(REQUEST)
        assert loop.time() == pytest.approx(0.5)
        assert second < 225
        # A server that does not count leaves the estimate.
        rates.correct(second, completion(0, 0))
        await rates.wait(REQUEST)
        assert loop.time() == pytest.approx(0.5 + second / 100)

    timeless(main())


def test_chinese_takes_more_tokens_a_character(timeless):
    async def main():
        return await RequestRateLimiter(tpm=1000).wait(Request((Message("user", "头" * 100),)))

    assert timeless(main())[0] > 225


def test_a_request_is_not_thought_to_take_more_than_it_may(timeless):
    async def main():
        return await RequestRateLimiter(tpm=1000).wait(Request(REQUEST.messages, max_tokens=10))

    assert timeless(main())[0] == 35
