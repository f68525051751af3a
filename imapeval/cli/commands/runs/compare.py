"""`imapeval compare`: which system is better, by how much, on which questions."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import SeedOption
from imapeval.cli.options import JsonOption, parse_names
from imapeval.cli.output import echo, emit_json
from imapeval.cli.systems import print_differences, print_standings
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Range
    from imapeval.report.systems import SystemComparison
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
        typer.Option(
            metavar="VALUE",
            help="Say which systems are equivalent: they differ by less than VALUE, in the metric's unit.",
        ),
    ] = None,
    changes: Annotated[
        int, typer.Option(min=0, metavar="N", help="List the N questions with the largest losses and gains.")
    ] = 5,
    table: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write the differences to FILE: .csv, .md or .tex. Repeatable."),
    ] = None,
    seed: SeedOption = 0,
    json_output: JsonOption = False,
) -> None:
    """Compare systems: which is better, by how much, and on which questions.

    Systems are compared on the questions that both answered.
    """
    from imapeval.evaluation.runs import Run
    from imapeval.report.systems import SUFFIXES, SystemComparison, explain_changes, write_table
    from imapeval.study.data.joining import read_signatures
    from imapeval.study.data.unfinished import describe_unfinished
    from imapeval.study.intervals.coverage import describe_difference_coverage
    from imapeval.study.systems.answers import read_systems
    from imapeval.study.systems.differences import compare_systems
    from imapeval.study.systems.ranking import find_metric_disagreements, list_changes, rank_systems

    for path in table or ():
        if path.suffix not in SUFFIXES:
            raise UsageError(f"--table {path}: the suffix is one of {', '.join(SUFFIXES)}.")
    runs = [Run(folder) for folder in folders]
    answers = read_systems(runs, metrics=parse_names(metrics, "--metrics"), by=parse_names(by, "--by"))
    for sentence in describe_unfinished(runs):
        echo(sentence, err=True)
    ranges = dict(chain.from_iterable(run.ranges.items() for run in runs))
    if margin is not None:
        _check_margin(margin, answers.metrics[0], ranges)
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
        standings=rank_systems(answers, differences, ranges=ranges, seed=seed),
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
    print_standings(comparison.standings)
    print_differences([row for row in differences if not row.column], "Differences, over all questions")
    for column in answers.groups:
        of_column = [row for row in differences if row.column == column and row.metric == answers.metrics[0]]
        print_differences(of_column, f"Differences by {column}, {answers.metrics[0]}", group=column)
    printed = [row for row in differences if not row.column or row.metric == answers.metrics[0]]
    for sentence in describe_difference_coverage(printed):
        echo(sentence)
    _print_changes(comparison)
    echo(
        "Interval: 95%, percentile bootstrap of questions. p: permutation test, two-sided; after Holm: corrected for "
        f"the comparisons of a metric{' within a column' if answers.groups else ''}. Seed {seed}."
    )


def _check_margin(margin: float, metric: str, ranges: "Mapping[str, Range]") -> None:
    """Refuse a margin that no difference of the first metric can exceed, such as 5 for a score from 0 to 1."""
    low, high = ranges.get(metric, (None, None))
    if low is not None and high is not None and margin >= high - low:
        raise UsageError(
            f"--margin {margin:g}: {metric} is between {low:g} and {high:g}, so every difference would be within it. "
            f"Give the margin in the unit of {metric}, such as {(high - low) / 20:g}."
        )


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
    from imapeval.report.markdown import shorten_line
    from imapeval.study.number_format import format_score

    pairs = list(dict.fromkeys((row.first, row.second) for row in comparison.changes))
    for first, second in pairs[:_PAIRS]:
        of_pair = [row for row in comparison.changes if (row.first, row.second) == (first, second)]
        for what, sign in (("lost", -1), ("gained", 1)):
            rows = [row for row in of_pair if sign * row.gain > 0]
            if rows:
                echo(f"\n{first} {what} most against {second} on:")
            for row in rows:
                scores = f"{format_score(row.first_score)} against {format_score(row.second_score)}"
                echo(f"  {shorten_line(row.question, _CHARACTERS)}\n    {scores}")
                worse, ids = (first, row.first_ids) if row.gain < 0 else (second, row.second_ids)
                for id_ in ids:
                    echo(f"    {worse}, {id_}: {comparison.reasons[worse, id_] or 'no facts'}")
    if len(pairs) > _PAIRS:
        echo(f"\nThe changes of {len(pairs) - _PAIRS} more pairs of systems: --against SYSTEM, or --json.")
    if comparison.changes:
        echo("")
