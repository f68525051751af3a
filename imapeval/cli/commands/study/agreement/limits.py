"""`imapeval study limits`."""

from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    ONE_METRIC,
    DimensionOption,
    RunFoldersArgument,
    StudyOptions,
    take_one_metric,
)
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.limits_of_agreement import Bound, LimitsOfAgreement


@expand_options
def limits(
    folders: RunFoldersArgument,
    *,
    metric: Annotated[
        str,
        typer.Option(
            metavar="METRIC",
            help="A metric on the scale of the ratings, such as a judge.",
            callback=take_one_metric,
        ),
    ],
    dimension: DimensionOption = None,
    options: Annotated[StudyOptions, ONE_METRIC],
    json_output: JsonOption = False,
) -> None:
    """Measure how far a metric on the raters' scale lies from the mean rating, and raters from each other."""
    from imapeval.study.agreement.limits_of_agreement import find_limits, find_limits_of_metric

    joined, name = options.read_dimension(folders, metric=metric, dimension=dimension)
    rows = [find_limits_of_metric(joined.rated, metric, name), *find_limits(joined.rated)]
    if json_output:
        emit_json(rows)
        return
    print_limits(rows)


def print_limits(rows: "Sequence[LimitsOfAgreement]") -> None:
    """Print a table of rows of one dimension, and the reasons of those without numbers."""
    from imapeval.study.intervals.coverage import CONCORDANCE, FEW_ANSWERS

    shown = [row for row in rows if row.reason is None]
    emit(
        shown,
        [
            Column("difference", lambda row: f"{row.first} - {row.second}", text=True),
            Column("mean", "mean", write=_show, wrap=False),
            Column("lower limit", "lower", write=_show, wrap=False),
            Column("upper limit", "upper", write=_show, wrap=False),
            Column("concordance", "concordance", write=_show, wrap=False),
            Column("n", "n"),
        ],
        title=f"{rows[0].dimension}: limits of agreement" if rows else "",
        width=UNLIMITED,
    )
    if shown:
        echo(
            "Limits of agreement (Bland and Altman 1986): 95% of the differences lie between them, if normal; none for "
            "ratings with two values. Below each number: its 95% interval. Concordance: Lin's, 1 only where both "
            "always give the same."
        )
        if any(row.concordance is not None and row.n < FEW_ANSWERS for row in shown):
            echo(CONCORDANCE)
    for row in rows:
        if row.reason is not None:
            echo(f"{row.first} - {row.second}: {row.reason}.")


def _show(bound: "Bound") -> str:
    from imapeval.study.number_format import format_decimal

    return f"{format_decimal(bound.value, digits=2)}\n{format_interval(bound.low, bound.high, digits=2)}"
