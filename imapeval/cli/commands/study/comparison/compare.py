"""`imapeval study compare`."""

from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from imapeval.cli.commands.study.inputs import (
    AgainstOption,
    RunFoldersArgument,
    SeedOption,
    StudyOptions,
    label_dimension,
    list_coefficients,
)
from imapeval.cli.options import JsonOption, choose_one, expand_options
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, interval_column
from imapeval.study.data.findings import Comparison, Level

_SENTENCES = 20
"""Sentences that are printed; the table says the same of all pairs."""

_METHODS = {
    "perm-inputs": "permutation of questions (PERM-INPUTS, Deutsch et al. 2021), for these systems on other questions",
    "boot-inputs": "bootstrap of questions (BOOT-INPUTS, Deutsch et al. 2021), for these systems on other questions",
    "perm-systems": "permutation of systems (PERM-SYSTEMS, Deutsch et al. 2021), for other systems on these questions",
    "williams": "Williams' t",
    "steiger": "Steiger's Z",
}

_INTERVALS = {
    "jackknife": "difference and jackknife standard errors, what is permuted taken as a whole",
    "bootstrap": "percentile bootstrap of questions",
    "zou": "Zou 2007, for independent answers",
}


@expand_options
def compare(
    folders: RunFoldersArgument,
    options: StudyOptions,
    against: AgainstOption = None,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help=f"How answers are grouped: {', '.join(get_args(Level))}.")
    ] = "within-system",
    coefficient: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=list_coefficients(
                "pairwise_accuracy (only with the levels within-question and system)",
                "soft_pairwise_accuracy (only with the level system)",
            ),
        ),
    ] = "spearman",
    test: Annotated[
        str | None,
        typer.Option(
            metavar="TEST",
            help="perm-inputs (the default), boot-inputs (the default at the level system), perm-systems, williams or "
            "steiger.",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="VALUE",
            help="Say which metrics agree as well as others: they are worse by less than VALUE, if at all.",
        ),
    ] = None,
    seed: SeedOption = 0,
    resamples: Annotated[
        int, typer.Option(min=1, metavar="N", help="Minimum number of permutations or resamples.")
    ] = 2000,
    json_output: JsonOption = False,
) -> None:
    """Test which metric agrees better with the ratings, for all pairs or against one metric."""
    from imapeval.study.comparison.compare import TESTS, choose_test
    from imapeval.study.comparison.compare import compare as compute
    from imapeval.study.correlation.coefficients import all_coefficients

    # Checked before anything is read, which may take long.
    wanted = None if test is None else choose_one(test, "--test", TESTS)
    grouping = choose_one(level, "--level", get_args(Level))
    choose_one(coefficient, "--coefficient", tuple(all_coefficients()))
    choose_test(coefficient, grouping, wanted)
    rows = compute(
        options.read(folders).rated,
        against=against,
        coefficient=coefficient,
        level=grouping,
        test=wanted,
        margin=margin,
        seed=seed,
        resamples=resamples,
    )
    if json_output:
        emit_json(rows)
    else:
        _print(rows, seed=seed)


def _print(rows: Sequence[Comparison], *, seed: int) -> None:
    """Print for each dimension a table, smallest p first, and the findings as sentences."""
    from imapeval.study.correlation.coefficients import find_coefficient
    from imapeval.study.intervals.coverage import describe_level_coverage

    first = rows[0]
    for dimension in dict.fromkeys(row.dimension for row in rows):
        of_dimension = sorted(
            (row for row in rows if row.dimension == dimension),
            key=lambda row: (2.0 if row.p is None else row.p, -abs(row.difference or 0.0)),
        )
        title = f"{find_coefficient(first.coefficient).title}, {first.level.replace('-', ' ')}"
        _print_table(f"{title}, {label_dimension(dimension)}", of_dimension)
        for row in of_dimension[:_SENTENCES]:
            echo(row.sentence)
        if len(of_dimension) > _SENTENCES:
            echo(f"More comparisons in the table: {len(of_dimension) - _SENTENCES}.")
        if ranks := _list_ranks(of_dimension):
            echo(ranks)
    echo(
        f"p: {_METHODS[first.test]}, two-sided; after Holm: corrected for all comparisons of the table. "
        f"95% interval: {_INTERVALS[first.interval]}. Each pair is compared on the answers that both metrics scored. "
        f"Seed {seed}."
    )
    if any(row.interval == "bootstrap" and row.low is not None for row in rows):
        echo("\n".join(describe_level_coverage([("system", "questions")])))
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            pair = f"{row.first} and {row.second} ({label_dimension(row.dimension)})"
            by_reason.setdefault(row.reason, []).append(pair)
    for reason, pairs in by_reason.items():
        echo(f"Note on {'every comparison' if len(pairs) == len(rows) else ', '.join(pairs)}: {reason}.")


def _list_ranks(rows: Sequence[Comparison]) -> str:
    """Say which metrics share a rank, best first; "" if there are no ranks."""
    sides = [(row.first, row.first_rank, row.first_value) for row in rows]
    sides += [(row.second, row.second_rank, row.second_value) for row in rows]
    by_rank: dict[int, dict[str, float]] = {}
    for metric, rank, value in sides:
        if rank is not None and value is not None:
            by_rank.setdefault(rank, {}).setdefault(metric, value)
    if not by_rank:
        return ""
    listed = "; ".join(
        f"{rank}: {', '.join(sorted(by_rank[rank], key=lambda metric: -by_rank[rank][metric]))}"
        for rank in sorted(by_rank)
    )
    return (
        "Ranks, best first (from the best metric down, a new rank begins with the first metric that differs "
        f"significantly from one of the rank above): {listed}."
    )


def _print_table(title: str, rows: Sequence[Comparison]) -> None:
    from imapeval.study.number_format import format_number, format_p_value, write_coefficient

    columns = [
        Column("first", "first", text=True, wrap=False),
        Column("second", "second", text=True, wrap=False),
        Column("of the\nfirst", "first_value", write=format_number, wrap=False),
        Column("of the\nsecond", "second_value", write=format_number, wrap=False),
        Column("difference", "difference", write=format_number, wrap=False),
        interval_column(digits=2, write=write_coefficient, wrap=False),
        Column("p", "p", write=format_p_value, wrap=False),
        Column("after Holm", "p_adjusted", write=format_p_value, wrap=False),
        Column("n", "n", wrap=False),
    ]
    emit(rows, columns, title=title, width=UNLIMITED)
