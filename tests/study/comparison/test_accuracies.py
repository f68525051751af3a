"""Accuracies of metrics compared, against small programs that follow the papers word by word."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import special, stats

from imapeval.errors import UsageError
from imapeval.study.comparison.compare import compare
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import CoefficientName, Comparison, Level
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated

SYSTEMS, QUESTIONS = 5, 24


def make(*weights: float, systems: int = SYSTEMS, seed: int = 3) -> Rated:
    """Return metrics that see the quality of systems' answers so well, and ratings in half steps."""
    generator = np.random.default_rng(seed)
    quality = generator.normal(size=(systems, QUESTIONS)) + 0.25 * np.arange(systems)[:, None]
    ratings = np.round(2 * (quality + 0.5 * generator.normal(size=quality.shape))) / 2
    scores = [weight * quality + generator.normal(size=quality.shape) for weight in weights]
    of_systems, questions = np.divmod(np.arange(quality.size), QUESTIONS)
    return make_rated(
        np.column_stack([table.ravel() for table in scores]), ratings.ravel(), questions=questions, systems=of_systems
    )


def tables(rated: Rated) -> tuple[list[np.ndarray], np.ndarray]:
    shape = -1, QUESTIONS
    return [column.reshape(shape) for column in rated.scores.T], rated.ratings.reshape(shape)


def accuracies_by_question(scores: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """acc_eq of Deutsch et al. 2023, grouped by item, at the threshold that makes its mean the highest."""
    pairs = list(combinations(range(len(scores)), 2))
    apart = np.array([scores[a] - scores[b] for a, b in pairs])
    wanted = np.array([np.sign(ratings[a] - ratings[b]) for a, b in pairs])

    def judge(threshold: float) -> np.ndarray:
        return (np.where(np.abs(apart) <= threshold, 0, np.sign(apart)) == wanted).mean(axis=0)

    # The smallest of equally good thresholds.
    thresholds = [0.0, *np.sort(np.abs(apart).ravel())]
    return max(map(judge, thresholds), key=lambda found: round(found.mean(), 12))


def test_pairwise_accuracy_within_questions():
    rated = make(1.5, 0.5)
    (x, y), ratings = tables(rated)
    first, second = accuracies_by_question(x, ratings), accuracies_by_question(y, ratings)
    expected = stats.permutation_test(
        (first - second,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(1)
    )
    (row,) = compare(rated, coefficient="pairwise_accuracy", level="within-question", resamples=20_000)
    assert (row.first_value, row.second_value) == pytest.approx((first.mean(), second.mean()), abs=1e-12)
    assert row.p == pytest.approx(expected.pvalue, abs=4 * (2 * 0.25 / 20_000) ** 0.5)
    reach = stats.t.ppf(0.975, QUESTIONS - 1) * stats.sem(first - second)
    assert (row.low, row.high) == pytest.approx((row.difference - reach, row.difference + reach), abs=1e-6)


def pairwise(scores: np.ndarray, ratings: np.ndarray) -> float:
    """Kocmi et al. 2021."""
    x, y = scores.mean(axis=1), ratings.mean(axis=1)
    return float(np.mean([np.sign(x[a] - x[b]) == np.sign(y[a] - y[b]) for a, b in combinations(range(len(x)), 2)]))


def normal_ps(table: np.ndarray) -> np.ndarray:
    apart = np.array([table[a] - table[b] for a, b in combinations(range(len(table)), 2)])
    return special.ndtr(-apart.sum(axis=1) / np.sqrt((apart**2).sum(axis=1)))


SIGNS = np.random.default_rng(5).choice([-1.0, 1.0], size=(300, QUESTIONS))


def permuted_ps(table: np.ndarray) -> np.ndarray:
    """Thompson et al. 2024, with the same 300 permutations for all pairs."""
    apart = np.array([table[a] - table[b] for a, b in combinations(range(len(table)), 2)])
    permuted = SIGNS @ apart.T
    return (permuted >= apart.sum(axis=1)).mean(axis=0)


def bootstrap_differences(rated: Rated, statistic, resamples: int) -> np.ndarray:
    """Return the differences on resampled questions."""
    (x, y), ratings = tables(rated)
    generator = np.random.default_rng(2)
    drawn = generator.integers(QUESTIONS, size=(resamples, QUESTIONS))
    return np.array([statistic(x[:, at], ratings[:, at]) - statistic(y[:, at], ratings[:, at]) for at in drawn])


def check_bootstrap(row: Comparison, differences: np.ndarray, *, tolerance: float) -> None:
    equal = (np.abs(differences) < 1e-9).mean()
    beyond = min((differences < -1e-9).mean() + equal / 2, (differences > 1e-9).mean() + equal / 2)
    assert row.test == "boot-inputs"
    assert row.p == pytest.approx(min(1.0, 2 * beyond), abs=tolerance)
    assert (row.low, row.high) == pytest.approx(np.quantile(differences, (0.025, 0.975)), abs=0.04)


def test_pairwise_accuracy_between_systems():
    rated = make(1.0, -0.3, systems=6)
    (row,) = compare(rated, coefficient="pairwise_accuracy", level="system", resamples=4000)
    (x, y), ratings = tables(rated)
    assert (row.first_value, row.second_value) == pytest.approx((pairwise(x, ratings), pairwise(y, ratings)))
    assert row.n == 6
    check_bootstrap(row, bootstrap_differences(rated, pairwise, 1000), tolerance=0.06)


@pytest.mark.parametrize(("p_values", "tolerance"), [(normal_ps, 0.06), (permuted_ps, 0.08)])
@pytest.mark.parametrize("second", [0.3, -0.3])
def test_soft_pairwise_accuracy(p_values, tolerance: float, second: float):
    rated = make(1.0, second, systems=6)

    def soft(scores: np.ndarray, ratings: np.ndarray) -> float:
        return 1 - float(np.abs(p_values(scores) - p_values(ratings)).mean())

    (row,) = compare(rated, coefficient="soft_pairwise_accuracy", level="system", resamples=2000)
    values = [one.value for one in correlate(rated, coefficients=("soft_pairwise_accuracy",), levels=("system",))]
    assert [row.first_value, row.second_value] == pytest.approx(values, abs=1e-12)
    check_bootstrap(row, bootstrap_differences(rated, soft, 1000), tolerance=tolerance)


@pytest.mark.parametrize("level", ["within-question", "system"])
def test_a_constant_metric_has_no_accuracy(level: Level):
    rated = make(1.0, 0.3)
    rated = replace(rated, scores=np.column_stack([rated.scores[:, 0], np.full(len(rated.ids), 0.1)]))
    (row,) = compare(rated, coefficient="pairwise_accuracy", level=level)
    assert (row.p, row.difference) == (None, None)
    if level == "system":
        (row,) = compare(rated, coefficient="soft_pairwise_accuracy", level=level)
        assert (row.p, row.difference) == (None, None)


def test_systems_without_a_common_question():
    rated = make(1.0, 0.2)
    own = replace(rated, questions=np.arange(len(rated.ids)))
    (row,) = compare(own, coefficient="soft_pairwise_accuracy", level="system", resamples=500)
    assert row.p is not None
    assert -1 <= row.difference <= 1


@pytest.mark.parametrize(
    ("coefficient", "level", "test"),
    [
        ("pairwise_accuracy", "global", "perm-inputs"),
        ("soft_pairwise_accuracy", "within-question", "perm-inputs"),
        ("pairwise_accuracy", "system", "perm-systems"),
        ("spearman", "system", "perm-inputs"),
        ("spearman", "global", "boot-inputs"),
    ],
)
def test_what_is_not_compared_so(coefficient: CoefficientName, level: Level, test: str):
    with pytest.raises(UsageError, match=level):
        compare(make(1.0, 0.2), coefficient=coefficient, level=level, test=test)


def test_metrics_that_cannot_be_told_apart_share_a_rank():
    rated = make(3.0, 3.0, 0.0, 0.0)
    rows = compare(rated, coefficient="pairwise_accuracy", level="within-question")
    ranks = {row.first: row.first_rank for row in rows} | {row.second: row.second_rank for row in rows}
    assert ranks == {"m0": 1, "m1": 1, "m2": 2, "m3": 2}
    rows = compare(rated, coefficient="pairwise_accuracy", level="within-question", against="m0")
    assert {(row.first_rank, row.second_rank) for row in rows} == {(None, None)}


@pytest.mark.parametrize("coefficient", ["soft_pairwise_accuracy", "pairwise_accuracy", "pearson"])
def test_equally_good_metrics_of_unequal_noise_are_not_told_apart_too_often(coefficient: CoefficientName):
    # The first metric knows the systems alone. The noise of the second, in standard deviations, makes both as good on
    # average (benchmarks/comparing_accuracies.py). Swapping questions rejects in 40 to 90% of these studies.
    noise = {"soft_pairwise_accuracy": 0.9, "pairwise_accuracy": 0.67, "pearson": 0.78}[coefficient]
    gap, times = {"soft_pairwise_accuracy": 0.35}.get(coefficient, 0.2), 100
    generator, rejected = np.random.default_rng(0), 0
    of_systems, questions = np.divmod(np.arange(3 * 30), 30)
    for seed in range(times):
        quality = gap * of_systems + 0.5 * generator.normal(size=30)[questions] + 0.8 * generator.normal(size=90)
        ratings, noisy = quality + 0.5 * generator.normal(size=90), quality + noise * generator.normal(size=90)
        rated = make_rated(
            np.column_stack([of_systems.astype(float), noisy]),
            ratings,
            questions=questions,
            systems=of_systems,
            metrics=("sure", "noisy"),
        )
        (row,) = compare(rated, coefficient=coefficient, level="system", resamples=199, seed=seed)
        rejected += row.p is not None and row.p <= 0.05
    assert rejected / times <= 0.05 + 2 * (0.05 * 0.95 / times) ** 0.5
