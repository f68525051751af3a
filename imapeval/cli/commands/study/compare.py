"""`imapeval study compare`."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, get_args

import typer

from imapeval.cli.commands.study.choices import Against, choose_one
from imapeval.cli.commands.study.inputs import (
    Dimensions,
    Labels,
    Mapping,
    Metrics,
    RatingsFile,
    RunFolders,
    Scales,
    Seed,
    read_rated,
)
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.study.data.findings import ALL, Comparison, Level

_SENTENCES = 20
"""More of them nobody reads: the table says the same."""

_METHODS = {
    "perm-both": "permutation of questions and systems (PERM-BOTH, Deutsch et al. 2021)",
    "perm-inputs": "permutation of questions (PERM-INPUTS, Deutsch et al. 2021)",
    "williams": "Williams' t",
    "steiger": "Steiger's Z",
}

_INTERVALS = {
    "jackknife": "difference and 1.96 jackknife standard errors, answers to one question taken as a whole",
    "bootstrap": "percentile bootstrap of questions",
    "zou": "Zou 2007, for independent answers",
}


def compare(
    folders: RunFolders,
    ratings: RatingsFile = None,
    metrics: Metrics = None,
    dimensions: Dimensions = None,
    against: Against = None,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"How answers are grouped: {', '.join(get_args(Level))}.")
    ] = "within-system",
    coefficient: Annotated[
        str, typer.Option(metavar="NAME", help="spearman, pearson, kendall_tau_b or kendall_tau_c.")
    ] = "spearman",
    test: Annotated[
        str, typer.Option(metavar="TEST", help="perm-inputs, perm-both, williams or steiger.")
    ] = "perm-inputs",
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    seed: Seed = 0,
    resamples: Annotated[int, typer.Option(min=1, help="Permutations, at least.")] = 2000,
    json_output: Json = False,
) -> None:
    """Test which metric agrees better with the ratings: all pairs, or each against one."""
    from imapeval.study.comparison.compare import TESTS
    from imapeval.study.comparison.compare import compare as compute
    from imapeval.study.correlation.coefficients import comparable_coefficients

    # Before anything is read: it may be much.
    chosen = choose_one(test, "--test", TESTS), choose_one(level, "--level", get_args(Level))
    name = choose_one(coefficient, "--coefficient", comparable_coefficients())
    rated = read_rated(
        folders, ratings, metrics=metrics, dimensions=dimensions, scales=scales, mapping=mapping, labels=labels
    ).rated
    rows = compute(
        rated, against=against, coefficient=name, level=chosen[1], test=chosen[0], seed=seed, resamples=resamples
    )
    if json_output:
        echo(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2))
        return
    _print(rows, seed=seed)


def _print(rows: Sequence[Comparison], *, seed: int) -> None:
    """Print a table for each dimension, the surest difference first, and what was found in words."""
    from imapeval.study.correlation.coefficients import find_coefficient

    first = rows[0]
    for dimension in dict.fromkeys(row.dimension for row in rows):
        of_dimension = sorted(
            (row for row in rows if row.dimension == dimension),
            key=lambda row: (2.0 if row.p is None else row.p, -abs(row.difference or 0.0)),
        )
        over = "mean of all dimensions" if dimension == ALL else dimension
        _print_table(
            f"{find_coefficient(first.coefficient).title}, {first.level.replace('-', ' ')}, {over}", of_dimension
        )
        for row in of_dimension[:_SENTENCES]:
            echo(row.sentence)
        if len(of_dimension) > _SENTENCES:
            echo(f"And {len(of_dimension) - _SENTENCES} more, in the table.")
    echo(
        f"p: {_METHODS[first.test]}, two-sided; after Holm: corrected for all comparisons of the table. "
        f"95% interval: {_INTERVALS[first.interval]}. Each pair on the answers that both metrics scored. Seed {seed}."
    )
    reasons = (f"{row.first}, {row.second}, {row.dimension}: {row.reason}" for row in rows if row.reason)
    for reason in reasons:
        echo(f"Note: {reason}.")


def _print_table(title: str, rows: Sequence[Comparison]) -> None:
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.number_format import format_number, format_p

    table = Table(title=Text(title), title_justify="left")
    table.add_column("first", no_wrap=True)
    table.add_column("second", no_wrap=True)
    for column in ("", "", "difference", "95% interval", "p", "after Holm", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        numbers = ("-" if v is None else format_number(v) for v in (row.first_value, row.second_value, row.difference))
        ends = "-" if row.low is None or row.high is None else f"{format_number(row.low)} .. {format_number(row.high)}"
        tests = (
            "-" if p is None else format_p(p).removeprefix("p ").removeprefix("= ") for p in (row.p, row.p_adjusted)
        )
        table.add_row(Text(row.first), Text(row.second), *numbers, ends, *tests, str(row.n))
    print_table(table, width=200)
