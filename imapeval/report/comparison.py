"""The facts of one answer beside those of its reference, a row for each: as text, Markdown and HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from imapeval.matching.explain import explain
from imapeval.metrics.imapscore import credit
from imapeval.report.facts import MISSING_TERM, find_best, kind_of
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.imapfile import ImapRecord
    from imapeval.types import Match, Pair

_APART = frozenset({MISSING_TERM, Relation.UNMATCHED.value})

_COLOURS = {"exact": "#2e7d32", "containment": "#7cb342", "belonging": "#f9a825", "soft": "#90a4ae"}
"""Of the kinds of a row; the others, where something is amiss, have `_AMISS`."""

_AMISS = "#c62828"

_MARKUP = re.compile(r"[\\|<`*\[]")
"""What would end a cell, or be taken for HTML, code, emphasis or a link within it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A fact of the reference and the response's fact that comes nearest to it, or one of them alone.

    Attributes:
        term: What kind of fact it is.
        reference: The reference's value; "" where nothing in the reference corresponds to the response's.
        response: The response's value; "" where nothing in the response corresponds to the reference's.
        kind: The relation; "soft" where the two are similar and nothing relates them; "missing" where the other answer
            says nothing of the term.
        credit: What the fact earns, 0..1.
        why: How the relation was decided, in words.
    """

    term: str
    reference: str
    response: str
    kind: str
    credit: float
    why: str


def compare(record: ImapRecord) -> list[Row]:
    """Return the facts of the reference in their order, then those of the response that stand in no row yet."""
    best = find_best(record.matches or ())
    shown: set[int] = set()

    def show(side: str, pair: Pair) -> Row:
        match = best.get((side, pair.term, pair.value))
        if match is not None:
            shown.add(id(match))
        return _show(side, pair, match)

    rows = [show("reference", pair) for pair in record.imap.reference]
    for pair in record.imap.response:
        match = best.get(("response", pair.term, pair.value))
        # A pair that both sides find nearest is one row; apart, each side has a row of its own.
        if match is None or id(match) not in shown or kind_of(match) in _APART:
            rows.append(show("response", pair))
    return rows


def write_markdown(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| term | reference | response | relation | credit |", "|---|---|---|---|---|"]
    for row in rows:
        cells = (row.term, row.reference or "–", row.response or "–", row.kind, f"{row.credit:.2f}")
        lines.append(f"| {' | '.join(map(_escape_cell, cells))} |")
    return "\n".join(lines)


def write_sentence(rows: Sequence[Row]) -> str:
    """Return in words what the response has of the reference, what it lacks, and what it has beyond."""
    expected = [row for row in rows if row.reference]
    lacking = [row for row in expected if not row.response]
    beyond = [row for row in rows if not row.reference]
    said = f"The response has {len(expected) - len(lacking)} of {_count(expected)} of the reference"
    if lacking:
        said += f"; it lacks {_list(lacking)}"
    if beyond:
        said += f". Of its own facts {len(beyond)} {'is' if len(beyond) == 1 else 'are'} not in the reference"
        said += f": {_list(beyond)}"
    return f"{said}."


def write_html(rows: Sequence[Row]) -> str:
    """Return the rows as an HTML table that needs no style sheet and no script."""
    cell = "text-align:left;padding:.2em .6em;vertical-align:top"
    columns = ("term", "reference", "response", "relation", "credit")
    titles = "".join(f'<th style="{cell}">{title}</th>' for title in columns)
    body = "".join(
        f'<tr title="{escape(row.why)}">'
        f'<td style="{cell};border-left:.3em solid {_COLOURS.get(row.kind, _AMISS)}">{escape(row.term)}</td>'
        f'<td style="{cell}">{escape(row.reference) or "–"}</td><td style="{cell}">{escape(row.response) or "–"}</td>'
        f'<td style="{cell}">{escape(row.kind)}</td>'
        f'<td style="{cell};text-align:right">{row.credit:.2f}</td></tr>'
        for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def _show(side: str, pair: Pair, match: Match | None) -> Row:
    if match is None:
        values = (pair.value, "") if side == "reference" else ("", pair.value)
        return Row(pair.term, *values, MISSING_TERM, 0.0, "the other answer says nothing of this")
    kind = kind_of(match)
    if kind in _APART:
        values = (match.reference, "") if side == "reference" else ("", match.response)
    else:
        values = (match.reference, match.response)
    return Row(pair.term, *values, kind, credit(match), "; ".join(explain(match)))


def _escape_cell(text: str) -> str:
    # With backslashes alone, so that it can be read as it is too: a table is shown by hosts, and put into prompts.
    return " ".join(_MARKUP.sub(r"\\\g<0>", text).split())


def _count(rows: Sequence[Row]) -> str:
    return f"{len(rows)} fact{'' if len(rows) == 1 else 's'}"


_NAMED = 5
"""Facts that a sentence names; the others are counted."""


def _list(rows: Sequence[Row]) -> str:
    named = [f"{row.reference or row.response} ({row.term})" for row in rows[:_NAMED]]
    more = len(rows) - len(named)
    return ", ".join([*named, f"{more} more"] if more else named)
