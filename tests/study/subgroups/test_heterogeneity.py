from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.heterogeneity import compare_slices, homogeneity_statistic, hotelling_p_value
from tests.study.answers import make_rated


@given(st.floats(0.01, 60), st.integers(1, 6), st.integers(8, 400))
def test_chance_is_hotellings(statistic, freedom, questions):
    """Mardia, Kent and Bibby 1979, Multivariate Analysis, theorem 3.5.2: T^2(p, v) is v p / (v - p + 1) F."""
    v = questions - 1
    scale = v * freedom / (v - freedom + 1)
    expected = stats.f.sf(statistic / scale, freedom, v - freedom + 1)
    assert hotelling_p_value(statistic, freedom, questions=questions) == pytest.approx(expected, rel=1e-9)


def test_with_one_contrast_it_is_students_t():
    assert hotelling_p_value(2.1**2, 1, questions=20) == pytest.approx(2 * stats.t.sf(2.1, 19), rel=1e-9)


def test_p_is_above_0():
    p = hotelling_p_value(1e9, 3, questions=1000)
    assert 0 < p < 1e-300


def test_more_groups_than_questions_cannot_be_compared():
    assert hotelling_p_value(1.0, 3, questions=3) is None


def test_independent_groups_give_q_of_hedges_and_olkin():
    """Q = sum of (z - mean of z)^2 / variance, weighted by 1 / variance (1985, chapter 11)."""
    generator = np.random.default_rng(0)
    values = np.array([0.1, 0.45, 0.5, -0.2])
    influences = np.zeros((4, 40))
    for group in range(4):
        influences[group, group * 10 : group * 10 + 10] = generator.normal(size=10) * (group + 1) / 20
    statistic, freedom = homogeneity_statistic(values, influences)
    z = np.arctanh(values)
    variance = (influences**2).sum(axis=1) / (1 - values**2) ** 2
    mean = np.average(z, weights=1 / variance)
    assert statistic == pytest.approx(((z - mean) ** 2 / variance).sum(), rel=1e-9)
    assert freedom == 3


def test_the_order_of_dependent_groups_does_not_matter():
    generator = np.random.default_rng(1)
    values, influences = np.array([0.3, 0.5, 0.4]), generator.normal(size=(3, 50)) / 60
    influences[1] += influences[0]
    expected = homogeneity_statistic(values, influences)
    for order in ([1, 0, 2], [2, 1, 0]):
        assert homogeneity_statistic(values[order], influences[order]) == pytest.approx(expected, rel=1e-9)


def test_groups_that_hold_the_same_numbers_have_no_freedom():
    influences = np.random.default_rng(2).normal(size=50) / 50
    statistic, freedom = homogeneity_statistic(np.array([0.3, 0.3]), np.stack([influences, influences]))
    assert (statistic, freedom) == (0.0, 0)


def make(first: float, second: float, *, n: int = 150, seed: int = 0) -> Rated:
    """Two groups of answers with these true correlations."""
    generator = np.random.default_rng(seed)
    pairs = [generator.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n) for rho in (first, second)]
    scores, ratings = np.concatenate(pairs).T
    return make_rated(scores, np.round(ratings * 2)[:, None] / 2, facets={"task": ("x",) * n + ("y",) * n})


def test_a_real_difference_is_found_and_told():
    (row,) = compare_slices(make(0.8, 0.2))
    assert (row.facet, row.groups, row.freedom, row.n) == ("task", 2, 1, 300)
    assert row.p < 1e-6
    assert row.sentence.startswith("How well m agrees with accuracy")
    assert "p < .001 after Holm" in row.sentence


def test_p_is_that_of_two_independent_correlations():
    """Fisher's test, z1 - z2 over the root of 2 / (n - 3), of Pearson's r of normal data."""
    n = 2000
    rated = make(0.5, 0.46, n=n)
    (row,) = compare_slices(rated, coefficient="pearson")
    halves = [(rated.scores[part, 0], rated.ratings[part, 0]) for part in (slice(n), slice(n, 2 * n))]
    first, second = (np.arctanh(stats.pearsonr(*half).statistic) for half in halves)
    z = (first - second) / np.sqrt(2 / (n - 3))
    assert row.p == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.02)


def test_no_difference_is_told_so():
    (row,) = compare_slices(make(0.5, 0.5))
    assert row.p > 0.05
    assert row.sentence.startswith("Nothing shows")


def test_shared_questions_make_the_test_sharper():
    """Two systems answered the same questions, and the second copied the first's scores and ratings but for a few."""
    one = make(0.5, 0.5)
    scores, ratings = one.scores.copy(), one.ratings.copy()
    scores[150:], ratings[150:] = scores[:150], ratings[:150]
    scores[150:170] = -scores[150:170]
    copied = replace(one, scores=scores, ratings=ratings)
    (apart,) = compare_slices(copied)
    (shared,) = compare_slices(replace(copied, questions=np.tile(np.arange(150), 2)))
    assert shared.lowest == apart.lowest
    assert shared.p < apart.p / 10


def test_dimensions_are_compared_on_the_same_answers():
    rated = make(0.5, 0.5)
    two = replace(rated, dimensions=("a", "b"), ratings=np.hstack([rated.ratings, rated.ratings]))
    (row,) = compare_slices(two, facets=["dimension"])
    assert (row.dimension, row.groups, row.p, row.reason) == (ALL, 2, None, "the groups hold the same numbers")
    assert row.sentence.endswith(f"{row.reason}.")


def test_holm_is_over_metrics_and_facets_of_a_dimension():
    rated = make(0.6, 0.3)
    two = replace(rated, metrics=("m", "n"), scores=np.hstack([rated.scores, rated.scores[::-1]]))
    rows = compare_slices(two)
    first, second = sorted((row.p or 0, row.p_adjusted or 0) for row in rows)
    assert first[1] == pytest.approx(min(1, 2 * first[0]))
    assert second[1] == pytest.approx(max(first[1], second[0]))


@pytest.mark.parametrize(
    ("tasks", "why"),
    [
        (("x",) * 297 + ("y",) * 3, "fewer than two groups have a system with 4 questions and a coefficient"),
        (("x",) * 297 + ("",) * 3, "fewer than two groups"),
    ],
)
def test_too_few(tasks, why):
    (row,) = compare_slices(replace(make(0.5, 0.5), facets={"task": tasks}))
    assert (row.p, row.p_adjusted) == (None, None)
    assert str(row.reason).startswith(why)


def test_a_perfect_group_has_no_variance():
    rated = make(0.5, 0.5)
    scores = rated.scores.copy()
    scores[:150] = rated.ratings[:150]
    (row,) = compare_slices(replace(rated, scores=scores))
    assert row.p is None
    assert "nothing varies there" in str(row.reason)
