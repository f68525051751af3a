"""How sure one score is: its variance over repeated readings, relatings and judgements, and how often a verdict flips.

The design is crossed and nested (Brennan 2001, Generalizability Theory, chapter 3): each answer is read several times,
each reading is related several times (relatings are nested in readings), and each of these is judged several times with
the same seeds (judgements are crossed with readings and relatings). All effects are random:

    score = mean + answer + reading + relating + judging + reading x judging + relating x judging

Components are estimated by the method of moments: observed mean squares are equated with their expectations (Searle,
Casella and McCulloch 1992, Variance Components, chapter 4, for balanced data). Estimates below 0, which the method
gives where a component is small, count as 0. `judging` is the sum of the three effects that have judging in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import bootstrap_clusters, number_clusters, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from imapeval.study.arrays import Floats

_EFFECTS: tuple[str, ...] = ("reading", "relating", "judging", "reading x judging", "relating x judging")

_DRAWS = 1000
"""Draws of two disjoint sets of repetitions, over which a share of flips is averaged: its error is below .02."""


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Where the variance of one score comes from. Units are those of the score, squared.

    Attributes:
        answers: Variance between answers, free of noise; None for a single answer.
        reading, relating, judging: Variance of one score over repetitions of each step; None if it was not repeated.
        negative: The components whose estimate was below 0 and counts as 0.
        sd: Standard deviation of the score of one answer, scored once: one reading, related and judged once.
        low, high: Ends of its 95% interval, a percentile bootstrap over questions; None for a single question.
        sd_with_votes: The same for the mean over all readings and judgements, each reading related once.
    """

    answers: float | None
    reading: float | None
    relating: float | None
    judging: float | None
    negative: tuple[str, ...]
    sd: float
    low: float | None
    high: float | None
    sd_with_votes: float


@dataclass(frozen=True, slots=True)
class Flips:
    """How often an answer is on one side of a threshold, and on the other when it is scored again.

    Attributes:
        votes: Number of readings and judgements whose mean each of the two scores is.
        measured: Share of answers, over pairs of scores without a common repetition; None if there are too few.
        predicted: Share expected of normally distributed scores with the estimated variance about each answer's mean.
    """

    threshold: float
    votes: int
    measured: float | None
    predicted: float


def split_variance(scores: Floats, *, questions: Sequence[Hashable], seed: int = 0) -> VarianceSplit:
    """Split the variance of scores into answers, reading, relating and judging.

    Scores are finite, of shape (answers, readings, relatings, judgements); a step that was not repeated has length 1.

    Raises:
        ValueError: There is no score.
    """
    if not scores.size:
        raise ValueError(f"no scores: the shape is {scores.shape}")
    shape = scores.shape[1:]
    squares = _mean_squares(scores)
    ones = np.ones((1, len(scores)))
    raw = dict(zip(_EFFECTS, _estimate_effects(ones, squares, shape)[0].tolist(), strict=True))
    effects = {name: max(0.0, value) for name, value in raw.items()}
    between = None
    if len(scores) > 1:
        # All that a mean over an answer's repetitions varies by beside the answer itself.
        noise = _average_variance(raw, shape)
        between = float(scores.mean(axis=(1, 2, 3)).var(ddof=1)) - noise
        raw["answers"] = between
        between = max(0.0, between)

    def total_sd(weights: Floats) -> Floats:
        return np.sqrt(_estimate_effects(weights, squares, shape).clip(min=0.0).sum(axis=1))

    codes = number_clusters(questions)
    interval = None
    if codes.max() > 0:
        interval = percentile_interval(bootstrap_clusters(total_sd, codes, seed=seed))
    low, high = ends_of(interval)
    readings, _, judgements = shape
    judging = sum(value for name, value in effects.items() if "judging" in name)
    # Rounding leaves differences of mean squares that are 0 a little off it.
    limit = -1e-9 * max(1e-300, float(squares.max()))
    return VarianceSplit(
        answers=between,
        reading=effects["reading"] if shape[0] > 1 else None,
        relating=effects["relating"] if shape[1] > 1 else None,
        judging=judging if shape[2] > 1 else None,
        negative=tuple(name for name, value in raw.items() if value < limit),
        sd=math.sqrt(sum(effects.values())),
        low=low,
        high=high,
        sd_with_votes=math.sqrt(_average_variance(effects, (readings, 1, judgements))),
    )


def count_flips(scores: Floats, threshold: float, *, higher_is_better: bool = True, seed: int = 0) -> list[Flips]:
    """Return how often answers change sides of a threshold: scored once, and averaged over more and more votes.

    Scores are as in `split_variance`; one equal to the threshold is on the better side. There is a row for one vote;
    for half of the votes, the most of which there are two disjoint sets; and for all votes.
    """
    sign = 1 if higher_is_better else -1
    votes = max(scores.shape[1], scores.shape[3])
    numbers = sorted({1, max(1, votes // 2), votes})
    return [
        Flips(
            threshold,
            number,
            _measure_flips(sign * scores, sign * threshold, number, seed=seed),
            _predict_flips(scores, threshold, number),
        )
        for number in numbers
    ]


def _mean_squares(scores: Floats) -> Floats:
    """Return each answer's mean squares of the five effects, shape (answers, 5); 0 where a step was not repeated."""
    readings, relatings, judgements = scores.shape[1:]
    by_relating, by_reading = scores.mean(axis=3, keepdims=True), scores.mean(axis=(2, 3), keepdims=True)
    by_judgement, by_both = scores.mean(axis=(1, 2), keepdims=True), scores.mean(axis=2, keepdims=True)
    mean = scores.mean(axis=(1, 2, 3), keepdims=True)
    deviations = (
        (by_reading - mean, readings - 1),
        (by_relating - by_reading, readings * (relatings - 1)),
        (by_judgement - mean, judgements - 1),
        (by_both - by_reading - by_judgement + mean, (readings - 1) * (judgements - 1)),
        (scores - by_relating - by_both + by_reading, readings * (relatings - 1) * (judgements - 1)),
    )
    cells = readings * relatings * judgements
    return np.stack(
        [
            (part**2).sum(axis=(1, 2, 3)) * (cells / part[0].size) / freedom if freedom else np.zeros(len(scores))
            for part, freedom in deviations
        ],
        axis=1,
    )


def _estimate_effects(weights: Floats, squares: Floats, shape: tuple[int, ...]) -> Floats:
    """Return the five components, not clipped, by rows of weights of answers: shape (resamples, 5)."""
    readings, relatings, judgements = shape
    reading, relating, judging, both, rest = ((weights @ squares) / weights.sum(axis=1, keepdims=True)).T
    if readings == 1:
        # Neither has a mean square. The next one down stands for it, so that its component is 0 and not negative.
        reading, both = relating, rest
    return np.stack(
        [
            (reading - relating - both + rest) / (relatings * judgements),
            (relating - rest) / judgements,
            (judging - both) / (readings * relatings),
            (both - rest) / relatings,
            rest,
        ],
        axis=1,
    )


def _find_components(scores: Floats) -> dict[str, float]:
    """Return the five components by name, where those below 0 count as 0."""
    ones = np.ones((1, len(scores)))
    found = _estimate_effects(ones, _mean_squares(scores), scores.shape[1:])[0].clip(min=0.0)
    return dict(zip(_EFFECTS, found.tolist(), strict=True))


def _average_variance(effects: dict[str, float], numbers: tuple[int, ...]) -> float:
    """Return the variance of the mean over so many readings, relatings of each and judgements of each."""
    readings, relatings, judgements = numbers
    divisors = (
        readings,
        readings * relatings,
        judgements,
        readings * judgements,
        readings * relatings * judgements,
    )
    return sum(effects[name] / divisor for name, divisor in zip(_EFFECTS, divisors, strict=True))


def saved_by_repeating(scores: Floats) -> dict[str, float]:
    """Return the share of a single score's variance that a second reading, relating or judgement takes away, by step.

    A second reading is related as the first one is, so that it halves what comes from relating as well. Steps that were
    not repeated are left out; so are all where nothing varies.
    """
    effects = _find_components(scores)
    once = sum(effects.values())
    twice = {"reading": (2, 1, 1), "relating": (1, 2, 1), "judging": (1, 1, 2)}
    return {
        step: 1 - _average_variance(effects, numbers) / once
        for (step, numbers), size in zip(twice.items(), scores.shape[1:], strict=True)
        if size > 1 and once > 0
    }


def _measure_flips(scores: Floats, threshold: float, votes: int, *, seed: int) -> float | None:
    answers, readings, relatings, judgements = scores.shape
    # Each reading is related once, so that both scores of a single reading could draw the same relating.
    if readings == 1 < relatings or any(1 < size < 2 * votes for size in (readings, judgements)):
        return None
    generator = np.random.default_rng(seed)
    share = 0.0
    for _ in range(_DRAWS):
        sides: list[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]] = []
        reading, judgement = generator.permutation(readings), generator.permutation(judgements)
        # What was not repeated is common to both; each reading is related once.
        for part in (slice(votes), slice(votes, 2 * votes)):
            chosen = reading[part] if readings > 1 else reading
            judged = judgement[part] if judgements > 1 else judgement
            related = generator.integers(relatings, size=len(chosen))
            mean = scores[:, chosen, related][:, :, judged].mean(axis=(1, 2))
            sides.append(mean >= threshold)
        share += float((sides[0] != sides[1]).sum()) / answers
    return share / _DRAWS


def _predict_flips(scores: Floats, threshold: float, votes: int) -> float:
    """Return the mean over answers of 2 p (1 - p), where p is the chance of a score on the upper side.

    The means of the answers are drawn together until their variance is that between answers: as they are, noise spreads
    them, and fewer seem close to the threshold (Ghosh 1992, JASA 87, 533-540).
    """
    shape = scores.shape[1:]
    effects = _find_components(scores)
    sd = math.sqrt(_average_variance(effects, (votes if shape[0] > 1 else 1, 1, votes if shape[2] > 1 else 1)))
    if sd == 0:
        return 0.0
    means = scores.mean(axis=(1, 2, 3))
    if (spread := float(means.var())) > 0:
        kept = max(0.0, 1 - _average_variance(effects, shape) / spread)
        means = means.mean() + math.sqrt(kept) * (means - means.mean())
    chances = np.array([0.5 * math.erfc((threshold - mean) / sd / math.sqrt(2)) for mean in means.tolist()])
    return float((2 * chances * (1 - chances)).mean())
