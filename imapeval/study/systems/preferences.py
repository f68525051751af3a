"""Strengths of systems from preferences between their answers, and whether metrics agree with these.

Davidson's model (1970, "On Extending the Bradley-Terry Model to Accommodate Ties in Paired Comparison Experiments",
Journal of the American Statistical Association 65): with strengths s, the first answer is preferred with a probability
proportional to exp(s1), the second to exp(s2), and a tie to exp(t + (s1 + s2) / 2). Without ties it is that of Bradley
and Terry (1952). The likelihood is concave, and Newton's method finds its maximum. Intervals are percentiles of the
bootstrap over questions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from imapeval.errors import UsageError
from imapeval.study.arrays import EQUAL, average_known, find_signs
from imapeval.study.intervals import CONFIDENCE, ends_of
from imapeval.study.intervals.bootstrap import (
    RESAMPLES,
    iterate_resamples,
    percentile_interval,
    widen_confidence,
)
from imapeval.study.intervals.shares import share_interval
from imapeval.text.identity import strip_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Floats
    from imapeval.study.data.preferences import Preferences
    from imapeval.study.intervals import Interval
    from imapeval.study.systems.answers import SystemAnswers

MIN_QUESTIONS = 10
"""Fewest questions for an interval."""

_RIDGE = 1e-6
"""Keeps strengths finite in resamples in which a system wins always; too small to be seen elsewhere."""

_MAX_STEPS = 60

_LONGEST_STEP = 2.0
"""Longest step of Newton's method in any strength: farther away the likelihood is not quadratic."""

_AT_ONCE = 250
"""Resamples whose matrices are held at a time."""


@dataclass(frozen=True, slots=True)
class Strength:
    """A system's strength.

    Attributes:
        strength: Logarithm of its odds of being preferred to an average system; the strengths sum to 0.
        low, high: Ends of its interval; None with fewer than `MIN_QUESTIONS` questions.
        win_share: How often it is to be preferred to another of the systems, a tie counting half; mean over these.
        win_share_low, win_share_high: Ends of its interval.
        wins, ties, losses: As counted.
    """

    system: str
    strength: float
    low: float | None
    high: float | None
    win_share: float
    win_share_low: float | None
    win_share_high: float | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class MetricAndPreferences:
    """Whether a metric agrees with the preferences.

    Attributes:
        accuracy: Share of preferences for one answer whose answer has the better score; equal scores count half. None
            without any.
        low, high: Ends of its interval.
        n: Preferences for one answer whose answers both have a score.
        ties: Ties, which are left out.
        missing: Preferences for one answer of which an answer has no score, or is not in the runs.
        pairs: Pairs of systems that both have strengths and scores.
        pairs_alike: How many of them the metric's means order like the strengths.
    """

    metric: str
    accuracy: float | None
    low: float | None
    high: float | None
    n: int
    ties: int
    missing: int
    pairs: int
    pairs_alike: int


def estimate_strengths(preferences: Preferences, *, seed: int = 0, resamples: int = RESAMPLES) -> list[Strength]:
    """Return the strengths of the systems, the best first.

    Raises:
        UsageError: Strengths are not determined: some systems were not compared with the others, or never lost.
    """
    _check_connected(preferences)
    systems, questions = len(preferences.systems), len(preferences.questions)
    pairs, place = np.unique(
        np.sort(np.column_stack([preferences.first, preferences.second]), axis=1), axis=0, return_inverse=True
    )
    place = place.ravel()
    swapped = preferences.first > preferences.second
    outcome = np.where(swapped, 1 - preferences.outcome, preferences.outcome)
    # Wins of the first, wins of the second and ties, by question and pair.
    counts = np.zeros((questions, 3, len(pairs)))
    kind = np.select([outcome == 1, outcome == 0], [0, 1], 2)
    np.add.at(counts, (preferences.question, kind, place), 1)
    totals = counts.sum(axis=0)
    with_ties = bool(totals[2].any())
    strengths = fit_strengths(totals[None], pairs, systems, with_ties=with_ties)
    shares = _share_wins(strengths)[0]
    intervals: list[list[Interval | None]] = [[None] * systems, [None] * systems]
    if questions >= MIN_QUESTIONS:
        flat = counts.reshape(questions, -1)
        replicates: list[Floats] = []
        for drawn in iterate_resamples(questions, seed=seed, resamples=resamples):
            for some in np.array_split(drawn, -(-len(drawn) // _AT_ONCE)):
                drawn_counts = (some @ flat).reshape(len(some), 3, -1)
                replicates.append(fit_strengths(drawn_counts, pairs, systems, with_ties=with_ties))
        every = np.concatenate(replicates)
        wide = widen_confidence(CONFIDENCE, questions)
        intervals = [
            [percentile_interval(column, confidence=wide) for column in numbers.T]
            for numbers in (every[:, :systems], _share_wins(every))
        ]
    rows = [
        Strength(
            name,
            float(strengths[0, system]),
            *ends_of(intervals[0][system]),
            float(shares[system]),
            *ends_of(intervals[1][system]),
            *_count_outcomes(preferences, system),
        )
        for system, name in enumerate(preferences.systems)
    ]
    return sorted(rows, key=lambda row: -row.strength)


def fit_strengths(counts: Floats, pairs: np.ndarray, systems: int, *, with_ties: bool) -> Floats:
    """Return strengths, which sum to 0, and the parameter t of ties, by Newton's method; shape (m, systems + 1).

    Counts are how often the first system of a pair won, the second won, and neither; shape (m, 3, pairs).
    """
    contrast = np.zeros((len(pairs), systems))
    contrast[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    contrast[np.arange(len(pairs)), pairs[:, 1]] = -1.0
    found = np.zeros((len(counts), systems + 1))
    found[:, -1] = 0.0 if with_ties else -np.inf
    total = counts.sum(axis=1)
    free = systems + 1 if with_ties else systems
    diagonal = np.arange(free)
    for _ in range(_MAX_STEPS):
        first, second, tie = _compute_probabilities(found[:, :systems] @ contrast.T, found[:, -1:])
        lead = (first - second) / 2
        gradient = np.column_stack(
            [
                ((counts[:, 0] - counts[:, 1]) / 2 - total * lead) @ contrast,
                (counts[:, 2] - total * tie).sum(axis=1),
            ]
        )
        curvature = np.zeros((len(counts), systems + 1, systems + 1))
        spread = total * ((first + second) / 4 - lead**2)
        curvature[:, :systems, :systems] = np.einsum("mp,pi,pj->mij", spread, contrast, contrast)
        mixed = -(total * lead * tie) @ contrast
        curvature[:, :systems, -1] = curvature[:, -1, :systems] = mixed
        curvature[:, -1, -1] = (total * tie * (1 - tie)).sum(axis=1)
        curvature, gradient = curvature[:, :free, :free], gradient[:, :free] - _RIDGE * found[:, :free]
        curvature[:, diagonal, diagonal] += _RIDGE
        step = np.linalg.solve(curvature, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        found[:, :free] += step * (_LONGEST_STEP / np.maximum(longest, _LONGEST_STEP))
        if longest.max() < 1e-9:
            break
    found[:, :systems] -= found[:, :systems].mean(axis=1, keepdims=True)
    return found


def _compute_probabilities(lead: Floats, tie: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the probabilities that the first wins, that the second does, and of a tie.

    `lead` is the strength of the first less that of the second, `tie` the parameter of ties; -inf without.
    """
    logits = np.stack([lead / 2, -lead / 2, np.broadcast_to(tie, lead.shape)])
    weights = np.exp(logits - logits.max(axis=0))
    first, second, neither = weights / weights.sum(axis=0)
    return first, second, neither


def _share_wins(strengths: Floats) -> Floats:
    """Return how often each system is to be preferred to another, shape (m, systems)."""
    own = strengths[:, :-1]
    systems = own.shape[1]
    first, _, tie = _compute_probabilities(own[:, :, None] - own[:, None, :], strengths[:, -1][:, None, None])
    points = first + tie / 2
    points[:, np.arange(systems), np.arange(systems)] = 0
    return points.sum(axis=2) / (systems - 1)


def _check_connected(preferences: Preferences) -> None:
    """Check Ford's condition (1957): no system, or group of systems, always won or was never compared."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(preferences.systems)))
    for first, second, outcome in zip(
        preferences.first.tolist(), preferences.second.tolist(), preferences.outcome.tolist(), strict=True
    ):
        # From the one that was not worse.
        if outcome > 0:
            graph.add_edge(first, second)
        if outcome < 1:
            graph.add_edge(second, first)

    def name(group: set[int]) -> str:
        return ", ".join(preferences.systems[system] for system in sorted(group))

    parts = sorted(nx.weakly_connected_components(graph), key=min)
    if len(parts) > 1:
        raise UsageError(
            f"{name(parts[0])} and {name(parts[1])} were not compared, not even by way of others. Compare them."
        )
    groups = list(nx.strongly_connected_components(graph))
    if len(groups) > 1:
        best = next(
            group
            for group in groups
            if all(source in group for system in group for source in graph.predecessors(system))
        )
        it_is = "it is" if len(best) == 1 else "they are"
        raise UsageError(
            f"{name(best)} won every comparison with the others, so how much better {it_is} cannot be estimated. "
            f"Collect more comparisons, or remove the rows of {name(best)} or of all the others."
        )


def _count_outcomes(preferences: Preferences, system: int) -> tuple[int, int, int]:
    """Return wins, ties and losses."""
    first, second, outcome = preferences.first == system, preferences.second == system, preferences.outcome
    wins = int((first & (outcome == 1)).sum() + (second & (outcome == 0)).sum())
    ties = int(((first | second) & (outcome == 0.5)).sum())
    return wins, ties, int((first | second).sum()) - wins - ties


def compare_with_metrics(
    preferences: Preferences, strengths: Sequence[Strength], answers: SystemAnswers
) -> list[MetricAndPreferences]:
    """Return how far each metric agrees with the preferences.

    Raises:
        UsageError: No question or no two systems of the preferences are in the runs.
    """
    numbers: list[int] = answers.questions.tolist()
    question = dict(zip([strip_invisible(sample.question) for sample in answers.samples], numbers, strict=True))
    by_id = dict(zip(answers.ids, numbers, strict=True))
    system = {name: number for number, name in enumerate(answers.systems)}
    shared = [name for name in preferences.systems if name in system]
    if len(shared) < 2:
        raise UsageError(
            f"the preferences compare {', '.join(preferences.systems)}, and the runs have "
            f"{', '.join(answers.systems)}. Use the names of the runs."
        )
    asked = np.array(
        [by_id.get(name, question.get(strip_invisible(name), -1)) for name in preferences.questions], dtype=np.int64
    )[preferences.question]
    if (asked < 0).all():
        raise UsageError(
            f"no question of the preferences, such as {preferences.questions[0][:60]!r}, is in the runs. Give its "
            "text, or the id of an answer to it."
        )
    places = np.array([system.get(name, -1) for name in preferences.systems], dtype=np.int64)
    first, second = places[preferences.first], places[preferences.second]
    known = (asked >= 0) & (first >= 0) & (second >= 0)
    strict = preferences.outcome != 0.5
    rows: list[MetricAndPreferences] = []
    for metric in answers.metrics:
        sign = -1.0 if metric in answers.lower_is_better else 1.0
        means = sign * answers.average(metric)
        lead = np.where(known, means[first, asked] - means[second, asked], np.nan)
        used = strict & np.isfinite(lead)
        right = np.where(preferences.outcome[used] == 1, 1, -1) * find_signs(lead[used]) / 2 + 0.5
        value, interval = None, None
        if len(right):
            value = float(right.mean())
            interval = share_interval(right, np.unique(asked[used], return_inverse=True)[1])
        of_systems: list[float] = average_known(means, axis=1).tolist()
        pairs, alike = _count_alike(strengths, dict(zip(answers.systems, of_systems, strict=True)))
        rows.append(
            MetricAndPreferences(
                metric,
                value,
                *ends_of(interval),
                len(right),
                int((~strict).sum()),
                int(strict.sum()) - len(right),
                pairs,
                alike,
            )
        )
    return rows


def _count_alike(strengths: Sequence[Strength], means: dict[str, float]) -> tuple[int, int]:
    """Return the number of pairs of systems with both, and how many of them have one order."""
    both = [(row.strength, means[row.system]) for row in strengths if np.isfinite(means.get(row.system, np.nan))]
    pairs = [(a, b) for number, a in enumerate(both) for b in both[number + 1 :]]
    alike = ((a[0] - b[0]) * (a[1] - b[1]) > 0 for a, b in pairs if abs(a[1] - b[1]) > EQUAL)
    return len(pairs), sum(alike)
