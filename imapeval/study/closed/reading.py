"""Reads closed answers from a file: the columns of each task and their allowed values."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.samples.loaders import choose_loader
from imapeval.evaluation.samples.rows import DEFAULT_OPTIONS, error_at, read_number, short_repr
from imapeval.study.closed.metrics.labels import (
    NO_ANSWER,
    match_labels,
    measure_label_sets,
    measure_labels,
    measure_sequences,
    write_number,
)
from imapeval.study.closed.metrics.ordinal import measure_grades, measure_order, measure_rankings
from imapeval.study.data.columns import refuse_missing_column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.evaluation.samples.rows import Row
    from imapeval.study.closed.metrics.estimate import MetricFamily
    from imapeval.study.data.scales import RatingScale

ClosedTask = Literal["labels", "multilabel", "ranking", "sequence", "ordinal", "grade"]

TASKS: tuple[ClosedTask, ...] = get_args(ClosedTask)

_POSITIVE = ("1", "yes", "true")
"""The label that single scores refer to by default."""


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """Columns of a file of answers.

    Attributes:
        gold: The right answer.
        predicted: The answer given; for the tasks "ordinal" and "grade" a number.
        scores: For the task "labels": a number, or an object of a number for each label.
        positive: The label that single numbers refer to; None takes "1", "yes" or "true".
        order: For the task "ordinal": the labels, lowest first; None where they are numbers.
        scale: For the task "grade": the scale of the grades.
    """

    gold: str
    predicted: str
    scores: str | None = None
    positive: str | None = None
    order: tuple[str, ...] | None = None
    scale: RatingScale | None = None


@dataclass(frozen=True, slots=True)
class _Cell:
    """One value, and its location."""

    value: Any
    column: str
    path: Path
    row: Row

    def refuse(self, what: str, fix: str) -> InputError:
        return error_at(self.row, self.path, f"{self.column!r} is {short_repr(self.value)}, {what}", fix=fix)


def read_closed_answers(
    path: Path, columns: AnswerColumns, *, task: ClosedTask = "labels"
) -> tuple[list[MetricFamily], int]:
    """Read a file (.jsonl, .csv, .parquet) and make the metrics of its task.

    Returns:
        The metrics, and the number of answers.

    Raises:
        UsageError: A column is given that the task does not use.
        InputError: The file is unreadable, lacks a column, or a value is invalid for the task.
        MissingExtraError: A package that is needed is not installed.
    """
    if columns.scores is not None and task != "labels":
        raise UsageError(f"the task {task!r} takes no scores. Leave out --scores.")
    if columns.positive is not None and columns.scores is None:
        raise UsageError("--positive says which label the numbers in --scores are of. Add --scores.")
    if columns.order is not None and task != "ordinal":
        raise UsageError(f"the task {task!r} has no order. Leave out --order.")
    if (columns.scale is None) == (task == "grade"):
        need = "needs the scale of the grades. Add --scale LOW:HIGH, such as --scale 0:5"
        raise UsageError(f"the task {task!r} {need if task == 'grade' else 'has no scale. Leave out --scale'}.")
    rows = list(choose_loader(str(path))(str(path), DEFAULT_OPTIONS))
    if not rows:
        raise InputError("there are no answers", path=path, fix="Give a file with at least one row.")
    gold, predicted = (_read_column(rows, name, path) for name in (columns.gold, columns.predicted))
    if task == "labels":
        scores = None if columns.scores is None else _read_column(rows, columns.scores, path)
        return _read_labels(gold, predicted, scores, columns.positive), len(rows)
    if task == "multilabel":
        right, given = ([*map(_parse_texts, side)] for side in (gold, predicted))
        if not any(right):
            raise InputError(f"no answer has a label in {columns.gold!r}", path=path, fix="Name the right column.")
        return measure_label_sets([*map(set, right)], [*map(set, given)]), len(rows)
    if task == "ranking":
        return measure_rankings([*map(_parse_some_texts, gold)], [*map(_parse_texts, predicted)]), len(rows)
    if task == "sequence":
        return _read_sequences(gold, predicted), len(rows)
    if columns.scale is not None:
        return _read_grades(gold, predicted, columns.scale), len(rows)
    return measure_order(_read_order(gold, columns.order), [*map(_parse_number, predicted)]), len(rows)


def _read_column(rows: Sequence[Row], name: str, path: Path) -> list[_Cell]:
    for row in rows:
        if name not in row.fields:
            raise refuse_missing_column(row, path, name, fix="Name one of")
    return [_Cell(row.fields[name], name, path, row) for row in rows]


def _parse_text(cell: _Cell) -> str:
    """Return a label as text, so that true in JSON equals true in CSV."""
    if cell.value is None or (isinstance(cell.value, float) and not math.isfinite(cell.value)):
        return NO_ANSWER  # Parquet's empty cells are NaN
    if isinstance(cell.value, (int, float)):
        return write_number(cell.value)
    if isinstance(cell.value, str):
        return cell.value.strip()
    raise cell.refuse("which is no label", "Give a text or a number.")


def _parse_label(cell: _Cell) -> str:
    text = _parse_text(cell)
    if text == NO_ANSWER:
        raise cell.refuse("which is no label", "Give the right label of every row.")
    return text


def _parse_texts(cell: _Cell) -> list[str]:
    """Return a list; in CSV a JSON list, or one text for a list of one."""
    value = _decode(cell, "[")
    if isinstance(value, list):
        texts = [_parse_text(replace(cell, value=one)) for one in cast("list[Any]", value)]
        return [text for text in texts if text != NO_ANSWER]
    text = _parse_text(cell)
    return [] if text == NO_ANSWER else [text]


def _parse_some_texts(cell: _Cell) -> list[str]:
    texts = _parse_texts(cell)
    if not texts:
        raise cell.refuse("which holds no answer", "Give the right answers of every row.")
    return texts


def _parse_number(cell: _Cell, fix: str = "Give a number in every row.") -> float:
    number = read_number(cell.value)
    if number is None:
        raise cell.refuse("which is no finite number", fix)
    return number


def _parse_tags(cell: _Cell) -> list[str]:
    """Return tags; in CSV a JSON list, or separated by white space."""
    value = _decode(cell, "[")
    tags = value.split() if isinstance(value, str) else value
    if not isinstance(tags, list):
        raise cell.refuse("which is no list of tags", 'Give a list such as ["B-DRUG", "O"].')
    for tag in cast("list[Any]", tags):
        if not (isinstance(tag, str) and re.fullmatch("(?s)O|[BIES]-.+", tag)):
            raise cell.refuse(f"with the tag {tag!r}", "Write O, or B-, I-, E- or S- and a type, such as B-DRUG.")
    return cast("list[str]", tags)


def _decode(cell: _Cell, opening: str) -> Any:
    if not (isinstance(cell.value, str) and cell.value.lstrip().startswith(opening)):
        return cell.value
    try:
        return json.loads(cell.value)
    except (ValueError, RecursionError) as error:
        raise cell.refuse(f"which is broken JSON ({error})", "Write it as JSON, or without the bracket.") from error


def _read_labels(
    gold: Sequence[_Cell], predicted: Sequence[_Cell], scores: Sequence[_Cell] | None, positive: str | None
) -> list[MetricFamily]:
    right = [*map(_parse_label, gold)]
    given = match_labels([*map(_parse_text, predicted)], right)
    return measure_labels(right, given, scores=None if scores is None else _read_scores(scores, right, positive))


def _read_scores(cells: Sequence[_Cell], gold: Sequence[str], positive: str | None) -> dict[str, list[float]]:
    labels = sorted(set(gold))
    tables = [_decode(cell, "{") for cell in cells]
    if isinstance(tables[0], dict):
        if positive is not None:
            raise UsageError("--positive is for scores that are one number a row; here each label has its own.")
        # A label that no answer has is kept, so that its AUC is reported as undefined.
        objects = [cast("dict[str, Any]", table) for table in tables if isinstance(table, dict)]
        scored = dict.fromkeys([*labels, *(label for table in objects for label in table)])
        return {label: [_score_of(label, t, c) for t, c in zip(tables, cells, strict=True)] for label in scored}
    if len(labels) > 2:
        raise cells[0].refuse(
            f"one number, but there are {len(labels)} labels", 'Give a number for each, as {"a": 0.7, "b": 0.3}.'
        )
    chosen = positive or next((label for label in labels if label.casefold() in _POSITIVE), None)
    if len(labels) == 2 and chosen not in labels:
        raise UsageError(f"it is unclear which label the scores are of. Give --positive one of: {', '.join(labels)}.")
    return {chosen or labels[0]: [*map(_parse_number, cells)]}


def _score_of(label: str, table: Any, cell: _Cell) -> float:
    number = read_number(cast("dict[str, Any]", table).get(label)) if isinstance(table, dict) else None
    if number is None:
        raise cell.refuse(f"without a number for the label {label!r}", "Give a number for every label in every row.")
    return number


def _read_sequences(gold: Sequence[_Cell], predicted: Sequence[_Cell]) -> list[MetricFamily]:
    right, given = ([*map(_parse_tags, side)] for side in (gold, predicted))
    for cell, expected, found in zip(predicted, right, given, strict=True):
        if len(expected) != len(found):
            raise cell.refuse(f"of {len(found)} tags, where {len(expected)} are right", "Give a tag for every token.")
    return measure_sequences(right, given)


def _read_grades(gold: Sequence[_Cell], predicted: Sequence[_Cell], scale: RatingScale) -> list[MetricFamily]:
    right = [*map(_parse_number, gold)]
    for cell, number in zip(gold, right, strict=True):
        if not scale.low <= number <= scale.high:
            raise cell.refuse("which is not on the scale", f"Correct it, or --scale {scale.low:g}:{scale.high:g}.")
    return measure_grades(right, [*map(_parse_number, predicted)], scale)


def _read_order(cells: Sequence[_Cell], order: tuple[str, ...] | None) -> list[int]:
    if order is None:
        fix = "Say the order of the labels, as --order mild,moderate,severe."
        numbers = [_parse_number(cell, fix) for cell in cells]
        places = {number: place for place, number in enumerate(sorted(set(numbers)))}
        return [places[number] for number in numbers]
    if len(set(order)) != len(order):
        raise UsageError(f"--order {','.join(order)} names a label twice.")
    labels = [*map(_parse_label, cells)]
    for cell, label in zip(cells, labels, strict=True):
        if label not in order:
            raise cell.refuse("which --order does not name", f"Add it to --order {','.join(order)}.")
    return [order.index(label) for label in labels]
