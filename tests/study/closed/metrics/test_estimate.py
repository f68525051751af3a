import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from imapeval.errors import UsageError
from imapeval.study.closed.metrics.estimate import (
    MetricEstimate,
    MetricFamily,
    average_over_answers,
    count_effective,
    estimate_metrics,
)
from imapeval.study.closed.metrics.labels import measure_label_sets, measure_labels, measure_sequences
from imapeval.study.closed.metrics.ordinal import measure_grades, measure_order
from imapeval.study.data.scales import RatingScale


def accuracy(right: list[bool]) -> list[MetricFamily]:
    return [average_over_answers(("accuracy",), [[float(one)] for one in right])]


@pytest.mark.parametrize(("right", "n"), [(7, 10), (20, 20), (0, 5), (28, 30), (5000, 5300)])
def test_a_share_has_wilsons_interval(right: int, n: int):
    (row,) = estimate_metrics(accuracy([True] * right + [False] * (n - right)), n)
    # scipy 1.17.1.
    expected = stats.binomtest(right, n).proportion_ci(method="wilson")
    found = MetricEstimate(
        "accuracy", pytest.approx(right / n), pytest.approx(expected.low), pytest.approx(expected.high), n
    )
    assert row == found


@pytest.mark.parametrize("classes", [["1", "0"] * 10, ["1"] * 3 + ["0"] * 17])
def test_no_interval_has_zero_width_where_all_is_right(classes: list[str]):
    scores = [float(one) + 0.01 * number for number, one in enumerate(classes)]
    families = measure_labels(classes, classes, scores={"1": scores})
    order = measure_order([int(one) for one in classes], scores)
    grades = measure_grades([float(one) for one in classes], [float(one) for one in classes], RatingScale(0, 1))
    rows = {row.metric: row for row in estimate_metrics([*families, *order, *grades], 20)}
    for row in rows.values():
        assert (row.value, row.high) == (pytest.approx(1), pytest.approx(1))
        assert 0.5 < row.low < 0.9, row.metric
    rare = classes.count("1") == 3
    # What has three right answers to go by says less than what has ten, or all.
    assert (rows["auc"].low < rows["accuracy"].low - 0.05) == rare
    assert (rows["f1-macro"].low < rows["f1-micro"].low - 0.05) == rare


def test_a_mean_over_classes_rests_on_the_small_ones():
    # Kish 1965: 3 classes of 10, 10 and 1: (3)^2 / (10 / 100 + 10 / 100 + 1).
    classes = [[0]] * 10 + [[1]] * 10 + [[2]]
    assert count_effective(classes) == pytest.approx(9 / 1.2)
    assert count_effective([[0], [1]] * 7) == pytest.approx(14)
    assert count_effective([[], []]) == 0


def test_one_answer_has_no_interval():
    assert estimate_metrics(accuracy([True]), 1) == [MetricEstimate("accuracy", 1.0, None, None, 1)]


def test_metrics_come_as_they_are_asked_for():
    families = measure_labels(["a", "b", "a"], ["a", "a", "a"])
    found = estimate_metrics(families, 3, metrics=["f1-macro", "accuracy", "f1-macro"])
    assert [row.metric for row in found] == ["f1-macro", "accuracy"]
    with pytest.raises(UsageError, match="'f2'"):
        estimate_metrics(families, 3, metrics=["f2"])


def test_one_answer_of_a_class_says_little():
    families = measure_labels(["1", "0", "0", "0"], ["1", "0", "0", "0"], scores={"1": [0.9, 0.1, 0.2, 0.3]})
    auc = estimate_metrics(families, 4, metrics=["auc"])[0]
    assert (auc.value, auc.high) == (1.0, 1.0)
    assert auc.low < 0.45


@st.composite
def weighted(draw: st.DrawFn) -> tuple[list[int], list[int], list[float], list[int]]:
    size = draw(st.integers(2, 8))
    column = st.lists(st.integers(0, 2), min_size=size, max_size=size)
    weights = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any))
    return draw(column), draw(column), [float(n) for n in draw(column)], weights


@given(weighted())
@settings(deadline=None, max_examples=20)
def test_a_weight_stands_for_that_many_answers(drawn: tuple[list[int], list[int], list[float], list[int]]):
    gold, predicted, scores, weights = drawn

    def measure(rows: list[int]) -> list[MetricFamily]:
        names = [str(gold[row]) for row in rows]
        given = [str(predicted[row]) for row in rows]
        tags = [[["O", "B-X"], ["B-X", "O"], ["O", "B-Y"]][gold[row]] for row in rows]
        found = [[["O", "B-X"], ["B-X", "O"], ["O", "B-Y"]][predicted[row]] for row in rows]
        return [
            *measure_labels(names, given, scores={"1": [scores[row] for row in rows]}),
            *measure_label_sets([{name, "x"} for name in names], [{name} for name in given]),
            *measure_sequences(tags, found),
            *measure_order([gold[row] for row in rows], [scores[row] for row in rows]),
        ]

    copies = [row for row, weight in enumerate(weights) for _ in range(weight)]
    for whole, copied in zip(measure([*range(len(gold))]), measure(copies), strict=True):
        expected = dict(zip(copied.names, copied.compute(np.ones(len(copies))), strict=True))
        found = dict(zip(whole.names, whole.compute(np.array(weights, dtype=float)), strict=True))
        # What was drawn may lack a label or a class that the whole has: there the loss is a share of fewer labels, and
        # the order is one of fewer classes.
        for name in set(whole.names) - {"hamming-loss", "vus"} - whole.undefined.keys():
            assert found[name] == pytest.approx(expected[name], nan_ok=True), name
        if {gold[row] for row in copies} == set(gold) and "vus" in found and "vus" not in whole.undefined:
            assert found["vus"] == pytest.approx(expected["vus"])
