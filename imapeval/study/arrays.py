"""Types of the arrays that statistics take and return, quotients, and which numbers count as equal."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Float32s: TypeAlias = npt.NDArray[np.float32]
Counts: TypeAlias = npt.NDArray[np.int64]
WholeNumbers: TypeAlias = npt.NDArray[np.number[Any]]
"""Whole numbers of any type, such as how often each question was drawn."""
Flags: TypeAlias = npt.NDArray[np.bool_]

EQUAL = 1e-9
"""Means that differ by no more are equal: sums in another order differ by rounding."""


def find_signs(differences: Floats) -> Floats:
    """Return the signs of differences between means: 0 where these are `EQUAL`, NaN where one is undefined."""
    return np.where(np.abs(differences) <= EQUAL, 0.0, np.sign(differences))


def divide(above: Floats | Counts, below: Floats | Counts) -> Floats:
    """Return quotients, NaN where `below` is not above 0; the shapes broadcast."""
    out = np.full(np.broadcast_shapes(above.shape, below.shape), np.nan)
    return np.divide(above, below, out=out, where=below > 0)


def average_known(numbers: Floats, *, axis: int) -> Floats:
    """Return means along an axis, NaN left out; NaN where there is nothing else."""
    return divide(np.nansum(numbers, axis=axis), np.isfinite(numbers).sum(axis=axis))
