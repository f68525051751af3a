"""Oracle: scipy 1.17, `somersd`: the share of pairs in the right order is (D + 1) / 2."""

import numpy as np
import pytest
from scipy import stats

from imapeval.study.correlation.coefficients import find_coefficient
from imapeval.study.correlation.levels import correlate
from tests.study.answers import make_rated

SHARE = find_coefficient("pairs_in_order")


def draw(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    ratings = random.integers(3, size=rows) / 2
    return np.round(ratings + random.normal(size=rows), 1), ratings


def oracle(scores: np.ndarray, ratings: np.ndarray) -> float:
    return (stats.somersd(ratings, scores).statistic + 1) / 2


@pytest.mark.parametrize("rows", [5, 40, 300])
def test_equal_to_scipy(rows: int):
    scores, ratings = draw(rows, rows)
    expected = oracle(scores, ratings)
    assert SHARE.with_influences(scores, ratings).value == pytest.approx(expected)
    assert SHARE.in_groups(scores[None], ratings[None]) == pytest.approx([expected])
    drawn = np.random.default_rng(1).multinomial(rows, np.full(rows, 1 / rows), size=4)
    found = SHARE.resample(scores[None], ratings[None], drawn, codes=np.arange(rows))[:, 0, 0]
    assert found == pytest.approx(
        [oracle(scores.repeat(counts), ratings.repeat(counts)) for counts in drawn], nan_ok=True
    )


def test_influences_are_derivatives_by_the_weights():
    scores, ratings = draw(30, 7)
    found = SHARE.with_influences(scores, ratings)
    unequal = np.sign(ratings[:, None] - ratings)
    right = np.abs(unequal) * (1 + unequal * np.sign(scores[:, None] - scores)) / 2
    pairs = np.abs(unequal)
    # Of sum w_i w_j right_ij / sum w_i w_j pairs_ij, at weights of 1.
    expected = 2 * (right.sum(axis=1) - right.sum() / pairs.sum() * pairs.sum(axis=1)) / pairs.sum()
    assert found.rows == pytest.approx(expected)


def test_equal_scores_count_half_and_equal_ratings_nothing():
    rated = make_rated(
        np.array([[0.3], [0.2], [0.4], [0.1], [0.5], [0.5], [0.1], [0.2]]),
        np.array([[1.0], [0.5], [0.5], [0.0], [0.5], [1.0], [1.0], [1.0]]),
        questions=np.array([0, 0, 0, 1, 1, 1, 2, 2]),
        systems=tuple("stustust"),
        dimensions=("factual",),
        ids=tuple("abcdefgh"),
    )
    (row,) = correlate(rated, coefficients=["pairs_in_order"], levels=["within-question"], resamples=20)
    assert row.value == pytest.approx((0.5 + 2.5 / 3) / 2)
