"""Oracles: all swaps that there are, and numbers of the reference implementation, mt_metrics_eval/pce.py of
google-research/mt-metrics-eval (Thompson et al. 2024) at commit 1b47eab408777108168d4568ebc2665cfe5c8686."""

from itertools import combinations, product

import numpy as np
import pytest

from imapeval.study.correlation import soft_pairwise_accuracy
from imapeval.study.correlation.levels import correlate
from imapeval.study.correlation.soft_pairwise_accuracy import (
    approximate_p_values,
    normal_p_values,
    permutation_p_values,
    soft_accuracy,
)
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated

NAN = float("nan")


# Three columns for four systems on 14 questions: the ratings, a metric that resembles them, one that does not.
RATINGS = """
-.432 -1.130 .674 -1.108 2.014 .924 -.359 .571 1.612 2.834 -.923 1.065 .518 -.280
1.392 .807 1.376 -.226 .298 .695 .320 .317 -.468 .426 .488 .239 .285 .996
-.159 1.197 .347 .556 .309 1.399 1.261 .506 .061 2.356 1.039 -.646 .496 .388
1.822 .873 .361 2.438 -.893 -.314 .577 .586 .973 1.089 2.098 -.420 4.084 1.711
"""
CLOSE = """
-1.050 -1.587 .288 -2.893 2.335 .035 -.793 -.306 1.134 2.853 -1.952 2.278 -.502 -.679
1.372 1.304 1.544 -.201 .686 .984 -.464 .771 -1.001 -.509 .395 -.183 .457 1.207
-.667 1.423 .271 -.774 1.516 1.364 1.107 1.156 -1.094 1.771 1.751 -2.214 -.226 1.674
2.262 .049 .365 2.994 -1.563 -.335 .821 .585 2.163 1.148 1.943 -.270 3.750 1.035
"""
OTHER = """
.330 -.078 2.415 2.716 .197 -2.217 .214 1.248 -.046 1.267 1.219 -.035 .343 -.395
-.436 -1.118 -.541 1.468 -.320 1.087 .320 -1.502 -.100 -.463 -1.233 -.473 1.216 1.211
-.220 -.521 .152 .535 1.505 -.386 -.746 .140 -1.791 .059 .614 -1.708 1.079 -.435
.085 .009 .137 .254 -.315 -1.701 1.153 .160 .813 .527 1.497 .261 -.242 2.990
"""
# Of compute_pairwise_p_values(numbers, num_permutations=1_000_000, seed=4), the upper triangle; and of
# compute_one_minus_pce.
REFERENCE_PS = {
    RATINGS: (0.570941, 0.737857, 0.864826, 0.731818, 0.918419, 0.845157),
    CLOSE: (0.818214, 0.822226, 0.928424, 0.557296, 0.884709, 0.821974),
    OTHER: (0.115631, 0.039023, 0.395142, 0.431400, 0.878116, 0.890105),
}
REFERENCE_ACCURACIES = (0.8955575, 0.6650838)


def read_numbers(text: str) -> np.ndarray:
    """Return numbers of shape (systems, questions)."""
    return np.array([[float(number) for number in line.split()] for line in text.split("\n") if line])


def swap_all(first: np.ndarray, second: np.ndarray) -> float:
    """Return the exact mid-p-value of "first is better than second" on paired questions."""
    apart = first - second
    return mid_p([np.dot(signs, apart) for signs in product((-1, 1), repeat=len(apart))], apart.sum())


def mid_p(null: list[float], observed: float) -> float:
    numbers = np.array(null)
    return float(np.mean(numbers > observed + 1e-12) + np.mean(numbers >= observed - 1e-12)) / 2


def deal_all(first: np.ndarray, second: np.ndarray) -> float:
    both = np.concatenate([first, second])
    chosen = [np.isin(np.arange(len(both)), rows) for rows in combinations(range(len(both)), len(first))]
    null = [both[rows].mean() - both[~rows].mean() for rows in chosen]
    return mid_p(null, first.mean() - second.mean())


def spread(p: float) -> float:
    """Four standard errors of a share of 1,000."""
    return 4 * (p * (1 - p) / 1000) ** 0.5 + 0.001


def test_the_reference_s_worked_example():
    """Its docstring: five questions, the first system .6 better in each, so that one swap in 32 is as extreme: the
    observed one itself, which counts half here."""
    first = np.array([0.8, 0.9, 0.7, 1.0, 0.6])[:, None]
    second = np.array([0.2, 0.3, 0.1, 0.4, 0.0])[:, None]
    (p,) = permutation_p_values(first, second, generator=np.random.default_rng(0))
    assert p == pytest.approx(1 / 64, abs=spread(1 / 32))


def test_numbers_of_the_reference(monkeypatch: pytest.MonkeyPatch):
    """Both draw swaps at random, so each p-value has a standard error: .0016 of 100,000 swaps at p = .5, .0005 of
    1,000,000. The tolerance is four standard errors of their difference; an accuracy, 1 minus a mean of |p - q|, may
    differ by those of p and q together. Sums hardly tie (at most 6 of the 16,384 ways to swap are as extreme), so that
    mid-p makes no difference."""
    monkeypatch.setattr(soft_pairwise_accuracy, "PERMUTATIONS", 100_000)
    numbers = np.stack([read_numbers(text) for text in (CLOSE, OTHER, RATINGS)], axis=-1)
    generator = np.random.default_rng(0)
    ours = np.stack([permutation_p_values(*pair, generator=generator) for pair in combinations(numbers, 2)], axis=-1)
    theirs = np.array([REFERENCE_PS[text] for text in (CLOSE, OTHER, RATINGS)])
    tolerance = 4 * np.sqrt(theirs * (1 - theirs) * (1 / 100_000 + 1 / 1_000_000))
    assert tolerance.max() < 0.0067
    assert (np.abs(ours - theirs) < tolerance).all()
    assert soft_accuracy(theirs[:2], theirs[2:])[:, 0] == pytest.approx(REFERENCE_ACCURACIES, abs=1e-6)
    assert soft_accuracy(ours[:2], ours[2:])[:, 0] == pytest.approx(REFERENCE_ACCURACIES, abs=2 * 0.0067)


@pytest.mark.parametrize("seed", range(3))
def test_accuracies_are_the_reference_s(seed: int):
    """With 1,000 swaps four standard errors of a p-value are .063 at most, and of a mean over six pairs .026."""
    ratings, *scores = (read_numbers(text).ravel() for text in (RATINGS, CLOSE, OTHER))
    rated = make_rated(
        np.column_stack(scores),
        ratings,
        questions=np.tile(np.arange(14), 4),
        systems=np.arange(56) // 14,
        metrics=("close", "other"),
    )
    rows = correlate(rated, levels=["system"], coefficients=["soft_pairwise_accuracy"], resamples=20, seed=seed)
    assert [row.value for row in rows] == pytest.approx(REFERENCE_ACCURACIES, abs=2 * 0.026)


def test_tied_systems_are_even():
    tied = np.random.default_rng(0).normal(size=(8, 2))
    for one, other in ((tied, tied), (np.vstack([tied[:4] * NAN, tied[4:]]), np.vstack([tied[4:], tied[4:] * NAN]))):
        p = permutation_p_values(one, other, generator=np.random.default_rng(0))
        assert p == pytest.approx(0.5, abs=0.01 if one is tied else 0.2)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_the_order_of_rows_does_not_matter(order: tuple[int, ...]):
    random = np.random.default_rng(4)
    quality = np.array([0.0, 1.0, 2.0, 3.0])[:, None] + random.normal(size=(4, 30))
    # It ties the two best systems, and the two worst.
    halves = np.repeat([[0.2], [0.2], [0.7], [0.7]], 30, axis=1)
    scores = np.stack([halves, np.full((4, 30), 0.5)], axis=-1)[list(order)].reshape(120, 2)
    questions = np.tile(np.arange(30), 4)
    ratings = quality[list(order)].reshape(120, 1)
    rated = make_rated(scores, ratings, questions=questions, systems=np.repeat(order, 30), metrics=("halves", "same"))
    halved, constant = correlate(rated, levels=["system"], coefficients=["soft_pairwise_accuracy"], resamples=20)
    # Four of six pairs as people see them, two undecided: 1 - 2 * .5 / 6.
    assert halved.value == pytest.approx(5 / 6, abs=0.01)
    assert constant.value is None
    assert "equal" in str(constant.reason)


@pytest.mark.parametrize("seed", range(5))
def test_p_values_are_those_of_all_permutations(seed: int):
    random = np.random.default_rng(seed)
    first, second = random.normal(0.3, size=(9, 2)), random.normal(size=(9, 2))
    paired = permutation_p_values(first, second, generator=np.random.default_rng(1))
    for column in range(2):
        exact = swap_all(first[:, column], second[:, column])
        assert paired[column] == pytest.approx(exact, abs=spread(exact))
    one, other = np.full((11, 2), NAN), np.full((11, 2), NAN)
    one[:6], other[6:] = first[:6], second[:5]
    dealt = permutation_p_values(one, other, generator=np.random.default_rng(1))
    for column in range(2):
        exact = deal_all(first[:6, column], second[:5, column])
        assert dealt[column] == pytest.approx(exact, abs=spread(exact))


def test_accuracy_is_one_less_the_mean_difference():
    """compute_one_minus_pce: 1 - mean |p - q| over the pairs of systems."""
    found = soft_accuracy(np.array([[0.1, 0.5, 0.9]]), np.array([[0.2, 0.5, 0.5], [0.1, 0.5, 0.9]]))
    assert found == pytest.approx(np.array([[1 - 0.5 / 3, 1.0]]))


def rate(seed: int = 0, *, shared: bool = True) -> Rated:
    random = np.random.default_rng(seed)
    questions = np.tile(np.arange(30), 3) if shared else np.arange(90)
    systems = np.repeat(np.arange(3), 30)
    quality = np.array([0.0, 0.2, 1.0])[systems] + random.normal(size=90)
    scores = np.column_stack([quality, -quality, quality + random.normal(size=90)])
    return make_rated(scores, quality, questions=questions, systems=systems, metrics=("same", "turned", "noisy"))


@pytest.mark.parametrize("shared", [True, False])
def test_a_metric_as_sure_as_people(shared: bool):
    rows = correlate(
        rate(shared=shared), levels=["system"], coefficients=["soft_pairwise_accuracy"], resamples=300, seed=2
    )
    same, turned, noisy = rows
    assert same.value == 1.0
    assert turned.value < noisy.value < 1
    # Three systems are too few for an interval.
    assert (noisy.n, noisy.questions, noisy.level) == (3, 30 if shared else 90, "system")
    assert (noisy.low, noisy.high, noisy.interval) == (None, None, None)


def test_the_normal_approximation_is_near_the_permutations():
    random = np.random.default_rng(3)
    first, second = random.normal(0.2, size=(60, 3)), random.normal(size=(60, 3))
    approximate = approximate_p_values([first, second], np.ones((1, 60)))[0, :, 0]
    assert approximate == pytest.approx(
        permutation_p_values(first, second, generator=np.random.default_rng(0)), abs=0.06
    )
    one, other = np.full((90, 3), NAN), np.full((90, 3), NAN)
    one[:60], other[60:] = first, second[:30]
    approximate = approximate_p_values([one, other], np.ones((1, 90)))[0, :, 0]
    assert approximate == pytest.approx(permutation_p_values(one, other, generator=np.random.default_rng(0)), abs=0.06)


def test_the_variance_of_few_answers_is_that_of_all_assignments():
    scores = [1.0, 2.0, 4.0, 7.0, 0.0, 3.0]
    differences = [(sum(dealt) - (sum(scores) - sum(dealt))) / 3 for dealt in combinations(scores, 3)]
    one, other = np.full((6, 1), NAN), np.full((6, 1), NAN)
    one[:3, 0], other[3:, 0] = scores[:3], scores[3:]
    expected = normal_p_values(np.array([differences[0]]), np.array([float(np.var(differences))]))
    assert approximate_p_values([one, other], np.ones((1, 6)))[0, :, 0] == pytest.approx(expected)


def test_systems_that_share_no_question_of_a_resample_have_no_p_value():
    first, second = np.array([[1.0], [2.0], [NAN]]), np.array([[0.0], [0.5], [3.0]])
    found = approximate_p_values([first, second], np.array([[0.0, 0.0, 3.0], [1.0, 1.0, 1.0]]))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_one_system_is_not_compared():
    alone = rate().take(range(30))
    row = correlate(alone, levels=["system"], coefficients=["soft_pairwise_accuracy"])[0]
    assert (row.value, row.reason) == (None, "1 system has scores and ratings; at least 2 are needed")


def test_a_pair_without_p_values_is_left_out():
    scores, ratings = np.array([[0.1, NAN, 0.8]]), np.array([[0.3, NAN, 0.9]])
    # 1 - (.2 + .1) / 2, by hand.
    assert soft_accuracy(scores, ratings) == pytest.approx(np.array([[0.85]]))
    assert np.isnan(soft_accuracy(scores * NAN, ratings)).all()
