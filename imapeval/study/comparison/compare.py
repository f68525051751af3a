"""Tests which of two metrics agrees better with the raters, on the answers that both scored.

`permutation` tests a difference where answers share questions or a coefficient is a mean; `closed_form` has the tests
in closed form.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations
from math import isfinite, nan
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.comparison import closed_form
from imapeval.study.comparison.between_systems import contrast_systems
from imapeval.study.comparison.holm import holm_adjust
from imapeval.study.comparison.monte_carlo import is_unsettled
from imapeval.study.comparison.permutation.answers import contrast_answers
from imapeval.study.comparison.permutation.other_systems import contrast_other_systems
from imapeval.study.comparison.permutation.questions import contrast_questions
from imapeval.study.comparison.permutation.swaps import ComparedAnswers, MetricPairs
from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.group_correlation import merge_ties
from imapeval.study.data.findings import ALL, MIN_SYSTEMS, Comparison
from imapeval.study.data.rated import choose_names
from imapeval.study.intervals import CONFIDENCE, SIGNIFICANCE_LEVEL
from imapeval.study.intervals.bootstrap import RESAMPLES
from imapeval.study.number_format import format_interval, format_number, format_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.comparison.permutation.swaps import Contrast
    from imapeval.study.data.findings import CoefficientName, Level
    from imapeval.study.data.rated import Rated

TestName = Literal["perm-inputs", "boot-inputs", "perm-systems", "williams", "steiger"]

TESTS: tuple[TestName, ...] = get_args(TestName)

PERMUTATIONS_PER_COMPARISON = 25
"""Minimum number of permutations or resamples per comparison in a table: m of them give no p below 1 / (m + 1), and
Holm multiplies the smallest p by the number of comparisons. The smallest adjusted p is then 1/25, below the usual
.05."""


def compare(
    rated: Rated,
    *,
    metrics: Sequence[str] | None = None,
    against: str | None = None,
    coefficient: CoefficientName = "spearman",
    level: Level = "within-system",
    dimensions: Sequence[str] | None = None,
    test: TestName | None = None,
    margin: float | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Comparison]:
    """Compare metrics in pairs, by each dimension of the ratings and by the mean over them.

    Args:
        rated: Scores and ratings.
        metrics: Metrics in the order of the result; None takes all.
        against: Compare each of the others with this one alone; None compares all pairs.
        coefficient: Any coefficient; accuracies with the default test, at the levels where they are used:
            within-question and system (pairwise_accuracy), system (soft_pairwise_accuracy).
        level: How answers are grouped. Where several coefficients are averaged, every pair is averaged over those that
            both metrics have.
        dimensions: Rating dimensions to include; None means all.
        test: perm-inputs swaps questions and asks whether the finding would hold for these systems on other questions
            (`permutation.swaps`). boot-inputs resamples them and asks the same at the level of systems, where swapping
            does not keep its significance level (`between_systems`). None takes the one of these two that applies at
            the given level. perm-systems swaps systems and asks whether the finding would hold for other systems on
            these questions (`permutation.other_systems`). williams and steiger assume independent answers and a single
            coefficient: where answers share a question or coefficients are averaged, there is a reason in place of a
            result.
        margin: Difference below which two coefficients count as equally good, stated before the data are seen. One
            metric is as good as another if it is not worse by the margin: a one-sided test at 5% with Bonferroni's
            correction for the pairs; if both are as good as each other, they are equivalent (two one-sided tests,
            Schuirmann 1987).
        seed: Random seed for the permutations.
        resamples: Permutations or resamples, at least; there are `PERMUTATIONS_PER_COMPARISON` for each comparison in a
            dimension.

    Returns:
        For each dimension a row per pair, `against` (or the metric that comes first) first; last the rows of their
        mean, if there are several. Holm's correction is over the rows of one dimension.

    Raises:
        UsageError: A name is unknown, there are no two metrics, metrics cannot be compared by the coefficient or by the
            test, or the margin is not positive.
    """
    if margin is not None and not (margin > 0 and isfinite(margin)):
        raise UsageError(f"the margin is a positive number, not {margin:g}.")
    names = choose_names("metric", metrics, rated.metrics)
    columns = choose_names("dimension", dimensions, rated.dimensions)
    choose_names("metric", [] if against is None else [against], rated.metrics)
    test = choose_test(coefficient, level, test)
    pairs = [(against, name) for name in names if name != against] if against else list(combinations(names, 2))
    if not pairs:
        raise UsageError("a comparison needs at least two metrics.")
    permutations = max(resamples, PERMUTATIONS_PER_COMPARISON * len(pairs))

    def compute(confidence: float, permutations: int) -> list[Comparison]:
        if test == "williams" or test == "steiger":
            return [
                _test_in_closed_form(rated, pair, d, coefficient, level, test, confidence)
                for d in columns
                for pair in pairs
            ]
        return _permute(rated, pairs, columns, coefficient, level, test, seed, permutations, confidence)

    rows = compute(CONFIDENCE, permutations)
    if margin is not None:
        # Intervals depend on resamples but not on permutations, so one permutation is enough here.
        ends = compute(1 - 2 * SIGNIFICANCE_LEVEL / len(pairs), permutations if test == "boot-inputs" else 1)
        rows = [_judge_margin(row, other, margin) for row, other in zip(rows, ends, strict=True)]
    several = len(columns) > 1
    adjusted = [
        replace(row, unsettled=is_unsettled(row, permutations))
        for dimension in (*columns, *([ALL] if several else []))
        for row in _adjust_and_rank([row for row in rows if row.dimension == dimension])
    ]
    return [replace(row, sentence=write_sentence(row, several=several, margin=margin)) for row in adjusted]


def choose_test(coefficient: CoefficientName, level: Level, test: TestName | None) -> TestName:
    """Return the test; for None, the one that asks about these systems on other questions at this level.

    Raises:
        UsageError: There is no such test, the test does not apply at the level, or the coefficient is an accuracy that
            is not available at the level or with the test.
    """
    own: TestName = "boot-inputs" if level == "system" else "perm-inputs"
    if test is None:
        test = own
    choose_names("test", [test], TESTS)
    if test in ("perm-inputs", "boot-inputs") and test != own:
        raise UsageError(f"at the level {level} metrics are compared with the test {own}, not with {test}.")
    chosen = find_coefficient(coefficient)
    if not (chosen.calibrates_ties or chosen.system_level_only):
        return test
    levels = ("system",) if chosen.system_level_only else ("within-question", "system")
    if level not in levels:
        raise UsageError(f"metrics are compared by {coefficient} at the level {' or '.join(levels)}, not at {level}.")
    if test != own:
        raise UsageError(f"metrics are compared by {coefficient} with the test {own}, not with {test}.")
    return test


def _adjust_and_rank(rows: Sequence[Comparison]) -> list[Comparison]:
    adjusted = holm_adjust([row.p for row in rows])
    rows = [replace(row, p_adjusted=p) for row, p in zip(rows, adjusted, strict=True)]
    ranks = _rank_metrics(rows)
    return [replace(row, first_rank=ranks.get(row.first), second_rank=ranks.get(row.second)) for row in rows]


def _rank_metrics(rows: Sequence[Comparison]) -> dict[str, int]:
    """Return the rank of each metric, as the Metrics Shared Task of WMT gives them (Freitag et al. 2022, 2023).

    From the best metric down, metrics share a rank until one differs significantly from any metric of that rank; it
    opens the next. Metrics that were compared with none are left out; {} where a pair of the others was not compared.
    """
    tested = [row for row in rows if row.p_adjusted is not None]
    values: dict[str, list[float]] = {}
    for row in tested:
        for metric, value in ((row.first, row.first_value), (row.second, row.second_value)):
            values.setdefault(metric, []).append(value or 0.0)
    if len(tested) < len(values) * (len(values) - 1) // 2:
        return {}
    different = {frozenset((row.first, row.second)) for row in tested if (row.p_adjusted or 0) < SIGNIFICANCE_LEVEL}
    ranks: dict[str, int] = {}
    rank, opened = 1, list[str]()
    # A metric's value differs between pairs where not all metrics scored the same answers.
    for metric in sorted(values, key=lambda name: -float(np.mean(values[name]))):
        if any(frozenset((metric, other)) in different for other in opened):
            rank, opened = rank + 1, []
        opened.append(metric)
        ranks[metric] = rank
    return ranks


def _judge_margin(row: Comparison, other: Comparison, margin: float) -> Comparison:
    """Return the row with its verdicts on the margin, from the interval of `other` at the level for one-sided tests."""
    if other.low is None or other.high is None:
        return row
    return replace(row, first_as_good=other.low > -margin, second_as_good=other.high < margin)


def _permute(
    rated: Rated,
    pairs: Sequence[tuple[str, str]],
    dimensions: Sequence[str],
    coefficient: CoefficientName,
    level: Level,
    test: Literal["perm-inputs", "boot-inputs", "perm-systems"],
    seed: int,
    permutations: int,
    confidence: float,
) -> list[Comparison]:
    ratings = np.column_stack([rated.ratings_of(dimension) for dimension in dimensions])
    has_rating = ~np.isnan(ratings).all(axis=1)
    has_score = {name: ~np.isnan(rated.scores_of(name)) & has_rating for name in dict.fromkeys(sum(pairs, ()))}
    interval = "bootstrap" if test == "boot-inputs" else "jackknife"
    if level == "within-question":
        contrast_pairs = partial(contrast_questions, coefficient=coefficient)
    elif level == "system":
        contrast_pairs = partial(contrast_systems, coefficient=coefficient)
    else:
        contrast_pairs = partial(contrast_answers, by_system=level == "within-system", coefficient=coefficient)
    # Pairs whose metrics scored the same answers are compared together, for speed.
    alike: dict[bytes, list[tuple[str, str]]] = {}
    for pair in pairs:
        alike.setdefault(np.packbits(has_score[pair[0]] & has_score[pair[1]]).tobytes(), []).append(pair)
    of_pair: dict[tuple[str, str], list[Comparison]] = {}
    for together in alike.values():
        rows = np.flatnonzero(has_score[together[0][0]] & has_score[together[0][1]])
        names = list(dict.fromkeys(name for pair in together for name in pair))
        answers = ComparedAnswers(
            np.column_stack([rated.scores_of(name)[rows] for name in names]),
            ratings[rows],
            np.unique(rated.questions[rows], return_inverse=True)[1],
            np.unique(np.asarray(rated.systems)[rows], return_inverse=True)[1],
        )
        columns = MetricPairs(*(np.array([names.index(pair[side]) for pair in together]) for side in (0, 1)))
        compute = partial(contrast_pairs, pairs=columns, seed=seed)
        contrast = None
        if len(rows) and test == "perm-systems":
            contrast = contrast_other_systems(
                answers,
                partial(compute, permutations=1),
                seed=seed,
                permutations=permutations,
                confidence=confidence,
            )
        elif len(rows):
            contrast = compute(answers, permutations=permutations, confidence=confidence)
        for p, pair in enumerate(together):
            blank = [
                Comparison(*pair, level, dimension, coefficient, interval=interval, test=test)
                for dimension in (*dimensions, ALL)
            ]
            of_pair[pair] = [_add_result(row, d, p, answers, contrast) for d, row in enumerate(blank)]
    return [row for pair in pairs for row in of_pair[pair]]


def _add_result(row: Comparison, d: int, p: int, answers: ComparedAnswers, contrast: Contrast | None) -> Comparison:
    """Return a row with the result of the p-th pair in the d-th dimension, or for the mean over dimensions."""
    rated = ~np.isnan(answers.ratings)
    there = np.asarray((rated if row.dimension == ALL else rated[:, [d]]).any(axis=1))
    questions, systems = (len(np.unique(codes[there])) for codes in (answers.questions, answers.systems))
    row = replace(row, n=systems if row.level == "system" else int(there.sum()), questions=questions)
    if contrast is None or np.isnan(contrast.first[d, p]):
        return replace(row, reason=_explain(row))
    left_out = int(contrast.groups[d] - contrast.defined[d, p])
    first, second = float(contrast.first[d, p]), float(contrast.second[d, p])
    row = replace(row, first_value=first, second_value=second, difference=first - second)
    if questions < 2 and row.test != "perm-systems":
        return replace(row, reason="all answers share one question, which says nothing about others")
    notes: list[str] = []
    if left_out:
        notes.append(f"{left_out} of {contrast.groups[d]} coefficients are undefined and left out")
    low, high, p_value = (float(table[d, p]) for table in (contrast.low, contrast.high, contrast.p))
    lowest, highest = find_coefficient(row.coefficient).bounds
    # NaN stays NaN as the first argument.
    low, high = max(low, lowest - highest), min(high, highest - lowest)
    if systems < MIN_SYSTEMS and (row.level == "system" or row.test == "perm-systems"):
        low = high = nan
        notes.append(f"no interval: {systems} systems are fewer than {MIN_SYSTEMS}")
    elif np.isnan(low) and row.test == "perm-inputs":
        notes.append("no interval: fewer than two questions have a coefficient")
    elif np.isnan(low):
        notes.append("a coefficient is undefined without one of the systems")
    elif low == high:
        low = high = nan
        notes.append(
            f"no interval: no {'system' if row.test == 'perm-systems' else 'question'} tells the metrics apart"
        )
    low, high, p_value = (None if np.isnan(number) else number for number in (low, high, p_value))
    return replace(row, low=low, high=high, p=p_value, reason="; ".join(notes) or None)


def _explain(row: Comparison) -> str:
    least = find_coefficient(row.coefficient).min_rows
    if row.n < least:
        what = "systems" if row.level == "system" else "answers with a rating and both scores"
        return f"{row.n} {what} are fewer than {least}"
    where = {"within-system": "in every system, ", "within-question": "in every question, "}.get(row.level, "")
    return f"{where}the ratings or one metric's scores are constant, or there are fewer than {least} answers"


def _test_in_closed_form(
    rated: Rated,
    pair: tuple[str, str],
    dimension: str,
    coefficient: CoefficientName,
    level: Level,
    test: Literal["williams", "steiger"],
    confidence: float,
) -> Comparison:
    spearman = coefficient == "spearman"
    if not spearman and coefficient != "pearson":
        raise UsageError(
            f"{test} is a test of spearman or pearson, not of {coefficient}. perm-inputs is of all of them."
        )
    row = Comparison(*pair, level, dimension, coefficient, interval="zou", test=test)
    columns = np.column_stack([rated.ratings_of(dimension), *(rated.scores_of(name) for name in pair)])
    there = ~np.isnan(columns).any(axis=1)
    systems = np.unique(np.asarray(rated.systems)[there], return_inverse=True)[1]
    n, groups = int(there.sum()), int(systems.max(initial=-1)) + 1
    row = replace(row, n=groups if level == "system" else n, questions=len(np.unique(rated.questions[there])))
    if level == "within-question" or (level == "within-system" and groups > 1):
        return replace(row, reason=f"{test} is a test of one coefficient, not of a mean of several: use perm-inputs")
    columns = columns[there]
    if level == "system" and groups:
        means = np.stack([columns[systems == system].mean(axis=0) for system in range(groups)])
        columns = merge_ties(means.T, np.abs(columns).max(axis=0)[:, None]).T
    elif row.questions < n:
        return replace(
            row,
            reason=f"{test} assumes independent answers, but {n} share {row.questions} questions: use perm-inputs",
        )
    if len(columns) < closed_form.MIN_ANSWERS:
        what = "systems" if level == "system" else "answers with a rating and both scores"
        return replace(row, reason=f"{len(columns)} {what} are fewer than {closed_form.MIN_ANSWERS}")
    target, first, second = columns.T
    r12, r13, r23 = (
        find_coefficient(coefficient).with_influences(a, b).value
        for a, b in ((first, target), (second, target), (first, second))
    )
    if np.isnan([r12, r13, r23]).any():
        return replace(row, reason="the ratings or one metric's scores are constant")
    row = replace(row, first_value=r12, second_value=r13, difference=r12 - r13)
    try:
        compute = closed_form.williams_test if test == "williams" else closed_form.steiger_test
        found = compute(r12, r13, r23=r23, n=len(columns), spearman=spearman)
        low, high = closed_form.zou_interval(
            r12, r13, r23=r23, n=len(columns), spearman=spearman, confidence=confidence
        )
    except ValueError as error:
        return replace(row, reason=str(error))
    return replace(row, low=low, high=high, p=found.p)


def write_sentence(row: Comparison, *, several: bool, margin: float | None = None) -> str:
    """Return a sentence on what a comparison found; with `several` dimensions it names the row's."""
    over = "" if not several else "Over all dimensions, " if row.dimension == ALL else f"On {row.dimension}, "
    if row.p_adjusted is None or row.first_value is None or row.second_value is None or row.difference is None:
        return f"{over}{row.first} and {row.second} were not compared: {row.reason}."
    first, second = format_number(row.first_value), format_number(row.second_value)
    n = f"n = {row.n}" + (" systems" if row.level == "system" else "")
    p = f"{format_p(row.p_adjusted)} after Holm"
    if row.unsettled:
        p += f", which another seed may put across {format_number(SIGNIFICANCE_LEVEL)}"
    if row.p_adjusted >= SIGNIFICANCE_LEVEL or row.difference == 0:
        at = f"{over}at" if over else "At"
        said = f"{at} {n}, {first} ({row.first}) and {second} ({row.second}) cannot be told apart ({p})."
        return said + ("" if margin is None else _write_margin(row, margin))
    better, worse, interval = f"{row.first} ({first})", f"{row.second} ({second})", "no interval"
    if row.difference < 0:
        better, worse = worse, better
    if row.low is not None and row.high is not None:
        ends = (row.low, row.high) if row.difference > 0 else (-row.high, -row.low)
        interval = "95% interval " + format_interval(*ends, between=" to ")
    return (
        f"{over}{better} agrees better with the raters than {worse}: "
        f"difference {format_number(abs(row.difference))}, {interval}, {p}, {n}."
    ) + (
        f" The difference is within the margin of {format_number(margin)}."
        if margin is not None and row.first_as_good and row.second_as_good
        else ""
    )


def _write_margin(row: Comparison, margin: float) -> str:
    within = f"within {format_number(margin)}"
    if row.first_as_good is None or row.second_as_good is None:
        return f" Whether they agree equally well {within} is not known: there is no interval."
    if row.first_as_good and row.second_as_good:
        return f" They agree equally well {within}."
    if row.first_as_good or row.second_as_good:
        one, other = (row.first, row.second) if row.first_as_good else (row.second, row.first)
        return f" {one} agrees at least as well as {other} {within}."
    return f" It is not shown that either agrees as well as the other {within}."
