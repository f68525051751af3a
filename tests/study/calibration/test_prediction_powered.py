import json
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from imapeval.study.calibration.prediction_powered import (
    SystemDifference,
    SystemMean,
    estimate_mean,
    estimate_shares,
    estimate_systems,
)
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals.coverage import NEARLY_EQUAL
from tests.study.answers import make_rated

EXPECTED = json.loads((Path(__file__).parents[1] / "expected" / "ppi.json").read_text(encoding="utf-8"))
RATINGS, SCORES, UNRATED = (np.array(EXPECTED[name]) for name in ("ratings", "scores", "unrated"))


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_against_ppi_python(weight: float):
    value, low, high = EXPECTED[f"lam{weight:g}"]
    mean = estimate_mean(RATINGS, SCORES, UNRATED, weight=weight)
    assert mean.value == pytest.approx(value, abs=1e-12)
    # They divide by n where we divide by n - 1, and take the normal quantile.
    theirs = ((high - low) / 2 / NormalDist().inv_cdf(0.975)) ** 2
    ours = float((mean.influence**2).sum())
    assert 200 / 199 - 1e-9 <= ours / theirs <= 40 / 39 + 1e-9
    assert mean.high - mean.value == pytest.approx(stats.t.ppf(0.975, 39) * ours**0.5, abs=1e-12)


def test_the_best_weight_is_that_of_ppi_python():
    weight, value = EXPECTED["tuned"]
    assert 0 < weight < 1
    mean = estimate_mean(RATINGS, SCORES, UNRATED)
    # Their variance of the scores is a mean of the halves', ours is that of all scores together.
    assert mean.weight == pytest.approx(weight, rel=0.15)
    assert mean.value == pytest.approx(value, abs=0.02)
    assert mean.high - mean.low < 0.9 * (EXPECTED["lam0"][2] - EXPECTED["lam0"][1])


def test_the_weight_takes_the_scale_of_the_score():
    mean, scaled = estimate_mean(RATINGS, SCORES, UNRATED), estimate_mean(RATINGS, -SCORES / 100, -UNRATED / 100)
    assert (scaled.value, scaled.low) == (pytest.approx(mean.value), pytest.approx(mean.low))
    assert scaled.weight == pytest.approx(-100 * mean.weight)


def test_without_ratings_alone_it_is_the_t_interval():
    mean = estimate_mean(RATINGS, SCORES, np.array([]))
    low, high = stats.t.interval(0.95, 39, RATINGS.mean(), stats.sem(RATINGS))
    assert (mean.low, mean.high) == (pytest.approx(low), pytest.approx(high))
    constant = estimate_mean(RATINGS, np.ones(40), np.ones(10))
    assert (constant.weight, constant.low) == (0.0, pytest.approx(low))


def test_answers_to_one_question_count_together():
    # Every answer twice: nothing is learnt from the copies.
    mean = estimate_mean(RATINGS, SCORES, UNRATED, weight=0.7)
    twice = estimate_mean(
        np.repeat(RATINGS, 2),
        np.repeat(SCORES, 2),
        np.repeat(UNRATED, 2),
        weight=0.7,
        questions=np.repeat(np.arange(40), 2),
        unrated_questions=np.repeat(40 + np.arange(200), 2),
    )
    assert (twice.low, twice.high) == (pytest.approx(mean.low), pytest.approx(mean.high))


def test_the_variance_of_the_ratings_is_the_jackknifes_with_the_weight_chosen_anew():
    mean = estimate_mean(RATINGS, SCORES, UNRATED)
    without = [estimate_mean(np.delete(RATINGS, row), np.delete(SCORES, row), UNRATED).value for row in range(40)]
    jackknife = 39 / 40 * np.sum((np.array(without) - np.mean(without)) ** 2)
    scores = mean.weight**2 * UNRATED.var(ddof=1) / len(UNRATED)
    assert float((mean.influence**2).sum()) == pytest.approx(jackknife + scores)


def test_too_few_and_unequal():
    with pytest.raises(ValueError, match="4"):
        estimate_mean(RATINGS[:4], SCORES[:4], UNRATED)
    with pytest.raises(ValueError, match="as many rows"):
        estimate_mean(RATINGS, SCORES[:4], UNRATED)


def rate(seed: int, *, n: int = 200, share: float = 0.3) -> Rated:
    """Two systems that answer the same questions, b half a point better; b's metric is blind to that."""
    rng = np.random.default_rng(seed)
    question = rng.normal(0, 0.7, n)
    truth = np.concatenate([2.5 + question, 3.0 + question]) + rng.normal(0, 0.4, 2 * n)
    scores = 0.2 * (truth - np.repeat([0.0, 0.5], n)) + rng.normal(0, 0.05, 2 * n)
    ratings = np.where(np.tile(rng.random(n) < share, 2), truth, np.nan)
    return make_rated(scores, ratings, questions=np.tile(np.arange(n), 2), systems=("a",) * n + ("b",) * n)


def test_systems_and_their_difference():
    rows, (difference,) = estimate_systems(rate(1), "m", "accuracy")
    assert [row.system for row in rows] == ["a", "b"]
    for row in rows:
        assert row.rated + row.unrated == 200
        assert row.low < row.value < row.high
        assert row.high - row.low < row.plain_high - row.plain_low
        assert row.worth > 1.5 * row.rated
        assert row.note is None
    # The questions are the same, so the difference is narrower than two separate means allow.
    assert difference.value == pytest.approx(rows[0].value - rows[1].value)
    assert difference.low < -0.5 < difference.high
    separate = ((rows[0].high - rows[0].low) ** 2 + (rows[1].high - rows[1].low) ** 2) ** 0.5
    assert difference.high - difference.low < 0.8 * separate


def test_a_system_with_too_few_ratings_and_a_picked_sample_are_named():
    rated = rate(2)
    ratings = rated.ratings.copy()
    ratings[200:] = np.nan
    best = np.argsort(-rated.scores[:200, 0])[:60]
    ratings[:200] = np.nan
    ratings[best] = 4.0 + rated.scores[best]
    rows, differences = estimate_systems(replace(rated, ratings=ratings), "m", "accuracy")
    assert "not a random sample" in rows[0].note
    assert rows[1].value is None
    assert rows[1].note == "0 rated questions with a score are fewer than 5"
    assert differences == []


@pytest.mark.parametrize(
    ("rated_score", "unrated_score", "told"),
    # The means of 30 and of 10 scores of .1 differ by rounding; those of .25 and .75 are exact.
    [(0.1, 0.1, False), (0.25, 0.75, True)],
)
def test_constant_scores_of_rated_and_unrated_answers(rated_score: float, unrated_score: float, told: bool):
    ratings = np.concatenate([np.linspace(1, 5, 30), np.full(10, np.nan)])
    rows, _ = estimate_systems(make_rated(np.repeat([rated_score, unrated_score], [30, 10]), ratings), "m", "accuracy")
    assert ("not a random sample" in (rows[0].note or "")) == told


def test_all_rated():
    rows, _ = estimate_systems(rate(3, share=1.1), "m", "accuracy")
    assert (rows[0].weight, rows[0].worth) == (0.0, pytest.approx(200))
    assert rows[0].note == "all answers with a score are rated: the scores add nothing"


def test_what_is_left_out_and_scores_of_which_low_is_good_are_named_as_they_are():
    rated = rate(4)
    scores = -rated.scores - 10
    best = np.argsort(scores[:200, 0])[:60]
    ratings = np.full((400, 1), np.nan)
    ratings[best, 0] = np.linspace(3, 4, 60)
    scores[best[:3]] = np.nan
    turned = replace(rated, scores=scores, ratings=ratings, lower_is_better=frozenset({"m"}))
    note = estimate_systems(turned, "m", "accuracy")[0][0].note
    assert f"(mean {scores[best[3:], 0].mean():.3f})" in note
    assert note.endswith("; 3 rated answers without a score by m are left out")


def few(given: list[float], *, scale: RatingScale | None = None) -> tuple[list[SystemMean], list[SystemDifference]]:
    """Two systems, of which so many answers are rated, and 200 are not."""
    generator = np.random.default_rng(5)
    n = len(given) + 200
    ratings = np.tile([*given, *[np.nan] * 200], 2)
    scores = np.nan_to_num(ratings, nan=2.6) + generator.normal(scale=0.2, size=2 * n)
    rated = make_rated(
        scores,
        ratings,
        systems=("a",) * n + ("b",) * n,
        dimensions=("d",),
        scales={} if scale is None else {"d": scale},
    )
    return estimate_systems(rated, "m", "d")


def test_of_nearly_constant_ratings_nothing_is_estimated():
    # The one rating of 3 decides on weight and variance: 2.51, 2.45 to 2.56, "worth 127 ratings" of 5.
    rows, differences = few([3.0, 2.5, 2.5, 2.5, 2.5])
    assert [row.value for row in rows] == [None, None]
    assert "1 of 5 rated questions" in rows[0].note
    assert differences == []
    rows, _ = few([3.0, 2.5, 2.0, 3.5, 2.5])
    assert rows[0].value is not None
    # The unrated answers cannot be worth more than they would be with ratings.
    assert (rows[0].worth or 0) <= 205


@pytest.mark.parametrize(("different", "of", "told"), [(3, 10, True), (9, 20, True), (9, 18, False), (10, 50, False)])
def test_few_ratings_that_differ_are_told_with_what_is_known_of_the_interval(different: int, of: int, told: bool):
    for row in few([3.0] * different + [2.5] * (of - different))[0]:
        assert row.value is not None
        assert (f"{different} of {of} rated questions" in (row.note or "")) == told
        assert (NEARLY_EQUAL in (row.note or "")) == told


def test_no_interval_leaves_the_scale():
    rows, differences = few([5.0, 5.0, 5.0, 0.0, 0.0, 1.0], scale=RatingScale(0, 5, 1))
    for row in rows:
        assert 0 <= (row.plain_low or 0) <= (row.low or 0) <= (row.high or 0) <= 5
        assert (row.plain_high or 9) <= 5
    assert -5 <= differences[0].low <= differences[0].high <= 5


def test_shares_of_which_few_differ_say_how_many_are_right():
    # Ten ratings, all different, of which nine are 4 or better.
    study = make_rated(np.arange(20.0), np.array([3.0, *np.linspace(4, 5, 9), *[np.nan] * 10]), dimensions=("d",))
    (row,), _ = estimate_shares(study, "m", "d", right_from=4)
    assert (row.note or "").startswith("9 of 10 rated questions are right, so that fewer than 3 differ")


def test_the_share_of_right_answers_is_the_mean_of_an_indicator():
    # Of 600 answers 40 are rated, by a metric that is hardly better than chance: the true share is .39.
    generator = np.random.default_rng(5)
    truth = generator.permutation(np.where(np.arange(600) < 234, 4.0, 2.0))
    study = make_rated(
        truth + 6 * generator.normal(size=600), np.where(np.arange(600) < 40, truth, np.nan), dimensions=("d",)
    )
    (row,), _ = estimate_shares(study, "m", "d", right_from=3)
    helped = estimate_mean((truth[:40] >= 3).astype(np.float64), study.scores[:40, 0], study.scores[40:, 0])
    assert (row.value, row.low, row.high) == pytest.approx((helped.value, helped.low, helped.high))
    assert row.plain == pytest.approx((truth[:40] >= 3).mean())
    assert row.low < 0.39 < row.high
    assert row.high - row.low < 0.35
