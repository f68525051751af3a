"""Tables of systems that are compared: the leaderboard, and the differences in pairs."""

from typing import TYPE_CHECKING

from imapeval.cli.output import UNLIMITED, Column, echo, emit, format_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.systems.differences import Difference
    from imapeval.study.systems.ranking import Standing


def print_standings(rows: "Sequence[Standing]") -> None:
    """Print the leaderboard of each metric."""
    from imapeval.study.number_format import format_score, write_score

    columns = [
        Column("metric", lambda row: row.metric, text=True, wrap=False),
        Column("", lambda row: row.rank, wrap=False),
        Column("system", lambda row: row.system, text=True),
        Column("mean", lambda row: None if row.mean is None else format_score(row.mean), wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high, write=write_score), wrap=False),
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


def print_differences(rows: "Sequence[Difference]", title: str, *, group: str = "") -> None:
    """Print differences between systems; `group` is the heading of the groups of questions, "" for none."""
    from imapeval.study.number_format import format_number, format_p_value, write_coefficient

    def show(number: float) -> str:
        return format_number(number, digits=3)

    columns = [Column("metric", lambda row: row.metric, text=True, wrap=False)]
    if group:
        columns = [Column(group, lambda row: row.group, text=True)]
    columns += [
        Column("first", lambda row: row.first, text=True),
        Column("second", lambda row: row.second, text=True),
        Column("difference", lambda row: None if row.difference is None else show(row.difference), wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high, write=write_coefficient), wrap=False),
        Column(
            "p after\nHolm",
            lambda row: None if row.p_adjusted is None else format_p_value(row.p_adjusted),
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
