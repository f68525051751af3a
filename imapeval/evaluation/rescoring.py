"""Scores again the answers of a run whose imaps people have corrected."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, get_args

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.combine import References
from imapeval.evaluation.corrections import CORRECTIONS, Correction, apply_corrections, read_corrections
from imapeval.evaluation.evaluate import evaluate
from imapeval.evaluation.runs.reading import group_by_id
from imapeval.metrics import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Run
    from imapeval.matching.protocol import Matcher
    from imapeval.metrics.base import Metric
    from imapeval.types import Failure, Imap, Lang, Match, Outcome, Sample


@dataclass(frozen=True, slots=True)
class _FixedRecords:
    """An `Extractor` and a `Matcher` that return these imaps and their matches."""

    records: Sequence[ImapRecord]
    signature: str = "corrected"
    concurrency: int = 1

    async def extract(self, sample: Sample) -> tuple[Imap, ...]:
        del sample
        return tuple(record.imap for record in self.records)

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        del langs, questions
        return [next(record.matches or () for record in self.records if record.imap is imap) for imap in imaps]


def find_rescored_metrics(run: Run) -> list[Metric]:
    """Return the metrics of a run that can be computed again from imaps, without a language model, as they were."""
    found: list[Metric] = []
    for name, signature in run.manifest["settings"]["metrics"].items():
        if name not in registry.names():
            continue
        metric = registry.get(name)
        if "imap" in metric.requires and "llm" not in metric.requires and signature.startswith(f"{metric.signature}|"):
            found.append(metric)
    return found


def find_references_option(run: Run) -> References:
    """Return how a run combines the scores against several references."""
    options: tuple[References, ...] = get_args(References)
    signatures = "".join(run.manifest["settings"]["metrics"].values())
    named: list[References] = [option for option in options if f"|references:{option}" in signatures]
    return named[0] if named else "mean"


async def rescore(
    sample: Sample,
    records: Sequence[ImapRecord],
    *,
    metrics: Sequence[Metric],
    references: References,
) -> dict[str, Outcome]:
    """Score a sample by its corrected imaps, and return the outcomes by metric.

    Args:
        sample: The sample.
        records: All of its imaps: of every reference and reading.
        metrics: From `find_rescored_metrics`.
        references: From `find_references_option`.
    """
    fixed = _FixedRecords(records)
    results = await evaluate([sample], metrics=metrics, extractor=fixed, matcher=fixed, references=references)
    return {result.metric: result.outcome for result in results}


async def correct_run(run: Run, matcher: Matcher) -> dict[str, tuple[list[ImapRecord], dict[str, Outcome]]]:
    """Return the imaps and new outcomes of every sample of a run that has corrections, by id.

    Raises:
        InputError: A file of the run is broken, or a correction does not fit its imap.
        ImapEvalError: The matcher failed.
    """
    path = run.folder / CORRECTIONS
    lines: dict[tuple[str, int, int], dict[Correction, int]] = {}
    for correction, number in read_corrections(run.folder).items():
        lines.setdefault(correction.key, {})[correction] = number
    ids = {id_ for id_, _, _ in lines}
    samples = {sample.id: sample for sample in run.open_samples() if sample.id in ids}
    records = group_by_id(run.find_imaps(ids))
    known = {record.key for record in chain.from_iterable(records.values())}
    if unknown := next((key for key in lines if key not in known or key[0] not in samples), None):
        raise InputError(
            f"the run has no such imap of {unknown[0][:60]!r}",
            path=path,
            line=min(lines[unknown].values()),
            fix="Remove the line, or give the run that was corrected.",
        )
    metrics, references = find_rescored_metrics(run), find_references_option(run)
    corrected: dict[str, tuple[list[ImapRecord], dict[str, Outcome]]] = {}
    for id_ in samples:
        corrected_records: list[ImapRecord] = []
        for record in records.get(id_, []):
            of_imap = lines.get(record.key, {})
            changes = [correction.change for correction in of_imap]
            try:
                corrected_records.append(await apply_corrections(record, changes, sample=samples[id_], matcher=matcher))
            except UsageError as error:
                numbers = ", ".join(map(str, of_imap.values()))
                raise InputError(
                    f"a correction of {id_[:60]!r} (lines: {numbers}) does not fit: {str(error).removesuffix('.')}",
                    path=path,
                    fix="Remove it, or reset the corrections of that answer.",
                ) from error
        outcomes = await rescore(samples[id_], corrected_records, metrics=metrics, references=references)
        corrected[id_] = corrected_records, outcomes
    return corrected
