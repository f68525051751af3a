"""Extracts the imaps of many samples concurrently; a failure concerns its own sample only.

Samples without a response, with a text of more than `MAX_CHARACTERS`, or in a language in which no facts can be read
are rejected: see `find_rejection` and `refuse_reading`.
"""

from __future__ import annotations

import asyncio
from itertools import product
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ImapEvalError, SampleError
from imapeval.redaction import get_logger
from imapeval.text.language import FACT_LANGS
from imapeval.types import Failure, Imap, Sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Sequence

    from imapeval.extraction.protocols import Extractor

MAX_CHARACTERS = 100_000
"""Longest text that is scored: forty pages, more than any answer, and still seconds for the lexical metrics."""

_MAX_READY = 256
"""Finished samples that may wait for the consumer, so that workers do not idle while it handles a batch."""

_Made = TypeVar("_Made")

_log = get_logger(__name__)


async def extract(
    samples: Sequence[Sample], *, extractor: Extractor, stop: asyncio.Event | None = None
) -> AsyncGenerator[tuple[Sample, tuple[Imap, ...] | Failure]]:
    """Yield each sample with its imaps or the reason why there are none, in order of completion.

    Up to `extractor.concurrency` samples are processed at a time.

    Args:
        samples: The samples.
        extractor: Extracts the imaps.
        stop: Once set, no further sample is started; those in progress are finished and yielded.

    Raises:
        ImapEvalError: Something affects all samples alike; raised after the samples in progress have been yielded.
    """
    halt, failed = stop or asyncio.Event(), asyncio.Event()
    done: asyncio.Queue[tuple[Sample, tuple[Imap, ...] | Failure] | None] = asyncio.Queue(_MAX_READY)
    waiting = iter(samples)

    async def work() -> None:
        try:
            for sample in waiting:
                if halt.is_set() or failed.is_set():
                    break
                await done.put(
                    (
                        sample,
                        refuse_reading(sample) or await guard_sample("extraction", _extract_sample(sample, extractor)),
                    )
                )
        except BaseException:
            failed.set()
            raise

    workers = [asyncio.create_task(work()) for _ in range(min(extractor.concurrency, len(samples)))]

    async def mark_end() -> None:
        # Whatever a worker dies of, the consumer must not wait for more.
        await asyncio.gather(*workers, return_exceptions=True)
        await done.put(None)

    end = asyncio.create_task(mark_end())
    try:
        while (item := await done.get()) is not None:
            yield item
        await asyncio.gather(*workers)
    finally:
        for task in (end, *workers):
            task.cancel()


async def guard_sample(stage: str, work: Awaitable[_Made]) -> _Made | Failure:
    """Await work on one sample, and return a `Failure` if it fails for a reason that concerns this sample only.

    Raises:
        ImapEvalError: Something affects all samples alike.
    """
    try:
        return await work
    except SampleError as error:
        return Failure(error.stage, error.kind, str(error), error.raw)
    except ImapEvalError:
        raise
    except Exception as error:  # noqa: BLE001  # an unexpected error must not end the run
        _log.debug("unexpected error in stage %s", stage, exc_info=error)
        return Failure(stage, "internal", f"{type(error).__name__}: {error}")


def find_rejection(sample: Sample) -> Failure | None:
    """Return why no metric can score the sample (bad data, no response, a text too long); None if it can be scored."""
    if sample.fault is not None:
        return sample.fault
    if not sample.answered:
        return Failure(
            "sample",
            "no-response",
            "there is no response, so the answer is left out of all means. Generate one, or write an empty text "
            '("" in JSON, a space in CSV and Excel) if the answer was empty.',
        )
    longest = max(map(len, (sample.question, sample.response, *sample.references)))
    if longest <= MAX_CHARACTERS:
        return None
    return Failure(
        "sample",
        "too-long",
        f"a text has {longest} characters, more than the {MAX_CHARACTERS} that are scored; shorten it",
    )


def refuse_reading(sample: Sample) -> Failure | None:
    """Return why no facts can be read from the sample, such as its language; None if they can."""
    if sample.lang in FACT_LANGS:
        return find_rejection(sample)
    return find_rejection(sample) or Failure(
        "extraction",
        "language",
        f"facts are read from texts in {' and '.join(FACT_LANGS)}; this sample is {sample.lang!r}. Score it with "
        "metrics of words and characters, such as rouge1 and chrf.",
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
