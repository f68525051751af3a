"""Computes a whole study, with its conclusions in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.measure import measure_agreement
from imapeval.study.agreement.noise_ceiling import correct_for_attenuation, find_ceilings
from imapeval.study.agreement.rater_differences import count_differences
from imapeval.study.agreement.sentences import describe_agreement
from imapeval.study.bootstrap import RESAMPLES
from imapeval.study.comparison.compare import SIGNIFICANCE_LEVEL, compare
from imapeval.study.correlation.baseline import correlate_baseline
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.levels import correlate
from imapeval.study.correlation.metric_matrix import correlate_metrics
from imapeval.study.data.findings import ALL, MIN_SYSTEMS, Study
from imapeval.study.number_format import format_number
from imapeval.study.subgroups.bias import measure_bias
from imapeval.study.subgroups.disagreements import find_disagreements
from imapeval.study.subgroups.heterogeneity import compare_slices
from imapeval.study.subgroups.slices import slice_answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.data.findings import CoefficientName, Comparison, Correlation, Heterogeneity, Level, Slice
    from imapeval.study.data.rated import Rated

CONFIDENCE = 0.95

_COEFFICIENTS: tuple[CoefficientName, ...] = ("spearman", "kendall_tau_b", "pearson", "pairwise_accuracy")

MAX_METRICS_BY_GROUP = 6
"""Metrics that are looked into by group: the ones that agree best. `imapeval study slices` shows the others."""

_MIN_SYSTEMS = 3
"""Two systems make one pair, of which every correlation is 1 or -1."""

_OVER: dict[Level, str] = {
    "global": "over all answers",
    "within-system": "within systems",
    "within-question": "within questions",
    "system": "between systems",
}

_PRINTED = 10
"""Disagreements of each metric and direction that a page shows."""


def compute_study(
    rated: Rated,
    *,
    title: str,
    signatures: Mapping[str, str],
    account: Sequence[str] = (),
    level: Level | None = None,
    coefficient: CoefficientName = "spearman",
    against: str | None = None,
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
        seed: Random seed.
        resamples: Number of resamples and permutations.

    Raises:
        UsageError: No answer is rated, or metrics cannot be compared by the coefficient.
        MissingExtraError: scipy is not installed.
    """
    levels = available_levels(rated)
    chosen = level or ("within-system" if "within-system" in levels else "global")
    correlations: list[Correlation] = []
    for one in dict.fromkeys((chosen, *levels)):
        correlations += correlate(
            rated,
            coefficients=tuple(dict.fromkeys((coefficient, *_COEFFICIENTS))),
            levels=(one,),
            confidence=CONFIDENCE,
            # How a metric ranks these systems says nothing unless it would rank others as well.
            units="systems" if one == "system" else "questions",
            seed=seed,
            resamples=resamples,
        )
    if "system" in levels:
        correlations += correlate(
            rated, coefficients=("soft_pairwise_accuracy",), levels=("system",), seed=seed, resamples=resamples
        )
    ranked = rank_metrics(correlations, level=chosen, coefficient=coefficient)
    best = [row.metric for row in ranked[:MAX_METRICS_BY_GROUP]]
    if against in {row.metric for row in ranked[MAX_METRICS_BY_GROUP:]}:
        best[-1] = against
    comparisons: list[Comparison] = []
    if len(rated.metrics) > 1:
        comparisons = compare(
            rated,
            against=against,
            coefficient=coefficient,
            level=chosen,
            test="perm-systems" if chosen == "system" else "perm-inputs",
            seed=seed,
            resamples=resamples,
        )
    agreements = measure_agreement(rated)
    ceilings = find_ceilings(rated)
    slices: list[Slice] = []
    if best:
        slices = slice_answers(rated, metrics=best, coefficient=coefficient)
    heterogeneities = compare_slices(rated, metrics=best, coefficient=coefficient) if best else []
    several = len(rated.dimensions) > 1
    found = write_conclusions(ranked, comparisons, dimension=ALL if several else rated.dimensions[0], focus=against)
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
        confidence=CONFIDENCE,
        conclusions=(
            *found[:1],
            *_tell_apart(rated, correlations, ranked),
            *found[1:],
            *_tell_undefined(rated.metrics, ranked),
            *describe_agreement(rated, agreements, ceilings, level=chosen, coefficient=coefficient),
            *_tell_differences(heterogeneities, best, dimension=ALL if several else rated.dimensions[0]),
            *_tell_levels(rated, levels),
            *_tell_baseline(rated, correlations, coefficient),
        ),
        corrected=tuple(correct_for_attenuation(single, ceilings)),
        heterogeneities=tuple(heterogeneities),
        biases=tuple(measure_bias(rated, signatures=signatures, metrics=best)) if best else (),
        against=against,
    )


def available_levels(rated: Rated) -> tuple[Level, ...]:
    """Return the levels that can be computed: with one system there is no level "system", and so on."""
    systems = np.unique(rated.systems)
    levels: list[Level] = ["global"]
    if len(systems) > 1:
        levels.append("within-system")
        seen = {(question, system) for question, system in zip(rated.questions.tolist(), rated.systems, strict=True)}
        per_question = np.bincount([question for question, _ in seen])
        if per_question.max() >= _MIN_SYSTEMS:
            levels.append("within-question")
    if len(systems) >= _MIN_SYSTEMS:
        levels.append("system")
    return tuple(levels)


def rank_metrics(
    correlations: Sequence[Correlation], *, level: Level, coefficient: CoefficientName
) -> list[Correlation]:
    """Return the summary row of each metric (the mean, or the only row), best first, without undefined ones.

    Args:
        correlations: Of all metrics.
        level: Which rows.
        coefficient: Which rows.
    """
    of_metric: dict[str, Correlation] = {}
    for row in correlations:
        if (row.level, row.coefficient) == (level, coefficient):
            # The last row of a metric is its mean; without a mean it is the only one.
            of_metric[row.metric] = row
    defined = [(row.value, row) for row in of_metric.values() if row.value is not None]
    return [row for _, row in sorted(defined, key=lambda pair: -pair[0])]


def write_conclusions(
    ranked: Sequence[Correlation], comparisons: Sequence[Comparison], *, dimension: str, focus: str | None = None
) -> list[str]:
    """Return sentences: which metric agrees best with the raters, and how it compares with the others.

    Args:
        ranked: What `rank` gave.
        comparisons: Of the same level and coefficient.
        dimension: Which comparisons: `ALL` for those of the mean.
        focus: The metric that is compared with the others; None for the best.
    """
    if not ranked:
        return ["No metric has a defined correlation with the ratings; see the reasons in the table of correlations."]
    best = ranked[0]
    doubtful = best.simultaneous_low is not None and best.simultaneous_low <= 0
    if len(ranked) > 1:
        pairs = [row for row in comparisons if row.dimension == dimension and best.metric in (row.first, row.second)]
        ahead = len(pairs) == len(ranked) - 1 and all(_judge(row, best.metric) == 1 for row in pairs)
        if best.simultaneous_low is None or doubtful:
            leads = "has the highest coefficient in these answers" + (", which chance may explain" if doubtful else "")
        else:
            leads = "agrees best with the raters" if ahead else "agrees best with the raters in these answers"
        adjusted = "" if best.low is None else "; the interval allows for the choice of the best"
        sentences = [f"Of {len(ranked)} metrics, {best.metric} {leads}: {_quote(best, picked=True)}{adjusted}."]
    else:
        sentences = [f"The agreement of {best.metric} with the raters: {_quote(best)}."]
    if doubtful:
        sentences.append(f"The interval of {best.metric} includes 0: agreement with the raters is not shown.")
    if best.level == "system":
        sentences.append(_tell_systems(best))
    chosen = best if focus is None else next((row for row in ranked if row.metric == focus), None)
    if chosen is None:
        return [*sentences, f"{focus} has no defined correlation with the ratings and was not compared."]
    name = chosen.metric
    if chosen is not best:
        sentences.append(f"The agreement of {name} with the raters: {_quote(chosen)}.")
    theirs = [row for row in comparisons if row.dimension == dimension and chosen.metric in (row.first, row.second)]
    others = {row.second if row.first == chosen.metric else row.first: row for row in theirs}
    compared = [row.metric for row in ranked if row.metric in others]
    for what, direction in (
        ("cannot be told apart from", 0),
        ("agrees better than", 1),
        ("agrees worse than", -1),
    ):
        if found := [other for other in compared if _judge(others[other], chosen.metric) == direction]:
            sentences.append(f"{name} {what} {_list(found)} (after Holm's correction).")
    if left := [other for other in compared if others[other].p_adjusted is None]:
        sentences.append(f"{name} was not compared with {_list(left)}; see the reasons in the table of comparisons.")
    nearest = next((others[other] for other in compared if others[other].p_adjusted is not None), None)
    if nearest is not None:
        sentences.append(nearest.sentence)
    failed = [row for row in ranked if row.n_missing]
    if failed:
        worst = max(failed, key=lambda row: row.n_missing)
        sentences.append(
            f"{len(failed)} metric{'' if len(failed) == 1 else 's'} gave some rated answers no score, {worst.metric} "
            f"most often ({worst.n_missing} of {worst.n + worst.n_missing}); comparisons are on the answers that both "
            "metrics scored."
        )
    return sentences


def _judge(row: Comparison, metric: str) -> int | None:
    """Return 1 where the metric agrees better than the other one, -1 where worse, 0 if neither is shown."""
    if row.p_adjusted is None or row.difference is None:
        return None
    if row.p_adjusted >= SIGNIFICANCE_LEVEL:
        return 0
    return 1 if (row.difference > 0) == (row.first == metric) else -1


def _quote(row: Correlation, *, picked: bool = False) -> str:
    systems = " systems" if row.level == "system" else ""
    return f"{_name(row)} {_quote_value(row, picked=picked)}, n = {row.n}{systems}"


def _quote_value(row: Correlation, *, picked: bool = False) -> str:
    """Return the coefficient and its interval, of a metric that was picked the one that holds for all at once."""
    ends = (row.simultaneous_low, row.simultaneous_high) if picked else (row.low, row.high)
    value = format_number(row.value or 0.0)
    if ends[0] is None or ends[1] is None:
        return value
    return f"{value} [{format_number(ends[0])}, {format_number(ends[1])}]"


def _tell_systems(row: Correlation) -> str:
    if row.low is not None:
        return "The interval is about other systems that answer these questions."
    if row.n < MIN_SYSTEMS:
        return f"There is no interval: {row.n} systems are too few to say anything of others (fewest: {MIN_SYSTEMS})."
    return "There is no interval: leaving out any one system changes nothing, or leaves no coefficient."


def _tell_apart(rated: Rated, correlations: Sequence[Correlation], ranked: Sequence[Correlation]) -> list[str]:
    """Return what the mean of the best metric hides: its dimensions, and who leads by other coefficients."""
    if not ranked:
        return []
    best = ranked[0]
    sentences: list[str] = []
    if best.dimension == ALL and len(rated.dimensions) > 1:
        rows = [_rank_in(correlations, best, dimension) for dimension in rated.dimensions]
        own = [
            f"{dimension} {_quote_value(row, picked=len(ranked) > 1)}"
            for dimension, of_dimension in zip(rated.dimensions, rows, strict=True)
            for row in of_dimension
            if row.metric == best.metric
        ]
        sentences.append(f"{best.metric} by dimension: {', '.join(own)}.")
        others = [
            f"on {dimension} {of_dimension[0].metric} ({format_number(of_dimension[0].value or 0.0)})"
            for dimension, of_dimension in zip(rated.dimensions, rows, strict=True)
            if of_dimension and of_dimension[0].metric != best.metric
        ]
        if others:
            sentences.append(f"The highest coefficient in a single dimension is another metric's: {', '.join(others)}.")
    if len(ranked) > 1:
        leaders = [
            (name, rank_metrics(correlations, level=best.level, coefficient=name)[:1])
            for name in dict.fromkeys(row.coefficient for row in correlations if row.level == best.level)
        ]
        others = [
            f"by {find_coefficient(name).title} {row.metric} ({format_number(row.value or 0.0)})"
            for name, rows in leaders
            for row in rows
            if row.metric != best.metric
        ]
        if others:
            sentences.append(f"Other coefficients put another metric first: {', '.join(others)}.")
    return sentences


def _rank_in(correlations: Sequence[Correlation], like: Correlation, dimension: str) -> list[Correlation]:
    """Return the rows over all systems of one dimension, best first, at the level and by the coefficient of a row."""
    rows = [row for row in correlations if (row.level, row.coefficient) == (like.level, like.coefficient)]
    several = len({row.system for row in rows} - {ALL}) > 1
    found = [
        (row.value, row)
        for row in rows
        if row.dimension == dimension and row.value is not None and (row.system == ALL or not several)
    ]
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def _name(row: Correlation) -> str:
    over = _OVER[row.level]
    mean = f"mean of {row.groups} coefficients" if row.groups > 1 else "coefficient"
    return f"{find_coefficient(row.coefficient).title} {over} ({mean})"


def _list(names: Sequence[str], *, most: int = 8) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _tell_differences(rows: Sequence[Heterogeneity], best: Sequence[str], *, dimension: str) -> list[str]:
    """Return the significant differences between groups of answers, for the best metric."""
    return [
        row.sentence
        for row in rows
        if row.metric in best[:1]
        and row.dimension == dimension
        and row.p_adjusted is not None
        and row.p_adjusted < SIGNIFICANCE_LEVEL
    ]


def _tell_undefined(metrics: Sequence[str], ranked: Sequence[Correlation]) -> list[str]:
    """Return which metrics `conclude` says nothing of; without any it says so itself."""
    defined = {row.metric for row in ranked}
    left = [name for name in metrics if name not in defined]
    if not left or not ranked:
        return []
    verb = "has" if len(left) == 1 else "have"
    return [
        f"{_list(left)} {verb} no defined correlation with the ratings {_OVER[ranked[0].level]}; see the reasons in "
        "the table of correlations."
    ]


def _tell_baseline(rated: Rated, correlations: Sequence[Correlation], coefficient: CoefficientName) -> list[str]:
    """Say which metrics agree no better, over all answers together, than the means of the systems do."""
    found = correlate_baseline(rated, coefficient)
    if not found:
        return []
    # The mean over dimensions, if there is one, is the last.
    dimension, baseline = list(found.items())[-1]
    pooled = {
        row.metric: row.value
        for row in correlations
        if (row.level, row.coefficient, row.dimension) == ("global", coefficient, dimension) and row.value is not None
    }
    below = [metric for metric, value in pooled.items() if value <= baseline]
    title = find_coefficient(coefficient).title
    said = (
        f"A baseline that knows only which system an answer is by reaches {format_number(baseline)} over all answers "
        f"together ({title})."
    )
    if not below:
        return [f"{said} Every metric is above it."]
    return [f"{said} {_list(below)} {'is' if len(below) == 1 else 'are'} not above it."]


def _tell_levels(rated: Rated, levels: Sequence[Level]) -> list[str]:
    missing = [name for name in ("within-system", "within-question", "system") if name not in levels]
    if not missing:
        return []
    systems = len(np.unique(rated.systems))
    return [
        f"Not computed: {_list(missing)} correlations ({systems} system{'' if systems == 1 else 's'}; within-system "
        f"takes 2, within-question {_MIN_SYSTEMS} that answer the same question, system {_MIN_SYSTEMS})."
    ]
