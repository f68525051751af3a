"""Compares metrics within each question: its answers are ordered, then coefficients are averaged."""

from __future__ import annotations

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
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.group_correlation import count_distinct
from imapeval.study.correlation.pairs import calibrate_ties
from imapeval.study.intervals import CONFIDENCE

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
    confidence: float = CONFIDENCE,
) -> Contrast:
    """Compare metrics by how they order the answers to each question.

    A question counts if at least as many systems as the coefficient needs have a rated answer to it. Swapping its
    scores flips the sign of its difference. An accuracy has one tie threshold for each metric, the one that is best for
    all its questions (Deutsch, Foster and Freitag 2023); it is not sought again in every permutation.

    Metrics that differ on more than `MANY_QUESTIONS` questions have the p of the normal distribution which their
    permuted differences then have.

    Intervals are the mean difference and Student's quantile times its standard error over questions. The arguments are
    those of `contrast_answers`.
    """
    questions = int(answers.questions.max()) + 1
    chosen = find_coefficient(coefficient)
    rows = _index_rows(answers.questions, questions)
    scores = [_select_values(column, rows) for column in answers.scores.T]
    ratings = [_select_values(column, rows) for column in answers.ratings.T]
    systems_of = _select_values(answers.systems.astype(np.float64), rows)
    for target in ratings:
        target[count_distinct(np.where(np.isnan(target), np.nan, systems_of)) < chosen.min_rows] = np.nan
    groups = np.array([np.isfinite(target).any(axis=1).sum() for target in ratings], dtype=np.int64)
    values = np.full((len(ratings), len(scores), questions), np.nan)
    for d, target in enumerate(ratings):
        there = ~np.isnan(target)
        codes, own = np.nonzero(there)[0], np.stack([column[there] for column in scores])
        thresholds, varies = np.zeros(len(scores)), np.ones(len(scores), dtype=np.bool_)
        if chosen.calibrates_ties:
            varies = np.array([_differs(column, codes) for column in own]) & _differs(target[there], codes)
            thresholds = calibrate_ties(own, target[there][None], groups=codes)[:, 0]
        for m in np.flatnonzero(varies).tolist():
            values[d, m] = chosen.in_groups(scores[m], target, epsilon=float(thresholds[m]))
    use = ~np.isnan(values[:, pairs.first]) & ~np.isnan(values[:, pairs.second])
    defined = use.sum(axis=-1)
    first, second = (
        average_dimensions(np.where(use, values[:, side], 0.0).sum(axis=-1), defined)
        for side in (pairs.first, pairs.second)
    )
    apart = np.where(use, values[:, pairs.first] - values[:, pairs.second], 0.0)
    difference = first - second
    counted_in = np.append(defined, [use.any(axis=0).sum(axis=-1)], axis=0)
    reach = find_reach(_find_errors(apart, use, difference), counted_in, confidence)
    p = find_normal_p(difference, _find_spread(apart, defined))
    counted = np.flatnonzero(((np.count_nonzero(apart, axis=-1) <= MANY_QUESTIONS) & (defined > 0)).any(axis=0))
    if len(counted):
        larger = np.zeros((len(difference), len(counted)), dtype=np.int64)
        single = apart[:, counted].astype(np.float32)
        for swaps in draw_swaps(questions, seed=seed, permutations=permutations):
            larger += count_extreme(single @ swaps.T, difference[:, counted], defined[:, counted])
        p[:, counted] = (larger + 1) / (permutations + 1)
    return Contrast(
        first=first,
        second=second,
        low=difference - reach,
        high=difference + reach,
        p=np.where(np.isnan(difference), np.nan, p),
        groups=add_total(groups),
        defined=add_total(defined),
    )


def _index_rows(questions: Counts, size: int) -> Counts:
    """Return the row numbers of each question's answers, shape (questions, most answers); -1 where there are fewer."""
    order = np.argsort(questions, kind="stable")
    counts = np.bincount(questions, minlength=size)
    slot = np.arange(len(questions)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.full((size, int(counts.max())), -1, dtype=np.int64)
    rows[questions[order], slot] = order
    return rows


def _differs(numbers: Floats, codes: Counts) -> bool:
    """Return whether numbers differ within any question; if not, an accuracy would only count ties."""
    order = np.argsort(codes, kind="stable")
    return bool(((np.diff(codes[order]) == 0) & (np.diff(numbers[order]) != 0)).any())


def _select_values(column: Floats, rows: Counts) -> Floats:
    return np.where(rows < 0, np.nan, column[rows])


def _find_spread(apart: Floats, defined: Counts) -> Floats:
    """Return the standard deviations of the permuted mean differences, shape (d + 1, p)."""
    squares = (add_total(apart) ** 2).sum(axis=-1)
    return np.sqrt(squares) / np.maximum(add_total(defined), 1)


def _find_errors(apart: Floats, use: np.ndarray, difference: Floats) -> Floats:
    """Return the standard errors of the mean differences, shape (d + 1, p)."""
    own = np.where(use, apart - difference[:-1, :, None], 0.0)
    together = np.where(use, apart - difference[-1][None, :, None], 0.0).sum(axis=0)
    squares = np.concatenate([(own**2).sum(axis=-1), (together**2).sum(axis=-1)[None]])
    by = add_total(use.sum(axis=-1).astype(np.float64))
    return np.sqrt(squares) / np.where(by > 0, by, np.nan)
