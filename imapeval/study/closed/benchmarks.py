"""Reads the answers of a declared benchmark of many tasks: DrBenchmark (Labrak et al. 2024).

Its tasks are data (`drbenchmark.json`): kind, metrics, columns, source. None of its texts is shipped: right answers
come from copies of its data sets on disk, as `datasets` writes them (Arrow) or as its hub has them (Parquet), or from
the files that DrBenchmark's own scripts write for each run (`recipes/*/runs/*.json`), which hold both sides.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import TypeAdapter

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.evaluation.samples.formats import read_file
from imapeval.evaluation.samples.rows import list_columns, read_number, short_repr
from imapeval.study.data.scales import Scale  # noqa: TC001  # pydantic reads the type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Kind = Literal["labels", "multilabel", "sequence", "grade"]

_COLUMNS = {
    "task": ("task",),
    "model": ("model", "system"),
    "id": ("id",),
    "predicted": ("predicted", "prediction", "response"),
}
_OPTIONAL = {"run": ("run", "seed"), "share": ("share",)}


@dataclass(frozen=True, slots=True)
class BenchmarkTask:
    """One task of a benchmark.

    Attributes:
        name: As in the benchmark's tables.
        dataset, config: Name and configuration of its data set; "" if it has only one.
        kind: Of its answers.
        metrics: Of the benchmark, the main one first.
        id, gold: Columns of the data set.
        texts: Columns with what a model reads.
        test: Number of test items, as published.
        run: What is in the names of the files that the benchmark's own scripts write.
        source, citation: Where the data set is from.
        labels: The classes, in the order of their numbers; empty where there are many.
        scale: Of grades.
    """

    name: str
    dataset: str
    config: str
    kind: Kind
    metrics: tuple[str, ...]
    id: str
    gold: str
    texts: tuple[str, ...]
    test: int
    run: str
    source: str
    citation: str
    labels: tuple[str, ...] = ()
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class TaskRun:
    """The answers of one run of one model to one task.

    Attributes:
        task: The task.
        model: Name of the model.
        run: Which of several runs, such as a seed.
        share: Share of the training data that the model was trained on, above 0, at most 1.
        answers: What is right and what was answered, by item: labels, sets of labels, lists of tags or numbers.
    """

    task: BenchmarkTask
    model: str
    run: str
    share: float
    answers: Mapping[str, tuple[Any, Any]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class TaskData:
    """The test items of one task.

    Attributes:
        task: The task.
        gold: What is right, by id.
        texts: What a model reads, by id: words, where the data set has them, else texts.
        labels: The names of the classes, by their numbers; empty if the data set has no numbers.
    """

    task: BenchmarkTask
    gold: Mapping[str, Any]
    texts: Mapping[str, Sequence[str]]
    labels: tuple[str, ...]


@cache
def load_tasks() -> tuple[BenchmarkTask, ...]:
    """Return DrBenchmark's twenty tasks."""
    described = json.loads(Path(__file__).with_name("drbenchmark.json").read_bytes())
    return TypeAdapter(tuple[BenchmarkTask, ...]).validate_python(described["tasks"])


def read_runs(folder: Path) -> list[TaskRun]:
    """Read the files that DrBenchmark's scripts write, below a folder: `recipes/DATASET/runs/DrBenchmark-*.json`.

    Files of tasks that are none of the twenty, such as the classification of CAS, are left out.

    Raises:
        InputError: There is none, one is damaged, or two of a task are not about the same items.
    """
    files = sorted(folder.rglob("DrBenchmark-*.json")) if folder.is_dir() else [folder]
    runs = [_read_run(file, task) for file in files if (task := _find_task(file)) is not None]
    if not runs:
        raise InputError(
            "holds no run of one of DrBenchmark's tasks",
            path=folder,
            fix="Give the folder recipes/, in which its scripts wrote DATASET/runs/DrBenchmark-*.json.",
        )
    first: dict[str, tuple[TaskRun, Path]] = {}
    for run, path in runs:
        other, origin = first.setdefault(run.task.name, (run, path))
        if other.answers.keys() != run.answers.keys() or not all(
            _agree(right, run.answers[item][0]) for item, (right, _) in other.answers.items()
        ):
            raise InputError(
                f"has other items or right answers than {origin}", path=path, fix="Give runs on the same test data."
            )
    return [run for run, _ in runs]


def _check_length(right: Any, given: Any, item: str) -> None:
    if isinstance(right, list) and len(cast("list[str]", right)) != len(given):
        raise ValueError(f"{item!r} has {len(given)} tags, where {len(cast('list[str]', right))} are right")


def _agree(one: Any, other: Any) -> bool:
    """Return whether right answers are the same, for tags as far as both go: models cut long texts."""
    if isinstance(one, list):
        return all(a == b for a, b in zip(cast("list[str]", one), cast("list[str]", other), strict=False))
    return one == other


def _find_task(path: Path) -> BenchmarkTask | None:
    # The scripts' own names of data sets are not reliable: those of DiaMED say CAS.
    folders = {part.casefold() for part in path.parts[:-1]}
    return next((task for task in load_tasks() if task.dataset.casefold() in folders and task.run in path.name), None)


def _read_run(path: Path, task: BenchmarkTask) -> tuple[TaskRun, Path]:
    try:
        content = json.loads(path.read_bytes())
        settings, sides = content["hyperparameters"], content["predictions"]
        items, gold, predicted = (sides[name] for name in ("identifiers", "real_labels", "system_predictions"))
        sides_by_item = [[_parse(value, task) for value in side] for side in (gold, predicted)]
        answers = dict(zip(map(str, items), zip(*sides_by_item, strict=True), strict=True))
        share = _parse_share(settings.get("fewshot", 1))
        run = TaskRun(task, str(settings["model_name"]), path.stem, share, answers)
        if len(answers) != len(items) or len(answers) < 2:
            raise ValueError("its items have not each an id of their own, or are fewer than two")
        for item, (right, given) in answers.items():
            _check_length(right, given, item)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"is no run of DrBenchmark's scripts ({type(error).__name__}: {error})", path=path, fix="Leave it out."
        ) from error
    return run, path


def read_predictions(paths: Iterable[Path], data: Path) -> list[TaskRun]:
    """Read predictions of several runs (.jsonl, .csv, .parquet ...), and the right answers from data sets on disk.

    Columns: `task` (a name of the benchmark), `model`, `id`, `predicted`; optional `run` (or `seed`) and `share` of the
    training data. A predicted label is a text, or the number of a class in the data set, counted from 0.

    Raises:
        InputError: A file cannot be read, a column is missing, a value or task is unknown, a data set is not there, or
            a run has not one prediction for each test item.
        MissingExtraError: pyarrow is not installed.
    """
    known = {task.name.casefold(): task for task in load_tasks()}
    sets: dict[str, TaskData] = {}
    found: dict[tuple[str, str, str, float], tuple[Path, dict[str, Any]]] = {}
    for path in paths:
        for row in read_file(str(path)):
            fields = {what: next((n for n in names if n in row.fields), None) for what, names in _COLUMNS.items()}
            if lacking := [what for what, name in fields.items() if name is None]:
                raise InputError(
                    f"there is no column {lacking[0]!r}",
                    path=path,
                    line=row.line,
                    fix=f"Name one of its columns so: {list_columns(row.fields)}.",
                )
            name, model, item, predicted = (row.fields[str(fields[what])] for what in _COLUMNS)
            run, share = (next((row.fields[n] for n in names if n in row.fields), None) for names in _OPTIONAL.values())
            task = known.get(str(name).casefold())
            if task is None:
                names = ", ".join(task.name for task in known.values())
                raise InputError(f"unknown task {name!r}", path=path, line=row.line, fix=f"Write one of: {names}.")
            if task.name not in sets:
                sets[task.name] = read_data(data, task)
            try:
                value, part = (
                    _parse(predicted, task, sets[task.name].labels),
                    _parse_share(1 if share is None else share),
                )
            except ValueError as error:
                raise InputError(
                    f"{short_repr(predicted)} is no answer of the task {task.name} ({error})",
                    path=path,
                    line=row.line,
                    fix="See docs/closed.md.",
                ) from error
            _, answers = found.setdefault((task.name, str(model), str("" if run is None else run), part), (path, {}))
            if str(item) in answers:
                raise InputError(
                    f"predicts {item!r} of {task.name} twice", path=path, line=row.line, fix="Give runs a column `run`."
                )
            answers[str(item)] = value
    runs: list[TaskRun] = []
    for (name, model, run, share), (path, answers) in found.items():
        gold = sets[name].gold
        if off := sorted(gold.keys() ^ answers.keys()):
            raise InputError(
                f"{model}, run {run!r}, does not predict exactly the {len(gold)} test items of {name}: {off[0]!r} and "
                f"{len(off) - 1} others are in one only",
                path=path,
                fix=f"Predict every item once, by the column {sets[name].task.id!r} of the data set.",
            )
        try:
            for item, right in gold.items():
                _check_length(right, answers[item], item)
        except ValueError as error:
            raise InputError(str(error), path=path, fix="Give a tag for every token, O for those not read.") from error
        runs.append(
            TaskRun(sets[name].task, model, run, share, {item: (right, answers[item]) for item, right in gold.items()})
        )
    return runs


def read_data(folder: Path, task: BenchmarkTask) -> TaskData:
    """Read the test items of a task from a copy of its data set.

    The folder is searched for Arrow and Parquet files whose path has the data set's name, its configuration and "test":
    `recipes/quaero/data/local_hf_emea/test/data-00000-of-00001.arrow`, `QUAERO/emea/test-00000-of-00001.parquet`.

    Raises:
        InputError: There is none, several copies are there, or it has not the columns that the task is declared with.
        MissingExtraError: pyarrow is not installed.
    """
    files = [path for path in folder.rglob("*") if path.suffix in {".arrow", ".parquet"} and _is_of(path, folder, task)]
    if len({path.parent for path in files}) != 1:
        copies = len({path.parent for path in files})
        wanted = "/".join(filter(None, (task.dataset, task.config, "test-00000-of-00001.parquet")))
        raise InputError(
            f"holds {copies or 'no'} copies of the test data of {task.name}",
            path=folder,
            fix=f"Save it there from {task.source}, such as {wanted}, or with save_to_disk of `datasets`.",
        )
    gold: dict[str, Any] = {}
    texts: dict[str, Sequence[str]] = {}
    labels = task.labels
    for path in sorted(files):
        rows, names = _read_columns(path, (task.id, task.gold, *task.texts))
        labels = names.get(task.gold) or labels
        for row in rows:
            try:
                gold[str(row[task.id])] = _parse(row[task.gold], task, labels)
            except ValueError as error:
                told = f"{task.gold!r} is {short_repr(row[task.gold])} ({error})"
                raise InputError(told, path=path, fix="Save the data set again.") from error
            read: list[Any] = [row[column] for column in task.texts]
            parts = [cast("list[str]", one) if isinstance(one, list) else [str(one)] for one in read]
            texts[str(row[task.id])] = [*chain.from_iterable(parts)]
    return TaskData(task, gold, texts, labels)


def _is_of(path: Path, folder: Path, task: BenchmarkTask) -> bool:
    *folders, name = (part.casefold() for part in path.relative_to(folder.parent).parts)
    config = task.config.casefold()
    return (
        any(task.dataset.casefold() in part for part in folders)
        and (not config or any(part in {config, f"local_hf_{config}"} for part in folders))
        and ("test" in folders[-1:] or name.startswith("test") or "-test." in name or "-test-" in name)
    )


def _read_columns(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, tuple[str, ...]]]:
    """Return the rows, and the names of the classes of each column that has numbers of classes."""
    needed_for = "Data sets on disk"
    try:
        if path.suffix == ".parquet":
            parquet: Any = require("pyarrow.parquet", distribution="pyarrow", extra="parquet", needed_for=needed_for)
            table = parquet.read_table(path, columns=[*dict.fromkeys(columns)])
        else:
            ipc: Any = require("pyarrow.ipc", distribution="pyarrow", extra="parquet", needed_for=needed_for)
            table = ipc.open_stream(path).read_all().select([*dict.fromkeys(columns)])
    except (OSError, ValueError, KeyError) as error:  # pyarrow's own errors derive from these
        raise InputError(f"cannot be read ({error})", path=path, fix=f"It has to have {', '.join(columns)}.") from error
    metadata: dict[bytes, bytes] = table.schema.metadata or {}
    described = json.loads(metadata.get(b"huggingface", b"{}"))
    features = described.get("info", {}).get("features", {})
    names = {column: _find_names(features.get(column)) for column in columns}
    return table.to_pylist(), {column: found for column, found in names.items() if found}


def _find_names(feature: Any) -> tuple[str, ...]:
    """Return the names of classes that a feature of `datasets` declares, alone or in a list."""
    if isinstance(feature, list) and feature:
        return _find_names(feature[0])
    if not isinstance(feature, dict):
        return ()
    described = cast("dict[str, Any]", feature)
    return tuple(described["names"]) if "names" in described else _find_names(described.get("feature"))


def _parse(value: Any, task: BenchmarkTask, names: Sequence[str] = ()) -> Any:
    """Return an answer as it is measured: a label, a set of labels, a list of tags or a number.

    Args:
        value: As JSON, a cell of a table or a data set has it; labels may be their numbers.
        task: Its task.
        names: Of the classes; those of the task by default.

    Raises:
        ValueError: It is none.
    """
    known = names or task.labels
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = json.loads(value)
    if task.kind == "grade":
        number = read_number(value[0] if isinstance(value, list) and len(cast("list[Any]", value)) == 1 else value)
        if number is None:
            raise ValueError("no finite number")
        return number
    if task.kind == "labels":
        return _name(value, known)
    if task.kind == "sequence":
        tags = value.split() if isinstance(value, str) else value
        if not isinstance(tags, list):
            raise ValueError("no list of tags")
        return [_name(tag, known) for tag in cast("list[Any]", tags)]
    if isinstance(value, str):  # letters of right options together, as in "abe"
        return frozenset(value if set(value) <= set(known) else {value} if value else ())
    if not isinstance(value, (list, tuple)):
        raise ValueError("no list of labels")
    given = cast("list[Any]", value)
    if known and len(given) == len(known) and all(isinstance(one, float) for one in given):  # one-hot
        return frozenset(name for name, one in zip(known, given, strict=True) if one)
    return frozenset(_name(one, known) for one in given)


def _name(value: Any, known: Sequence[str]) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        raise ValueError("no label")
    if isinstance(value, (int, float)):
        if not known or not 0 <= value < len(known) or value != int(value):
            raise ValueError("the number of a class without a name")
        return known[int(value)]
    return str(value).strip()


def _parse_share(value: Any) -> float:
    number = read_number(value)
    if number is None or not 0 < number <= 1:
        raise ValueError(f"{value!r} is no share of the training data, above 0 and at most 1")
    return number
