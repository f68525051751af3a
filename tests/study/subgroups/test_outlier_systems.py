"""The rule of Mathur, Baldwin and Cohn 2020 on numbers computed by hand, and correlations against scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.outlier_systems import correlate_without_outliers, find_outliers
from tests.study.answers import make_rated

MEANS = [3.0, 3.2, 3.1, 2.9, 3.3, 0.5]
SCORES = [0.5, 0.3, 0.45, 0.4, 0.35, 0.05]


def make(means: list[float], scores: list[float]) -> Rated:
    """Three answers of each system, around its means."""
    shift = np.tile([-0.1, 0.0, 0.1], len(means))
    return make_rated(
        np.repeat(scores, 3) + shift,
        np.repeat(means, 3) + shift,
        questions=np.tile([0, 1, 2], len(means)),
        systems=np.repeat(np.arange(len(means)), 3),
    )


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        # Median 3.05, deviations .05 .05 .15 .15 .25 2.55, so their median .15 and the robust deviation .22245:
        # 2.55 / .22245 = 11.5, and .25 / .22245 = 1.1.
        (MEANS, (5,)),
        # Median 3, deviations 1 0 1 2 3: robust deviation 1.483, and 3 / 1.483 = 2.02.
        ([2.0, 3.0, 4.0, 5.0, 0.0], ()),
        # 2.5 x 1.483 = 3.7075.
        ([2.0, 3.0, 4.0, 4.0, 6.7], ()),
        ([2.0, 3.0, 4.0, 4.0, 7.8], (4,)),
        ([3.0, 3.0, 3.0, 1.0], ()),
        # .1 + .2 is more than .3, by rounding.
        ([0.1 + 0.2, 0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2, 0.3, 0.35], ()),
        ([*MEANS, np.nan], (5,)),
    ],
)
def test_the_rule(means: list[float], expected: tuple[int, ...]):
    assert find_outliers(np.array(means)) == expected


def test_correlations_with_and_without():
    (row,) = correlate_without_outliers(make(MEANS, SCORES))
    assert row.outliers == ("s5",)
    assert row.systems == 6
    assert row.value == pytest.approx(stats.pearsonr(MEANS, SCORES).statistic)
    assert row.value_without == pytest.approx(stats.pearsonr(MEANS[:5], SCORES[:5]).statistic)
    assert row.matters
    for part in ("s5", "Pearson's r", ".85", "-.60"):
        assert part in row.sentence


def test_every_dimension_has_its_own_outliers():
    rated = make(MEANS, SCORES)
    tone = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3)[:, None]
    both = replace(rated, dimensions=("accuracy", "tone"), ratings=np.hstack([rated.ratings, tone]))
    rows = correlate_without_outliers(both, coefficients=("pearson", "spearman"))
    assert [(row.dimension, row.coefficient) for row in rows] == [("accuracy", "pearson"), ("accuracy", "spearman")]


def test_five_systems_are_too_few():
    assert correlate_without_outliers(make(MEANS[1:], SCORES[1:])) == []


def test_a_metric_that_fails_on_the_others():
    rated = make(MEANS, SCORES)
    scores = np.where(np.array(rated.systems)[:, None] == "s5", rated.scores, np.nan)
    (row,) = correlate_without_outliers(replace(rated, scores=scores))
    assert (row.value, row.value_without) == (None, None)
    assert row.reason
    assert row.reason in row.sentence
