"""Distribution of the absolute differences of two raters, in the bins of Wang et al. 2024 (Findings of ACL, imapScore).

There, ratings go from 0 to 5 in halves, and absolute differences fall into {0}, {.5, 1, 1.5}, {2, 2.5}, {3, 3.5},
{4, 4.5} and {5}. Other scales are divided at the same fractions of their length: 0; above 0 and below 2/5; from
there to below 3/5; to below 4/5; to below the whole; and the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.agreement.raw_agreement import MAX_CATEGORIES, STEP_TOLERANCE
from imapeval.study.data.findings import ALL
from imapeval.study.data.scales import RatingScale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

EDGES = (0.4, 0.6, 0.8, 1.0)
"""Upper ends of the bins as fractions of the scale's length: 2, 3, 4 and 5 of 5 in the paper."""

_MAX_LISTED = 4
"""Maximum number of differences listed in a bin's name; a bin with more is named by its ends."""


@dataclass(frozen=True, slots=True)
class Differences:
    """How far two raters lie apart, in bins of the absolute difference (Wang et al. 2024, their agreement table).

    Attributes:
        first, second: The raters.
        bins: Share of answers in each bin, by the bin's name, in order; they sum to 1.
        mean_absolute: Mean absolute difference, on the rating scale.
        n: Number of answers that both rated.
    """

    dimension: str
    first: str
    second: str
    bins: Mapping[str, float]
    mean_absolute: float
    n: int


def count_differences(rated: Rated) -> list[Differences]:
    """Count the differences of each pair of raters by size, for each dimension.

    Returns:
        A row per dimension and pair of raters with an answer in common; after several pairs one of all pairs together,
        with the raters `ALL`. Nothing for a dimension of which only averages are known. Where no scale is declared the
        lowest and the highest rating given stand for its ends, and the smallest distance of two for its step, if all
        lie on it.
    """
    rows: list[Differences] = []
    for dimension in rated.dimensions:
        table = rated.by_rater.get(dimension)
        if table is None or np.isnan(table).all():
            continue
        scale = rated.scales.get(dimension) or _guess_scale(table)
        pairs: list[tuple[str, str, Floats]] = []
        for first, second in combinations(range(table.shape[1]), 2):
            apart = np.abs(table[:, first] - table[:, second])
            apart = apart[~np.isnan(apart)]
            if apart.size:
                pairs.append((rated.raters[first], rated.raters[second], apart))
        if len(pairs) > 1:
            pairs.append((ALL, ALL, np.concatenate([apart for _, _, apart in pairs])))
        rows += [
            Differences(dimension, first, second, bin_differences(apart, scale=scale), float(apart.mean()), len(apart))
            for first, second, apart in pairs
        ]
    return rows


def bin_differences(differences: Floats, *, scale: RatingScale | None) -> dict[str, float]:
    """Return the share of absolute differences in each bin, by its name, in order.

    Bins that no two ratings of the scale can fall into are left out.

    Args:
        differences: Finite, 0 or more, at least one; shape (n,).
        scale: The rating scale; None where all ratings are the same, so that there is no length to divide.

    Raises:
        ValueError: A difference is larger than the scale is long.
    """
    if scale is None:
        if differences.any():
            raise ValueError("differences without a scale")
        return {"0": 1.0}
    length = scale.high - scale.low
    unit = scale.step or length
    parts = _find_bins(differences, length=length, unit=unit)
    if parts.max() > len(EDGES) + 1:
        raise ValueError(f"a difference of {differences.max():g} is larger than the scale is long ({length:g})")
    shares = np.bincount(parts, minlength=len(EDGES) + 2) / len(differences)
    return {name: float(shares[number]) for number, name in _name_bins(scale)}


def _find_bins(differences: Floats, *, length: float, unit: float) -> Counts:
    # An edge belongs to the bin above it, also where rounding put a difference just below.
    reach = differences + unit * STEP_TOLERANCE
    bins = 1 + np.searchsorted(np.array(EDGES) * length, reach, side="right")
    beyond = differences > length + unit * STEP_TOLERANCE
    return np.where(differences <= unit * STEP_TOLERANCE, 0, bins + beyond).astype(np.int64)


def _name_bins(scale: RatingScale) -> list[tuple[int, str]]:
    length = scale.high - scale.low
    if scale.step is None:
        low, *edges = (f"{edge * length:g}" for edge in (0.0, *EDGES))
        ends = [f"above {low}, below {edges[0]}"]
        ends += [f"{start} to below {end}" for start, end in pairwise(edges)]
        return list(enumerate(["0", *ends, edges[-1]]))
    steps = scale.step * np.arange(int(length / scale.step * (1 + STEP_TOLERANCE)) + 1, dtype=np.float64)
    bins = _find_bins(steps, length=length, unit=scale.step)
    members = [(number, steps[bins == number].tolist()) for number in range(len(EDGES) + 2)]
    return [(number, _format_values(values)) for number, values in members if values]


def _format_values(values: Sequence[float]) -> str:
    shown = [f"{value:g}" for value in values]
    return ", ".join(shown) if len(shown) <= _MAX_LISTED else f"{shown[0]} to {shown[-1]}"


def _guess_scale(table: Floats) -> RatingScale | None:
    """Return the scale that the ratings suggest: their range and, if all lie on it, the grid of their smallest gap."""
    values = np.unique(table[~np.isnan(table)])
    if len(values) < 2:
        return None
    step = float(np.diff(values).min())
    steps = (values - values[0]) / step
    on_grid = (np.abs(steps - np.rint(steps)) <= STEP_TOLERANCE).all() and steps[-1] < MAX_CATEGORIES
    return RatingScale(float(values[0]), float(values[-1]), step if on_grid else None)
