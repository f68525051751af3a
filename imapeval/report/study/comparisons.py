"""Metric against metric: who agrees better with the raters after Holm's correction, and who resembles whom."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from imapeval.report.study.choose import order_dimensions, rank_metrics
from imapeval.report.study.grids import draw_matrix, draw_verdicts
from imapeval.report.study.markup import (
    Markup,
    fold,
    join,
    show_figure,
    show_heading,
    show_list,
    show_note,
    show_section,
    show_table,
)
from imapeval.report.study.wording import (
    COEFFICIENTS,
    LEVELS,
    count,
    name_dimension,
    show_coefficient,
    show_interval,
    write_p,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.findings import Comparison, MetricMatrix, Study

MOST_ROWS = 120
"""Comparisons that the page lists one by one; the tables have all."""


def show_comparisons(study: Study) -> Markup:
    """Return the section; "" where there is one metric only."""
    if len(study.rated.metrics) < 2:
        return Markup("")
    title = "Metric against metric"
    rows = [
        row for row in study.comparisons if (row.level, row.coefficient) == (study.level, study.coefficient)
    ]  # fmt: skip
    if not rows:
        return show_section("comparisons", title, show_note("No metrics were compared."))
    dimensions = order_dimensions(study, (row.dimension for row in rows))
    ranked = rank_metrics(study)
    tests = " and ".join(sorted({row.test for row in rows if row.test}))
    intervals = " and ".join(sorted({row.interval for row in rows if row.interval}))
    parts = [
        show_note(
            f"{COEFFICIENTS[study.coefficient]}, {LEVELS[study.level]}; each pair on the answers that both scored. "
            f"Test: {tests}, two-sided, with Holm's correction over the table; intervals of the difference: "
            f"{intervals}."
        ),
        *_show_dimension(study, rows, dimensions[0], ranked, number=0),
    ]
    parts += [
        fold(name_dimension(dimension), *_show_dimension(study, rows, dimension, ranked, number=number))
        for number, dimension in enumerate(dimensions[1:], 1)
    ]
    return show_section("comparisons", title, *parts)


def _show_dimension(
    study: Study, rows: Sequence[Comparison], dimension: str, ranked: Sequence[str], *, number: int
) -> list[Markup]:
    """Return the sentences on neighbours, the figure and the table of one dimension."""
    found = {(row.first, row.second): row for row in rows if row.dimension == dimension}
    found_either = {frozenset(pair): row for pair, row in found.items()}
    metrics = [metric for metric in ranked if any(metric in pair for pair in found)]
    alpha = 1 - study.confidence
    neighbours = [row for pair in pairwise(metrics) if (row := found_either.get(frozenset(pair))) is not None]
    sentences = [row.sentence for row in neighbours if row.sentence]
    tested = [row.p_adjusted for row in found.values() if row.p_adjusted is not None]
    told = sum(p < alpha for p in tested)
    untested = "" if len(tested) == len(found) else f"; {len(found) - len(tested):,} gave no result"
    parts = [show_heading(f"Who is better: {name_dimension(dimension)}")] if number == 0 else []
    parts.append(
        show_note(
            f"{told:,} of {count(len(found), 'pair')} can be told apart at a level of {alpha:.2g}{untested}. Blue and "
            "+: the row's metric agrees better with the raters; orange and −: worse; grey: the two cannot be told "
            "apart; blank: not compared, or no result. Rows are in order of their coefficient, columns are the rows' "
            "numbers."
        )
    )
    drawing = draw_verdicts(
        metrics,
        _judge(metrics, found, alpha),
        name=f"verdicts-{number}",
        label=f"Matrix of {len(metrics)} metrics, {name_dimension(dimension)}: which agrees better with the raters.",
    )
    parts.append(show_figure(drawing, f"Differences that hold after Holm's correction, {name_dimension(dimension)}"))
    if sentences:
        listed = [show_note("Neighbours in the order:"), show_list(sentences, kind="sentences")]
        parts += listed if len(sentences) <= 12 else [fold(f"{len(sentences)} sentences on neighbours", *listed)]
    shown = sorted(found.values(), key=lambda row: (row.p_adjusted is None, row.p_adjusted or 0.0, row.p or 0.0))
    parts.append(fold(_title_table(len(shown)), _show_table(shown[:MOST_ROWS])))
    return parts


def _title_table(rows: int) -> str:
    if rows <= MOST_ROWS:
        return f"Table of {count(rows, 'comparison')}"
    return f"Table: the {MOST_ROWS} comparisons of {rows:,} with the smallest p (comparisons.csv has all)"


def _judge(
    metrics: Sequence[str], found: dict[tuple[str, str], Comparison], alpha: float
) -> dict[tuple[int, int], int]:
    places = {metric: place for place, metric in enumerate(metrics)}
    verdicts: dict[tuple[int, int], int] = {}
    for (first, second), row in found.items():
        if row.p_adjusted is None or row.difference is None:
            continue
        better = 0 if row.p_adjusted >= alpha else 1 if row.difference > 0 else -1
        verdicts[places[first], places[second]] = better
        verdicts[places[second], places[first]] = -better
    return verdicts


def _show_table(rows: Sequence[Comparison]) -> Markup:
    heads = ["first", "second", "first", "second", "difference", "interval", "p", "p after Holm", "n", "test", "reason"]
    lines = [
        [
            row.first,
            row.second,
            show_coefficient(row.first_value),
            show_coefficient(row.second_value),
            show_coefficient(row.difference),
            show_interval(row.low, row.high),
            write_p(row.p),
            write_p(row.p_adjusted),
            f"{row.n:,}",
            row.test,
            row.reason or "",
        ]
        for row in rows
    ]
    return show_table(heads, lines, texts=(0, 1, 9, 10))


def show_likeness(study: Study) -> Markup:
    """Return the section on metrics among each other; "" where there is one metric only."""
    matrix = study.matrix
    if matrix is None:
        return Markup("")
    coefficient = COEFFICIENTS[matrix.coefficient]
    label = f"Heat map of {coefficient} between {len(matrix.metrics)} metrics, with the tree of their clustering."
    drawing = draw_matrix(matrix, name="matrix", label=label)
    return show_section(
        "likeness",
        "Metrics among each other",
        show_note(
            f"{coefficient} between the metrics' scores, each pair on the answers that both scored "
            f"({matrix.n:,} have all), blue where it is positive, orange where it is negative; blank is undefined. "
            "Metrics that agree with each other "
            "stand together; in the tree, the further right two branches meet, the less they agree (average linkage). "
            "Columns are the rows' numbers. Metrics that nearly repeat each other are no independent evidence."
        ),
        show_figure(drawing, f"Agreement between {count(len(matrix.metrics), 'metric')}"),
        fold("Nearest and farthest pairs", _show_extremes(matrix)),
    )


def _show_extremes(matrix: MetricMatrix) -> Markup:
    pairs = [
        (value, matrix.metrics[row], matrix.metrics[column])
        for row, line in enumerate(matrix.values)
        for column, value in enumerate(line)
        if value is not None and column > row
    ]
    pairs.sort(key=lambda pair: -pair[0])
    few = 10
    shown = pairs if len(pairs) <= 2 * few else [*pairs[:few], *pairs[-few:]]
    lines = [[first, second, show_coefficient(value)] for value, first, second in shown]
    return join([show_table(["metric", "metric", "coefficient"], lines, texts=(0, 1))])
