"""The means of a run: a row per metric, and per metric and system if there are several systems."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING

from imapeval.evaluation.samples import system_label
from imapeval.metrics import registry
from imapeval.study.bootstrap import mean_interval
from imapeval.study.number_format import format_score
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.runs import Result
    from imapeval.types import Sample


CONTRADICTIONS_METRIC = "imapscore"
"""The metric whose scores have a part `contradictions`."""

UNNAMED_SYSTEM = "(no system)"
"""Label of answers without a system; "" stands for all systems together."""


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Scores of one metric for one system, or for all of them.

    Attributes:
        metric: The metric's name.
        system: From `label_system`; "" for all systems together.
        n: Samples with a score.
        failed: Samples without one.
        mean: Mean of the scores; None without any.
        low, high: Ends of the 95% bootstrap interval of the mean, with samples on the same question resampled
            together; None if there is only one question.
        contradictions: Facts of the scored answers that contradict their reference, summed over the answers; for
            several references or readings, an answer's number is combined like its score. None if the metric does
            not count them, or scored nothing.
        corpus: The metric of all scored answers together (`Metric.score_corpus`); None if it has none.
    """

    metric: str
    system: str
    n: int
    failed: int
    mean: float | None
    low: float | None
    high: float | None
    contradictions: float | None = None
    corpus: float | None = None


def summarise(
    samples: Sequence[Sample], results: Sequence[Result], *, metrics: Sequence[str], seed: int
) -> list[SummaryRow]:
    """Return for each metric a row for all systems together and, if there are several, a row for each."""
    sample_by_id = {sample.id: sample for sample in samples}
    by_metric: dict[str, list[Result]] = {}
    for result in results:
        by_metric.setdefault(result.metric, []).append(result)
    systems = dict.fromkeys(map(label_system, samples))
    rows: list[SummaryRow] = []
    for metric in metrics:
        found = by_metric.get(metric, [])
        rows.append(_summarise_group(metric, "", found, sample_by_id, seed))
        for system in systems if len(systems) > 1 else ():
            theirs = [result for result in found if label_system(sample_by_id[result.id]) == system]
            rows.append(_summarise_group(metric, system, theirs, sample_by_id, seed))
    return rows


def label_system(sample: Sample) -> str:
    """Return the system that a sample counts for."""
    return system_label(sample) or UNNAMED_SYSTEM


def describe_mean(row: SummaryRow) -> str:
    """Return what a mean is, such as "mean of sentence BLEU; corpus BLEU: 12.3", or "" if its name says so."""
    mean_of = next((known.mean_of for known in registry.all_metrics() if known.name == row.metric), "")
    if not mean_of:
        return ""
    corpus = "" if row.corpus is None else f"; {mean_of.replace('sentence', 'corpus')}: {format_score(row.corpus)}"
    return f"mean of {mean_of}{corpus}"


def format_contradictions(contradictions: float | None) -> str:
    """Format a number of contradictions, which is not whole if readings or references of an answer differ."""
    return "–" if contradictions is None else f"{contradictions:.2f}".rstrip("0").rstrip(".")


def _summarise_group(
    metric: str, system: str, results: Sequence[Result], sample_by_id: dict[str, Sample], seed: int
) -> SummaryRow:
    scored = [(r.outcome.value, sample_by_id[r.id].question) for r in results if isinstance(r.outcome, Score)]
    values, questions = [value for value, _ in scored], [question for _, question in scored]
    known = next((known for known in registry.all_metrics() if known.name == metric), None)
    bounds = (None, None) if known is None else known.range
    interval = mean_interval(values, seed=seed, clusters=questions, bounds=bounds)
    together = [sample_by_id[r.id] for r in results if isinstance(r.outcome, Score)]
    return SummaryRow(
        metric,
        system,
        len(scored),
        len(results) - len(scored),
        fmean(values) if values else None,
        None if interval is None else interval.low,
        None if interval is None else interval.high,
        _count_contradictions(results) if metric == CONTRADICTIONS_METRIC else None,
        known.score_corpus(together) if known is not None and together else None,
    )


def _count_contradictions(results: Sequence[Result]) -> float | None:
    parts = [result.outcome.parts for result in results if isinstance(result.outcome, Score)]
    # Earlier versions did not count them.
    if not parts or any("contradictions" not in of_one for of_one in parts):
        return None
    # Rounded so that a third and two thirds make one.
    return round(fsum(of_one["contradictions"] for of_one in parts), 6)
