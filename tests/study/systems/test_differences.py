"""Differences and p-values against scipy's bootstrap and permutation test."""

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.arrays import Floats
from imapeval.study.comparison.holm import holm_adjust
from imapeval.study.systems.differences import Difference, compare_systems
from tests.study.answers import make_answers


def compare_two(first: Floats, second: Floats, **options: float) -> Difference:
    (row,) = compare_systems(make_answers(first, second), **options)  # pyright: ignore[reportArgumentType]
    return row


def mean_difference(first: Floats, second: Floats, axis: int) -> Floats:
    return np.mean(first, axis=axis) - np.mean(second, axis=axis)


@pytest.mark.parametrize("n", [6, 60])
def test_paired_differences_are_scipys(n: int):
    generator = np.random.default_rng(n)
    first = generator.uniform(size=n).round(2)
    second = np.clip(first - 0.05 + generator.normal(size=n) * 0.1, 0, 1).round(2)
    second[::5] = first[::5]  # Ties.
    row = compare_two(first, second, resamples=20_000)
    tested = stats.permutation_test(
        (first, second), mean_difference, permutation_type="samples", vectorized=True, n_resamples=20_000, rng=1
    )
    drawn = stats.bootstrap(
        (first, second), mean_difference, paired=True, vectorized=True, n_resamples=20_000, method="percentile", rng=1
    )
    assert row.paired
    assert row.difference == pytest.approx(first.mean() - second.mean())
    assert row.p == pytest.approx(tested.pvalue, abs=1e-12 if n == 6 else 0.01)
    if n == 60:  # Widened by 2%; intervals of six questions by more than a third.
        assert (row.low, row.high) == pytest.approx(drawn.confidence_interval, abs=0.003)
    else:
        assert (row.low or 0) < drawn.confidence_interval.low
        assert (row.high or 0) > drawn.confidence_interval.high
    assert (row.wins, row.ties, row.losses) == ((first > second).sum(), (first == second).sum(), (first < second).sum())


def test_unpaired_differences_are_scipys():
    generator = np.random.default_rng(3)
    first, second = generator.uniform(size=40), generator.uniform(size=55) + 0.15
    row = compare_two(
        np.concatenate([first, np.full(55, np.nan)]), np.concatenate([np.full(40, np.nan), second]), resamples=20_000
    )
    tested = stats.permutation_test(
        (first, second), mean_difference, permutation_type="independent", vectorized=True, n_resamples=20_000, rng=1
    )
    drawn = stats.bootstrap(
        (first, second), mean_difference, vectorized=True, n_resamples=20_000, method="percentile", rng=1
    )
    assert not row.paired
    assert row.questions == 95
    assert row.p == pytest.approx(tested.pvalue, abs=0.01)
    assert (row.low, row.high) == pytest.approx(drawn.confidence_interval, abs=0.006)
    assert "not the same for both" in row.sentence


def test_what_only_one_system_has_a_score_for_is_left_out():
    row = compare_two(np.array([1, 0, 1, np.nan, np.nan]), np.array([0, 0, np.nan, 1, np.nan]))
    assert (row.questions, row.left_out) == (2, 2)
    assert row.difference == 0.5


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [([1.0], [0.0], "one question"), ([1.0, np.nan], [np.nan, 0.0], "one question"), ([1.0], [np.nan], "B")],
)
def test_too_few_questions_have_no_interval_and_a_reason(first: list[float], second: list[float], place: str):
    row = compare_two(np.array(first), np.array(second))
    assert (row.low, row.high, row.p, row.p_adjusted, row.better) == (None,) * 5
    assert place in str(row.reason)
    assert "were not compared" in row.sentence


def test_equal_systems_differ_by_nothing():
    row = compare_two(np.array([0.1, 0.7, 0.4]), np.array([0.1, 0.7, 0.4]), margin=0.01)
    assert (row.difference, row.low, row.high, row.p) == (0, 0, 0, 1)
    assert (row.better, row.equivalent, row.ties) == (None, None, 3)


def test_low_scores_may_be_good():
    first, second = np.linspace(0, 1, 30), np.linspace(0, 1, 30) + 0.1
    (row,) = compare_systems(make_answers(first, second, lower_is_better=frozenset({"m"})))
    assert row.difference == pytest.approx(-0.1)
    assert (row.wins, row.losses, row.better) == (30, 0, "A")


def test_holm_is_over_the_pairs_and_over_the_groups_of_a_column():
    generator = np.random.default_rng(1)
    scores = [generator.normal(size=40) * 0.2 + shift for shift in (0, 0.1, 0.2)]
    rows = compare_systems(make_answers(*scores, groups={"task": ("t", "u") * 60}))
    assert [(row.first, row.second) for row in rows[:3]] == [("A", "B"), ("A", "C"), ("B", "C")]
    for family in (rows[:3], rows[3:]):
        assert [row.p_adjusted for row in family] == holm_adjust([row.p for row in family])
    assert [(row.column, row.group) for row in rows[3:]] == [("task", "t")] * 3 + [("task", "u")] * 3
    assert [row.questions for row in rows] == [40] * 3 + [20] * 6


def test_against_one_system_and_what_is_no_system():
    scores = make_answers([0.1, 0.3], [0.2, 0.4], [0.5, 0.6])
    assert [(row.first, row.second) for row in compare_systems(scores, against="B")] == [("A", "B"), ("C", "B")]
    with pytest.raises(UsageError, match="'D'"):
        compare_systems(scores, against="D")
    with pytest.raises(UsageError, match="-1"):
        compare_systems(scores, margin=-1)


def test_equivalence_is_two_one_sided_tests():
    generator = np.random.default_rng(5)
    first = generator.normal(size=200)
    second = first + generator.normal(size=200) * 0.1
    row = compare_two(first, second, resamples=20_000)
    # The 90% interval of the paired t-test, by scipy, is what the bootstrap approximates at n = 200.
    ends = stats.ttest_rel(first, second).confidence_interval(0.9)
    reach = float(max(abs(ends.low), abs(ends.high)))
    assert compare_two(first, second, margin=reach * 1.05, resamples=20_000).equivalent is True
    assert compare_two(first, second, margin=reach * 0.95, resamples=20_000).equivalent is False
    assert row.equivalent is None


@pytest.mark.parametrize("apart", [0.1, 1.0])
def test_questions_of_several_sizes_are_resampled_with_their_sizes(apart: float):
    generator = np.random.default_rng(8)
    sizes = generator.choice([1.0, 9.0], size=60)
    first, second = generator.uniform(size=60), generator.uniform(size=60) - apart
    (row,) = compare_systems(make_answers(first, second, sizes=sizes), resamples=20_000)

    def average(numbers: Floats, weights: Floats, axis: int) -> Floats:
        return (numbers * weights).sum(axis=axis) / weights.sum(axis=axis)

    moves = first - second
    drawn = stats.bootstrap(
        (moves, sizes), average, paired=True, vectorized=True, n_resamples=20_000, method="percentile", rng=1
    )
    tested = stats.permutation_test((moves * sizes,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    assert row.difference == pytest.approx(np.average(moves, weights=sizes))
    assert (row.low, row.high) == pytest.approx(drawn.confidence_interval, abs=0.006)
    assert row.p == pytest.approx(tested.pvalue, abs=0.02)


def test_the_difference_of_right_and_wrong_is_no_more_than_1():
    answers = make_answers([1.0] * 20, [0.0] * 20, sizes=np.tile([1.0, 9.0], 10))
    (row,) = compare_systems(answers, margin=2.0)
    assert (row.low, row.high) == pytest.approx((1, 1))
    # All questions differ by the same: nothing is known of how far others would.
    assert row.equivalent is None
