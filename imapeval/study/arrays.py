"""Types of the arrays that statistics take and return."""

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
