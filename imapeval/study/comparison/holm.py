"""Holm's correction for multiple comparisons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm_adjust(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values by Holm's step-down method (Holm 1979, Scandinavian Journal of Statistics 6, 65-70).

    The smallest is multiplied by how many there are, the next by one less, and so on; none becomes smaller than the
    one before it.

    Args:
        p_values: 0..1; None where a comparison has no result, which then does not count.

    Returns:
        The adjusted ones, in the same order, at most 1; None where there was none.

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
