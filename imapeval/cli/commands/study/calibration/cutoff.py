"""`imapeval study cutoff`."""

from typing import Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    ONE_METRIC,
    DimensionOption,
    MetricOption,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
)
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import Column, echo, emit, emit_json, interval_column
from imapeval.study.number_format import format_decimal, format_percent


@expand_options
def cutoff(
    folders: RunFoldersArgument,
    *,
    metric: MetricOption,
    right_from: Annotated[
        float, typer.Option(metavar="RATING", help="Count an answer as acceptable if its rating is no lower.")
    ],
    at: Annotated[
        float | None, typer.Option(metavar="SCORE", help="Measure this cut-off.  [default: choose the best one]")
    ] = None,
    dimension: DimensionOption = None,
    options: Annotated[StudyOptions, ONE_METRIC],
    seed: SeedOption = 0,
    json_output: JsonOption = False,
) -> None:
    """Find the score from which on an answer is acceptable, and how often that is right."""
    from imapeval.study.calibration.cutoff import find_cutoff

    joined, name = options.read_dimension(folders, metric=metric, dimension=dimension)
    found = find_cutoff(joined.rated, metric, name, right_from=right_from, at=at, seed=seed)
    if json_output:
        emit_json(found)
        return

    columns = [
        Column("figure", "name", text=True),
        Column("value", "value", write=format_decimal),
        interval_column(),
        Column("of answers", "n"),
    ]
    if found.chosen:
        columns.insert(3, Column("apparent", "apparent", write=format_decimal))
    side = "at most" if found.lower_is_better else "at least"
    echo(f"{found.metric} {side} {found.score:g}: rated {found.right_from:g} or better in {found.dimension}")
    emit(found.figures, columns)
    youden = found.figures[-1]
    if youden.low is not None and youden.low <= 0:
        echo("The interval of the Youden index includes 0: that this cut-off is better than chance is not shown.")
    echo(
        f"{found.n} answers to {found.questions} questions, {format_percent(found.acceptable)} of them acceptable; "
        "predictive values hold where the share of acceptable answers is the same."
    )
    if found.chosen:
        echo(
            "The cut-off has the largest Youden index (sensitivity + specificity - 1). Values are those to be expected "
            f"on other questions: apparent ones less the optimism over resamples of the questions, seed {seed}."
        )
