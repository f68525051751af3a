"""`imapeval study power`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import AgainstOption, StudyOptions, label_dimension
from imapeval.cli.options import JsonOption, choose_one, expand_options, find_given
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.planning import SizePlan
    from imapeval.study.comparison.power import Power


_SHORT = 50
"""Answers: with fewer, power falls short (`benchmarks/planning.py --power`)."""

_RATERS = 5
"""The most raters of an answer that --width plans for."""

_WITHOUT_PILOT = frozenset({"r1", "r2", "r12", "design_effect", "coefficient", "chance", "alpha", "json_output"})
"""The parameters that have an effect without a pilot study."""


@expand_options
def power(
    context: typer.Context,
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN...]", help="Folders of runs of a pilot study.")
    ] = None,
    *,
    options: StudyOptions,
    against: AgainstOption = None,
    level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="global or within-system (how many answers), or system (how many systems; not with --width).",
        ),
    ] = "within-system",
    coefficient: Annotated[str, typer.Option(metavar="NAME", help="spearman or pearson.")] = "spearman",
    r1: Annotated[
        float | None,
        typer.Option(help="Without runs: correlation of a metric with the ratings; alone, to be told from 0."),
    ] = None,
    r2: Annotated[float | None, typer.Option(help="Correlation of another metric with the ratings.")] = None,
    r12: Annotated[float | None, typer.Option(help="Correlation of the two metrics.")] = None,
    design_effect: Annotated[
        float,
        typer.Option(help="With --r1: variance of the difference relative to that of independent answers."),
    ] = 1.0,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH",
            help="With runs: answers, raters and systems that give each correlation, the ceiling and, with --against, "
            "each difference a 95% interval of this width.",
        ),
    ] = None,
    raters: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Plan for 1 to N raters of each answer; needs the ratings of individual raters.  [default: 5 with "
            "--width, otherwise as many as in the pilot]",
        ),
    ] = None,
    chance: Annotated[float, typer.Option("--power", help="Probability of detecting the difference.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Significance level of the two-sided test.")] = 0.05,
    json_output: JsonOption = False,
) -> None:
    """Compute how large a study has to be, from a pilot study.

    How many rated answers tell two metrics apart, or show that a single one (--metrics) agrees with the raters better
    than chance; or, with --width, give an interval of a wanted width. Without a pilot, give --r1, --r2 and --r12.
    """
    from imapeval.study.comparison.planning import plan_width
    from imapeval.study.comparison.power import plan_detection, plan_sample_size, plan_sample_size_from_pilot

    name = choose_one(coefficient, "--coefficient", ("spearman", "pearson"))
    grouping = choose_one(level, "--level", ("global", "within-system", "system"))
    given = find_given(context)
    if folders:
        if (r1, r2, r12) != (None, None, None):
            raise UsageError("give either runs or --r1, --r2 and --r12, not both.")
        if design_effect != 1.0:
            raise UsageError("--design-effect goes with --r1: a pilot study has its own.")
        if width is not None and (unused := given.get("chance") or given.get("alpha")):
            raise UsageError(f"{unused} is about a test, and --width about an interval. Give one of the two.")
        rated = options.read(folders).rated
        if width is not None:
            plans = plan_width(
                rated, width, raters=raters or _RATERS, against=against, level=grouping, coefficient=name
            )
            if json_output:
                emit_json(plans)
            else:
                _print_plans(plans)
            return
        rows = plan_sample_size_from_pilot(
            rated, against=against, coefficient=name, level=grouping, raters=raters, power=chance, alpha=alpha
        )
    elif unused := [option for name, option in given.items() if name not in _WITHOUT_PILOT]:
        raise UsageError(f"{unused[0]} needs a pilot study. Give the folder of its run.")
    elif r1 is not None and (r2, r12) == (None, None):
        rows = [plan_detection(r1, power=chance, alpha=alpha, spearman=name == "spearman", design_effect=design_effect)]
    elif r1 is None or r2 is None or r12 is None:
        raise UsageError(
            "give the folder of a run (the pilot study), all of --r1, --r2 and --r12, or --r1 alone for one metric."
        )
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

    columns = [
        Column("dimension", "dimension", write=label_dimension, text=True, wrap=False),
        Column("first", "first", text=True, wrap=False),
        Column("second", lambda row: row.second or "0", text=True, wrap=False),
        Column("of the\nfirst", "first_value", write=format_number, wrap=False),
        Column("of the\nsecond", "second_value", write=format_number, wrap=False),
        Column("between", "between", write=format_number, wrap=False),
        Column("design effect", "design_effect", write=format_number, wrap=False),
    ]
    if any(row.raters for row in rows):
        columns.append(Column("raters per\nanswer", "raters", wrap=False))
    columns.append(Column("needed", "needed", write="{:,}".format, wrap=False))
    if any(row.ratings for row in rows):
        columns.append(Column("ratings", "ratings", write="{:,}".format, wrap=False))
    columns += [
        Column("pilot", "n", write="{:,}".format, wrap=False),
        Column("smallest found", "smallest", write=format_number, wrap=False),
    ]
    first = rows[0]
    systems = first.level == "system"
    if len(rows) > 1:
        ordered = sorted(rows, key=lambda row: (row.needed is None, row.ratings or row.needed))
        emit(ordered, columns, title="Systems needed" if systems else "Rated answers needed", width=UNLIMITED)
    # With numbers of raters, a sentence for each would say the table again.
    described = [row for row in rows if row.raters is None or row.needed is None]
    for row in described:
        over = f"{label_dimension(row.dimension)}: " if row.dimension and len(rows) > 1 else ""
        echo(f"{over}{row.sentence}")
    echo(
        f"For a two-sided test, alpha {first.alpha:g}, power {first.power:.0%}, one comparison: for a table of k "
        "comparisons, divide alpha by k. What a pilot finds is uncertain, and so is what follows from it. Design "
        f"effect: the variance relative to that of independent {'systems' if systems else 'answers'}."
    )
    if systems:
        echo("Each with as many questions as in the pilot. The test is about other systems (`--test perm-systems`).")
    if any(row.needed is not None and row.needed < _SHORT for row in rows):
        echo(
            f"Sizes below {_SHORT} give less power than planned, for example about 70% in place of 80%. Plan a quarter "
            "more."
        )
    if any(row.raters for row in rows):
        echo(
            "With other numbers of raters, correlations are those to be expected (Spearman and Brown). 'ratings' is "
            "answers times raters."
        )


def _print_plans(plans: "Sequence[SizePlan]") -> None:
    from imapeval.study.comparison.planning import MIN_ANSWERS_FOR_CEILING
    from imapeval.study.number_format import format_number

    for level, what in (("", "Answers"), ("system", "Systems")):
        rows = [plan for plan in plans if (plan.level == "system") == bool(level)]
        columns = [
            Column("metric", _name_plan, text=True, wrap=False),
            Column("dimension", "dimension", text=True, wrap=False),
        ]
        if any(row.raters for row in rows):
            columns.append(Column("raters per\nanswer", "raters", wrap=False))
        columns += [
            Column("expected", "value", write=format_number, wrap=False),
            Column(what.lower(), "answers", write="{:,}".format, wrap=False),
        ]
        if any(row.ratings for row in rows):
            columns.append(Column("ratings", "ratings", write="{:,}".format, wrap=False))
        columns.append(Column("pilot", "pilot", write="{:,}".format, wrap=False))
        emit(rows, columns, title=f"{what} for a 95% interval {plans[0].width:g} wide", width=UNLIMITED)
    for row in plans:
        if row.answers is None:
            reason = row.reason if row.value is None else "no number of answers is enough"
            echo(f"{_name_plan(row)}, {row.dimension}: {reason}.")
    unknown = {row.dimension: row.reason for row in plans if row.value is not None and row.reason}
    for dimension, reason in unknown.items():
        echo(f"{dimension}: what other numbers of raters would do cannot be told from the pilot: {reason}.")
    echo(
        "Expected: the pilot's coefficient with so many raters (Spearman and Brown). Answers: those of all systems "
        "together, with as many systems and as many answers to a question as in the pilot. The ceiling, over all "
        "answers together, is the highest correlation that a metric could reach with these ratings; it is planned with "
        f"{MIN_ANSWERS_FOR_CEILING} answers or more. What a pilot finds is uncertain, and so is what follows from it: "
        "in 80% of simulated pilots of 75 answers the planned number was between .7 and 1.6 times the right one."
    )


def _name_plan(row: "SizePlan") -> str:
    return f"{row.metric} - {row.second}" if row.second else row.metric
