"""Reads JSON Lines, JSON lists, and JSON objects that hold one list."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from imapeval.evaluation.samples.files.text_lines import MAX_ROW, join_pieces, read_pieces, too_long_error
from imapeval.evaluation.samples.rows import Row, list_columns, reject_row, short_repr
from imapeval.parsing import DECODER, DuplicateKeyError, parse_json
from imapeval.redaction import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from imapeval.evaluation.samples.files.text_lines import SourceFile
    from imapeval.evaluation.samples.rows import ReadOptions

_FIX_LINE = "Write one JSON object per line."
_FIX_LIST = "Write a list of objects, or one object per line."

_MAX_OBJECT = 64 * 2**20
"""Maximum length, in characters, of an object over several lines: it is held in memory, with all rows in it."""

_CHUNK = 1 << 16
"""Characters of a list that are parsed at a time."""

_LONGEST_TOKEN = 16
"""More characters than have to follow to know that a number, a name or an escape has not been cut off."""

_LENIENT = json.JSONDecoder()
"""Takes objects that have a key twice."""

_SPACE = re.compile(r"[ \t\n\r]*")

_log = get_logger(__name__)


def read_json(file: SourceFile, options: ReadOptions, *, by_line: bool = False) -> Iterator[Row]:
    """Yield the objects of a JSON file: one on each line, or those of a list.

    A file that begins with "[" is one list. Unless the format is JSON Lines, an object may also span several lines, and
    an object that contains one list of objects, and is not an answer itself, is read as that list. Everything else is
    JSON Lines, in which empty lines are skipped.

    Args:
        file: The file, at its beginning.
        options: How to read it.
        by_line: Whether the format is JSON Lines.

    Raises:
        InputError: The file is wrongly encoded, a list or an object does not end or is not JSON, an object or a row is
            too long, or, with strict options, a line or a record is not a JSON object.
    """
    pieces = read_pieces(file, options.encoding)
    begin = next((piece for piece in pieces if piece[1].strip()), None)
    if begin is None:
        return
    pieces = chain([begin], pieces)
    if begin[1].lstrip().startswith("["):
        yield from _read_list(_parse_list(file, pieces, line=begin[0]), file, options)
        return
    lines = ((line, text) for line, text in join_pieces(file, pieces) if text.strip())
    first = next(lines)
    second = None if by_line else next(lines, None)
    lines = chain([first], () if second is None else [second], lines)
    if by_line or _is_json(first[1]) == (second is not None):
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
            refused = file.error(f"invalid JSON ({_describe(error)})", line=line, fix=_FIX_LINE)
            yield reject_row(refused, number=number, options=options)
            continue
        if isinstance(fields, dict):
            yield Row(number, line, cast("dict[str, Any]", fields))
            continue
        refused = file.error(
            f"expected a JSON object, found {text.strip()[:40]!r}",
            line=line,
            fix="Write one object per line, with the fields id, question, reference and response.",
        )
        yield reject_row(refused, number=number, options=options)


def _parse_whole(file: SourceFile, lines: Iterable[tuple[int, str]]) -> Any:
    texts: dict[int, str] = {}
    size = 0
    for line, text in lines:
        texts[line] = text
        size += len(text)
        if size > _MAX_OBJECT:
            raise file.error(f"an object has more than {_MAX_OBJECT:,} characters", line=line, fix=_FIX_LIST)
    try:
        return parse_json("".join(texts.values()))
    except ValueError as error:
        # Empty lines were left out.
        index = min(error.lineno, len(texts)) - 1 if isinstance(error, json.JSONDecodeError) else 0
        raise file.error(f"invalid JSON ({_describe(error)})", line=[*texts][index], fix=_FIX_LIST) from error


def _describe(error: ValueError) -> str:
    """Return what is wrong, without the line, which is counted in the text that was parsed."""
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _parse_list(file: SourceFile, pieces: Iterator[tuple[int, str]], *, line: int) -> Iterator[Any]:
    """Yield the items of a list as they are read, or the error of one that has a key twice; `line` is where it begins.

    Raises:
        InputError: It is not JSON, does not end, something follows it, or an item is too long.
    """
    text, at, start, number, ended, state = "", 0, 0, 0, False, "begin"
    while not (ended and state == "end"):
        begun = len(text) - at
        if begun > MAX_ROW:
            raise too_long_error(file, number + 1, unit="record")
        line += text.count("\n", 0, at)
        # An item that has been cut off is parsed again when twice as much of it has arrived: the time stays linear.
        parts, size = [text[at:]], begun
        while size < max(_CHUNK, 2 * begun) and not ended:
            piece = next(pieces, (0, ""))[1]
            parts.append(piece)
            size, ended = size + len(piece), not piece
        text, at = "".join(parts), 0
        whole = len(text) if ended else len(text) - _LONGEST_TOKEN
        try:
            while (start := cast("re.Match[str]", _SPACE.match(text, at)).end()) < whole:
                mark = text[start]
                if state == "begin" or (state == "separator" and mark in ",]"):
                    at, state = start + 1, {"[": "first", ",": "item", "]": "end"}[mark]
                elif state == "first" and mark == "]":
                    at, state = start + 1, "end"
                elif state in ("first", "item"):
                    try:
                        item, after = DECODER.raw_decode(text, start)
                    except DuplicateKeyError as error:
                        item, after = error, _LENIENT.raw_decode(text, start)[1]
                    if after > whole:
                        break
                    at, state, number = after, "separator", number + 1
                    yield item
                else:
                    raise json.JSONDecodeError(
                        "Extra data" if state == "end" else "Expecting ',' delimiter", text, start
                    )
            else:
                if ended and state != "end":
                    raise json.JSONDecodeError("the list does not end", text, at)
                at = start
        except (ValueError, RecursionError) as error:
            error_at, shown, is_cut = start, str(error), False
            if isinstance(error, json.JSONDecodeError):
                error_at, shown = error.pos, error.msg
                is_cut = not ended and (error_at >= whole or shown.startswith("Unterminated"))
            elif isinstance(error, RecursionError):
                shown = "too many nested brackets"
            if not is_cut:
                line += text.count("\n", 0, error_at)
                raise file.error(f"invalid JSON ({shown})", line=line, fix=_FIX_LIST) from error


def _read_list(records: Iterable[Any], file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    for number, fields in enumerate(records, 1):
        if isinstance(fields, dict):
            yield Row(number, number, cast("dict[str, Any]", fields), unit="record")
            continue
        is_error = isinstance(fields, DuplicateKeyError)
        refused = file.error(
            f"invalid JSON ({fields})" if is_error else f"expected a JSON object, found {short_repr(fields)}",
            line=number,
            unit="record",
            fix=_FIX_LIST,
        )
        yield reject_row(refused, number=number, options=options, unit="record")


def _read_object(record: Any, file: SourceFile, options: ReadOptions) -> Iterator[Row]:
    if not isinstance(record, dict):
        yield from _read_list([record], file, options)
        return
    record = cast("dict[str, Any]", record)
    is_answer = "response" in record and ("question" in record or "turns" in record)
    if is_answer and not _is_list_of_objects(record["response"]):
        yield Row(1, 1, record, unit="record")  # one answer, whose lists are its contexts and the like
        return
    lists = {name: value for name, value in record.items() if _is_list_of_objects(value)}
    if len(lists) > 1:
        raise file.error(
            f"there is an object with the lists {list_columns(lists)}",
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
