"""Where metrics agree with the raters: scores against ratings, and coefficients within groups of answers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from imapeval.report.formatting import (
    COEFFICIENTS,
    LEVELS,
    format_coefficient,
    format_dimension,
    format_p,
    format_system,
    pluralize,
)
from imapeval.report.markup import (
    Markup,
    join,
    render_bold,
    render_details,
    render_figure,
    render_figures,
    render_heading,
    render_legend,
    render_list,
    render_note,
    render_reasons,
    render_section,
    render_table,
)
from imapeval.report.study.charts.canvas import SERIES
from imapeval.report.study.charts.group_plot import draw_group_plot
from imapeval.report.study.charts.scatter_plot import MAX_POINTS, draw_scatter
from imapeval.report.study.correlations import render_cell
from imapeval.report.study.selection import describe_selection, main_correlations, order_dimensions, select_top_metrics
from imapeval.study.data.findings import ALL
from imapeval.study.intervals import SIGNIFICANCE_LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.subgroups.slices import Slice
    from imapeval.study.summary.compute import Study


def render_scatters(study: Study) -> Markup:
    """Return the section of score against rating for the best metrics; "" where no metric has a coefficient."""
    leading = select_top_metrics(study)
    if not leading:
        return Markup("")
    rated, grid = study.rated, main_correlations(study)
    # Systems by their number of answers. More systems than colours are drawn in one colour, without a legend.
    frequent = [system for system, _ in Counter(rated.systems).most_common()]
    colours = frequent if 1 < len(frequent) <= len(SERIES) else []
    scored = ~np.isnan(rated.scores[:, [rated.metrics.index(metric) for metric in leading]])
    # Answers with both numbers, by metric and dimension; one kind of plot for all, as the text and legend are shared.
    drawn = scored.T.astype(np.int64) @ ~np.isnan(rated.ratings)
    crowded = int(drawn.max()) > MAX_POINTS
    plots: list[Markup] = []
    for place, metric in enumerate(leading):
        figures: list[Markup] = []
        for dimension in rated.dimensions:
            scores, ratings = rated.scores[:, rated.metrics.index(metric)], rated.ratings_of(dimension)
            row = grid.find(metric, dimension)
            figure = draw_scatter(
                scores,
                ratings,
                systems=rated.systems,
                colours=colours,
                axes=(metric, dimension),
                scale=rated.scales.get(dimension),
                crowded=crowded,
                seed=study.seed,
                name=f"scatter-{place}-{rated.dimensions.index(dimension)}",
                label=f"Scatter plot of {metric} against ratings of {dimension}, with the distribution of each.",
            )
            said = "" if row is None else f": {format_coefficient(row.value, digits=2)}, n {row.n:,}"
            figures.append(render_figure(figure, join([render_bold(metric), f", {dimension}{said}"])))
        plots.append(render_figures(figures, kind="figures-small"))
    points = (
        "hexagons are darker where there are more answers"
        if crowded
        else "a point is an answer; ratings that lie on a grid are moved by up to a third of its step at random, so "
        "that equal ones do not hide each other"
    )
    return render_section(
        "scatter",
        "Score against rating",
        render_note(
            f"{describe_selection(study, leading)}: {points}. Beside the axes: how scores and ratings are distributed. "
            f"The number is {COEFFICIENTS[study.coefficient]}, {LEVELS[study.level]}."
            + (" Scores are as the metric gave them: of some, low is good." if rated.lower_is_better else "")
        ),
        render_legend([format_system(system) for system in colours]) if colours and not crowded else "",
        *plots,
    )


def render_slices(study: Study) -> Markup:
    """Return the section on groups of answers; "" where nothing was divided."""
    if not study.slices:
        return Markup("")
    # The table of correlations already has all metrics by dimension.
    facets = list(dict.fromkeys(row.facet for row in study.slices if row.facet != "dimension"))
    leading = [metric for metric in select_top_metrics(study) if any(row.metric == metric for row in study.slices)]
    # A study may have grouped the answers for one metric only, which need not be among the best.
    divided = list(dict.fromkeys(row.metric for row in study.slices))
    leading = leading or divided[:1]
    numeric = [facet for facet in facets if facet in study.rated.covariates]
    parts: list[str] = [
        render_note(
            f"{describe_selection(study, leading)}: {COEFFICIENTS[study.slices[0].coefficient]} among some of the "
            "answers. Groups are smaller than the whole, so their intervals are usually wider: do not read a "
            f"difference between groups whose intervals overlap widely as a finding. {_describe_systems(study)}"
            f"slices.csv has {pluralize(len(divided), 'metric')}."
        )
    ]
    if numeric:
        parts += [render_legend(leading), render_figures(_render_numeric_facets(study, numeric, leading))]
    parts += _render_heterogeneities(study)
    parts += [_render_facet(study, facet, leading) for facet in facets]
    return render_section("slices", "Agreement by group of answers", *parts)


def _describe_systems(study: Study) -> str:
    """Return how the systems of a group count, with a space behind it; "" with one system."""
    if len(set(study.rated.systems)) < 2:
        return ""
    above = "; in the coefficients above each system counts once" if study.level == "within-system" else ""
    return f"Within a group each system is taken by itself, and counts by its answers{above}. "


def _render_heterogeneities(study: Study) -> list[Markup]:
    """Return whether groups differ significantly: a sentence per difference, and all tests in a folded table."""
    # All metrics that were tested, not only those drawn: Holm's correction counts them.
    rows = study.heterogeneities
    if not rows:
        return []
    significant = [row for row in rows if row.p_adjusted is not None and row.p_adjusted < SIGNIFICANCE_LEVEL]
    # Sentences on the mean over dimensions are not repeated for each of them; the table has all.
    said = {(row.metric, row.facet) for row in significant if row.dimension == ALL}
    found = [row for row in significant if row.dimension == ALL or (row.metric, row.facet) not in said]
    lines = [
        [
            row.metric,
            row.facet,
            format_dimension(row.dimension),
            f"{row.groups}",
            format_coefficient(row.lowest),
            format_coefficient(row.highest),
            format_p(row.p),
            format_p(row.p_adjusted),
            f"{row.n:,}",
            row.reason or "",
        ]
        for row in rows
    ]
    heads = ["metric", "by", "dimension", "groups", "lowest", "highest", "p", "p after Holm", "n", "reason"]
    families = Counter(row.dimension for row in rows if row.p is not None)
    none = (
        f"No difference between groups is significant (p of {SIGNIFICANCE_LEVEL:g} or more after Holm's correction)."
        if families
        else "No two groups could be compared."
    )
    sizes = ", ".join(f"{format_dimension(dimension)} {count}" for dimension, count in families.items())
    family = f"Holm's correction is over the metrics and facets of a dimension; numbers of tests: {sizes or 'none'}."
    return [
        render_heading("Do groups differ?"),
        render_note(family),
        render_list([row.sentence for row in found], kind="sentences") if found else render_note(none),
        render_details(
            f"{pluralize(len(rows), 'test')} of differences between groups",
            render_table(heads, lines, texts=(0, 1, 2, 9)),
        ),
    ]


def _render_numeric_facets(study: Study, facets: Sequence[str], metrics: Sequence[str]) -> list[Markup]:
    figures: list[Markup] = []
    for facet in facets:
        rows = [row for row in study.slices if row.facet == facet and row.metric in metrics]
        found = order_dimensions(study, (row.dimension for row in rows))
        # One plot for the mean over dimensions; without it, one per dimension.
        for dimension in [ALL] if ALL in found else found:
            groups = _list_groups(rows, dimension)
            cells = {(row.metric, row.group): row for row in rows if row.dimension == dimension}
            number = f"{facets.index(facet)}-{found.index(dimension)}"
            drawing = draw_group_plot(
                metrics,
                groups,
                cells,
                name=f"buckets-{number}",
                label=f"Coefficients of {len(metrics)} metrics in {len(groups)} groups of answers by {facet}.",
            )
            figures.append(render_figure(drawing, join([render_bold(facet), f", {format_dimension(dimension)}"])))
    return figures


def _render_facet(study: Study, facet: str, metrics: Sequence[str]) -> Markup:
    """Return the tables of one facet: a row per group, a column per metric."""
    rows = [row for row in study.slices if row.facet == facet and row.metric in metrics]
    if not rows:
        return Markup("")
    dimensions = order_dimensions(study, (row.dimension for row in rows))
    tables = [render_heading(f"By {facet}: {format_dimension(dimensions[0])}")]
    for dimension in dimensions:
        of = [row for row in rows if row.dimension == dimension]
        cells = {(row.metric, row.group): row for row in of}
        lines = [
            [group, *(render_cell(cells.get((metric, group))) for metric in metrics)]
            for group in _list_groups(of, dimension)
        ]
        table = render_table([facet, *metrics], lines)
        tables.append(table if dimension == dimensions[0] else render_details(format_dimension(dimension), table))
    reasons = [
        (row.reason, f"{row.metric}, {row.group} ({format_dimension(row.dimension)})") for row in rows if row.reason
    ]
    if reasons:
        tables.append(render_details(f"Notes on {facet}", render_reasons(reasons)))
    return join(tables)


def _list_groups(rows: Sequence[Slice], dimension: str) -> list[str]:
    return list(dict.fromkeys(row.group for row in rows if row.dimension == dimension))
