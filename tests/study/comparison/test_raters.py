"""Raters as metrics, and the alternative annotator test against its authors' program."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.comparison.raters import (
    compare_with_each_rater,
    compare_with_raters,
    count_worth,
    format_worth,
    run_alternative_annotator_test,
)
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated


def make(n: int = 200, *, raters: int = 3) -> Rated:
    generator = np.random.default_rng(0)
    true = generator.normal(size=n) * 1.2 + 2.5
    given = np.clip(np.round((true[:, None] + generator.normal(size=(n, raters)) * 0.8) * 2) / 2, 0, 5)
    return make_rated(
        np.column_stack([true + generator.normal(size=n) * 0.5, generator.normal(size=n)]),
        questions=np.arange(n) // 2,
        systems=tuple("ab"[row % 2] for row in range(n)),
        metrics=("good", "poor"),
        raters=tuple("xyzuvw"[:raters]),
        by_rater={"accuracy": given},
    )


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        # alt_test of github.com/nitaytech/AltTest (commit 13eada2) with neg_rmse on the same numbers, scipy 1.16.
        (0.1, [0.5062750293128959, 0.21177672841259326, 0.08849299793829908, 0.011343623860598251]),
        (0.2, [0.1816594684939347, 0.04117344349614281, 0.0090548524766616, 0.0006741223498105596]),
    ],
)
def test_p_values_are_those_of_the_authors_program(epsilon: float, expected: list[float]):
    generator = np.random.default_rng(7)
    true = generator.normal(size=80) * 1.2 + 2.5
    ratings = np.clip(np.round((true[:, None] + generator.normal(size=(80, 4)) * [0.6, 0.8, 1.0, 1.2]) * 2) / 2, 0, 5)
    ratings[generator.random((80, 4)) < 0.2] = np.nan
    predicted = np.clip(np.round((true + generator.normal(size=80) * 0.8) * 2) / 2, 0, 5)
    p_values, advantages = compare_with_each_rater(predicted, ratings, np.arange(80), raters="abcd", epsilon=epsilon)
    assert list(p_values) == list("abcd")
    assert list(p_values.values()) == pytest.approx(expected, rel=1e-9)
    assert np.mean(list(advantages.values())) == pytest.approx(0.6765606057004303, rel=1e-9)


def test_a_good_metric_passes_and_a_poor_one_does_not():
    good, poor = run_alternative_annotator_test(make())
    assert (good.passed, good.raters, good.reason) == (True, 3, None)
    assert (poor.passed, poor.winning_rate) == (False, 0.0)
    assert (good.advantage or 0) > 0.5 > (poor.advantage or 1)


def test_answers_to_one_question_are_one_observation():
    generator = np.random.default_rng(3)
    ratings, predicted = generator.normal(size=(30, 3)), generator.normal(size=30)
    once, _ = compare_with_each_rater(predicted, ratings, np.arange(30), raters="abc", epsilon=0.1)
    again, _ = compare_with_each_rater(
        np.repeat(predicted, 4), np.repeat(ratings, 4, axis=0), np.repeat(np.arange(30), 4), raters="abc", epsilon=0.1
    )
    assert again == pytest.approx(once)


def test_raters_are_correlated_like_metrics():
    rated = make()
    rows = compare_with_raters(rated, level="global")
    assert [(row.rater, row.metric) for row in rows[:2]] == [("x", "good"), ("x", "poor")]
    table = rated.by_rater["accuracy"]
    others = table[:, 1:].mean(axis=1)
    assert rows[0].rater_value == pytest.approx(stats.spearmanr(table[:, 0], others).statistic)
    assert rows[0].metric_value == pytest.approx(stats.spearmanr(rated.scores[:, 0], others).statistic)
    assert rows[0].n == 200


def test_only_answers_with_everything_count():
    rated = make()
    table, scores = rated.by_rater["accuracy"].copy(), rated.scores.copy()
    table[:10, 0], table[10:20, 1:], scores[20:25, 0] = np.nan, np.nan, np.nan
    rows = compare_with_raters(replace(rated, by_rater={"accuracy": table}, scores=scores), metrics=["good"])
    assert [row.n for row in rows] == [175, 185, 185]


def test_too_few_raters_or_questions_have_a_reason():
    assert "raters" in str(run_alternative_annotator_test(make(raters=2))[0].reason)
    few = run_alternative_annotator_test(make(n=20))[0]
    assert "questions" in str(few.reason)
    assert few.n == 20
    with pytest.raises(UsageError, match="rater"):
        compare_with_raters(replace(make(), by_rater={}, raters=()))
    with pytest.raises(UsageError, match=r"1\.5"):
        run_alternative_annotator_test(make(), epsilon=1.5)


def test_a_metric_against_the_raters_is_worth_none_of_them():
    rated = make()
    good, poor = count_worth(replace(rated, scores=-rated.scores))
    assert [format_worth(end) for end in (good.raters, good.low, good.high)] == ["none"] * 3
    # Independent of quality: the upper end is above 0.
    assert format_worth(poor.low) == "none"
    assert 0 < (poor.high or 0) < 0.1


@pytest.mark.parametrize("agreeing", [True, False])
def test_without_a_number_of_raters_there_is_a_reason(agreeing: bool):
    rated = make()
    one, another, _ = rated.by_rater["accuracy"].T
    given = np.column_stack([one, one, one] if agreeing else [one, 5 - one, 5 - another])
    rows = count_worth(replace(rated, ratings=given.mean(axis=1, keepdims=True), by_rater={"accuracy": given}))
    assert [row.raters for row in rows] == [None, None]
    assert all(row.reason for row in rows)


@pytest.mark.parametrize(
    ("raters", "shown"),
    [(None, None), (0.0, "none"), (2e-5, "< 0.01"), (0.0049, "< 0.01"), (0.54998, "0.55"), (0.997, "0.997"),
     (12.34, "12.3"), (math.inf, "no limit")],
)  # fmt: skip
def test_numbers_of_raters(raters: float | None, shown: str | None):
    assert format_worth(raters) == shown


def test_unequal_numbers_of_raters():
    # As noisy as one rating: worth one rater, however many rated each answer.
    generator = np.random.default_rng(1)
    true = generator.normal(size=400)
    given = true[:, None] + generator.normal(size=(400, 8))
    given[::2, 1:] = np.nan
    rated = replace(
        make(400, raters=6),
        metrics=("m",),
        scores=(true + generator.normal(size=400))[:, None],
        ratings=np.nanmean(given, axis=1, keepdims=True),
        raters=tuple("abcdefgh"),
        by_rater={"accuracy": given},
    )
    (row,) = count_worth(rated)
    assert (row.low or 9) < 1 < (row.high or 0)


def test_a_metric_as_noisy_as_a_rater_is_worth_one():
    # A rating is the quality and noise; so is the metric, with the noise of one, and of the mean of four raters.
    generator = np.random.default_rng(5)
    true = generator.normal(size=20_000)
    given = true[:, None] + generator.normal(size=(20_000, 3))
    scores = true[:, None] + generator.normal(size=(20_000, 2)) * [1.0, 0.5]
    rated = replace(
        make(),
        ids=tuple(map(str, range(20_000))),
        questions=np.arange(20_000),
        systems=("",) * 20_000,
        scores=scores,
        ratings=given.mean(axis=1, keepdims=True),
        by_rater={"accuracy": given},
    )
    one, four = count_worth(rated)
    assert one.raters == pytest.approx(1, abs=0.05)
    assert four.raters == pytest.approx(4, abs=0.25)
    assert (four.low or 0) < 4 < (four.high or 0)
