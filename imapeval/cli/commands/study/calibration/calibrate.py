"""`imapeval study calibrate` and `imapeval study apply`: a metric on the scale of the ratings."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    ONE_METRIC,
    DimensionOption,
    MetricOption,
    ResamplesOption,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
    divide,
)
from imapeval.cli.options import JsonOption, choose_one, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval, interval_column, write_csv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.calibration.curve import Calibration
    from imapeval.study.calibration.groups import GroupError


@expand_options
def calibrate(
    folders: RunFoldersArgument,
    *,
    metric: MetricOption,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the calibration (.json).")],
    dimension: DimensionOption = None,
    options: Annotated[StudyOptions, ONE_METRIC],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Also measure errors within groups of answers: language, system, task or another column of the data.",
        ),
    ] = None,
    method: Annotated[str, typer.Option(metavar="METHOD", help="isotonic (monotonic) or linear.")] = "isotonic",
    seed: SeedOption = 0,
    resamples: ResamplesOption = 2000,
    json_output: JsonOption = False,
) -> None:
    """Fit which rating a score stands for, and save that for other runs.

    Errors are measured on answers to questions that the curve was not fitted to; with --by also within each group,
    where 10 questions or more are rated.
    """
    from imapeval.study.calibration.curve import METHODS
    from imapeval.study.calibration.curve import calibrate as compute
    from imapeval.study.calibration.curve_file import write_calibration
    from imapeval.study.calibration.groups import measure_groups

    chosen = choose_one(method, "--method", METHODS)
    joined, name = options.read_dimension(folders, metric=metric, dimension=dimension, by=by)
    signature = joined.signatures[metric]
    made = compute(joined.rated, metric, name, signature=signature, method=chosen, seed=seed, resamples=resamples)
    errors: list[GroupError] = []
    if by is not None:
        groups = divide(joined.rated, by)
        errors = measure_groups(joined.rated, metric, name, groups, method=chosen, seed=seed, resamples=resamples)
    write_calibration(made, out)
    if json_output:
        content = json.loads(out.read_text(encoding="utf-8"))
        emit_json(content if by is None else {**content, "groups": errors})
        return
    _print(made, out)
    if by is not None:
        _print_groups(errors, by)


def _print(made: "Calibration", out: Path) -> None:
    from imapeval.study.calibration.curve import describe_baseline_error
    from imapeval.study.intervals.coverage import CURVES
    from imapeval.study.number_format import format_decimal

    errors = made.errors
    rows = [
        ("mean absolute", errors.mean_absolute),
        ("root mean square", errors.root_mean_square),
    ]
    cells = [
        (name, format_decimal(value), format_interval(interval.low, interval.high)) for name, (value, interval) in rows
    ]
    cells.append(("calibration (10 bins, less chance)", format_decimal(errors.calibration), ""))
    cells.append(("mean absolute of always predicting the mean", format_decimal(errors.baseline), ""))
    columns = [
        Column("error, in rating points", lambda row: row[0], text=True),
        Column("value", lambda row: row[1]),
        Column("95% interval", lambda row: row[2]),
    ]
    emit(cells, columns, title=f"{made.metric} as {made.dimension}")
    echo(describe_baseline_error(errors))
    echo(CURVES[made.curve.method])
    echo(
        f"A new answer's rating lies within {format_decimal(errors.half_width, digits=2)} points of the prediction in "
        f"{errors.confidence:.0%} of cases. {errors.n} answers to {errors.questions} questions; each is predicted from "
        "answers to other questions."
    )
    echo(f"Written to {out}. Use it with: imapeval study apply {shlex.quote(str(out))} RUN")


def _print_groups(rows: "Sequence[GroupError]", by: str) -> None:
    from imapeval.study.intervals.coverage import describe_mean_coverage
    from imapeval.study.number_format import format_decimal, format_signed

    columns = [
        Column(by, "group", text=True),
        Column("questions", "questions"),
        Column("answers", "answers"),
        Column("rating less\nprediction", "difference", write=format_signed),
        interval_column(wrap=False),
        Column("mean\nabsolute", "mean_absolute", write=format_decimal),
        interval_column(low="mean_absolute_low", high="mean_absolute_high", wrap=False),
    ]
    emit(rows, columns, title=f"Errors by {by}, in rating points", width=UNLIMITED)
    for row in rows:
        if row.note is not None:
            echo(f"{row.group}: {row.note}.")
    echo(
        "Rating less prediction: above 0 where the curve rates a group too low. Each interval is 95%: of many groups "
        "one in twenty seems off by chance."
    )
    for sentence in describe_mean_coverage((row.questions for row in rows if row.low is not None), of="errors"):
        echo(sentence)


def apply(
    calibration: Annotated[Path, typer.Argument(metavar="FILE", help="File written by `imapeval study calibrate`.")],
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run with the same metric.")],
    scores: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Scores of another tool, for a calibration that was fitted to such scores."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the predicted rating of every answer to a .csv file.")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Convert the scores of a run into ratings with a calibration."""
    from imapeval.evaluation.runs import Run
    from imapeval.evaluation.samples import UNNAMED_SYSTEM
    from imapeval.report.formatting import pluralize
    from imapeval.study.calibration.curve_file import read_calibration
    from imapeval.study.calibration.predictions import Prediction, predict
    from imapeval.study.data.scores_file import read_scores
    from imapeval.study.number_format import format_decimal

    made = read_calibration(calibration)
    found = predict(made, Run(folder), imported=None if scores is None else read_scores(scores))
    if out is not None:
        write_csv(out, Prediction, found)
    if json_output:
        emit_json(found)
        return
    systems = list(dict.fromkeys(row.system for row in found))
    for system in systems:
        theirs = [row for row in found if row.system == system]
        values = [row.rating for row in theirs if row.rating is not None]
        failed = len(theirs) - len(values)
        outside = sum(row.outside for row in theirs)
        mean = "nothing predicted"
        if values:
            mean = f"mean {made.dimension} {format_decimal(sum(values) / len(values), digits=2)} predicted"
        name = system or ("all" if len(systems) == 1 else UNNAMED_SYSTEM)
        echo(
            f"{name}: {mean}, {pluralize(len(values), 'answer')}"
            + (f", {failed} without a score" if failed else "")
            + (f", {outside} with scores outside the calibrated range" if outside else "")
        )
    echo(
        f"Each within {format_decimal(made.errors.half_width, digits=2)} points in {made.errors.confidence:.0%} of "
        "cases, on answers like the rated ones. Those that the curve was fitted to are predicted better than new ones, "
        "so measure errors and limits on other answers. For the quality of a system with an interval, use `imapeval "
        "study estimate`."
    )
