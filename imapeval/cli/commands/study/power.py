"""`imapeval study power`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Against, StudyOptions
from imapeval.cli.options import Json, choose_one, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.planning import SizePlan
    from imapeval.study.comparison.power import Power


@expand_options
def power(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Folders of runs of a pilot study.")
    ] = None,
    *,
    options: StudyOptions,
    against: Against = None,
    level: Annotated[str, typer.Option(metavar="LEVEL", help="global or within-system.")] = "within-system",
    coefficient: Annotated[str, typer.Option(metavar="NAME", help="spearman or pearson.")] = "spearman",
    r1: Annotated[float | None, typer.Option(help="Correlation of one metric with the ratings.")] = None,
    r2: Annotated[float | None, typer.Option(help="Correlation of the other metric with the ratings.")] = None,
    r12: Annotated[float | None, typer.Option(help="Correlation of the two metrics.")] = None,
    design_effect: Annotated[
        float,
        typer.Option(help="With --r1: variance of the difference relative to that of independent answers."),
    ] = 1.0,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH",
            help="With runs: answers, raters and systems that give each correlation, and the ceiling, a 95% interval "
            "of this width.",
        ),
    ] = None,
    raters: Annotated[int, typer.Option(min=2, metavar="N", help="With --width: the most raters of an answer.")] = 5,
    chance: Annotated[float, typer.Option("--power", help="Probability of detecting the difference.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Significance level of the two-sided test.")] = 0.05,
    json_output: Json = False,
) -> None:
    """Compute how large a study has to be, from a pilot study.

    How many rated answers tell two metrics apart (also from --r1, --r2 and --r12), or, with --width, give an interval
    of a wanted width.
    """
    from imapeval.study.comparison.planning import plan_width
    from imapeval.study.comparison.power import plan_sample_size, plan_sample_size_from_pilot

    name = choose_one(coefficient, "--coefficient", ("spearman", "pearson"))
    grouping = choose_one(level, "--level", ("global", "within-system"))
    if folders:
        if (r1, r2, r12) != (None, None, None):
            raise UsageError("give either runs or --r1, --r2 and --r12, not both.")
        rated = options.read(folders).rated
        if width is not None:
            plans = plan_width(rated, width, raters=raters, level=grouping, coefficient=name)
            if json_output:
                emit_json(plans)
            else:
                _print_plans(plans)
            return
        rows = plan_sample_size_from_pilot(
            rated, against=against, coefficient=name, level=grouping, power=chance, alpha=alpha
        )
    elif width is not None:
        raise UsageError("--width needs a pilot study. Give the folder of its run.")
    elif r1 is None or r2 is None or r12 is None:
        raise UsageError("give the folder of a run (the pilot study), or all of --r1, --r2 and --r12.")
    else:
        spearman = name == "spearman"
        rows = [
            plan_sample_size(
                r1, r2, between=r12, power=chance, alpha=alpha, spearman=spearman, design_effect=design_effect
            )
        ]
    if json_output:
        emit_json(rows)
    else:
        _print(rows)


def _print(rows: "Sequence[Power]") -> None:
    from imapeval.study.number_format import format_number

    def show(number: float | None) -> str | None:
        return None if number is None else format_number(number)

    def count(number: int | None) -> str | None:
        return None if number is None else f"{number:,}"

    columns = [
        Column("dimension", lambda row: _label_dimension(row.dimension), text=True, wrap=False),
        Column("first", lambda row: row.first, text=True, wrap=False),
        Column("second", lambda row: row.second, text=True, wrap=False),
        Column("", lambda row: show(row.first_value), wrap=False),
        Column("", lambda row: show(row.second_value), wrap=False),
        Column("between", lambda row: show(row.between), wrap=False),
        Column("design effect", lambda row: show(row.design_effect), wrap=False),
        Column("needed", lambda row: count(row.needed), wrap=False),
        Column("n", lambda row: count(row.n), wrap=False),
        Column("smallest found", lambda row: show(row.smallest), wrap=False),
    ]
    if len(rows) > 1:
        ordered = sorted(rows, key=lambda row: (row.needed is None, row.needed))
        emit(ordered, columns, title="Rated answers needed", width=UNLIMITED)
    for row in rows:
        over = f"{_label_dimension(row.dimension)}: " if row.dimension and len(rows) > 1 else ""
        echo(f"{over}{row.sentence}")
    first = rows[0]
    echo(
        f"For Steiger's Z, two-sided, alpha {first.alpha:g}, power {first.power:.0%}, one comparison: for a table of k "
        "comparisons, divide alpha by k. Differences observed in a pilot are uncertain. Design effect: the variance of "
        "a difference relative to that of independent answers."
    )


def _print_plans(plans: "Sequence[SizePlan]") -> None:
    from imapeval.study.number_format import format_number

    def count(number: int | None) -> str | None:
        return None if number is None else f"{number:,}"

    for level, what in (("", "Answers"), ("system", "Systems")):
        rows = [plan for plan in plans if (plan.level == "system") == bool(level)]
        columns = [
            Column("metric", lambda row: row.metric, text=True, wrap=False),
            Column("dimension", lambda row: row.dimension, text=True, wrap=False),
        ]
        if any(row.raters for row in rows):
            columns.append(Column("raters per\nanswer", lambda row: row.raters, wrap=False))
        columns += [
            Column("expected", lambda row: None if row.value is None else format_number(row.value), wrap=False),
            Column(what.lower(), lambda row: count(row.answers), wrap=False),
        ]
        if any(row.ratings for row in rows):
            columns.append(Column("ratings", lambda row: count(row.ratings), wrap=False))
        columns.append(Column("pilot", lambda row: count(row.pilot), wrap=False))
        emit(rows, columns, title=f"{what} for a 95% interval {plans[0].width:g} wide", width=UNLIMITED)
    for row in plans:
        if row.answers is None:
            echo(f"{row.metric}, {row.dimension}: {row.reason or 'no number of answers is enough'}.")
    echo(
        "Expected: the pilot's coefficient with so many raters (Spearman and Brown). What a pilot finds is uncertain, "
        "and so is what follows from it. The ceiling is the highest correlation that a metric could reach with these "
        "ratings."
    )


def _label_dimension(dimension: str) -> str:
    from imapeval.study.data.findings import ALL

    return "mean of all dimensions" if dimension == ALL else dimension
