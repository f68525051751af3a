"""Draws the conclusions of a study, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.data.findings import ALL, MIN_SYSTEMS
from imapeval.study.intervals import SIGNIFICANCE_LEVEL
from imapeval.study.intervals.coverage import ENOUGH_FOR_MEANS
from imapeval.study.number_format import format_interval, format_number
from imapeval.study.subgroups.outlier_systems import MATTERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.data.findings import CoefficientName, Comparison, Correlation, Level
    from imapeval.study.data.rated import Rated
    from imapeval.study.subgroups.heterogeneity import Heterogeneity
    from imapeval.study.subgroups.outlier_systems import WithoutOutliers

MIN_COMPARED_SYSTEMS = 3
"""Two systems make one pair, of which every correlation is 1 or -1."""

_MAX_NAMES = 8
"""Maximum number of metrics that a sentence lists."""

_OVER: dict[Level, str] = {
    "global": "over all answers",
    "within-system": "within systems",
    "within-question": "within questions",
    "system": "between systems",
}


def rank_metrics(
    correlations: Sequence[Correlation], *, level: Level, coefficient: CoefficientName
) -> list[Correlation]:
    """Return the summary row of each metric (the mean, or the only row), best first, without undefined ones."""
    of_metric: dict[str, Correlation] = {}
    for row in correlations:
        if (row.level, row.coefficient) == (level, coefficient):
            # The last row of a metric is its mean; without a mean it is the only one.
            of_metric[row.metric] = row
    defined = [(row.value, row) for row in of_metric.values() if row.value is not None]
    return [row for _, row in sorted(defined, key=lambda pair: -pair[0])]


def write_conclusions(
    ranked: Sequence[Correlation],
    comparisons: Sequence[Comparison],
    *,
    level: Level,
    dimension: str,
    focus: str | None = None,
    undefined: int = 0,
) -> list[str]:
    """Return sentences: which metric agrees best with the raters, and how it compares with the others.

    The correlations are as `rank_metrics` returns them; the comparisons are those of the same level and coefficient, of
    which the ones in this dimension count. `focus` is the metric that is compared with the others, by default the best;
    `undefined` is the number of metrics without a coefficient.
    """
    if not ranked:
        return [
            f"No metric has a defined correlation with the ratings {_OVER[level]}; see the reasons in the table of "
            "correlations."
        ]
    best = ranked[0]
    low, high = best.simultaneous_low, best.simultaneous_high
    doubtful = low is not None and high is not None and low <= 0 <= high
    opposed = high is not None and high < 0
    if len(ranked) > 1:
        rivals = _find_rivals(comparisons, best.metric, dimension)
        # Metrics without a coefficient are no rivals, whatever they were compared with.
        ahead = all(row.metric in rivals and _find_sign(rivals[row.metric], best.metric) == 1 for row in ranked[1:])
        tied = [row.metric for row in _find_first(ranked)]
        if low is None or doubtful or opposed or len(tied) > 1:
            leads = f"ha{'s' if len(tied) == 1 else 've'} the highest coefficient in these answers"
            leads += ", which chance may explain" if doubtful else ""
        else:
            leads = "agrees best with the raters" if ahead else "agrees best with the raters in these answers"
        adjusted = "" if best.low is None else "; the interval allows for the choice of the best"
        among = f"Of {len(ranked)} metrics{' with a coefficient' if undefined else ''}"
        sentences = [f"{among}, {_list(tied)} {leads}: {_quote(best, picked=True)}{adjusted}."]
    else:
        sentences = [f"The agreement of {best.metric} with the raters: {_quote(best)}."]
    if doubtful:
        sentences.append(f"The interval of {best.metric} includes 0: agreement with the raters is not shown.")
    if opposed:
        sentences.append(
            f"The interval of {best.metric} is below 0: answers with better scores are rated worse. If low scores are "
            "good in a file given with --scores, negate them there."
        )
    if best.level == "system":
        sentences.append(_describe_interval(best))
    chosen = best if focus is None else next((row for row in ranked if row.metric == focus), None)
    if chosen is None:
        return [*sentences, f"{focus} has no defined correlation with the ratings and was not compared."]
    name = chosen.metric
    if chosen is not best:
        alone = "" if chosen.low is None else "; the interval is that of a metric chosen beforehand"
        sentences.append(f"The agreement of {name} with the raters: {_quote(chosen)}{alone}.")
    others = _find_rivals(comparisons, name, dimension)
    compared = [row.metric for row in ranked if row.metric in others]
    for what, direction in (
        ("cannot be told apart from", 0),
        ("agrees better than", 1),
        ("agrees worse than", -1),
    ):
        if found := [other for other in compared if _find_sign(others[other], chosen.metric) == direction]:
            sentences.append(f"{name} {what} {_list(found)} (after Holm's correction).")
    if dimension == ALL:
        sentences += _describe_single_dimensions(comparisons, name, {other: others[other] for other in compared})
    sentences += _describe_unsettled(comparisons, name, compared)
    if left := [other for other in compared if others[other].p_adjusted is None]:
        sentences.append(f"{name} was not compared with {_list(left)}; see the reasons in the table of comparisons.")
    nearest = next((others[other] for other in compared if others[other].p_adjusted is not None), None)
    if nearest is not None:
        sentences.append(nearest.sentence)
    failed = [row for row in ranked if row.n_missing]
    if failed:
        worst = max(failed, key=lambda row: row.n_missing)
        sentences.append(
            (
                f"{worst.metric} gave some rated answers no score "
                if len(failed) == 1
                else f"{len(failed)} metrics gave some rated answers no score, {worst.metric} most often "
            )
            + f"({worst.n_missing} of {worst.n + worst.n_missing}); comparisons are on the answers that both metrics "
            "scored."
        )
    return sentences


def _describe_single_dimensions(
    comparisons: Sequence[Comparison], metric: str, of_means: Mapping[str, Comparison]
) -> list[str]:
    """Return at most one sentence: the differences in one dimension that the mean over dimensions does not show."""
    found: list[str] = []
    for dimension in dict.fromkeys(row.dimension for row in comparisons if row.dimension != ALL):
        rivals = _find_rivals(comparisons, metric, dimension)
        for word, direction in (("better", 1), ("worse", -1)):
            names = [
                other
                for other, of_mean in of_means.items()
                if other in rivals
                and _find_sign(rivals[other], metric) == direction
                and _find_sign(of_mean, metric) != direction
            ]
            if names:
                found.append(f"{word} than {_list(names)} on {dimension}")
    if not found:
        return []
    return [
        f"What the mean over dimensions does not show: {metric} agrees {'; '.join(found)} (after Holm's correction "
        "within the dimension)."
    ]


def _describe_unsettled(comparisons: Sequence[Comparison], metric: str, others: Sequence[str]) -> list[str]:
    """Return at most one sentence: the comparisons that another seed may decide otherwise."""
    dimensions = dict.fromkeys(row.dimension for row in comparisons)
    found = [
        f"{other} {'over all dimensions' if dimension == ALL else f'on {dimension}'}"
        for dimension in dimensions
        for other, row in _find_rivals(comparisons, metric, dimension).items()
        if row.unsettled and other in others
    ]
    if not found:
        return []
    return [
        f"Not settled: another seed may put the p-value across {format_number(SIGNIFICANCE_LEVEL)} where {metric} is "
        f"compared with {_list(found)}."
    ]


def _find_rivals(comparisons: Sequence[Comparison], metric: str, dimension: str) -> dict[str, Comparison]:
    """Return the comparisons of a metric, by the other one."""
    return {
        row.second if row.first == metric else row.first: row
        for row in comparisons
        if row.dimension == dimension and metric in (row.first, row.second)
    }


def _find_first(ranked: Sequence[Correlation]) -> list[Correlation]:
    """Return the rows with the highest coefficient: several where metrics are tied."""
    return [row for row in ranked if math.isclose(row.value or 0.0, ranked[0].value or 0.0, abs_tol=1e-9)]


def _find_sign(row: Comparison, metric: str) -> int | None:
    """Return 1 where the metric agrees better than the other one, -1 where worse, 0 if neither is shown."""
    if row.p_adjusted is None or row.difference is None:
        return None
    if row.p_adjusted >= SIGNIFICANCE_LEVEL:
        return 0
    return 1 if (row.difference > 0) == (row.first == metric) else -1


def _quote(row: Correlation, *, picked: bool = False) -> str:
    mean = f" (mean of {row.groups} coefficients)" if row.groups > 1 else ""
    what = f"{find_coefficient(row.coefficient).title} {_OVER[row.level]}{mean}"
    systems = " systems" if row.level == "system" else ""
    return f"{what} {_quote_value(row, picked=picked)}, n = {row.n}{systems}"


def _quote_value(row: Correlation, *, picked: bool = False) -> str:
    """Return the coefficient and its interval, of a metric that was picked the one that holds for all at once."""
    ends = (row.simultaneous_low, row.simultaneous_high) if picked else (row.low, row.high)
    value = format_number(row.value or 0.0)
    if ends[0] is None or ends[1] is None:
        return value
    return f"{value} [{format_interval(ends[0], ends[1])}]"


def _describe_interval(row: Correlation) -> str:
    if row.low is not None:
        return "The interval is about other systems that answer these questions."
    if row.n < MIN_SYSTEMS:
        return f"There is no interval: {row.n} systems are too few to say anything of others (fewest: {MIN_SYSTEMS})."
    return "There is no interval: leaving out any one system changes nothing, or leaves no coefficient."


def describe_outliers(outliers: Sequence[WithoutOutliers], ranked: Sequence[Correlation]) -> list[str]:
    """Return at most one sentence: how much of a correlation between systems is due to systems that stand apart.

    It is about the best metric whose coefficient changes much.
    """
    moved = [row for row in outliers if row.matters]
    best = next((row for metric in ranked for row in moved if row.metric == metric.metric), None)
    if best is None:
        return []
    others = len({row.metric for row in moved}) - 1
    plural = "s change" if others > 1 else " changes"
    size = format_number(MATTERS, digits=1)
    more = f" {others} other metric{plural} by {size} or more, too." if others else ""
    return [best.sentence + more]


def describe_few_questions(rated: Rated, ranked: Sequence[Correlation]) -> list[str]:
    """Return at most one sentence: that few questions are rated, and scored by the best metric.

    Few means so few that intervals of means are too short. Intervals of coefficients are right with fewer, but so wide
    that most of what is true is not shown. Conclusions about other systems depend on the number of systems.
    """
    if ranked and ranked[0].units == "systems":
        return []
    used = np.isfinite(rated.ratings).any(axis=1)
    if ranked:
        used &= np.isfinite(rated.scores_of(ranked[0].metric))
    answers, questions = int(used.sum()), len(np.unique(rated.questions[used]))
    if questions >= ENOUGH_FOR_MEANS:
        return []
    return [
        f"Few questions: the conclusions below rest on {answers} rated answers to {questions} "
        f"question{'' if questions == 1 else 's'}. With fewer "
        f"than {ENOUGH_FOR_MEANS}, only large effects can be shown, and what is not shown may still be true; `imapeval "
        "study power` says how many rated answers are needed."
    ]


def describe_leaders(rated: Rated, correlations: Sequence[Correlation], ranked: Sequence[Correlation]) -> list[str]:
    """Return what the mean of the best metric hides: its dimensions, and who leads by other coefficients."""
    if not ranked:
        return []
    best = ranked[0]
    sentences: list[str] = []
    dimensions = [name for name in rated.dimensions if np.isfinite(rated.ratings_of(name)).any()]
    # In a single dimension the mean of the best metric is one over systems, and hides no other.
    if best.dimension == ALL and len(dimensions) > 1:
        rows = {
            name: rank_metrics(
                [row for row in correlations if row.dimension == name], level=best.level, coefficient=best.coefficient
            )
            for name in dimensions
        }
        own = [
            f"{dimension} {_quote_value(row, picked=len(ranked) > 1)}"
            for dimension, of_dimension in rows.items()
            for row in of_dimension
            if row.metric == best.metric
        ]
        allowed = "; these intervals allow for the choice, too" if len(ranked) > 1 and best.low is not None else ""
        sentences.append(f"{best.metric} by dimension: {', '.join(own)}{allowed}.")
        others = [
            f"on {dimension} {of_dimension[0].metric} ({format_number(of_dimension[0].value or 0.0)})"
            for dimension, of_dimension in rows.items()
            if of_dimension and best.metric not in {row.metric for row in _find_first(of_dimension)}
        ]
        if others:
            sentences.append(f"The highest coefficient in a single dimension is another metric's: {', '.join(others)}.")
    if len(ranked) > 1:
        leaders = [
            (name, rank_metrics(correlations, level=best.level, coefficient=name))
            for name in dict.fromkeys(row.coefficient for row in correlations if row.level == best.level)
        ]
        others = [
            f"by {find_coefficient(name).title} {rows[0].metric} ({format_number(rows[0].value or 0.0)})"
            for name, rows in leaders
            if rows and best.metric not in {row.metric for row in _find_first(rows)}
        ]
        if others:
            sentences.append(f"Other coefficients put another metric first: {', '.join(others)}.")
    return sentences


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMES])
    return shown if len(names) <= _MAX_NAMES else f"{shown} and {len(names) - _MAX_NAMES} more"


def describe_group_differences(rows: Sequence[Heterogeneity], best: Sequence[str], *, dimension: str) -> list[str]:
    """Return the significant differences between groups of answers, for the best metric."""
    return [
        row.sentence
        for row in rows
        if row.metric in best[:1]
        and row.dimension == dimension
        and row.p_adjusted is not None
        and row.p_adjusted < SIGNIFICANCE_LEVEL
    ]


def describe_undefined(metrics: Sequence[str], ranked: Sequence[Correlation]) -> list[str]:
    """Return which of these metrics have no coefficient; where none has, `write_conclusions` says so."""
    defined = {row.metric for row in ranked}
    left = [name for name in metrics if name not in defined]
    if not left or not ranked:
        return []
    verb = "has" if len(left) == 1 else "have"
    return [
        f"{_list(left)} {verb} no defined correlation with the ratings {_OVER[ranked[0].level]}; see the reasons in "
        "the table of correlations."
    ]


def explain_no_comparison(ranked: Sequence[Correlation], against: str | None) -> str | None:
    """Return why metrics, from `rank_metrics`, cannot be compared in pairs or with `against`; None if they can."""
    defined = {row.metric for row in ranked}
    if len(defined) < 2:
        return f"{'no metric has one' if not defined else 'only ' + ranked[0].metric + ' has one'} that is defined"
    if against is not None and against not in defined:
        return f"that of {against} is undefined"
    return None


def describe_missing_levels(rated: Rated, levels: Sequence[Level]) -> list[str]:
    """Say which levels cannot be computed, and what they need."""
    least = MIN_COMPARED_SYSTEMS
    needs: dict[Level, str] = {
        "within-system": "2 systems",
        "within-question": f"{least} systems that answer the same question",
        "system": f"{least} systems",
    }
    missing = [f"{name} correlations (need {need})" for name, need in needs.items() if name not in levels]
    if not missing:
        return []
    systems = len(np.unique(rated.systems))
    return [f"Not computed: {', '.join(missing)}; the answers are by {systems} system{'' if systems == 1 else 's'}."]
