"""Differences between the mean scores of systems, question by question where they answered the same ones.

Intervals are percentile bootstrap intervals over questions, widened for few of them (`bootstrap.mean_interval`).
p-values are those of a permutation test: where two systems answered the same questions, the sign of each question's
difference is drawn (Fisher 1935, The Design of Experiments, section 21; all 2^n signs of few questions are tried);
otherwise questions are reassigned to the two systems at random. Where all differences but those of 0 are of one size,
as between right and wrong, the test is computed exactly: it is McNemar's (1947).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.arrays import EQUAL
from imapeval.study.comparison.holm import holm_adjust
from imapeval.study.comparison.permutation.swaps import draw_swaps
from imapeval.study.data.rated import choose_names
from imapeval.study.intervals import CONFIDENCE, SIGNIFICANCE_LEVEL
from imapeval.study.intervals.bootstrap import RESAMPLES, percentile_interval, resample_means, widen_confidence
from imapeval.study.number_format import format_interval, format_number, format_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.systems.answers import SystemAnswers

PERMUTATIONS = 10_000
"""Minimum number of permutations: the standard error of a p-value of .05 is then .002."""

PERMUTATIONS_PER_COMPARISON = 100
"""Minimum number of permutations per comparison, so that Holm's correction of the smallest possible p-value leaves it
at .01 or less."""

_EXACT_QUESTIONS = 13
"""Maximum number of questions for which all 2^n combinations of signs are tried: 8,192."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean scores of two systems, and their difference.

    Attributes:
        column, group: The questions that count, such as "task" and "treatment"; "" and "" for all.
        paired: Whether the same questions are compared.
        questions: Number of questions compared; of unpaired ones those of both systems together.
        first_mean, second_mean: Means over the questions compared; None without any.
        difference: First minus second, in the metric's unit, whichever direction is good.
        low, high: Ends of the interval of the difference; None if there are fewer than two questions.
        p: Two-sided p-value; None without an interval.
        p_adjusted: After Holm's correction over the comparisons of the metric within the column.
        wins, ties, losses: Questions on which the first system is better than, equal to, or worse than the second;
            0 if not paired.
        left_out: Questions that only one of the two has a score for, if paired.
        better: The better system, if p_adjusted is below `SIGNIFICANCE_LEVEL`; else None.
        equivalent: Whether the interval for equivalence lies within the margin; None without a margin or interval, and
            where all questions differ by the same, of which resamples say nothing.
        reason: Why there is no interval; None if there is one.
        sentence: The finding in words.
    """

    metric: str
    first: str
    second: str
    column: str
    group: str
    paired: bool
    questions: int
    first_mean: float | None = None
    second_mean: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    left_out: int = 0
    better: str | None = None
    equivalent: bool | None = None
    reason: str | None = None
    sentence: str = ""

    @property
    def apart(self) -> bool:
        """Whether each of the two means is over other questions."""
        return not self.paired and self.difference is not None

    def describe_pairs(self) -> str | None:
        """Return the questions won, tied and lost; None without a difference."""
        if self.difference is None:
            return None
        return f"{self.wins}, {self.ties}, {self.losses}" if self.paired else "not paired"


def compare_systems(
    answers: SystemAnswers,
    *,
    against: str | None = None,
    margin: float | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> list[Difference]:
    """Compare the mean scores of systems in pairs, over all questions and within groups of them.

    Every question counts once, however many answers a system gave to it.

    Args:
        answers: The scored answers.
        against: Compare each of the other systems with this one; None compares all pairs.
        margin: Difference, in the metric's unit, below which two systems count as equivalent. They are found so if
            the interval at the level 1 - 2 x .05 / m lies within it: two one-sided tests (Schuirmann 1987) with
            Bonferroni's correction for the m comparisons.
        seed: Random seed for the bootstrap and the permutations.
        resamples: Bootstrap resamples.
        permutations: Permutations, at least.

    Returns:
        By metric: all questions first, then the groups of each column; within these the pairs in the order of the
        systems, or with `against` second.

    Raises:
        UsageError: There is no such system, or the margin is not positive.
    """
    if margin is not None and not (margin > 0 and math.isfinite(margin)):
        raise UsageError(f"the margin is a positive number, not {margin:g}.")
    choose_names("system", [] if against is None else [against], answers.systems)
    pairs = (
        list(combinations(range(len(answers.systems)), 2))
        if against is None
        else [(n, answers.systems.index(against)) for n, name in enumerate(answers.systems) if name != against]
    )
    families: list[list[_Compared]] = []
    for metric in answers.metrics:
        for column in ("", *answers.groups):
            groups = [name for name in dict.fromkeys(answers.groups[column]) if name] if column else [""]
            family: list[_Compared] = []
            for group in groups:
                means = answers.average(metric, group=(column, group) if column else None)
                for a, b in pairs:
                    row = Difference(metric, answers.systems[a], answers.systems[b], column, group, True, 0)
                    family.append(_pair_scores(row, means[a], means[b], answers))
            families.append(family)
    compared = [item for family in families for item in family if item.row.reason is None]
    drawn = max([permutations, *(PERMUTATIONS_PER_COMPARISON * len(family) for family in families)])
    replicates = _resample_differences(compared, seed=seed, resamples=resamples)
    p_values = {
        **_permute_signs([item for item in compared if item.row.paired], seed=seed, permutations=drawn),
        **_permute_questions([item for item in compared if not item.row.paired], seed=seed, permutations=drawn),
    }
    rows: list[Difference] = []
    for family in families:
        level = 1 - 2 * SIGNIFICANCE_LEVEL / len(family)
        filled: list[Difference] = []
        for item in family:
            row = item.row
            if row.reason is None:
                fewest = min(len(item.first), len(item.second))
                interval, narrower = (
                    percentile_interval(replicates[id(item)], confidence=widen_confidence(wanted, fewest))
                    for wanted in (CONFIDENCE, level)
                )
                within = None
                if margin is not None and narrower.high - narrower.low > EQUAL:
                    within = -margin < narrower.low and narrower.high < margin
                row = replace(row, low=interval.low, high=interval.high, p=p_values[id(item)], equivalent=within)
            filled.append(row)
        lower_is_better = filled[0].metric in answers.lower_is_better
        rows += conclude_family(filled, lower_is_better=lower_is_better, margin=margin)
    return rows


@dataclass(frozen=True, slots=True)
class _Compared:
    """A row, and the mean scores by question that it compares; of the same questions if the row is paired.

    The questions' weights in the means are 1 on average.
    """

    row: Difference
    first: Floats
    second: Floats
    first_weights: Floats
    second_weights: Floats


def _pair_scores(row: Difference, first: Floats, second: Floats, answers: SystemAnswers) -> _Compared:
    """Return what is compared of two systems' scores by question, which are NaN where there is no score."""
    has_first, has_second = np.isfinite(first), np.isfinite(second)
    shared = has_first & has_second
    paired = bool(shared.any())
    used = (shared, shared) if paired else (has_first, has_second)
    one, other = first[used[0]], second[used[1]]
    weights = answers.find_weights(used[0]), answers.find_weights(used[1])
    if paired:
        gained = (second - first if row.metric in answers.lower_is_better else first - second)[shared]
        row = replace(
            row,
            questions=len(one),
            left_out=int((has_first ^ has_second).sum()),
            wins=int((gained > EQUAL).sum()),
            ties=int((np.abs(gained) <= EQUAL).sum()),
            losses=int((gained < -EQUAL).sum()),
        )
    else:
        row = replace(row, paired=False, questions=len(one) + len(other))
    if not (len(one) and len(other)):
        row = replace(row, reason=f"{row.second if len(one) else row.first} has no score")
        return _Compared(row, one, other, *weights)
    first_mean, second_mean = float(np.average(one, weights=weights[0])), float(np.average(other, weights=weights[1]))
    row = replace(
        row,
        first_mean=first_mean,
        second_mean=second_mean,
        difference=first_mean - second_mean,
        reason="one question says nothing about others" if min(len(one), len(other)) < 2 else None,
    )
    return _Compared(row, one, other, *weights)


def _resample_differences(compared: Sequence[_Compared], *, seed: int, resamples: int) -> dict[int, Floats]:
    """Return bootstrap replicates of each difference, by the identity of what is compared."""
    paired = [item for item in compared if item.row.paired]
    unpaired = [item for item in compared if not item.row.paired]
    differences = [(item.first - item.second, item.first_weights) for item in paired]
    apart = resample_means(differences, seed=seed, resamples=resamples)
    firsts = [(item.first, item.first_weights) for item in unpaired]
    seconds = [(item.second, item.second_weights) for item in unpaired]
    first = resample_means(firsts, seed=seed + 1, resamples=resamples)
    second = resample_means(seconds, seed=seed + 2, resamples=resamples)
    return {id(item): means for item, means in zip(paired, apart, strict=True)} | {
        id(item): one - other for item, one, other in zip(unpaired, first, second, strict=True)
    }


def _permute_signs(compared: Sequence[_Compared], *, seed: int, permutations: int) -> dict[int, float]:
    """Return two-sided p-values of mean differences, from the signs of the questions' differences."""
    moves = {id(item): (item.first - item.second) * item.first_weights for item in compared}
    p_values = {key: p for key, apart in moves.items() if (p := _test_signs(apart)) is not None}
    for (n, _), items in _group_by_size([item for item in compared if id(item) not in p_values]).items():
        apart = np.column_stack([moves[id(item)] for item in items])
        least = np.abs(apart.sum(axis=0)) - EQUAL * n
        extreme = np.zeros(len(items), dtype=np.int64)
        exact = n <= _EXACT_QUESTIONS
        for signs in [_list_all_signs(n)] if exact else draw_swaps(n, seed=seed, permutations=permutations):
            extreme += (np.abs(signs @ apart) >= least).sum(axis=0)
        shares = extreme / 2**n if exact else (extreme + 1) / (permutations + 1)
        p_values |= {id(item): float(p) for item, p in zip(items, shares, strict=True)}
    return p_values


def _test_signs(apart: Floats) -> float | None:
    """Return the exact two-sided p-value of a mean difference; None where differences are of several sizes."""
    moved = apart[np.abs(apart) > EQUAL]
    if len(moved) and np.ptp(np.abs(moved)) > EQUAL:
        return None
    n, fewer = len(moved), min(int((moved > 0).sum()), int((moved < 0).sum()))
    log_chances = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(fewer + 1)]
    return min(1.0, 2 * math.fsum(math.exp(chance - n * math.log(2)) for chance in log_chances))


def _list_all_signs(n: int) -> Floats:
    bits: Counts = (np.arange(2**n, dtype=np.int64)[:, None] >> np.arange(n)) & 1
    return np.where(bits, 1.0, -1.0)


def _permute_questions(compared: Sequence[_Compared], *, seed: int, permutations: int) -> dict[int, float]:
    """Return two-sided p-values of differences in means, from dealing the questions to the two systems anew."""
    p_values: dict[int, float] = {}
    for (n, m), items in _group_by_size(compared).items():
        pooled = np.column_stack(
            [np.concatenate([item.first * item.first_weights, item.second * item.second_weights]) for item in items]
        )
        # Of centred scores, the difference in means is the sum of the first, times a constant.
        centred = pooled - pooled.mean(axis=0)
        least = np.abs(centred[:n].sum(axis=0)) - EQUAL * n
        generator = np.random.default_rng(seed)
        extreme = np.zeros(len(items), dtype=np.int64)
        for _ in range(permutations):
            extreme += np.abs(centred[generator.permutation(n + m)[:n]].sum(axis=0)) >= least
        shares = (extreme + 1) / (permutations + 1)
        p_values |= {id(item): float(p) for item, p in zip(items, shares, strict=True)}
    return p_values


def _group_by_size(compared: Sequence[_Compared]) -> dict[tuple[int, int], list[_Compared]]:
    """Group comparisons of as many questions, which can share random numbers."""
    groups: dict[tuple[int, int], list[_Compared]] = {}
    for item in compared:
        groups.setdefault((len(item.first), len(item.second)), []).append(item)
    return groups


def conclude_family(
    rows: Sequence[Difference], *, lower_is_better: bool = False, margin: float | None = None
) -> list[Difference]:
    """Correct the p-values of one metric's comparisons within a column, and say who is better."""
    concluded: list[Difference] = []
    for row, p in zip(rows, holm_adjust([row.p for row in rows]), strict=True):
        first_is_better = (row.difference or 0) * (-1 if lower_is_better else 1) > 0
        better = (row.first if first_is_better else row.second) if p is not None and p < SIGNIFICANCE_LEVEL else None
        row = replace(row, p_adjusted=p, better=better)
        concluded.append(replace(row, sentence=_write_sentence(row, margin=margin)))
    return concluded


def _write_sentence(row: Difference, *, margin: float | None) -> str:
    where = f" on {row.column} {row.group}" if row.column else ""
    if row.difference is None or row.low is None or row.high is None or row.p_adjusted is None:
        return f"{row.first} and {row.second} were not compared{where} by {row.metric}: {row.reason}."
    p = f"{format_p(row.p_adjusted)} after Holm"
    between = f"[{format_interval(row.low, row.high, digits=3)}]"
    count = f"{row.questions} questions" + ("" if row.paired else ", not the same for both")
    if row.better is None:
        found = f"{row.first} and {row.second} cannot be told apart{where} by {row.metric}"
        said = f"{found}: difference {format_number(row.difference, digits=3)} {between}, {p}, {count}."
    else:
        low, high = (row.low, row.high) if row.difference > 0 else (-row.high, -row.low)
        by = format_number(abs(row.difference), digits=3)
        between = f"[{format_interval(low, high, digits=3)}]"
        worse = row.second if row.better == row.first else row.first
        said = f"{row.better} is better than {worse}{where} by {by} {between} in {row.metric} ({p}, {count})."
    if margin is not None and row.equivalent:
        said += f" They are equivalent within {format_number(margin, digits=3)}."
    return said
