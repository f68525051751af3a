"""`imapeval study slices`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import (
    Dimensions,
    Labels,
    Mapping,
    Metrics,
    RatingsFile,
    RunFolders,
    Scales,
    parse_names,
    read_rated,
)
from imapeval.cli.options import Json
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.data.findings import Heterogeneity, Slice


def slices(
    folders: RunFolders,
    ratings: RatingsFile = None,
    metrics: Metrics = None,
    dimensions: Dimensions = None,
    facets: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="By what: system, dimension, language, compression ...  [default: all]"),
    ] = None,
    bins: Annotated[int, typer.Option(min=2, help="Groups of equal size that lengths and the like are cut into.")] = 4,
    coefficient: Annotated[
        str, typer.Option(metavar="NAME", help="spearman, kendall_tau_b, kendall_tau_c or pearson.")
    ] = "spearman",
    scales: Scales = None,
    mapping: Mapping = None,
    labels: Labels = None,
    json_output: Json = False,
) -> None:
    """Tell where metrics agree with the ratings: by task, language, system, dimension, length and compression."""
    from imapeval.study.correlation.coefficients import comparable_coefficients
    from imapeval.study.subgroups.heterogeneity import compare_slices
    from imapeval.study.subgroups.slices import slice_answers

    known = comparable_coefficients()
    if coefficient not in known:
        raise UsageError(f"unknown --coefficient {coefficient!r}. Write one of: {', '.join(known)}.")
    rated = read_rated(
        folders, ratings, metrics=metrics, dimensions=dimensions, scales=scales, mapping=mapping, labels=labels
    ).rated
    wanted = parse_names(facets, "--facets")
    found = slice_answers(rated, coefficient=coefficient, facets=wanted, bins=bins)
    tests = compare_slices(rated, coefficient=coefficient, facets=wanted, bins=bins)
    if json_output:
        content = {"slices": [asdict(row) for row in found], "tests": [asdict(row) for row in tests]}
        echo(json.dumps(content, ensure_ascii=False, indent=2))
        return
    _print(found)
    _print_tests(tests)
    echo(
        "Within system: the mean over systems, each as often as it has answers in the group. Below each coefficient: "
        "95% interval, by the influence of each question, and n. Tests: homogeneity of correlations (Hedges and Olkin "
        "1985), Holm's correction over the metrics and facets of a dimension."
    )


def _print(rows: "Sequence[Slice]") -> None:
    """Print a table per facet: groups x metrics, of the mean over dimensions where there are several."""
    from rich.table import Table
    from rich.text import Text

    from imapeval.study.correlation.coefficients import find_coefficient
    from imapeval.study.data.findings import ALL
    from imapeval.study.subgroups.slices import DIMENSION

    several = any(row.dimension == ALL for row in rows)
    shown = [row for row in rows if row.facet == DIMENSION or not several or row.dimension == ALL]
    cells = {(row.facet, row.group, row.metric): row for row in shown}
    metrics = list(dict.fromkeys(row.metric for row in shown))
    for facet in dict.fromkeys(row.facet for row in shown):
        of = ", mean over dimensions" if several and facet != DIMENSION else ""
        title = f"{find_coefficient(shown[0].coefficient).title} by {facet}{of}"
        table = Table(title=Text(title), title_justify="left")
        table.add_column(Text(facet))
        for metric in metrics:
            table.add_column(Text(metric), justify="right", no_wrap=True)
        for group in dict.fromkeys(row.group for row in shown if row.facet == facet):
            table.add_row(Text(group or "unnamed"), *(_format_cell(cells[facet, group, metric]) for metric in metrics))
        # Where nobody looks at a terminal nothing is cut off, however many metrics there are.
        print_table(table, width=60 + 20 * len(metrics))


def _format_cell(row: "Slice") -> str:
    from imapeval.study.number_format import format_number

    if row.value is None:
        return f"-\nn {row.n}"
    interval = "-" if row.low is None or row.high is None else f"{format_number(row.low)} .. {format_number(row.high)}"
    return f"{format_number(row.value)}\n{interval}\nn {row.n}"


def _print_tests(tests: "Sequence[Heterogeneity]") -> None:
    """Print the differences that are no chance, and how many may be."""
    from imapeval.study.data.findings import ALL
    from imapeval.study.subgroups.heterogeneity import SIGNIFICANCE_LEVEL

    several = any(row.dimension == ALL for row in tests)
    told = [row for row in tests if not several or row.dimension == ALL]
    for row in told:
        if row.p_adjusted is None or row.p_adjusted < SIGNIFICANCE_LEVEL:
            echo(row.sentence)
    chance = sum(row.p_adjusted is not None and row.p_adjusted >= SIGNIFICANCE_LEVEL for row in told)
    if chance:
        echo(f"In {chance} of {len(told)} tests nothing shows that the groups differ: there it may be chance.")
