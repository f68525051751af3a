"""A run over a `DryRunModel`, sample by sample: the requests, and which of them follow from simulated replies."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.evaluation.evaluate import evaluate
from imapeval.evaluation.extract import guard_sample, refuse_reading
from imapeval.evaluation.pipeline import open_extractor, open_graph, open_matcher
from imapeval.graph.encoder import open_encoder
from imapeval.llm.dry_run import PENDING
from imapeval.metrics import imapscore
from imapeval.metrics.base import MetricResources
from imapeval.metrics.registry import select_llm_metrics
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.pipeline import LlmSettings
    from imapeval.extraction.protocols import Extractor
    from imapeval.llm.batch import BatchFile, BatchFolder
    from imapeval.llm.dry_run import DryRunModel, RecordedRequest
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Metric
    from imapeval.types import Imap, Sample

_DEPENDS_ON: Mapping[str, frozenset[str]] = {
    "fact-support": frozenset({"atomic-facts"}),
    "text-answers": frozenset({"text-questions"}),
    "answer-overlap": frozenset({"text-questions", "text-answers"}),
}
"""Requests whose number depends on the replies to others, by the names of their prompts."""


_WITH_FOLLOW_UPS = frozenset({"question-imap", "atomic-facts", "text-questions"})
"""Requests, by the names of their prompts, whose replies usually lead to further requests."""

_WITH_FOLLOW_UPS_ON_IMAPS = frozenset({"answer-inform", "value-relation"})
"""Likewise, where imaps are related."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The parts of a run that use a language model, with a `DryRunModel` in its place.

    Attributes:
        model: Stands in for the language model.
        extractor: Extracts imaps; None if none are needed.
        matcher: Relates values; None if no request depends on that.
        metrics: Metrics that use the model; with `--relations llm` also one that makes the matcher relate values.
        reads_all: Whether imaps of samples without a reference are extracted as well.
    """

    model: DryRunModel
    extractor: Extractor | None
    matcher: Matcher | None
    metrics: tuple[Metric, ...]
    reads_all: bool


@dataclass(frozen=True, slots=True)
class SampleDryRun:
    """The dry run of one sample.

    Attributes:
        asked: The requests in order, except those whose replies the extractor remembers from an earlier sample.
        supposed: Those of them that may not occur, because they follow from a simulated reply.
        failure: Why a metric has no score; None if all have one. Its kind is "pending" if a request has yet to be
            answered.
    """

    asked: tuple[RecordedRequest, ...]
    supposed: tuple[RecordedRequest, ...]
    failure: Failure | None


def require_batchable(metrics: Sequence[Metric]) -> None:
    """Check that the requests of the metrics can be written to batch files.

    Raises:
        UsageError: A metric needs the probabilities of given texts, which batches do not provide.
    """
    for metric in metrics:
        if "logprobs" in metric.requires and "llm" not in metric.requires:
            raise UsageError(
                f"the metric {metric.name!r} cannot be put into batches: it needs the probabilities of given texts, "
                "which neither OpenAI's Batch API nor vllm run-batch provides. Score it in a separate run."
            )


def open_dry_run(
    settings: LlmSettings,
    model: DryRunModel,
    *,
    metrics: Sequence[Metric] | None = None,
    imaps: Path | None = None,
    kg: Path | None = None,
    encoder: str = "use",
    progress: Callable[[int, int], None] | None = None,
) -> DryRun:
    """Open the parts that a run with these settings would use.

    Args:
        settings: The model and how it is used.
        model: Stands in for the model.
        metrics: The metrics of the run; None for extraction only, of all samples.
        imaps: A file of recorded imaps; None to extract them.
        kg: A compiled graph; None for the shipped one.
        encoder: See `open_matcher`.
        progress: Likewise.

    Raises:
        ImapEvalError: See `imapeval.evaluation.pipeline`.
    """
    on_imaps = [metric for metric in metrics or () if "imap" in metric.requires]
    asking = select_llm_metrics(metrics or ())
    opened = open_encoder(encoder) if any("encoder" in metric.requires for metric in asking) else None
    resources = MetricResources(llm=model, encoder=opened, votes=settings.votes)
    asking = [metric.prepare(resources) for metric in asking]
    if metrics is not None and not on_imaps:
        return DryRun(model, None, None, tuple(asking), reads_all=False)
    reads_all = metrics is None or any("reference" not in metric.requires for metric in on_imaps)
    graph = open_graph(kg)
    extractor = open_extractor(graph, imaps=imaps, llm=model, votes=settings.votes)
    if settings.relations:
        # It sends no requests itself, but makes the matcher relate all values.
        asking += imapscore.build()[:1]
    if not any("imap" in metric.requires for metric in asking):
        return DryRun(model, extractor, None, tuple(asking), reads_all)
    relating = model if settings.relations else None
    matcher = open_matcher(graph, encoder=opened or encoder, llm=relating, progress=progress)
    return DryRun(model, extractor, matcher, tuple(asking), reads_all)


async def dry_run_samples(samples: Sequence[Sample], work: DryRun) -> AsyncIterator[SampleDryRun]:
    """Yield the dry run of each sample, one after the other.

    Raises:
        ImapEvalError: Something affects all samples alike.
    """
    on_texts = [metric for metric in work.metrics if "imap" not in metric.requires]
    on_imaps = [metric for metric in work.metrics if "imap" in metric.requires]
    for sample in samples:
        asked = work.model.recorded = list["RecordedRequest"]()
        extracted: tuple[Imap, ...] | Failure | None = None
        if work.extractor is not None and (sample.references or work.reads_all):
            extracted = refuse_reading(sample) or await guard_sample("extraction", work.extractor.extract(sample))
            await _await_pending_tasks()
        read_end = len(asked)
        failures = [extracted] if isinstance(extracted, Failure) else []
        failures += await _score_sample(sample, on_texts, work)
        texts_end = len(asked)
        if not isinstance(extracted, Failure):
            failures += await _score_sample(sample, on_imaps, work)
        supposed = _find_hypothetical(asked[read_end:texts_end])
        about_imaps = asked[texts_end:]
        # Whether there are requests about imaps depends on everything that was extracted.
        supposed += about_imaps if any(map(_is_simulated, asked[:read_end])) else _find_hypothetical(about_imaps)
        pending = (failure for failure in failures if failure.kind == PENDING)
        yield SampleDryRun(tuple(asked), tuple(supposed), next(pending, next(iter(failures), None)))


@dataclass(slots=True)
class BatchExport:
    """The result of `export_missing`.

    Attributes:
        files: The new files of requests.
        waiting: Number of requests in earlier files that have no result yet.
        complete: Number of samples without open requests.
        pending: Number of samples with open requests.
        further: Number of those that will need more requests later, because the requests for an answer depend on the
            question's imap, and those of judges on the imaps.
        failed: Number of samples that cannot be scored, by kind of failure. Requests that failed at the model are
            exported again.
    """

    files: list[BatchFile] = field(default_factory=list["BatchFile"])
    waiting: int = 0
    complete: int = 0
    pending: int = 0
    further: int = 0
    failed: Counter[str] = field(default_factory=Counter[str])


async def export_missing(
    samples: Sequence[Sample],
    work: DryRun,
    *,
    folder: BatchFolder,
    progress: Callable[[int], None] | None = None,
) -> BatchExport:
    """Write the requests whose results are missing to new files of the folder.

    Args:
        samples: The samples.
        work: A dry run whose model replies with the failures in the folder, or else that a request is pending.
        folder: Where the files go.
        progress: Called with the number of samples finished since the last call.

    Raises:
        ResourceError: The folder cannot be written.
    """
    exported = BatchExport()
    leading = _WITH_FOLLOW_UPS if work.matcher is None else _WITH_FOLLOW_UPS | _WITH_FOLLOW_UPS_ON_IMAPS
    with folder.open_writer() as writer:
        async for done in dry_run_samples(samples, work):
            pending = [asked.request for asked in done.asked if asked.error and asked.error.kind == PENDING]
            for request in pending:
                writer.add(request)
            if done.failure is None:
                exported.complete += 1
            elif done.failure.kind == PENDING:
                exported.pending += 1
                exported.further += any(request.schema_name in leading for request in pending)
            else:
                exported.failed[done.failure.kind] += 1
                for asked in done.asked:
                    if asked.error:
                        writer.add(asked.request)
            if progress is not None:
                progress(1)
    exported.files, exported.waiting = writer.files, writer.waiting
    return exported


async def _score_sample(sample: Sample, metrics: Sequence[Metric], work: DryRun) -> list[Failure]:
    if not metrics:
        return []
    results = await evaluate([sample], metrics=metrics, extractor=work.extractor, matcher=work.matcher)
    await _await_pending_tasks()
    return [result.outcome for result in results if isinstance(result.outcome, Failure)]


async def _await_pending_tasks() -> None:
    """Wait for pending tasks: if one text fails its sample early, the others have yet to send their requests."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(others)


def _find_hypothetical(asked: Sequence[RecordedRequest]) -> list[RecordedRequest]:
    made_up = {recorded.request.schema_name for recorded in asked if _is_simulated(recorded)}
    return [recorded for recorded in asked if not made_up.isdisjoint(_DEPENDS_ON.get(recorded.request.schema_name, ()))]


def _is_simulated(asked: RecordedRequest) -> bool:
    return asked.completion is None and asked.error is None
