"""`imapeval study raters`."""

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from imapeval.cli.commands.study.inputs import CoefficientOption, RunFoldersArgument, SeedOption, StudyOptions
from imapeval.cli.options import JsonOption, choose_one, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.raters import AlternativeAnnotator, MetricVsRater, WorthInRaters


@expand_options
def raters(
    folders: RunFoldersArgument,
    options: StudyOptions,
    level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL", help="How answers are grouped: global, within-system, within-question or system."
        ),
    ] = "within-system",
    coefficient: CoefficientOption = "spearman",
    epsilon: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Advantage granted to metrics in the alternative annotator test: .2 beside experts, .1 beside crowd "
            "workers.",
        ),
    ] = 0.2,
    seed: SeedOption = 0,
    json_output: JsonOption = False,
) -> None:
    """Compare metrics with the raters themselves. Needs the ratings of individual raters."""
    from imapeval.study.agreement.constant_raters import describe_constant_raters
    from imapeval.study.comparison.raters import compare_with_raters, count_worth, run_alternative_annotator_test
    from imapeval.study.correlation.coefficients import comparable_coefficients
    from imapeval.study.data.findings import Level

    grouping = choose_one(level, "--level", get_args(Level))
    choose_one(coefficient, "--coefficient", comparable_coefficients())
    rated = options.read(folders).rated
    # First the one that checks epsilon: the correlations may take long.
    tests = run_alternative_annotator_test(rated, epsilon=epsilon, seed=seed)
    beside = compare_with_raters(rated, coefficient=coefficient, level=grouping)
    worth = count_worth(rated)
    if json_output:
        emit_json({"correlations": beside, "alternative_annotator": tests, "worth_in_raters": [*map(_to_json, worth)]})
        return
    for dimension in rated.dimensions:
        _print_correlations([row for row in beside if row.dimension == dimension], f"{coefficient}, {level}")
    echo("Correlations with the mean rating of the other raters: the metric's, then the rater's, on the same answers.")
    _print_worth(worth)
    echo(
        "Raters whose mean would be as near to the true quality of the answers: from Pearson's r over all answers, "
        "corrected for the noise of the ratings, and the reliability of one rating (Spearman and Brown). None: the "
        "correlation is not above 0."
    )
    _print_tests(tests)
    echo(
        f"Alternative annotator test (Calderon et al. 2025), epsilon {epsilon:g}: share of the raters to whom a metric "
        "is preferable (from .5 on it passes), and how often it is at least as near to the other raters as they are. "
        f"Metrics are put on the raters' scale by cross-fitted isotonic curves, seed {seed}."
    )
    for row in (*worth, *tests):
        if row.reason:
            echo(f"Note: {row.metric}, {row.dimension}: {row.reason}.")
    for sentence in describe_constant_raters(rated):
        echo(sentence)


def _to_json(row: "WorthInRaters") -> dict[str, object]:
    # JSON has no infinity.
    return {name: "no limit" if value == math.inf else value for name, value in dataclasses.asdict(row).items()}


def _print_correlations(rows: "Sequence[MetricVsRater]", title: str) -> None:
    from imapeval.study.number_format import format_number

    cells = {(row.metric, row.rater): row for row in rows}

    def show(row: "MetricVsRater") -> str:
        values = ("-" if value is None else format_number(value) for value in (row.metric_value, row.rater_value))
        return f"{' / '.join(values)}\nn {row.n}"

    columns = [Column("metric", lambda metric: metric, text=True, wrap=False)]
    columns += [
        Column(rater, lambda metric, rater=rater: cells.get((metric, rater)), show, wrap=False)
        for rater in dict.fromkeys(row.rater for row in rows)
    ]
    if rows:
        metrics = dict.fromkeys(row.metric for row in rows)
        emit(metrics, columns, title=f"{rows[0].dimension}: metric / rater, {title}", width=UNLIMITED)


def _print_worth(rows: "Sequence[WorthInRaters]") -> None:
    from imapeval.study.comparison.raters import format_worth

    def show_interval(row: "WorthInRaters") -> str | None:
        return None if row.low is None else f"{format_worth(row.low)} .. {format_worth(row.high)}"

    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("dimension", "dimension", text=True, wrap=False),
        Column("raters", lambda row: format_worth(row.raters), wrap=False),
        Column("95% interval", show_interval, wrap=False),
    ]
    emit(rows, columns, title="How many raters is a metric worth?", width=UNLIMITED)


def _print_tests(rows: "Sequence[AlternativeAnnotator]") -> None:
    from imapeval.study.number_format import format_number

    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("dimension", "dimension", text=True, wrap=False),
        Column("winning\nrate", "winning_rate", write=format_number, wrap=False),
        Column("advantage", "advantage", write=format_number, wrap=False),
        Column("raters", "raters", wrap=False),
        Column("passes", lambda row: None if row.reason else "yes" if row.passed else "no", wrap=False),
        Column("n", "n", wrap=False),
    ]
    emit(rows, columns, title="Could the metric stand in for a rater?", width=UNLIMITED)
