"""Coefficients within ordered groups of answers, such as ranges of length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.formatting import format_coefficient, format_interval, format_tick
from imapeval.report.study.charts.canvas import INK, LINE, MARKERS, SERIES, SOFT, open_canvas, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.subgroups.slices import Slice

_LEFT, _TOP, _WIDTH, _HEIGHT, _BOTTOM = 30.0, 8.0, 290.0, 150.0, 46.0


def draw_group_plot(
    metrics: Sequence[str], groups: Sequence[str], cells: Mapping[tuple[str, str], Slice], *, name: str, label: str
) -> str:
    """Return the plot as an `svg` element: a line per metric over the groups, each point with its interval.

    There are at most as many metrics as colours. A missing cell, or one without a value, interrupts the line. For
    `name` and `label` see `Canvas.render`.
    """
    with open_canvas(_LEFT + _WIDTH + 6, _TOP + _HEIGHT + _BOTTOM) as canvas:
        plot = canvas.add_axes(_LEFT, _TOP, width=_WIDTH, height=_HEIGHT)
        shown = [cell for key, cell in cells.items() if key[0] in metrics and key[1] in groups]
        numbers = [number for cell in shown for number in (cell.value, cell.low, cell.high) if number is not None]
        low, high = min([0.0, *numbers]), max([0.1, *numbers])
        margin = 0.05 * (high - low)
        plot.set(xlim=(-0.5, len(groups) - 0.5), ylim=(low - margin, high + margin))
        plot.axhline(0, color=SOFT, linewidth=0.8)
        plot.grid(axis="y", color=LINE, linewidth=0.6)
        plot.set_axisbelow(True)
        canvas.format_axis(plot.yaxis, format_tick, most=5)
        for place, metric in enumerate(metrics):
            # Side by side, so that intervals do not overlap.
            shift = (place - (len(metrics) - 1) / 2) * 0.12
            x = [at + shift for at in range(len(groups))]
            of_metric = [cells.get((metric, group)) for group in groups]
            values = [float("nan") if cell is None or cell.value is None else cell.value for cell in of_metric]
            colour = SERIES[place]
            plot.plot(x, values, "-", color=colour, linewidth=1, alpha=0.6)
            for at, cell in zip(x, of_metric, strict=True):
                if cell is None or cell.value is None:
                    continue
                if cell.low is not None and cell.high is not None:
                    plot.vlines(at, cell.low, cell.high, color=colour, linewidth=1.6)
                hint = canvas.tooltip(_describe_group(cell))
                plot.plot([at], [cell.value], MARKERS[place], color=colour, markersize=6, markeredgewidth=0, gid=hint)
        plot.set_xticks(range(len(groups)))
        counts = {group: max((cell.n for cell in shown if cell.group == group), default=0) for group in groups}
        room = _WIDTH / len(groups) - 4
        plot.set_xticklabels([])
        for at, group in enumerate(groups):
            # A range takes two lines: "0.29 to" and "0.41".
            start, to, end = group.partition(" to ")
            lines = [(start + to.rstrip(), INK), (end, INK), (f"n {counts[group]}", SOFT)]
            for line, (words, colour) in enumerate((words, colour) for words, colour in lines if words):
                plot.annotate(
                    canvas.placeholder(shorten(words, room)),
                    (at, 0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, -15 - 12 * line),
                    textcoords="offset points",
                    ha="center",
                    color=colour,
                    fontsize=9.5,
                )
        return canvas.render(name, label=label)


def _describe_group(cell: Slice) -> str:
    interval = format_interval(cell.low, cell.high)
    said = f", {interval}" if interval else ""
    return f"{cell.metric}, {cell.group}: {format_coefficient(cell.value)}{said} (n = {cell.n})"
