"""How far raters agree with each other, what a metric can reach against them, and metrics beside single raters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import (
    COEFFICIENTS,
    LEVELS,
    NO_VALUE,
    format_coefficient,
    format_dimension,
    format_interval,
    format_measure,
    pluralize,
)
from imapeval.report.markup import (
    Markup,
    render_details,
    render_heading,
    render_note,
    render_reasons,
    render_section,
    render_table,
)
from imapeval.report.study.selection import describe_selection, select_top_metrics
from imapeval.study.agreement.measure import find_title
from imapeval.study.comparison.raters import EPSILON, WINNING_RATE, format_worth
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.coverage import describe_agreement_coverage, describe_ceiling_coverage
from imapeval.study.number_format import format_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.measure import Agreement
    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.agreement.rater_differences import Differences
    from imapeval.study.comparison.raters import MetricVsRater
    from imapeval.study.summary.compute import Study


def render_raters(study: Study) -> Markup:
    """Return the section."""
    raters = study.rated.raters
    known = f"{pluralize(len(raters), 'rater')}: {', '.join(raters)}."
    parts = [render_note(known if raters else "Only averages over raters are known.")]
    if study.agreements:
        parts += [render_heading("Agreement"), *_render_agreements(study.agreements)]
        parts += [render_note(sentence) for sentence in describe_agreement_coverage(study.agreements)]
    if study.differences:
        parts += [
            render_heading("How far two raters lie apart"),
            render_note(
                "Shares of the answers that both rated, by the absolute difference of the two ratings, in the bins of "
                "the imapScore paper (Wang et al. 2024) or their like on another scale."
            ),
            _render_differences(study.differences),
        ]
    if study.ceilings:
        parts += [
            render_heading("The ceiling"),
            render_note(
                "What a metric that knows the truth is expected to reach against the mean of these raters, who do not "
                "fully agree with each other. In ranks it is one without ties: where most ratings are the same, a "
                "metric that ties the same answers can pass it."
            ),
            *_render_ceilings(study.ceilings),
            *(render_note(sentence) for sentence in describe_ceiling_coverage(study.ceilings, study.rated)),
        ]
    parts += _render_corrected(study, select_top_metrics(study))
    parts += _render_metrics_as_raters(study)
    return render_section("raters", "Raters", *parts)


def _render_agreements(rows: Sequence[Agreement]) -> list[Markup]:
    heads = ["dimension", "statistic", "value", "95% interval", "answers", "raters"]
    lines = [
        [
            format_dimension(row.dimension),
            find_title(row.statistic),
            format_coefficient(row.value),
            format_interval(row.low, row.high) or NO_VALUE,
            f"{row.n:,}",
            f"{row.raters}",
        ]
        for row in rows
        if row.value is not None
    ]
    reasons = render_reasons(
        (row.reason, f"{find_title(row.statistic)} ({format_dimension(row.dimension)})") for row in rows if row.reason
    )
    return [render_table(heads, lines, texts=(0, 1)) if lines else Markup(""), reasons]


def _render_differences(rows: Sequence[Differences]) -> Markup:
    bins = list(dict.fromkeys(name for row in rows for name in row.bins))
    lines = [
        [
            format_dimension(row.dimension),
            "any two" if row.first == ALL else f"{row.first} and {row.second}",
            *(format_percent(row.bins[name], digits=3) if name in row.bins else "" for name in bins),
            format_measure(row.mean_absolute),
            f"{row.n:,}",
        ]
        for row in rows
    ]
    return render_table(["dimension", "raters", *bins, "mean", "answers"], lines, texts=(0, 1))


def _render_ceilings(rows: Sequence[Ceiling]) -> list[Markup]:
    heads = ["dimension", "answers compared", "coefficient", "ceiling"]
    heads += ["95% interval", "reliability", "answers", "raters"]
    lines = [
        [
            format_dimension(row.dimension),
            LEVELS[row.level],
            COEFFICIENTS[row.coefficient],
            format_coefficient(row.value),
            format_interval(row.low, row.high) or NO_VALUE,
            format_coefficient(row.reliability),
            f"{row.n:,}",
            format_measure(row.raters),
        ]
        for row in rows
        if row.value is not None
    ]
    reasons = render_reasons(
        (row.reason, f"{COEFFICIENTS[row.coefficient]} ({format_dimension(row.dimension)}, {LEVELS[row.level]})")
        for row in rows
        if row.reason
    )
    return [render_table(heads, lines, texts=(0, 1, 2)) if lines else Markup(""), reasons]


def _render_corrected(study: Study, leading: Sequence[str]) -> list[Markup]:
    """Return the corrected coefficients of the best metrics, if any; the ceilings explain missing ones."""
    lines = [
        [
            row.metric,
            format_dimension(row.dimension),
            COEFFICIENTS[row.coefficient],
            format_coefficient(row.value),
            format_coefficient(row.corrected),
            format_interval(row.low, row.high) or NO_VALUE,
            row.reason or "",
        ]
        for row in study.corrected
        if row.metric in leading and row.corrected is not None
    ]
    if not lines:
        return []
    heads = ["metric", "dimension", "coefficient", "measured", "corrected", "95% interval", "note"]
    return [
        render_heading("Corrected for attenuation"),
        render_note(
            f"{describe_selection(study, leading)}: what the coefficients, over all answers together, would be with "
            "ratings without noise. corrected.csv has all metrics, and says why a coefficient could not be corrected."
        ),
        render_table(heads, lines, texts=(0, 1, 2, 6)),
    ]


def _render_metrics_as_raters(study: Study) -> list[Markup]:
    """Return how metrics do beside raters: correlations, what a metric is worth, whether it could stand in for one."""
    if not study.metric_vs_raters:
        return []
    first = study.metric_vs_raters[0]
    parts = [
        render_heading("Metrics beside single raters"),
        render_note(
            f"{COEFFICIENTS[first.coefficient]}, {LEVELS[first.level]}, with the mean rating of the other raters: the "
            "metric's, then the rater's, on the same answers."
        ),
    ]
    for dimension in study.rated.dimensions:
        rows = [row for row in study.metric_vs_raters if row.dimension == dimension]
        if rows:
            parts.append(render_details(format_dimension(dimension), _render_metric_vs_raters(rows)))
    return [*parts, *_render_worth(study), *_render_tests(study)]


def _render_metric_vs_raters(rows: Sequence[MetricVsRater]) -> Markup:
    cells = {
        (row.metric, row.rater): f"{format_coefficient(row.metric_value)} / {format_coefficient(row.rater_value)}"
        for row in rows
    }
    raters = list(dict.fromkeys(row.rater for row in rows))
    lines = [
        [metric, *(cells.get((metric, rater), "") for rater in raters)]
        for metric in dict.fromkeys(row.metric for row in rows)
    ]
    return render_table(["metric / rater", *raters], lines)


def _render_worth(study: Study) -> list[Markup]:
    lines = [
        [
            row.metric,
            format_dimension(row.dimension),
            *(format_worth(number) or NO_VALUE for number in (row.raters, row.low, row.high)),
        ]
        for row in study.worth_in_raters
        if row.raters is not None
    ]
    if not lines:
        return []
    heads = ["metric", "dimension", "raters", "lower end", "upper end"]
    return [
        render_heading("How many raters a metric is worth"),
        render_note(
            "So many raters' mean would be as near to the true quality of the answers as the metric: from Pearson's r "
            "over all answers together, corrected for the noise of the ratings, and the reliability of one rating "
            "(Spearman and Brown), with the ends of the 95% interval, in which that reliability counts as known. None: "
            "the correlation is not above 0."
        ),
        render_table(heads, lines, texts=(0, 1)),
    ]


def _render_tests(study: Study) -> list[Markup]:
    rows = study.alternative_annotators
    lines = [
        [
            row.metric,
            format_dimension(row.dimension),
            format_coefficient(row.winning_rate, digits=2),
            format_coefficient(row.advantage, digits=2),
            f"{row.raters}",
            "yes" if row.passed else "no",
            f"{row.n:,}",
        ]
        for row in rows
        if row.reason is None
    ]
    heads = ["metric", "dimension", "winning rate", "advantage", "raters", "passes", "n"]
    reasons = render_reasons(
        (row.reason, f"{row.metric} ({format_dimension(row.dimension)})") for row in rows if row.reason is not None
    )
    return [
        render_heading("Could a metric stand in for a rater?"),
        render_note(
            "Alternative annotator test (Calderon, Reichart and Dror 2025). Winning rate: share of the raters beside "
            f"whom the metric, granted an advantage of {format_coefficient(EPSILON, digits=1)}, is shown to be at "
            "least as near to the other raters (after the correction by Benjamini and Yekutieli); from "
            f"{format_coefficient(WINNING_RATE, digits=1)} on it passes. Advantage: mean share of the answers on which "
            "it is at least as near. Metrics are put on the raters' scale by isotonic curves fitted to other questions."
        ),
        render_table(heads, lines, texts=(0, 1, 5)) if lines else Markup(""),
        reasons,
    ]
