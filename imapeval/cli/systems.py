"""Tables of systems that are compared: the leaderboard, and the differences in pairs."""

from functools import partial
from typing import TYPE_CHECKING

from imapeval.cli.output import UNLIMITED, Column, echo, emit, interval_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.systems.differences import Difference
    from imapeval.study.systems.ranking import Standing


def print_standings(rows: "Sequence[Standing]") -> None:
    """Print the leaderboard of each metric."""
    from imapeval.study.intervals.coverage import describe_mean_coverage
    from imapeval.study.number_format import format_score, write_score
    from imapeval.study.systems.ranking import describe_questions

    columns = [
        Column("metric", "metric", text=True, wrap=False),
        Column("", "rank", wrap=False),
        Column("system", "system", text=True),
        Column("mean", "mean", write=format_score, wrap=False),
        interval_column(write=write_score, wrap=False),
        Column("questions", "questions", wrap=False),
    ]
    if any(row.unscored for row in rows):
        columns.append(Column("not\nscored", "unscored"))
    if any(row.groups for row in rows):
        columns.append(Column("group", "groups", text=True, wrap=False))
    emit(rows, columns, title="Leaderboard", width=UNLIMITED)
    if any(row.groups for row in rows):
        echo("Systems that share a letter cannot be told apart by that metric.")
    for sentence in (*describe_mean_coverage(row.resampled for row in rows), *describe_questions(rows)):
        echo(sentence)


def print_differences(rows: "Sequence[Difference]", title: str, *, group: str = "") -> None:
    """Print differences between systems; `group` is the heading of the groups of questions, "" for none."""
    from imapeval.study.number_format import format_number, format_p_value, write_coefficient

    columns = [Column("metric", "metric", text=True, wrap=False)]
    if group:
        columns = [Column(group, "group", text=True)]
    columns += [
        Column("first", "first", text=True),
        Column("second", "second", text=True),
        Column("difference", "difference", write=partial(format_number, digits=3), wrap=False),
        interval_column(write=write_coefficient, wrap=False),
        Column("p after\nHolm", "p_adjusted", write=format_p_value, wrap=False),
        Column(
            "won, tied,\nlost",
            lambda row: row.describe_pairs(),
            wrap=False,
        ),
        Column("questions", "questions", wrap=False),
    ]
    if any(row.left_out for row in rows):
        columns.append(Column("of one\nonly", "left_out", wrap=False))
    if any(row.equivalent is not None for row in rows):
        columns.append(
            Column("equivalent", lambda row: None if row.equivalent is None else ("yes" if row.equivalent else "no"))
        )
    emit(rows, columns, title=title, width=UNLIMITED)
    if any(row.difference is None for row in rows):
        echo("Rows without a difference: one of the two systems has no score for these questions.")
