"""Scores against ratings, one point per answer, with marginal histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.report.formatting import format_measure
from imapeval.report.study.charts.canvas import (
    FAINT,
    INK,
    LINE,
    MARKERS,
    SERIES,
    TEXT_SIZE,
    open_canvas,
    require_matplotlib,
    shorten,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.scales import RatingScale

MAX_POINTS = 5000
"""With more answers, points hide each other and make large files: hexagons with counts replace them."""

_MAX_VALUES = 60
"""Maximum number of distinct ratings on a grid; means of three raters on 0..5 by .5 have 31."""

_LEFT, _TOP, _SIDE, _MARGIN, _GAP, _BOTTOM = 34.0, 20.0, 160.0, 26.0, 4.0, 36.0


def draw_scatter(
    scores: Floats,
    ratings: Floats,
    *,
    systems: Sequence[str],
    colours: Sequence[str],
    axes: tuple[str, str],
    scale: RatingScale | None,
    crowded: bool,
    seed: int,
    name: str,
    label: str,
) -> str:
    """Return the plot as an `svg` element; see `Canvas.render`.

    Answers of which the score or the rating is NaN are left out. `colours` are the systems with a colour of their own,
    in order; all others share the first. `axes` are the names of score and rating; the seed is that of the jitter.
    `crowded` is whether hexagons replace the points.
    """
    both = ~(np.isnan(scores) | np.isnan(ratings))
    x, y = scores[both], ratings[both]
    names = [system for system, kept in zip(systems, both.tolist(), strict=True) if kept]
    width, height = _LEFT + _SIDE + _GAP + _MARGIN + 4, _TOP + _MARGIN + _GAP + _SIDE + _BOTTOM
    with open_canvas(width, height) as canvas:
        top = _TOP + _MARGIN + _GAP
        main = canvas.add_axes(_LEFT, top, width=_SIDE, height=_SIDE)
        above = canvas.add_axes(_LEFT, _TOP, width=_SIDE, height=_MARGIN)
        beside = canvas.add_axes(_LEFT + _SIDE + _GAP, top, width=_MARGIN, height=_SIDE)
        across = _find_limits(x)
        up = _find_limits(y) if scale is None else _find_limits(np.append(y, (scale.low, scale.high)))
        main.set(xlim=across, ylim=up)
        for axis in (main.xaxis, main.yaxis):
            canvas.format_axis(axis, format_measure, most=4)
        main.grid(color=LINE, linewidth=0.6)
        main.set_axisbelow(True)
        main.set_xlabel(canvas.placeholder(shorten(axes[0], _LEFT + _SIDE)), color=INK)
        # The name of the ratings is above the axis, not along it: horizontal text is easier to read on a phone.
        page = canvas.add_overlay()
        page.text(2, TEXT_SIZE + 1, canvas.placeholder(shorten(f"↑ {axes[1]}", width)), color=INK)
        if crowded:
            _draw_hexagons(main, x, y, limits=(*across, *up))
        else:
            _draw_points(main, x, jitter(y, seed=seed), names, colours)
        _draw_margin(above, x, across, orientation="vertical")
        _draw_margin(beside, y, up, orientation="horizontal")
        return canvas.render(name, label=label)


def jitter(ratings: Floats, *, seed: int) -> Floats:
    """Return ratings on a grid moved at random by up to a third of their step, shape (n,), others unchanged.

    Otherwise answers with the same rating would hide each other. They stay separate from those with the next rating.
    """
    # Means of equal ratings may differ in their last digits.
    values = np.unique(ratings.round(9))
    if not 1 < len(values) <= min(_MAX_VALUES, len(ratings) - 1):
        return ratings
    third = float(np.diff(values).min()) / 3
    return ratings + np.random.default_rng(seed).uniform(-third, third, len(ratings))


def _draw_points(main: Any, x: Floats, y: Floats, systems: Sequence[str], colours: Sequence[str]) -> None:
    known = {system: place for place, system in enumerate(colours)}
    series = np.array([known.get(system, 0) for system in systems], dtype=np.int64)
    # Many points are drawn small and pale, so that their density is visible.
    size, alpha = (14.0, 0.55) if len(x) <= 500 else (6.0, 0.35)
    for place in np.unique(series).tolist():
        chosen = series == place
        main.scatter(
            x[chosen], y[chosen], s=size, color=SERIES[place], alpha=alpha, linewidths=0, marker=MARKERS[place]
        )


def _draw_hexagons(main: Any, x: Floats, y: Floats, *, limits: tuple[float, float, float, float]) -> None:
    cells = main.hexbin(x, y, gridsize=28, extent=limits, mincnt=1, linewidths=0)
    counts: Floats = np.asarray(cells.get_array(), dtype=np.float64)
    if not len(counts):
        return
    # Logarithmic opacity: otherwise a few crowded cells would leave all others blank.
    weights: Floats = 0.12 + 0.88 * np.log1p(counts) / float(np.log1p(counts.max()))
    rgb = require_matplotlib("colors").to_rgb(SERIES[0])
    cells.set_array(None)
    cells.set_facecolor([(*rgb, round(weight, 1)) for weight in weights.tolist()])
    cells.set_edgecolor("none")


def _draw_margin(axes: Any, values: Floats, limits: tuple[float, float], *, orientation: str) -> None:
    counts, edges = np.histogram(values, bins=24, range=limits)
    axes.stairs(counts, edges, fill=True, color=SERIES[0], alpha=0.45, linewidth=0, orientation=orientation)
    most = max(1, int(counts.max(initial=0)))
    # Limits of both axes, because an empty histogram has no extent.
    bounds = (0, most * 1.05)
    axes.set(**({"xlim": limits, "ylim": bounds} if orientation == "vertical" else {"xlim": bounds, "ylim": limits}))
    axes.set_facecolor(FAINT)
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _find_limits(values: Floats) -> tuple[float, float]:
    """Return limits slightly outside the values, also if they are all equal or there are none."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    margin = 0.05 * (high - low) or 0.5 * (abs(high) or 1.0)
    return low - margin, high + margin
