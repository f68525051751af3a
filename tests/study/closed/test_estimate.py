import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval.errors import UsageError
from imapeval.study.bootstrap import mean_interval
from imapeval.study.closed.estimate import MetricEstimate, MetricFamily, estimate_metrics, mean_over_answers
from imapeval.study.closed.labels import measure_label_sets, measure_labels, measure_sequences
from imapeval.study.closed.ordinal import measure_order

RIGHT = [True, True, False, True, False, True, True, True, False, True]


def accuracy(right: list[bool]) -> list[MetricFamily]:
    return [MetricFamily(("accuracy",), mean_over_answers([[float(one)] for one in right]))]


def test_the_interval_of_a_mean_is_that_of_the_mean():
    (row,) = estimate_metrics(accuracy(RIGHT), 10, seed=3, resamples=500)
    expected = mean_interval([float(one) for one in RIGHT], seed=3, resamples=500)
    assert expected is not None
    assert row == MetricEstimate(
        "accuracy", pytest.approx(0.7), pytest.approx(expected.low), pytest.approx(expected.high), 10
    )


def test_the_interval_covers_the_truth_as_often_as_it_says():
    # 200 draws of 60 answers with a true accuracy of .7; the percentile interval of a proportion covers about 94%
    # there (Efron and Tibshirani 1993, chapter 13: somewhat less than said). 3 standard errors of 200 trials are 5%.
    generator = np.random.default_rng(0)
    covered = 0
    for seed in range(200):
        (row,) = estimate_metrics(accuracy(list(generator.random(60) < 0.7)), 60, seed=seed, resamples=300)
        assert row.low is not None
        assert row.high is not None
        covered += row.low <= 0.7 <= row.high
    assert 0.88 <= covered / 200 <= 0.99


def test_one_answer_has_no_interval():
    assert estimate_metrics(accuracy([True]), 1) == [MetricEstimate("accuracy", 1.0, None, None, 1)]


def test_metrics_come_as_they_are_asked_for():
    families = measure_labels(["a", "b", "a"], ["a", "a", "a"])
    found = estimate_metrics(families, 3, metrics=["f1-macro", "accuracy", "f1-macro"], resamples=10)
    assert [row.metric for row in found] == ["f1-macro", "accuracy"]
    with pytest.raises(UsageError, match="'f2'"):
        estimate_metrics(families, 3, metrics=["f2"])


def test_what_a_resample_cannot_tell_widens_the_interval():
    # 2 answers, one of each class: half of the resamples have one class only and may have any AUC.
    families = measure_labels(["1", "0"], ["1", "0"], scores={"1": [0.9, 0.1]})
    auc = estimate_metrics(families, 2, metrics=["auc"], resamples=200)[0]
    assert (auc.value, auc.low, auc.high) == (1.0, 0.0, 1.0)


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
        # The library's numbers are those of our weighing.
        assert {name: expected[name] for name in copied.values} == pytest.approx(dict(copied.values))
        for name in set(whole.names) - {"hamming-loss", "vus"} - whole.undefined.keys():
            assert found[name] == pytest.approx(expected[name], nan_ok=True), name
        if {gold[row] for row in copies} == set(gold) and "vus" in found and "vus" not in whole.undefined:
            assert found["vus"] == pytest.approx(expected["vus"])
