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
from typing import TYPE_CHECKING

import numpy as np

from imapeval._optional import check_offered, name_entry_point
from imapeval.errors import ResourceError, UsageError
from imapeval.redaction import get_logger
from imapeval.study.correlation.base import MIN_ROWS, Coefficient, InfluencedCoefficient
from imapeval.study.correlation.pair_coefficients import KendallTauB, KendallTauC, PairsInOrder, PairwiseAccuracy
from imapeval.study.correlation.product_moment import Pearson, Spearman
from imapeval.study.correlation.soft_pairwise_accuracy import SoftPairwiseAccuracy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.study.arrays import Counts, Floats, WholeNumbers
    from imapeval.study.data.findings import CoefficientName

GROUP = "imapeval.statistics"

_log = get_logger(__name__)


_MEDIQA_EVAL = (KendallTauB(), Pearson(), Spearman())


class MeanCorrelation(Coefficient):
    """The score of MEDIQA-EVAL 2026: the mean of Kendall's tau-b, Pearson's r and Spearman's rho.

    The shared task computes it over all answers together (level "global") and averages it over the dimensions.
    """

    name = "mediqa_eval"
    title = "mean of Kendall's tau-b, Pearson's r and Spearman's rho"
    source = "the shared task MEDIQA-EVAL 2026"
    counts_pairs = KendallTauB.counts_pairs

    def weighted(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        return np.mean([part.weighted(x, y, weights) for part in _MEDIQA_EVAL], axis=0)

    def resample(
        self, x: Floats, y: Floats, drawn: WholeNumbers, *, codes: Counts, epsilon: Floats | None = None
    ) -> Floats:
        return np.mean([part.resample(x, y, drawn, codes=codes, epsilon=epsilon) for part in _MEDIQA_EVAL], axis=0)

    def in_groups(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> Floats:
        return np.mean([part.in_groups(x, y, epsilon=epsilon) for part in _MEDIQA_EVAL], axis=0)

    def with_influences(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        found = [part.with_influences(x, y, epsilon=epsilon) for part in _MEDIQA_EVAL]
        value = float(np.mean([part.value for part in found]))
        return InfluencedCoefficient(value, np.mean([part.rows for part in found], axis=0))


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
    """Return every coefficient by its name, ours first; one that cannot be loaded is logged and left out.

    Raises:
        ResourceError: Two packages have a coefficient of one name.
    """
    found: dict[CoefficientName, Coefficient] = {cls.name: cls() for cls in _OURS}
    for entry in metadata.entry_points(group=GROUP):
        try:
            with name_entry_point(entry):
                coefficient = check_offered(entry.load()(), Coefficient)
                name, _ = coefficient.name, coefficient.title
        except ResourceError as error:
            _log.warning("%s", error)
            continue
        if name in found:
            raise ResourceError(
                f"the coefficient {name!r} of {entry.value} has the name of another one. Uninstall one of the packages."
            )
        found[name] = coefficient
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
    """Why there is no value."""

    reason: str


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
