"""The baseline's coefficient where each answer is scored by the other parts of a division of the questions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.correlation.base import Coefficient

_SMALL_PART = 1000
"""Maximum number of answers in a part for which all parts are correlated at once."""

_SMALL_PART_OF_PAIRS = 100
"""The same for coefficients that compare all pairs of answers."""

_FEW_KINDS = 500
"""Maximum number of pairs of a system and a rating for which equal answers are counted instead of listed."""

_CELLS = 200_000
"""Most answers of several divisions at a time."""


def correlate_divisions(
    y: Floats,
    system: Counts,
    codes: Counts,
    times: Counts,
    *,
    parts: int,
    generator: np.random.Generator,
    how: Coefficient,
) -> Floats:
    """Return the baseline's coefficient in each of several divisions at random, NaN where no part has one.

    Ratings, numbered systems and questions have the shape (n,); `times` is how often each answer counts in each
    division, shape (divisions, n). All copies of a question are in one part: else an answer's own rating would be in
    the mean that scores it.
    """
    n, count = len(y), int(codes.max()) + 1
    at_once = max(1, _CELLS // n)
    found: list[Floats] = []
    for start in range(0, len(times), at_once):
        block = times[start : start + at_once]
        folds = np.stack([generator.permutation(count) % parts for _ in block])
        division, row = np.divmod(np.repeat(np.arange(block.size), block.ravel()), n)
        # Parts are numbered on from one division to the next.
        part = division * parts + folds[division, codes[row]]
        values = _correlate_parts(y[row], system[row], part, (len(block), parts), how).reshape(-1, parts)
        defined = np.isfinite(values)
        total = np.where(defined, values, 0.0).sum(axis=1)
        found.append(np.where(defined.any(axis=1), total / np.maximum(defined.sum(axis=1), 1), np.nan))
    return np.concatenate(found)


def _correlate_parts(y: Floats, system: Counts, part: Counts, shape: tuple[int, int], how: Coefficient) -> Floats:
    """Return the baseline's coefficient in each part of each division, shape (divisions * parts,)."""
    size, systems = math.prod(shape), int(system.max()) + 1
    place = part * systems + system
    sums: Floats = np.bincount(place, y, minlength=size * systems).reshape(*shape, systems).astype(np.float64)
    counts: Counts = np.bincount(place, minlength=size * systems).reshape(*shape, systems)
    other_sums: Floats = sums.sum(axis=1, keepdims=True) - sums
    other_counts: Counts = counts.sum(axis=1, keepdims=True) - counts
    # A system without answers in other parts is scored by the mean of all answers there.
    overall = other_sums.sum(axis=2, keepdims=True) / np.maximum(other_counts.sum(axis=2, keepdims=True), 1)
    means = np.where(other_counts > 0, other_sums / np.maximum(other_counts, 1), overall)
    levels, level = np.unique(y, return_inverse=True)
    sizes = np.bincount(part, minlength=size)
    large = sizes.max() > (_SMALL_PART_OF_PAIRS if how.counts_pairs else _SMALL_PART)
    if large and systems * len(levels) <= _FEW_KINDS:
        weights = np.bincount(place * len(levels) + level, minlength=size * systems * len(levels))
        x, y = np.repeat(means.reshape(size, systems), len(levels), axis=1), np.tile(levels, systems)
        values = np.full(size, np.nan)
        for number, times in enumerate(weights.reshape(size, -1)):
            there = times > 0
            if there.any():
                values[number] = how.weighted(x[number, there], y[there], times[None, there].astype(np.float64))[0]
        return values
    order = np.argsort(part, kind="stable")
    x, y, ends = means.ravel()[place[order]], y[order], np.cumsum(sizes)
    if large:
        spans = [slice(end - length, end) for end, length in zip(ends, sizes, strict=True)]
        return np.array([how.with_influences(x[span], y[span]).value if len(x[span]) else np.nan for span in spans])
    table = np.full((2, size, sizes.max()), np.nan)
    table[:, part[order], np.arange(len(y)) - np.repeat(ends - sizes, sizes)] = x, y
    return how.in_groups(*table)
