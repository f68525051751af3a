"""Reads answers out of a table (.jsonl, .csv, .parquet, .xlsx ...): one answer a row.

Columns: `id`, `system` (or `model`), `answer` (or `gold`, `cop`: the right label or text, or a list) and `response`;
optional `task`, `run` (or `seed`), `question`, `group` and `options` (a list, an object by label, or a column each).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from imapeval.evaluation.samples.files.formats import read_file
from imapeval.evaluation.samples.rows import UnusableCell, error_at, is_missing, list_columns, short_repr
from imapeval.study.closed.logs.answers import (
    ClosedAnswer,
    bare_label,
    choose,
    complete_labels,
    decode_list,
    find_all_gold,
    find_by_place,
    find_first_place,
    find_gold,
    find_options,
    find_right,
    read_place,
)
from imapeval.study.closed.metrics.labels import match_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from imapeval.evaluation.samples.rows import Row

_NAMES = {
    "id": ("id",),
    "model": ("system", "model"),
    "gold": ("answer", "gold", "cop"),
    "response": ("response", "prediction", "output"),
    "run": ("run", "seed"),
    "question": ("question",),
    "task": ("task",),
    "group": ("group",),
}
_NEEDED = ("id", "model", "gold", "response")


def read_table(path: Path) -> Iterator[ClosedAnswer]:
    """Yield the answers of a table.

    Raises:
        InputError: The file cannot be read, a column is missing, a cell of one is empty or unusable, a right answer is
            not among the options, or it is unclear whether its position counts from 0 or 1.
    """
    answers: list[ClosedAnswer] = []
    rows = list(read_file(str(path)))
    column = next((name for name in _NAMES["gold"] if rows and name in rows[0].fields), "")
    first = find_first_place(rows[0].fields, [row.fields.get(column) for row in rows]) if rows else 0
    for row in rows:
        found = {what: next((n for n in names if n in row.fields), None) for what, names in _NAMES.items()}
        if lacking := [what for what in _NEEDED if found[what] is None]:
            raise error_at(
                row,
                path,
                f"there is no column {_NAMES[lacking[0]][0]!r}",
                fix=f"Rename one of its columns: {list_columns(row.fields)}. Or give --gold and --predicted.",
            )
        value = {what: _read_cell(row, name, what, path) for what, name in found.items()}
        words = {what: "" if value[what] is None else str(value[what]) for what in ("task", "run", "question", "group")}
        labels, options = find_options(row.fields)
        given = decode_list(value["gold"])
        if isinstance(given, (str, float)):
            [given] = match_labels([str(given).strip()], [*labels, *options])
        place, every = read_place(given) if labels else None, False
        if place is None or (column != "cop" and _is_label_or_option(given, labels, options)):
            gold, every = find_right(given, labels, options)
        elif first is None:
            raise error_at(
                row,
                path,
                f"{column!r} is {place}, which may count from 0 or from 1: no row has 0, or the number of "
                "options, which would decide",
                fix="Write the letter of the right option (A, B, C ...) in a column `answer`.",
            )
        else:
            gold = find_by_place(place - first, labels)
            every = not gold and bool(gold := find_all_gold(given, labels))
        if not gold:
            raise error_at(
                row,
                path,
                f"{found['gold']!r} is {short_repr(value['gold'])}, which is not one of the options",
                fix=f"Give a label ({', '.join(labels)}) or the text of an option." if labels else "Give the answer.",
            )
        text = None if value["response"] is None else str(value["response"])
        answers.append(
            ClosedAnswer(
                task=words["task"],
                model=str(value["model"]),
                item=str(value["id"]),
                run=words["run"],
                question=words["question"],
                labels=labels,
                options=options,
                gold=gold,
                text=text,
                choice=choose(text, labels, options, every=every),
                group=words["group"],
                every=every,
            )
        )
    # Without options, the labels are all right answers of the task: yes, no, maybe.
    tasks: dict[str, set[str]] = {}
    for answer in answers:
        tasks.setdefault(answer.task, set()).update(answer.gold)
    for answer in answers:
        if answer.labels:
            yield answer
        else:
            labels = complete_labels(tasks[answer.task])
            gold = find_gold(sorted(answer.gold), labels, ())
            yield replace(answer, labels=labels, gold=gold, choice=choose(answer.text, labels, ()))


def _read_cell(row: Row, name: str | None, what: str, path: Path) -> Any:
    """Return the value of a column, None if there is none; an empty response stays a text."""
    value = None if name is None else row.fields[name]
    unusable = isinstance(value, UnusableCell)
    if unusable or (what in ("id", "model", "gold") and is_missing(value)):
        problem = value.problem if unusable else f"{name!r} is empty"
        raise error_at(row, path, problem, fix="Write the value itself into the cell, or remove the row.")
    return None if is_missing(value) and value != "" else value


def _is_label_or_option(given: Any, labels: Sequence[str], options: Sequence[str]) -> bool:
    """Return whether a number is a label or the text of an option."""
    known = {*labels, *(option.strip() for option in options)}
    return not known.isdisjoint({str(given).strip(), bare_label(str(given))})
