"""How far each metric agrees with the raters: forest plots, and tables of all correlations by level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import escape

from imapeval.report.formatting import (
    COEFFICIENTS,
    LEVELS,
    NO_VALUE,
    UNITS,
    format_coefficient,
    format_dimension,
    format_interval,
    format_system,
)
from imapeval.report.markup import (
    Markup,
    join,
    render_bold,
    render_coefficient,
    render_details,
    render_figure,
    render_figures,
    render_heading,
    render_note,
    render_reasons,
    render_section,
    render_table,
)
from imapeval.report.study.charts.forest_plot import draw_forest, find_axis_limits
from imapeval.report.study.selection import (
    CorrelationTable,
    list_levels,
    main_correlations,
    main_dimension,
    order_dimensions,
    rank_metrics,
)
from imapeval.study.correlation.baseline import has_groups
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.coverage import BASELINE
from imapeval.study.subgroups.outlier_systems import CUT_OFF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.data.findings import CoefficientName, Correlation, Level
    from imapeval.study.subgroups.slices import Slice
    from imapeval.study.summary.compute import Study


def render_correlations(study: Study) -> Markup:
    """Return the section."""
    if not study.correlations:
        return render_section("metrics", "Metrics and raters", render_note("No correlation was computed."))
    name = f"{COEFFICIENTS[study.coefficient]}, {LEVELS[study.level]}"
    counted = "systems" if study.level == "system" else "answers"
    tables = [_render_level(study, level, coefficient) for level, coefficient in list_levels(study)]
    return render_section(
        "metrics",
        "Metrics and raters",
        render_note(
            f"{name}. Each line is a metric: the dot is its coefficient, the bar its 95% interval, n the number of "
            f"{counted} with a rating and a score, failed the number of answers with a rating but no score, which are "
            "left out."
            + (" Scores of metrics for which low is good are reversed." if study.rated.lower_is_better else "")
        ),
        _render_forests(study),
        *_render_side_by_side(study),
        render_heading("All correlations"),
        *tables,
        *_render_outliers(study),
    )


def _render_side_by_side(study: Study) -> list[Markup]:
    """Return what each metric reaches by level, beside the baseline; nothing where all levels are the same."""
    if not study.baselines or not has_groups(study.rated):
        return []
    first, *others = order_dimensions(study, (row.dimension for row in study.baselines))
    return [
        render_heading(f"Side by side: {format_dimension(first)}"),
        render_note(
            f"{COEFFICIENTS[study.coefficient]} by how answers are grouped. The baseline reads no answer: it scores "
            "each one by the mean rating, in the same dimension, of its system and data set on other questions (part "
            "by part of the questions, then the mean). What a metric reaches over all answers together is agreement "
            "about answers only as far as it exceeds the baseline; their difference is over all answers together. "
            f"{BASELINE}"
        ),
        *_render_metric_vs_baseline(study, first),
        *(render_details(format_dimension(name), *_render_metric_vs_baseline(study, name)) for name in others),
    ]


def _render_metric_vs_baseline(study: Study, dimension: str) -> list[Markup]:
    found = {row.metric: row for row in study.baselines if row.dimension == dimension}
    rows = [found[metric] for metric in rank_metrics(study) if metric in found]
    datasets = any(row.within_dataset is not None for row in rows)
    heads = ["metric", "all answers together", *(["within data sets"] if datasets else []), "within systems"]
    heads += ["within questions", "baseline", "metric less baseline", "95% interval"]
    lines = [
        [
            row.metric,
            format_coefficient(row.value),
            *([format_coefficient(row.within_dataset)] if datasets else []),
            format_coefficient(row.within_system),
            format_coefficient(row.within_question),
            format_coefficient(row.baseline),
            format_coefficient(row.difference),
            format_interval(row.low, row.high) or NO_VALUE,
        ]
        for row in rows
    ]
    return [
        render_table(heads, lines, texts=(0,)),
        render_reasons((row.reason, row.metric) for row in rows if row.reason),
    ]


def _render_outliers(study: Study) -> list[Markup]:
    """Return the correlations between systems without those that stand apart, if any do."""
    if not study.outliers:
        return []
    heads = ["metric", "dimension", "coefficient", "systems", "all systems", "without outliers", "outliers", "note"]
    lines = [
        [
            row.metric,
            format_dimension(row.dimension),
            COEFFICIENTS[row.coefficient],
            f"{row.systems}",
            format_coefficient(row.value),
            format_coefficient(row.value_without),
            ", ".join(row.outliers),
            row.reason or "",
        ]
        for row in study.outliers
    ]
    return [
        render_heading("Between systems, without outliers"),
        render_note(
            f"A system is an outlier if its mean rating is more than {CUT_OFF} robust standard deviations from the "
            "median of the systems (Mathur, Baldwin and Cohn 2020). Metrics recognise such systems easily, which says "
            "little about how they rank the others."
        ),
        render_details("With and without outliers", render_table(heads, lines, texts=(0, 1, 2, 6, 7))),
    ]


def _render_forests(study: Study) -> Markup:
    grid, first = main_correlations(study), main_dimension(study)
    if first is None:
        return render_note(
            f"The study has no {COEFFICIENTS[study.coefficient]} at the level that it draws conclusions at "
            f"({LEVELS[study.level]})."
        )
    # One order for all plots, so that a metric is at the same height in each.
    ranked = grid.rank(first)
    rows_by_dimension = {
        dimension: [row for metric in ranked if (row := grid.find(metric, dimension)) is not None]
        for dimension in grid.columns
    }
    wanted = (study.coefficient, study.level)
    ceilings = {
        row.dimension: row
        for row in study.ceilings
        if (row.coefficient, row.level) == wanted and row.dimension in rows_by_dimension
    }
    limits = find_axis_limits([row for rows in rows_by_dimension.values() for row in rows], list(ceilings.values()))
    figures: list[Markup] = []
    for number, (dimension, rows) in enumerate(rows_by_dimension.items()):
        ceiling = ceilings.get(dimension)
        label = (
            f"Forest plot of {len(rows)} metrics, {format_dimension(dimension)}: {COEFFICIENTS[study.coefficient]} "
            "with 95% intervals. The table below has the same numbers."
        )
        drawing = draw_forest(rows, limits=limits, ceiling=ceiling, name=f"forest-{number}", label=label)
        figures.append(
            render_figure(drawing, join([render_bold(format_dimension(dimension)), _describe_ceiling(ceiling)]))
        )
    missing = (
        (f"no ceiling: {ceiling.reason}", format_dimension(dimension))
        for dimension, ceiling in ceilings.items()
        if ceiling.value is None
    )
    return join([render_figures(figures), render_reasons(missing)])


def _describe_ceiling(ceiling: Ceiling | None) -> str:
    if ceiling is None or ceiling.value is None:
        return ""
    interval = format_interval(ceiling.low, ceiling.high, digits=2)
    within = f" ({interval})" if interval else ""
    value = format_coefficient(ceiling.value, digits=2)
    return f". Dashed: the ceiling {value}{within}, the expected coefficient of a perfect metric"


def _render_level(study: Study, level: Level, coefficient: CoefficientName) -> Markup:
    """Return the table of one level and coefficient, and those of single systems."""
    title = f"{COEFFICIENTS[coefficient]}, {LEVELS[level]}"
    rows = [row for row in study.correlations if (row.level, row.coefficient) == (level, coefficient)]
    grid = CorrelationTable(study, level=level, coefficient=coefficient)
    units = _list_units(rows)
    parts: list[Markup] = []
    if grid.columns:
        ranked = grid.rank(grid.columns[0])
        lines = [
            [metric, *(render_cell(grid.find(metric, dimension)) for dimension in grid.columns)] for metric in ranked
        ]
        parts.append(render_table(["metric", *map(format_dimension, grid.columns)], lines))
    parts.append(_render_reasons(rows))
    systems = [system for system in dict.fromkeys(row.system for row in rows) if system != ALL]
    # For a single system the table above shows everything.
    if len(systems) > 1:
        parts.append(_render_systems(rows, systems, grid))
    if (level, coefficient) != (study.level, study.coefficient):
        return render_details(f"{title}; intervals are {units}" if units else title, *parts)
    return join(
        [
            render_note(f"{title}. With each coefficient: its 95% interval{f' ({units})' if units else ''}, and n."),
            *parts,
        ]
    )


def _list_units(rows: Sequence[Correlation]) -> str:
    """Return what the intervals are about; "" without any."""
    return ", ".join(dict.fromkeys(UNITS[row.units] for row in rows if row.interval is not None))


def _render_systems(rows: Sequence[Correlation], systems: Sequence[str], grid: CorrelationTable) -> Markup:
    by_cell = {(row.metric, row.system, row.dimension): row for row in rows}
    columns = list(dict.fromkeys((row.system, row.dimension) for row in rows if row.system in systems))
    columns.sort(key=lambda column: systems.index(column[0]))
    heads = [Markup(f"{escape(format_system(system))}<br>{escape(format_dimension(name))}") for system, name in columns]
    ranked = grid.rank(grid.columns[0]) if grid.columns else grid.metrics
    lines = [[metric, *(render_cell(by_cell.get((metric, *column))) for column in columns)] for metric in ranked]
    return render_details("System by system", render_table(["metric", *heads], lines))


def render_cell(row: Correlation | Slice | None) -> Markup:
    """Return a coefficient with its interval and n below it; reasons for missing ones are listed below the table."""
    if row is None:
        return Markup("")
    return render_coefficient(format_coefficient(row.value), format_interval(row.low, row.high), row.n)


def _render_reasons(rows: Sequence[Correlation]) -> Markup:
    about: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.reason:
            of_all = "mean" if row.dimension == ALL else row.dimension
            where = of_all if row.system == ALL else f"{format_system(row.system)}: {row.dimension}"
            about.setdefault((row.reason, row.metric), []).append(where)
    return render_reasons((reason, f"{metric} ({', '.join(where)})") for (reason, metric), where in about.items())
