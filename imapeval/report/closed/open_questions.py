"""Open answers beside closed ones: what is known in which form, and what each metric of open answers says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import (
    format_coefficient,
    format_interval,
    format_measure,
    format_system,
    pluralize,
)
from imapeval.report.markup import (
    Markup,
    join,
    render_code,
    render_coefficient,
    render_details,
    render_figure,
    render_heading,
    render_list,
    render_note,
    render_reasons,
    render_section,
    render_table,
)
from imapeval.report.study.charts.forest_plot import draw_forest, find_axis_limits
from imapeval.report.study.charts.heatmaps import draw_metric_matrix
from imapeval.report.study.correlations import render_cell
from imapeval.study.closed.open_metrics import CLUSTER_CORRELATION, score_command
from imapeval.study.data.findings import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.open_metrics import OpenFindings
    from imapeval.study.data.findings import Correlation
    from imapeval.study.robustness.measures import Robustness

_REPEATS = {
    "rewording": "The same answers in other words",
    "sampling": "Several answers of a model to one item, sampled again or asked in other words",
}


def render_open(found: OpenFindings) -> Markup:
    """Return the section on what models know in which form."""
    lines = [
        [
            row.model,
            f"{row.items:,}",
            format_coefficient(row.mean_choice),
            format_measure(row.mean_score),
            *(f"{number:,}" for number in (row.both, row.closed_only, row.open_only, row.neither)),
        ]
        for row in found.forms
    ]
    parts = [
        render_note(
            "Does a model that chooses the right option also give the answer itself? Items that a model was asked with "
            f"options and without. Right in open form: {found.describe_threshold()}; right in closed form: a right "
            "option in more than half of the runs. Closed only: chosen, but not said; open only: said, but not chosen."
        ),
        render_table(
            ["model", "items", "right choice", f"mean {found.metric}", "both", "closed only", "open only", "neither"],
            lines,
        ),
    ]
    for row in found.forms:
        for what, ids in (("closed form only", row.closed_only_ids), ("open form only", row.open_only_ids)):
            if ids:
                title = f"{row.model}: {pluralize(len(ids), 'item')} right in {what}"
                parts.append(render_details(title, render_note(f"Ids of the open answers: {', '.join(ids)}.")))
    return render_section("open", "Open beside closed", *parts)


def render_metrics_of_open(found: OpenFindings) -> Markup:
    """Return the section on the metrics: relation with the right choice, clusters, robustness, and what is missing."""
    parts = [
        render_note(
            "Which metric of an open answer tells whether the model knows the answer? The table of the CareQA paper "
            "(Arias-Duart et al. 2025) on these items: Spearman's ρ of each metric with the right choice (1 for a "
            "right option, 0 for another one or none). Scores of which low ones are good are negated. Within models "
            "is the mean over models and says what a metric knows of single answers; over all answers and between "
            "models also reward it for knowing the model."
        ),
        *_render_correlations(found.correlations),
    ]
    if found.matrix is not None:
        label = f"Heat map of Spearman's ρ between {len(found.matrix.metrics)} metrics, with the tree of clusters."
        parts += [
            render_heading("Clusters of metrics"),
            render_note(
                "Which metrics say the same? Spearman's ρ between metrics over all answers, each pair on the answers "
                "that both scored; blue is positive, orange negative, blank undefined. Tree and clusters by average "
                f"linkage of 1 - |ρ|; a cluster has a mean |ρ| of {CLUSTER_CORRELATION:g} at least. The numbers "
                "of the columns are those of the rows."
            ),
            render_figure(
                draw_metric_matrix(found.matrix, name="matrix", label=label),
                f"Agreement between {pluralize(len(found.matrix.metrics), 'metric')}",
            ),
            render_list([", ".join(cluster) for cluster in found.clusters], kind="sentences"),
        ]
    parts += _render_robustness(found.robustness)
    if found.missing:
        parts += [
            render_heading("Metrics of the paper that these runs lack"),
            render_note(
                "The paper has eleven metrics and proposes Relaxed Perplexity. What is missing here can be scored in a "
                "run of its own and given with another --open."
            ),
            render_table(
                ["metric", "how to get it"],
                [[name, render_code(score_command(name))] for name in found.missing],
                texts=(0, 1),
            ),
        ]
    return render_section("metrics", "Metrics of open answers", *parts)


def _render_correlations(rows: Sequence[Correlation]) -> list[Markup]:
    models = list(dict.fromkeys(row.system for row in rows if row.level == "within-system" and row.system != ALL))
    # With one model, that model is the mean.
    shown = ALL if len(models) > 1 else models[0]
    main = {row.metric: row for row in rows if row.level == "within-system" and row.system == shown}
    values = {metric: -2.0 if row.value is None else row.value for metric, row in main.items()}
    ranked = sorted(values, key=values.__getitem__, reverse=True)
    drawn = [main[metric] for metric in ranked]
    label = f"Forest plot of {pluralize(len(drawn), 'metric')}: Spearman's ρ with the right choice, within models."
    limits = find_axis_limits(drawn, [])
    drawing = draw_forest(drawn, limits=limits, ceiling=None, name="open-metrics", label=label)
    cells: dict[tuple[str, str, str], Correlation] = {(row.metric, row.level, row.system): row for row in rows}

    def show(metric: str, level: str, system: str) -> Markup:
        return render_cell(cells.get((metric, level, system)))

    parts = [render_figure(drawing, "Within models; failed are answers without a score")]
    if len(models) > 1:
        levels = {"within-system": "within models", "global": "all answers", "system": "between models"}
        lines = [[metric, *(show(metric, level, ALL) for level in levels)] for metric in ranked]
        parts.append(render_table(["metric", *levels.values()], lines))
    by_model = [[metric, *(show(metric, "within-system", model) for model in models)] for metric in ranked]
    table = render_table(["metric", *map(format_system, models)], by_model)
    parts.append(table if len(models) == 1 else render_details("Model by model", table))
    parts.append(
        render_reasons((row.reason, f"{row.metric} ({format_system(row.system)})") for row in rows if row.reason)
    )
    return parts


def _render_robustness(rows: Sequence[Robustness]) -> list[Markup]:
    if not rows:
        return [
            render_heading("Robustness"),
            render_note(
                "Do scores stay where they are when an answer is reworded? These runs have neither rewordings (a "
                "column original, as imapeval study paraphrase writes) nor several answers of a model to one item."
            ),
        ]
    parts = [
        render_heading("Robustness"),
        render_note(
            "Do scores stay where they are when nothing that matters changes? absolute_change: how far a rewording "
            "moves a score, on average; relative_change: in standard deviations of the original scores; spearman and "
            "reversed_pairs: whether the order of answers stays; within_sd: standard deviation of the scores of one "
            "item; icc: share of the variance between answers (items), the rest is wording or chance. 95% bootstrap "
            "intervals over items."
        ),
    ]
    for kind, lang in dict.fromkeys((row.kind, row.lang) for row in rows):
        chosen = [row for row in rows if (row.kind, row.lang) == (kind, lang)]
        statistics = list(dict.fromkeys(row.statistic for row in chosen))
        cells = {(row.metric, row.statistic): row for row in chosen}
        lines = [
            [
                metric,
                *(
                    render_coefficient(format_coefficient(row.value), format_interval(row.low, row.high), row.n)
                    for row in (cells[metric, statistic] for statistic in statistics)
                ),
            ]
            for metric in dict.fromkeys(row.metric for row in chosen)
        ]
        reasons = ((row.reason, f"{row.metric}: {row.statistic}") for row in chosen if row.reason)
        parts += [
            render_note(f"{_REPEATS[kind]} ({lang})"),
            join([render_table(["metric", *statistics], lines), render_reasons(reasons)]),
        ]
    return parts
