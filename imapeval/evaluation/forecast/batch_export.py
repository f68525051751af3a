"""What is missing for a run, into the files of a folder of batches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.evaluation.forecast.dry_run import dry_run_samples
from imapeval.llm.dry_run import PENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.evaluation.forecast.dry_run import DryRun
    from imapeval.llm.batch import BatchFile, BatchFolder
    from imapeval.types import Sample

_WITH_FOLLOW_UPS = frozenset({"question-imap", "atomic-facts", "text-questions"})
"""Requests, by the names of their prompts, whose replies have others follow as a rule."""

_WITH_FOLLOW_UPS_ON_IMAPS = frozenset({"answer-inform", "value-relation"})
"""Those that lead to what is asked about imaps."""


@dataclass(slots=True)
class BatchExport:
    """What was handed out.

    Attributes:
        files: The new files of requests.
        waiting: Requests that are in earlier files and have no result yet.
        complete: Samples of which nothing is left to be asked.
        pending: Samples that need requests answered.
        further: Those of them that will ask more once these are answered: answers are read in the light of what the
            question asks, and judged by what was read.
        failed: Samples of which something cannot be read or judged, by kind of failure. What failed by the model's
            fault is asked again.
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
    """Write what is missing of the work on the samples into new files of the folder.

    Args:
        samples: What is to be read and judged.
        work: Over a rehearsal that replies with the folder's failures, and else that a request is pending.
        folder: Where the files go.
        progress: Called with the number of samples done since the last call.

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
