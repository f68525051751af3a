"""The means of a run: a row per metric, and per metric and system if there are several systems."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from imapeval.evaluation.runs.outcomes import Outcomes
from imapeval.evaluation.samples import index_samples, name_system_group
from imapeval.evaluation.samples.spool import Mapped
from imapeval.metrics import registry
from imapeval.metrics.base import Metric
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import has_share_interval, mean_interval
from imapeval.study.number_format import format_interval, format_score, write_score
from imapeval.text.identity import identify_question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from imapeval.evaluation.runs import Result
    from imapeval.evaluation.runs.outcomes import MetricOutcomes
    from imapeval.metrics.base import Range
    from imapeval.types import Sample


CONTRADICTIONS_METRIC = "imapscore"
"""The metric whose scores have a part `contradictions`."""


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """Scores of one metric for one system, or for all of them.

    Attributes:
        system: From `name_system_group`; "" for all systems together.
        n: Samples with a score.
        failed: Samples without one.
        mean: Mean of the scores; None without any.
        low, high: Ends of the 95% bootstrap interval of the mean, with samples on the same question resampled
            together; None if there is only one question.
        contradictions: Facts of the scored answers that contradict their reference, summed over the answers; for
            several references or readings, an answer's number is combined like its score. None if the metric does
            not count them, or scored nothing.
        corpus: The metric of all scored answers together (`Metric.score_corpus`); None if it has none.
        resampled: Questions that the interval resamples; 0 if it is that of a share, or there is none.
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
    resampled: int = 0


def hash_questions(samples: Sequence[Sample]) -> npt.NDArray[np.int64]:
    """Return a hash of 64 bits per question: two of a million questions share one with 1 in 10^7.

    The texts of millions of questions would not fit into memory.
    """
    return np.fromiter((hash(identify_question(sample.question)) for sample in samples), dtype=np.int64)


def summarise(
    samples: Sequence[Sample],
    results: Iterable[Result] | Outcomes,
    *,
    metrics: Sequence[str],
    ranges: Mapping[str, Range],
    seed: int,
) -> list[SummaryRow]:
    """Return for each metric a row for all systems together and, if there are several, a row for each.

    `ranges` are those of the run (`RunSettings.ranges`): they depend on the options of the metrics, which the registry
    does not know; a metric that is not among them has that of the registry.
    """
    outcomes = results if isinstance(results, Outcomes) else Outcomes(results, metrics, index_samples(samples))
    systems: dict[str, int] = {}
    system = np.fromiter(
        (systems.setdefault(name_system_group(sample), len(systems)) for sample in samples), dtype=np.int64
    )
    question = hash_questions(samples)
    rows: list[SummaryRow] = []
    for metric in metrics:
        found, known = outcomes.by_metric[metric], _find_metric(metric)
        bounds = ranges.get(metric, (None, None) if known is None else known.range)
        positions = np.asarray(found.positions, dtype=np.int64)
        for name, number in {"": None, **(systems if len(systems) > 1 else {})}.items():
            chosen = np.ones(len(positions), dtype=bool) if number is None else system[positions] == number
            rows.append(_summarise_group(metric, name, known, bounds, found, chosen, question, samples, seed))
    return rows


def describe_mean(row: SummaryRow) -> str:
    """Return what a mean is, such as "mean of sentence BLEU; corpus BLEU: 12.3", or "" if its name says so."""
    known = _find_metric(row.metric)
    mean_of = "" if known is None else known.mean_of
    if not mean_of:
        return ""
    corpus = "" if row.corpus is None else f"; {mean_of.replace('sentence', 'corpus')}: {format_score(row.corpus)}"
    return f"mean of {mean_of}{corpus}"


def format_mean_interval(
    low: float | None, high: float | None, *, write: Callable[[float, int], str] = write_score
) -> str:
    """Format the ends of the interval of a mean; "–" where there is none."""
    if low is None or high is None:
        return "–"
    return format_interval(low, high, digits=3, between=" to ", write=write)


def format_contradictions(contradictions: float | None) -> str:
    """Format a number of contradictions, which is not whole if readings or references of an answer differ."""
    return "–" if contradictions is None else f"{contradictions:.2f}".rstrip("0").rstrip(".")


def _find_metric(name: str) -> Metric | None:
    return next((known for known in registry.all_metrics() if known.name == name), None)


def _summarise_group(
    metric: str,
    system: str,
    known: Metric | None,
    bounds: Range,
    found: MetricOutcomes,
    chosen: npt.NDArray[np.bool_],
    question: npt.NDArray[np.int64],
    samples: Sequence[Sample],
    seed: int,
) -> SummaryRow:
    """Summarise the chosen outcomes of a metric; `question` has the question of each sample as a number."""
    values = np.asarray(found.values, dtype=np.float64)
    scored = chosen & ~np.isnan(values)
    positions = np.asarray(found.positions, dtype=np.int64)[scored]
    values = values[scored]
    interval = mean_interval(values, seed=seed, clusters=question[positions], bounds=bounds)
    return SummaryRow(
        metric,
        system,
        len(values),
        int(chosen.sum()) - len(values),
        fmean(values) if len(values) else None,
        *ends_of(interval),
        _count_contradictions(found, scored) if metric == CONTRADICTIONS_METRIC else None,
        _score_corpus(known, positions, samples),
        0 if interval is None or has_share_interval(values) else len(np.unique(question[positions])),
    )


def _score_corpus(metric: Metric | None, positions: npt.NDArray[np.int64], samples: Sequence[Sample]) -> float | None:
    if metric is None or not len(positions) or type(metric).score_corpus is Metric.score_corpus:
        return None
    return metric.score_corpus(Mapped(positions.data, samples.__getitem__))


def _count_contradictions(found: MetricOutcomes, scored: npt.NDArray[np.bool_]) -> float | None:
    counts = np.asarray(found.parts.get("contradictions", ()), dtype=np.float64)
    # Earlier versions did not count them.
    if not scored.any() or not len(counts) or np.isnan(counts[scored]).any():
        return None
    # Rounded so that a third and two thirds make one.
    return round(fsum(counts[scored]), 6)
