"""LaTeX tables for a paper (package booktabs)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from imapeval.report.formatting import (
    COEFFICIENTS,
    LEVELS,
    format_coefficient,
    format_dimension,
    format_interval,
)
from imapeval.report.study.selection import main_correlations, main_dimension, rank_metrics
from imapeval.study.number_format import format_p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.data.findings import Comparison, Correlation
    from imapeval.study.summary.compute import Study

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # After a rule or at the start of a row these would be read as its width, and as a part of the row's end.
        "[": "{[}",
        "*": "{*}",
        "−": "$-$",
        "–": "--",
        "ρ": r"$\rho$",
        "τ": r"$\tau$",
    }
)


def escape_latex(text: str) -> str:
    """Escape a text for LaTeX; line breaks become spaces."""
    return " ".join(text.split()).translate(_ESCAPES)


def write_correlations(study: Study) -> str:
    """Return a table of metrics by dimensions: coefficients with intervals in brackets, the best in bold."""
    grid, first = main_correlations(study), main_dimension(study)
    ranked = [] if first is None else grid.rank(first)
    best = {
        dimension: max((row.value for row in grid.list_rows(dimension) if row.value is not None), default=None)
        for dimension in grid.columns
    }
    lines = [
        [
            escape_latex(metric),
            *(_format_cell(grid.find(metric, dimension), best[dimension]) for dimension in grid.columns),
        ]
        for metric in ranked
    ]
    counts = [] if first is None else [row.n for row in grid.list_rows(first)]
    # The conclusions quote the wider interval of the metric that was chosen as the best.
    own = " (each for itself, not corrected for the choice of the best)" if len(ranked) > 1 else ""
    caption = (
        f"{COEFFICIENTS[study.coefficient]} of metrics with ratings ({LEVELS[study.level]}), "
        f"95% intervals in brackets{own}, {_format_counts(counts)}."
    )
    labels = [format_dimension(name) for name in grid.columns]
    heads = ["Metric", *(escape_latex(label[:1].upper() + label[1:]) for label in labels)]
    return render_table(
        heads,
        lines,
        columns="l" + "l" * len(grid.columns),
        caption=caption,
        label="correlations",
        note=_describe_draws(study),
    )


def write_comparisons(study: Study) -> str:
    """Return a table of the best metric against every other one, or, if they were not compared, of all pairs."""
    rows = _select_comparisons(study)
    lines = [
        [
            escape_latex(row.first),
            escape_latex(row.second),
            escape_latex(format_coefficient(row.first_value, digits=2)),
            escape_latex(format_coefficient(row.second_value, digits=2)),
            escape_latex(format_coefficient(row.difference, digits=2)) + format_latex_interval(row.low, row.high),
            format_latex_p(row.p_adjusted),
            f"{row.n}",
        ]
        for row in rows
    ]
    tests = ", ".join(dict.fromkeys(row.test for row in rows))
    dimension = main_dimension(study)
    caption = (
        f"Differences in {COEFFICIENTS[study.coefficient]} ({LEVELS[study.level]}"
        f"{'' if dimension is None else ', ' + format_dimension(dimension)}) with "
        f"95% intervals in brackets; p two-sided{f' ({tests})' if tests else ''}, after Holm's "
        "correction."
    )
    heads = ["First metric", "Second metric", "First", "Second", "Difference", "$p$", "$n$"]
    return render_table(
        heads, lines, columns="llrrlrr", caption=caption, label="comparisons", note=_describe_draws(study)
    )


def _select_comparisons(study: Study) -> list[Comparison]:
    """Return the comparisons behind the conclusions, each with the best metric first."""
    dimension = main_dimension(study)
    rows = [
        row
        for row in study.comparisons
        if (row.level, row.coefficient) == (study.level, study.coefficient) and row.dimension == dimension
    ]
    ranked = rank_metrics(study)
    of_best = [row for row in rows if ranked[0] in (row.first, row.second)]
    if len(of_best) < len(ranked) - 1:
        return rows
    turned = [row if row.first == ranked[0] else _swap_metrics(row) for row in of_best]
    return sorted(turned, key=lambda row: ranked.index(row.second))


def _swap_metrics(row: Comparison) -> Comparison:
    return replace(
        row,
        first=row.second,
        second=row.first,
        first_value=row.second_value,
        second_value=row.first_value,
        difference=None if row.difference is None else -row.difference,
        low=None if row.high is None else -row.high,
        high=None if row.low is None else -row.low,
    )


def _format_cell(row: Correlation | None, best: float | None) -> str:
    if row is None:
        return ""
    value = escape_latex(format_coefficient(row.value, digits=2))
    return (rf"\textbf{{{value}}}" if row.value is not None and row.value == best else value) + format_latex_interval(
        row.low, row.high
    )


def format_latex_interval(low: float | None, high: float | None, *, digits: int = 2) -> str:
    """Return the ends of an interval in small brackets, after a space; "" without an interval."""
    if low is None or high is None:
        return ""
    ends = escape_latex(format_interval(low, high, digits=digits, between=", "))
    return rf" {{\scriptsize[{ends}]}}"


def format_latex_p(p: float | None) -> str:
    """Return a p-value as LaTeX, with three decimals; "--" for None."""
    if p is None:
        return "--"
    return re.sub("([<>]) ", r"$\1$", format_p_value(p))


def _format_counts(counts: Sequence[int]) -> str:
    if not counts:
        return "no answers"
    return f"n = {max(counts)}" if min(counts) == max(counts) else f"n = {min(counts)} to {max(counts)}"


def _describe_draws(study: Study) -> str:
    return f"Seed {study.seed}, {study.resamples} resamples."


def render_table(
    heads: Sequence[str], lines: Sequence[Sequence[str]], *, columns: str, caption: str, label: str, note: str
) -> str:
    """Return a LaTeX table of headings and cells in LaTeX.

    `columns` is their alignment, such as "llr"; the caption is a text, which is escaped; the label goes after "tab:",
    the note into a comment above the table.
    """
    body = "\n".join(" & ".join(cells) + r" \\" for cells in lines)
    head, title = " & ".join(heads), escape_latex(caption)
    foreign = any(ord(letter) > 0x2FF for letter in head + body + title)
    notes = [
        r"% Needs \usepackage{booktabs}.",
        *(["% Names in non-Latin scripts need XeLaTeX or LuaLaTeX and a font for them."] if foreign else []),
        f"% {note}",
    ]
    return "\n".join(
        [
            *notes,
            r"\begin{table}",
            r"\centering\footnotesize",
            rf"\caption{{{title}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head + r" \\",
            r"\midrule",
            *([body] if body else []),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )
