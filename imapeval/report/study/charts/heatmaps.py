"""Heat maps of metrics by metrics: which agrees better with the raters, and which are similar."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.report.formatting import format_coefficient, format_tick
from imapeval.report.study.charts.canvas import (
    BETTER,
    FAINT,
    INK,
    SOFT,
    TEXT_SIZE,
    WORSE,
    open_canvas,
    require_matplotlib,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.report.study.charts.canvas import Canvas
    from imapeval.study.correlation.metric_matrix import MetricMatrix

_LABELS, _NUMBERS, _MATRIX, _TREE, _TOP = 158.0, 18.0, 214.0, 62.0, 18.0
_ROW, _MAX_CELL = 13.0, 26.0
_MAX_NUMBERED = 12
"""Metrics up to which a number fits into each cell."""

Cell = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Layer:
    """Cells of one colour."""

    colour: str
    opacity: float
    cells: Sequence[Cell]


def draw_winners(metrics: Sequence[str], winners: Mapping[Cell, int], *, name: str, label: str) -> str:
    """Return which metric beats which, as an `svg` element.

    A winner is 1 if the row's metric is better than the column's, -1 if it is worse, and 0 if the difference is not
    significant; there is none if they were not compared. For `name` and `label` see `Canvas.render`.
    """
    layers = [
        _Layer(colour, opacity, [cell for cell, verdict in winners.items() if verdict == wanted])
        for wanted, colour, opacity in ((1, BETTER, 0.8), (-1, WORSE, 0.8), (0, SOFT, 0.16))
    ]
    signs = {1: "+", -1: "−", 0: "·"}
    words = {cell: signs[verdict] for cell, verdict in winners.items()} if len(metrics) <= 2 * _MAX_NUMBERED else {}
    across = _NUMBERS + _LABELS + _cell_width(len(metrics)) * len(metrics)
    with open_canvas(across + 4, _TOP + _row_height(len(metrics)) * len(metrics) + 4) as canvas:
        _draw_cells(canvas, metrics, layers, words)
        return canvas.render(name, label=label)


def draw_metric_matrix(matrix: MetricMatrix, *, name: str, label: str) -> str:
    """Return the coefficients between metrics with the tree of their clustering, as an `svg` element.

    For `name` and `label` see `Canvas.render`.
    """
    size = len(matrix.metrics)
    numbered = size <= _MAX_NUMBERED
    values = {
        (row, column): value
        for row, line in enumerate(matrix.values)
        for column, value in enumerate(line)
        if value is not None
    }
    # Twenty steps: more cannot be distinguished, and the cells of a step are one path.
    steps: dict[tuple[str, int], list[Cell]] = {}
    for cell, value in values.items():
        steps.setdefault((BETTER if value >= 0 else WORSE, round(20 * min(1.0, abs(value)))), []).append(cell)
    strongest = 0.55 if numbered else 0.95
    layers = [
        _Layer(colour, strongest * step / 20, cells) for (colour, step), cells in sorted(steps.items()) if step > 0
    ]
    words = {cell: format_coefficient(value, digits=2) for cell, value in values.items()} if numbered else {}
    across = _NUMBERS + _LABELS + _cell_width(size) * size
    height = _row_height(size) * size
    with open_canvas(across + _TREE, _TOP + height + 44) as canvas:
        _draw_cells(canvas, matrix.metrics, layers, words)
        _draw_tree(canvas, matrix, left=across + 4, height=height)
        _draw_key(canvas, strongest)
        return canvas.render(name, label=label)


def _draw_cells(canvas: Canvas, metrics: Sequence[str], layers: Sequence[_Layer], words: Mapping[Cell, str]) -> None:
    size = len(metrics)
    wide, high = _cell_width(size), _row_height(size)
    page = canvas.add_overlay()
    left = _NUMBERS + _LABELS
    for layer in layers:
        if layer.cells:
            page.add_artist(_make_patch(layer, left=left, wide=wide, high=high))
    for (row, column), word in words.items():
        middle = (left + (column + 0.5) * wide, _TOP + (row + 0.5) * high)
        page.text(*middle, canvas.placeholder(word), ha="center", va="center_baseline", color=INK, fontsize=8)
    for row, metric in enumerate(metrics):
        middle = _TOP + (row + 0.5) * high
        said = canvas.placeholder(shorten(metric, _LABELS - 8))
        page.text(_NUMBERS, middle, canvas.placeholder(f"{row + 1}"), ha="right", va="center_baseline", fontsize=8)
        page.text(
            _NUMBERS + 5, middle, said, va="center_baseline", color=INK, gid=canvas.tooltip(f"{row + 1}: {metric}")
        )
    # Columns are the rows' numbers; where they are narrow, every second, fifth ... of them.
    every = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if step * wide >= 14)
    for column in range(size):
        if every == 1 or (column + 1) % every == 0:
            page.text(
                left + (column + 0.5) * wide, _TOP - 4, canvas.placeholder(f"{column + 1}"), ha="center", fontsize=8
            )


def _make_patch(layer: _Layer, *, left: float, wide: float, high: float) -> Any:
    """Return all cells of a layer as one shape."""
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)], dtype=np.float64)
    # A thin gap separates cells if there is room for it.
    corners = corners * (wide - (0.8 if wide > 6 else 0.0), high - 0.8)
    places = np.array([(left + column * wide, _TOP + row * high) for row, column in layer.cells])
    paths = require_matplotlib("path").Path
    codes = np.tile([paths.MOVETO, paths.LINETO, paths.LINETO, paths.LINETO, paths.CLOSEPOLY], len(places))
    vertices = (places[:, None, :] + corners[None, :, :]).reshape(-1, 2)
    return require_matplotlib("patches").PathPatch(
        paths(vertices, codes), facecolor=layer.colour, alpha=layer.opacity, linewidth=0
    )


def _draw_tree(canvas: Canvas, matrix: MetricMatrix, *, left: float, height: float) -> None:
    """Draw the clustering beside the rows: the further right two branches meet, the less similar they are."""
    if not matrix.merges:
        return
    tree = canvas.add_axes(left, _TOP, width=_TREE - 6, height=height)
    furthest = max(distance for _, _, distance, _ in matrix.merges) or 1.0
    tree.set(xlim=(0, furthest * 1.02), ylim=(len(matrix.metrics) - 0.5, -0.5), yticks=[])
    tree.spines["left"].set_visible(False)
    places: list[tuple[float, float]] = [(0.0, float(row)) for row in range(len(matrix.metrics))]
    x: list[float] = []
    y: list[float] = []
    for first, second, distance, _ in matrix.merges:
        (near, up), (far, down) = places[first], places[second]
        x += [near, distance, distance, far, float("nan")]
        y += [up, up, down, down, float("nan")]
        places.append((distance, (up + down) / 2))
    tree.plot(x, y, color=SOFT, linewidth=0.9)
    canvas.format_axis(tree.xaxis, format_tick, most=2)


def _draw_key(canvas: Canvas, strongest: float) -> None:
    """Draw the colour key below the cells."""
    page = canvas.add_overlay()
    step, left, top = 11.0, _NUMBERS + _LABELS, canvas.height - 26
    for place, value in enumerate(np.linspace(-1, 1, 9).tolist()):
        page.add_artist(
            require_matplotlib("patches").Rectangle(
                (left + place * step, top),
                step - 0.8,
                8,
                facecolor=FAINT if value == 0 else BETTER if value > 0 else WORSE,
                alpha=1 if value == 0 else strongest * abs(value),
                linewidth=0,
            )
        )
    for place, word in ((0, "−1"), (4, "0"), (8, "1")):
        at = left + (place + 0.5) * step
        page.text(at, top + 10 + TEXT_SIZE, canvas.placeholder(word), ha="center", fontsize=9)


def _cell_width(size: int) -> float:
    return min(_MAX_CELL, _MATRIX / max(1, size))


def _row_height(size: int) -> float:
    """Cells are squares while that leaves room for words; then rows keep their height and cells become narrow."""
    return max(_ROW, _cell_width(size) * 0.8)
