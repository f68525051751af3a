"""`imapeval study power`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.choices import Against, choose_one
from imapeval.cli.commands.study.inputs import (
    Dimensions,
    Labels,
    Mapping,
    Metrics,
    RatingsFile,
    Scales,
    read_rated,
)
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.power import Power


def power(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Folders of runs: a pilot study.")
    ] = None,
    ratings: RatingsFile = None,
    metrics: Metrics = None,
    dimensions: Dimensions = None,
    against: Against = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="global or within-system.")] = "within-system",
    coefficient: Annotated[str, typer.Option(metavar="NAME", help="spearman or pearson.")] = "spearman",
    r1: Annotated[float | None, typer.Option(help="One metric's correlation with the ratings.")] = None,
    r2: Annotated[float | None, typer.Option(help="The other metric's.")] = None,
    r12: Annotated[float | None, typer.Option(help="The correlation of the two metrics.")] = None,
    design_effect: Annotated[
        float, typer.Option(help="With --r1: how much more the difference varies than in independent answers.")
    ] = 1.0,
    chance: Annotated[float, typer.Option("--power", help="Chance to find the difference.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Of the two-sided test.")] = 0.05,
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    json_output: Json = False,
) -> None:
    """Say how many rated answers tell two metrics apart: from a pilot study, or from --r1, --r2 and --r12."""
    from imapeval.study.comparison.power import plan_sample_size, plan_sample_size_from_pilot

    name = choose_one(coefficient, "--coefficient", ("spearman", "pearson"))
    grouping = choose_one(level, "--level", ("global", "within-system"))
    if folders:
        if (r1, r2, r12) != (None, None, None):
            raise UsageError("give either runs or --r1, --r2 and --r12, not both.")
        rated = read_rated(
            folders, ratings, metrics=metrics, dimensions=dimensions, scales=scales, mapping=mapping, labels=labels
        ).rated
        rows = plan_sample_size_from_pilot(
            rated, against=against, coefficient=name, level=grouping, power=chance, alpha=alpha
        )
    elif r1 is None or r2 is None or r12 is None:
        raise UsageError("give the folder of a run (a pilot study), or all of --r1, --r2 and --r12.")
    else:
        spearman = name == "spearman"
        rows = [
            plan_sample_size(
                r1, r2, between=r12, power=chance, alpha=alpha, spearman=spearman, design_effect=design_effect
            )
        ]
    if json_output:
        echo(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2))
        return
    _print(rows)


def _print(rows: "Sequence[Power]") -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.number_format import format_number

    if len(rows) > 1:
        table = Table(title=Text("Rated answers needed"), title_justify="left")
        for column in ("dimension", "first", "second"):
            table.add_column(column, no_wrap=True)
        for column in ("", "", "between", "design effect", "needed", "n", "smallest found"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in sorted(rows, key=lambda row: (row.needed is None, row.needed)):
            numbers = (row.first_value, row.second_value, row.between, row.design_effect)
            table.add_row(
                *(Text(text) for text in (_label_dimension(row.dimension), row.first, row.second)),
                *("-" if number is None else format_number(number) for number in numbers),
                *("-" if count is None else f"{count:,}" for count in (row.needed, row.n)),
                "-" if row.smallest is None else format_number(row.smallest),
            )
        print_table(table, width=200)
    for row in rows:
        over = f"{_label_dimension(row.dimension)}: " if row.dimension and len(rows) > 1 else ""
        echo(f"{over}{row.sentence}")
    first = rows[0]
    echo(
        f"For Steiger's Z, two-sided, alpha {first.alpha:g}, power {first.power:.0%}, one comparison: for a table of k "
        "give alpha divided by k. What a pilot says of its own differences is a guess; design effect: how much more "
        "they vary than in independent answers."
    )


def _label_dimension(dimension: str) -> str:
    from imapeval.study.data.findings import ALL

    return "mean of all dimensions" if dimension == ALL else dimension
