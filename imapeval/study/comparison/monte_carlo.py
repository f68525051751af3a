"""Whether p-values from random permutations or resamples are settled at the significance level."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from imapeval.study.intervals import SIGNIFICANCE_LEVEL

if TYPE_CHECKING:
    from imapeval.study.data.findings import Comparison

_ERRORS = 1.96
"""A p-value this many standard errors from the level is on the right side of it in 95% of cases or more."""


def is_unsettled(row: Comparison, draws: int) -> bool:
    """Return whether the corrected p-value lies within its Monte Carlo error of the significance level."""
    if not row.p or row.p_adjusted is None or row.test in ("williams", "steiger"):
        return False
    # Permutations give multiples of 1 / (draws + 1); any other p is of the normal distribution.
    if row.test == "perm-inputs" and abs(row.p * (draws + 1) - round(row.p * (draws + 1))) > 1e-6:
        return False
    # p of boot-inputs is twice the share of one side.
    sides = 2 if row.test == "boot-inputs" else 1
    share = row.p / sides
    # Holm's correction multiplies the error as it does p.
    error = sides * sqrt(share * (1 - share) / draws) * row.p_adjusted / row.p
    return abs(row.p_adjusted - SIGNIFICANCE_LEVEL) <= _ERRORS * error
