"""Coefficients of agreement between two columns: rank correlations with ties, Pearson's, and pairwise accuracy.

All but the accuracy equal scipy's, which the core install does without. Kendall's and the accuracy count pairs in
O(n log n). What is computed on many resamples or groups at once stands in `weighing` and `grouping`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from imapeval.study.correlation.influence import correlate_with_influences
from imapeval.study.correlation.pairs import calibrate_ties
from imapeval.study.correlation.weighted import weighted_correlation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.bootstrap import Floats
    from imapeval.study.data.findings import CoefficientName


MIN_ROWS = 3
"""Two rows always correlate perfectly or not at all."""

MIN_PAIR = 2
"""Rows that make the one pair which an accuracy needs."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no coefficient, because."""

    reason: str


Coefficient: TypeAlias = float | Undefined


@dataclass(frozen=True, slots=True)
class PairwiseAccuracy:
    """Share of pairs that scores and ratings order alike, 0..1, and the tie threshold that makes it the highest."""

    value: float
    epsilon: float


_CORRELATIONS: Mapping[CoefficientName, tuple[str, tuple[float, float], int]] = {
    "spearman": ("Spearman's rho", (-1.0, 1.0), MIN_ROWS),
    "kendall_tau_b": ("Kendall's tau-b", (-1.0, 1.0), MIN_ROWS),
    "kendall_tau_c": ("Kendall's tau-c", (-1.0, 1.0), MIN_ROWS),
    "pearson": ("Pearson's r", (-1.0, 1.0), MIN_ROWS),
    "pairwise_accuracy": ("pairwise accuracy", (0.0, 1.0), MIN_PAIR),
    "soft_pairwise_accuracy": ("soft pairwise accuracy", (0.0, 1.0), MIN_PAIR),
}

TITLES: Mapping[CoefficientName, str] = {name: title for name, (title, _, _) in _CORRELATIONS.items()}
"""What people call them."""

BOUNDS: Mapping[CoefficientName, tuple[float, float]] = {name: ends for name, (_, ends, _) in _CORRELATIONS.items()}
"""Lowest and highest possible value."""

MINIMUM: Mapping[CoefficientName, int] = {name: rows for name, (_, _, rows) in _CORRELATIONS.items()}
"""Fewest answers (or systems, at system level) that have one."""


COUNTS_PAIRS: frozenset[CoefficientName] = frozenset({"kendall_tau_b", "kendall_tau_c", "pairwise_accuracy"})
"""Coefficients that count pairs of answers."""


def spearman(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """Return Spearman's rho: Pearson's correlation of the average ranks.

    Args:
        x: Finite numbers.
        y: Finite numbers, as many.

    Returns:
        -1..1; `Undefined` with fewer than `MIN_ROWS` rows or where x or y is constant.

    Raises:
        ValueError: The lengths differ or a number is not finite.
    """
    return _compute("spearman", x, y)


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """Return Kendall's tau-b, which corrects for ties on both sides. Arguments and errors as in `spearman`."""
    return _compute("kendall_tau_b", x, y)


def kendall_tau_c(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """Return Kendall's (Stuart's) tau-c, for scales of different lengths. Arguments and errors as in `spearman`."""
    return _compute("kendall_tau_c", x, y)


def pearson(x: Sequence[float], y: Sequence[float]) -> Coefficient:
    """Return Pearson's r. Arguments and errors as in `spearman`."""
    return _compute("pearson", x, y)


def pairwise_accuracy(x: Sequence[float], y: Sequence[float]) -> PairwiseAccuracy | Undefined:
    """Return the share of pairs of rows that x and y order alike, ties being right where both have them.

    acc_eq of Deutsch, Foster and Freitag 2023, "Ties Matter" (equation 7), with their tie calibration: x that differ by
    no more than `epsilon` are tied, and `epsilon` is what gives the highest accuracy.

    Args:
        x: The scores; finite.
        y: The ratings; finite, as many.

    Returns:
        `Undefined` with fewer than two rows or where x or y is constant.

    Raises:
        ValueError: The lengths differ or a number is not finite.
    """
    a, b = _as_arrays(x, y)
    if why := explain_undefined(a, b, minimum=MIN_PAIR):
        return why
    epsilon = calibrate_ties(a, b)
    return PairwiseAccuracy(correlate_with_influences("pairwise_accuracy", a, b, epsilon=epsilon).value, epsilon)


def weighted_spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return Spearman's rho of two columns for each row of whole-number weights, shape (m, n); NaN where undefined."""
    return weighted_correlation("spearman", x[None, :], y[None, :], weights, codes=np.arange(len(x)))[:, 0, 0]


def explain_undefined(
    x: Floats, y: Floats, *, names: tuple[str, str] = ("x", "y"), minimum: int = MIN_ROWS
) -> Undefined | None:
    """Return why no coefficient exists, or None where one does."""
    if len(x) < minimum:
        rows = "1 row is" if len(x) == 1 else f"{len(x)} rows are"
        return Undefined(f"{rows} fewer than {minimum}")
    for side, name in ((x, names[0]), (y, names[1])):
        if (side == side[0]).all():
            return Undefined(f"{name} is constant ({side[0]:g})")
    return None


def _compute(name: CoefficientName, x: Sequence[float], y: Sequence[float]) -> Coefficient:
    a, b = _as_arrays(x, y)
    return explain_undefined(a, b) or correlate_with_influences(name, a, b).value


def _as_arrays(x: Sequence[float], y: Sequence[float]) -> tuple[Floats, Floats]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"x has {len(a)} rows and y has {len(b)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("x and y must be finite; leave out rows without a number")
    return a, b
