"""A cell of the distribution column: histogram, mean and interval on one axis, as inline SVG."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from imapeval.report.formatting import format_measure, pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.report.summary import SummaryRow

BINS = 25
_HEIGHT = 24.0
_ROUND_NUMBERS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a metric: of its histograms, and of the bars and colours of single scores."""

    low: float
    high: float

    @classmethod
    def of_metric(cls, span: Sequence[float | None], values: Sequence[float]) -> Axis:
        """Return the range of a metric; an open end is at a round number beyond all values, the upper one at 1 or more.

        `span` is the lowest and the highest possible score; None where there is none.
        """
        low = 0.0 - _round_up(-min(values, default=0.0)) if span[0] is None else span[0]
        high = _round_up(max([*values, 1.0])) if span[1] is None else span[1]
        return cls(low, high if high > low else low + 1.0)

    def percent(self, value: float) -> float:
        """Return the position of a value in percent of the axis."""
        return 100 * (value - self.low) / (self.high - self.low)


def draw_histogram(values: Sequence[float], row: SummaryRow, axis: Axis) -> str:
    """Return a histogram as an `svg` element, on the axis of its metric; the highest bar has the full height."""
    # Scores may pass the range of their metric by rounding.
    within = np.clip(values, axis.low, axis.high)
    counts: list[int] = np.histogram(within, BINS, (axis.low, axis.high))[0].tolist()
    width, highest = 100 / BINS, max(counts)
    bars = "".join(
        f"M{number * width:g} {_HEIGHT:g}v{-_HEIGHT * count / highest:.4g}h{0.88 * width:g}V{_HEIGHT:g}z"
        for number, count in enumerate(counts)
        if count
    )
    marks = ""
    if row.low is not None and row.high is not None:
        ends = f'x1="{axis.percent(row.low):.5g}" x2="{axis.percent(row.high):.5g}"'
        marks += f'<line class="interval" {ends} y1="27" y2="27"/>'
    if row.mean is not None:
        at = f"{axis.percent(row.mean):.5g}"
        marks += f'<line class="mean" x1="{at}" x2="{at}" y1="21" y2="30"/>'
    return (
        f'<svg viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label="{escape(_describe(values))}">'
        f'<path class="bars" d="{bars}"/><line class="axis" x1="0" x2="100" y1="{_HEIGHT:g}" y2="{_HEIGHT:g}"/>'
        f"{marks}</svg>"
    )


def _describe(values: Sequence[float]) -> str:
    if not values:
        return "No scores"
    counted = pluralize(len(values), "score")
    low, median, high = map(format_measure, (min(values), float(np.median(values)), max(values)))
    return f"{counted} from {low} to {high}, median {median}"


def _round_up(value: float) -> float:
    """Return the smallest round number that is not smaller; 0 if the value is not positive."""
    if value <= 0:
        return 0.0
    scale = 10 ** math.floor(math.log10(value))
    # The tolerance keeps 1.0000000001, a sum of floats, on an axis that ends at 1.
    return next((nice * scale for nice in _ROUND_NUMBERS if value <= nice * scale * (1 + 1e-9)), 10 * scale)
