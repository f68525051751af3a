"""The baseline that reads no answer: it scores each one by the mean rating of its system."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import number_clusters
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL

if TYPE_CHECKING:
    from imapeval.study.data.findings import CoefficientName
    from imapeval.study.data.rated import Rated

_NAME = "system baseline"


def correlate_baseline(rated: Rated, coefficient: CoefficientName) -> dict[str, float]:
    """Return how well the means of systems agree with the ratings, over all answers together.

    Systems are told apart by data set, too (`imapeval.evaluation.samples.system_label`). What a metric reaches over all
    answers together is agreement about answers only as far as it exceeds this.

    Args:
        rated: The answers.
        coefficient: The coefficient.

    Returns:
        The coefficient by dimension, and their mean as `ALL` if there are several; without those that are undefined, as
        with one system.
    """
    systems = number_clusters(rated.systems)
    found: dict[str, float] = {}
    for dimension in rated.dimensions:
        ratings = rated.ratings_of(dimension)
        there = np.isfinite(ratings)
        sums, counts = (
            np.bincount(systems[there], weights=w, minlength=systems.max() + 1) for w in (ratings[there], None)
        )
        means = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        single = replace(
            rated,
            metrics=(_NAME,),
            scores=means[systems][:, None],
            dimensions=(dimension,),
            ratings=ratings[:, None],
            by_rater={},
            lower_is_better=frozenset(),
        )
        (row,) = correlate(single, coefficients=(coefficient,), levels=("global",), resamples=1)
        if row.value is not None:
            found[dimension] = row.value
    if len(rated.dimensions) > 1 and len(found) == len(rated.dimensions):
        found[ALL] = float(np.mean(list(found.values())))
    return found
