"""`imapeval study bias`."""

from typing import TYPE_CHECKING

from imapeval.cli.commands.study.inputs import AlteredOption, RunFoldersArgument, StudyOptions, read_altered
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, interval_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.subgroups.bias import Bias
    from imapeval.study.subgroups.shifts import Shift


@expand_options
def bias(
    folders: RunFoldersArgument,
    options: StudyOptions,
    altered: AlteredOption = None,
    json_output: JsonOption = False,
) -> None:
    """Measure what moves metrics at equal ratings: length, language, system, task, the model's own family.

    With --altered it also measures how far they move when the answers stay the same and something else is altered.
    """
    from imapeval.study.data.findings import ALL
    from imapeval.study.number_format import format_number
    from imapeval.study.subgroups.bias import choose_shown, measure_bias
    from imapeval.study.subgroups.shifts import measure_shifts

    altered_scores = read_altered(altered or ())
    joined = options.read(folders)
    rows = measure_bias(joined.rated, signatures=joined.signatures)
    shifts = measure_shifts(joined.rated, altered_scores)
    if json_output:
        emit_json([*rows, *shifts])
        return
    chosen = choose_shown(rows)
    _print(chosen)
    if chosen[0].dimension != rows[0].dimension:
        _print_reasons([row for row in rows if row.dimension == ALL], " with all dimensions held equal")
    _print_reasons(chosen)
    for row in chosen:
        if row.shown:
            echo(row.sentence)
    dimensions = dict.fromkeys(row.dimension for row in chosen)
    equal = "the ratings of all dimensions" if ALL in dimensions else f"the rating of {' or '.join(dimensions)}"
    known = [row.reliability for row in chosen if row.reliability is not None]
    noise = (
        f"corrected for the noise of the ratings (lowest reliability {format_number(min(known))})"
        if len(known) == len(chosen)
        else "not corrected for their noise, which needs several raters: better systems seem favoured"
    )
    echo(
        f"Spearman's partial correlation of score and property, given {equal}, {noise}. Interval: 95%, from the "
        "influence of each question. *: excludes 0 after Bonferroni's correction for the properties of a metric."
    )
    if shifts:
        _print_shifts(shifts)


def _print_reasons(rows: "Sequence[Bias]", how: str = "") -> None:
    """Print each reason for a missing value once, with the rows that it concerns unless it concerns all of them."""
    from imapeval.evaluation.ids import list_first

    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            reasons.setdefault(row.reason, []).append(f"{row.metric} and {row.property} {row.group}".rstrip())
    for reason, about in reasons.items():
        echo(f"Not measured{how}: {reason}" + ("." if len(about) == len(rows) else f" ({list_first(about)})."))


def _print(rows: "Sequence[Bias]") -> None:
    from imapeval.study.number_format import format_number, write_coefficient

    several = len({row.dimension for row in rows}) > 1
    columns = [
        Column("metric", "metric", text=True, wrap=False),
        *([Column("held equal", "dimension", text=True, wrap=False)] if several else []),
        Column("property", "property", text=True, wrap=False),
        Column("group", "group", text=True),
        Column("partial\ncorrelation", "value", write=format_number, wrap=False),
        interval_column(digits=2, write=write_coefficient, wrap=False),
        Column("", lambda row: "*" if row.shown else "", text=True, wrap=False),
        Column("n", "n", wrap=False),
    ]
    emit(rows, columns, title="Bias at equal ratings", width=UNLIMITED)


def _print_shifts(rows: "Sequence[Shift]") -> None:
    from imapeval.study.intervals.coverage import describe_mean_coverage
    from imapeval.study.number_format import format_decimal, format_number, format_percent

    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("altered", "alteration", text=True, wrap=False),
        # In the metric's units, so that two decimals may be too few.
        Column("difference", "difference", write=format_decimal, wrap=False),
        interval_column(wrap=False),
        Column("", lambda row: "*" if row.shown else "", text=True, wrap=False),
        Column("in sd", "standardised", write=format_number, wrap=False),
        Column("higher", "raised", write=format_percent, wrap=False),
        Column("lower", "lowered", write=format_percent, wrap=False),
        Column("n", "n", wrap=False),
    ]
    emit(rows, columns, title="The same answers, something else altered", width=UNLIMITED)
    for row in rows:
        echo(row.sentence)
    echo(
        "Altered score less the original one, by answer. Interval: 95%, bootstrap over questions. *: excludes 0 after "
        "Bonferroni's correction for the alterations. In sd: in standard deviations of the original scores."
    )
    for sentence in describe_mean_coverage((row.questions for row in rows if row.low is not None), of="changes"):
        echo(sentence)
