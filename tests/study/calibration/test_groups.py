import numpy as np
import pytest

from imapeval.study.calibration.groups import measure_groups
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals.bootstrap import mean_interval
from tests.study.answers import make_rated


def test_one_answer_that_is_off_is_no_error_of_its_group():
    # A line through these answers predicts 0 for those with score 0, of which one is rated 1.
    scores = np.repeat([0.0, 0.5, 1.0], [20, 40, 40])
    ratings = np.concatenate([[1.0], np.zeros(59), np.ones(40)])
    rated = make_rated(scores, ratings, scales={"accuracy": RatingScale(0, 1)})
    (row,) = measure_groups(rated, "m", "accuracy", {"zero": np.arange(20)}, method="linear")
    assert row.difference == pytest.approx(1 / 20)
    expected = mean_interval(np.eye(20)[0], differences=True)
    assert expected is not None
    assert (row.low, row.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert row.low == 0
