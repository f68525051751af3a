"""Sections, tables and figures of the page. Texts are escaped here and nowhere else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from imapeval.report.study.canvas import MARKERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHAPES = dict(zip(MARKERS, "●■▲◆▼✚", strict=True))
"""The markers of the drawings as letters."""

_MAX_ROOMY_COLUMNS = 5
"""Columns up to which a table has room to spare."""


class Markup(str):
    """A text that is HTML already. Any other text is escaped before it comes into the page."""

    __slots__ = ()


def escape_text(text: str) -> Markup:
    """Return a text as HTML."""
    return text if isinstance(text, Markup) else Markup(escape(text))


def join(parts: Sequence[str], *, between: str = "") -> Markup:
    """Return texts one after the other."""
    return Markup(between.join(map(escape_text, parts)))


def render_section(name: str, title: str, *parts: str) -> Markup:
    """Return a section of the page with its title; the name is its id."""
    return Markup(
        f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape_text(title)}</h2>'
        f"{join(parts)}</section>"
    )


def render_note(text: str) -> Markup:
    """Return a paragraph that explains."""
    return Markup(f'<p class="note">{escape_text(text)}</p>')


def render_heading(text: str) -> Markup:
    """Return the title of a part of a section."""
    return Markup(f"<h3>{escape_text(text)}</h3>")


def render_list(items: Sequence[str], *, kind: str) -> Markup:
    """Return a list; the kind is its class."""
    return Markup(f'<ul class="{kind}">{join([Markup(f"<li>{escape_text(item)}</li>") for item in items])}</ul>')


def render_reasons(reasons: Iterable[tuple[str, str]]) -> Markup:
    """Return why numbers are absent, each reason once with all that it is about; "" where there are none.

    Args:
        reasons: Pairs of a reason and what it is about.
    """
    found: dict[str, dict[str, None]] = {}
    for reason, about in reasons:
        found.setdefault(reason, {})[about] = None
    if not found:
        return Markup("")
    items = [join([Markup(f"<b>{escape_text(reason)}</b>: "), "; ".join(about)]) for reason, about in found.items()]
    return join([render_note("What is undefined or was left out, and why:"), render_list(items, kind="reasons")])


def render_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, texts: Sequence[int] = (0,)) -> Markup:
    """Return a table that can be moved sideways where the page is narrow. The first cell of a row names it.

    Args:
        heads: Titles of the columns. The last column is left out where all its cells are empty: reasons are rare.
        rows: Cells, as many as titles.
        texts: Columns that hold words; all others are set as numbers.
    """
    if rows and not any(cells[-1] for cells in rows):
        heads, rows = heads[:-1], [cells[:-1] for cells in rows]

    def dress(column: int) -> str:
        return "" if column in texts else ' class="number"'

    head = "".join(f'<th scope="col"{dress(column)}>{escape_text(title)}</th>' for column, title in enumerate(heads))
    lines = "".join(
        f'<tr><th scope="row"{dress(0)}>{escape_text(cells[0])}</th>'
        + "".join(f"<td{dress(column)}>{escape_text(cell)}</td>" for column, cell in enumerate(cells[1:], 1))
        + "</tr>"
        for cells in rows
    )
    # Few columns have room for an interval beside its number, where the page is wide.
    kind = "findings roomy" if len(heads) <= _MAX_ROOMY_COLUMNS else "findings"
    return Markup(
        '<div class="wide-table" tabindex="0" role="region" aria-label="Table">'
        f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def render_figure(drawing: str, caption: str) -> Markup:
    """Return a drawing (an `svg` element) with what it shows."""
    return Markup(f"<figure><figcaption>{escape_text(caption)}</figcaption>{drawing}</figure>")


def render_figures(figures: Sequence[Markup], *, kind: str = "figures-row") -> Markup:
    """Return figures beside each other, as many as there is room for."""
    return Markup(f'<div class="{kind}">{join(figures)}</div>')


def render_legend(names: Sequence[str]) -> Markup:
    """Return what colours and shapes of a drawing stand for, in their order."""
    items = "".join(
        f'<li><span class="series-{place}" aria-hidden="true">{_SHAPES[marker]}</span> {escape_text(name)}</li>'
        for place, (name, marker) in enumerate(zip(names, MARKERS, strict=False), 1)
    )
    return Markup(f'<ul class="key">{items}</ul>')


def render_details(summary: str, *parts: str) -> Markup:
    """Return parts that open when one asks for them."""
    return Markup(f"<details><summary>{escape_text(summary)}</summary>{join(parts)}</details>")


def render_definitions(terms: Mapping[str, str]) -> Markup:
    """Return names with what stands for them."""
    lines = "".join(f"<dt>{escape_text(name)}</dt><dd>{escape_text(value)}</dd>" for name, value in terms.items())
    return Markup(f'<dl class="settings">{lines}</dl>')
