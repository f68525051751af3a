"""Samples x metrics: extraction, matching and scoring in batches, with every failure kept to its sample."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from imapeval.errors import ImapEvalError, UsageError
from imapeval.extracting import attempt, extract, too_long
from imapeval.imapfile import ImapRecord
from imapeval.metrics.base import Asking, Case, Metric
from imapeval.runs import Result, Settings
from imapeval.types import Failure, Imap, Match, Outcome, Sample, Score

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence

    from imapeval.extraction.extractor import Extractor
    from imapeval.matching.matcher import Matcher

BATCH = 64
"""Samples that are matched and scored together: enough for the encoder, few enough to lose little when killed."""

_NO_REFERENCE = Failure(
    "metric",
    "no-reference",
    "the sample has no reference, and this metric compares with one. Fill in the column 'reference' (or 'references'), "
    "or say which column it is with --map reference=<column>.",
)


class Keeper(Protocol):
    """Where a run is kept: on disk (`imapeval.runs.RunWriter`), or in memory.

    Attributes:
        finished: Final outcomes that are already there, by `Result.key`.
    """

    @property
    def finished(self) -> Mapping[tuple[str, str, str], Result]: ...

    def keep_imaps(self, ids: Iterable[str]) -> None:
        """Drop the imaps of all other samples: they are about to be made again. Called before `add`."""
        ...

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Keep imaps and results."""
        ...

    def finish(self) -> None:
        """Note that everything is done."""
        ...


_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_Read = tuple[Sample, tuple[Imap, ...] | Failure | None]
"""A sample with its imaps, why there are none, or None where no metric needs them."""


async def evaluate(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[Metric],
    extractor: Extractor | None = None,
    matcher: Matcher | None = None,
    run: Keeper | None = None,
    progress: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> list[Result]:
    """Score every sample by every metric.

    Where a sample has several references each is scored, the best outcome counts, and `parts["reference"]` is its
    index; where it has none, the metrics that need one are `Failure("no-reference")`, and no imap is made for them.
    Where the extractor fails, the metrics that need imaps are a `Failure` and the others are scored. Where texts were
    read several times, `parts["stability"]` of these metrics is the imap's. What `run` already holds is not computed
    again. Texts are read while others are being matched and scored.

    Args:
        samples: With unique ids.
        metrics: With unique names.
        extractor: Makes imaps; may be None where no metric requires "imap".
        matcher: Judges values; likewise.
        run: Where to write; None keeps the results in memory only.
        progress: Called with the number of samples done since the last call.
        stop: Once it is set no further sample is begun, and the results are of those that were.

    Returns:
        One result per sample and metric, those that `run` already held first, the others in the order of the samples.

    Raises:
        UsageError: A metric requires imaps and extractor or matcher is None.
        ImapEvalError: Something that concerns all samples alike, such as a missing extra, a full disk or a server that
            is down. What was finished before is in `run`.
    """
    signatures = sign(metrics, extractor=extractor, matcher=matcher)
    finished: Mapping[tuple[str, str, str], Result] = {} if run is None else run.finished
    pending = {
        sample.id: [m for m in metrics if (sample.id, m.name, signatures[m.name]) not in finished] for sample in samples
    }
    reading = [sample for sample in samples if _needs_imap(pending[sample.id], sample)]
    if run is not None:
        run.keep_imaps(pending.keys() - {sample.id for sample in reading})
    made: list[Result] = []

    async def settle_batch(batch: Sequence[_Read]) -> None:
        facts = await _find_facts(batch, matcher)
        wanting = {metric.name: [s for s, _ in batch if metric in pending[s.id]] for metric in metrics}
        scored, error = await _score_all(wanting, metrics, facts)
        fresh = [
            Result(sample.id, metric.name, outcome, signatures[metric.name])
            for metric in metrics
            for sample, outcome in zip(wanting[metric.name], scored.get(metric.name, ()), strict=metric.name in scored)
        ]
        if run is not None:
            records = [record for found in facts.values() for record in found if isinstance(record, ImapRecord)]
            run.add(imaps=records, results=fresh)
        made.extend(fresh)
        if error is not None:
            raise error
        if progress is not None:
            progress(len(batch))

    batch: list[_Read] = []
    async with aclosing(_read_all(samples, reading, extractor=extractor, stop=stop)) as items:
        try:
            async for item in items:
                batch.append(item)
                if len(batch) == BATCH:
                    full, batch = batch, []
                    await settle_batch(full)
        except ImapEvalError:
            # What was read before the reading ended was paid for. Who cancels does not want to wait for it.
            await settle_batch(batch)
            raise
    await settle_batch(batch)
    if run is not None and not (stop is not None and stop.is_set()):
        run.finish()
    place = {sample.id: index for index, sample in enumerate(samples)}
    return [*finished.values(), *sorted(made, key=lambda result: place[result.id])]


def score(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[Metric],
    extractor: Extractor | None = None,
    matcher: Matcher | None = None,
    run: Keeper | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Result]:
    """Score every sample by every metric, from code that is not asynchronous. See `evaluate`.

    Raises:
        UsageError: An event loop is running in this thread; use `await evaluate(...)` there.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(
            evaluate(samples, metrics=metrics, extractor=extractor, matcher=matcher, run=run, progress=progress)
        )
    raise UsageError("score() was called inside a running event loop. Use `await evaluate(...)` there.")


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


async def _read_all(
    samples: Sequence[Sample],
    reading: Sequence[Sample],
    *,
    extractor: Extractor | None,
    stop: asyncio.Event | None,
) -> AsyncGenerator[_Read]:
    """Yield the samples of which no imap is needed, then the others as they are read."""
    needed = {sample.id for sample in reading}
    for sample in samples:
        if sample.id not in needed and not (stop is not None and stop.is_set()):
            yield sample, None
    if extractor is not None:
        async with aclosing(extract(reading, extractor=extractor, stop=stop)) as items:
            async for item in items:
                yield item


async def _find_facts(batch: Sequence[_Read], matcher: Matcher | None) -> dict[str, list[ImapRecord | Failure]]:
    """Return for each sample that was read what is known about each of its references."""
    facts: dict[str, list[ImapRecord | Failure]] = {}
    pairs: list[tuple[Sample, Imap]] = []
    for sample, imaps in batch:
        if isinstance(imaps, Failure):
            facts[sample.id] = [imaps] * max(1, len(sample.references))
        elif imaps is not None:
            facts[sample.id] = []
            pairs.extend((sample, imap) for imap in imaps)
    if matcher is None or not pairs:
        return facts

    async def match(items: Sequence[tuple[Sample, Imap]]) -> list[tuple[Match, ...] | Failure]:
        return await matcher.match([imap for _, imap in items], langs=[sample.lang for sample, _ in items])

    judged = iter(await _attempt_all("matching", match, [pair for pair in pairs if pair[1].reference]))
    for sample, imap in pairs:
        matches = next(judged) if imap.reference else ()
        facts[sample.id].append(matches if isinstance(matches, Failure) else ImapRecord(sample.id, imap, matches))
    return facts


async def _score_all(
    wanting: Mapping[str, Sequence[Sample]],
    metrics: Sequence[Metric],
    facts: Mapping[str, Sequence[ImapRecord | Failure]],
) -> tuple[dict[str, list[Outcome]], BaseException | None]:
    """Return the outcomes of each metric that got through, and what stopped another one, if anything did.

    Metrics that wait for a language model wait together, while the others have the processor, one after the other. None
    of them loses its work because another is stopped.
    """

    async def work(some: Sequence[Metric]) -> None:
        for metric in some:
            found[metric.name] = await _score(metric, wanting[metric.name], facts)

    found: dict[str, list[Outcome]] = {}
    asking = [metric for metric in metrics if isinstance(metric, Asking)]
    lines = [[metric] for metric in asking] + [[metric for metric in metrics if metric not in asking]]
    ends = await asyncio.gather(*map(work, lines), return_exceptions=True)
    return found, next((end for end in ends if end is not None), None)


async def _score(
    metric: Metric, samples: Sequence[Sample], facts: Mapping[str, Sequence[ImapRecord | Failure]]
) -> list[Outcome]:
    """Return the metric's best outcome over the references of each sample."""
    views = {sample.id: _view(metric, sample, facts) for sample in samples}
    cases = [case for view in views.values() for case in view if isinstance(case, Case)]

    def compute(batch: Sequence[Case]) -> list[Outcome]:
        try:
            return metric.score(batch)
        except StopIteration as error:
            # Which no future can carry out of a thread: who waits for it would wait for ever.
            raise RuntimeError(f"StopIteration in {metric.name}") from error

    async def work(batch: Sequence[Case]) -> list[Outcome]:
        if isinstance(metric, Asking):
            return await metric.ask(batch)
        return await asyncio.to_thread(compute, batch)

    scored = map(_note_stability, await _attempt_all("metric", work, cases), cases)
    return [
        _best(
            [next(scored) if isinstance(case, Case) else case for case in views[sample.id]],
            higher_is_better=metric.higher_is_better,
        )
        for sample in samples
    ]


def _view(metric: Metric, sample: Sample, facts: Mapping[str, Sequence[ImapRecord | Failure]]) -> list[Case | Failure]:
    """Return what the metric is shown for each reference, or why it cannot be shown anything."""
    if refused := too_long(sample):
        return [refused]
    if not _can_score(metric, sample):
        return [_NO_REFERENCE]
    view: list[Case | Failure] = []
    for index, reference in enumerate(sample.references or ("",)):
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


async def _attempt_all(
    stage: str, work: Callable[[Sequence[_Item]], Awaitable[list[_Made]]], items: Sequence[_Item]
) -> list[_Made | Failure]:
    """Do the work on all samples at once; where that fails, one by one, to find the one at fault."""

    async def checked() -> list[_Made]:
        made = await work(items)
        if len(made) != len(items):
            raise ValueError(f"{len(made)} outcomes for {len(items)} cases")
        return made

    made = await attempt(stage, checked()) if items else []
    if not isinstance(made, Failure):
        return list(made)
    if len(items) == 1:
        return [made]
    return [(await _attempt_all(stage, work, [item]))[0] for item in items]


def _note_stability(outcome: Outcome, case: Case) -> Outcome:
    if isinstance(outcome, Failure) or case.imap is None or case.imap.stability is None:
        return outcome
    return replace(outcome, parts={**outcome.parts, "stability": case.imap.stability})


def _can_score(metric: Metric, sample: Sample) -> bool:
    return bool(sample.references) or "reference" not in metric.requires


def _needs_imap(metrics: Sequence[Metric], sample: Sample) -> bool:
    return any("imap" in metric.requires and _can_score(metric, sample) for metric in metrics)
