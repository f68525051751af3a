"""Metrics beside the raters themselves, on the page of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.markup import Markup, render_details, render_heading, render_note, render_reasons, render_table
from imapeval.report.study.formatting import (
    COEFFICIENTS,
    LEVELS,
    NO_VALUE,
    format_coefficient,
    label_dimension,
)
from imapeval.study.comparison.raters import EPSILON, WINNING_RATE, format_worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.raters import BesideRater
    from imapeval.study.data.findings import Study


def render_metrics_as_raters(study: Study) -> list[Markup]:
    """Return how metrics do beside raters: correlations, what a metric is worth, whether it could stand in for one."""
    if not study.beside_raters:
        return []
    first = study.beside_raters[0]
    parts = [
        render_heading("Metrics beside single raters"),
        render_note(
            f"{COEFFICIENTS[first.coefficient]}, {LEVELS[first.level]}, with the mean rating of the other raters: the "
            "metric's, then the rater's, on the same answers."
        ),
    ]
    for dimension in study.rated.dimensions:
        rows = [row for row in study.beside_raters if row.dimension == dimension]
        if rows:
            parts.append(render_details(label_dimension(dimension), _render_beside(rows)))
    return [*parts, *_render_worth(study), *_render_tests(study)]


def _render_beside(rows: Sequence[BesideRater]) -> Markup:
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
            label_dimension(row.dimension),
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
            f"(Spearman and Brown), with the ends of the {study.confidence:.0%} interval, in which that reliability "
            "counts as known. None: the correlation is not above 0."
        ),
        render_table(heads, lines, texts=(0, 1)),
    ]


def _render_tests(study: Study) -> list[Markup]:
    rows = study.alternative_annotators
    lines = [
        [
            row.metric,
            label_dimension(row.dimension),
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
        (row.reason, f"{row.metric} ({label_dimension(row.dimension)})") for row in rows if row.reason is not None
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
