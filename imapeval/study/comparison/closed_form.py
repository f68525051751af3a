"""Closed-form tests of two correlations that share a variable: two metrics with the same ratings.

Closed forms for independent answers: Williams' t (Williams 1959, Regression Analysis, p. 87; Steiger 1980, equation 7),
Steiger's Z (Dunn and Clark 1969, with the pooled correlation of Steiger 1980, equation 14) and Zou's interval (Zou
2007, Psychological Methods 12, 399-413). They reject too often where answers share questions; `permutation` does not.

They are made for Pearson's correlation of normal data. Spearman's rho is used in its place (Myers and Sirois 2006,
Encyclopedia of Statistical Sciences), with `FIELLER` times the variance.

Throughout, r12 and r13 are the correlations of the ratings with two metrics, r23 is that of the metrics, n the number
of answers, and `spearman` says that the correlations are Spearman's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, erfc, sqrt, tanh

from imapeval import _optional
from imapeval.study.arrays import EQUAL
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.quantiles import normal_quantile

FIELLER = 1.06
"""Variance of a Spearman correlation's Fisher z over that of Pearson's (Fieller, Hartley and Pearson 1957, Biometrika
44, 470-481): 1.06 / (n - 3). They found it good for correlations up to about .8."""

MIN_ANSWERS = 5
"""Fewest answers: with 4 the t distribution has one degree of freedom and no mean."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A test of two correlations.

    Attributes:
        statistic: t or Z; positive where the first correlation is the higher one.
        p: Two-sided p-value, 0..1.
    """

    statistic: float
    p: float


def williams_test(r12: float, r13: float, *, r23: float, n: int, spearman: bool = False) -> PairedTest:
    """Test whether r12 and r13 differ: Williams' t with n - 3 degrees of freedom (Steiger 1980, equation 7).

    For Spearman's rho, t is divided by the root of `FIELLER`.

    Raises:
        ValueError: The three correlations cannot occur together, or n is too small.
        MissingExtraError: scipy is not installed.
    """
    determinant = _check(r12, r13, r23=r23, n=n)
    mean = (r12 + r13) / 2
    spread = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r23) ** 3
    if spread <= 0:
        raise ValueError("the two metrics are the same up to scale: there is nothing to test")
    t = (r12 - r13) * sqrt((n - 1) * (1 + r23) / spread)
    if spearman:
        t /= sqrt(FIELLER)
    stats = _optional.require("scipy.stats", distribution="scipy", extra="study", needed_for="Williams' test")
    return PairedTest(t, float(2 * stats.t.sf(abs(t), n - 3)))


def steiger_test(r12: float, r13: float, *, r23: float, n: int, spearman: bool = False) -> PairedTest:
    """Test whether r12 and r13 differ: Steiger's Z on Fisher's scale (Steiger 1980, equation 14).

    Raises:
        ValueError: The three correlations cannot occur together, or n is too small.
    """
    _check(r12, r13, r23=r23, n=n)
    if abs(r12) == 1 or abs(r13) == 1:
        raise ValueError("a correlation of 1 or -1 has no Fisher z")
    variance = variance_of_difference(r12, r13, r23=r23) * (FIELLER if spearman else 1.0)
    if variance <= 0:
        raise ValueError("the two metrics are the same up to scale: there is nothing to test")
    z = (atanh(r12) - atanh(r13)) * sqrt((n - 3) / variance)
    # erfc is accurate in the far tail, where 1 minus the distribution function cancels.
    return PairedTest(z, erfc(abs(z) / sqrt(2)))


def variance_of_difference(r12: float, r13: float, *, r23: float) -> float:
    """Return n - 3 times the variance of the difference of two Fisher z, as where both correlations equal their mean.

    Steiger 1980, equations 3 and 11: 2 - 2 s, with s the correlation of the two z.
    """
    mean = (r12 + r13) / 2
    together = r23 * (1 - 2 * mean**2) - mean**2 * (1 - 2 * mean**2 - r23**2) / 2
    return 2 - 2 * together / (1 - mean**2) ** 2


def zou_interval(
    r12: float, r13: float, *, r23: float, n: int, confidence: float = CONFIDENCE, spearman: bool = False
) -> tuple[float, float]:
    """Return the ends of the interval of r12 - r13 (Zou 2007, equation 15, for overlapping correlations).

    Raises:
        ValueError: The three correlations cannot occur together, or n or `confidence` is out of range.
    """
    _check(r12, r13, r23=r23, n=n)
    if abs(r12) == 1 or abs(r13) == 1:
        raise ValueError("a correlation of 1 or -1 has no Fisher z")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")
    reach = normal_quantile(confidence) * sqrt((FIELLER if spearman else 1.0) / (n - 3))
    (low1, high1), (low2, high2) = ((tanh(atanh(r) - reach), tanh(atanh(r) + reach)) for r in (r12, r13))
    # The correlation of the two estimates; r12 * r13 / 2 is Zou's, from Olkin and Siotani 1976.
    together = ((r23 - r12 * r13 / 2) * (1 - r12**2 - r13**2 - r23**2) + r23**3) / ((1 - r12**2) * (1 - r13**2))
    down = (r12 - low1) ** 2 + (high2 - r13) ** 2 - 2 * together * (r12 - low1) * (high2 - r13)
    up = (high1 - r12) ** 2 + (r13 - low2) ** 2 - 2 * together * (high1 - r12) * (r13 - low2)
    return r12 - r13 - sqrt(max(down, 0.0)), r12 - r13 + sqrt(max(up, 0.0))


def _check(r12: float, r13: float, *, r23: float, n: int) -> float:
    """Return the determinant of the correlation matrix."""
    if n < MIN_ANSWERS:
        raise ValueError(f"{n} answers are fewer than {MIN_ANSWERS}")
    if not all(-1 <= r <= 1 for r in (r12, r13, r23)):
        raise ValueError(f"a correlation lies between -1 and 1: {r12}, {r13}, {r23}")
    return find_determinant(r12, r13, r23=r23)


def find_determinant(r12: float, r13: float, *, r23: float) -> float:
    """Return the determinant of the correlation matrix, 0 or above.

    Raises:
        ValueError: The three correlations cannot occur together.
    """
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    # Rounding of the inputs may make the determinant slightly negative.
    if determinant < -EQUAL:
        raise ValueError(f"no data have the correlations {r12:g} and {r13:g} with the ratings and {r23:g} in between")
    return max(determinant, 0.0)
