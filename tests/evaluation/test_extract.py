import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from imapeval.errors import ServiceError
from imapeval.evaluation.extract import extract
from imapeval.types import Imap, Sample


@dataclass
class Slow:
    """An extractor that takes so many turns of the loop as a sample's response says, and fails on demand."""

    signature: str = "slow|v:1"
    concurrency: int = 2
    errors: dict[str, BaseException] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    busy: int = 0
    most_busy: int = 0

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        self.asked.append(sample.id)
        self.busy += 1
        self.most_busy = max(self.busy, self.most_busy)
        try:
            for _ in range(int(sample.response)):
                await asyncio.sleep(0)
        finally:
            self.busy -= 1
        if sample.id in self.errors:
            raise self.errors[sample.id]
        return (Imap((), (), (), ()),)


def samples(*turns: int) -> list[Sample]:
    return [Sample(str(n), "Why?", ("r",), str(count)) for n, count in enumerate(turns)]


async def ids(*args: object, **more: object) -> list[str]:
    return [sample.id async for sample, _ in extract(*args, **more)]


async def test_a_slow_sample_holds_up_nobody():
    slow = Slow(concurrency=2)
    assert await ids(samples(50, 1, 1, 1, 1), extractor=slow) == ["1", "2", "3", "4", "0"]
    assert slow.most_busy == 2


async def test_what_is_under_way_is_yielded_before_the_run_ends():
    slow = Slow(concurrency=2, errors={"1": ServiceError("down", kind="unreachable")})
    seen: list[str] = []

    async def take() -> None:
        async for sample, _ in extract(samples(30, 1, 1, 1), extractor=slow):
            seen.append(sample.id)

    with pytest.raises(ServiceError, match="down"):
        await take()
    assert seen == ["0"]
    assert slow.asked == ["0", "1"]


class Broken(list[Sample]):
    """Samples of which only the first can be read, as if a temporary file were gone."""

    def __iter__(self) -> Iterator[Sample]:
        yield self[0]
        raise FileNotFoundError


async def test_a_sample_that_cannot_be_read_ends_the_run():
    with pytest.raises(FileNotFoundError):
        await asyncio.wait_for(ids(Broken(samples(1, 1, 1)), extractor=Slow()), 5)


async def test_an_extractor_that_cancels_itself_ends_the_run():
    slow = Slow(errors={"0": asyncio.CancelledError()})
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(ids(samples(1, 1, 1, 1, 1), extractor=slow), 5)
    assert slow.asked == ["0", "1"]


async def test_who_stops_listening_leaves_no_work_behind():
    slow = Slow(concurrency=3)
    stream = extract(samples(1, 100_000, 100_000, 1), extractor=slow)
    async for _ in stream:
        break
    await stream.aclose()
    await asyncio.sleep(0)
    assert slow.busy == 0


async def test_no_samples():
    assert await ids([], extractor=Slow()) == []


async def test_more_than_may_wait_are_all_yielded():
    # More than the queue holds, and somebody who takes them slowly.
    count, seen = 600, 0
    async for _ in extract(samples(*[0] * count), extractor=Slow(concurrency=64)):
        seen += 1
        if seen % 50 == 0:
            await asyncio.sleep(0.001)
    assert seen == count
