"""Limits of agreement against Bland and Altman 1986 and pingouin 0.7.0; concordance by its definition.

`benchmarks/limits_of_agreement.py` measures how often the intervals hold the truth.
"""

from dataclasses import replace

import numpy as np
import pytest

from imapeval.errors import UsageError
from imapeval.study.agreement.limits_of_agreement import MEAN_RATING, find_limits, find_limits_of_metric
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from tests.study.answers import make_rated

# Bland and Altman 1986, Table 1, the first measurements: peak expiratory flow of 17 people by two meters, in l/min.
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]


@pytest.fixture
def flows() -> Rated:
    return make_rated(by_rater={"flow": np.array([WRIGHT, MINI], dtype=np.float64).T})


def test_bland_and_altman_1986(flows: Rated):
    (row,) = find_limits(flows)
    assert (row.first, row.second, row.n, row.reason) == ("A", "B", 17, None)
    # Mean difference -2.1, standard deviation 38.8, which they take twice; its interval is -22.0 to 17.8.
    assert row.mean.value == pytest.approx(-2.1, abs=0.05)
    assert (row.upper.value - row.lower.value) / 3.92 == pytest.approx(38.8, abs=0.05)
    assert (row.mean.low, row.mean.high) == pytest.approx((-22.0, 17.8), abs=0.1)
    # pingouin 0.7.0, plot_blandaltman: the limits.
    assert (row.lower.value, row.upper.value) == pytest.approx((-78.097, 73.862), abs=0.001)
    for limit in (row.lower, row.upper):
        assert limit.low < limit.value < limit.high
    # An interval of a limit is sqrt(3) times as wide as that of the mean, for normal differences (their page 309).
    assert row.upper.high - row.upper.low == pytest.approx(3**0.5 * (row.mean.high - row.mean.low), rel=0.25)


def test_concordance_by_its_definition(flows: Rated):
    (row,) = find_limits(flows)
    x, y = np.array(WRIGHT), np.array(MINI)
    expected = 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert row.concordance.value == pytest.approx(expected)
    assert 0.8 < row.concordance.low < expected < row.concordance.high < 1


def test_answers_to_one_question_count_together(flows: Rated):
    twice = replace(flows.take(np.repeat(np.arange(17), 2)), ids=tuple(map(str, range(34))))
    (once,), (again,) = find_limits(flows), find_limits(twice)
    assert (again.mean.low, again.mean.high) == pytest.approx((once.mean.low, once.mean.high))
    assert again.n == 34


def test_raters_who_always_agree():
    given = np.tile(np.arange(12.0)[:, None], (1, 2))
    (row,) = find_limits(make_rated(by_rater={"a": given}))
    assert (row.mean.value, row.lower, row.upper) == (0, row.mean, row.mean)
    assert row.concordance.value == pytest.approx(1)
    assert row.concordance.low < 0.9
    (row,) = find_limits(make_rated(by_rater={"a": np.ones((12, 2))}))
    assert row.concordance is None


def test_too_few_answers():
    given = np.full((12, 3), np.nan)
    given[:, 0] = range(12)
    given[:9, 1] = 3
    rows = find_limits(make_rated(by_rater={"a": given}))
    assert [(row.first, row.second, row.n) for row in rows] == [("A", "B", 9)]
    assert "9 answers" in str(rows[0].reason)


def test_a_metric_on_the_scale_of_the_ratings(flows: Rated):
    scores = np.array(WRIGHT, dtype=np.float64)[:, None]
    judged = replace(
        flows,
        metrics=("doctor",),
        scores=scores,
        ratings=np.array(MINI, dtype=np.float64)[:, None],
        scales={"flow": RatingScale(0, 700)},
    )
    row = find_limits_of_metric(judged, "doctor", "flow")
    (raters,) = find_limits(flows)
    assert (row.first, row.second) == ("doctor", MEAN_RATING)
    assert (row.mean, row.lower, row.concordance) == (raters.mean, raters.lower, raters.concordance)
    # As of a judge with `--set judge.scale=0:700`, whose scale is 0 to 5 otherwise.
    rescaled = replace(judged, metrics=("judge",), ranges={"judge": (0, 700)})
    assert find_limits_of_metric(rescaled, "judge", "flow").mean == row.mean
    for other, part in (
        (replace(judged, scales={}), "--scale flow="),
        (replace(judged, scales={"flow": RatingScale(0, 500)}), "0 to 500"),
        (replace(judged, lower_is_better=frozenset({"doctor"})), "not on the scale"),
    ):
        with pytest.raises(UsageError, match=part):
            find_limits_of_metric(other, "doctor", "flow")
    with pytest.raises(UsageError, match="not on the scale"):
        find_limits_of_metric(replace(rescaled, ranges={}), "judge", "flow")
    # imapscore goes from 0 to 1, wherever its scores happen to lie.
    scored = replace(judged, metrics=("imapscore",), scores=scores / 700)
    with pytest.raises(UsageError, match="not on the scale"):
        find_limits_of_metric(scored, "imapscore", "flow")


def test_no_limits_of_ratings_with_two_values():
    given = np.random.default_rng(0).integers(0, 2, (40, 2)).astype(np.float64)
    (row,) = find_limits(make_rated(by_rater={"a": given}))
    assert row.mean.value == pytest.approx(float((given[:, 0] - given[:, 1]).mean()))
    assert (row.lower, row.upper) == (None, None)
    assert row.concordance is not None
