"""Answers to tasks of several kinds in one table: a row per answer, together with the right one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import error_at, is_blank, is_missing, read_number, short_repr
from imapeval.study.arrays import EQUAL
from imapeval.study.closed.drbenchmark.runs import TaskRun, check_length, parse_share, require_same_items
from imapeval.study.closed.drbenchmark.tasks import Kind, Task, parse_answer
from imapeval.study.closed.logs.answers import decode_list
from imapeval.study.closed.metrics.labels import NO_ANSWER, match_labels, write_number
from imapeval.study.data.columns import find_columns, refuse_missing_column
from imapeval.study.data.scales import RatingScale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.samples.rows import Row

KINDS: Mapping[Kind, tuple[str, ...]] = {
    "labels": ("accuracy", "f1-macro", "f1-weighted"),
    "multilabel": ("f1-micro", "f1-weighted", "exact-match-ratio", "hamming-score"),
    "sequence": ("f1-micro", "f1-macro"),
    "grade": ("edrm", "spearman"),
    "ranking": ("strict-accuracy", "lenient-accuracy", "mrr"),
}
"""Values of the column `kind`, with the metrics of the task."""

_NEEDED = ("task", "kind", "id", "gold", "predicted")
_MODEL = ("model", "system")
_RUN = ("run", "seed")
_NONE: Mapping[Kind, Any] = {"labels": NO_ANSWER, "multilabel": frozenset(), "ranking": []}
"""Value used for a missing answer; grades and tags have no such value."""

_NOTHING: Mapping[Kind, frozenset[str]] = {"multilabel": frozenset(), "sequence": frozenset({"O"})}
"""What a right answer holds at most if there is nothing to find."""


def holds_tasks(path: Path) -> bool:
    """Return whether a file is a table of tasks: it has the columns `task`, `kind`, `gold` and `predicted`."""
    return find_columns(path) >= {"task", "kind", "gold", "predicted"}


def read_task_table(paths: Sequence[Path]) -> tuple[list[TaskRun], dict[tuple[str, str], int]]:
    """Read answers to tasks of several kinds (.jsonl, .csv, .parquet ...).

    Columns: `task`, `kind` (a key of `KINDS`), `id`, `gold`, `predicted`; optional `model` (or `system`), `run` (or
    `seed`), `share` of the training data, `group` of items that are not independent and, for grades, `scale` ("0:5"). A
    list is JSON; tags may also be separated by spaces. No answer (null or a blank cell) is wrong, and counted.

    Returns:
        The runs, and the number of missing answers by task and model.

    Raises:
        InputError: A file cannot be read, a column is missing, a value is invalid, an answer occurs twice, runs of a
            task do not have the same items, nothing is right in any of them, or all its items are in one group.
    """
    tasks: dict[str, tuple[str, Task]] = {}
    found: dict[tuple[str, str, str, float], tuple[Path, dict[str, tuple[Any, Any]]]] = {}
    missing: Counter[tuple[str, str]] = Counter()
    groups: dict[str, dict[str, str]] = {}
    for path in paths:
        for row in read_file(str(path)):
            if lacking := [name for name in _NEEDED if name not in row.fields]:
                raise refuse_missing_column(row, path, lacking[0], fix="Rename one of its columns")
            name, item = (str(row.fields[column]) for column in ("task", "id"))
            model, run = (
                str(next((row.fields[column] for column in columns if not is_missing(row.fields.get(column))), ""))
                for columns in (_MODEL, _RUN)
            )
            described = f"{row.fields['kind']}, scale {row.fields.get('scale') or 'none'}"
            try:
                if name not in tasks:
                    tasks[name] = described, _make_task(name, row)
                elif tasks[name][0] != described:
                    raise ValueError(f"{described}, where the task {name!r} was {tasks[name][0]}")
                task = tasks[name][1]
                share = parse_share(1 if is_missing(row.fields.get("share")) else row.fields["share"])
                answer = _read_pair(row, task)
            except ValueError as error:
                raise error_at(row, path, str(error), fix="See docs/closed.md.") from error
            missing[name, model] += is_blank(row.fields["predicted"])
            _, answers = found.setdefault((name, model, run, share), (path, {}))
            if item in answers:
                raise error_at(
                    row,
                    path,
                    f"has the answer of {model or 'the model'} to {item!r} of {name} twice",
                    fix="Give repeated runs a column `run`, and models a column `model`.",
                )
            answers[item] = answer
            group = "" if is_missing(row.fields.get("group")) else str(row.fields["group"])
            if groups.setdefault(name, {}).setdefault(item, group) != group:
                raise error_at(
                    row,
                    path,
                    f"the item {item!r} of {name} is in the group {group!r} here, and in {groups[name][item]!r} before",
                    fix="Give an item the same group in all rows.",
                )
    runs = [
        (TaskRun(tasks[name][1], model, run, share, _match_run(answers, tasks[name][1]), groups=groups[name]), path)
        for (name, model, run, share), (path, answers) in found.items()
    ]
    require_same_items(runs)
    for run, path in runs:
        if len(run.answers) < 2:
            raise InputError(f"has only one answer to {run.task.name}", path=path, fix="Give two or more.")
        if (most := _NOTHING.get(run.task.kind)) is not None and all(
            most.issuperset(right) for right, _ in run.answers.values()
        ):
            raise InputError(
                f"nothing is right in any answer to {run.task.name}",
                path=path,
                fix="Give an item with a right label, or with a right tag other than O.",
            )
        if len(set(run.groups.values())) == 1 and all(run.groups.values()):
            raise InputError(
                f"all items of {run.task.name} are in one group",
                path=path,
                fix="Give two groups, or no column `group`.",
            )
    return [run for run, _ in runs], {key: count for key, count in missing.items() if count}


def _match_run(answers: Mapping[str, tuple[Any, Any]], task: Task) -> Mapping[str, tuple[Any, Any]]:
    if task.kind != "labels":
        return answers
    right, given = zip(*answers.values(), strict=True)
    return dict(zip(answers, zip(right, match_labels(given, right), strict=True), strict=True))


def _make_task(name: str, row: Row) -> Task:
    named = row.fields["kind"]
    if not isinstance(named, str) or named not in KINDS:
        raise ValueError(f"the kind {short_repr(named)} is not one of {', '.join(KINDS)}")
    kind = cast("Kind", named)
    metrics = KINDS[kind]
    if kind != "grade":
        return Task(name=name, kind=kind, metrics=metrics)
    low, high = map(read_number, str(row.fields.get("scale") or "").partition(":")[::2])
    if low is None or high is None or low >= high:
        raise ValueError(f"the scale {short_repr(row.fields.get('scale'))} of grades is not LOW:HIGH, such as 0:5")
    return Task(name=name, kind=kind, metrics=metrics, scale=RatingScale(low, high))


def _read_pair(row: Row, task: Task) -> tuple[Any, Any]:
    """Return the right answer and the answer given."""
    sides: list[Any] = []
    for column in ("gold", "predicted"):
        value = row.fields[column]
        try:
            none = is_blank(value) and (column == "predicted" or task.kind == "multilabel")
            sides.append(
                _NONE[task.kind] if none and task.kind in _NONE else parse_answer(_name_labels(value, task.kind), task)
            )
        except ValueError as error:
            raise ValueError(
                f"{column!r} is {short_repr(value)}, no answer of the kind {task.kind} ({error})"
            ) from error
    right, given = sides
    # A right answer that is empty would be the same as none given.
    if task.kind in ("labels", "ranking") and not any(right):
        raise ValueError("'gold' is empty")
    # The mean of several raters' grades may be rounded past the end.
    if task.scale is not None and not task.scale.low - EQUAL <= right <= task.scale.high + EQUAL:
        raise ValueError(f"'gold' is {short_repr(row.fields['gold'])}, which is not on the scale {row.fields['scale']}")
    if task.kind == "sequence":
        check_length(right, given, str(row.fields["id"]))
    return right, given


def _name_labels(value: Any, kind: Kind) -> Any:
    """Return labels as text: JSON, also in a cell of CSV, and Parquet may have numbers and booleans."""
    if kind not in ("labels", "multilabel", "ranking"):
        return value
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = decode_list(value)  # or the text itself, of which `parse_answer` says what is wrong
    if isinstance(value, list):
        return [_name_labels(one, kind) if isinstance(one, (int, float)) else one for one in cast("list[Any]", value)]
    return write_number(value) if isinstance(value, (int, float)) and not is_missing(value) else value
