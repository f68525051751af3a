"""`imapeval study calibrate` and `imapeval study apply`: a metric on the scale of the ratings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Resamples, RunFolders, Seed, StudyOptions
from imapeval.cli.options import Json, choose_one, expand_options
from imapeval.cli.output import Column, echo, emit, emit_json, format_interval, write_csv
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.study.calibration.curve import Calibration


@expand_options
def calibrate(
    folders: RunFolders,
    *,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="The metric.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the calibration (.json).")],
    dimension: Annotated[
        str | None, typer.Option(metavar="NAME", help="Dimension of the ratings.  [default: the only one]")
    ] = None,
    options: Annotated[StudyOptions, ("ratings", "scales", "mapping", "labels")],
    method: Annotated[str, typer.Option(metavar="METHOD", help="isotonic (monotonic) or linear.")] = "isotonic",
    seed: Seed = 0,
    resamples: Resamples = 2000,
    json_output: Json = False,
) -> None:
    """Fit which rating a score stands for, and save that for other runs.

    Errors are measured on answers to questions that the curve was not fitted to.
    """
    from imapeval.study.calibration.curve import METHODS
    from imapeval.study.calibration.curve import calibrate as compute
    from imapeval.study.calibration.curve_file import write_calibration

    choose_one(method, "--method", METHODS)
    joined = options.read(folders, metrics=metric, dimensions=dimension)
    if len(joined.rated.dimensions) != 1:
        raise UsageError(f"there are ratings of {', '.join(joined.rated.dimensions)}. Choose one with --dimension.")
    made = compute(
        joined.rated,
        metric,
        joined.rated.dimensions[0],
        signature=joined.signatures[metric],
        method=method,  # pyright: ignore[reportArgumentType]  # checked above
        seed=seed,
        resamples=resamples,
    )
    write_calibration(made, out)
    if json_output:
        echo(out.read_text(encoding="utf-8").rstrip())
        return
    _print(made, out)


def _print(made: "Calibration", out: Path) -> None:
    errors = made.errors
    rows = [
        ("mean absolute", errors.mean_absolute),
        ("root mean square", errors.root_mean_square),
    ]
    cells = [(name, f"{value:.3f}", format_interval(interval.low, interval.high)) for name, (value, interval) in rows]
    cells.append(("calibration (10 bins, less chance)", f"{errors.calibration:.3f}", ""))
    cells.append(("mean absolute of always predicting the mean", f"{errors.baseline:.3f}", ""))
    columns = [
        Column("error, in rating points", lambda row: row[0], text=True),
        Column("value", lambda row: row[1]),
        Column("95% interval", lambda row: row[2]),
    ]
    emit(cells, columns, title=f"{made.metric} as {made.dimension}")
    echo(
        f"A new answer's rating lies within {errors.half_width:.2f} points of the prediction in "
        f"{errors.confidence:.0%} of cases. {errors.n} answers to {errors.questions} questions; each is predicted from "
        "answers to other questions."
    )
    echo(f"Written to {out}. Use it with: imapeval study apply {out} RUN")


def apply(
    calibration: Annotated[Path, typer.Argument(metavar="FILE", help="File written by `imapeval study calibrate`.")],
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run with the same metric.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the predicted rating of every answer to a .csv file.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Convert the scores of a run into ratings with a calibration."""
    from imapeval.evaluation.runs import Run
    from imapeval.study.calibration.curve_file import read_calibration
    from imapeval.study.calibration.predictions import Prediction, predict

    made = read_calibration(calibration)
    found = predict(made, Run(folder))
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
        mean = f"mean {made.dimension} {sum(values) / len(values):.2f} predicted" if values else "nothing predicted"
        echo(
            f"{system or 'all'}: {mean}, {len(values)} answers"
            + (f", {failed} without a score" if failed else "")
            + (f", {outside} with scores outside the calibrated range" if outside else "")
        )
    echo(
        f"Each within {made.errors.half_width:.2f} points in {made.errors.confidence:.0%} of cases, on answers like "
        "the rated ones. For the quality of a system with an interval, use `imapeval study estimate`."
    )
