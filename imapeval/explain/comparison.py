"""The facts of an answer beside those of its reference, a row per fact: as a sentence, Markdown or HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal

from imapeval.explain.evidence import explain_match
from imapeval.explain.facts import SOFT_MATCH, find_best_matches, find_kind, is_near
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
        nearest: The other answer's value that earned the credit of an unmatched one, where the two are rather similar;
            else "".
    """

    term: str
    reference: str
    response: str
    kind: str
    credit: float
    why: str
    other_term: str = ""
    nearest: str = ""

    @property
    def terms(self) -> str:
        """The term, or both terms if they differ."""
        return f"{self.term} / {self.other_term}" if self.other_term else self.term

    def show(self, side: Literal["reference", "response"]) -> str:
        """Return the value of a side as tables show it: where there is none, the nearest one in brackets, or a dash."""
        value = self.reference if side == "reference" else self.response
        return value or (f"(nearest: {self.nearest})" if self.nearest else "–")


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
        values = (value, "") if side == "reference" else ("", value)
        if match is None:
            return FactRow(term, *values, _UNMATCHED, 0.0, nothing[side])
        kind, credit, why = find_kind(match), compute_credit(match), "; ".join(explain_match(match))
        if kind == _UNMATCHED:
            other = match.response if side == "reference" else match.reference
            return FactRow(term, *values, kind, credit, why, nearest=other if is_near(match) else "")
        shown.add(id(match))
        return FactRow(match.term, match.reference, match.response, kind, credit, why, match.other_term)

    rows = [show("reference", *fact) for fact in facts["reference"]]
    # A pair that is the best match of both sides is one row; otherwise each side has a separate row.
    rows += [show("response", *fact) for fact in facts["response"] if id(best.get(("response", *fact))) not in shown]
    return sorted(rows, key=lambda row: row.kind != _CONTRADICTION)


def write_markdown(rows: Sequence[FactRow]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| term | reference | response | relation | credit |", "|---|---|---|---|---|"]
    for row in rows:
        texts = row.terms, row.show("reference"), row.show("response"), _display_kind(row.kind)
        cells = (*texts, f"{row.credit:.2f}")
        lines.append(f"| {' | '.join(map(_escape_cell, cells))} |")
    return "\n".join(lines)


def describe_facts(record: ImapRecord | None) -> str:
    """Return a sentence on contradictions, and on the facts that the response has, may have, lacks and adds.

    It is "" if there are no facts.
    """
    rows = [] if record is None else compare(record)
    if not rows:
        return ""
    against = [row for row in rows if row.kind == _CONTRADICTION]
    expected = dict.fromkeys((row.term, row.reference) for row in rows if row.reference)
    if not expected:
        return "There is no fact of a reference to compare with."
    # As in imapScore, a fact that the response contradicts earns nothing, even if the response states it as well.
    contradicted = {(row.term, row.reference) for row in against}
    related = {(row.term, row.reference) for row in rows if row.kind not in (_UNMATCHED, SOFT_MATCH)} - contradicted
    similar = {(row.term, row.reference) for row in rows if row.kind == SOFT_MATCH} - related - contradicted
    missing = [row for row in rows if row.reference and not row.response]
    lacking, unsure = [row for row in missing if not row.nearest], [row for row in missing if row.nearest]
    beyond = [row for row in rows if not row.reference]
    # Otherwise "it lacks" would look as if the response had been read and said something else.
    sentence = "" if any(row.response for row in rows) else "No fact was read in the response. "
    sentence += f"It contradicts the reference on {_list_contradictions(against)}. " if against else ""
    whole = f"{len(expected)} fact{'' if len(expected) == 1 else 's'} of the reference"
    if similar and not related:
        sentence += f"The response has something similar to {len(similar)} of {whole}, but none for certain"
    else:
        sentence += f"The response has {len(related)} of {whole}"
        sentence += f" and something similar to {len(similar)} more" if similar else ""
    if lacking:
        sentence += f"; it lacks {_list_facts(lacking)}"
    if unsure:
        sentence += f"; it may lack {_list_facts(unsure)}"
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
        f'<td style="{cell}">{escape(row.show("reference"))}</td><td style="{cell}">{escape(row.show("response"))}</td>'
        f'<td style="{cell};font-weight:{"bold" if row.kind == _CONTRADICTION else "normal"}">'
        f"{escape(_display_kind(row.kind))}</td>"
        f'<td style="{cell};text-align:right">{row.credit:.2f}</td></tr>'
        for row in rows
    )
    return f'<table style="border-collapse:collapse"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def _display_kind(kind: str) -> str:
    # A contradiction must not be overlooked where there are no colours.
    return f"≠ {kind}" if kind == _CONTRADICTION else kind


def _escape_cell(text: str) -> str:
    # With backslashes, so that the source is readable too: hosts show tables, and prompts contain them.
    return " ".join(_MARKUP.sub(r"\\\g<0>", text).split())


_MAX_NAMED = 5
"""Maximum number of facts that a sentence names; the others are counted."""


def _list_facts(rows: Sequence[FactRow]) -> str:
    named = [
        f"{row.reference} ({row.term}; nearest: {row.nearest})"
        if row.reference and row.nearest
        else f"{row.reference or row.response} ({row.term})"
        for row in rows[:_MAX_NAMED]
    ]
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
