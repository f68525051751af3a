"""`imapeval study slices`."""

from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import CoefficientOption, RunFoldersArgument, StudyOptions
from imapeval.cli.options import JsonOption, choose_one, expand_options, parse_names
from imapeval.cli.output import Column, echo, emit, emit_json, format_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.subgroups.heterogeneity import Heterogeneity
    from imapeval.study.subgroups.slices import Slice


@expand_options
def slices(
    folders: RunFoldersArgument,
    options: StudyOptions,
    facets: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Group answers by: system, dimension, language, compression ...  [default: all]",
        ),
    ] = None,
    bins: Annotated[
        int, typer.Option(min=2, metavar="N", help="Number of equally large groups of a numeric property.")
    ] = 4,
    coefficient: CoefficientOption = "spearman",
    json_output: JsonOption = False,
) -> None:
    """Correlate metrics with ratings within groups of answers: by task, language, system, dimension, length ..."""
    from imapeval.study.correlation.coefficients import comparable_coefficients
    from imapeval.study.subgroups.heterogeneity import compare_slices
    from imapeval.study.subgroups.slices import slice_answers

    choose_one(coefficient, "--coefficient", comparable_coefficients())
    rated = options.read(folders).rated
    wanted = parse_names(facets, "--facets")
    found = slice_answers(rated, coefficient=coefficient, facets=wanted, bins=bins)
    tests = compare_slices(rated, coefficient=coefficient, facets=wanted, bins=bins)
    if json_output:
        emit_json({"slices": found, "tests": tests})
        return
    _print(found)
    _print_tests(tests)
    echo(
        "Within system: the mean over systems, weighted by their numbers of answers in the group. Below each "
        "coefficient: its 95% interval, from the influence of each question, and n. Tests: homogeneity of correlations "
        "(Hedges and Olkin 1985), Holm's correction over the metrics and facets of a dimension."
    )


def _print(rows: "Sequence[Slice]") -> None:
    """Print a table per facet: groups x metrics, for the mean over dimensions if there are several."""
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
        columns = [Column(facet, lambda group: group or "unnamed", text=True)]
        columns += [
            Column(metric, lambda group, key=(facet, metric): _format_cell(cells[key[0], group, key[1]]), wrap=False)
            for metric in metrics
        ]
        # Wide enough for any number of metrics where the output is not a terminal.
        groups = dict.fromkeys(row.group for row in shown if row.facet == facet)
        emit(groups, columns, title=title, width=60 + 20 * len(metrics))
        # Metrics that lack a coefficient for the same reason share a sentence.
        reasons: dict[tuple[str, str], list[str]] = {}
        for row in shown:
            if row.facet == facet and row.value is None and row.reason is not None:
                reasons.setdefault((row.group or "unnamed", row.reason), []).append(row.metric)
        for (group, reason), lacking in reasons.items():
            echo(f"{group}: no coefficient of {', '.join(dict.fromkeys(lacking))}: {reason}.")


def _format_cell(row: "Slice") -> str:
    from imapeval.study.number_format import format_number, write_coefficient

    if row.value is None:
        return f"-\nn {row.n}"
    interval = format_interval(row.low, row.high, digits=2, write=write_coefficient)
    return f"{format_number(row.value)}\n{interval}\nn {row.n}"


def _print_tests(tests: "Sequence[Heterogeneity]") -> None:
    """Print the significant differences, and the number of the others."""
    from imapeval.study.data.findings import ALL
    from imapeval.study.intervals import SIGNIFICANCE_LEVEL

    several = any(row.dimension == ALL for row in tests)
    tests_shown = [row for row in tests if not several or row.dimension == ALL]
    for row in tests_shown:
        if row.p_adjusted is None or row.p_adjusted < SIGNIFICANCE_LEVEL:
            echo(row.sentence)
    chance = sum(row.p_adjusted is not None and row.p_adjusted >= SIGNIFICANCE_LEVEL for row in tests_shown)
    if chance:
        echo(f"In {chance} of {len(tests_shown)} tests the groups do not differ significantly.")
