"""Tables of models on tasks that are not multiple choice: pairs that differ, learning curves."""

from typing import TYPE_CHECKING

from imapeval.cli.output import UNLIMITED, Column, echo, emit, format_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.drbenchmark.results import TaskResult, TaskTest
    from imapeval.study.closed.findings import ClosedFindings

_OFF = 0.0005
"""Values of a file that differ by more are said to differ: half of the last digit shown."""


def print_tasks(found: "ClosedFindings") -> None:
    """Print pairs of models, learning curves, and what is to be known of the answers."""
    from imapeval.study.closed.drbenchmark.tasks import load_tasks
    from imapeval.study.number_format import find_digits, write_decimal

    largest = {task: max(row.share for row in found.results if row.task == task) for task in _tasks(found)}
    _print_tests(found.tests)
    if any(row.share < largest[row.task] for row in found.results):
        _print_curves(found)
    if found.tests:
        echo(
            "p: over items and runs, corrected by Holm over the pairs of a task; "
            "t-test: Student's, over the values of the runs alone, as papers report it."
        )
    published = {task.name: task.test for task in load_tasks()}
    for task, items in {row.task: row.items for row in found.results}.items():
        if items != published.get(task, items):
            echo(f"{task}: {items} test items here, {published[task]} as published.")
    for row in found.results:
        off = [(own, said) for own, said in zip(row.runs, row.reported, strict=True) if said and abs(own - said) > _OFF]
        if off:
            own, said = max(off, key=lambda pair: abs(pair[0] - pair[1]))
            said, own = (write_decimal(value, find_digits(own, said, digits=3)) for value in (said, own))
            echo(f"{row.task}, {row.model}: a file says {row.metric} {said}, where {own} is found.")
    cut = [row for row in found.results if row.cut]
    for row in {(row.task, row.model): row for row in cut}.values():
        echo(
            f"{row.model} read only the beginning of {row.cut} of {row.items} texts of {row.task} and is scored on it."
        )
    for row in found.missing:
        echo(f"{row.task}{f', {row.model}' if row.model else ''}: no answer to {row.answers}, counted as wrong.")


def _tasks(found: "ClosedFindings") -> list[str]:
    return list(dict.fromkeys(row.task for row in found.results))


def _print_tests(tests: "Sequence[TaskTest]") -> None:
    from imapeval.study.number_format import format_p_value, format_signed, write_signed

    columns = [
        Column("task", lambda row: row.task, text=True, wrap=False),
        Column("metric", lambda row: row.metric, text=True, wrap=False),
        Column("pair", lambda row: f"{row.first} - {row.second}", text=True),
        Column("difference", lambda row: format_signed(row.difference), wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high, write=write_signed), wrap=False),
        Column("p (Holm)", lambda row: format_p_value(row.p_adjusted), wrap=False),
        Column("t-test", lambda row: None if row.p_over_runs is None else format_p_value(row.p_over_runs), wrap=False),
    ]
    emit(tests, columns, title="Pairs of models on other tasks", width=UNLIMITED)


def _print_curves(found: "ClosedFindings") -> None:
    from imapeval.study.number_format import format_decimal, format_interval, write_decimal

    cells = {(row.task, row.metric, row.model, row.share): row for row in found.results}
    shares = sorted({share for *_, share in cells})

    def show(cell: "TaskResult | None") -> str | None:
        if cell is None:
            return None
        return f"{format_decimal(cell.mean)} [{format_interval(cell.low, cell.high, digits=3, write=write_decimal)}]"

    several = {row.task for row in found.results if len({r.share for r in found.results if r.task == row.task}) > 1}
    rows = list(dict.fromkeys(key[:3] for key in cells if key[0] in several))
    columns = [
        Column("task", lambda row: row[0], text=True, wrap=False),
        Column("metric", lambda row: row[1], text=True, wrap=False),
        Column("model", lambda row: row[2], text=True),
        *(Column(f"{share:.0%}", lambda row, share=share: show(cells.get((*row, share)))) for share in shares),
    ]
    emit(rows, columns, title="By share of the training data, with 95% intervals", width=UNLIMITED)
