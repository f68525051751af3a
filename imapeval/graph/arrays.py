"""Types of arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
"""Vectors and cosines."""
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
