"""HTML of sections, tables and figures. All texts are escaped here, except `Markup`, which is HTML already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from imapeval.report.study.charts.canvas import MARKERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHAPES = dict(zip(MARKERS, "●■▲◆▼✚", strict=True))
"""The markers of the drawings as characters."""

_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
"""The sign of a number in a sentence. Tables have it from `report.formatting`; the CLI prints a hyphen."""

_MAX_ROOMY_COLUMNS = 5
"""Columns up to which a table is set wide."""


def join(parts: Sequence[str]) -> Markup:
    """Return texts joined together."""
    return Markup("").join(parts)


def render_section(name: str, title: str, *parts: str) -> Markup:
    """Return a section of the page with its title; the name is its id."""
    return Markup(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>'
        f"{join(parts)}</section>"
    )


def render_note(text: str) -> Markup:
    """Return an explanatory paragraph."""
    return Markup(f'<p class="note">{escape(text)}</p>')


def render_heading(text: str) -> Markup:
    """Return a heading within a section."""
    return Markup(f"<h3>{escape(text)}</h3>")


def render_code(text: str) -> Markup:
    """Return a text in a fixed-width font."""
    return Markup(f"<code>{escape(text)}</code>")


def render_bold(text: str) -> Markup:
    """Return a text in bold."""
    return Markup(f"<b>{escape(text)}</b>")


def render_coefficient(value: str, interval: str, n: int) -> Markup:
    """Return a coefficient with its interval and the number of answers below it."""
    below = f"{interval}, n {n}" if interval else f"n {n}"
    return Markup(f"{escape(value)}<small>{escape(below)}</small>")


def render_list(items: Sequence[str], *, kind: str) -> Markup:
    """Return a list; `kind` is its CSS class."""
    lines = [Markup(f"<li>{_MINUS.sub('−', escape(item))}</li>") for item in items]
    return Markup(f'<ul class="{kind}">{join(lines)}</ul>')


def render_reasons(reasons: Iterable[tuple[str, str]]) -> Markup:
    """Return why numbers are missing, each reason once with all items it applies to; "" if there are none.

    Each pair is a reason and an item.
    """
    found: dict[str, dict[str, None]] = {}
    for reason, about in reasons:
        found.setdefault(reason, {})[about] = None
    if not found:
        return Markup("")
    items = [join([Markup(f"<b>{escape(reason)}</b>: "), "; ".join(about)]) for reason, about in found.items()]
    return join([render_note("Undefined or left out:"), render_list(items, kind="reasons")])


def render_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Sequence[int] = (0,)) -> Markup:
    """Return a table that scrolls sideways on narrow pages. The first cell of a row is its heading.

    The last column is left out if all its cells are empty, as reasons often are. `texts` are the columns of words; all
    others are set as numbers.
    """
    if rows and not any(cells[-1] for cells in rows):
        heads, rows = heads[:-1], [cells[:-1] for cells in rows]

    def css_class(column: int) -> str:
        return "" if column in texts else ' class="number"'

    head = "".join(f'<th scope="col"{css_class(column)}>{escape(title)}</th>' for column, title in enumerate(heads))
    lines = "".join(
        f'<tr><th scope="row"{css_class(0)}>{escape(cells[0])}</th>'
        + "".join(f"<td{css_class(column)}>{escape(cell)}</td>" for column, cell in enumerate(cells[1:], 1))
        + "</tr>"
        for cells in rows
    )
    # On wide pages, tables with few columns have room for an interval beside its number.
    kind = "findings roomy" if len(heads) <= _MAX_ROOMY_COLUMNS else "findings"
    return Markup(
        '<div class="wide-table" tabindex="0" role="group" aria-label="Table">'
        f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def render_figure(drawing: str, caption: str) -> Markup:
    """Return a drawing (an `svg` element) with a caption."""
    return Markup(f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>")


def render_figures(figures: Sequence[Markup], *, kind: str = "figures-row") -> Markup:
    """Return figures in rows, as many as fit."""
    return Markup(f'<div class="{kind}">{join(figures)}</div>')


def render_legend(names: Sequence[str]) -> Markup:
    """Return the legend of colours and markers, in their order."""
    items = "".join(
        f'<li><span class="series-{place}" aria-hidden="true">{_SHAPES[marker]}</span> {escape(name)}</li>'
        for place, (name, marker) in enumerate(zip(names, MARKERS, strict=False), 1)
    )
    return Markup(f'<ul class="key">{items}</ul>')


def render_details(summary: str, *parts: str) -> Markup:
    """Return parts that are folded until they are opened."""
    return Markup(f"<details><summary>{escape(summary)}</summary>{join(parts)}</details>")


def render_definitions(terms: Mapping[str, str]) -> Markup:
    """Return a list of terms with their definitions."""
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in terms.items())
    return Markup(f'<dl class="settings">{lines}</dl>')
