"""The twenty tasks, as data (`tasks.json`), and what their answers look like."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import TypeAdapter

from imapeval.evaluation.samples.rows import read_number
from imapeval.parsing import parse_json
from imapeval.study.data.scales import RatingScale  # noqa: TC001  # pydantic reads the type

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal["labels", "multilabel", "sequence", "grade", "ranking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task: its kind of answers, and its metrics.

    Attributes:
        name: Unique name.
        kind: Kind of its answers.
        metrics: Names of its metrics, the main one first.
        labels: The classes, in the order of their numbers; empty if there are many.
        scale: Scale of the grades.
    """

    name: str
    kind: Kind
    metrics: tuple[str, ...]
    labels: tuple[str, ...] = ()
    scale: RatingScale | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkTask(Task):
    """One task of a benchmark, under the benchmark's name for it.

    Attributes:
        dataset, config: Name and configuration of its data set; "" if it has only one.
        id, gold: Columns of the data set with ids and right answers.
        texts: Columns with the model's input.
        test: Number of test items, as published.
        run: Part of the names of the files that the benchmark's own scripts write.
        source: Where the data set is from.
    """

    dataset: str
    config: str
    id: str
    gold: str
    texts: tuple[str, ...]
    test: int
    run: str
    source: str


@cache
def load_tasks() -> tuple[BenchmarkTask, ...]:
    """Return DrBenchmark's twenty tasks."""
    described = parse_json(Path(__file__).with_name("tasks.json").read_bytes())
    return TypeAdapter(tuple[BenchmarkTask, ...]).validate_python(described["tasks"])


def parse_answer(value: Any, task: Task, names: Sequence[str] = ()) -> Any:
    """Return an answer as metrics take it: a label, a set of labels, a list of tags or of answers, or a number.

    Args:
        value: Value from JSON, a table or a data set; labels may be given as numbers.
        task: The task.
        names: Names of the classes; those of the task by default.

    Raises:
        ValueError: The value is not an answer to the task.
    """
    known = names or task.labels
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = parse_json(value)
    if task.kind == "grade":
        number = read_number(value[0] if isinstance(value, list) and len(cast("list[Any]", value)) == 1 else value)
        if number is None:
            raise ValueError("no finite number")
        return number
    if task.kind == "labels":
        return _label_name(value, known)
    if task.kind == "ranking":
        return [_label_name(one, ()) for one in cast("list[Any]", value if isinstance(value, list) else [value])]
    if task.kind == "sequence":
        tags = value.split() if isinstance(value, str) else value
        if not isinstance(tags, list):
            raise ValueError("no list of tags")
        named = [_label_name(tag, known) for tag in cast("list[Any]", tags)]
        if not all(named):
            raise ValueError("an empty tag")
        return named
    if isinstance(value, str):  # letters of right options together, as in "abe"
        value = value.strip()
        return frozenset(value if set(value) <= set(known) else {value} if value else ())
    if not isinstance(value, (list, tuple)):
        raise ValueError("no list of labels")
    given = cast("list[Any]", value)
    if known and len(given) == len(known) and all(isinstance(one, float) for one in given):  # one-hot
        return frozenset(name for name, one in zip(known, given, strict=True) if one)
    return frozenset(_label_name(one, known) for one in given)


def _label_name(value: Any, known: Sequence[str]) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, (list, dict)):
        raise ValueError("no label")
    if isinstance(value, (int, float)):
        if not known or not 0 <= value < len(known) or value != int(value):
            raise ValueError("the number of a class without a name")
        return known[int(value)]
    return str(value).strip()
