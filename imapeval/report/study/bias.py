"""What moves the metrics at equal ratings, on the page of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import NO_VALUE, format_coefficient, format_interval
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
from imapeval.study.data.findings import ALL
from imapeval.study.intervals.coverage import describe_mean_coverage
from imapeval.study.number_format import format_decimal, format_percent, write_decimal
from imapeval.study.subgroups.bias import choose_shown

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    rows = choose_shown(study.biases)
    together = rows[0].dimension == ALL
    dimensions = list(dict.fromkeys(row.dimension for row in rows))
    equal = "its ratings of all dimensions" if together else f"its rating of {' or '.join(dimensions)}"
    noise = _describe_noise(rows, several=together or len(dimensions) > 1)
    lines = [
        [
            row.metric,
            row.dimension,
            _format_property(row),
            format_coefficient(row.value, digits=2),
            format_interval(row.low, row.high, digits=2),
            "yes" if row.shown else "",
            f"{row.n:,}",
        ]
        for row in rows
    ]
    heads = [
        *("metric", "held equal", "property", "partial correlation"),
        *("95% interval", "shown", "n"),
    ]
    texts = (0, 1, 2, 5)
    if len(dimensions) == 1:
        heads, lines, texts = [heads[0], *heads[2:]], [[line[0], *line[2:]] for line in lines], (0, 1, 4)
    reasons = [(row.reason, f"{row.metric}, {_format_property(row)}") for row in rows if row.reason]
    return [
        render_note(
            f"Spearman's partial correlation of the score with a property of the answer, given {equal}: above 0, "
            "answers with more of the property, or of the group, get better scores than equally rated others. What "
            f"nobody rated is not held equal. {noise} A bias is shown if the interval excludes 0 after Bonferroni's "
            "correction for the properties of a metric."
            + (" biases.csv has each dimension held equal by itself." if together else "")
        ),
        *_render_unmeasured(study.biases, rows),
        _render_shown(rows),
        render_details("All properties", render_table(heads, lines, texts=texts)),
        render_details("Not measured", render_reasons(reasons)) if reasons else Markup(""),
    ]


def _describe_noise(rows: Sequence[Bias], *, several: bool) -> str:
    reliabilities = [row.reliability for row in rows]
    known = [found for found in reliabilities if found is not None]
    if len(known) < len(reliabilities):
        where = " in every dimension, and where it is not," if several else ", so"
        return (
            f"The reliability of the ratings is not known{where} their noise is not removed: systems that are really "
            "better seem favoured."
        )
    return f"Corrected for the noise of the ratings (reliability {format_coefficient(min(known), digits=2)}" + (
        " in the least reliable dimension)." if several else ")."
    )


def _render_unmeasured(biases: Sequence[Bias], rows: Sequence[Bias]) -> list[Markup]:
    """Return why each dimension is held equal by itself; nothing if all are held equal together."""
    if rows[0].dimension == biases[0].dimension:
        return []
    reasons = "; ".join(dict.fromkeys(row.reason for row in biases if row.dimension == ALL and row.reason))
    return [render_note(f"Not measured with all dimensions held equal: {reasons}. Here each is held equal by itself.")]


def _render_shown(rows: Sequence[Bias]) -> Markup:
    shown = [row.sentence for row in rows if row.shown]
    if shown:
        return render_list(shown, kind="sentences")
    measured = any(row.value is not None for row in rows)
    return render_note("No bias is shown." if measured else "Not measured, so no bias can be shown or excluded.")


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
        *(render_note(sentence) for sentence in describe_mean_coverage(sizes, of="changes")),
        render_list([row.sentence for row in study.shifts], kind="sentences"),
        render_table(heads, lines, texts=(0, 1, 4)),
    ]


def _format_property(row: Bias) -> str:
    return f"{row.property} {row.group}".strip()
