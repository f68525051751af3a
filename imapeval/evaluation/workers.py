"""Scores samples in several processes; the folder of the run is written by the first process alone."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Protocol

from imapeval.errors import ImapEvalError, ServiceError
from imapeval.evaluation.evaluate import BATCH, InMemoryStore, evaluate, full_signatures, list_pending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from imapeval.evaluation.combine import References
    from imapeval.evaluation.evaluate import ResultStore
    from imapeval.evaluation.pipeline import Pipeline
    from imapeval.evaluation.runs import Result
    from imapeval.types import Sample

MAX_DEATHS = 3
"""Deaths of workers without a finished batch in between, after which scoring stops."""

FinishedResults = dict[tuple[str, str, str], "Result"]
"""Results that are there already, by `Result.key`."""

_Batch = tuple[list["Sample"], FinishedResults]


class WorkerDiedError(Exception):
    """A worker ended before its batch was finished."""


class WorkerPool(Protocol):
    """Processes that score batches, here or on other machines.

    Attributes:
        size: Number of workers.
    """

    size: int

    def submit(self, samples: Sequence[Sample], finished: FinishedResults) -> Awaitable[InMemoryStore]:
        """Score a batch in a worker.

        Raises:
            WorkerDiedError: The worker ended before.
            ImapEvalError: See `imapeval.evaluation.evaluate.evaluate`.
        """
        ...

    def restart(self) -> None:
        """Replace the workers that died. Called when no batch is under way."""
        ...

    def close(self) -> None:
        """End the workers."""
        ...


class BatchScorer:
    """What a worker does: it opens the pipeline for its first batch, and keeps it.

    Args:
        open_parts: Opens the pipeline; must be picklable.
        references: How the scores against several references are combined.
    """

    def __init__(self, open_parts: Callable[[], Pipeline], references: References) -> None:
        self.open_parts = open_parts
        self.references: References = references
        self._parts: Pipeline | None = None

    def score(self, samples: Sequence[Sample], finished: FinishedResults) -> InMemoryStore | ImapEvalError:
        """Return the imaps and results of a batch, or the error that affects all samples alike."""
        try:
            if self._parts is None:
                self._parts = self.open_parts()
            parts, store = self._parts, InMemoryStore(finished)
            work = evaluate(
                samples,
                metrics=parts.metrics,
                extractor=parts.extractor,
                matcher=parts.matcher,
                references=self.references,
                run=store,
            )
            asyncio.run(work)
        except ImapEvalError as error:
            return error
        return store


async def evaluate_in_workers(
    samples: Sequence[Sample],
    *,
    workers: WorkerPool,
    parts: Pipeline,
    references: References = "mean",
    run: ResultStore,
    progress: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Score samples as `imapeval.evaluation.evaluate.evaluate` does, in several processes.

    Each worker is given a batch at a time. When a worker dies, its batch is scored again, after all others. The workers
    are ended.

    Args:
        samples: Samples with unique ids.
        workers: The processes.
        parts: The pipeline that the workers open, opened in this process.
        references: How the scores against several references are combined.
        run: Where results are stored.
        progress: Called with the number of samples finished since the last call.
        stop: Once set, no further batch is started.

    Raises:
        ServiceError: Workers keep dying. Results finished before are in `run`.
        ImapEvalError: Something affects all samples alike; likewise.
    """
    signatures = full_signatures(parts.metrics, extractor=parts.extractor, matcher=parts.matcher, references=references)
    pending, reading = list_pending(samples, parts.metrics, signatures, run.finished)
    run.retain_imaps(pending.keys() - {sample.id for sample in reading})
    todo = [sample for sample in samples if pending[sample.id]]
    if progress is not None:
        progress(len(samples) - len(todo))
    waiting: deque[_Batch] = deque(
        (batch, _select_finished(batch, signatures, run.finished))
        for batch in (todo[start : start + BATCH] for start in range(0, len(todo), BATCH))
    )

    def stopped() -> bool:
        return stop is not None and stop.is_set()

    running: dict[asyncio.Future[InMemoryStore], _Batch] = {}

    def take(future: asyncio.Future[InMemoryStore]) -> bool:
        """Store what a worker made; return whether it lived."""
        batch = running.pop(future)
        try:
            made = future.result()
        except WorkerDiedError:
            waiting.append(batch)
            return False
        if differing := {result.signature for result in made.results}.difference(signatures.values()):
            raise ServiceError(
                f"a worker scores otherwise than this process: {min(differing)!r} is not among the signatures of this "
                "run. Install the same versions of imapeval and of what it uses on all machines.",
                kind="worker-differs",
            )
        run.add(imaps=made.imaps, results=made.results)
        if progress is not None:
            progress(len(batch[0]))
        return True

    deaths = 0
    with closing(workers):
        while running or (waiting and not stopped()):
            # One more than there are workers, so that none waits for this process.
            while waiting and len(running) <= workers.size and not stopped():
                batch = waiting.popleft()
                running[asyncio.ensure_future(workers.submit(*batch))] = batch
            ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            lived = [take(future) for future in ended]
            if not all(lived):
                lived += [take(future) for future in (await asyncio.wait(running))[0]] if running else []
                workers.restart()
            deaths = 0 if any(lived) else deaths + 1
            if deaths == MAX_DEATHS:
                first, last = waiting[0][0][0].id, waiting[0][0][-1].id
                raise ServiceError(
                    f"a worker died {deaths} times without finishing a batch; the next batch is the samples "
                    f"{first!r} to {last!r}. It may have run out of memory: take fewer --workers.",
                    kind="worker-died",
                )
    if not stopped():
        run.finish()


def _select_finished(
    batch: Sequence[Sample], signatures: Mapping[str, str], finished: Mapping[tuple[str, str, str], Result]
) -> FinishedResults:
    keys = ((sample.id, metric, signature) for sample in batch for metric, signature in signatures.items())
    return {key: finished[key] for key in keys if key in finished}


class ProcessPool:
    """Workers that are processes of this computer.

    Args:
        size: Number of processes.
        scorer: What each of them does.
    """

    def __init__(self, size: int, scorer: BatchScorer) -> None:
        self.size = size
        self._scorer = scorer
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        spawn = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self.size, mp_context=spawn, initializer=_start_worker, initargs=(self._scorer,))

    async def submit(self, samples: Sequence[Sample], finished: FinishedResults) -> InMemoryStore:
        """Score a batch; see `WorkerPool.submit`."""
        try:
            made = await asyncio.get_running_loop().run_in_executor(self._pool, _score_batch, samples, finished)
        except BrokenProcessPool as error:
            raise WorkerDiedError from error
        if isinstance(made, ImapEvalError):
            raise made
        return made

    def restart(self) -> None:
        """Start all processes anew: the others are ended with the one that died."""
        self.close()
        self._pool = self._start()

    def close(self) -> None:
        """End the processes after the batches that they have begun."""
        self._pool.shutdown(cancel_futures=True)


_scorer: BatchScorer


def _start_worker(scorer: BatchScorer) -> None:
    global _scorer
    _scorer = scorer
    # Ctrl-C and a closed terminal reach all processes; the first one decides what is still finished.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End this process when the one that started it is gone; the pool would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _score_batch(samples: Sequence[Sample], finished: FinishedResults) -> InMemoryStore | ImapEvalError:
    return _scorer.score(samples, finished)
