"""How far a calibration is off in each group of answers: by task, language, system and so on.

A curve that is right on average may rate the answers to one task too high and those to another too low. In each group,
ratings are compared with the predictions of curves fitted to the answers to other questions (of all groups).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.calibration.curve import cross_fit, select_answers
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import RESAMPLES, mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.study.arrays import Counts
    from imapeval.study.calibration.curve import Method
    from imapeval.study.data.rated import Rated

MIN_QUESTIONS = 10
"""Minimum number of questions in a group for an interval: with fewer, means of ratings vary too unevenly
(`benchmarks/calibration_groups.py`)."""


@dataclass(frozen=True, slots=True)
class GroupError:
    """How far predictions are off in one group of answers, in rating points.

    Attributes:
        group: Name of the group.
        answers: Number of answers with a rating and a score.
        questions: Number of different questions among them.
        difference: Mean rating less mean prediction: above 0 where the curve rates the group too low. None with a note.
        low, high: Bounds of its interval.
        mean_absolute: Mean of |rating - prediction|, and the bounds of its interval.
        note: Why there are no numbers.
    """

    group: str
    answers: int
    questions: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    mean_absolute: float | None = None
    mean_absolute_low: float | None = None
    mean_absolute_high: float | None = None
    note: str | None = None


def measure_groups(
    rated: Rated,
    metric: str,
    dimension: str,
    groups: Mapping[str, Counts],
    *,
    method: Method = "isotonic",
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[GroupError]:
    """Measure the errors of cross-fitted predictions in each group.

    The groups are given by the row numbers of their answers in `rated`; the other arguments are those of
    `curve.calibrate`.

    Returns:
        A row per group, with a note in place of numbers where fewer than `MIN_QUESTIONS` questions have both a
            score and a rating.

    Raises:
        UsageError: As for `curve.calibrate`.
    """
    rows, scores, ratings, questions = select_answers(rated, metric, dimension)
    predicted = cross_fit(scores, ratings, questions, method=method, scale=rated.scales.get(dimension), seed=seed)
    place = np.full(len(rated.ids), -1)
    place[rows] = np.arange(len(rows))
    found: list[GroupError] = []
    for name, members in groups.items():
        own = place[members]
        own = own[own >= 0]
        clusters: list[int] = questions[own].tolist()
        count = len(set(clusters))
        if count < MIN_QUESTIONS:
            note = f"{count} questions with a rating and a score are fewer than {MIN_QUESTIONS}"
            found.append(GroupError(name, len(own), count, note=note))
            continue
        off = ratings[own] - predicted[own]
        (low, high), (absolute_low, absolute_high) = (
            ends_of(mean_interval(column, seed=seed, clusters=clusters, differences=differences, resamples=resamples))
            for column, differences in ((off, True), (np.abs(off), False))
        )
        found.append(
            GroupError(
                *(name, len(own), count),
                *(float(off.mean()), low, high),
                *(float(np.abs(off).mean()), absolute_low, absolute_high),
            )
        )
    return found
