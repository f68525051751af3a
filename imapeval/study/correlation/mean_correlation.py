"""The score of MEDIQA-EVAL 2026: the mean of Kendall's tau-b, Pearson's r and Spearman's rho."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.base import Coefficient, InfluencedCoefficient
from imapeval.study.correlation.pair_counting import KendallTauB
from imapeval.study.correlation.product_moment import Pearson, Spearman

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats, WholeNumbers

_PARTS = (KendallTauB(), Pearson(), Spearman())


class MeanCorrelation(Coefficient):
    """The mean of Kendall's tau-b, Pearson's r and Spearman's rho.

    The shared task computes it over all answers together (level "global") and averages it over the dimensions.
    """

    name = "mediqa_eval"
    title = "mean of Kendall's tau-b, Pearson's r and Spearman's rho"
    counts_pairs = KendallTauB.counts_pairs

    def weighted(self, x: Floats, y: Floats, weights: Floats) -> Floats:
        return np.mean([part.weighted(x, y, weights) for part in _PARTS], axis=0)

    def resample(
        self, x: Floats, y: Floats, drawn: WholeNumbers, *, codes: Counts, epsilon: Floats | None = None
    ) -> Floats:
        return np.mean([part.resample(x, y, drawn, codes=codes, epsilon=epsilon) for part in _PARTS], axis=0)

    def in_groups(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> Floats:
        return np.mean([part.in_groups(x, y, epsilon=epsilon) for part in _PARTS], axis=0)

    def with_influences(self, x: Floats, y: Floats, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        found = [part.with_influences(x, y, epsilon=epsilon) for part in _PARTS]
        value = float(np.mean([part.value for part in found]))
        return InfluencedCoefficient(value, np.mean([part.rows for part in found], axis=0))
