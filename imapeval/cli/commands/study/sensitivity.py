"""`imapeval study sensitivity`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    Dimensions,
    Labels,
    Mapping,
    RatingsFile,
    RunFolders,
    Scales,
    Seed,
    read_rated,
)
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.robustness.rating_sensitivity import RatingShift


def sensitivity(
    folders: RunFolders,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="The metric that a finding is about.")],
    against: Annotated[
        str | None, typer.Option(metavar="METRIC", help="One that it was found better (or worse) than.")
    ] = None,
    ratings: RatingsFile = None,
    dimensions: Dimensions = None,
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    seed: Seed = 0,
    json_output: Json = False,
) -> None:
    """Tell how far a finding hangs on these ratings: noisier ones, one rater fewer, a few answers fewer."""
    from imapeval.study.robustness.rating_sensitivity import find_fragility, shift_ratings

    if against == metric:
        raise UsageError(f"--against {against!r} is the metric itself. Name another.")
    names = metric if against is None else f"{metric},{against}"
    rated = read_rated(
        folders, ratings, metrics=names, dimensions=dimensions, scales=scales, mapping=mapping, labels=labels
    ).rated
    shifts = [
        shift
        for name in rated.metrics
        for dimension in rated.dimensions
        for shift in shift_ratings(rated, name, dimension, seed=seed)
    ]
    fragile = [find_fragility(rated, metric, against, dimension) for dimension in rated.dimensions if against]
    if json_output:
        content = {"shifts": [asdict(row) for row in shifts], "orders": [asdict(row) for row in fragile]}
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    _print(shifts)
    for row in fragile:
        echo(row.sentence)


def _print(rows: "Sequence[RatingShift]") -> None:
    from rich.table import Table
    from rich.text import Text

    changes = list(dict.fromkeys(row.change for row in rows))
    table = Table("metric", "dimension", title="Spearman's rho, mean within systems", title_justify="left")
    for column in ("as it is", *changes):
        table.add_column(column, justify="right")
    by_key = {(row.metric, row.dimension, row.change): row for row in rows}
    for metric, dimension in dict.fromkeys((row.metric, row.dimension) for row in rows):
        theirs = [by_key.get((metric, dimension, change)) for change in changes]
        before = next(row.before for row in theirs if row is not None)
        after = ["-" if row is None or row.after is None else f"{row.after:.3f}" for row in theirs]
        table.add_row(Text(metric), Text(dimension), f"{before:.3f}", *after)
    print_table(table)
