"""Samples to imaps, many at a time, with every failure kept to its sample.

A sample without a response is not read, nor is one with a text of more than `MAX_CHARACTERS`: see `refuse`.
"""

from __future__ import annotations

import asyncio
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ImapEvalError, SampleError
from imapeval.redaction import get_logger
from imapeval.types import Failure, Imap, Sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

    from imapeval.extraction.protocols import Extractor

MAX_CHARACTERS = 100_000
"""Longest text that is scored. Forty pages: no answer to a question; the classical metrics still take it in seconds."""

_MAX_READY = 256
"""Finished samples that may wait to be taken, so that who takes them in batches does not make the readers idle."""

_Made = TypeVar("_Made")

_log = get_logger(__name__)


async def extract(
    samples: Sequence[Sample], *, extractor: Extractor, stop: asyncio.Event | None = None
) -> AsyncGenerator[tuple[Sample, tuple[Imap, ...] | Failure]]:
    """Yield for each sample, in the order in which they are done, its imaps or why there are none.

    So many samples are read at the same time as `extractor.concurrency` says.

    Args:
        samples: What to read.
        extractor: What reads it.
        stop: Once it is set no further sample is begun; those under way are finished and yielded.

    Raises:
        ImapEvalError: Something that concerns all samples alike; raised after all that was under way is yielded.
    """
    halt = stop or asyncio.Event()
    fatal: list[ImapEvalError] = []
    done: asyncio.Queue[tuple[Sample, tuple[Imap, ...] | Failure] | None] = asyncio.Queue(_MAX_READY)
    waiting = iter(samples)

    async def work() -> None:
        for sample in waiting:
            if halt.is_set() or fatal:
                break
            try:
                await done.put(
                    (
                        sample,
                        find_rejection(sample) or await guard_sample("extraction", _extract_sample(sample, extractor)),
                    )
                )
            except ImapEvalError as error:
                fatal.append(error)
        await done.put(None)

    workers = [asyncio.create_task(work()) for _ in range(min(extractor.concurrency, len(samples)))]
    try:
        for _ in workers:
            while (item := await done.get()) is not None:
                yield item
        # A bug in here must not pass for the end of the samples.
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
    if fatal:
        raise fatal[0]


async def guard_sample(stage: str, work: Awaitable[_Made]) -> _Made | Failure:
    """Do the work on one sample; whatever goes wrong with it is its own failure and nobody else's.

    Raises:
        ImapEvalError: Something that concerns all samples alike.
    """
    try:
        return await work
    except SampleError as error:
        return Failure(error.stage, error.kind, str(error), error.raw)
    except ImapEvalError:
        raise
    except Exception as error:  # noqa: BLE001  # the one boundary where the unexpected must not end the run
        _log.debug("unexpected error in stage %s", stage, exc_info=error)
        return Failure(stage, "internal", f"{type(error).__name__}: {error}")


def find_rejection(sample: Sample) -> Failure | None:
    """Return why the sample is neither read nor scored, whatever the metric: no response, or too long a text."""
    if not sample.answered:
        return Failure(
            "sample",
            "no-response",
            "there is no response: whoever should have answered did not. Have it answered, or write an empty text "
            '("" in JSON) where that was the answer.',
        )
    longest = max(map(len, (sample.question, sample.response, *sample.references)))
    if longest <= MAX_CHARACTERS:
        return None
    return Failure(
        "sample",
        "too-long",
        f"a text has {longest} characters, more than the {MAX_CHARACTERS} that are scored; shorten it",
    )


async def _extract_sample(sample: Sample, extractor: Extractor) -> tuple[Imap, ...]:
    imaps = await extractor.extract(sample)
    readings, references = {imap.reading for imap in imaps} or {0}, len(sample.references)
    wanted = sorted(product(readings, range(max(1, references))))
    if sorted((imap.reading, imap.reference_index) for imap in imaps) != wanted:
        raise ValueError(
            f"the extractor gave {len(imaps)} imaps for {references} references and {len(readings)} readings"
        )
    return imaps
