"""Right answers and texts from copies of the data sets: Arrow as `datasets` saves it, or Parquet as its hub has it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from imapeval._optional import require
from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import short_repr
from imapeval.files import refuse_stream
from imapeval.study.closed.drbenchmark.tasks import parse_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.study.closed.drbenchmark.tasks import BenchmarkTask


@dataclass(frozen=True, slots=True)
class TaskData:
    """The test items of one task.

    Attributes:
        gold: The right answer, by id.
        texts: The model's input, by id: words if the data set has them, otherwise texts.
        labels: The names of the classes, by their numbers; empty if the data set has no numbers.
    """

    task: BenchmarkTask
    gold: Mapping[str, Any]
    texts: Mapping[str, Sequence[str]]
    labels: tuple[str, ...]


def read_data(folder: Path, task: BenchmarkTask) -> TaskData:
    """Read the test items of a task from a copy of its data set.

    The folder is searched for Arrow and Parquet files whose path has the data set's name, its configuration and "test":
    `recipes/quaero/data/local_hf_emea/test/data-00000-of-00001.arrow`, `QUAERO/emea/test-00000-of-00001.parquet`.

    Raises:
        InputError: There is no copy, with the folder as `path`; there are several; or it lacks columns that the task
            declares.
        MissingExtraError: pyarrow is not installed.
    """
    # The name of the folder counts, too, which "." and ".." do not say.
    root = folder if folder.name.strip(".") else folder.resolve()
    files = [
        path for path in root.rglob("*") if path.suffix in {".arrow", ".parquet"} and _belongs_to_task(path, root, task)
    ]
    copies = sorted({path.parent for path in files})
    if not copies:
        wanted = "/".join(filter(None, (task.dataset, task.config, "test-00000-of-00001.parquet")))
        raise InputError(
            f"holds no copy of the test data of {task.name}",
            path=folder,
            fix=f"Save it there from {task.source}, such as {wanted}, or with save_to_disk of `datasets`.",
        )
    if len(copies) > 1:
        raise InputError(
            f"holds the test data of {task.name}, and so does {copies[0]}", path=copies[1], fix="Keep one of them."
        )
    gold: dict[str, Any] = {}
    texts: dict[str, Sequence[str]] = {}
    labels = task.labels
    for path in sorted(files):
        rows, names = _read_columns(path, (task.id, task.gold, *task.texts))
        labels = names.get(task.gold) or labels
        for row in rows:
            if row[task.id] is None:
                raise InputError("an item has no id", path=path, fix="Save the data set again.")
            if str(row[task.id]) in gold:
                problem = f"two items, or more, have the id {short_repr(row[task.id])}"
                raise InputError(problem, path=path, fix="Save the data set again.")
            try:
                gold[str(row[task.id])] = parse_answer(row[task.gold], task, labels)
            except ValueError as error:
                problem = f"{task.gold!r} is {short_repr(row[task.gold])} ({error})"
                raise InputError(problem, path=path, fix="Save the data set again.") from error
            read: list[Any] = [row[column] for column in task.texts]
            parts = [cast("list[str]", one) if isinstance(one, list) else [str(one)] for one in read]
            texts[str(row[task.id])] = [*chain.from_iterable(parts)]
    return TaskData(task, gold, texts, labels)


def _belongs_to_task(path: Path, folder: Path, task: BenchmarkTask) -> bool:
    *folders, name = (part.casefold() for part in path.relative_to(folder.parent).parts)
    config = task.config.casefold()
    # Between other words, as in "local_hf_cas", but not within one, as in "cases".
    dataset = re.compile(rf"(?<![^\W_]){re.escape(task.dataset.casefold())}(?![^\W_])")
    return (
        any(map(dataset.search, folders))
        and (not config or any(part in {config, f"local_hf_{config}"} for part in folders))
        and ("test" in folders[-1:] or name.startswith("test") or "-test." in name or "-test-" in name)
    )


def _read_columns(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, Any]], dict[str, tuple[str, ...]]]:
    """Return the rows, and the class names of each column that holds class numbers."""
    refuse_stream(path)
    pyarrow: Any = require("pyarrow", distribution="pyarrow", extra="parquet", needed_for="Data sets on disk")
    wanted = [*dict.fromkeys(columns)]
    try:
        if path.suffix == ".parquet":
            table = import_module("pyarrow.parquet").read_table(path, columns=wanted)
        else:
            table = pyarrow.ipc.open_stream(path).read_all().select(wanted)
        # Otherwise wrong offsets in a damaged file of Arrow end the process.
        table.validate(full=True)
        rows = table.to_pylist()
    # pyarrow raises these for files that are of another format, are damaged, or lack a column.
    except (pyarrow.ArrowException, ValueError, OSError, ArithmeticError, MemoryError, KeyError) as error:
        problem, *_ = str(error).splitlines() or [type(error).__name__]  # the other lines are pyarrow's schema
        raise InputError(
            f"cannot be read ({problem})", path=path, fix=f"It has to have {', '.join(columns)}."
        ) from error
    metadata: dict[bytes, bytes] = table.schema.metadata or {}
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}")).get("info", {}).get("features", {})
        names = {column: _find_names(features.get(column)) for column in columns}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"its description by `datasets` cannot be read ({error})", path=path, fix="Save the data set again."
        ) from error
    return rows, {column: found for column, found in names.items() if found}


def _find_names(feature: Any) -> tuple[str, ...]:
    """Return the names of classes that a feature of `datasets` declares, alone or in a list."""
    if isinstance(feature, list) and feature:
        return _find_names(feature[0])
    if not isinstance(feature, dict):
        return ()
    described = cast("dict[str, Any]", feature)
    if "names" not in described:
        return _find_names(described.get("feature"))
    names = described["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        raise TypeError("the names of classes are no list of texts")
    return tuple(cast("list[str]", names))
