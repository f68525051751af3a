"""Tables in a text, in Markdown or with tabs: what their rows say of what stands in their first column.

A column below "avoid" is a list of what to avoid, a "no" below "allowed?" denies its row, and a dose belongs to
its drug.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.extraction.lexicon.clauses import Piece, split_items, trim_piece
from imapeval.extraction.lexicon.headings import GovernedSentence, find_list_governor, is_category
from imapeval.extraction.lexicon.items import is_detail
from imapeval.text.negation.governors import find_governor
from imapeval.text.negation.stance import is_negated
from imapeval.text.negation.yes_no import answer_header, read_verdict, strip_question
from imapeval.text.phrases import parse_phrase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from imapeval.types import Lang

_LINE = re.compile(r"[^\n]+")
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-[-:| \t]*")
_CELL = re.compile(r"[^|\t]+|(?<=[|\t])(?=[|\t])")
_TAB = re.compile(r"[ \t]*[^\W\d][^\t\n]*(?:\t+[^\t\n]+)+")
_DIGIT = re.compile(r"\d")
_MAX_HEADING_CHARACTERS = 100
"""Characters before a table that are searched for its heading."""
_MAX_DETAIL_CHARACTERS = 40
"""Longest dose or the like that belongs to the first cell of its row, in characters; a longer cell is a sentence."""
_MAX_COLUMNS = 12
"""Columns that are read; each may say something of each name in the first one."""


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table: its text as it stands there, and without list markers; None if nothing is left."""

    raw: str
    piece: Piece | None


@dataclass(slots=True)
class Table:
    """A table in a text.

    Attributes:
        start, end: Its position.
        heads: The texts of its header; "" for a column without one.
        rows: Its other rows.
        governor: Words of the heading above it that apply to its rows.
    """

    start: int
    end: int
    heads: list[str]
    rows: list[list[TableCell]]
    governor: str = ""

    def header(self, column: int) -> str:
        """Return the header of a column."""
        return self.heads[column] if column < len(self.heads) else ""


def split_tables(text: str, lang: Lang) -> Iterator[tuple[int, int, Table | None]]:
    """Yield the stretches of a text as (start, end, table), in order; None for what is no table.

    A heading above a table that applies to its rows belongs to the table.
    """
    end = 0
    for table in _find_tables(text) if "|" in text or "\t" in text else ():
        start = table.start
        above = text[max(end, start - _MAX_HEADING_CHARACTERS) : start].rstrip()
        line = above.rpartition("\n")[2]
        heading = trim_piece(line, 0, len(line))
        if heading and (governor := find_list_governor(heading.text, lang)):
            table.governor = governor
            start = text.rindex(line, end, start)
        yield end, start, None
        yield start, table.end, table
        end = table.end
    yield end, len(text), None


def _find_tables(text: str) -> Iterator[Table]:
    """Yield the tables of a text: adjacent lines with vertical bars, or with the same number of tabs."""
    run: list[re.Match[str]] = []
    for line in _LINE.finditer(text):
        if run and not _continues(run[-1], line):
            yield from _read_run(run)
            run = []
        if "|" in line[0] or _TAB.fullmatch(line[0]):
            run.append(line)
    yield from _read_run(run)


def _continues(above: re.Match[str], line: re.Match[str]) -> bool:
    """Return whether a line may be the next row of a table; there may be empty lines between rows with tabs."""
    if "|" in above[0] or "|" in line[0]:
        return "|" in above[0] and "|" in line[0] and line.start() == above.end() + 1
    return above[0].count("\t") == line[0].count("\t")


def _read_run(run: list[re.Match[str]]) -> Iterator[Table]:
    """Yield the table in adjacent lines: without a rule below its header, each line has a bar on the left."""
    ruled = next((place for place, line in enumerate(run) if place and _RULE.fullmatch(line[0])), 0)
    run = run[max(ruled - 1, 0) :]
    if len(run) < 2 or not (ruled or "|" not in run[0][0] or all(line[0].lstrip().startswith("|") for line in run)):
        return
    rows = list(filter(None, (_split_row(line) for line in run if not _RULE.fullmatch(line[0]))))
    if not rows:
        return
    header, *rows = rows
    heads = [cell.raw for cell in header]
    if not ruled and any(_DIGIT.search(head) or read_verdict(head) is not None for head in heads[1:]):
        heads, rows = [], [header, *rows]
    yield Table(run[0].start(), run[-1].end(), heads, rows)


def _state_answer(item: str, header: str, governor: str, lang: Lang, *, yes: bool) -> str:
    """Return what a yes or no below a header says of an item."""
    if governor:
        return _join(governor, item, lang=lang) if yes else item
    return _join(item, answer_header(header, yes=yes, lang=lang), lang=lang)


def _join(*words: str, lang: Lang) -> str:
    return ("" if lang == "zh" else " ").join(filter(None, words))


def _split_row(line: re.Match[str]) -> list[TableCell]:
    """Return the cells of a row, also empty ones, but not what is outside its outer bars."""
    return [
        TableCell(cell[0].strip(), trim_piece(line[0], *cell.span(), offset=line.start()))
        for cell in _CELL.finditer(line[0])
        if cell[0].strip() or cell.start() > 0
    ]


def read_table(table: Table, lang: Lang) -> Iterator[GovernedSentence | Piece]:
    """Yield the sentences of a table, and the statements that consist of several cells."""
    governors = [table.governor or find_list_governor(table.header(0), lang)]
    governors += [find_list_governor(strip_question(head), lang) for head in table.heads[1:]]
    for row in table.rows:
        yield from _read_row(row, table, governors + [""] * (len(row) - len(governors)), lang)


def _read_row(
    row: list[TableCell], table: Table, governors: list[str], lang: Lang
) -> Iterator[GovernedSentence | Piece]:
    label = row[0].piece
    names = [item.text for item in split_items(label)] if label else []
    verdicts: list[str] = []
    details: list[str] = []
    others: list[GovernedSentence] = []
    for column, cell in enumerate(row[1:_MAX_COLUMNS], 1):
        answer = read_verdict(cell.raw)
        if answer is not None:
            verdicts += [
                _state_answer(name, table.header(column), governors[column], lang, yes=answer) for name in names
            ]
        elif cell.piece is None:
            continue
        elif not label or len(cell.raw) > _MAX_DETAIL_CHARACTERS or (governors[column] and not is_detail(cell.raw)):
            others.append(GovernedSentence(cell.piece, governors[column]))
        elif find_governor(cell.piece.text) == cell.piece.text:
            verdicts += [_join(cell.piece.text, name, lang=lang) for name in names]  # "avoid"
        elif _DIGIT.search(cell.raw) or is_detail(cell.piece.text):
            details.append(cell.piece.text)
        elif parse_phrase(cell.piece.text).words:
            others.append(GovernedSentence(cell.piece))
        elif is_negated(cell.piece.text):
            verdicts += [_join(name, cell.piece.text, lang=lang) for name in names]  # "not recommended"
        else:
            details.append(cell.piece.text)  # "safe", "daily"
    if label:
        if details:
            yield Piece(_join(governors[0], label.text, *details, lang=lang), label.start, label.end)
        elif governors[0] or not (verdicts or (others and _names_row(table, governors))):
            yield GovernedSentence(label, governors[0])
        if not governors[0]:
            yield from (Piece(verdict, label.start, label.end) for verdict in verdicts)
    yield from others


def _names_row(table: Table, governors: list[str]) -> bool:
    """Return whether the first column only names the rows of columns such as "eat" and "avoid"."""
    has_lists = any(governors[1:])
    return has_lists and (len(table.heads) > 2 or not table.header(0) or is_category(table.header(0)))
