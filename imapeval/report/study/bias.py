"""What moves the metrics at equal ratings, on the page of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.markup import (
    Markup,
    render_details,
    render_heading,
    render_list,
    render_note,
    render_reasons,
    render_section,
    render_table,
)
from imapeval.report.study.formatting import NO_VALUE, format_coefficient, format_interval
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.limits import describe_mean_limits
from imapeval.study.number_format import format_decimal, format_percent, write_decimal

if TYPE_CHECKING:
    from imapeval.study.subgroups.bias import Bias
    from imapeval.study.summary.compute import Study


def render_bias(study: Study) -> Markup:
    """Return the section; "" if nothing was measured."""
    if not (study.biases or study.shifts):
        return Markup("")
    return render_section("bias", "Bias at equal ratings", *_render_biases(study), *_render_shifts(study))


def _render_biases(study: Study) -> list[Markup]:
    """Return what scores follow at equal ratings; nothing if nothing was measured."""
    if not study.biases:
        return []
    dimension = study.biases[0].dimension
    rows = [row for row in study.biases if row.dimension == dimension]
    shown = [row.sentence for row in rows if row.shown]
    equal = "its ratings of all dimensions" if dimension == ALL else f"its rating of {dimension}"
    reliability = rows[0].reliability
    noise = (
        "The ratings are averages of unknown reliability, so their noise is not removed: systems that are really "
        "better seem favoured."
        if reliability is None
        else f"Corrected for the noise of the ratings (reliability {format_coefficient(reliability, digits=2)}"
        + (" in the least reliable dimension)." if dimension == ALL else ").")
    )
    reasons = [(row.reason, f"{row.metric}, {_format_property(row)}") for row in rows if row.reason]
    lines = [
        [
            row.metric,
            _format_property(row),
            format_coefficient(row.value, digits=2),
            format_interval(row.low, row.high, digits=2),
            "yes" if row.shown else "",
            f"{row.n:,}",
        ]
        for row in rows
    ]
    heads = ["metric", "property", "partial correlation", f"{study.confidence:.0%} interval", "shown", "n"]
    return [
        render_note(
            f"Spearman's partial correlation of the score with a property of the answer, given {equal}: above 0, "
            "answers with more of the property, or of the group, get better scores than equally rated others. What "
            f"nobody rated is not held equal. {noise} A bias is shown if the interval excludes 0 after Bonferroni's "
            "correction for the properties of a metric. biases.csv has each dimension held equal by itself."
        ),
        render_list(shown, kind="sentences") if shown else render_note("No bias is shown."),
        render_details("All properties", render_table(heads, lines, texts=(0, 1, 4))),
        render_details("Not measured", render_reasons(reasons)) if reasons else Markup(""),
    ]


def _render_shifts(study: Study) -> list[Markup]:
    """Return how far scores shift where something beside the answer was altered; nothing if nothing was."""
    if not study.shifts:
        return []
    lines = [
        [
            row.metric,
            row.alteration,
            NO_VALUE if row.difference is None else format_decimal(row.difference).replace("-", "−"),
            format_interval(row.low, row.high, write=write_decimal),
            "yes" if row.shown else "",
            format_coefficient(row.standardised, digits=2),
            *(NO_VALUE if share is None else format_percent(share) for share in (row.raised, row.lowered)),
            f"{row.n:,}",
        ]
        for row in study.shifts
    ]
    sizes = (row.questions for row in study.shifts if row.low is not None)
    heads = ["metric", "altered", "difference", "95% interval", "shown", "in sd", "higher", "lower", "n"]
    return [
        render_heading("The same answers, something else altered"),
        render_note(
            "The altered score less the original one, by answer; what raters find cannot have changed. Interval: "
            "bootstrap over questions. A shift is shown if the interval excludes 0 after Bonferroni's correction for "
            "the alterations. In sd: in standard deviations of the original scores. Higher, lower: the shares of "
            "answers whose score rose and fell."
        ),
        *(render_note(sentence) for sentence in describe_mean_limits(sizes, of="changes")),
        render_list([row.sentence for row in study.shifts], kind="sentences"),
        render_table(heads, lines, texts=(0, 1, 4)),
    ]


def _format_property(row: Bias) -> str:
    return f"{row.property} {row.group}".strip()
