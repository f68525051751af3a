"""Coefficients of metrics with rating dimensions over answers taken together, with the data for intervals.

Intervals come from resampled questions where there are few answers (BCa), and from the influences of questions where
there are many; see `intervals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.correlation.coefficients import explain_undefined, find_coefficient
from imapeval.study.correlation.estimates import Estimates, fill_undefined, find_blocks
from imapeval.study.correlation.pairs import calibrate_ties

if TYPE_CHECKING:
    import numpy.typing as npt

    from imapeval.study.arrays import Counts
    from imapeval.study.correlation.estimates import Columns
    from imapeval.study.data.findings import CoefficientName

    Draws = npt.NDArray[np.uint16]


def estimate_pooled(columns: Columns, rows: Counts, name: CoefficientName, *, draws: Draws | None) -> Estimates:
    """Correlate scores with ratings among the answers in some rows, taken together.

    `draws` says how often each question was drawn, shape (resamples, questions); with None there are no replicates.
    """
    coefficient = find_coefficient(name)
    m, d = len(columns.metrics), len(columns.dimensions)
    values, epsilons = np.full((m, d), np.nan), np.full((m, d), np.nan)
    influences = np.zeros((columns.clusters, m, d))
    replicates = None if draws is None else np.full((len(draws), m, d), np.nan)
    reasons: dict[tuple[int, int], str] = {}
    for block in find_blocks(columns, rows):
        x, y = block.take(columns)
        codes = columns.questions[block.rows]
        thresholds = calibrate_ties(x, y) if coefficient.calibrates_ties else np.zeros((len(x), len(y)))
        defined = False
        for p, metric in enumerate(block.metrics.tolist()):
            for q, dimension in enumerate(block.dimensions.tolist()):
                own = columns.signs[metric] * x[p]
                if why := explain_undefined(own, y[q], names=("the score", "the rating"), minimum=coefficient.min_rows):
                    reasons[metric, dimension] = why.reason
                    continue
                defined = True
                epsilon = float(thresholds[p, q])
                if coefficient.calibrates_ties:
                    epsilons[metric, dimension] = epsilon
                values[metric, dimension], of_rows = coefficient.with_influences(x[p], y[q], epsilon=epsilon)
                influences[:, metric, dimension] = np.bincount(codes, of_rows, minlength=columns.clusters)
        if draws is not None and replicates is not None and defined:
            present, places = np.unique(codes, return_inverse=True)
            found = coefficient.resample(x, y, draws[:, present], codes=places, epsilon=thresholds)
            replicates[:, block.metrics[:, None], block.dimensions] = found
    lows, highs = fill_undefined(replicates, coefficient.bounds)
    return Estimates(values, influences, lows, highs, np.ones((m, d), dtype=np.int64), epsilons, reasons)
