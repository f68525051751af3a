from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from imapeval.study.systems.answers import SystemAnswers
from imapeval.study.systems.differences import compare_systems
from imapeval.study.systems.ranking import describe_questions, find_metric_disagreements, list_changes, rank_systems
from imapeval.types import Sample
from tests.study.answers import make_answers


@pytest.fixture
def answers() -> SystemAnswers:
    """Three systems and 40 questions: A and B are nearly alike, C is far behind by `up`, ahead by `other`."""
    generator = np.random.default_rng(2)
    common = generator.uniform(size=40)
    up = [common + shift + generator.normal(size=40) * 0.05 for shift in (0, 0.001, -0.3)]
    return make_answers(*(np.column_stack([column, -column]) for column in up), metrics=("up", "other"))


def test_leaderboard_and_letters(answers: SystemAnswers):
    rows = rank_systems(answers, compare_systems(answers))
    up, other = rows[:3], rows[3:]
    assert {row.system: row.groups for row in up} == {"A": "a", "B": "a", "C": "b"}
    assert [row.rank for row in up] == [1, 2, 3]
    assert up[2].system == "C"
    assert other[0].system == "C"
    assert other[0].groups == "a"
    assert {(row.questions, row.resampled) for row in rows} == {(40, 40)}
    # Not all pairs are compared.
    assert {row.groups for row in rank_systems(answers, compare_systems(answers, against="A"))} == {""}


def test_equal_means_share_a_rank_whatever_the_order_of_the_scores(answers: SystemAnswers):
    scores = answers.scores.copy()
    scores[40:80] = scores[np.random.default_rng(2).permutation(40)]
    for scale in (1, 1e6):
        alike = replace(answers, scores=scores * scale)
        assert [row.rank for row in rank_systems(alike, [])] == [1, 1, 3, 1, 2, 2]


def test_two_systems_that_differ_share_no_letter_in_any_number_of_groups(answers: SystemAnswers):
    """Sixty systems, of which each can be told apart from all but its neighbours."""
    names = tuple(f"s{n:02}" for n in range(60))
    scores = np.repeat(np.arange(60.0), 2)[:, None]
    many = replace(
        answers,
        samples=tuple(Sample(f"{s}{q}", f"q{q}", ("r",), "a") for s in names for q in range(2)),
        runs=np.zeros(120, dtype=np.int64),
        systems=names,
        system=np.repeat(np.arange(60), 2),
        questions=np.tile(np.arange(2), 60),
        metrics=("up",),
        scores=scores,
    )
    row = replace(compare_systems(answers)[0], metric="up", p_adjusted=0.0, questions=2)
    pairs = [
        replace(row, first=names[a], second=names[b], better=names[b] if b > a + 1 else None)
        for a, b in combinations(range(60), 2)
    ]
    letters = {int(row.system[1:]): set(row.groups) for row in rank_systems(many, pairs)}
    assert all(bool(letters[a] & letters[b]) == (b == a + 1) for a, b in combinations(range(60), 2))


def test_the_interval_of_a_share_resamples_nothing(answers: SystemAnswers):
    right = replace(answers, scores=(np.abs(answers.scores) > 0.3).astype(float))
    rows = rank_systems(right, compare_systems(right))
    assert {(row.questions, row.resampled, row.low is None) for row in rows} == {(40, 0, False)}


def test_means_are_over_the_questions_that_all_have(answers: SystemAnswers):
    scores = answers.scores.copy()
    scores[[0, 41], 0] = np.nan
    rows = rank_systems(replaced := replace(answers, scores=scores), compare_systems(replaced))
    for row in rows[:3]:
        number = answers.systems.index(row.system)
        assert row.mean == pytest.approx(scores[number * 40 + 2 : number * 40 + 40, 0].mean())
        assert (row.questions, row.shared, row.unscored) == (38, True, int(row.system != "C"))


def test_letters_are_of_the_questions_of_the_means(answers: SystemAnswers):
    """C has 4 scores: means are over these, and A is compared with B on all 40."""
    scores = answers.scores.copy()
    scores[84:] = np.nan
    rows = rank_systems(few := replace(answers, scores=scores), compare_systems(few))
    assert {(row.questions, row.groups) for row in rows} == {(4, "")}
    assert [row.scored for row in rows if row.metric == "up" and row.system != "C"] == [40, 40]
    (said,) = describe_questions(rows)
    assert said.endswith("(up, other).")
    assert describe_questions(rank_systems(answers, compare_systems(answers))) == []


def test_systems_without_a_question_in_common_are_told(answers: SystemAnswers):
    apart = replace(answers, questions=np.arange(120))
    rows = rank_systems(apart, compare_systems(apart))
    assert not any(row.shared for row in rows)
    assert {row.questions for row in rows} == {40}


def test_metrics_that_order_systems_differently(answers: SystemAnswers):
    found = find_metric_disagreements(answers, compare_systems(answers))
    assert [(row.first, row.second) for row in found] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert (list(found[1].for_first), list(found[1].for_second)) == (["up"], ["other"])
    alike = replace(answers, lower_is_better=frozenset({"other"}))
    assert find_metric_disagreements(alike, compare_systems(alike)) == []


def test_changes_begin_with_the_greatest_loss(answers: SystemAnswers):
    rows = list_changes(answers, metric="up", first="A", second="C")
    a, c = answers.scores[:40, 0], answers.scores[80:, 0]
    assert [row.gain for row in rows] == pytest.approx(sorted(a - c))
    worst = int(np.argmin(a - c))
    assert (rows[0].question, rows[0].first_ids, rows[0].second_ids) == (f"q{worst}", (f"A{worst}",), (f"C{worst}",))


def test_right_or_wrong_has_the_interval_of_a_share(answers: SystemAnswers):
    right = np.repeat([[1.0], [0.0], [0.5]], 40, axis=0)
    right[40:50] = 1.0
    whole = replace(answers, metrics=("exact-match",), scores=right)
    all_right, ten_right, half = (
        next(row for row in rank_systems(whole, compare_systems(whole)) if row.system == name) for name in "ABC"
    )
    # scipy 1.16: binomtest(40, 40) and binomtest(10, 40), proportion_ci(method="wilson")
    assert (all_right.low, all_right.high) == pytest.approx((0.9124, 1.0), abs=1e-4)
    assert (ten_right.low, ten_right.high) == pytest.approx((0.1419, 0.4019), abs=1e-4)
    assert (half.low or 0) < 0.4 < 0.6 < (half.high or 0)


@pytest.mark.parametrize("right", [1.0, 0.3])
def test_equal_scores_of_questions_of_several_sizes_have_the_interval_of_a_share(answers: SystemAnswers, right: float):
    weighted = replace(
        answers,
        metrics=("exact-match",),
        scores=np.full((120, 1), right),
        sizes=np.tile([1.0, 9.0], 20),
    )
    alike = replace(weighted, sizes=None)
    one, other = (rank_systems(given, [])[0] for given in (weighted, alike))
    assert one.mean == pytest.approx(right)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))
    assert one.resampled == 0


def test_the_interval_of_shares_of_questions_of_several_sizes_ends_at_1(answers: SystemAnswers):
    scores = np.ones((120, 1))
    scores[[1, 41, 81]] = 0.0
    rows = rank_systems(replace(answers, metrics=("exact-match",), scores=scores, sizes=np.tile([9.0, 1.0], 20)), [])
    for row in rows:
        assert row.mean == pytest.approx(199 / 200)
        assert 0.9 < (row.low or 0) < 199 / 200 < (row.high or 0) <= 1
        assert row.resampled == 40


def test_metrics_do_not_disagree_about_equal_means():
    """.1 + .2 + .3 and .3 + .2 + .1 differ in the last digit."""
    first, second = [[0.1, 0.5], [0.2, 0.6], [0.3, 0.7]], [[0.3, 0.9], [0.2, 0.8], [0.1, 0.95]]
    answers = make_answers(first, second, metrics=("m", "k"))
    assert find_metric_disagreements(answers, compare_systems(answers)) == []
