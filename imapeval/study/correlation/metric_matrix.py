"""Correlations among metrics, and clusters of metrics that measure the same.

Metrics whose scores rank the answers alike carry one piece of information under several names: a study that finds
five of them to agree with the raters has found it once (Arias-Duart et al. 2025, "Automatic Evaluation of Healthcare
LLMs Beyond Question-Answering", NAACL, draw such a matrix).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.study.correlation.coefficients import MIN_ROWS, find_coefficient
from imapeval.study.data.rated import choose_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.findings import CoefficientName
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class MetricMatrix:
    """Correlations among metrics, with similar metrics next to each other.

    Attributes:
        metrics: Names of the m metrics, in the order of the clustering.
        values: Coefficients, m rows of m; None where undefined.
        merges: Merges of the average-linkage clustering, as scipy's `linkage` gives them: (first, second, distance,
            size).
        n: Number of answers that all metrics scored.
        smallest: Smallest number of answers behind a coefficient: those that both of its metrics scored.
    """

    metrics: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    merges: tuple[tuple[int, int, float, int], ...]
    n: int
    coefficient: CoefficientName = "spearman"
    smallest: int = 0


def correlate_metrics(rated: Rated, *, metrics: Sequence[str] | None = None) -> MetricMatrix:
    """Correlate each metric with each other one, over all answers, and cluster them.

    Spearman's rho of two metrics is taken over the answers that both scored, whether anybody rated them or not; so a
    metric that fails often does not affect the others. Scores are negated first if low ones are good. The distance of
    two metrics is 1 - |rho|: reversing the order of all answers loses no information. Clustering is by average linkage
    (Sokal and Michener 1958), leaves in the order that keeps neighbours closest (Bar-Joseph et al. 2001), which is the
    order of the metrics in the result.

    Raises:
        UsageError: There are fewer than two metrics, or one is unknown.
        MissingExtraError: scipy is not installed.
    """
    names = choose_names("metric", metrics, rated.metrics)
    if len(names) < 2:
        found = f"{len(names)} {'was' if names else 'were'} given"
        raise UsageError(f"a matrix needs two metrics, and {found}. Name more, or score with more.")
    scores = np.column_stack([rated.scores_of(name) for name in names])
    values, counts = correlate_columns(scores)
    order, merges = cluster_metrics(values)
    ordered = values[np.ix_(order, order)]
    return MetricMatrix(
        metrics=tuple(names[place] for place in order),
        values=tuple(tuple(None if np.isnan(value) else float(value) for value in row) for row in ordered),
        merges=merges,
        n=int((~np.isnan(scores)).all(axis=1).sum()),
        smallest=int(counts.min()),
    )


def correlate_columns(columns: Floats) -> tuple[Floats, Counts]:
    """Return Spearman's rho of each pair of columns, and the number of rows with both: two matrices of shape (m, m).

    A coefficient is NaN where fewer than `MIN_ROWS` rows have both numbers, or where one column is constant in them.
    The diagonal is 1 where the column is not constant.
    """
    size = columns.shape[1]
    values, counts = np.full((size, size), np.nan), np.zeros((size, size), dtype=np.int64)
    spearman = find_coefficient("spearman")
    # Columns with the same missing rows are correlated together, for speed.
    patterns, which = np.unique(~np.isnan(columns), axis=1, return_inverse=True)
    members = [np.flatnonzero(which.ravel() == number) for number in range(patterns.shape[1])]
    for a, first in enumerate(members):
        for b, second in enumerate(members[: a + 1]):
            rows = patterns[:, a] & patterns[:, b]
            n = int(rows.sum())
            if n >= MIN_ROWS:
                one, other = (columns[np.ix_(rows, places)].T for places in (first, second))
                block = spearman.resample(one, other, np.ones((1, n)), codes=np.arange(n))[0]
            else:
                block = np.full((len(first), len(second)), np.nan)
            values[np.ix_(first, second)], values[np.ix_(second, first)] = block, block.T
            counts[np.ix_(first, second)], counts[np.ix_(second, first)] = n, n
    # The diagonal is exactly 1, free of rounding error.
    np.fill_diagonal(values, np.where(np.isnan(values.diagonal()), np.nan, 1.0))
    return values, counts


def cluster_metrics(values: Floats) -> tuple[list[int], tuple[tuple[int, int, float, int], ...]]:
    """Cluster metrics by average linkage; an undefined coefficient (NaN) counts as 0.

    Returns:
        The columns in the order of the leaves; and the merges as scipy's `linkage` gives them, (first, second,
        distance, size), where numbers below m are positions in that order and m + k is the result of the k-th merge.

    Raises:
        MissingExtraError: scipy is not installed.
    """
    hierarchy: Any = require(
        "scipy.cluster.hierarchy", distribution="scipy", extra="study", needed_for="Clustering metrics"
    )
    distances = 1 - np.abs(np.nan_to_num(values))
    size = len(values)
    made = hierarchy.linkage(distances[np.triu_indices(size, 1)], method="average", optimal_ordering=True)
    order: list[int] = hierarchy.leaves_list(made).tolist()
    place = {leaf: number for number, leaf in enumerate(order)}
    merges = tuple(
        (place.get(int(first), int(first)), place.get(int(second), int(second)), float(distance), int(count))
        for first, second, distance, count in made
    )
    return order, merges
