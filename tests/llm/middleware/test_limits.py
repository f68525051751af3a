import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imapeval.llm.middleware.limits import AdaptiveConcurrencyLimiter, RateLimiter, RequestRateLimiter
from imapeval.llm.protocol import Completion, Message, Request, Usage

REQUEST = Request((Message("user", "word" * 25),))  # 100 characters of Latin script: 25 tokens


async def hold_place(limiter, seconds, inside):
    await limiter.acquire()
    inside.append(+1)
    await asyncio.sleep(seconds)
    inside.append(-1)
    limiter.release()


def peak_of(inside):
    count = peak = 0
    for step in inside:
        count += step
        peak = max(peak, count)
    return peak


def test_concurrency_never_exceeds_the_limit(timeless):
    inside = []

    async def main():
        limiter = AdaptiveConcurrencyLimiter(3)
        await asyncio.gather(*(hold_place(limiter, 1, inside) for _ in range(10)))

    _, seconds = timeless(main())
    assert peak_of(inside) == 3
    assert seconds == pytest.approx(4)


def test_an_overload_halves_the_limit_once(timeless):
    async def main():
        limiter = AdaptiveConcurrencyLimiter(64)
        generations = [await limiter.acquire() for _ in range(64)]
        for generation in generations:
            limiter.release()
            limiter.report_overload(generation)
        assert limiter.limit == 32
        limiter.report_overload(await limiter.acquire())
        limiter.release()
        assert limiter.limit == 16
        for _ in range(10):
            limiter.report_overload(await limiter.acquire())
            limiter.release()
        assert limiter.limit == 1

    timeless(main())


def test_the_limit_grows_by_one_per_round_up_to_the_maximum(timeless):
    async def main():
        limiter = AdaptiveConcurrencyLimiter(8)
        limiter.report_overload(await limiter.acquire())
        assert limiter.limit == 4
        for _ in range(5):
            limiter.report_success()
        assert limiter.limit == 5
        for _ in range(1000):
            limiter.report_success()
        assert limiter.limit == 8

    timeless(main())


def test_a_paused_limiter_resumes_within_its_limit(timeless):
    inside = []

    async def main():
        limiter = AdaptiveConcurrencyLimiter(2)
        calls = [asyncio.create_task(hold_place(limiter, 1, inside)) for _ in range(6)]
        await asyncio.sleep(0.5)
        limiter.pause(10)
        limiter.pause(5)  # the longer pause holds
        await asyncio.gather(*calls)

    _, seconds = timeless(main())
    assert peak_of(inside) == 2
    assert seconds == pytest.approx(10.5 + 2)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 5), st.none() | st.floats(0, 5)), min_size=1, max_size=20))
def test_a_cancelled_request_frees_its_place(timeless, calls):
    async def main():
        limiter = AdaptiveConcurrencyLimiter(2)

        async def call(stay):
            await limiter.acquire()
            try:
                await asyncio.sleep(stay)
            finally:
                limiter.release()

        tasks = [asyncio.create_task(call(stay)) for stay, _ in calls]
        for task, (_, patience) in zip(tasks, calls, strict=True):
            if patience is not None:
                asyncio.get_running_loop().call_later(patience, task.cancel)
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(1):
            await limiter.acquire()
            await limiter.acquire()

    timeless(main())


@given(st.lists(st.tuples(st.floats(0, 30), st.floats(0, 1000)), max_size=200), st.integers(1, 10_000))
def test_no_minute_exceeds_the_rate(asked, per_minute):
    limiter, now, used = RateLimiter(per_minute), 0.0, []
    for pause, amount in asked:
        now += pause
        used.append((now + limiter.reserve(amount, now), amount))
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


def test_without_limits_no_request_waits(timeless):
    async def main():
        rates = RequestRateLimiter()
        for _ in range(100):
            rates.correct(await rates.wait(REQUEST), completion(25, 5))

    assert timeless(main())[1] == 0


def test_tokens_are_estimated_and_corrected(timeless):
    async def main():
        rates, loop = RequestRateLimiter(tpm=6000), asyncio.get_running_loop()
        assert await rates.wait(REQUEST) == 225  # 25 and a typical completion
        # 225 estimated tokens reserve 2.25 s; the actual 50 take 0.5 s.
        rates.correct(225, completion(25, 25))
        second = await rates.wait(REQUEST)
        assert loop.time() == pytest.approx(0.5)
        assert second < 225
        # If the server does not count tokens, the estimate stays.
        rates.correct(second, completion(0, 0))
        await rates.wait(REQUEST)
        assert loop.time() == pytest.approx(0.5 + second / 100)

    timeless(main())


def test_chinese_takes_more_tokens_per_character(timeless):
    async def main():
        return await RequestRateLimiter(tpm=1000).wait(Request((Message("user", "头" * 100),)))

    assert timeless(main())[0] > 225


def test_the_estimate_is_capped_by_max_tokens(timeless):
    async def main():
        return await RequestRateLimiter(tpm=1000).wait(Request(REQUEST.messages, max_tokens=10))

    assert timeless(main())[0] == 35
