"""`imapeval study calibrate` and `imapeval study apply`: a metric on the scale of the ratings."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    Labels,
    Mapping,
    RatingsFile,
    Resamples,
    RunFolders,
    Scales,
    Seed,
    read_rated,
)
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from imapeval.study.calibration.curve import Calibration, Method


def calibrate(
    folders: RunFolders,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Which metric.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the calibration goes (.json).")],
    dimension: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which dimension.  [default: the only one]")
    ] = None,
    ratings: RatingsFile = None,
    method: Annotated[str, typer.Option(metavar="METHOD", help="isotonic (never falls) or linear.")] = "isotonic",
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    seed: Seed = 0,
    resamples: Resamples = 2000,
    json_output: Json = False,
) -> None:
    """Find out which rating a score stands for, and keep that for other runs.

    Errors are measured on answers whose question the curve did not see.
    """
    from imapeval.study.calibration.curve import METHODS
    from imapeval.study.calibration.curve import calibrate as compute
    from imapeval.study.calibration.curve_file import write_calibration

    known: dict[str, Method] = {name: name for name in METHODS}
    if method not in known:
        raise UsageError(f"unknown --method {method!r}. Methods: {', '.join(METHODS)}.")
    joined = read_rated(
        folders, ratings, metrics=metric, dimensions=dimension, scales=scales, mapping=mapping, labels=labels
    )
    if len(joined.rated.dimensions) != 1:
        raise UsageError(f"there are ratings in {', '.join(joined.rated.dimensions)}. Choose one with --dimension.")
    made = compute(
        joined.rated,
        metric,
        joined.rated.dimensions[0],
        signature=joined.signatures[metric],
        method=known[method],
        seed=seed,
        resamples=resamples,
    )
    write_calibration(made, out)
    if json_output:
        echo(out.read_text(encoding="utf-8").rstrip())
        return
    _print(made, out)


def _print(made: "Calibration", out: Path) -> None:
    from rich.table import Table
    from rich.text import Text

    errors = made.errors
    table = Table("error, in rating points", title=Text(f"{made.metric} as {made.dimension}"), title_justify="left")
    for column in ("value", "95% interval"):
        table.add_column(column, justify="right")
    for name, (value, interval) in (
        ("mean absolute", errors.mean_absolute),
        ("root mean square", errors.root_mean_square),
        ("calibration (10 bins)", errors.calibration),
    ):
        table.add_row(name, f"{value:.3f}", f"{interval.low:.3f} .. {interval.high:.3f}")
    table.add_row("mean absolute of guessing the mean", f"{errors.baseline:.3f}", "")
    print_table(table)
    echo(
        f"A new answer's rating lies within {errors.half_width:.2f} points of the prediction in "
        f"{errors.confidence:.0%} of cases. {errors.n} answers to {errors.questions} questions; predictions of each "
        "come from answers to other questions."
    )
    echo(f"Written to {out}; use it with: imapeval study apply {out} RUN")


def apply(
    calibration: Annotated[Path, typer.Argument(metavar="FILE", help="What `calibrate` wrote.")],
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run with the same metric.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the predicted rating of every answer (.csv).")
    ] = None,
    json_output: Json = False,
) -> None:
    """Turn the scores of a run into ratings, by a calibration."""
    from imapeval.evaluation.runs import Run
    from imapeval.study.calibration.curve_file import read_calibration
    from imapeval.study.calibration.predictions import predict, write_predictions

    made = read_calibration(calibration)
    found = predict(made, Run(folder))
    if out is not None:
        write_predictions(found, out)
    if json_output:
        echo(json.dumps([asdict(row) for row in found], ensure_ascii=False, indent=2))
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
            + (f", {outside} with scores beyond those that were calibrated" if outside else "")
        )
    echo(
        f"Each within {made.errors.half_width:.2f} points in {made.errors.confidence:.0%} of cases, on answers like "
        "the rated ones. For how good a system is, with an interval: imapeval study estimate."
    )
