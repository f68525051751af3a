"""The open-ended metrics of the CareQA paper on items that were also asked with options.

Arias-Duart et al. 2025 ("Automatic Evaluation of Healthcare LLMs Beyond Question-Answering", NAACL) compare eleven
metrics of open answers, cluster them by their correlations, see how far they move when answers are reworded, and
propose a twelfth, Relaxed Perplexity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.study.closed.open_questions import correlate_forms, count_forms, join_open_answers, rank_forms
from imapeval.study.correlation.metric_matrix import correlate_metrics
from imapeval.study.data.joining import find_lower_is_better
from imapeval.study.data.rated import choose_names
from imapeval.study.robustness.measures import measure_robustness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.runs import Run
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.closed.open_questions import FormCounts
    from imapeval.study.correlation.metric_matrix import MetricMatrix
    from imapeval.study.data.findings import Correlation
    from imapeval.study.robustness.measures import Robustness
    from imapeval.study.systems.ranking import Standing

_WEIGHTS = "with pip install 'imapeval[neural]' (docs/neural.md)"
_OWN_MODEL = "--set {name}.model=FOLDER, for each model with its own weights (docs/likelihood.md)"

PAPER_METRICS = {
    "rouge1": "",
    "rouge2": "",
    "rougeL": "",
    "bleu": "",
    "bertscore": _WEIGHTS,
    "bleurt": _WEIGHTS,
    "moverscore": _WEIGHTS,
    "prometheus": "--llm JUDGE (docs/judges.md)",
    "perplexity": _OWN_MODEL,
    "byte-perplexity": _OWN_MODEL,
    "bits-per-byte": _OWN_MODEL,
    "relaxed-perplexity": _OWN_MODEL,
}
"""The paper's eleven metrics (its Table 1; `perplexity` is its word perplexity) and Relaxed Perplexity, and what
`imapeval score` needs for each."""


def score_command(metric: str) -> str:
    """Return the command that computes a metric of the paper."""
    return f"imapeval score --metrics {metric} {PAPER_METRICS[metric].format(name=metric)}".strip()


CLUSTER_CORRELATION = 0.5
"""Minimum mean absolute correlation (average linkage) within a cluster of metrics. The value is our choice; the paper
identifies its clusters by eye."""


@dataclass(frozen=True, slots=True)
class OpenFindings:
    """Findings about open answers to closed items.

    Attributes:
        metric: The metric that `forms` counts by.
        threshold: Score by that metric from which an open answer counts as right, or up to which if low scores are
            good.
        correlations: Correlations of every metric with the right choice.
        forms: Counts of right answers in either form, by model.
        leaderboards: Models by right choices and by each metric, on the same items.
        matrix: Correlations among the metrics; None with fewer than two.
        clusters: Metrics that rank the answers alike, in the order of the matrix.
        robustness: How far scores move when an answer is reworded or an item answered again.
        missing: Metrics of the paper that the runs lack.
    """

    metric: str
    threshold: float
    correlations: tuple[Correlation, ...]
    forms: tuple[FormCounts, ...]
    leaderboards: tuple[Standing, ...]
    matrix: MetricMatrix | None
    clusters: tuple[tuple[str, ...], ...]
    robustness: tuple[Robustness, ...]
    missing: tuple[str, ...]

    def describe_threshold(self) -> str:
        """Return which scores count as right, such as "imapscore from 0.5 on"."""
        if self.metric in find_lower_is_better([self.metric]):
            return f"{self.metric} up to {self.threshold:g}"
        return f"{self.metric} from {self.threshold:g} on"


def analyse_open_answers(
    answers: Sequence[ClosedAnswer],
    runs: Sequence[Run],
    *,
    metric: str,
    threshold: float = 0.5,
    item_column: str | None = None,
    seed: int = 0,
) -> OpenFindings:
    """Relate all metrics of open answers to the choices of the same models on the same items.

    Args:
        answers: Answers to the closed form.
        runs: Runs with answers to the open form; see `join_open_answers`.
        metric: The metric that decides whether an open answer is right.
        threshold: Score from which an open answer counts as right, or up to which if low scores are good.
        item_column: Column of the open data that has the closed item's id; None takes the answers' ids.
        seed: Random seed of intervals and permutations.

    Raises:
        UsageError: The runs have no such metric or column, or nothing can be joined.
        InputError: Runs contradict each other.
        MissingExtraError: scipy is not installed, which clusters of metrics need.
    """
    opened = join_open_answers(answers, runs, item_column=item_column)
    rated = opened.rated
    choose_names("metric", [metric], rated.metrics)
    matrix = correlate_metrics(rated) if len(rated.metrics) > 1 else None
    return OpenFindings(
        metric,
        threshold,
        correlations=tuple(correlate_forms(rated, seed=seed)),
        forms=tuple(count_forms(rated, metric, threshold=threshold)),
        leaderboards=tuple(rank_forms(rated, seed=seed)),
        matrix=matrix,
        clusters=() if matrix is None else cut_clusters(matrix),
        robustness=tuple(row for repeats in opened.repeats for row in measure_robustness(repeats, seed=seed)),
        missing=tuple(name for name in PAPER_METRICS if name not in rated.metrics),
    )


def cut_clusters(matrix: MetricMatrix) -> tuple[tuple[str, ...], ...]:
    """Return the clusters of metrics, in the matrix's order, whose mean |rho| is at least `CLUSTER_CORRELATION`."""
    members = [{place} for place in range(len(matrix.metrics))]
    kept = {place: members[place] for place in range(len(members))}
    for first, second, distance, _ in matrix.merges:
        members.append(members[first] | members[second])
        if 1 - distance >= CLUSTER_CORRELATION:
            del kept[first], kept[second]
            kept[len(members) - 1] = members[-1]
    ordered = sorted(map(sorted, kept.values()))
    return tuple(tuple(matrix.metrics[place] for place in places) for places in ordered)
