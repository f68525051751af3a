"""The coefficients by name: ours, and those of other packages.

To add one here, write a subclass of `Coefficient` and list it in `_OURS`. Another package adds coefficients through the
entry-point group `imapeval.statistics`, each entry a subclass of `Coefficient`:

    [project.entry-points."imapeval.statistics"]
    concordance = "my_package.coefficients:Concordance"
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from imapeval.errors import ResourceError, UsageError
from imapeval.study.correlation.base import MIN_ROWS, Coefficient
from imapeval.study.correlation.mean_correlation import MeanCorrelation
from imapeval.study.correlation.pair_counting import KendallTauB, KendallTauC, PairsInOrder, PairwiseAccuracy
from imapeval.study.correlation.pairs import calibrate_ties
from imapeval.study.correlation.product_moment import Pearson, Spearman

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.findings import CoefficientName

GROUP = "imapeval.statistics"


class SoftPairwiseAccuracy(Coefficient):
    """Soft pairwise accuracy; see `soft_pairwise_accuracy`."""

    name = "soft_pairwise_accuracy"
    title = "soft pairwise accuracy"
    bounds = (0.0, 1.0)
    min_rows = 2
    system_level_only = True


_OURS: tuple[type[Coefficient], ...] = (
    Spearman,
    KendallTauB,
    KendallTauC,
    Pearson,
    PairwiseAccuracy,
    PairsInOrder,
    SoftPairwiseAccuracy,
    MeanCorrelation,
)


@cache
def all_coefficients() -> Mapping[CoefficientName, Coefficient]:
    """Return every coefficient by its name, ours first.

    Raises:
        ResourceError: Two packages have a coefficient of one name.
    """
    found: dict[CoefficientName, Coefficient] = {cls.name: cls() for cls in _OURS}
    for entry in metadata.entry_points(group=GROUP):
        coefficient = entry.load()()
        if coefficient.name in found:
            raise ResourceError(
                f"the coefficient {coefficient.name!r} of {entry.value} has the name of another one. Uninstall one of "
                "the packages."
            )
        found[coefficient.name] = coefficient
    return found


def find_coefficient(name: CoefficientName) -> Coefficient:
    """Return the coefficient of that name.

    Raises:
        UsageError: There is none.
    """
    known = all_coefficients()
    if name not in known:
        raise UsageError(f"unknown coefficient {name!r}. Coefficients: {', '.join(known)}.")
    return known[name]


def comparable_coefficients() -> tuple[CoefficientName, ...]:
    """Return the names of the coefficients by which metrics and groups of answers can be compared: all but accuracies.

    An accuracy depends on a threshold that is chosen for each metric, or concerns systems alone.
    """
    return tuple(name for name, one in all_coefficients().items() if not (one.calibrates_ties or one.system_level_only))


@dataclass(frozen=True, slots=True)
class Undefined:
    """Why there is no coefficient."""

    reason: str


Value: TypeAlias = float | Undefined


@dataclass(frozen=True, slots=True)
class CalibratedAccuracy:
    """Share of pairs that scores and ratings order alike, 0..1, and the tie threshold that makes it the highest."""

    value: float
    epsilon: float


def spearman(x: Sequence[float], y: Sequence[float]) -> Value:
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


def kendall_tau_b(x: Sequence[float], y: Sequence[float]) -> Value:
    """Return Kendall's tau-b, which corrects for ties on both sides. Arguments and errors as in `spearman`."""
    return _compute("kendall_tau_b", x, y)


def kendall_tau_c(x: Sequence[float], y: Sequence[float]) -> Value:
    """Return Kendall's (Stuart's) tau-c, for scales of different lengths. Arguments and errors as in `spearman`."""
    return _compute("kendall_tau_c", x, y)


def pearson(x: Sequence[float], y: Sequence[float]) -> Value:
    """Return Pearson's r. Arguments and errors as in `spearman`."""
    return _compute("pearson", x, y)


def pairwise_accuracy(x: Sequence[float], y: Sequence[float]) -> CalibratedAccuracy | Undefined:
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
    accuracy = find_coefficient("pairwise_accuracy")
    if why := explain_undefined(a, b, minimum=accuracy.min_rows):
        return why
    epsilon = float(calibrate_ties(a[None], b[None])[0, 0])
    return CalibratedAccuracy(accuracy.with_influences(a, b, epsilon=epsilon).value, epsilon)


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


def _compute(name: CoefficientName, x: Sequence[float], y: Sequence[float]) -> Value:
    a, b = _as_arrays(x, y)
    return explain_undefined(a, b) or find_coefficient(name).with_influences(a, b).value


def _as_arrays(x: Sequence[float], y: Sequence[float]) -> tuple[Floats, Floats]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"x has {len(a)} rows and y has {len(b)}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("x and y must be finite; leave out rows without a number")
    return a, b
