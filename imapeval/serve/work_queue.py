"""The queue of answers: limits on waiting and working time, and scoring in batches.

Offline, waiting answers are scored in batches, which takes a third less of the processor (8 ms per answer in place of
12). With a language model each answer is scored separately, so that none waits for the calls of another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.errors import ImapEvalError
from imapeval.serve.http_error import HttpError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Mapping, Sequence

    from imapeval.scoring import Assessment, Assessments, Scorer
    from imapeval.serve.guard import RequestLimits

_T = TypeVar("_T")

MAX_BATCH = 32
"""Maximum number of answers per batch: more are not faster (7.8 ms per answer, 8.1 with 64) and delay the first."""

MAX_BATCH_CHARACTERS = 50_000
"""Maximum number of characters per batch, so that a long answer does not delay many short ones."""

LONG_ANSWER = 10_000
"""Answers of this many characters have a separate queue: they may take half a minute, and must not delay short ones."""

WORKERS_PER_QUEUE = 2
"""Concurrent batches per queue."""


@dataclass(frozen=True, slots=True)
class _PendingAnswer:
    """A waiting answer, its approximate number of characters, and the future of its assessment."""

    fields: Mapping[str, Any]
    size: int
    done: asyncio.Future[Assessment]


class _Queue:
    """Waiting answers in order of arrival."""

    def __init__(self) -> None:
        self._waiting: deque[_PendingAnswer] = deque()
        self._some = asyncio.Event()

    def put(self, item: _PendingAnswer) -> None:
        self._waiting.append(item)
        self._some.set()

    async def next(self) -> list[_PendingAnswer]:
        """Wait for an answer, and return it with those that are scored in the same batch."""
        while not (batch := self._pop()):
            self._some.clear()
            await self._some.wait()
        return batch

    def _pop(self) -> list[_PendingAnswer]:
        batch: list[_PendingAnswer] = []
        size = 0
        while self._waiting and len(batch) < MAX_BATCH:
            item = self._waiting[0]
            if batch and size + item.size > MAX_BATCH_CHARACTERS:
                break
            self._waiting.popleft()
            if not item.done.done():  # otherwise it was cancelled
                batch.append(item)
                size += item.size
        return batch


class WorkQueue:
    """Runs the work of requests within limits, on the event loop that calls `start`."""

    def __init__(self, scorer: Scorer, limits: RequestLimits) -> None:
        self._scorer = scorer
        self._limits = limits
        self._busy = 0
        self._short = _Queue()
        self._long = _Queue()
        self._workers: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the workers."""
        self._workers = [
            asyncio.create_task(self._work(queue)) for queue in (self._short, self._long) * WORKERS_PER_QUEUE
        ]

    def stop(self) -> None:
        """Stop the workers."""
        for worker in self._workers:
            worker.cancel()

    async def score(self, answers: Sequence[Mapping[str, Any]]) -> list[Assessment]:
        """Score answers, given as arguments of `Scorer.score`.

        Raises:
            HttpError: Too much is waiting already, or it takes too long.
            ImapEvalError: Something affects all answers alike, such as a server that is down.
        """
        if len(answers) > self._limits.waiting:
            raise HttpError(413, "too-large", f"A request may have {self._limits.waiting} answers at most. Send fewer.")
        if self._scorer.ledger is not None:
            return await self.run(self._score_each(answers), count=len(answers))
        return await self.run(self._score_together(answers), count=len(answers))

    async def run(self, work: Awaitable[_T], *, count: int = 1) -> _T:
        """Await the work if the queue has room for it.

        Raises:
            HttpError: The queue is full, or the work takes too long.
        """
        task = asyncio.ensure_future(work)
        try:
            with self._reserve(count):
                done, _ = await asyncio.wait({task}, timeout=self._limits.work)
        finally:
            task.cancel()
        if not done:
            raise HttpError(504, "timeout", f"The work took more than {self._limits.work:g} seconds and was cancelled.")
        return task.result()

    @contextmanager
    def _reserve(self, count: int) -> Generator[None]:
        if self._busy + count > self._limits.waiting:
            # A hundred answers take about a second, so there is room again by then.
            raise HttpError(503, "busy", "The server is busy. Try again later.", {"Retry-After": "2"})
        self._busy += count
        try:
            yield
        finally:
            self._busy -= count

    async def _score_each(self, answers: Sequence[Mapping[str, Any]]) -> list[Assessment]:
        tasks = [asyncio.ensure_future(self._scorer.ascore(**fields)) for fields in answers]
        try:
            return await asyncio.gather(*tasks)
        finally:
            # If one failed for a reason that affects all, cancel the others.
            for task in tasks:
                task.cancel()

    async def _score_together(self, answers: Sequence[Mapping[str, Any]]) -> list[Assessment]:
        loop = asyncio.get_running_loop()
        waiting = [_PendingAnswer(fields, len(str(fields)), loop.create_future()) for fields in answers]
        for item in waiting:
            (self._short if item.size < LONG_ANSWER else self._long).put(item)
        return await asyncio.gather(*(item.done for item in waiting))

    async def _work(self, queue: _Queue) -> None:
        while True:
            await self._score_batch(await queue.next())

    async def _score_batch(self, batch: Sequence[_PendingAnswer]) -> None:
        task = asyncio.ensure_future(self._scorer.ascore_all([item.fields for item in batch]))
        # Not cancelled when the clients have gone: work in a thread would continue unseen.
        await asyncio.wait({task})
        error = None if task.cancelled() else task.exception()
        if len(batch) > 1 and error is not None and not isinstance(error, ImapEvalError):
            # One answer has caused a bug: score the others separately.
            for item in batch:
                await self._score_batch([item])
        else:
            _deliver(batch, task)


def _deliver(batch: Sequence[_PendingAnswer], task: asyncio.Future[Assessments]) -> None:
    for index, item in enumerate(batch):
        if item.done.done():
            continue
        if task.cancelled():
            item.done.cancel()
        elif error := task.exception():
            item.done.set_exception(error)
        else:
            item.done.set_result(task.result()[index])
