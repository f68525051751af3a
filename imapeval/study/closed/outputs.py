"""Sorts files of model outputs by content, and reads them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.study.closed.drbenchmark.runs import holds_runs, read_predictions, read_runs, require_same_items
from imapeval.study.closed.logs import holds_logs, read_logs
from imapeval.study.closed.task_table import holds_tasks, read_task_table
from imapeval.study.data.columns import find_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.study.closed.drbenchmark.runs import TaskRun
    from imapeval.study.closed.logs import ClosedAnswer


@dataclass(frozen=True, slots=True)
class Outputs:
    """The contents of the files.

    Attributes:
        answers: Answers to closed questions.
        runs: Runs of models on tasks of other kinds.
        missing: Number of missing answers in `runs`, by task and model.
    """

    answers: Sequence[ClosedAnswer]
    runs: Sequence[TaskRun]
    missing: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Files by content.

    Attributes:
        logs: Answers to closed questions: logs of harnesses, and tables.
        tables: Tables of tasks of several kinds.
        runs: Files written by DrBenchmark's scripts.
        predictions: Tables of predictions for DrBenchmark's tasks.
    """

    logs: list[Path] = field(default_factory=list["Path"])
    tables: list[Path] = field(default_factory=list["Path"])
    runs: list[Path] = field(default_factory=list["Path"])
    predictions: list[Path] = field(default_factory=list["Path"])


def sort_outputs(paths: Sequence[Path], *, predictions: bool = False) -> OutputFiles:
    """Sort files, and folders for all that is below them.

    Args:
        paths: At least one.
        predictions: Whether tables without right answers are predictions for DrBenchmark's tasks.

    Raises:
        InputError: A table cannot be read.
        UsageError: No file is a table of predictions.
    """
    found = OutputFiles()
    for path in paths:
        if holds_runs(path):
            found.runs.append(path)
            if path.is_dir() and holds_logs(path):
                found.logs.append(path)
        elif holds_tasks(path):
            found.tables.append(path)
        else:
            columns = find_columns(path) if predictions else frozenset[str]()
            lacks_gold = bool(columns) and columns.isdisjoint({"answer", "gold", "cop", "doc"})
            (found.predictions if lacks_gold else found.logs).append(path)
    if predictions and not found.predictions:
        raise UsageError("no FILE is a table of predictions, without right answers. Leave out --data.")
    return found


def read_outputs(files: OutputFiles, data: Path | None = None) -> Outputs:
    """Read all files.

    Args:
        files: From `sort_outputs`.
        data: Folder with the data sets that predictions are for.

    Raises:
        InputError: A file cannot be read, or runs of one task do not have the same items.
        UsageError: A table has another task by the name of one of DrBenchmark's.
        MissingExtraError: A package that a format needs is not installed.
    """
    tables, missing = read_task_table(files.tables)
    runs = [(run, path) for path in files.runs for run in read_runs(path)]
    predicted = [] if data is None else [(run, data) for run in read_predictions(files.predictions, data)]
    require_same_items([*runs, *predicted])
    all_runs = [*tables, *(run for run, _ in [*runs, *predicted])]
    tasks = Counter(task.name for task in dict.fromkeys(run.task for run in all_runs))
    if twice := [name for name, count in tasks.items() if count > 1]:
        raise UsageError(
            f"{twice[0]!r} is one task in a table, and another one of DrBenchmark's. Give it another name."
        )
    return Outputs(read_logs(files.logs) if files.logs else (), all_runs, missing)
