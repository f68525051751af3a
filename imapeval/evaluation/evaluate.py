"""Scores samples by metrics: extraction, matching and scoring in batches; a failure concerns its own sample only."""

from __future__ import annotations

import asyncio
from array import array
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from imapeval.errors import ImapEvalError, UsageError
from imapeval.evaluation.combine import COMBINED_PARTS, References, combine_readings, combine_references
from imapeval.evaluation.extract import extract, find_rejection, guard_sample
from imapeval.evaluation.imap_files import ImapRecord, hash_texts
from imapeval.evaluation.pipeline import Pipeline
from imapeval.evaluation.runs import Result, RunSettings
from imapeval.evaluation.samples.spool import Mapped
from imapeval.evaluation.stores import InMemoryStore, ResultStore
from imapeval.metrics.base import Case, Metric, is_within_range
from imapeval.types import Failure, Imap, Match, Outcome, Sample

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Iterator, Mapping, Sequence

    from imapeval.extraction.protocols import Extractor
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Range

BATCH = 64
"""Samples that are matched and scored together: enough to use the encoder well, few enough to lose little if killed."""

_NO_REFERENCE = Failure(
    "metric",
    "no-reference",
    "the sample has no reference, and this metric compares with one. Fill in the column 'reference' (or 'references'), "
    "or say which column it is with --map reference=<column>.",
)


_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_SampleImaps = tuple[Sample, tuple[Imap, ...] | Failure | None]
"""A sample with its imaps, the reason why there are none, or None if no metric needs them."""

_Records = dict[str, list[list[ImapRecord | Failure]]]
"""Matched imaps or failures by sample id, then by reference, then by reading."""


async def evaluate(
    samples: Sequence[Sample],
    *,
    metrics: Sequence[Metric],
    extractor: Extractor | None = None,
    matcher: Matcher | None = None,
    references: References = "mean",
) -> list[Result]:
    """Score every sample by every metric, and return one result per sample and metric, in the order of `samples`.

    Each reference, and each reading of the texts if there are several, is scored separately; `combine_readings` and
    `combine_references` make one outcome of these. Metrics that need a reference give `Failure("no-reference")` for
    samples without one. If extraction fails, metrics that need imaps give a `Failure` and the others are scored.
    Extraction overlaps with matching and scoring.

    Args:
        samples: Samples with unique ids.
        metrics: Metrics with unique names.
        extractor: Extracts imaps; may be None if no metric requires "imap".
        matcher: Relates values; likewise.
        references: How the scores against several references are combined.

    Raises:
        UsageError: A metric requires imaps and extractor or matcher is None.
        ImapEvalError: Something affects all samples alike, such as a missing extra, a full disk or a server that is
            down.
    """
    store = InMemoryStore()
    await evaluate_to_store(samples, Pipeline(metrics, extractor, matcher), references=references, run=store)
    positions = {sample.id: index for index, sample in enumerate(samples)}
    return sorted(store.results, key=lambda result: positions[result.id])


async def evaluate_to_store(
    samples: Sequence[Sample],
    parts: Pipeline,
    *,
    references: References = "mean",
    run: ResultStore,
    progress: Callable[[int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> None:
    """Score every sample by every metric as `evaluate` does, and store the results as they are made.

    Results that `run` already has are not computed again.

    Args:
        samples: Samples with unique ids.
        parts: Metrics with unique names, and the extractor and the matcher if one of them requires imaps.
        references: How the scores against several references are combined.
        run: Where results are stored.
        progress: Called with the number of samples finished since the last call.
        stop: Once set, no further sample is started.

    Raises:
        UsageError: See `evaluate`.
        ImapEvalError: Likewise. Results finished before are in `run`.
    """
    metrics, matcher = parts.metrics, parts.matcher
    signatures = full_signatures(parts, references)
    pending = PendingMetrics(metrics, signatures, run.finished)
    run.retain_imaps(sample.id for sample in samples if not pending.needs_imap(sample))

    async def score_batch(batch: Sequence[_SampleImaps]) -> None:
        facts = await _match_all(batch, matcher)
        wanting: dict[str, list[Sample]] = {metric.name: [] for metric in metrics}
        for sample, _ in batch:
            for metric in pending.find(sample):
                wanting[metric.name].append(sample)
        scored, error = await _score_all(wanting, metrics, facts, references)
        fresh = [
            Result(sample.id, metric.name, outcome, signatures[metric.name])
            for metric in metrics
            for sample, outcome in zip(wanting[metric.name], scored.get(metric.name, ()), strict=metric.name in scored)
        ]
        found = (record for references in facts.values() for readings in references for record in readings)
        run.add(imaps=[record for record in found if isinstance(record, ImapRecord)], results=fresh)
        if error is not None:
            raise error
        if progress is not None:
            progress(len(batch))

    batch: list[_SampleImaps] = []
    async with aclosing(_extract_all(samples, pending, extractor=parts.extractor, stop=stop)) as items:
        try:
            async for item in items:
                batch.append(item)
                if len(batch) == BATCH:
                    full, batch = batch, []
                    await score_batch(full)
        except ImapEvalError:
            # Imaps extracted before the error were paid for: score them. (A cancelled run does not get here.)
            await score_batch(batch)
            raise
    await score_batch(batch)
    if not (stop is not None and stop.is_set()):
        run.finish()


def full_signatures(parts: Pipeline, references: References = "mean") -> dict[str, str]:
    """Return the full signature by metric name: the metric's own, `references` and, if needed, extractor and matcher.

    Raises:
        UsageError: A metric requires imaps and extractor or matcher is None.
    """
    signatures: dict[str, str] = {}
    for metric in parts.metrics:
        signatures[metric.name] = f"{metric.signature}|references:{references}"
        if "imap" in metric.requires:
            if parts.extractor is None or parts.matcher is None:
                raise UsageError(f"the metric {metric.name!r} needs an extractor and a matcher; give both.")
            signatures[metric.name] += f"|{parts.extractor.signature}|{parts.matcher.signature}"
    return signatures


class PendingMetrics:
    """Which metrics have no final outcome yet, by their full signatures and the finished outcomes' `Result.key`."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        signatures: Mapping[str, str],
        finished: Container[tuple[str, str, str]],
    ) -> None:
        self._metrics = [(metric, signatures[metric.name]) for metric in metrics]
        self._finished = finished

    def find(self, sample: Sample) -> list[Metric]:
        """Return the metrics without a final outcome for a sample."""
        return [
            metric for metric, signature in self._metrics if (sample.id, metric.name, signature) not in self._finished
        ]

    def needs_imap(self, sample: Sample) -> bool:
        """Return whether one of these needs the sample's imap."""
        return any("imap" in metric.requires and _can_score(metric, sample) for metric in self.find(sample))


def make_run_settings(parts: Pipeline, *, references: References = "mean", seed: int) -> RunSettings:
    """Return the settings that decide whether a run can be resumed."""
    return RunSettings(
        metrics=full_signatures(parts, references),
        extractor="" if parts.extractor is None else parts.extractor.signature,
        matcher="" if parts.matcher is None else parts.matcher.signature,
        seed=seed,
        resources=dict(parts.resources),
        ranges=dict(_list_ranges(parts.metrics)),
    )


def _list_ranges(metrics: Sequence[Metric]) -> Iterator[tuple[str, Range]]:
    """Yield the range of each metric, and those of its parts as "METRIC.PART"."""
    for metric in metrics:
        yield metric.name, metric.range
        for part, span in {**COMBINED_PARTS, **metric.part_ranges}.items():
            yield f"{metric.name}.{part}", span


async def _extract_all(
    samples: Sequence[Sample],
    pending: PendingMetrics,
    *,
    extractor: Extractor | None,
    stop: asyncio.Event | None,
) -> AsyncGenerator[_SampleImaps]:
    """Yield the samples that need no imap, then the others as they are extracted."""
    positions = array("Q")
    for position, sample in enumerate(samples):
        if pending.needs_imap(sample):
            positions.append(position)
        elif not (stop is not None and stop.is_set()):
            yield sample, None
    if extractor is not None:
        to_extract = Mapped(positions, samples.__getitem__)
        async with aclosing(extract(to_extract, extractor=extractor, stop=stop)) as items:
            async for item in items:
                yield item


async def _match_all(batch: Sequence[_SampleImaps], matcher: Matcher | None) -> _Records:
    """Return the imaps of a batch with their matches, or the failures."""
    facts: _Records = {}
    pairs: list[tuple[Sample, Imap]] = []
    for sample, imaps in batch:
        if imaps is not None:
            failed = [imaps] if isinstance(imaps, Failure) else []
            facts[sample.id] = [[*failed] for _ in sample.references or ("",)]
            pairs.extend((sample, imap) for imap in (() if isinstance(imaps, Failure) else imaps))
    if matcher is None or not pairs:
        return facts

    async def match(items: Sequence[tuple[Sample, Imap]]) -> list[tuple[Match, ...] | Failure]:
        return await matcher.match(
            [imap for _, imap in items],
            langs=[sample.lang for sample, _ in items],
            questions=[sample.question for sample, _ in items],
        )

    judged = iter(await _guard_batch("matching", match, [pair for pair in pairs if pair[1].reference]))
    for sample, imap in pairs:
        matches = next(judged) if imap.reference else ()
        if isinstance(matches, Failure):
            record = matches
        else:
            record = ImapRecord(sample.id, imap, matches, hash_texts(sample, imap.reference_index))
        facts[sample.id][imap.reference_index].append(record)
    return facts


async def _score_all(
    wanting: Mapping[str, Sequence[Sample]],
    metrics: Sequence[Metric],
    facts: _Records,
    references: References,
) -> tuple[dict[str, list[Outcome]], BaseException | None]:
    """Return the outcomes of each metric that finished, and the error that stopped another one, if any.

    Metrics that call a language model run concurrently; the others run at the same time, one after another, on the
    CPU. No metric loses its outcomes because another one is stopped.
    """

    async def work(some: Sequence[Metric]) -> None:
        for metric in some:
            found[metric.name] = await _score(metric, wanting[metric.name], facts, references)

    found: dict[str, list[Outcome]] = {}
    asking = [metric for metric in metrics if metric.is_async]
    lines = [[metric] for metric in asking] + [[metric for metric in metrics if metric not in asking]]
    ends = await asyncio.gather(*map(work, lines), return_exceptions=True)
    return found, next((end for end in ends if end is not None), None)


async def _score(metric: Metric, samples: Sequence[Sample], facts: _Records, references: References) -> list[Outcome]:
    """Return the metric's outcome for each sample, over readings and references."""
    views = [_make_cases(metric, sample, facts) for sample in samples]
    cases = [case for view in views for readings in view for case in readings if isinstance(case, Case)]

    scored = iter(
        [_check_range(outcome, metric) for outcome in await _guard_batch("metric", metric.ascore_batch, cases)]
    )
    return [
        combine_references(
            [
                combine_readings([next(scored) if isinstance(case, Case) else case for case in readings], metric.range)
                for readings in view
            ],
            sample.references,
            references=references,
            higher_is_better=metric.higher_is_better,
            lang=sample.lang,
        )
        for sample, view in zip(samples, views, strict=True)
    ]


def _check_range(outcome: Outcome, metric: Metric) -> Outcome:
    if isinstance(outcome, Failure):
        return outcome
    parts = [(part, outcome.parts[part], span) for part, span in metric.part_ranges.items() if part in outcome.parts]
    for part, number, span in [("", outcome.value, metric.range), *parts]:
        if not is_within_range(number, span):
            low, high = ("open" if bound is None else f"{bound:g}" for bound in span)
            return Failure(
                "metric",
                "out-of-range",
                f"{metric.name} gave {f'the part {part} ' if part else ''}{number:g}, which is outside its declared "
                f"range ({low} to {high}). Report this to the author of the metric.",
            )
    return outcome


def _make_cases(metric: Metric, sample: Sample, facts: _Records) -> list[list[Case | Failure]]:
    """Return the cases of a sample for a metric, by reference and reading, or why there is none."""
    if refused := find_rejection(sample) or metric.refuse_language(sample.lang):
        return [[refused]]
    if not _can_score(metric, sample):
        return [[_NO_REFERENCE]]
    cases = [
        Case(sample.id, sample.question, reference, sample.response, sample.lang)
        for reference in sample.references or ("",)
    ]
    if "imap" not in metric.requires:
        return [[case] for case in cases]
    return [
        [
            record if isinstance(record, Failure) else replace(case, imap=record.imap, matches=record.matches)
            for record in readings
        ]
        for case, readings in zip(cases, facts[sample.id], strict=True)
    ]


async def _guard_batch(
    stage: str, work: Callable[[Sequence[_Item]], Awaitable[list[_Made]]], items: Sequence[_Item]
) -> list[_Made | Failure]:
    """Do the work on all items together; if that fails, one by one, to find the item that fails."""

    async def checked() -> list[_Made]:
        results = await work(items)
        if len(results) != len(items):
            raise ValueError(f"{len(results)} outcomes for {len(items)} cases")
        return results

    results = await guard_sample(stage, checked()) if items else []
    if not isinstance(results, Failure):
        return list(results)
    if len(items) == 1:
        return [results]
    return [(await _guard_batch(stage, work, [item]))[0] for item in items]


def _can_score(metric: Metric, sample: Sample) -> bool:
    return sample.lang in metric.languages and (bool(sample.references) or "reference" not in metric.requires)
