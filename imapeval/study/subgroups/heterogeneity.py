"""Tests whether a metric's agreement with the ratings differs between groups of answers."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval._optional import require
from imapeval.study.comparison.holm import holm_adjust
from imapeval.study.data.findings import ALL, CoefficientName
from imapeval.study.intervals import SIGNIFICANCE_LEVEL
from imapeval.study.number_format import format_interval, format_p
from imapeval.study.subgroups.slices import BINS, MIN_QUESTIONS, UNKNOWN, count_answers, find_slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.rated import Rated
    from imapeval.study.subgroups.slices import SlicedMetric

_NEGLIGIBLE = 1e-10
"""Share of all variance up to which a variance is rounding: groups that hold the same numbers cannot differ."""


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Whether a metric's coefficients in the groups of a facet differ by more than chance.

    Attributes:
        metric, facet, dimension, coefficient: As in `Slice`.
        groups: Number of groups that were compared.
        lowest, highest: The smallest and the largest of their coefficients.
        statistic, freedom: The test statistic Q and its degrees of freedom.
        p: The p-value, above 0.
        p_adjusted: The p-value after Holm's correction over the table that the row belongs to.
        n: Number of answers in the groups that were compared.
        reason: Why there is no result.
        sentence: The result in plain words.
    """

    metric: str
    facet: str
    dimension: str
    coefficient: CoefficientName
    groups: int = 0
    lowest: float | None = None
    highest: float | None = None
    statistic: float | None = None
    freedom: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    n: int = 0
    reason: str | None = None
    sentence: str = ""


def compare_slices(
    rated: Rated,
    *,
    metrics: Sequence[str] | None = None,
    coefficient: CoefficientName = "spearman",
    facets: Sequence[str] | None = None,
    bins: int = BINS,
) -> list[Heterogeneity]:
    """Test whether the coefficients that `slice_answers` finds in the groups of a facet differ.

    The test of homogeneity of correlations on Fisher's z scale (Hedges and Olkin 1985, Statistical Methods for
    Meta-Analysis, chapter 11), for groups that may share questions: Q = d' V^-1 d, where d are the differences of z
    from the first group's, is compared with what it is by chance (`hotelling_p_value`). V comes from the infinitesimal
    jackknife over questions, with the factor n / (n - 3) by which Fisher's variance exceeds the asymptotic one; so it
    knows that systems answered the same questions and that dimensions were rated on the same answers. Nothing is drawn
    at random.

    The arguments are those of `slice_answers`. The group of answers for which the facet is unknown is left out.

    Returns:
        For each facet and metric a row per dimension, and, where there are several, one for their mean (`ALL`). For
        the facet "dimension" there is one row per metric. Holm's correction is over the metrics and facets of one
        dimension.

    Raises:
        UsageError: There is no such metric, coefficient or facet, or nothing is rated.
        MissingExtraError: scipy is not installed.
    """
    rows = [
        _test_groups(sliced, coefficient)
        for sliced in find_slices(rated, metrics=metrics, coefficient=coefficient, facets=facets, bins=bins)
    ]
    for dimension in dict.fromkeys(row.dimension for row in rows):
        family = [number for number, row in enumerate(rows) if row.dimension == dimension]
        for number, p in zip(family, holm_adjust([rows[number].p for number in family]), strict=True):
            rows[number] = _add_sentence(replace(rows[number], p_adjusted=p))
    return rows


def _test_groups(sliced: SlicedMetric, coefficient: CoefficientName) -> Heterogeneity:
    groups = [group for name, group in sliced.groups.items() if name != UNKNOWN and group.cells]
    empty = Heterogeneity(
        metric=sliced.metric,
        facet=sliced.facet,
        dimension=sliced.dimension,
        coefficient=coefficient,
        groups=len(groups),
        n=count_answers(groups),
    )
    if len(groups) < 2:
        why = f"fewer than two groups have a system with {MIN_QUESTIONS} questions and a coefficient"
        return replace(empty, reason=why)
    # With the factor that Fisher's variance has.
    found = [
        group.average([cell.influences * np.sqrt(cell.questions / (cell.questions - 3)) for cell in group.cells])
        for group in groups
    ]
    values, influences = np.array([value for value, _ in found]), np.stack([moved for _, moved in found])
    if (np.abs(values) == 1).any():
        why = "scores and ratings have the same order throughout one group, so that nothing varies there"
        return replace(empty, reason=why)
    statistic, freedom = homogeneity_statistic(values, influences)
    if freedom == 0:
        return replace(empty, reason="the groups hold the same numbers")
    questions = int((influences != 0).any(axis=0).sum())
    p = hotelling_p_value(statistic, freedom, questions=questions)
    if p is None:
        return replace(empty, reason=f"{questions} questions are too few to compare {len(groups)} groups")
    return replace(
        empty,
        lowest=float(values.min()),
        highest=float(values.max()),
        statistic=statistic,
        freedom=freedom,
        p=p,
    )


def homogeneity_statistic(values: Floats, influences: Floats) -> tuple[float, int]:
    """Return Q of Hedges and Olkin 1985 for coefficients that may depend on each other, and its degrees of freedom.

    Influences are those of independent units such as questions, shape (k, units): products of two coefficients'
    influences sum to their covariance. The degrees of freedom are k - 1, less those in which the coefficients cannot
    differ.
    """
    z, moved = np.arctanh(values), influences / (1 - values[:, None] ** 2)
    apart, together = z[1:] - z[0], (moved[1:] - moved[0]) @ (moved[1:] - moved[0]).T
    lengths, axes = np.linalg.eigh(together)
    kept = lengths > _NEGLIGIBLE * (moved**2).sum()
    return float(((axes.T @ apart)[kept] ** 2 / lengths[kept]).sum()), int(kept.sum())


def hotelling_p_value(statistic: float, freedom: int, *, questions: int) -> float | None:
    """Return the probability that Q exceeds a number where all coefficients are equal; None with too few questions.

    V is estimated from as many questions, so that Q is Hotelling's T^2 rather than chi-square (Hotelling 1931): with
    v = questions - 1, Q (v - freedom + 1) / (v freedom) has the F distribution with freedom and v - freedom + 1 degrees
    of freedom. With many questions the two are the same.

    Raises:
        MissingExtraError: scipy is not installed.
    """
    special: Any = require("scipy.special", distribution="scipy", extra="study", needed_for="Comparing groups")
    left = questions - freedom
    if left < 1:
        return None
    p = float(special.fdtrc(freedom, left, statistic * left / ((questions - 1) * freedom)))
    # A p-value is above 0.
    return max(p, sys.float_info.min)


def _add_sentence(row: Heterogeneity) -> Heterogeneity:
    with_whom = "the raters" if row.dimension == ALL else row.dimension
    what = f"how well {row.metric} agrees with {with_whom} differs by {row.facet}"
    if row.p_adjusted is None or row.lowest is None or row.highest is None:
        return replace(row, sentence=f"Whether {what} cannot be tested: {row.reason}.")
    ends = format_interval(row.lowest, row.highest, between=" to ")
    spread = f"{row.groups} groups, {ends}; {format_p(row.p_adjusted)} after Holm"
    if row.p_adjusted < SIGNIFICANCE_LEVEL:
        return replace(row, sentence=f"H{what[1:]} ({spread}).")
    return replace(row, sentence=f"Nothing shows that {what} ({spread}): the differences may be chance.")
