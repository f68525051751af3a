"""`imapeval compare`: which system is better, by how much, on which questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Seed
from imapeval.cli.options import Json, parse_names
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.report.systems import SystemComparison
    from imapeval.study.systems.differences import Difference
    from imapeval.study.systems.ranking import Change

_PAIRS = 3
"""Pairs of systems whose changes are printed; the JSON has those of all pairs."""

_CHARACTERS = 100
"""Characters of a question that are printed."""


def compare(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs: of one system each, or of several.")
    ],
    *,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Metrics; changes are listed by the first one.  [default: all in the runs]"),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="SYSTEM", help="Compare every other system with this one.  [default: all pairs]"),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Also compare within groups of questions, by columns of the data.  "
            "[default: task, dataset and language, if there are several]",
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(metavar="VALUE", help="Say which systems are equivalent: they differ by less than VALUE."),
    ] = None,
    changes: Annotated[
        int, typer.Option(min=0, metavar="N", help="List the N questions that a system lost, and gained, most on.")
    ] = 5,
    table: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write the differences to FILE: .csv, .md or .tex. Repeatable."),
    ] = None,
    seed: Seed = 0,
    json_output: Json = False,
) -> None:
    """Compare systems: which is better, by how much, and on which questions.

    Systems are compared on the questions that both answered.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.report.systems import SUFFIXES, SystemComparison, explain_changes, write_table
    from imapeval.study.data.joining import read_signatures
    from imapeval.study.systems.answers import read_systems
    from imapeval.study.systems.differences import compare_systems
    from imapeval.study.systems.ranking import find_metric_disagreements, list_changes, rank_systems

    for path in table or ():
        if path.suffix not in SUFFIXES:
            raise UsageError(f"--table {path}: the suffix is one of {', '.join(SUFFIXES)}.")
    runs = [Run(folder) for folder in folders]
    answers = read_systems(runs, metrics=parse_names(metrics, "--metrics"), by=parse_names(by, "--by"))
    differences = compare_systems(answers, against=against, margin=margin, seed=seed)
    main = [row for row in differences if row.metric == answers.metrics[0] and not row.column]
    listed: list[Change] = []
    for row in main:
        of_pair = list_changes(answers, metric=row.metric, first=row.first, second=row.second)
        listed += [change for change in of_pair[:changes] if change.gain < 0]
        of_pair.sort(key=lambda change: -change.gain)
        listed += [change for change in of_pair[:changes] if change.gain > 0]
    comparison = SystemComparison(
        signatures=read_signatures(runs, answers.metrics),
        standings=rank_systems(answers, differences, seed=seed),
        differences=differences,
        disagreements=find_metric_disagreements(answers, differences),
        changes=listed,
        reasons=explain_changes(runs, answers, listed),
        seed=seed,
        margin=margin,
    )
    for path in table or ():
        write_table(comparison, path)
    if json_output:
        emit_json(comparison.to_dict())
        return
    for row in differences:
        if row.metric == answers.metrics[0] and (not row.column or row.better):
            echo(row.sentence)
    _print_disagreements(comparison)
    _print_standings(comparison)
    _print_differences([row for row in differences if not row.column], "Differences, over all questions")
    for column in answers.groups:
        of_column = [row for row in differences if row.column == column and row.metric == answers.metrics[0]]
        _print_differences(of_column, f"Differences by {column}, {answers.metrics[0]}", group=column)
    _print_changes(comparison)
    echo(
        "Interval: 95%, percentile bootstrap of questions. p: permutation test, two-sided; after Holm: corrected for "
        f"the comparisons of a metric{' within a column' if answers.groups else ''}. Seed {seed}."
    )


def _print_standings(comparison: "SystemComparison") -> None:
    from imapeval.report.summary import format_number

    rows = comparison.standings
    columns = [
        Column("metric", lambda row: row.metric, text=True, wrap=False),
        Column("", lambda row: row.rank, wrap=False),
        Column("system", lambda row: row.system, text=True),
        Column("mean", lambda row: None if row.mean is None else format_number(row.mean), wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high, write=format_number), wrap=False),
        Column("questions", lambda row: row.questions, wrap=False),
    ]
    if any(row.unscored for row in rows):
        columns.append(Column("not\nscored", lambda row: row.unscored))
    if any(row.groups for row in rows):
        columns.append(Column("group", lambda row: row.groups, text=True, wrap=False))
    emit(rows, columns, title="Leaderboard", width=UNLIMITED)
    if any(row.groups for row in rows):
        echo("Systems that share a letter cannot be told apart by that metric.")
    own = dict.fromkeys(row.metric for row in rows if not row.shared)
    if own:
        echo(f"No question has a score of every system: each mean is over other questions ({', '.join(own)}).")


def _print_differences(rows: "Sequence[Difference]", title: str, *, group: str = "") -> None:
    from imapeval.study.number_format import format_number, format_p

    def show(number: float) -> str:
        return format_number(number, digits=3)

    columns = [Column("metric", lambda row: row.metric, text=True, wrap=False)]
    if group:
        columns = [Column(group, lambda row: row.group, text=True)]
    columns += [
        Column("first", lambda row: row.first, text=True),
        Column("second", lambda row: row.second, text=True),
        Column("difference", lambda row: None if row.difference is None else show(row.difference), wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high, write=show), wrap=False),
        Column(
            "p after\nHolm",
            lambda row: (
                None if row.p_adjusted is None else format_p(row.p_adjusted).removeprefix("p ").removeprefix("= ")
            ),
            wrap=False,
        ),
        Column(
            "won, tied,\nlost",
            lambda row: f"{row.wins}, {row.ties}, {row.losses}" if row.paired else "not paired",
            wrap=False,
        ),
        Column("questions", lambda row: row.questions, wrap=False),
    ]
    if any(row.left_out for row in rows):
        columns.append(Column("of one\nonly", lambda row: row.left_out, wrap=False))
    if any(row.equivalent is not None for row in rows):
        columns.append(
            Column("equivalent", lambda row: None if row.equivalent is None else ("yes" if row.equivalent else "no"))
        )
    emit(rows, columns, title=title, width=UNLIMITED)


def _print_disagreements(comparison: "SystemComparison") -> None:
    from imapeval.study.number_format import format_p

    def write(metrics: dict[str, float | None]) -> str:
        return ", ".join(name if p is None else f"{name} ({format_p(p)})" for name, p in metrics.items())

    for row in comparison.disagreements:
        echo(
            f"Metrics disagree: {row.first} is ahead of {row.second} by {write(row.for_first)}, and behind by "
            f"{write(row.for_second)}."
        )


def _print_changes(comparison: "SystemComparison") -> None:
    from imapeval.report.summary import format_number

    pairs = list(dict.fromkeys((row.first, row.second) for row in comparison.changes))
    for first, second in pairs[:_PAIRS]:
        of_pair = [row for row in comparison.changes if (row.first, row.second) == (first, second)]
        for what, sign in (("lost", -1), ("gained", 1)):
            rows = [row for row in of_pair if sign * row.gain > 0]
            if rows:
                echo(f"\n{first} {what} most against {second} on:")
            for row in rows:
                scores = f"{format_number(row.first_score)} against {format_number(row.second_score)}"
                echo(f"  {_shorten(row.question)}\n    {scores}")
                worse, ids = (first, row.first_ids) if row.gain < 0 else (second, row.second_ids)
                for id_ in ids:
                    echo(f"    {worse}, {id_}: {comparison.reasons[worse, id_] or 'no facts'}")
    if len(pairs) > _PAIRS:
        echo(f"\nThe changes of {len(pairs) - _PAIRS} more pairs of systems: --against SYSTEM, or --json.")
    if comparison.changes:
        echo("")


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _CHARACTERS else f"{line[: _CHARACTERS - 1]}…"
