"""What all names of a language have in common, and how it is taken from a vector.

What all names share says nothing of any of them, and would make all pairs look alike (Mu and Viswanath 2018,
"All-but-the-Top").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Rows = npt.NDArray[np.float32]

_SHRINKAGE = 50
"""Names at zero that are counted into each mean, so that a language with five names does not lose all it has."""


class RunningMean:
    """Takes the mean of very many rows, some at a time.

    Args:
        dimension: Length of a row.
    """

    def __init__(self, dimension: int) -> None:
        self._sum = np.zeros(dimension, dtype=np.float64)
        self._count = 0

    def add(self, rows: Rows) -> None:
        """Count rows of shape (n, dimension)."""
        self._sum += rows.sum(axis=0, dtype=np.float64)
        self._count += len(rows)

    @property
    def mean(self) -> Rows:
        """The mean of all rows so far, drawn a little towards zero."""
        return (self._sum / (self._count + _SHRINKAGE)).astype(np.float32)


def centre(rows: Rows, mean: Rows | None) -> Rows:
    """Return unit rows from which a mean has been taken; rows of zeros stay so.

    Args:
        rows: Shape (n, dimension).
        mean: What to take away; None takes nothing.
    """
    moved = rows if mean is None else np.where(rows.any(axis=1, keepdims=True), rows - mean, 0)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return (moved / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def fold_case(text: str) -> str:
    """Return a text as it is encoded for the index: in lower case, because the encoder hears capitals."""
    return text.lower()
