from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from imapeval.study.agreement.rater_correlation import measure_pearson, measure_spearman, measure_with_others
from imapeval.study.arrays import Floats


def test_scipy_by_pairs(missing: Floats):
    rows = {pair: ~np.isnan(missing[:, pair]).any(axis=1) for pair in combinations(range(3), 2)}
    r = [stats.pearsonr(*missing[both][:, pair].T).statistic for pair, both in rows.items()]
    rho = [stats.spearmanr(*missing[both][:, pair].T).statistic for pair, both in rows.items()]
    assert measure_pearson(missing).value == pytest.approx(np.mean(r))
    assert measure_spearman(missing).value == pytest.approx(np.mean(rho))


def test_a_rater_with_the_others(complete: Floats):
    others = [np.delete(complete, rater, axis=1).mean(axis=1) for rater in range(3)]
    rho = [stats.spearmanr(complete[:, rater], others[rater]).statistic for rater in range(3)]
    assert measure_with_others(complete).value == pytest.approx(np.mean(rho))


def test_rounding_breaks_no_ties():
    # .1 + .3 - .1 is not .2 + .3 - .2.
    tenths = np.array([[1, 3], [2, 3], [3, 1], [6, 7], [7, 3], [4, 2], [5, 3], [8, 9], [9, 3]])
    assert measure_with_others(tenths / 10).value == pytest.approx(measure_spearman(tenths.astype(np.float64)).value)


def test_undefined_pairs_are_counted():
    ratings = np.array([[1, 2, 3], [2, 3, 3], [3, 5, 3], [4, 4, 3.0]])
    found = measure_pearson(ratings)
    assert found.value == pytest.approx(stats.pearsonr(ratings[:, 0], ratings[:, 1]).statistic)
    assert found.note.startswith("2 of 3 coefficients are undefined and left out: ")
    assert "constant (3)" in found.note


def test_nothing_to_correlate():
    few = measure_spearman(np.array([[1, 2], [2, 1.0]]))
    assert "2 rows are fewer than 3" in few.reason
    crowd = measure_spearman(np.random.default_rng(0).normal(size=(20, 11)))
    assert "11 raters" in crowd.reason
