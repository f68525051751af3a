"""Scores samples in several processes; only the main process writes the folder of the run."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from array import array
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from functools import partial
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Protocol

from imapeval.errors import ImapEvalError, ServiceError
from imapeval.evaluation.evaluate import BATCH, PendingMetrics, evaluate_to_store, full_signatures
from imapeval.evaluation.runs import Result
from imapeval.evaluation.stores import InMemoryStore
from imapeval.llm.protocol import STOPPED
from imapeval.llm.sharing import ModelServer
from imapeval.redaction import get_logger, redact_warnings
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from multiprocessing.connection import Connection

    from imapeval.evaluation.combine import References
    from imapeval.evaluation.pipeline import Pipeline
    from imapeval.evaluation.stores import ResultStore
    from imapeval.llm.protocol import Model
    from imapeval.types import Sample

MAX_DEATHS = 3
"""Number of successive replacements for a worker that may die before they are given a sample."""

_KILLED = Failure(
    "worker",
    "worker-died",
    "the process that scored this sample died, also when it scored nothing else; it may have run out of memory. "
    "Score the sample alone to see why.",
)

FinishedResults = dict[tuple[str, str, str], Result]
"""Results from an earlier session of the run, by `Result.key`."""

_LARGEST_BATCH = 8 * BATCH
"""Samples per batch with a language model: enough that waiting for the last completions takes little of the time."""

_BATCHES = 4
"""Minimum number of batches per worker, so that all workers finish at about the same time."""

_END_SECONDS = 5.0
"""How long to wait for a process to end by itself, and again after it has been killed."""

_log = get_logger(__name__)

ScoredBatch = tuple[InMemoryStore, "ImapEvalError | None"]
"""The results of a batch as far as it was scored, and the error that affects all samples alike, if any."""


class WorkerDiedError(Exception):
    """A worker ended before its batch was finished, or cannot be started."""


class Worker(Protocol):
    """A process that scores batches, here or on another machine."""

    async def score(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Score a batch.

        Raises:
            WorkerDiedError: The worker ended before the batch was finished.
        """
        ...


class WorkerPool(Protocol):
    """Where workers are started.

    Attributes:
        size: Number of workers.
        host: Address of this machine for the workers.
    """

    size: int
    host: str

    async def open(self, scorer: BatchScorer) -> Worker:
        """Start a worker that uses the given scorer.

        Raises:
            WorkerDiedError: There are no free resources for it.
        """
        ...

    def close(self) -> None:
        """End the workers immediately."""
        ...


class BatchScorer:
    """Scores batches in a worker: opens the pipeline for the first batch, and keeps it open.

    Args:
        open_parts: Opens the pipeline; must be picklable.
        references: How the scores against several references are combined.
    """

    def __init__(self, open_parts: Callable[[], Pipeline], references: References) -> None:
        self.open_parts = open_parts
        self.references: References = references
        self._parts: Pipeline | None = None
        # One event loop for all batches, because locks and connections are tied to their loop.
        self._runner = asyncio.Runner()

    def score(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Return the imaps and results of a batch."""
        store = InMemoryStore(finished)
        try:
            if self._parts is None:
                # Here rather than where processes start, so that it holds for the actors of Ray too.
                redact_warnings()
                self._parts = self.open_parts()
            self._runner.run(evaluate_to_store(samples, self._parts, references=self.references, run=store))
        except ImapEvalError as error:
            if self._parts is not None:
                # The event loop stands still until the next batch, but requests under way have been paid for.
                self._runner.run(_finish_tasks())
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

    Each worker is given one batch at a time. When a worker dies, its batch is scored again by itself after all others;
    if that kills a worker again, the batch is halved repeatedly until the sample that causes it is found, which gets a
    `Failure`. If a worker that died cannot be replaced, the others continue. All workers are ended at the end.

    Args:
        samples: Samples with unique ids.
        workers: Where workers are started.
        open_parts: Opens the pipeline in a worker, with the language model as `llm` if there is one; must be picklable.
        parts: The pipeline, opened in this process.
        llm: The language model, which this process asks for all workers.
        references: How the scores against several references are combined.
        run: Where results are stored.
        progress: Called with the number of samples finished since the last call.
        stop: Once set, no further batch is started, and no further request is sent.

    Raises:
        ServiceError: No worker can be started, or all die without a sample. Results finished before are in `run`.
        ImapEvalError: Something affects all samples alike; likewise.
    """
    signatures = full_signatures(parts, references)
    pending = PendingMetrics(parts.metrics, signatures, run.finished)
    run.retain_imaps(sample.id for sample in samples if not pending.needs_imap(sample))
    todo = array("Q", (position for position, sample in enumerate(samples) if pending.find(sample)))
    if progress is not None:
        progress(len(samples) - len(todo))
    size = BATCH if llm is None else min(_LARGEST_BATCH, max(BATCH, len(todo) // (_BATCHES * workers.size)))
    waiting = deque(todo[start : start + size] for start in range(0, len(todo), size))
    suspects: deque[array[int]] = deque()
    idle: list[Worker] = []
    failed = asyncio.Event()

    def stopped() -> bool:
        return failed.is_set() or (stop is not None and stop.is_set())

    def store(batch: array[int], scored: InMemoryStore, error: ImapEvalError | None = None) -> None:
        if differing := {result.signature for result in scored.results}.difference(signatures.values()):
            raise ServiceError(
                f"a worker scores otherwise than this process: {min(differing)!r} is not among the signatures of this "
                "run. Install the same versions of imapeval and of what it uses on all machines.",
                kind="worker-differs",
            )
        run.add(imaps=scored.imaps, results=scored.results)
        if error is not None and not (stopped() and isinstance(error, ServiceError) and error.kind == STOPPED):
            raise error
        if progress is not None:
            progress(len(batch))

    def set_aside(batch: array[int]) -> None:
        suspects.append(batch)

    def bisect(batch: array[int]) -> None:
        """Halve a batch that was scored by itself, to find the sample that kills workers."""
        if len(batch) > 1:
            middle = len(batch) // 2
            suspects.extendleft((batch[middle:], batch[:middle]))
        else:
            sample = samples[batch[0]]
            names = [metric.name for metric in pending.find(sample)]
            killed = [Result(sample.id, name, _KILLED, signatures[name]) for name in names]
            store(batch, InMemoryStore(results=killed))

    async def work(batches: deque[array[int]], on_death: Callable[[array[int]], None]) -> None:
        """Have one worker after the other score batches while there are any."""
        worker: Worker | None = None
        while batches and not stopped():
            if worker is None:
                worker = idle.pop() if idle else await _open_worker(workers, scorer)
                continue
            batch = batches.popleft()
            try:
                chosen = [samples[position] for position in batch]
                scored = await worker.score(chosen, _select_finished(chosen, signatures, run.finished))
            except WorkerDiedError:
                worker = None
                on_death(batch)
            else:
                store(batch, *scored)
        if worker is not None:
            idle.append(worker)

    async def work_or_stop(batches: deque[array[int]], on_death: Callable[[array[int]], None]) -> None:
        """Run a worker; after an error, the others still finish their batches, but send no further requests."""
        try:
            await work(batches, on_death)
        except WorkerDiedError as error:
            _log.warning("%s", error)
            raise
        except BaseException:
            failed.set()
            raise

    server = None if llm is None else ModelServer(llm, host=workers.host, workers=workers.size, is_stopped=stopped)
    async with server or nullcontext():
        scorer = BatchScorer(partial(open_parts, llm=server.client) if server else open_parts, references)
        try:
            for batches, on_death, count in ((waiting, set_aside, workers.size), (suspects, bisect, 1)):
                running = (work_or_stop(batches, on_death) for _ in range(min(count, len(batches))))
                ends = [end for end in await asyncio.gather(*running, return_exceptions=True) if end is not None]
                for end in ends:
                    if not isinstance(end, WorkerDiedError):
                        raise end
                if batches and not stopped():
                    raise ServiceError(str(ends[0]), kind="worker-died")
        finally:
            await asyncio.to_thread(workers.close)
    if not stopped():
        run.finish()


async def _finish_tasks() -> None:
    """Wait for all other tasks of the event loop."""
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


async def _open_worker(workers: WorkerPool, scorer: BatchScorer) -> Worker:
    """Start a worker that has opened the pipeline.

    Raises:
        WorkerDiedError: No worker can be started, or several died before they were given a sample.
        ImapEvalError: The pipeline cannot be opened.
    """
    for _ in range(MAX_DEATHS):
        worker = await workers.open(scorer)
        with suppress(WorkerDiedError):
            _, error = await worker.score([], {})
            if error is not None:
                raise error
            return worker
    raise WorkerDiedError(
        f"{MAX_DEATHS} workers died before they scored anything. They may have run out of memory: take fewer --workers."
    )


def _select_finished(
    batch: Sequence[Sample], signatures: Mapping[str, str], finished: Mapping[tuple[str, str, str], Result]
) -> FinishedResults:
    keys = ((sample.id, metric, signature) for sample in batch for metric, signature in signatures.items())
    return {key: finished[key] for key in keys if key in finished}


class ProcessPool:
    """Workers that are processes of this computer; see `WorkerPool`."""

    host = "127.0.0.1"

    def __init__(self, size: int) -> None:
        self.size = size
        self._workers: list[_Process] = []
        self._threads = ThreadPoolExecutor(size)

    async def open(self, scorer: BatchScorer) -> Worker:
        """Start a process; see `WorkerPool.open`."""
        worker = _Process(scorer, self._threads)
        self._workers.append(worker)
        return worker

    def close(self) -> None:
        """End the processes; see `WorkerPool.close`."""
        for worker in self._workers:
            worker.dismiss()
        for worker in self._workers:
            worker.end()
        self._threads.shutdown()


class _Process:
    """A process with its own pipe, so that its death is noticed immediately and affects no other; see `Worker`."""

    def __init__(self, scorer: BatchScorer, threads: ThreadPoolExecutor) -> None:
        self._threads = threads
        self._busy = False
        spawn = multiprocessing.get_context("spawn")
        self._connection, other = spawn.Pipe()
        self._process = spawn.Process(target=_work, args=(other, scorer))
        # Ctrl-C and a closed terminal reach all processes, but the main one decides what is still finished. The new
        # process inherits the blocked signals, so that it is not interrupted while it starts either.
        if sys.platform != "win32":
            # Started beforehand, because starting it unblocks SIGINT.
            resource_tracker.ensure_running()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
        try:
            self._process.start()
        finally:
            if sys.platform != "win32":
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            # Now only the new process holds the other end, so this end detects when it dies.
            other.close()

    async def score(self, samples: Sequence[Sample], finished: FinishedResults) -> ScoredBatch:
        """Score a batch; see `Worker.score`."""
        self._busy = True
        scored = await asyncio.get_running_loop().run_in_executor(self._threads, self._exchange, (samples, finished))
        self._busy = False
        return scored

    def _exchange(self, batch: tuple[Sequence[Sample], FinishedResults]) -> ScoredBatch:
        try:
            self._connection.send(batch)
            return self._connection.recv()
        except (EOFError, OSError) as error:
            self.end()
            raise WorkerDiedError("a worker died") from error

    def dismiss(self) -> None:
        """Let the process end by itself if it has no batch."""
        with suppress(OSError):
            if not self._busy:
                self._connection.send(None)

    def end(self) -> None:
        """End the process; it is killed if it was not dismissed or does not end by itself."""
        if not self._busy:
            self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join(_END_SECONDS)


def _work(connection: Connection, scorer: BatchScorer) -> None:
    """Score batches until there are no more, or the main process is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    while (batch := _receive(connection)) is not None:
        scored = scorer.score(*batch)
        with suppress(OSError):  # the main process may be gone
            connection.send(scored)


def _receive(connection: Connection) -> tuple[Sequence[Sample], FinishedResults] | None:
    with suppress(EOFError, OSError):
        return connection.recv()
    return None


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
