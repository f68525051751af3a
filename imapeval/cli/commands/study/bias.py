"""`imapeval study bias`."""

from typing import TYPE_CHECKING

from imapeval.cli.commands.study.inputs import RunFolders, StudyOptions
from imapeval.cli.options import Json, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.subgroups.bias import Bias


@expand_options
def bias(folders: RunFolders, options: StudyOptions, json_output: Json = False) -> None:
    """Measure what moves metrics at equal ratings: length, language, system, task, the model's own family."""
    from imapeval.study.data.findings import ALL
    from imapeval.study.subgroups.bias import measure_bias

    joined = options.read(folders)
    rows = measure_bias(joined.rated, signatures=joined.signatures)
    if json_output:
        emit_json(rows)
        return
    dimension = rows[0].dimension
    rows = [row for row in rows if row.dimension == dimension]
    _print(rows)
    for row in rows:
        if row.shown or row.reason:
            echo(row.sentence)
    equal = "the mean rating over all dimensions" if dimension == ALL else f"the rating of {dimension}"
    noise = (
        f"corrected for its reliability, {rows[0].reliability:.2f}"
        if rows[0].reliability is not None
        else "not corrected for its noise, which needs several raters: better systems seem favoured"
    )
    echo(
        f"Spearman's partial correlation of score and property, given {equal}, {noise}. Interval: 95%, from the "
        "influence of each question. *: excludes 0 after Bonferroni's correction for the properties of a metric."
    )


def _print(rows: "Sequence[Bias]") -> None:
    from imapeval.study.number_format import format_number

    columns = [
        Column("metric", lambda row: row.metric, text=True, wrap=False),
        Column("property", lambda row: row.property, text=True, wrap=False),
        Column("group", lambda row: row.group, text=True),
        Column("partial\ncorrelation", lambda row: None if row.value is None else format_number(row.value), wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high, write=format_number), wrap=False),
        Column("", lambda row: "*" if row.shown else "", text=True, wrap=False),
        Column("n", lambda row: row.n, wrap=False),
    ]
    emit(rows, columns, title="Bias at equal ratings", width=UNLIMITED)
