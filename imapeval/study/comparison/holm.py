"""Holm's correction for multiple comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm_adjust(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values by Holm's step-down method (Holm 1979, Scandinavian Journal of Statistics 6, 65-70).

    The smallest of m p-values is multiplied by m, the next by m - 1, and so on; no adjusted value is smaller than the
    one before it, or above 1. A comparison without a result (None) is not counted.

    Raises:
        ValueError: A p-value lies outside 0..1.
    """
    given = np.array([p for p in p_values if p is not None], dtype=np.float64)
    if not ((given >= 0) & (given <= 1)).all():
        raise ValueError("a p-value lies between 0 and 1")
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    in_order = iter(adjusted.tolist())
    return [None if p is None else next(in_order) for p in p_values]
