"""Metric against metric within each question: systems' answers to it are ordered, then questions are averaged."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.comparison.permutation.swaps import Contrast, average_dimensions, count_extreme, draw_swaps
from imapeval.study.correlation.coefficients import MIN_ROWS, find_coefficient

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, MetricPairs
    from imapeval.study.data.findings import CoefficientName


def contrast_questions(
    answers: ComparedAnswers,
    pairs: MetricPairs,
    *,
    coefficient: CoefficientName,
    seed: int,
    permutations: int,
    confidence: float = 0.95,
) -> Contrast:
    """Compare metrics by how they order the answers to each question.

    A question counts with rated answers of three systems or more. Swapping its scores turns the sign of its difference.

    Intervals are the mean difference and the normal quantile times its standard error over questions.

    Args:
        answers: With finite scores.
        pairs: Which metrics are compared.
        coefficient: The coefficient.
        seed: Random seed for the swaps.
        permutations: Number of permutations.
        confidence: Confidence level.
    """
    questions = int(answers.questions.max()) + 1
    rows = _lay_out(answers.questions, questions)
    scores = [_pick(column, rows) for column in answers.scores.T]
    ratings = [_pick(column, rows) for column in answers.ratings.T]
    systems_of = _pick(answers.systems.astype(np.float64), rows)
    for target in ratings:
        target[_count_systems(np.where(np.isnan(target), np.nan, systems_of)) < MIN_ROWS] = np.nan
    groups = np.array([np.isfinite(target).any(axis=1).sum() for target in ratings], dtype=np.int64)
    values = np.stack(
        [np.stack([find_coefficient(coefficient).in_groups(column, target) for column in scores]) for target in ratings]
    )
    use = ~np.isnan(values[:, pairs.first]) & ~np.isnan(values[:, pairs.second])
    defined = use.sum(axis=-1)
    first, second = (
        average_dimensions(np.where(use, values[:, side], 0.0).sum(axis=-1), defined)
        for side in (pairs.first, pairs.second)
    )
    apart = np.where(use, values[:, pairs.first] - values[:, pairs.second], 0.0)
    difference = first - second
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * _find_errors(apart, use, difference)
    larger = np.zeros(difference.shape, dtype=np.int64)
    single = apart.astype(np.float32)
    for swaps in draw_swaps(questions, seed=seed, permutations=permutations):
        larger += count_extreme(single @ swaps.T, difference, defined)
    return Contrast(
        first=first,
        second=second,
        low=np.maximum(difference - reach, -2.0),
        high=np.minimum(difference + reach, 2.0),
        p=np.where(np.isnan(difference), np.nan, (larger + 1) / (permutations + 1)),
        groups=np.append(groups, groups.sum()),
        defined=np.concatenate([defined, defined.sum(axis=0, keepdims=True)]),
    )


def _lay_out(questions: Counts, size: int) -> Counts:
    """Return the row numbers of each question's answers, shape (questions, most answers); -1 where there are fewer."""
    order = np.argsort(questions, kind="stable")
    counts = np.bincount(questions, minlength=size)
    slot = np.arange(len(questions)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.full((size, int(counts.max())), -1, dtype=np.int64)
    rows[questions[order], slot] = order
    return rows


def _count_systems(systems: Floats) -> Counts:
    """Return how many different numbers each row has, NaN aside, shape (questions,)."""
    ordered = np.sort(systems, axis=1)
    return (~np.isnan(ordered[:, 0])).astype(np.int64) + (np.diff(ordered, axis=1) > 0).sum(axis=1)


def _pick(column: Floats, rows: Counts) -> Floats:
    return np.where(rows < 0, np.nan, column[rows])


def _find_errors(apart: Floats, use: np.ndarray, difference: Floats) -> Floats:
    """Return the standard errors of the mean differences, shape (d + 1, p); NaN with one question."""
    questions = apart.shape[-1]
    if questions < 2:
        return np.full(difference.shape, np.nan)
    counts = use.sum(axis=-1)
    own = np.where(use, apart - difference[:-1, :, None], 0.0)
    together = np.where(use, apart - difference[-1][None, :, None], 0.0).sum(axis=0)
    squares = np.concatenate([(own**2).sum(axis=-1), (together**2).sum(axis=-1)[None]])
    by = np.concatenate([counts, counts.sum(axis=0, keepdims=True)]).astype(np.float64)
    return np.sqrt(squares * questions / (questions - 1)) / np.where(by > 0, by, np.nan)
