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
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from imapeval.errors import ServiceError
from imapeval.evaluation.evaluate import BATCH, InMemoryStore, evaluate, full_signatures, list_pending

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from imapeval.evaluation.combine import References
    from imapeval.evaluation.evaluate import ResultStore
    from imapeval.evaluation.pipeline import Pipeline
    from imapeval.evaluation.runs import Result
    from imapeval.types import Sample

MAX_DEATHS = 3
"""Deaths of workers without a finished batch in between, after which scoring stops."""

_Finished = dict[tuple[str, str, str], "Result"]
_Batch = tuple[list["Sample"], _Finished]


async def evaluate_in_workers(
    samples: Sequence[Sample],
    *,
    workers: int,
    open_parts: Callable[[], Pipeline],
    parts: Pipeline,
    references: References = "mean",
    run: ResultStore,
    progress: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Score samples as `imapeval.evaluation.evaluate.evaluate` does, in several processes.

    Each worker opens the pipeline once and is given a batch at a time. When a worker dies, its batch is scored again,
    after all others.

    Args:
        samples: Samples with unique ids.
        workers: Number of processes.
        open_parts: Opens the pipeline in a worker; must be picklable.
        parts: The same pipeline, opened in this process.
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

    deaths = 0
    while waiting and not stopped():
        pool = ProcessPoolExecutor(
            min(workers, len(waiting)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(open_parts, references),
        )
        running: dict[asyncio.Future[InMemoryStore], _Batch] = {}
        try:
            while running or (waiting and not stopped()):
                # One more than there are workers, so that none waits for this process.
                while waiting and len(running) <= workers and not stopped():
                    future = asyncio.get_running_loop().run_in_executor(pool, _score_batch, *waiting[0])
                    running[future] = waiting.popleft()
                ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for future in ended:
                    made = await future
                    batch, _ = running.pop(future)
                    run.add(imaps=made.imaps, results=made.results)
                    deaths = 0
                    if progress is not None:
                        progress(len(batch))
        except BrokenProcessPool as error:
            await asyncio.gather(*running, return_exceptions=True)
            waiting.extend(running.values())
            deaths += 1
            if deaths == MAX_DEATHS:
                ids = waiting[0][0][0].id, waiting[0][0][-1].id
                raise ServiceError(
                    f"a worker died {deaths} times without finishing a batch; the next batch is the samples "
                    f"{ids[0]!r} to {ids[1]!r}. It may have run out of memory: take fewer --workers.",
                    kind="worker-died",
                ) from error
        finally:
            pool.shutdown(cancel_futures=True)
    if not stopped():
        run.finish()


def _select_finished(
    batch: Sequence[Sample], signatures: Mapping[str, str], finished: Mapping[tuple[str, str, str], Result]
) -> _Finished:
    keys = ((sample.id, metric, signature) for sample in batch for metric, signature in signatures.items())
    return {key: finished[key] for key in keys if key in finished}


_open_parts: Callable[[], Pipeline]
_references: References
_parts: Pipeline | None = None


def _start_worker(open_parts: Callable[[], Pipeline], references: References) -> None:
    global _open_parts, _references
    _open_parts, _references = open_parts, references
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


def _score_batch(samples: Sequence[Sample], finished: _Finished) -> InMemoryStore:
    global _parts
    # Not in the initializer: an error there would lose its message.
    if _parts is None:
        _parts = _open_parts()
    store = InMemoryStore(finished)
    asyncio.run(
        evaluate(
            samples,
            metrics=_parts.metrics,
            extractor=_parts.extractor,
            matcher=_parts.matcher,
            references=_references,
            run=store,
        )
    )
    return store
