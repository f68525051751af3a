"""`imapeval study estimate`."""

import json
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Dimensions, Labels, Mapping, RatingsFile, RunFolders, Scales, read_rated
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.calibration.prediction_powered import SystemDifference, SystemMean
    from imapeval.study.calibration.shares import SystemShare


def estimate(
    folders: RunFolders,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="Whose scores stand in where ratings are missing.")],
    ratings: RatingsFile = None,
    dimensions: Dimensions = None,
    right_from: Annotated[
        float | None,
        typer.Option(metavar="RATING", help="Also estimate the share of right answers: those rated so or better."),
    ] = None,
    score_from: Annotated[
        float | None,
        typer.Option(metavar="SCORE", help="With --right-from: the metric calls an answer right from this score on."),
    ] = None,
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    json_output: Json = False,
) -> None:
    """Tell how good each system is, from many scores and few ratings.

    The mean rating by prediction-powered inference, beside the mean of the ratings alone, and the differences between
    systems. The rated answers must be a random sample of all answers.
    """
    from imapeval.errors import UsageError
    from imapeval.study.calibration.prediction_powered import estimate_systems
    from imapeval.study.calibration.shares import estimate_shares

    if (right_from is None) != (score_from is None):
        raise UsageError("--right-from and --score-from go together: from which rating an answer is right, and from "
                         "which score the metric calls it so.")  # fmt: skip
    for option, value in (("--right-from", right_from), ("--score-from", score_from)):
        if value is not None and not isfinite(value):
            raise UsageError(f"{option} {value} is no number to compare with. Give a finite one.")
    joined = read_rated(
        folders,
        ratings,
        metrics=metric,
        dimensions=dimensions,
        scales=scales,
        mapping=mapping,
        labels=labels,
        unrated=True,
    )
    means: list[SystemMean] = []
    differences: list[SystemDifference] = []
    shares: list[SystemShare] = []
    for dimension in joined.rated.dimensions:
        found = estimate_systems(joined.rated, metric, dimension)
        means.extend(found[0])
        differences.extend(found[1])
        if right_from is not None and score_from is not None:
            shares.extend(
                estimate_shares(joined.rated, metric, dimension, right_from=right_from, score_from=score_from)
            )
    if json_output:
        content = {
            "means": [asdict(row) for row in means],
            "differences": [asdict(row) for row in differences],
            "shares": [asdict(row) for row in shares],
        }
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    _print_means(means, metric)
    _print_differences(differences)
    _print_shares(shares)


def _print_means(rows: "Sequence[SystemMean]", metric: str) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("system", "dimension", title=Text(f"Mean rating, with the help of {metric}"), title_justify="left")
    for column in ("mean rating", "ratings alone", "rated", "unrated", "worth ratings"):
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(
            Text(row.system or "all"),
            Text(row.dimension),
            _format_estimate(row.value, row.low, row.high),
            _format_estimate(row.plain, row.plain_low, row.plain_high),
            str(row.rated),
            str(row.unrated),
            "-" if row.worth is None else f"{row.worth:.0f}",
        )
    print_table(table)
    for row in rows:
        if row.note is not None:
            echo(f"{row.system or 'all'}, {row.dimension}: {row.note}.")
    echo(
        "Intervals are 95%, answers to one question taken together. 'worth ratings': so many ratings alone would give "
        "so narrow an interval. The estimate is right however good the metric is, where the rated answers are a random "
        "sample of all (Angelopoulos et al. 2023)."
    )


def _print_differences(rows: "Sequence[SystemDifference]") -> None:
    for row in rows:
        apart = "" if row.low <= 0 <= row.high else ": they can be told apart"
        echo(
            f"{row.dimension}: {row.first} less {row.second} is {_format_estimate(row.value, row.low, row.high)} "
            f"(ratings alone {_format_estimate(row.plain, row.plain_low, row.plain_high)}){apart}."
        )


def _print_shares(rows: "Sequence[SystemShare]") -> None:
    for row in rows:
        share = row.share
        text = f"{row.dimension}: share of right answers of {row.system or 'all'}: "
        if share is None:
            echo(f"{text}{row.note}.")
            continue
        note = "" if share.note is None else f"; {share.note}"
        echo(
            f"{text}{_format_estimate(share.value, share.low, share.high)} (the metric calls {share.apparent:.2f} of {share.n} "
            f"unrated answers right, with sensitivity {share.sensitivity:.2f} and specificity "
            f"{share.specificity:.2f} on the rated ones{note})."
        )


def _format_estimate(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"
