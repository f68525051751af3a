"""Answers of runs: the files of DrBenchmark's own scripts (`recipes/*/runs/*.json`), or tables of predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import error_at, is_missing, read_number, short_repr
from imapeval.files import refuse_stream
from imapeval.parsing import parse_json
from imapeval.study.closed.drbenchmark.data import read_data
from imapeval.study.closed.drbenchmark.tasks import load_tasks, parse_answer
from imapeval.study.data.columns import refuse_missing_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from imapeval.study.closed.drbenchmark.data import TaskData
    from imapeval.study.closed.drbenchmark.tasks import BenchmarkTask, Kind, Task

_COLUMNS = {
    "task": ("task",),
    "model": ("model", "system"),
    "id": ("id",),
    "predicted": ("predicted", "prediction", "response"),
}
_OPTIONAL = {"run": ("run", "seed"), "share": ("share",)}


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The answers of one run of one model to one task.

    Attributes:
        run: Which of several runs, such as a seed.
        share: Share of the training data that the model was trained on, above 0, at most 1.
        answers: The right answer and the answer given, by item: labels, sets of labels, lists of tags or numbers.
        reported: Metrics stored in the file of the run.
        groups: Groups of items that are not independent, such as several questions on one text.
    """

    task: Task
    model: str
    run: str
    share: float
    answers: Mapping[str, tuple[Any, Any]] = field(repr=False)
    reported: Mapping[str, float] = field(default_factory=dict[str, float])
    groups: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


_RUNS = "DrBenchmark-*.json"

_REPORTED = {
    "f1-micro": ("overall_f1",),
    "f1-weighted": ("weighted avg", "f1-score"),
    "hamming-score": ("hamming_score",),
    "exact-match-ratio": ("exact_match",),
    "edrm": ("EDRM",),
    "spearman": ("spearman_correlation_coef",),
}
"""Names of the metrics in the files of DrBenchmark's scripts."""


def holds_runs(path: Path) -> bool:
    """Return whether a path is a file that DrBenchmark's scripts write, or a folder with one below it."""
    return any(path.rglob(_RUNS)) if path.is_dir() else path.match(_RUNS)


def read_runs(folder: Path) -> list[TaskRun]:
    """Read the files that DrBenchmark's scripts write, below a folder: `recipes/DATASET/runs/DrBenchmark-*.json`.

    Files of tasks that are not among the twenty, such as the classification of CAS, are left out.

    Raises:
        InputError: There is no such file, one is damaged, or two of a task do not have the same items.
    """
    files = sorted(folder.rglob(_RUNS)) if folder.is_dir() else [folder]
    runs = [_read_run(file, task) for file in files if (task := _find_task(file)) is not None]
    if not runs:
        raise InputError(
            "holds no run of one of DrBenchmark's tasks",
            path=folder,
            fix="Give the folder recipes/, in which its scripts wrote DATASET/runs/DrBenchmark-*.json.",
        )
    require_same_items(runs)
    return [run for run, _ in runs]


def require_same_items(runs: Iterable[tuple[TaskRun, Path]]) -> None:
    """Refuse runs of one task that differ in their items or right answers.

    Raises:
        InputError: Two runs differ; the message names the file of the run.
    """
    first: dict[str, tuple[TaskRun, Path]] = {}
    for run, path in runs:
        other, origin = first.setdefault(run.task.name, (run, path))
        if other.answers.keys() != run.answers.keys() or not all(
            _agree(right, run.answers[item][0], run.task.kind) for item, (right, _) in other.answers.items()
        ):
            raise InputError(
                f"has other items or right answers than {origin}", path=path, fix="Give runs on the same test data."
            )


def _find_reported(content: Any, metric: str) -> float | None:
    found = content.get("metrics", {})
    for key in _REPORTED[metric]:
        found = found.get(key, {})
    return read_number(found)


def check_length(right: Any, given: Any, item: str) -> None:
    """Raise `ValueError` where not every token has a tag."""
    if isinstance(right, list) and len(cast("list[str]", right)) != len(given):
        raise ValueError(f"{item!r} has {len(given)} tags, where {len(cast('list[str]', right))} are right")


def _agree(one: Any, other: Any, kind: Kind) -> bool:
    """Return whether right answers are equal; tags are compared up to the shorter list, as models cut long texts."""
    if kind == "sequence":
        return all(a == b for a, b in zip(one, other, strict=False))
    return one == other


def _find_task(path: Path) -> BenchmarkTask | None:
    # The scripts' own names of data sets are not reliable: those of DiaMED say CAS.
    folders = [part.casefold() for part in reversed(path.absolute().parts[:-1])]
    found = [task for task in load_tasks() if task.dataset.casefold() in folders and task.run in path.name]
    return min(found, key=lambda task: folders.index(task.dataset.casefold()), default=None)


def _read_run(path: Path, task: BenchmarkTask) -> tuple[TaskRun, Path]:
    refuse_stream(path)
    try:
        content = parse_json(path.read_bytes())
        settings, sides = content["hyperparameters"], content["predictions"]
        items, gold, predicted = (sides[name] for name in ("identifiers", "real_labels", "system_predictions"))
        if not len(items) == len(gold) == len(predicted):
            raise ValueError(
                f"{len(items)} identifiers, {len(gold)} real_labels and {len(predicted)} system_predictions"
            )
        sides_by_item = [[parse_answer(value, task) for value in side] for side in (gold, predicted)]
        answers = dict(zip(map(str, items), zip(*sides_by_item, strict=True), strict=True))
        share = parse_share(settings.get("fewshot", 1))
        reported = {name: value for name in task.metrics if (value := _find_reported(content, name)) is not None}
        run = TaskRun(task, str(settings["model_name"]), path.stem, share, answers, reported)
        if len(answers) != len(items) or len(answers) < 2:
            raise ValueError("two items have the same id, or there are fewer than two")
        for item, (right, given) in answers.items():
            check_length(right, given, item)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"is no run of DrBenchmark's scripts ({type(error).__name__}: {error})", path=path, fix="Leave it out."
        ) from error
    return run, path


def read_predictions(paths: Iterable[Path], data: Path) -> list[TaskRun]:
    """Read predictions of several runs (.jsonl, .csv, .parquet ...), and the right answers from data sets on disk.

    Columns: `task` (a name of the benchmark), `model`, `id`, `predicted`; optional `run` (or `seed`) and `share` of the
    training data. A predicted label is a text, or the number of a class in the data set, counted from 0.

    Raises:
        InputError: A file cannot be read, a column is missing, a value or task is unknown, a data set is missing, or a
            run does not have exactly one prediction for each test item.
        MissingExtraError: pyarrow is not installed.
    """
    known = {task.name.casefold(): task for task in load_tasks()}
    sets: dict[str, TaskData] = {}
    found: dict[tuple[str, str, str, float], tuple[Path, dict[str, Any]]] = {}
    for path in paths:
        for row in read_file(str(path)):
            fields = {what: next((n for n in names if n in row.fields), None) for what, names in _COLUMNS.items()}
            if lacking := [what for what, name in fields.items() if name is None]:
                raise refuse_missing_column(row, path, lacking[0], fix="Rename one of its columns")
            name, model, item, predicted = (row.fields[str(fields[what])] for what in _COLUMNS)
            run, share = (next((row.fields[n] for n in names if n in row.fields), None) for names in _OPTIONAL.values())
            task = known.get(str(name).casefold())
            if task is None:
                names = ", ".join(task.name for task in known.values())
                raise error_at(row, path, f"unknown task {name!r}", fix=f"Write one of: {names}.")
            if task.name not in sets:
                sets[task.name] = read_data(data, task)
            try:
                part = parse_share(1 if is_missing(share) else share)
            except ValueError as error:
                raise error_at(row, path, str(error), fix="Write 0.25 for a quarter.") from error
            try:
                value = parse_answer(predicted, task, sets[task.name].labels)
            except ValueError as error:
                problem = f"{short_repr(predicted)} is no answer of the task {task.name} ({error})"
                raise error_at(row, path, problem, fix="See docs/closed.md.") from error
            _, answers = found.setdefault(
                (task.name, str(model), str("" if is_missing(run) else run), part), (path, {})
            )
            if str(item) in answers:
                raise error_at(row, path, f"predicts {item!r} of {task.name} twice", fix="Give runs a column `run`.")
            answers[str(item)] = value
    runs: list[TaskRun] = []
    for (name, model, run, share), (path, answers) in found.items():
        gold = sets[name].gold
        if off := sorted(gold.keys() ^ answers.keys()):
            raise InputError(
                f"{model}, run {run!r}, does not predict exactly the {len(gold)} test items of {name}: "
                f"{len(gold.keys() - answers.keys())} are missing and {len(answers.keys() - gold.keys())} are unknown, "
                f"such as {off[0]!r}",
                path=path,
                fix=f"Predict every item once, by the column {sets[name].task.id!r} of the data set.",
            )
        try:
            for item, right in gold.items():
                check_length(right, answers[item], item)
        except ValueError as error:
            raise InputError(str(error), path=path, fix="Give a tag for every token, O for those not read.") from error
        runs.append(
            TaskRun(sets[name].task, model, run, share, {item: (right, answers[item]) for item, right in gold.items()})
        )
    return runs


def parse_share(value: Any) -> float:
    """Return a share of the training data; raise `ValueError` where it is none."""
    number = read_number(value)
    if number is None or not 0 < number <= 1:
        raise ValueError(f"{value!r} is no share of the training data, above 0 and at most 1")
    return number
