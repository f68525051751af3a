"""The facts of an answer beside those of its reference, a row per fact: as a sentence, Markdown or HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from imapeval.explain.evidence import explain_match
from imapeval.explain.facts import SOFT_MATCH, find_best_matches, match_kind
from imapeval.metrics.imapscore import compute_credit
from imapeval.types import Relation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.imap_files import ImapRecord

_UNMATCHED = Relation.UNMATCHED.value
_CONTRADICTION = Relation.CONTRADICTION.value

_COLOURS = {
    _CONTRADICTION: "#ad1457",
    "exact": "#2e7d32",
    "containment": "#7cb342",
    "belonging": "#f9a825",
    SOFT_MATCH: "#90a4ae",
    _UNMATCHED: "#c62828",
}
"""Colours by kind of row."""

_KIND_PREFIXES = {_CONTRADICTION: "≠ "}
"""Marks kinds that must not be overlooked where there are no colours."""

_MARKUP = re.compile(r"[\\|&`*~\[]|<(?![\d\s=][^@<\s]*(?:[<\s]|\Z))")
"""Characters that would end a cell, or be read as HTML, code, emphasis, struck text or a link. "<7%" is no tag, nor,
without @, an address."""


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact of the reference and the fact of the response that matches it best, or one of them alone.

    Attributes:
        term: What kind of fact it is.
        reference: The reference's value; "" if it has no counterpart to the response's value.
        response: The response's value; "" if it has no counterpart to the reference's value.
        kind: The relation; "soft" if the values are similar but unrelated.
        credit: The credit of the pair in 0..1.
        why: How the relation was decided, in words.
        other_term: The term of the response's value if it differs; else "".
    """

    term: str
    reference: str
    response: str
    kind: str
    credit: float
    why: str
    other_term: str = ""

    @property
    def terms(self) -> str:
        """The term, or both terms if they differ."""
        return f"{self.term} / {self.other_term}" if self.other_term else self.term


def compare(record: ImapRecord) -> list[FactRow]:
    """Return contradictions first, then the facts of the reference in order, then those of the response only."""
    best = find_best_matches(record.matches or ())
    facts = {
        "reference": dict.fromkeys((pair.term, pair.value) for pair in record.imap.reference),
        "response": dict.fromkeys((pair.term, pair.value) for pair in record.imap.response),
    }
    nothing = {
        side: "nothing in the other answer comes close" if facts[other] else "the other answer states no fact"
        for side, other in (("reference", "response"), ("response", "reference"))
    }
    shown: set[int] = set()

    def show(side: str, term: str, value: str) -> FactRow:
        match = best.get((side, term, value))
        if match is None or match_kind(match) == _UNMATCHED:
            values = (value, "") if side == "reference" else ("", value)
            earned, why = (
                (0.0, nothing[side]) if match is None else (compute_credit(match), "; ".join(explain_match(match)))
            )
            return FactRow(term, *values, _UNMATCHED, earned, why)
        shown.add(id(match))
        why = "; ".join(explain_match(match))
        return FactRow(
            match.term, match.reference, match.response, match_kind(match), compute_credit(match), why, match.other_term
        )

    rows = [show("reference", *fact) for fact in facts["reference"]]
    # A pair that is the best match of both sides is one row; otherwise each side has a separate row.
    rows += [show("response", *fact) for fact in facts["response"] if id(best.get(("response", *fact))) not in shown]
    return sorted(rows, key=lambda row: row.kind != _CONTRADICTION)


def write_markdown(rows: Sequence[FactRow]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| term | reference | response | relation | credit |", "|---|---|---|---|---|"]
    for row in rows:
        cells = (row.terms, row.reference or "–", row.response or "–", _display_kind(row.kind), f"{row.credit:.2f}")
        lines.append(f"| {' | '.join(map(_escape_cell, cells))} |")
    return "\n".join(lines)


def write_sentence(rows: Sequence[FactRow]) -> str:
    """Return a sentence on contradictions, and on the facts that the response has, may have, lacks and adds."""
    against = [row for row in rows if row.kind == _CONTRADICTION]
    expected = dict.fromkeys((row.term, row.reference) for row in rows if row.reference)
    # As in imapScore, a fact that the response contradicts earns nothing, even if the response states it as well.
    contradicted = {(row.term, row.reference) for row in against}
    related = {(row.term, row.reference) for row in rows if row.kind not in (_UNMATCHED, SOFT_MATCH)} - contradicted
    similar = {(row.term, row.reference) for row in rows if row.kind == SOFT_MATCH} - related - contradicted
    lacking = [row for row in rows if row.reference and not row.response]
    beyond = [row for row in rows if not row.reference]
    # Otherwise "it lacks" would look as if the response had been read and said something else.
    sentence = "" if any(row.response for row in rows) else "No fact was read in the response. "
    sentence += f"It contradicts the reference on {_list_contradictions(against)}. " if against else ""
    sentence += f"The response has {len(related)} of {_count_facts(len(expected))} of the reference"
    if similar:
        sentence += f" and something similar to {len(similar)} more"
    if lacking:
        sentence += f"; it lacks {_list_facts(lacking)}"
    if beyond:
        sentence += f". Of its own facts {len(beyond)} {'is' if len(beyond) == 1 else 'are'} not in the reference"
        sentence += f": {_list_facts(beyond)}"
    return f"{sentence}."


def write_html(rows: Sequence[FactRow]) -> str:
    """Return the rows as an HTML table that needs no style sheet and no script."""
    cell = "text-align:left;padding:.2em .6em;vertical-align:top"
    columns = ("term", "reference", "response", "relation", "credit")
    titles = "".join(f'<th style="{cell}">{title}</th>' for title in columns)
    body = "".join(
        f'<tr title="{escape(row.why)}">'
        f'<td style="{cell};border-left:.3em solid {_COLOURS[row.kind]}">{escape(row.terms)}</td>'
        f'<td style="{cell}">{escape(row.reference) or "–"}</td><td style="{cell}">{escape(row.response) or "–"}</td>'
        f'<td style="{cell};font-weight:{"bold" if row.kind == _CONTRADICTION else "normal"}">'
        f"{escape(_display_kind(row.kind))}</td>"
        f'<td style="{cell};text-align:right">{row.credit:.2f}</td></tr>'
        for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def _display_kind(kind: str) -> str:
    return f"{_KIND_PREFIXES.get(kind, '')}{kind}"


def _escape_cell(text: str) -> str:
    # With backslashes, so that the source is readable too: hosts show tables, and prompts contain them.
    return " ".join(_MARKUP.sub(r"\\\g<0>", text).split())


def _count_facts(number: int) -> str:
    return f"{number} fact{'' if number == 1 else 's'}"


_MAX_NAMED = 5
"""Maximum number of facts that a sentence names; the others are counted."""


def _list_facts(rows: Sequence[FactRow]) -> str:
    named = [f"{row.reference or row.response} ({row.term})" for row in rows[:_MAX_NAMED]]
    more = len(rows) - len(named)
    return ", ".join([*named, f"{more} more"] if more else named)


def _list_contradictions(rows: Sequence[FactRow]) -> str:
    """Return the contradictions, grouped by term."""
    by_term: dict[str, list[str]] = {}
    for row in rows[:_MAX_NAMED]:
        by_term.setdefault(row.terms, []).append(f"{row.reference} against {row.response}")
    lines = [f"{term}: {', '.join(pairs)}" for term, pairs in by_term.items()]
    more = len(rows) - _MAX_NAMED
    return "; ".join([*lines, f"{more} more"] if more > 0 else lines)
