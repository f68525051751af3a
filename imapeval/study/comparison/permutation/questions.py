"""Metric against metric within each question: systems' answers to it are ordered, then questions are averaged."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.comparison.permutation.swaps import Contrast, average_dimensions, count_extreme, draw_swaps
from imapeval.study.correlation.coefficients import MIN_ROWS, find_coefficient

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, Float32s, MetricPairs, TestName
    from imapeval.study.data.findings import CoefficientName

_NUMBERS = 4_000_000
"""Most scores that are swapped at a time: 32 MB."""


def contrast_questions(
    answers: ComparedAnswers,
    pairs: MetricPairs,
    *,
    coefficient: CoefficientName,
    test: TestName,
    seed: int,
    permutations: int,
    confidence: float = 0.95,
) -> Contrast:
    """Compare metrics by how they order the answers to each question.

    A question counts with rated answers of three systems or more. Scores are put on one scale within each question
    before they are swapped: ranks, or for Pearson mean 0 and sum of squares 1. Swapping all of a question's scores
    turns the sign of its difference; swapping those of some systems is done for every set of systems that comes up.

    Intervals are the mean difference and the normal quantile times its standard error over questions.

    Args:
        answers: With finite scores.
        pairs: Which metrics are compared.
        coefficient: The coefficient.
        test: Which scores are swapped.
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
    found: dict[tuple[int, ...], Float32s] = {(): apart.astype(np.float32)}
    systems = int(answers.systems.max()) + 1
    for swaps in draw_swaps(questions, systems, test=test, seed=seed, permutations=permutations):
        # Swapping some systems or all the others differs by the sign alone, which the questions' signs have as well.
        of_systems = swaps.systems * swaps.systems[:, :1]
        for pattern in np.unique(of_systems, axis=0):
            turned: list[int] = np.flatnonzero(pattern < 0).tolist()
            key = tuple(turned)
            if key not in found:
                signs = _pick(pattern[answers.systems].astype(np.float64), rows)
                swapped = _swap(scores, ratings, signs, pairs, coefficient)
                # Swapping may make all scores of a question equal: its own difference then stands in.
                found[key] = np.where(use & np.isnan(swapped), found[()], np.where(use, swapped, 0))
            drawn = swaps.questions[(of_systems == pattern).all(axis=1)]
            larger += count_extreme(found[key] @ drawn.T, difference, defined)
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


def _swap(
    scores: list[Floats], ratings: list[Floats], signs: Floats, pairs: MetricPairs, coefficient: CoefficientName
) -> Float32s:
    """Return the differences where the scores of sign -1 are swapped, shape (d, p, questions); NaN where undefined."""
    questions, answers = signs.shape
    swap = signs < 0
    swapped = np.empty((len(ratings), len(pairs.first), questions), dtype=np.float32)
    at_once = max(1, _NUMBERS // (questions * answers))
    for d, target in enumerate(ratings):
        scaled = np.stack([_scale(np.where(np.isnan(target), np.nan, column), coefficient) for column in scores])
        for start in range(0, len(pairs.first), at_once):
            block = slice(start, start + at_once)
            x, y = scaled[pairs.first[block]], scaled[pairs.second[block]]
            targets = np.broadcast_to(target, x.shape).reshape(-1, answers)
            of_first = find_coefficient(coefficient).in_groups(np.where(swap, y, x).reshape(-1, answers), targets)
            of_second = find_coefficient(coefficient).in_groups(np.where(swap, x, y).reshape(-1, answers), targets)
            swapped[d, block] = (of_first - of_second).reshape(len(x), questions)
    return swapped


def _scale(scores: Floats, coefficient: CoefficientName) -> Floats:
    """Put the scores of each question on one scale, shape (questions, answers); NaN stays."""
    if not find_coefficient(coefficient).uses_ranks:
        there = np.isfinite(scores)
        size = np.maximum(there.sum(axis=1, keepdims=True), 1)
        centred = scores - np.where(there, scores, 0.0).sum(axis=1, keepdims=True) / size
        length = np.sqrt(np.nansum(centred**2, axis=1, keepdims=True))
        return np.divide(centred, length, out=np.where(there, 0.0, np.nan), where=length > 0)
    # How many more answers are below than above: the rank, up to a shift and a factor. NaN is neither.
    above = scores[:, :, None] > scores[:, None, :]
    return np.where(np.isnan(scores), np.nan, above.sum(axis=2) - above.sum(axis=1).astype(np.float64))
