"""Preparing texts and vectors for the name index: case folding, and subtracting the mean vector of a language.

The component that all names share does not distinguish them, but makes all pairs similar (Mu and Viswanath 2018,
"All-but-the-Top").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from imapeval.graph.arrays import Floats32


def centre(rows: Floats32, mean: Floats32 | None) -> Floats32:
    """Return rows, shape (n, dimension), minus a mean if there is one, scaled to length 1; rows of zeros stay zero."""
    moved = rows if mean is None else np.where(rows.any(axis=1, keepdims=True), rows - mean, 0)
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    return (moved / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def fold_case(text: str) -> str:
    """Return a text as it is encoded for the index: in lower case, because the encoder is sensitive to capitals."""
    return text.lower()
