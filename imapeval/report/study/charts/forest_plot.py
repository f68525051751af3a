"""The forest plot: one line per metric with its coefficient, interval, number of answers and failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import format_coefficient, format_interval, format_tick
from imapeval.report.study.charts.canvas import FAINT, INK, LINE, SERIES, SOFT, open_canvas, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.data.findings import Correlation

_ROW = 15.0
_LABELS, _PLOT, _GAP, _COLUMN = 158.0, 148.0, 6.0, 33.0
"""Widths, in units: together some 420, which a phone shows at four fifths of their size."""

_TOP, _BOTTOM = 18.0, 34.0


def draw_forest(
    rows: Sequence[Correlation],
    *,
    limits: tuple[float, float],
    ceiling: Ceiling | None,
    name: str,
    label: str,
) -> str:
    """Return the plot of a correlation per metric, at least one, from above, as an `svg` element; see `Canvas.render`.

    The limits are the ends of the axis (`find_axis_limits`).
    """
    height = _ROW * len(rows)
    width = _LABELS + _GAP + _PLOT + 3 * _COLUMN
    with open_canvas(width, _TOP + height + _BOTTOM) as canvas:
        page = canvas.add_overlay()
        plot = canvas.add_axes(_LABELS + _GAP, _TOP, width=_PLOT, height=height)
        plot.set(xlim=limits, ylim=(len(rows) - 0.5, -0.5), yticks=[])
        plot.spines["left"].set_visible(False)
        canvas.format_axis(plot.xaxis, format_tick, most=6)
        plot.axvline(0, color=SOFT, linewidth=0.8, zorder=1)
        if ceiling is not None and ceiling.value is not None:
            if ceiling.low is not None and ceiling.high is not None:
                plot.axvspan(ceiling.low, ceiling.high, color=SERIES[1], alpha=0.12, linewidth=0, zorder=0)
            plot.axvline(ceiling.value, color=SERIES[1], linewidth=1.2, linestyle=(0, (4, 2)), zorder=1)
            said = canvas.placeholder(f"ceiling {format_coefficient(ceiling.value, digits=2)}")
            page.text(_LABELS + _GAP + _PLOT, canvas.height - 4, said, ha="right", color=SERIES[1])
        ends = [_LABELS + _GAP + _PLOT + place * _COLUMN for place in (1, 2, 3)]
        for end, title in zip(ends, ("value", "n", "failed"), strict=True):
            page.text(end, _TOP - 6, canvas.placeholder(title), ha="right", color=SOFT, fontsize=9)
        for place, row in enumerate(rows):
            middle = _TOP + (place + 0.5) * _ROW
            if place % 2 == 0:
                page.axhspan(middle - _ROW / 2, middle + _ROW / 2, facecolor=FAINT, edgecolor="none", zorder=0)
            hint = _describe(row)
            page.text(
                _LABELS,
                middle,
                canvas.placeholder(shorten(row.metric, _LABELS)),
                ha="right",
                va="center_baseline",
                color=INK,
                gid=canvas.tooltip(hint),
            )
            figures = (format_coefficient(row.value, digits=2), f"{row.n}", f"{row.n_missing}" if row.n_missing else "")
            for end, figure in zip(ends, figures, strict=True):
                page.text(end, middle, canvas.placeholder(figure), ha="right", va="center_baseline", color=INK)
            if row.value is None:
                said = canvas.placeholder(shorten(row.reason or "undefined", _PLOT))
                page.text(_LABELS + _GAP, middle, said, va="center_baseline", color=SOFT, fontsize=9)
                continue
            if row.low is not None and row.high is not None:
                plot.hlines(place, row.low, row.high, color=SERIES[0], linewidth=2, gid=canvas.tooltip(hint))
            plot.plot([row.value], [place], "o", color=INK, markersize=4.5, markeredgewidth=0, gid=canvas.tooltip(hint))
        plot.grid(axis="x", color=LINE, linewidth=0.6)
        plot.set_axisbelow(True)
        plot.set_zorder(2)
        return canvas.render(name, label=label)


def find_axis_limits(rows: Sequence[Correlation], ceilings: Sequence[Ceiling]) -> tuple[float, float]:
    """Return ends of a common axis for plots side by side, which contains all intervals, 0 and the ceilings."""
    numbers = [number for row in rows for number in (row.value, row.low, row.high) if number is not None]
    numbers += [number for row in ceilings for number in (row.value, row.low, row.high) if number is not None]
    low, high = min([0.0, *numbers]), max([0.1, *numbers])
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _describe(row: Correlation) -> str:
    if row.value is None:
        return f"{row.metric}: undefined, {row.reason or 'no reason given'} (n = {row.n}, {row.n_missing} failed)"
    interval = format_interval(row.low, row.high)
    said = f", 95% interval {interval}" if interval else ", no interval"
    return f"{row.metric}: {format_coefficient(row.value)}{said} (n = {row.n}, {row.n_missing} failed)"
