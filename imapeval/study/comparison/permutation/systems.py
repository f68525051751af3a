"""Metric against metric by how they order systems: the systems' mean scores with their mean ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import iterate_resamples
from imapeval.study.comparison.permutation.swaps import Contrast, average_dimensions, count_extreme, draw_swaps
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.group_correlation import are_equal

if TYPE_CHECKING:
    import numpy.typing as npt

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, Float32s, MetricPairs
    from imapeval.study.data.findings import CoefficientName


def contrast_systems(
    answers: ComparedAnswers,
    pairs: MetricPairs,
    *,
    coefficient: CoefficientName,
    seed: int,
    permutations: int,
    confidence: float = 0.95,
) -> Contrast:
    """Compare metrics by how their means order systems.

    Scores are given mean 0 and variance 1 over all answers before they are swapped, as in the paper. Intervals are
    percentile bootstraps of questions, as many resamples as permutations; the systems stay the ones they are. A
    resample in which a difference is undefined counts as the lowest possible one for the lower end and as the highest
    for the upper end.

    Args:
        answers: With finite scores.
        pairs: Which metrics are compared.
        coefficient: The coefficient.
        seed: Random seed for the swaps and the bootstrap.
        permutations: Number of permutations.
        confidence: Confidence level.
    """
    questions = int(answers.questions.max()) + 1
    dimensions = answers.ratings.shape[1]
    tables = [_build(answers, dimension) for dimension in range(dimensions)]
    values = np.stack([_correlate(coefficient, table.means.T, table.targets) for table in tables])
    use = ~np.isnan(values[:, pairs.first]) & ~np.isnan(values[:, pairs.second])
    defined = use.astype(np.int64)
    first, second = (
        average_dimensions(np.where(use, values[:, side], 0.0), defined) for side in (pairs.first, pairs.second)
    )
    difference = first - second
    larger = np.zeros(difference.shape, dtype=np.int64)
    for swaps in draw_swaps(questions, seed=seed, permutations=permutations):
        sums = np.zeros((dimensions, len(pairs.first), len(swaps)))
        for d, table in enumerate(tables):
            signed = table.average(swaps)
            for p in np.flatnonzero(use[d]).tolist():
                f, s = pairs.first[p], pairs.second[p]
                middle, half = (table.means[:, f] + table.means[:, s]) / 2, (signed[..., f] - signed[..., s]) / 2
                sums[d, p] = _correlate(coefficient, middle + half, table.targets)
                sums[d, p] -= _correlate(coefficient, middle - half, table.targets)
        larger += count_extreme(sums, difference, defined)
    low, high = _bootstrap(
        tables, pairs, use, coefficient=coefficient, seed=seed, resamples=permutations, tail=(1 - confidence) / 2
    )
    known = ~np.isnan(difference) & (questions > 1)
    return Contrast(
        first=first,
        second=second,
        low=np.where(known, low, np.nan),
        high=np.where(known, high, np.nan),
        p=np.where(np.isnan(difference), np.nan, (larger + 1) / (permutations + 1)),
        groups=np.append(np.ones(dimensions, dtype=np.int64), dimensions),
        defined=np.concatenate([defined, defined.sum(axis=0, keepdims=True)]),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """The systems in one dimension.

    Attributes:
        means: Of the scores of the k systems with a rated answer, shape (k, m).
        targets: Means of the ratings, shape (k,).
        questions: Different questions in all.
        parts: By system: its questions, and by question the sums of the scores, of the ratings and of 1, shape
            (m + 2, its questions).
    """

    means: Floats
    targets: Floats
    questions: int
    parts: list[tuple[Counts, Floats]]

    def average(self, signs: Float32s) -> Floats:
        """Return the means of signed scores, shape (b, k, m)."""
        parts = [signs[:, own] @ sums[:-2].T / sums[-1].sum() for own, sums in self.parts]
        return np.stack(parts, axis=1)

    def resample(self, drawn: Floats) -> tuple[Floats, Floats]:
        """Return the means of the scores, shape (b, k, m), and of the ratings, (b, k), where questions weigh so much.

        NaN where no answer of a system was drawn.
        """
        sums = np.stack([drawn[:, own] @ part.T for own, part in self.parts], axis=1)
        counts = np.where(sums[..., -1:] > 0, sums[..., -1:], np.nan)
        return sums[..., :-2] / counts, sums[..., -2] / counts[..., 0]


def _build(answers: ComparedAnswers, dimension: int) -> _Table:
    rated = ~np.isnan(answers.ratings[:, dimension])
    spread = answers.scores.std(axis=0)
    centred = answers.scores - answers.scores.mean(axis=0)
    scores = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    columns = np.column_stack([scores, answers.ratings[:, dimension], np.ones(len(scores))])
    parts: list[tuple[Counts, Floats]] = []
    for system in np.unique(answers.systems[rated]).tolist():
        rows = np.flatnonzero(rated & (answers.systems == system))
        own, codes = np.unique(answers.questions[rows], return_inverse=True)
        parts.append(
            (own, np.stack([np.bincount(codes, weights=column[rows]).astype(np.float64) for column in columns.T]))
        )
    means = np.array([sums[:-1].sum(axis=1) / sums[-1].sum() for _, sums in parts]).reshape(len(parts), -1)
    return _Table(means[:, :-1], means[:, -1], int(answers.questions.max()) + 1, parts)


def _correlate(coefficient: CoefficientName, means: Floats, targets: Floats) -> Floats:
    """Correlate means, shape (b, k), with those of the ratings, (k,) or (b, k); NaN where a system has none."""
    chosen = find_coefficient(coefficient)
    if means.shape[-1] < chosen.min_rows:
        return np.full(len(means), np.nan)
    targets = np.broadcast_to(targets, means.shape)
    found = chosen.in_groups(means, targets)
    # Without differences between systems there is nothing to rank, though an accuracy would count the ties.
    return np.where(np.isnan(means).any(axis=1) | are_equal(means) | are_equal(targets), np.nan, found)


def _bootstrap(
    tables: list[_Table],
    pairs: MetricPairs,
    use: npt.NDArray[np.bool_],
    *,
    coefficient: CoefficientName,
    seed: int,
    resamples: int,
    tail: float,
) -> tuple[Floats, Floats]:
    """Return both ends of the intervals, shape (d + 1, p)."""
    metrics = tables[0].means.shape[1]
    blocks: list[Floats] = []
    for drawn in iterate_resamples(tables[0].questions, seed=seed, resamples=resamples):
        of_dimensions: list[Floats] = []
        for table in tables:
            means, targets = table.resample(drawn.astype(np.float64))
            of_dimensions.append(np.stack([_correlate(coefficient, means[..., m], targets) for m in range(metrics)]))
        blocks.append(np.stack(of_dimensions))
    replicates = np.concatenate(blocks, axis=-1)
    ends: list[Floats] = []
    lowest_value, highest_value = find_coefficient(coefficient).bounds
    widest = highest_value - lowest_value
    for lowest, quantile in ((-widest, tail), (widest, 1 - tail)):
        of_pairs = np.empty((len(tables) + 1, use.shape[1]))
        for p, (f, s) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
            apart = replicates[:, f] - replicates[:, s]
            apart = np.where(np.isnan(apart), lowest, apart) * use[:, [p]]
            together = apart.sum(axis=0) / max(1, int(use[:, p].sum()))
            of_pairs[:, p] = np.quantile(np.vstack([apart, together]), quantile, axis=1)
        ends.append(of_pairs)
    return ends[0], ends[1]
