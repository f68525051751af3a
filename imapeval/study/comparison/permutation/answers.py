"""Compares metrics over all answers, or within each system and then on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.comparison.permutation.swaps import (
    MANY_QUESTIONS,
    Contrast,
    add_total,
    average_dimensions,
    count_extreme,
    draw_swaps,
    find_normal_p,
    find_reach,
)
from imapeval.study.correlation.coefficients import MIN_ROWS, find_coefficient
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import sum_by_code

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.study.arrays import Counts, Flags, Float32s, Floats
    from imapeval.study.comparison.permutation.swaps import ComparedAnswers, MetricPairs
    from imapeval.study.data.findings import CoefficientName

_NUMBERS = 8_000_000
"""Maximum number of values held for the pairs' influences at a time: 64 MB."""

_PAIRS = 128
"""Number of pairs counted at a time: their permuted differences then stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """Answers that are correlated together: one system's or all, rated in the same dimensions.

    Attributes:
        dimensions: Numbers of these dimensions.
        values: Coefficients, shape (dimensions, m); 0 where undefined.
        defined: Whether each coefficient is defined.
        questions: Different questions.
        influences: Influences of the questions on the coefficients, shape (dimensions, m, questions).
        adds: Contributions of the questions, which sum to the coefficients, shape (dimensions, m, questions).
    """

    dimensions: list[int]
    values: Floats
    defined: Flags
    questions: Counts
    influences: Floats
    adds: Float32s


def contrast_answers(
    answers: ComparedAnswers,
    pairs: MetricPairs,
    *,
    by_system: bool,
    coefficient: CoefficientName,
    seed: int,
    permutations: int,
    confidence: float = CONFIDENCE,
) -> Contrast:
    """Compare metrics by how they correlate with the ratings among all answers, or within each system (`by_system`).

    What is swapped is what each answer adds to the metrics' coefficients: the coefficient over n, and the answer's
    influence on it. This puts all metrics on one scale, ranks need not be counted again for every permutation, and the
    spread of the permuted differences is that of the difference itself even where two equally good metrics are
    distributed differently. To first order it is the same as swapping scores, ranking them and correlating again; the
    tests have both side by side.

    With more than `MANY_QUESTIONS` questions in every dimension p is that of the normal distribution which the permuted
    differences then have: their variance, the sum of the squares of what is swapped, is known without drawing any.

    Intervals are the difference and Student's quantile times its infinitesimal-jackknife standard error, questions
    taken as wholes (Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, section 6.3).

    Scores are finite; the coefficient is any but soft pairwise accuracy.
    """
    cells, groups = _build(answers, by_system=by_system, coefficient=coefficient)
    shape = (answers.ratings.shape[1], len(pairs.first))
    first, second, defined = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)
    for cell in cells:
        use = cell.defined[:, pairs.first] & cell.defined[:, pairs.second]
        first[cell.dimensions] += cell.values[:, pairs.first] * use
        second[cell.dimensions] += cell.values[:, pairs.second] * use
        defined[cell.dimensions] += use
    firsts, seconds = average_dimensions(first, defined), average_dimensions(second, defined)
    difference = firsts - seconds
    questions = _count_questions(answers)
    squares = _add_squares(answers, cells, pairs, defined, columns=lambda cell: cell.influences)
    reach = find_reach(np.sqrt(squares), questions[:, None], confidence)
    if min(questions[questions > 0], default=0) > MANY_QUESTIONS:
        swapped = _add_squares(answers, cells, pairs, defined, columns=lambda cell: cell.adds)
        p = find_normal_p(difference, np.sqrt(swapped))
    else:
        larger = _count_larger(answers, cells, pairs, difference, defined, seed=seed, permutations=permutations)
        p = (larger + 1) / (permutations + 1)
    return Contrast(
        first=firsts,
        second=seconds,
        low=difference - reach,
        high=difference + reach,
        p=np.where(np.isnan(difference), np.nan, p),
        groups=add_total(groups),
        defined=add_total(defined),
    )


def _count_larger(
    answers: ComparedAnswers,
    cells: Sequence[_Cell],
    pairs: MetricPairs,
    difference: Floats,
    defined: Counts,
    *,
    seed: int,
    permutations: int,
) -> Counts:
    """Return how many permuted differences are as far from 0 as the observed ones, shape (d + 1, p)."""
    larger = np.zeros(difference.shape, dtype=np.int64)
    alike = _group_pairs(cells, pairs)
    questions = int(answers.questions.max()) + 1
    size = (answers.ratings.shape[1], answers.scores.shape[1])
    for swaps in draw_swaps(questions, seed=seed, permutations=permutations):
        # Shape (dimensions, m, b): the difference of two metrics' columns is their difference after the swap.
        permuted = [cell.adds @ swaps[:, cell.questions].T for cell in cells]
        for together in alike:
            f, s = pairs.first[together[0]], pairs.second[together[0]]
            sums = np.zeros((*size, len(swaps)), dtype=np.float32)
            for cell, values in zip(cells, permuted, strict=True):
                use = cell.defined[:, f] & cell.defined[:, s]
                sums[cell.dimensions] += values * use[:, None, None]
            for start in range(0, len(together), _PAIRS):
                block = together[start : start + _PAIRS]
                apart = sums[:, pairs.first[block]] - sums[:, pairs.second[block]]
                larger[:, block] += count_extreme(apart, difference[:, block], defined[:, block])
    return larger


def _count_questions(answers: ComparedAnswers) -> Counts:
    """Return the number of questions with a rating, by dimension, and last in any of them: shape (d + 1,)."""
    rated = ~np.isnan(answers.ratings)
    return np.array([len(np.unique(answers.questions[there])) for there in (*rated.T, rated.any(axis=1))])


def _build(answers: ComparedAnswers, *, by_system: bool, coefficient: CoefficientName) -> tuple[list[_Cell], Counts]:
    """Return the cells, and how many coefficients a dimension should have."""
    groups = np.zeros(answers.ratings.shape[1], dtype=np.int64)
    cells: list[_Cell] = []
    systems = answers.systems if by_system else np.zeros_like(answers.systems)
    for system in range(int(systems.max()) + 1):
        of_system = np.flatnonzero(systems == system)
        rated = ~np.isnan(answers.ratings[of_system])
        groups += rated.any(axis=0)
        # Dimensions in which the same answers are rated share their rows.
        alike: dict[bytes, list[int]] = {}
        for dimension in np.flatnonzero(rated.sum(axis=0) >= MIN_ROWS).tolist():
            alike.setdefault(rated[:, dimension].tobytes(), []).append(dimension)
        cells.extend(
            _build_cell(answers, of_system[rated[:, dimensions[0]]], dimensions, coefficient)
            for dimensions in alike.values()
        )
    return cells, groups


def _build_cell(answers: ComparedAnswers, rows: Counts, dimensions: list[int], coefficient: CoefficientName) -> _Cell:
    scores, ratings = answers.scores[rows], answers.ratings[rows][:, dimensions]
    metrics = scores.shape[1]
    values = np.zeros((len(dimensions), metrics))
    by_row = np.zeros((len(dimensions), metrics, len(rows)))
    for m in range(metrics):
        for d in range(len(dimensions)):
            values[d, m], by_row[d, m] = find_coefficient(coefficient).with_influences(scores[:, m], ratings[:, d])
    defined = ~np.isnan(values)
    values = np.where(defined, values, 0.0)
    questions, codes = np.unique(answers.questions[rows], return_inverse=True)
    added = sum_by_code(by_row + values[..., None] / len(rows), codes).astype(np.float32)
    return _Cell(dimensions, values, defined, questions, sum_by_code(by_row, codes), added)


def _group_pairs(cells: Sequence[_Cell], pairs: MetricPairs) -> list[Counts]:
    """Group the pairs (as column numbers) that are defined in the same cells and dimensions."""
    if not cells:
        return []
    defined = np.concatenate([cell.defined for cell in cells])
    use = np.ascontiguousarray((defined[:, pairs.first] & defined[:, pairs.second]).T)
    alike: dict[bytes, list[int]] = {}
    for pair, of_pair in enumerate(use):
        alike.setdefault(of_pair.tobytes(), []).append(pair)
    return [np.array(together, dtype=np.int64) for together in alike.values()]


def _add_squares(
    answers: ComparedAnswers,
    cells: Sequence[_Cell],
    pairs: MetricPairs,
    defined: Counts,
    *,
    columns: Callable[[_Cell], Floats | Float32s],
) -> Floats:
    """Add up the squares, over questions, of the differences between two metrics' columns, shape (d + 1, p).

    `defined` is the number of coefficients in each mean, shape (d, p); `columns` returns the columns of a cell, shape
    (dimensions, m, questions).
    """
    questions = int(answers.questions.max()) + 1
    squares = np.zeros((defined.shape[0] + 1, defined.shape[1]))
    at_once = max(1, _NUMBERS // (questions * (len(squares) + 1)))
    for start in range(0, len(pairs.first), at_once):
        block = slice(start, start + at_once)
        f, s = pairs.first[block], pairs.second[block]
        moves = np.zeros((defined.shape[0], len(f), questions))
        for cell in cells:
            use = cell.defined[:, f] & cell.defined[:, s]
            of_cell = columns(cell)
            for d, dimension in enumerate(cell.dimensions):
                moves[dimension][:, cell.questions] += (of_cell[d, f] - of_cell[d, s]) * use[d, :, None]
        squares[:, block] = (average_dimensions(moves, defined[:, block, None]) ** 2).sum(axis=-1)
    return squares
