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
from contextlib import nullcontext, suppress
from functools import partial
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Protocol

from imapeval.errors import ImapEvalError, ServiceError
from imapeval.evaluation.evaluate import BATCH, InMemoryStore, evaluate, full_signatures, list_pending
from imapeval.evaluation.runs import Result
from imapeval.llm.sharing import STOPPED, ModelServer
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from imapeval.evaluation.combine import References
    from imapeval.evaluation.evaluate import ResultStore
    from imapeval.evaluation.pipeline import Pipeline
    from imapeval.llm.protocol import Model
    from imapeval.types import Sample

MAX_DEATHS = 3
"""New workers that may die without a sample, after which scoring stops."""

_KILLED = Failure(
    "worker",
    "worker-died",
    "the process that scored this sample died, also when it scored nothing else; it may have run out of memory. "
    "Score the sample alone to see why.",
)

FinishedResults = dict[tuple[str, str, str], Result]
"""Results that are there already, by `Result.key`."""

_Batch = tuple[list["Sample"], FinishedResults]

_LARGEST_BATCH = 8 * BATCH
"""Samples of a batch with a language model: enough that waiting for the last completions is a small part of it."""

_BATCHES = 4
"""Batches for each worker, at least, so that all of them end at about the same time."""

ScoredBatch = tuple[InMemoryStore, "ImapEvalError | None"]
"""What was scored of a batch, and the error that affects all samples alike, if there was one."""


class WorkerDiedError(Exception):
    """A worker ended before its batch was finished."""


class WorkerPool(Protocol):
    """Processes that score batches, here or on other machines.

    Attributes:
        size: Number of workers.
        host: Address of this machine for the workers.
    """

    size: int
    host: str

    def start(self, scorer: BatchScorer) -> None:
        """Start the workers, with what each of them does."""
        ...

    def submit(self, samples: Sequence[Sample], finished: FinishedResults) -> Awaitable[ScoredBatch]:
        """Score a batch in a worker.

        Raises:
            WorkerDiedError: The worker ended before.
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
        # One event loop for all batches, to which locks and connections are tied.
        self._runner = asyncio.Runner()

    def score(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Return the imaps and results of a batch."""
        store = InMemoryStore(finished)
        try:
            if self._parts is None:
                self._parts = self.open_parts()
            parts = self._parts
            work = evaluate(
                samples,
                metrics=parts.metrics,
                extractor=parts.extractor,
                matcher=parts.matcher,
                references=self.references,
                run=store,
            )
            self._runner.run(work)
        except ImapEvalError as error:
            return store, error
        return store, None


async def evaluate_in_workers(
    samples: Sequence[Sample],
    *,
    workers: WorkerPool,
    open_parts: Callable[..., Pipeline],
    parts: Pipeline,
    llm: Model | None = None,
    references: References = "mean",
    run: ResultStore,
    progress: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Score samples as `imapeval.evaluation.evaluate.evaluate` does, in several processes.

    Each worker is given a batch at a time. When a worker dies, its batch is scored again, after all others and alone;
    if that ends a worker again, its halves, until the sample is found that does it, which is given a `Failure`. The
    workers are ended.

    Args:
        samples: Samples with unique ids.
        workers: The processes, not started.
        open_parts: Opens the pipeline in a worker, with the language model as `llm` if there is one; must be picklable.
        parts: The pipeline, opened in this process.
        llm: The language model, which this process asks for all workers.
        references: How the scores against several references are combined.
        run: Where results are stored.
        progress: Called with the number of samples finished since the last call.
        stop: Once set, no further batch is started, and no further request is sent.

    Raises:
        ServiceError: Workers die without a sample. Results finished before are in `run`.
        ImapEvalError: Something affects all samples alike; likewise.
    """
    signatures = full_signatures(parts.metrics, extractor=parts.extractor, matcher=parts.matcher, references=references)
    pending, reading = list_pending(samples, parts.metrics, signatures, run.finished)
    run.retain_imaps(pending.keys() - {sample.id for sample in reading})
    todo = [sample for sample in samples if pending[sample.id]]
    if progress is not None:
        progress(len(samples) - len(todo))
    size = BATCH if llm is None else min(_LARGEST_BATCH, max(BATCH, len(todo) // (_BATCHES * workers.size)))
    waiting: deque[_Batch] = deque(
        (batch, _select_finished(batch, signatures, run.finished))
        for batch in (todo[start : start + size] for start in range(0, len(todo), size))
    )
    suspects: list[_Batch] = []
    running: dict[asyncio.Future[ScoredBatch], _Batch] = {}

    def stopped() -> bool:
        return stop is not None and stop.is_set()

    def submit(batch: _Batch) -> None:
        running[asyncio.ensure_future(workers.submit(*batch))] = batch

    def take(future: asyncio.Future[ScoredBatch]) -> _Batch | None:
        """Store what a worker made; return the batch if the worker died."""
        batch = running.pop(future)
        try:
            made, error = future.result()
        except WorkerDiedError:
            return batch
        if differing := {result.signature for result in made.results}.difference(signatures.values()):
            raise ServiceError(
                f"a worker scores otherwise than this process: {min(differing)!r} is not among the signatures of this "
                "run. Install the same versions of imapeval and of what it uses on all machines.",
                kind="worker-differs",
            )
        run.add(imaps=made.imaps, results=made.results)
        if error is not None and not (stopped() and isinstance(error, ServiceError) and error.kind == STOPPED):
            raise error
        if progress is not None:
            progress(len(batch[0]))
        return None

    server = None if llm is None else ModelServer(llm, host=workers.host, workers=workers.size, stop=stop)
    async with server or nullcontext():
        workers.start(BatchScorer(partial(open_parts, llm=server.client) if server else open_parts, references))
        try:
            while running or ((waiting or suspects) and not stopped()):
                # One more than there are workers, so that none waits for this process.
                while waiting and len(running) <= workers.size and not stopped():
                    submit(waiting.popleft())
                alone = not running
                if alone:
                    submit(suspects.pop())
                ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                died = [take(future) for future in ended]
                if any(died):
                    # Where one process ends, those beside it may be ended, too.
                    died += [take(future) for future in (await asyncio.wait(running))[0]] if running else []
                    await _restart(workers)
                for batch in filter(None, died):
                    if not alone:
                        suspects.append(batch)
                    elif len(batch[0]) > 1:
                        suspects += _halve(batch)
                    else:
                        (sample,) = batch[0]
                        names = [metric.name for metric in pending[sample.id]]
                        run.add(imaps=(), results=[Result(sample.id, n, _KILLED, signatures[n]) for n in names])
                        if progress is not None:
                            progress(1)
        finally:
            # After an error, workers still wait for completions: the server answers them while they end, in a thread.
            if server is not None:
                server.refuse()
            await asyncio.to_thread(workers.close)
            await asyncio.gather(*running, return_exceptions=True)
    if not stopped():
        run.finish()


async def _restart(workers: WorkerPool) -> None:
    """Replace the workers that died, and see whether the new ones live without a sample.

    Raises:
        ServiceError: They do not.
    """
    for _ in range(MAX_DEATHS):
        workers.restart()
        with suppress(WorkerDiedError):
            await workers.submit([], {})
            return
    raise ServiceError(
        f"workers died, and {MAX_DEATHS} new ones before they scored anything. They may have run out of memory: take "
        "fewer --workers.",
        kind="worker-died",
    )


def _halve(batch: _Batch) -> list[_Batch]:
    samples, finished = batch
    middle = len(samples) // 2
    return [(samples[middle:], finished), (samples[:middle], finished)]


def _select_finished(
    batch: Sequence[Sample], signatures: Mapping[str, str], finished: Mapping[tuple[str, str, str], Result]
) -> FinishedResults:
    keys = ((sample.id, metric, signature) for sample in batch for metric, signature in signatures.items())
    return {key: finished[key] for key in keys if key in finished}


class ProcessPool:
    """Workers that are processes of this computer; see `WorkerPool`.

    Args:
        size: Number of processes.
    """

    host = "127.0.0.1"

    def __init__(self, size: int) -> None:
        self.size = size

    def start(self, scorer: BatchScorer) -> None:
        """Start the processes as they are needed; see `WorkerPool.start`."""
        self._scorer = scorer
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self.size, mp_context=spawn, initializer=_start_worker, initargs=(scorer,))

    async def submit(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Score a batch; see `WorkerPool.submit`."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _score_batch, samples, finished)
        except BrokenProcessPool as error:
            raise WorkerDiedError from error

    def restart(self) -> None:
        """Start all processes anew: the others are ended with the one that died."""
        self.close()
        self.start(self._scorer)

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


def _score_batch(samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
    return _scorer.score(samples, finished)
