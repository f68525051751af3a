"""Reads JSON Lines, JSON lists, and JSON objects that hold one list."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError
from imapeval.evaluation.samples.rows import Row, list_columns, reject_row, short_repr
from imapeval.evaluation.samples.text_lines import read_lines
from imapeval.evaluation.strict_json import parse_json
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from imapeval.evaluation.samples.rows import ReadOptions
    from imapeval.evaluation.samples.text_lines import SourceFile

_FIX_LINE = "Write one JSON object per line."
_FIX_LIST = "Write a list of objects, or one object per line."

_log = get_logger(__name__)


def read_json(file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    """Yield the objects of a JSON file: one on each line, or those of a list.

    A file that begins with "[" is one list. In a file named .json, an object may also span several lines, and an object
    that contains one list of objects is read as that list. Everything else is JSON Lines, in which empty lines are
    skipped.

    Raises:
        InputError: The file is wrongly encoded, a list or an object does not end, or, with strict options, a line or a
            record is not a JSON object.
    """
    lines = ((line, text) for line, text in read_lines(file, options.encoding) if text.strip())
    first = next(lines, None)
    if first is None:
        return
    if first[1].lstrip().startswith("["):
        yield from _read_list(_parse_whole(file, chain([first], lines)), file, options)
        return
    second = None if file.suffix == ".jsonl" else next(lines, None)
    lines = chain([first], () if second is None else [second], lines)
    if file.suffix == ".jsonl" or _is_json(first[1]) == (second is not None):
        yield from _read_json_lines(lines, file, options)
    else:
        yield from _read_object(_parse_whole(file, lines), file, options)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _read_json_lines(lines: Iterable[tuple[int, str]], file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    for number, (line, text) in enumerate(lines, 1):
        try:
            fields = parse_json(text)
        except ValueError as error:
            refused = InputError(f"invalid JSON ({error})", path=file.path, line=line, fix=_FIX_LINE)
            yield reject_row(refused, number=number, options=options)
            continue
        if isinstance(fields, dict):
            yield Row(number, line, cast("dict[str, Any]", fields))
            continue
        refused = InputError(
            f"expected a JSON object, found {text.strip()[:40]!r}",
            path=file.path,
            line=line,
            fix="Write one object per line, with the fields id, question, reference and response.",
        )
        yield reject_row(refused, number=number, options=options)


def _parse_whole(file: SourceFile, lines: Iterable[tuple[int, str]]) -> Any:
    texts = dict(lines)
    try:
        return parse_json("".join(texts.values()))
    except ValueError as error:
        # Empty lines were left out.
        place = min(error.lineno, len(texts)) - 1 if isinstance(error, json.JSONDecodeError) else 0
        raise InputError(f"invalid JSON ({error})", path=file.path, line=[*texts][place], fix=_FIX_LIST) from error


def _read_list(records: list[Any], file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    for number, fields in enumerate(records, 1):
        if isinstance(fields, dict):
            yield Row(number, number, cast("dict[str, Any]", fields), unit="record")
            continue
        refused = InputError(
            f"expected a JSON object, found {short_repr(fields)}",
            path=file.path,
            line=number,
            unit="record",
            fix=_FIX_LIST,
        )
        yield reject_row(refused, number=number, options=options, unit="record")


def _read_object(record: dict[str, Any], file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    lists = {name: value for name, value in record.items() if _is_list_of_objects(value)}
    if len(lists) > 1:
        raise InputError(
            f"there is an object with the lists {list_columns(lists)}",
            path=file.path,
            fix="Save the list of answers as a file of its own.",
        )
    if not lists or "role" in (turn := next(iter(lists.values()))[0]) or "from" in turn:
        yield Row(1, 1, record, unit="record")  # one answer, perhaps with its turns
        return
    ((name, records),) = lists.items()
    _log.warning("%s: the rows are those of the list %r", file.path, name)
    yield from _read_list(records, file, options)


def _is_list_of_objects(value: Any) -> bool:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(items) and all(isinstance(item, dict) for item in items)
