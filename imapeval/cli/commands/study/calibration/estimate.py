"""`imapeval study estimate`."""

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import RATINGS_FORMAT, RunFoldersArgument, StudyOptions, divide, take_one_metric
from imapeval.cli.options import JsonOption, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_estimate
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.calibration.prediction_powered import SystemDifference, SystemMean


_SHARE = "Share right: "
"""Prefix of a note on a share, since the mean may have the same note."""


@expand_options
def estimate(
    folders: RunFoldersArgument,
    *,
    metric: Annotated[
        str,
        typer.Option(metavar="METRIC", help="Metric whose scores replace missing ratings.", callback=take_one_metric),
    ],
    options: Annotated[StudyOptions, ("ratings", "scores", *RATINGS_FORMAT)],
    by: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Estimate within groups of answers: language, task or another column of the data."
        ),
    ] = None,
    right_from: Annotated[
        float | None,
        typer.Option(metavar="RATING", help="Also estimate the share of right answers: those rated RATING or better."),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Estimate how good each system is, from many scores and few ratings.

    Prints the mean rating by prediction-powered inference, the mean of the ratings alone, and the differences between
    systems, and with --right-from the same for the share of right answers; with --by within each group. Nothing is
    estimated from fewer than 5 rated questions. The rated answers must be a random sample of all answers.
    """
    from imapeval.study.calibration.prediction_powered import estimate_shares, estimate_systems

    if right_from is not None and not isfinite(right_from):
        raise UsageError(f"--right-from {right_from} is not finite. Give a finite number.")
    joined = options.read(folders, metrics=metric, by=by, unrated=True)
    if not joined.report.rated:
        raise UsageError("no answer of the run is rated. Give ratings of its answers with --ratings.")
    rated = joined.rated
    means: list[SystemMean] = []
    differences: list[SystemDifference] = []
    shares: list[SystemMean] = []
    share_differences: list[SystemDifference] = []
    groups = {"": rated}
    if by is not None:
        groups = {group: rated.take(rows) for group, rows in divide(rated, by).items()}
    for group, answers in groups.items():
        for dimension in rated.dimensions:
            found = estimate_systems(answers, metric, dimension)
            means.extend(replace(row, group=group) for row in found[0])
            differences.extend(replace(row, group=group) for row in found[1])
            if right_from is not None:
                found = estimate_shares(answers, metric, dimension, right_from=right_from)
                shares.extend(replace(row, group=group) for row in found[0])
                share_differences.extend(replace(row, group=group) for row in found[1])
    if json_output:
        found = {"means": means, "differences": differences}
        emit_json({**found, "shares": shares, "share_differences": share_differences})
        return
    _print_means(means, "mean rating", f"Mean rating, estimated with {metric}")
    _print_differences(differences)
    if shares:
        title = f"Share of answers rated {right_from:g} or better, estimated with {metric}"
        _print_means(shares, "share right", title, about=_SHARE)
        _print_differences(share_differences, about=_SHARE)
    echo(
        "Intervals are 95%, with answers to one question taken together. 'worth ratings': the number of ratings that "
        "alone would give an interval as narrow. The estimate is unbiased for any metric if the rated answers are a "
        "random sample of all (Angelopoulos et al. 2023)."
    )


def _print_means(rows: "Sequence[SystemMean]", quantity: str, title: str, *, about: str = "") -> None:
    from imapeval.evaluation.samples import UNNAMED_SYSTEM

    unnamed = UNNAMED_SYSTEM if any(row.system for row in rows) else "all"
    columns = [Column("group", "group", text=True, wrap=False)] if any(row.group for row in rows) else []
    columns += [
        Column("system", lambda row: row.system or unnamed, text=True, wrap=False),
        Column("dimension", "dimension", text=True, wrap=False),
        Column(quantity, _format_value, wrap=False),
        Column("ratings alone", _format_plain, wrap=False),
        Column("rated", "rated"),
        Column("unrated", "unrated"),
        Column("worth ratings", "worth", write="{:.0f}".format),
    ]
    emit(rows, columns, title=title, width=UNLIMITED)
    for row in rows:
        if row.note is not None:
            echo(f"{about}{_name_group(row)}{row.system or unnamed}, {row.dimension}: {row.note}.")


def _print_differences(rows: "Sequence[SystemDifference]", *, about: str = "") -> None:
    from imapeval.evaluation.samples import UNNAMED_SYSTEM

    for row in rows:
        apart = "" if row.low <= 0 <= row.high else ": the interval does not contain 0"
        echo(
            f"{about}{_name_group(row)}{row.dimension}: {row.first or UNNAMED_SYSTEM} minus "
            f"{row.second or UNNAMED_SYSTEM} is "
            f"{_format_value(row)} (ratings alone {_format_plain(row)}){apart}."
        )
    if len(rows) > 1:
        echo(
            f"Each of these {len(rows)} is a 95% interval, not corrected for their number: of many differences of 0, "
            "one in twenty has an interval that does not contain 0."
        )


def _name_group(row: "SystemMean | SystemDifference") -> str:
    return f"{row.group}, " if row.group else ""


def _format_value(row: "SystemMean | SystemDifference") -> str:
    return format_estimate(row.value, row.low, row.high, digits=2)


def _format_plain(row: "SystemMean | SystemDifference") -> str:
    return format_estimate(row.plain, row.plain_low, row.plain_high, digits=2)
