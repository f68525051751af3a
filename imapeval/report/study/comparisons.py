"""Comparisons of metrics: which agrees better with the raters after Holm's correction, and which are similar."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from imapeval.report.formatting import (
    COEFFICIENTS,
    LEVELS,
    format_coefficient,
    format_dimension,
    format_interval,
    format_p,
    pluralize,
)
from imapeval.report.markup import (
    Markup,
    render_details,
    render_figure,
    render_heading,
    render_list,
    render_note,
    render_section,
    render_table,
)
from imapeval.report.study.charts.heatmaps import draw_metric_matrix, draw_winners
from imapeval.report.study.methods import describe_families, describe_test
from imapeval.report.study.selection import main_correlations, order_dimensions
from imapeval.study.intervals import SIGNIFICANCE_LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.correlation.metric_matrix import MetricMatrix
    from imapeval.study.data.findings import CoefficientName, Comparison, Level
    from imapeval.study.summary.compute import Study

MAX_ROWS = 120
"""Comparisons that the page lists; the CSV table has all."""


def render_comparisons(study: Study) -> Markup:
    """Return the section; "" if there is only one metric."""
    if len(study.rated.metrics) < 2:
        return Markup("")
    title = "Metric against metric"
    rows = [row for row in study.comparisons if (row.level, row.coefficient) == (study.level, study.coefficient)]
    if not rows:
        return render_section("comparisons", title, render_note("No metrics were compared."))
    dimensions = order_dimensions(study, (row.dimension for row in rows))
    intervals = " and ".join(sorted({row.interval for row in rows if row.interval}))
    parts = [
        render_note(
            f"{COEFFICIENTS[study.coefficient]}, {LEVELS[study.level]}; each pair on the answers that both scored. "
            f"{_describe_tests(rows)}; intervals of the difference: {intervals}."
            + (
                ""
                if study.margin is None
                else f" Margin, which should have been chosen before the ratings were seen: {study.margin:g}. One "
                "metric is as good as another if it is shown not to be worse by the margin (one-sided tests at 5% with "
                "Bonferroni's correction for the pairs)."
            )
        ),
        *_render_dimension(study, rows, dimensions[0], number=0),
    ]
    parts += [
        render_details(format_dimension(dimension), *_render_dimension(study, rows, dimension, number=number))
        for number, dimension in enumerate(dimensions[1:], 1)
    ]
    return render_section("comparisons", title, *parts, *_render_accuracies(study))


def _render_accuracies(study: Study) -> list[Markup]:
    """Return comparisons and ranks by the accuracies, from which no conclusion is drawn."""
    families: dict[tuple[CoefficientName, Level], list[Comparison]] = {}
    for row in study.comparisons:
        if (row.level, row.coefficient) != (study.level, study.coefficient):
            families.setdefault((row.coefficient, row.level), []).append(row)
    parts: list[Markup] = []
    for (coefficient, level), rows in families.items():
        main, *others = order_dimensions(study, (row.dimension for row in rows))
        has_ranks = any(row.first_rank is not None for row in rows)
        title = f"{'Ranks' if has_ranks else 'Comparison'} by {COEFFICIENTS[coefficient]}"
        parts += [
            render_heading(f"{title}: {format_dimension(main)}"),
            render_note(
                f"{LEVELS[level].capitalize()}{_describe_choice(study, rows)}. {_describe_tests(rows)}."
                + (
                    " Ranks are given as in the Metrics Shared Task of WMT: from the best metric down, metrics share a "
                    "rank until one differs significantly from any metric of that rank."
                    if has_ranks
                    else ""
                )
            ),
            *_render_ranks(study, [row for row in rows if row.dimension == main]),
        ]
        parts += [
            render_details(
                f"{title}: {format_dimension(dimension)}",
                *_render_ranks(study, [row for row in rows if row.dimension == dimension]),
            )
            for dimension in others
        ]
    return parts


def _describe_tests(rows: Sequence[Comparison]) -> str:
    tests = " and ".join(sorted({describe_test(row.test) for row in rows if row.test}))
    return f"Test: {tests}, two-sided{describe_families(rows)}"


def _describe_choice(study: Study, rows: Sequence[Comparison]) -> str:
    metrics = {metric for row in rows for metric in (row.first, row.second)}
    if len(metrics) == len(study.rated.metrics):
        return ""
    others = len(metrics - {study.against})
    chosen = f"the {others} with the highest accuracy"
    if study.against is not None:
        chosen = f"{study.against} and {chosen.replace('the', 'of the others the', 1)}"
    return f"; of {len(study.rated.metrics)} metrics {chosen}"


def _render_ranks(study: Study, rows: Sequence[Comparison]) -> list[Markup]:
    """Return the ranks of one coefficient and dimension, where all pairs were compared, and the comparisons."""
    ranks = {row.first: row.first_rank for row in rows} | {row.second: row.second_rank for row in rows}
    family = (rows[0].coefficient, rows[0].level, rows[0].dimension)
    values = [row for row in study.correlations if (row.coefficient, row.level, row.dimension) == family]
    lines = [
        [row.metric, format_coefficient(row.value), format_interval(row.low, row.high), f"{ranks[row.metric]}"]
        for row in sorted(values, key=lambda row: (ranks.get(row.metric) or 0, -(row.value or 0.0)))
        if ranks.get(row.metric) is not None
    ]
    table = [render_table(["metric", "accuracy", "interval", "rank"], lines, texts=(0,))] if lines else []
    return [*table, _render_listing(rows)]


def _render_dimension(study: Study, rows: Sequence[Comparison], dimension: str, *, number: int) -> list[Markup]:
    """Return the figure, the sentences on neighbours and the table of one dimension."""
    found = {(row.first, row.second): row for row in rows if row.dimension == dimension}
    found_either = {frozenset(pair): row for pair, row in found.items()}
    ranked = main_correlations(study).rank(dimension)
    compared = {metric for pair in found for metric in pair}
    metrics = [metric for metric in dict.fromkeys([*ranked, *study.rated.metrics]) if metric in compared]
    neighbours = [row for pair in pairwise(metrics) if (row := found_either.get(frozenset(pair))) is not None]
    sentences = [row.sentence for row in neighbours if row.sentence]
    tested = [row.p_adjusted for row in found.values() if row.p_adjusted is not None]
    significant = sum(p < SIGNIFICANCE_LEVEL for p in tested)
    differ = "differs" if significant == 1 else "differ"
    untested = "" if len(tested) == len(found) else f"; {len(found) - len(tested):,} gave no result"
    parts = [render_heading(f"Which metric is better: {format_dimension(dimension)}")] if number == 0 else []
    parts.append(
        render_note(
            f"{significant:,} of {pluralize(len(found), 'pair')} {differ} significantly at a level of "
            f"{SIGNIFICANCE_LEVEL:g}{untested}. Blue and +: the row's metric agrees better with the raters; orange and "
            "−: worse; grey: no significant difference; blank: not compared, or no result. Rows are in order of "
            "their coefficient. The numbers of the columns are those of the rows."
        )
    )
    drawing = draw_winners(
        metrics,
        _decide_winners(metrics, found),
        name=f"verdicts-{number}",
        label=f"Matrix of {len(metrics)} metrics, {format_dimension(dimension)}: which agrees better with the raters.",
    )
    parts.append(
        render_figure(drawing, f"Differences that hold after Holm's correction, {format_dimension(dimension)}")
    )
    if sentences:
        listed = [render_note("Neighbours in the order:"), render_list(sentences, kind="sentences")]
        parts += (
            listed if len(sentences) <= 12 else [render_details(f"{len(sentences)} sentences on neighbours", *listed)]
        )
    if study.margin is not None:
        parts += _render_margin(study.margin, list(found.values()))
    return [*parts, _render_listing(list(found.values()))]


def _render_margin(margin: float, rows: Sequence[Comparison]) -> list[Markup]:
    """Return which metrics are shown to be as good as others."""
    judged = [row for row in rows if row.first_as_good is not None]
    equal = [f"{row.first} and {row.second}" for row in judged if row.first_as_good and row.second_as_good]
    one_way = [
        f"{better} is at least as good as {other}"
        for row in judged
        for better, other, as_good, back in (
            (row.first, row.second, row.first_as_good, row.second_as_good),
            (row.second, row.first, row.second_as_good, row.first_as_good),
        )
        if as_good and not back
    ]
    said = [f"Equally good within {margin:g}: {'; '.join(equal)}."] if equal else []
    said += [f"Within {margin:g}: {'; '.join(one_way)}."] if one_way else []
    return [
        render_list(said, kind="sentences") if said else render_note("No metric is shown to be as good as another.")
    ]


def _render_listing(rows: Sequence[Comparison]) -> Markup:
    """Return the folded table of comparisons, those with the smallest p first."""
    shown = sorted(rows, key=lambda row: (row.p_adjusted is None, row.p_adjusted or 0.0, row.p or 0.0))
    title = f"Table of {pluralize(len(rows), 'comparison')}"
    if len(rows) > MAX_ROWS:
        title = f"Table: the {MAX_ROWS} comparisons of {len(rows):,} with the smallest p (comparisons.csv has all)"
    return render_details(title, _render_table(shown[:MAX_ROWS]))


def _decide_winners(metrics: Sequence[str], found: dict[tuple[str, str], Comparison]) -> dict[tuple[int, int], int]:
    places = {metric: place for place, metric in enumerate(metrics)}
    verdicts: dict[tuple[int, int], int] = {}
    for (first, second), row in found.items():
        if row.p_adjusted is None or row.difference is None:
            continue
        better = 0 if row.p_adjusted >= SIGNIFICANCE_LEVEL else 1 if row.difference > 0 else -1
        verdicts[places[first], places[second]] = better
        verdicts[places[second], places[first]] = -better
    return verdicts


def _render_table(rows: Sequence[Comparison]) -> Markup:
    heads = ["first", "second", "of the first", "of the second", "difference", "interval", "p", "p after Holm", "n"]
    heads += ["test", "reason"]
    lines = [
        [
            row.first,
            row.second,
            format_coefficient(row.first_value),
            format_coefficient(row.second_value),
            format_coefficient(row.difference),
            format_interval(row.low, row.high),
            format_p(row.p),
            format_p(row.p_adjusted),
            f"{row.n:,}",
            row.test,
            row.reason or "",
        ]
        for row in rows
    ]
    return render_table(heads, lines, texts=(0, 1, 9, 10))


def render_metric_matrix(study: Study) -> Markup:
    """Return the section on correlations between metrics; "" if there is only one metric."""
    matrix = study.matrix
    if matrix is None:
        return Markup("")
    coefficient = COEFFICIENTS[matrix.coefficient]
    label = f"Heat map of {coefficient} between {len(matrix.metrics)} metrics, with the tree of their clustering."
    drawing = draw_metric_matrix(matrix, name="matrix", label=label)
    return render_section(
        "likeness",
        "Correlations between metrics",
        render_note(
            f"{coefficient} between the metrics' scores, each pair on the answers that both scored "
            f"({matrix.n:,} have all), blue where it is positive, orange where it is negative; blank is undefined. "
            "Metrics whose scores go together, or in opposite directions, stand together; in the tree, the further "
            "right two branches meet, the weaker their correlations, whatever the sign (average linkage). "
            "The numbers of the columns are those of the rows. Metrics that nearly repeat each other are not "
            "independent evidence."
        ),
        render_figure(drawing, f"Correlations between {pluralize(len(matrix.metrics), 'metric')}"),
        render_details("Pairs with the highest and the lowest coefficients", _render_extremes(matrix)),
    )


def _render_extremes(matrix: MetricMatrix) -> Markup:
    pairs = [
        (value, matrix.metrics[row], matrix.metrics[column])
        for row, line in enumerate(matrix.values)
        for column, value in enumerate(line)
        if value is not None and column > row
    ]
    pairs.sort(key=lambda pair: -pair[0])
    few = 10
    shown = pairs if len(pairs) <= 2 * few else [*pairs[:few], *pairs[-few:]]
    lines = [[first, second, format_coefficient(value)] for value, first, second in shown]
    return render_table(["metric", "metric", "coefficient"], lines, texts=(0, 1))
