"""Samples x metrics: extraction, matching and scoring in chunks, with every failure kept to its sample.

A sample with a text of more than `MAX_CHARACTERS` is not scored: each of its metrics is `Failure("too-long")`.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ExtractionError, ImapEvalError, SampleError, UsageError
from imapeval.imapfile import ImapRecord
from imapeval.metrics.base import Case, Metric
from imapeval.runs import Result, RunWriter, Settings
from imapeval.types import Failure, Imap, Match, Outcome, Sample, Score

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from imapeval.extraction.extractor import Extractor
    from imapeval.matching.matcher import Matcher

MAX_CHARACTERS = 100_000
"""Longest text that is scored. Forty pages: no answer to a question; the classical metrics still take it in seconds."""

CHUNK = 64
"""Samples that are worked on at once: enough for the encoder's batches, few enough to hold in memory."""

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_log = logging.getLogger(__name__)


async def evaluate(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[Metric],
    extractor: Extractor | None = None,
    matcher: Matcher | None = None,
    run: RunWriter | None = None,
    progress: Callable[[int], None] | None = None,
    concurrency: int = 8,
) -> list[Result]:
    """Score every sample by every metric.

    Where a sample has several references each is scored, the best outcome counts, and `parts["reference"]` is its
    index. Where the extractor fails, the metrics that need imaps are a `Failure` and the others are scored. What
    `run` already holds is not computed again.

    Args:
        samples: With unique ids.
        metrics: With unique names.
        extractor: Makes imaps; may be None where no metric requires "imap".
        matcher: Judges values; likewise.
        run: Where to write; None keeps the results in memory only.
        progress: Called with the number of samples done since the last call.
        concurrency: Most samples that are extracted at the same time.

    Returns:
        One result per sample and metric, those that `run` already held first.

    Raises:
        UsageError: A metric requires imaps and extractor or matcher is None.
        ImapEvalError: Something that concerns all samples alike, such as a missing extra or a full disk.
    """
    signatures = sign(metrics, extractor=extractor, matcher=matcher)
    finished = {} if run is None else run.finished
    pending = {
        sample.id: [m for m in metrics if (sample.id, m.name, signatures[m.name]) not in finished] for sample in samples
    }
    if run is not None:
        run.keep_imaps(sample.id for sample in samples if not _needs_imap(pending[sample.id]))
    results = list(finished.values())
    for chunk in _chunks(samples):
        facts: Mapping[str, Sequence[ImapRecord | Failure]] = {}
        if extractor is not None and matcher is not None:
            asking = [sample for sample in chunk if _needs_imap(pending[sample.id])]
            facts = await _find_facts(asking, extractor=extractor, matcher=matcher, concurrency=concurrency)
        made: list[Result] = []
        for metric in metrics:
            asking = [sample for sample in chunk if metric in pending[sample.id]]
            outcomes = await _score(metric, asking, facts)
            made.extend(
                Result(sample.id, metric.name, outcome, signatures[metric.name])
                for sample, outcome in zip(asking, outcomes, strict=True)
            )
        if run is not None:
            records = [record for found in facts.values() for record in found if isinstance(record, ImapRecord)]
            run.add(imaps=records, results=made)
        results.extend(made)
        if progress is not None:
            progress(len(chunk))
    if run is not None:
        run.finish()
    return results


def score(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[Metric],
    extractor: Extractor | None = None,
    matcher: Matcher | None = None,
    run: RunWriter | None = None,
    progress: Callable[[int], None] | None = None,
    concurrency: int = 8,
) -> list[Result]:
    """Score every sample by every metric, from code that is not asynchronous. See `evaluate`.

    Raises:
        UsageError: An event loop is running in this thread; use `await evaluate(...)` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(
            evaluate(
                samples,
                metrics=metrics,
                extractor=extractor,
                matcher=matcher,
                run=run,
                progress=progress,
                concurrency=concurrency,
            )
        )
    raise UsageError("score() was called inside a running event loop. Use `await evaluate(...)` there.")


async def extract(
    samples: Sequence[Sample], *, extractor: Extractor, concurrency: int = 8
) -> AsyncIterator[tuple[Sample, tuple[Imap, ...] | Failure]]:
    """Yield for each sample, in order, its imaps (one per reference) or why there are none.

    Args:
        samples: What to read.
        extractor: What reads it.
        concurrency: Most samples that are read at the same time.

    Raises:
        ImapEvalError: Something that concerns all samples alike.
    """
    gate = asyncio.Semaphore(concurrency)

    async def read(sample: Sample) -> tuple[Imap, ...]:
        if too_long := _too_long(sample):
            raise ExtractionError(too_long.message, kind=too_long.kind)
        async with gate:
            imaps = await extractor.extract(sample)
        if len(imaps) != len(sample.references):
            raise ValueError(f"the extractor gave {len(imaps)} imaps for {len(sample.references)} references")
        return imaps

    for chunk in _chunks(samples):
        made = await asyncio.gather(*(_attempt("extraction", read, sample) for sample in chunk))
        for sample, imaps in zip(chunk, made, strict=True):
            yield sample, imaps


def sign(metrics: Sequence[Metric], *, extractor: Extractor | None, matcher: Matcher | None) -> dict[str, str]:
    """Return the full signature by metric name: the metric's own and, where it needs imaps, what makes them.

    Raises:
        UsageError: A metric requires imaps and extractor or matcher is None.
    """
    signatures: dict[str, str] = {}
    for metric in metrics:
        signatures[metric.name] = metric.signature
        if "imap" in metric.requires:
            if extractor is None or matcher is None:
                raise UsageError(f"the metric {metric.name!r} needs an extractor and a matcher; give both.")
            signatures[metric.name] += f"|{extractor.signature}|{matcher.signature}"
    return signatures


def settle(
    metrics: Sequence[Metric],
    *,
    extractor: Extractor | None,
    matcher: Matcher | None,
    seed: int,
    resources: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings of a run by which it can be continued."""
    return Settings(
        metrics=sign(metrics, extractor=extractor, matcher=matcher),
        extractor="" if extractor is None else extractor.signature,
        matcher="" if matcher is None else matcher.signature,
        seed=seed,
        resources=dict(resources or {}),
    )


async def _find_facts(
    samples: Sequence[Sample], *, extractor: Extractor, matcher: Matcher, concurrency: int
) -> dict[str, list[ImapRecord | Failure]]:
    """Return for each sample what is known about each of its references."""

    def match(items: Sequence[tuple[Sample, Imap]]) -> list[tuple[Match, ...]]:
        return matcher.match([imap for _, imap in items], langs=[sample.lang for sample, _ in items])

    facts: dict[str, list[ImapRecord | Failure]] = {}
    pairs: list[tuple[Sample, Imap]] = []
    async for sample, imaps in extract(samples, extractor=extractor, concurrency=concurrency):
        if isinstance(imaps, Failure):
            facts[sample.id] = [imaps] * len(sample.references)
        else:
            facts[sample.id] = []
            pairs.extend((sample, imap) for imap in imaps)
    for (sample, imap), matches in zip(pairs, await _attempt_all("matching", match, pairs), strict=True):
        facts[sample.id].append(matches if isinstance(matches, Failure) else ImapRecord(sample.id, imap, matches))
    return facts


async def _score(
    metric: Metric, samples: Sequence[Sample], facts: Mapping[str, Sequence[ImapRecord | Failure]]
) -> list[Outcome]:
    """Return the metric's best outcome over the references of each sample."""
    views = {sample.id: _view(metric, sample, facts) for sample in samples}
    cases = [case for view in views.values() for case in view if isinstance(case, Case)]
    scored = iter(await _attempt_all("metric", metric.score, cases))
    return [
        _best(
            [next(scored) if isinstance(case, Case) else case for case in views[sample.id]],
            higher_is_better=metric.higher_is_better,
        )
        for sample in samples
    ]


def _view(metric: Metric, sample: Sample, facts: Mapping[str, Sequence[ImapRecord | Failure]]) -> list[Case | Failure]:
    """Return what the metric is shown for each reference, or why it cannot be shown anything."""
    if too_long := _too_long(sample):
        return [too_long]
    view: list[Case | Failure] = []
    for index, reference in enumerate(sample.references):
        case = Case(sample.id, sample.question, reference, sample.response, sample.lang)
        if "imap" in metric.requires:
            record = facts[sample.id][index]
            view.append(
                record if isinstance(record, Failure) else replace(case, imap=record.imap, matches=record.matches)
            )
        else:
            view.append(case)
    return view


def _best(outcomes: Sequence[Outcome], *, higher_is_better: bool) -> Outcome:
    scores = [(index, outcome) for index, outcome in enumerate(outcomes) if isinstance(outcome, Score)]
    if not scores:
        return outcomes[0]
    choose = max if higher_is_better else min
    index, best = choose(scores, key=lambda indexed: indexed[1].value)
    if len(outcomes) == 1:
        return best
    return replace(best, parts={**best.parts, "reference": float(index)})


async def _attempt(stage: str, work: Callable[[_Item], Awaitable[_Made]], item: _Item) -> _Made | Failure:
    """Do the work on one sample; whatever goes wrong with it is its own failure and nobody else's."""
    try:
        return await work(item)
    except SampleError as error:
        return Failure(error.stage, error.kind, str(error), error.raw)
    except ImapEvalError:
        raise
    except Exception as error:  # noqa: BLE001  # the one boundary where the unexpected must not end the run
        _log.debug("unexpected error in stage %s", stage, exc_info=error)
        return Failure(stage, "internal", f"{type(error).__name__}: {error}")


async def _attempt_all(
    stage: str, work: Callable[[Sequence[_Item]], list[_Made]], items: Sequence[_Item]
) -> list[_Made | Failure]:
    """Do the work on all samples at once; where that fails, one by one, to find the one at fault."""

    async def checked(batch: Sequence[_Item]) -> list[_Made]:
        made = work(batch)
        if len(made) != len(batch):
            raise ValueError(f"{len(made)} outcomes for {len(batch)} cases")
        return made

    made = await _attempt(stage, checked, items) if items else []
    if not isinstance(made, Failure):
        return list(made)
    if len(items) == 1:
        return [made]
    return [(await _attempt_all(stage, work, [item]))[0] for item in items]


def _needs_imap(metrics: Sequence[Metric]) -> bool:
    return any("imap" in metric.requires for metric in metrics)


def _too_long(sample: Sample) -> Failure | None:
    longest = max(map(len, (sample.question, sample.response, *sample.references)))
    if longest <= MAX_CHARACTERS:
        return None
    return Failure(
        "metric",
        "too-long",
        f"a text has {longest} characters, more than the {MAX_CHARACTERS} that are scored; shorten it",
    )


def _chunks(samples: Sequence[Sample]) -> Iterator[Sequence[Sample]]:
    for start in range(0, len(samples), CHUNK):
        yield samples[start : start + CHUNK]
