from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.correlation.base import InfluencedCoefficient
from imapeval.study.correlation.product_moment import Spearman
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from imapeval.study.robustness import rating_sensitivity
from imapeval.study.robustness.rating_sensitivity import find_fragility, require_correlations, shift_ratings
from tests.study.answers import make_rated


def rate(n: int = 120, *, raters: int = 3, seed: int = 2) -> Rated:
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, n)
    by_rater = truth[:, None] + rng.normal(0, 0.5, (n, raters))
    scores = np.stack([truth + rng.normal(0, 1.0, n), truth + rng.normal(0, 1.5, n)], axis=1)
    return make_rated(
        scores,
        systems=("s",) * (n // 2) + ("t",) * (n - n // 2),
        metrics=("good", "fair"),
        raters=tuple(f"r{number}" for number in range(raters)),
        by_rater={"accuracy": by_rater},
    )


def within(rated: Rated, scores: np.ndarray, ratings: np.ndarray) -> float:
    systems = np.array(rated.systems)
    return float(np.mean([stats.spearmanr(scores[systems == s], ratings[systems == s]).statistic for s in "st"]))


def test_noise_and_raters():
    rated = rate()
    shifts = shift_ratings(rated, "good", "accuracy", seed=3)
    assert [shift.change for shift in shifts] == [
        *("noise of 0.25 points", "noise of 0.5 points", "noise of 1 points"),
        *("without rater r0", "without rater r1", "without rater r2"),
    ]
    assert shifts[0].before == pytest.approx(within(rated, rated.scores[:, 0], rated.ratings[:, 0]), abs=1e-12)
    noisy = [shift.after for shift in shifts[:3]]
    assert shifts[0].before > noisy[0] > noisy[1] > noisy[2]
    others = rated.by_rater["accuracy"][:, 1:].mean(axis=1)
    assert shifts[3].after == pytest.approx(within(rated, rated.scores[:, 0], others), abs=1e-12)
    assert shift_ratings(rated, "good", "accuracy", seed=3) == shifts
    assert shift_ratings(rated, "good", "accuracy", seed=4) != shifts


def test_noise_keeps_to_the_scale():
    rated = rate()
    ends = np.where(np.round(rated.ratings) > 3, 5.0, 1.0)
    free = replace(rated, ratings=ends, raters=(), by_rater={})
    on_scale = replace(free, scales={"accuracy": RatingScale(1, 5, 1)})
    # Of noise on a rating at an end half is cut off, so that half of these stay tied: the correlation suffers less.
    cut, uncut = (shift_ratings(one, "good", "accuracy")[2].after for one in (on_scale, free))
    assert cut > uncut + 0.01


def test_a_system_without_a_correlation_has_none_with_noise():
    rated = rate()
    alone = rated.take(np.arange(60))
    rated.ratings[60:] = rated.by_rater["accuracy"][60:] = 5.0
    for shift, expected in zip(
        shift_ratings(rated, "good", "accuracy"), shift_ratings(alone, "good", "accuracy"), strict=True
    ):
        assert shift == expected


def test_metrics_are_compared_over_the_same_systems():
    rated = rate()
    alone = find_fragility(rated.take(np.arange(60)), "good", "fair", "accuracy")
    # In the second system one metric is constant, and the other one is the worst possible.
    rated.scores[60:, 0] = -rated.ratings[60:, 0]
    rated.scores[60:, 1] = 0.0
    assert find_fragility(rated, "good", "fair", "accuracy") == alone
    rated.scores[:60, 0] = 0.0
    with pytest.raises(UsageError):
        find_fragility(rated, "good", "fair", "accuracy")


def test_how_many_answers_turn_the_order():
    rated = rate()
    found = find_fragility(rated, "fair", "good", "accuracy")
    assert (found.first, found.second, found.n) == ("good", "fair", 120)
    assert found.removed == len(found.ids) > 0
    left = np.array([id_ not in found.ids for id_ in rated.ids])
    rest = rated.take(np.flatnonzero(left))
    good, fair = (within(rest, rest.scores[:, column], rest.ratings[:, 0]) for column in (0, 1))
    assert good <= fair
    # One answer fewer does not turn it.
    rest = rated.take([row for row, id_ in enumerate(rated.ids) if id_ not in found.ids[:-1]])
    good, fair = (within(rest, rest.scores[:, column], rest.ratings[:, 0]) for column in (0, 1))
    assert good > fair
    assert found.sentence.startswith(f"{found.removed} of 120 answers")


def test_an_order_that_stays():
    rated = rate()
    rated.scores[:, 0] = rated.ratings[:, 0]
    rated.scores[:, 1] = -rated.ratings[:, 0]
    found = find_fragility(rated, "good", "fair", "accuracy")
    assert (found.removed, found.ids) == (None, ())
    assert "stays ahead" in found.sentence


def test_nothing_to_vary():
    rated = rate()
    require_correlations(rated)
    rated.scores[:, 0] = np.repeat([1.0, 2.0], 60)  # Differs between the two systems only.
    for call in (
        lambda: require_correlations(rated),
        lambda: shift_ratings(rated, "good", "accuracy"),
        lambda: find_fragility(rated, "fair", "good", "accuracy"),
    ):
        with pytest.raises(UsageError, match="good has no correlation with accuracy in any of 2 systems"):
            call()
    rated.scores[:, 0] = np.nan
    with pytest.raises(UsageError, match="good"):
        require_correlations(rated)
    rated.scores[:, 0] = rated.scores[:, 1]
    with pytest.raises(UsageError, match="equally"):
        find_fragility(rated, "good", "fair", "accuracy")


def test_answers_are_taken_away_until_the_order_turns():
    turned = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 40))
        truth = rng.normal(size=n)
        # Few are rated high: taking these away leaves ratings without a correlation, which is no turned order.
        ratings = np.round(truth) if seed % 2 else (truth > 1.0).astype(float)
        rated = make_rated(truth[:, None] + 1.5 * rng.normal(size=(n, 2)), ratings, metrics=("a", "b"))
        try:
            found = find_fragility(rated, "a", "b", "accuracy")
        except UsageError:  # Constant ratings, or equal correlations.
            continue
        if found.removed is None:
            assert found.ids == ()
            continue
        turned += 1
        left = np.array([id_ not in found.ids for id_ in rated.ids])
        first, second = (
            stats.spearmanr(rated.scores_of(name)[left], ratings[left]).statistic
            for name in (found.first, found.second)
        )
        assert first <= second + 1e-12
    assert turned > 30


@pytest.mark.parametrize(("n", "draws"), [(50, 200), (100, 200), (200, 100), (1_000, 20), (4_000, 20)])
def test_draws_of_the_noise_are_bounded(monkeypatch: pytest.MonkeyPatch, n: int, draws: int):
    """Each draw is a ranking of n answers: 200 up to 10,000 answers, then about 2,000,000 ratings, then 20 draws; here
    all at a hundredth."""
    assert rating_sensitivity._DRAWN == 10_000 * rating_sensitivity.REPEATS
    monkeypatch.setattr(rating_sensitivity, "_DRAWN", 20_000)
    sizes: list[int] = []

    def count(scores: np.ndarray, ratings: np.ndarray, systems: np.ndarray) -> InfluencedCoefficient:
        sizes.append(len(scores))
        return InfluencedCoefficient(0.5, scores)

    def count_each(scores: np.ndarray, ratings: np.ndarray, systems: np.ndarray) -> list[float]:
        sizes.extend([len(scores)] * len(ratings))
        return [0.5] * len(ratings)

    monkeypatch.setattr(rating_sensitivity, "_correlate", count)
    monkeypatch.setattr(rating_sensitivity, "_correlate_each", count_each)
    shift_ratings(rate(n), "good", "accuracy")
    # One as it is, three amounts of noise, and three raters.
    assert sizes == [n] * (1 + 3 * draws + 3)


def test_work_grows_with_the_answers_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    compute, compute_each = Spearman.with_influences, Spearman.in_groups

    def count(self: Spearman, x: np.ndarray, y: np.ndarray, *, epsilon: float = 0.0) -> InfluencedCoefficient:
        sizes.append(len(x))
        return compute(self, x, y, epsilon=epsilon)

    def count_each(self: Spearman, x: np.ndarray, y: np.ndarray, *, epsilon: float = 0.0) -> np.ndarray:
        sizes.extend([x.shape[1]] * len(x))
        return compute_each(self, x, y, epsilon=epsilon)

    monkeypatch.setattr(Spearman, "with_influences", count)
    monkeypatch.setattr(Spearman, "in_groups", count_each)
    monkeypatch.setattr(rating_sensitivity, "_DRAWN", 200_000)
    ranked: dict[int, tuple[int, int]] = {}
    for n in (2_000, 8_000):
        rated = rate(n)
        sizes.clear()
        find_fragility(rated, "good", "fair", "accuracy")
        of_order = sum(sizes)
        sizes.clear()
        shift_ratings(rated, "good", "accuracy")
        ranked[n] = of_order, sum(sizes)
    # Two rankings of n answers for each number of answers that is tried, of which there are about 2 log2(n).
    assert ranked[8_000][0] < 2 * 8_000 * 2 * 13
    assert ranked[8_000][0] < 6 * ranked[2_000][0]
    # Fewer draws of the noise.
    assert ranked[8_000][1] < 2 * ranked[2_000][1]
