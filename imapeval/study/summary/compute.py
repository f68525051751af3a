"""Computes a whole study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.agreement.noise_ceiling import correct_for_attenuation, find_ceilings
from imapeval.study.agreement.rater_differences import count_differences
from imapeval.study.agreement.sentences import describe_agreement, find_headline
from imapeval.study.comparison.compare import compare
from imapeval.study.comparison.raters import compare_with_raters, count_worth, run_alternative_annotator_test
from imapeval.study.correlation.baseline import compare_with_baseline, describe_baseline
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.levels import correlate
from imapeval.study.correlation.metric_matrix import correlate_metrics
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.bootstrap import RESAMPLES
from imapeval.study.intervals.coverage import (
    BASELINE,
    describe_agreement_coverage,
    describe_best_coverage,
    describe_ceiling_coverage,
)
from imapeval.study.subgroups.bias import measure_bias
from imapeval.study.subgroups.disagreements import find_disagreements
from imapeval.study.subgroups.heterogeneity import compare_slices
from imapeval.study.subgroups.outlier_systems import correlate_without_outliers
from imapeval.study.subgroups.shifts import measure_shifts
from imapeval.study.subgroups.slices import slice_answers
from imapeval.study.summary.checklist import fill_checklist
from imapeval.study.summary.conclusions import (
    MIN_COMPARED_SYSTEMS,
    describe_few_questions,
    describe_group_differences,
    describe_leaders,
    describe_missing_levels,
    describe_outliers,
    describe_undefined,
    explain_no_comparison,
    rank_metrics,
    write_conclusions,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.agreement.measure import Agreement
    from imapeval.study.agreement.noise_ceiling import Ceiling, Corrected
    from imapeval.study.agreement.rater_differences import Differences
    from imapeval.study.comparison.raters import AlternativeAnnotator, MetricVsRater, WorthInRaters
    from imapeval.study.correlation.baseline import MetricVsBaseline
    from imapeval.study.correlation.metric_matrix import MetricMatrix
    from imapeval.study.data.findings import CoefficientName, Comparison, Correlation, Level
    from imapeval.study.data.rated import Rated
    from imapeval.study.subgroups.bias import Bias
    from imapeval.study.subgroups.disagreements import Disagreement
    from imapeval.study.subgroups.heterogeneity import Heterogeneity
    from imapeval.study.subgroups.outlier_systems import WithoutOutliers
    from imapeval.study.subgroups.shifts import Shift
    from imapeval.study.subgroups.slices import Slice
    from imapeval.study.summary.checklist import ChecklistItem

_COEFFICIENTS: tuple[CoefficientName, ...] = ("spearman", "kendall_tau_b", "pearson", "pairwise_accuracy")

_ACCURACIES: dict[CoefficientName, Level] = {
    "pairwise_accuracy": "within-question",
    "soft_pairwise_accuracy": "system",
}
"""The accuracies by which the Metrics Shared Task of WMT ranks metrics, and at which level each."""

MAX_METRICS_BY_ACCURACY = 20
"""Metrics that are compared by an accuracy: the ones with the highest. The work grows with the square of their number,
and `imapeval study compare` compares the others too."""

MAX_METRICS_BY_GROUP = 6
"""Metrics that are looked into by group: the ones that agree best. `imapeval study slices` shows the others."""

_PRINTED = 10
"""Disagreements of each metric and dimension, at most."""


@dataclass(frozen=True, slots=True)
class Study:
    """All results of a study, as shown in a report.

    Attributes:
        title: Title of the page.
        rated: The answers.
        signatures: Signatures of the metrics, by name.
        account: Sentences on what was read and what could not be joined.
        correlations, comparisons, agreements, differences, ceilings, corrected, slices, heterogeneities, biases,
            shifts, outliers, disagreements, checklist, baselines, metric_vs_raters, alternative_annotators,
            worth_in_raters: See the types; the last three are for the metrics that agree best.
        matrix: Correlations among the metrics; None with fewer than two.
        level: The level that conclusions are drawn at.
        coefficient: The coefficient that conclusions are drawn from.
        against: The metric that each other one was compared with; None if all pairs were.
        margin: Difference below which coefficients count as equally good; None if none was stated.
        seed, resamples: Settings of the intervals.
        conclusions: Sentences, the most important first.
    """

    title: str
    rated: Rated
    signatures: Mapping[str, str]
    account: tuple[str, ...]
    correlations: tuple[Correlation, ...]
    comparisons: tuple[Comparison, ...]
    agreements: tuple[Agreement, ...]
    differences: tuple[Differences, ...]
    ceilings: tuple[Ceiling, ...]
    slices: tuple[Slice, ...]
    disagreements: tuple[Disagreement, ...]
    matrix: MetricMatrix | None
    level: Level
    coefficient: CoefficientName
    seed: int
    resamples: int
    conclusions: tuple[str, ...]
    corrected: tuple[Corrected, ...] = ()
    heterogeneities: tuple[Heterogeneity, ...] = ()
    biases: tuple[Bias, ...] = ()
    shifts: tuple[Shift, ...] = ()
    outliers: tuple[WithoutOutliers, ...] = ()
    checklist: tuple[ChecklistItem, ...] = ()
    against: str | None = None
    margin: float | None = None
    baselines: tuple[MetricVsBaseline, ...] = ()
    metric_vs_raters: tuple[MetricVsRater, ...] = ()
    alternative_annotators: tuple[AlternativeAnnotator, ...] = ()
    worth_in_raters: tuple[WorthInRaters, ...] = ()


def compute_study(
    rated: Rated,
    *,
    title: str,
    signatures: Mapping[str, str],
    account: Sequence[str] = (),
    level: Level | None = None,
    coefficient: CoefficientName = "spearman",
    against: str | None = None,
    margin: float | None = None,
    about: Mapping[str, str] | None = None,
    altered: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Study:
    """Compute everything that a report shows.

    Args:
        rated: Scores and ratings.
        title: Title of the page.
        signatures: Signatures of the metrics, by name.
        account: Sentences of the join report.
        level: The level of the conclusions; None takes within-system, or global if there is only one system.
        coefficient: The coefficient of the conclusions; one of `comparable_coefficients`.
        against: The metric that each other one is compared with, chosen before the ratings were seen; None compares
            all pairs, so that only larger differences are significant.
        margin: Difference below which coefficients count as equally good (`compare`), stated before the ratings were
            seen.
        about: What `study.toml` says, for the reporting checklist.
        altered: Scores of the same answers with something else altered; see `measure_shifts`.
        seed: Random seed.
        resamples: Number of resamples and permutations.

    Raises:
        UsageError: No answer is rated, metrics cannot be compared by the coefficient, or an alteration has none of the
            metrics.
        MissingExtraError: scipy is not installed.
    """
    shifts = measure_shifts(rated, altered or {}, seed=seed, resamples=resamples)
    levels = available_levels(rated)
    chosen = level or ("within-system" if "within-system" in levels else "global")
    correlations = _correlate_levels(rated, chosen, levels, coefficient, seed=seed, resamples=resamples)
    ranked = rank_metrics(correlations, level=chosen, coefficient=coefficient)
    best = _choose_metrics(ranked, against, MAX_METRICS_BY_GROUP)
    comparisons: list[Comparison] = []
    if len(rated.metrics) > 1:
        comparisons = compare(
            rated,
            against=against,
            coefficient=coefficient,
            level=chosen,
            test="perm-systems" if chosen == "system" else "perm-inputs",
            margin=margin,
            seed=seed,
            resamples=resamples,
        )
    main_dimension = ALL if len(rated.dimensions) > 1 else next(iter(rated.dimensions))
    undefined = len(rated.metrics) - len(ranked)
    found = write_conclusions(
        ranked, comparisons, level=chosen, dimension=main_dimension, focus=against, undefined=undefined
    )
    not_compared: list[str] = []
    for accuracy, at in _ACCURACIES.items():
        if len(rated.metrics) < 2 or at not in levels or (accuracy, at) == (coefficient, chosen):
            continue
        by_accuracy = rank_metrics(correlations, level=at, coefficient=accuracy)
        reason = explain_no_comparison(by_accuracy, against)
        if reason:
            not_compared.append(f"Metrics were not compared by {find_coefficient(accuracy).title}: {reason}.")
            continue
        to_rank = _choose_metrics(by_accuracy, against, MAX_METRICS_BY_ACCURACY)
        comparisons += compare(
            rated, metrics=to_rank, against=against, coefficient=accuracy, level=at, seed=seed, resamples=resamples
        )
    outliers: list[WithoutOutliers] = []
    if "system" in levels:
        outliers = correlate_without_outliers(rated, coefficients=dict.fromkeys(("pearson", coefficient)))
    baselines = compare_with_baseline(rated, coefficient, correlations=correlations, seed=seed)
    agreements = measure_agreement(rated)
    ceilings = find_ceilings(rated)
    metric_vs_raters: list[MetricVsRater] = []
    tests: list[AlternativeAnnotator] = []
    worth: list[WorthInRaters] = []
    if best and rated.by_rater:
        metric_vs_raters = compare_with_raters(rated, metrics=best, coefficient=coefficient, level=chosen)
        tests = run_alternative_annotator_test(rated, metrics=best, seed=seed)
        worth = count_worth(rated, metrics=best, ceilings=ceilings)
    slices = slice_answers(rated, metrics=best, coefficient=coefficient) if best else []
    heterogeneities = compare_slices(rated, metrics=best, coefficient=coefficient) if best else []
    quoted = [find_headline([row for row in agreements if row.dimension == name]) for name in rated.dimensions]
    ceiling = [row for row in ceilings if (row.level, row.coefficient) == (chosen, coefficient)]
    single = [row for row in correlations if row.level == "global" and row.dimension != ALL]
    return Study(
        title=title,
        rated=rated,
        signatures=signatures,
        account=tuple(account),
        correlations=tuple(correlations),
        comparisons=tuple(comparisons),
        agreements=tuple(agreements),
        differences=tuple(count_differences(rated)),
        ceilings=tuple(ceilings),
        slices=tuple(slices),
        disagreements=tuple(
            row
            for metric in best
            if metric in (best[0], against)
            for dimension in rated.dimensions
            for row in find_disagreements(rated, metric, dimension, count=_PRINTED)
        ),
        matrix=correlate_metrics(rated) if len(rated.metrics) > 1 else None,
        level=chosen,
        coefficient=coefficient,
        seed=seed,
        resamples=resamples,
        conclusions=(
            *describe_few_questions(rated, ranked),
            *found[:1],
            *describe_leaders(rated, correlations, ranked),
            *found[1:],
            # What is known of intervals stands where conclusions quote them.
            *describe_best_coverage(ranked),
            *describe_undefined([name for name in rated.metrics if name != against], ranked),
            *describe_agreement(rated, agreements, ceilings, level=chosen, coefficient=coefficient),
            *describe_agreement_coverage([row for row in quoted if row is not None]),
            *describe_ceiling_coverage(ceiling, rated),
            *describe_group_differences(heterogeneities, best, dimension=main_dimension),
            *describe_outliers(outliers, ranked),
            *not_compared,
            *describe_missing_levels(rated, levels),
            *describe_baseline(baselines),
            *([BASELINE] if any(row.low is not None for row in baselines) else []),
        ),
        corrected=tuple(correct_for_attenuation(single, ceilings)),
        heterogeneities=tuple(heterogeneities),
        biases=tuple(measure_bias(rated, signatures=signatures)),
        shifts=tuple(shifts),
        outliers=tuple(outliers),
        checklist=tuple(fill_checklist(rated, agreements, about)),
        against=against,
        margin=margin,
        baselines=tuple(baselines),
        metric_vs_raters=tuple(metric_vs_raters),
        alternative_annotators=tuple(tests),
        worth_in_raters=tuple(worth),
    )


def _correlate_levels(
    rated: Rated,
    chosen: Level,
    levels: Sequence[Level],
    coefficient: CoefficientName,
    *,
    seed: int,
    resamples: int,
) -> list[Correlation]:
    """Return all correlations, those at the level of the conclusions first."""
    found: list[Correlation] = []
    for level in dict.fromkeys((chosen, *levels)):
        found += correlate(
            rated,
            coefficients=tuple(dict.fromkeys((coefficient, *_COEFFICIENTS))),
            levels=(level,),
            # How a metric ranks these systems says nothing unless it would rank others as well.
            units="systems" if level == "system" else "questions",
            seed=seed,
            resamples=resamples,
        )
    if "system" in levels:
        found += correlate(
            rated, coefficients=("soft_pairwise_accuracy",), levels=("system",), seed=seed, resamples=resamples
        )
    return found


def _choose_metrics(ranked: Sequence[Correlation], against: str | None, most: int) -> list[str]:
    """Return the metrics that agree best, `against` among them if it has a coefficient."""
    chosen = [row.metric for row in ranked[:most]]
    if against in {row.metric for row in ranked[most:]}:
        chosen[-1] = against
    return chosen


def available_levels(rated: Rated) -> tuple[Level, ...]:
    """Return the levels that can be computed: with one system there is no level "system", and so on."""
    systems = np.unique(rated.systems)
    levels: list[Level] = ["global"]
    if len(systems) > 1:
        levels.append("within-system")
        seen = set(zip(rated.questions.tolist(), rated.systems, strict=True))
        per_question = np.bincount([question for question, _ in seen])
        if per_question.max() >= MIN_COMPARED_SYSTEMS:
            levels.append("within-question")
    if len(systems) >= MIN_COMPARED_SYSTEMS:
        levels.append("system")
    return tuple(levels)
