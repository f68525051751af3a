"""Which systems lead, which of them cannot be told apart, where metrics disagree, and which questions moved most."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from imapeval.metrics import registry
from imapeval.study.arrays import EQUAL
from imapeval.study.intervals import CONFIDENCE, ends_of
from imapeval.study.intervals.bootstrap import (
    has_share_interval,
    mean_interval,
    percentile_interval,
    resample_means,
    widen_confidence,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.arrays import Flags, Floats
    from imapeval.study.systems.answers import SystemAnswers
    from imapeval.study.systems.differences import Difference


@dataclass(frozen=True, slots=True)
class Standing:
    """The place of a system by one metric.

    Attributes:
        rank: 1 for the best; equal means share a rank.
        mean: Mean over the questions, each counted once; None without a score.
        low, high: Ends of its 95% bootstrap interval; None with fewer than two questions.
        questions: Number of questions in the mean.
        unscored: Answers of the system without a score.
        groups: Letters: two systems that share one cannot be told apart. "" if not all pairs were compared, or some on
            other questions than those of the means.
        shared: Whether the mean is over the questions for which every system has a score; if there are none, each mean
            is over the system's own questions.
        resampled: Questions that the interval resamples; 0 if it is that of a share, or there is none.
        scored: Questions that the system has a score for.
    """

    metric: str
    system: str
    rank: int
    mean: float | None
    low: float | None
    high: float | None
    questions: int
    unscored: int
    groups: str
    shared: bool
    resampled: int
    scored: int


@dataclass(frozen=True, slots=True)
class MetricDisagreement:
    """Two systems that metrics put in different orders.

    Attributes:
        for_first, for_second: Metrics by which that system has the better mean, each with the p-value of the difference
            after Holm; None if it has none.
    """

    first: str
    second: str
    for_first: dict[str, float | None]
    for_second: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Change:
    """A question on which two systems differ.

    Attributes:
        first_ids, second_ids: Their answers to it.
        first_score, second_score: Their mean scores.
        gain: How much better the first system is, in the metric's unit; negative if it is worse.
    """

    first: str
    second: str
    question: str
    first_ids: tuple[str, ...]
    second_ids: tuple[str, ...]
    first_score: float
    second_score: float
    gain: float


def rank_systems(
    answers: SystemAnswers,
    differences: Sequence[Difference],
    *,
    ranges: Mapping[str, tuple[float | None, float | None]] | None = None,
    seed: int = 0,
) -> list[Standing]:
    """Return the leaderboard of each metric, the best system first, systems without a score last.

    `ranges` are the lowest and highest possible values by metric, with the options that are set; a metric that is not
    among them has those of the registry.
    """
    # Scores and the weights of their questions.
    used: dict[tuple[str, int], tuple[Floats, Floats]] = {}
    shared: dict[str, bool] = {}
    scored: dict[tuple[str, int], int] = {}
    for metric in answers.metrics:
        by_question = answers.average(metric)
        has_score = np.isfinite(by_question)
        complete: Flags = np.asarray(has_score.all(axis=0))
        shared[metric] = bool(complete.any())
        for number, (scores, there) in enumerate(zip(by_question, has_score, strict=True)):
            asked = complete if shared[metric] else there
            used[metric, number] = scores[asked], answers.find_weights(asked)
            scored[metric, number] = int(there.sum())
    several = {key: weighted for key, weighted in used.items() if not _has_share_interval(*weighted)}
    bounds = {metric.name: metric.range for metric in registry.all_metrics()} | dict(ranges or {})
    replicates = dict(zip(several, resample_means(list(several.values()), seed=seed), strict=True))
    rows: list[Standing] = []
    for column, metric in enumerate(answers.metrics):
        sign = 1 if metric in answers.lower_is_better else -1
        costs = [
            sign * _find_mean(*used[metric, number]) if len(used[metric, number][0]) else np.inf
            for number in range(len(answers.systems))
        ]
        order = sorted(range(len(costs)), key=costs.__getitem__)
        compared = [row for row in differences if row.metric == metric and not row.column]
        sizes = {answers.systems[number]: len(used[metric, number][0]) for number in order}
        letters = _letter_groups(sizes, compared)
        unscored = ~np.isfinite(answers.scores[:, column])
        for number in order:
            system, (scores, weights) = answers.systems[number], used[metric, number]
            drawn = replicates.get((metric, number))
            if drawn is None:
                interval = mean_interval(scores, bounds=bounds.get(metric, (None, None)))
            else:
                interval = percentile_interval(drawn, confidence=widen_confidence(CONFIDENCE, len(scores)))
            rows.append(
                Standing(
                    *(metric, system, 1 + sum(cost < costs[number] for cost in costs)),
                    *(float(np.average(scores, weights=weights)) if len(scores) else None, *ends_of(interval)),
                    questions=len(scores),
                    unscored=int(unscored[answers.system == number].sum()),
                    groups=letters[system],
                    shared=shared[metric],
                    resampled=0 if drawn is None else len(scores),
                    scored=scored[metric, number],
                )
            )
    return rows


def describe_questions(rows: Sequence[Standing]) -> list[str]:
    """Return sentences on which questions the means are over, where it is not those that the systems have."""
    fewer = dict.fromkeys(row.metric for row in rows if row.shared and row.scored > row.questions)
    own = dict.fromkeys(row.metric for row in rows if not row.shared)
    sentences: list[str] = []
    if fewer:
        sentences.append(
            "Means are over the questions that every system has a score for, differences over those that both have; "
            f"letters are given only where these are the same ({', '.join(fewer)})."
        )
    if own:
        sentences.append(
            f"No question has a score of every system: each mean is over other questions ({', '.join(own)})."
        )
    return sentences


def _has_share_interval(scores: Floats, weights: Floats) -> bool:
    """Return whether the interval of a mean is that of a share: of right and wrong answers if they weigh the same."""
    return has_share_interval(scores * weights) or bool((scores == scores[:1]).all())


def _find_mean(scores: Floats, weights: Floats) -> float:
    """Return a mean without errors of rounding, so that equal ones are equal whatever the order of the scores."""
    return round(math.fsum(scores * weights) / len(scores), 12)


def _letter_groups(sizes: Mapping[str, int], differences: Sequence[Difference]) -> dict[str, str]:
    """Return letters by system: two share one if neither is better (Piepho 2004, compact letter displays).

    The best system comes first. If differences of some pairs are missing, or are over other questions than the means,
    there are no letters: they would contradict the means. `sizes` are the numbers of questions of these.
    """
    import networkx as nx  # a tenth of a second, and the page of any run imports this module

    systems = list(sizes)
    compared = nx.Graph(
        (row.first, row.second)
        for row in differences
        if row.p_adjusted is not None and _has_questions_of_means(row, sizes[row.first], sizes[row.second])
    )
    if compared.number_of_edges() < len(systems) * (len(systems) - 1) // 2:
        return dict.fromkeys(systems, "")
    alike = nx.Graph((row.first, row.second) for row in differences if row.better is None)
    alike.add_nodes_from(systems)
    place = {system: number for number, system in enumerate(systems)}
    groups = sorted(sorted(place[system] for system in group) for group in nx.find_cliques(alike))
    # Behind Z come other alphabets, from α on, in which some letters look like these.
    letters = chain(string.ascii_letters, filter(str.isalpha, map(chr, count(ord("α")))))
    named = list(zip(letters, groups, strict=False))
    return {system: "".join(letter for letter, group in named if place[system] in group) for system in systems}


def _has_questions_of_means(row: Difference, first: int, second: int) -> bool:
    return row.questions == first == second if row.paired else row.questions == first + second


def find_metric_disagreements(answers: SystemAnswers, differences: Sequence[Difference]) -> list[MetricDisagreement]:
    """Return the pairs of systems that not all metrics put in the same order, over all questions."""
    rows: dict[tuple[str, str], list[Difference]] = {}
    for row in differences:
        if not row.column and abs(row.difference or 0.0) > EQUAL:
            rows.setdefault((row.first, row.second), []).append(row)
    found: list[MetricDisagreement] = []
    for (first, second), of_pair in rows.items():
        sides: tuple[dict[str, float | None], dict[str, float | None]] = ({}, {})
        for row in of_pair:
            first_is_better = ((row.difference or 0) < 0) == (row.metric in answers.lower_is_better)
            sides[0 if first_is_better else 1][row.metric] = row.p_adjusted
        if all(sides):
            found.append(MetricDisagreement(first, second, *sides))
    return found


def list_changes(answers: SystemAnswers, *, metric: str, first: str, second: str) -> list[Change]:
    """Return the questions that both systems have a score for, those that the first system lost most on first."""
    a, b = answers.systems.index(first), answers.systems.index(second)
    means = answers.average(metric)
    sign = -1 if metric in answers.lower_is_better else 1
    gains = sign * (means[a] - means[b])
    ids: dict[tuple[int, int], list[str]] = {}
    texts: dict[int, str] = {}
    for system, question, sample in zip(
        answers.system.tolist(), answers.questions.tolist(), answers.samples, strict=True
    ):
        ids.setdefault((system, question), []).append(sample.id)
        texts.setdefault(question, sample.question)
    shared = np.flatnonzero(np.isfinite(gains))
    return [
        Change(
            first,
            second,
            texts[question],
            tuple(ids[a, question]),
            tuple(ids[b, question]),
            float(means[a, question]),
            float(means[b, question]),
            float(gains[question]),
        )
        for question in shared[np.argsort(gains[shared], kind="stable")].tolist()
    ]
