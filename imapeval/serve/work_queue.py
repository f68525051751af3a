"""The work of requests: how much of it may wait, how long it may take, and answers scored together.

Offline, answers that wait are scored together: one alone at once, and of many each for a third less of the processor
(8 ms in place of 12). With a language model each goes its own way, so that none waits for another's calls.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from imapeval.errors import ImapEvalError
from imapeval.scoring.arguments import make_row
from imapeval.serve.http_error import HttpError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Mapping, Sequence

    from imapeval.scoring import Assessment, Assessments, Scorer
    from imapeval.serve.guard import Limits

_T = TypeVar("_T")

MAX_BATCH = 32
"""Answers scored together: more save nothing (7.8 ms each, and 8.1 with 64), and let the first one wait."""

MAX_BATCH_CHARACTERS = 50_000
"""Of all texts that are scored together, so that one long answer does not hold up many short ones."""

LONG_ANSWER = 10_000
"""Characters from which an answer waits in a queue of its own: it may take half a minute, and short ones pass it by."""

WORKERS_PER_QUEUE = 2
"""Batches of each queue at a time."""


@dataclass(frozen=True, slots=True)
class _PendingAnswer:
    """An answer that waits for its turn, about how many characters it has, and where its assessment goes."""

    fields: Mapping[str, Any]
    size: int
    done: asyncio.Future[Assessment]


class _Queue:
    """Answers that wait, in the order in which they came."""

    def __init__(self) -> None:
        self._waiting: deque[_PendingAnswer] = deque()
        self._some = asyncio.Event()

    def put(self, item: _PendingAnswer) -> None:
        self._waiting.append(item)
        self._some.set()

    async def next(self) -> list[_PendingAnswer]:
        """Wait for the first one, and return it with those after it that are scored with it."""
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
            if not item.done.done():  # else it was given up
                batch.append(item)
                size += item.size
        return batch


class WorkQueue:
    """What the requests of one server have to be done. All of it happens in the event loop that starts it."""

    def __init__(self, scorer: Scorer, limits: Limits) -> None:
        self._scorer = scorer
        self._limits = limits
        self._busy = 0
        self._short = _Queue()
        self._long = _Queue()
        self._workers: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to take what waits."""
        self._workers = [
            asyncio.create_task(self._work(queue)) for queue in (self._short, self._long) * WORKERS_PER_QUEUE
        ]

    def stop(self) -> None:
        """Take nothing more."""
        for hand in self._workers:
            hand.cancel()

    async def score(self, answers: Sequence[Mapping[str, Any]]) -> list[Assessment]:
        """Score answers, each of them the arguments of `Scorer.score`.

        Raises:
            RefusedError: Too much is waiting already, or it takes too long.
            ImapEvalError: What concerns all answers alike, such as a server that is down.
        """
        if len(answers) > self._limits.waiting:
            raise HttpError(
                413, "too-large", f"More than {self._limits.waiting} answers at a time are not taken. Send fewer."
            )
        if self._scorer.ledger is not None:
            return await self.run(self._score_each(answers), count=len(answers))
        return await self.run(self._score_together(answers), count=len(answers))

    async def run(self, work: Awaitable[_T], *, count: int = 1) -> _T:
        """Do the work if there is room for it.

        Raises:
            RefusedError: There is no room, or it takes too long.
        """
        task = asyncio.ensure_future(work)
        try:
            with self._reserve(count):
                done, _ = await asyncio.wait({task}, timeout=self._limits.work)
        finally:
            task.cancel()
        if not done:
            raise HttpError(504, "timeout", f"It took more than {self._limits.work:g} seconds and was given up.")
        return task.result()

    @contextmanager
    def _reserve(self, count: int) -> Generator[None]:
        if self._busy + count > self._limits.waiting:
            # By then a good part of what waits is done: a hundred answers take about a second.
            raise HttpError(503, "busy", "Too much is waiting already. Try again later.", {"Retry-After": "2"})
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
            # Where one failed for a reason that concerns all, the others need not go on.
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
        task = asyncio.ensure_future(self._scorer.ascore_all([_to_row(item.fields) for item in batch]))
        # Not given up where nobody waits for it any more: what runs in a thread would go on unseen.
        await asyncio.wait({task})
        error = None if task.cancelled() else task.exception()
        if len(batch) > 1 and error is not None and not isinstance(error, ImapEvalError):
            # One of them broke something of ours, which the others are not to bear.
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


def _to_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `Scorer.score` as the columns of a row."""
    given = dict(fields)
    return make_row(id_=given.pop("id"), **given)
