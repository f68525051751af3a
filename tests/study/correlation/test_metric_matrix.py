import numpy as np
import pytest
from scipy import stats

from imapeval.errors import MissingExtraError, UsageError
from imapeval.study.correlation.metric_matrix import cluster_metrics, correlate_columns, correlate_metrics
from imapeval.study.data.rated import Rated
from tests.study.answers import make_rated

N = 50


def make(columns: np.ndarray, **changes: object) -> Rated:
    return make_rated(columns, np.empty((len(columns), 0)), **changes)


def draw(m: int = 5, *, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return np.round(generator.normal(size=(N, 1)) + generator.normal(size=(N, m)), 1)


def test_coefficients_are_scipys_over_the_answers_that_both_scored():
    columns = draw()
    columns[:10, 0], columns[5:20, 3], columns[7, 1] = np.nan, np.nan, np.nan
    values, counts = correlate_columns(columns)
    for a in range(5):
        for b in range(5):
            both = ~np.isnan(columns[:, a]) & ~np.isnan(columns[:, b])
            assert counts[a, b] == both.sum()
            if a != b:
                expected = stats.spearmanr(columns[both, a], columns[both, b]).statistic
                assert values[a, b] == pytest.approx(expected, abs=1e-12)
    assert (values.diagonal() == 1).all()


def test_what_is_undefined_stays_so():
    columns = draw(4)
    columns[:, 1] = 0.3
    columns[2:, 2] = np.nan
    values, counts = correlate_columns(columns)
    assert np.isnan(values[1:3]).all()
    assert not np.isnan(values[0, 3])
    assert counts[2].tolist() == [2, 2, 2, 2]
    found = correlate_metrics(make(columns))
    place = found.metrics.index("m1")
    assert found.values[place] == (None,) * 4
    assert (found.n, found.smallest) == (2, 2)


def test_merges_are_those_of_average_linkage():
    """By hand: the nearest pair, then by the mean distance to both of it."""
    values = np.array([[1, 0.9, 0.5, -0.2], [0.9, 1, 0.3, 0.1], [0.5, 0.3, 1, -0.7], [-0.2, 0.1, -0.7, 1]])
    order, merges = cluster_metrics(values)
    at = {leaf: place for place, leaf in enumerate(order)}
    found = [({first, second}, round(distance, 10), size) for first, second, distance, size in merges]
    # 1 - .9; then 2 with 3, whose distance is 1 - |-.7|; then the mean of .5, .8, .7 and .9.
    assert found == [({at[0], at[1]}, 0.1, 2), ({at[2], at[3]}, 0.3, 2), ({4, 5}, 0.725, 4)]
    assert abs(at[0] - at[1]) == 1
    assert abs(at[2] - at[3]) == 1


def test_metrics_that_say_the_same_stand_together():
    columns = draw(2)
    twin = columns[:, 0] ** 3
    found = correlate_metrics(make(np.column_stack([columns[:, 0], columns[:, 1], -twin])))
    assert abs(found.metrics.index("m0") - found.metrics.index("m2")) == 1
    first, second, distance, size = found.merges[0]
    assert {found.metrics[first], found.metrics[second]} == {"m0", "m2"}
    assert (distance, size) == (pytest.approx(0, abs=1e-12), 2)
    assert found.values[first][second] == pytest.approx(-1)


def test_low_is_good_is_turned_round():
    columns = draw(2)
    plain, turned = (
        correlate_metrics(make(scores, lower_is_better=low))
        for scores, low in ((columns, frozenset[str]()), (columns * [1, -1], frozenset({"m1"})))
    )
    assert plain == turned


@pytest.mark.parametrize(("metrics", "message"), [(["m0"], "1"), ([], "0"), (["m0", "x"], "'x'")])
def test_refused(metrics, message):
    with pytest.raises(UsageError, match=message):
        correlate_metrics(make(draw()), metrics=metrics)


def test_without_scipy(monkeypatch):
    monkeypatch.setattr("imapeval._optional.installed", lambda _: False)
    with pytest.raises(MissingExtraError, match=r"imapeval\[study\]"):
        correlate_metrics(make(draw()))
