"""Intervals that hold for many metrics at once, so that one may be picked after all were seen.

The interval of the best of many metrics is, on its own, too optimistic: of 54 metrics of no value the best has, three
times in four, an interval above 0. Simultaneous intervals all hold together with the stated confidence, so also the one
that is picked. Each is computed at a higher confidence of its own, which comes from the largest of the metrics' errors
(max-T: Hothorn, Bretz and Westfall 2008, "Simultaneous Inference in General Parametric Models", Biometrical Journal 50,
section 3). Metrics that resemble each other err together, so this asks for less than Bonferroni's correction.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.intervals import CONFIDENCE

if TYPE_CHECKING:
    from imapeval.study.arrays import Floats

_DRAWS = 20_000
"""Random draws of the largest error: the confidence .95 is then met to .0015, one standard error."""


def simultaneous_confidence(influences: Floats, *, confidence: float = CONFIDENCE) -> float:
    """Return the confidence at which each of m intervals holds if they are to hold together.

    Args:
        influences: Of independent units such as questions on the m coefficients, shape (units, m): their products sum
            to the covariances of the coefficients. A column of zeros is a coefficient without an error.
        confidence: Of all together, above 0 and below 1.

    Returns:
        `confidence` for one coefficient, else up to 1 - (1 - confidence) / m (Bonferroni).
    """
    spread = np.sqrt((influences**2).sum(axis=0))
    scaled = influences[:, spread > 0] / spread[spread > 0]
    metrics = scaled.shape[1]
    if metrics < 2:
        return confidence
    lengths, axes = np.linalg.eigh(scaled.T @ scaled)
    errors = (axes * np.sqrt(np.maximum(lengths, 0.0))) @ _draw_normals(metrics)
    reach = float(np.quantile(np.maximum(errors.max(axis=0), -errors.min(axis=0)), confidence))
    drawn = 2 * NormalDist().cdf(reach) - 1
    return min(max(drawn, confidence), 1 - (1 - confidence) / metrics)


@cache
def _draw_normals(metrics: int) -> Floats:
    return np.ascontiguousarray(np.random.default_rng(0).normal(size=(_DRAWS, metrics)).T)
