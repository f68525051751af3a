"""Expected numbers: every choice of one answer per class, or worked out by hand."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from imapeval.study.closed.metrics.estimate import estimate_metrics
from imapeval.study.closed.metrics.labels import measure_labels
from imapeval.study.closed.metrics.ordinal import (
    MAX_CLASSES,
    measure_grades,
    measure_order,
    measure_rankings,
    volume_under_roc_surface,
)
from imapeval.study.data.scales import RatingScale


def vus(gold: list[int], scores: list[float]) -> float | None:
    (row,) = estimate_metrics(measure_order(gold, scores), len(gold))
    return row.value


def test_by_hand():
    # Classes 1 | 2 | 3 with the numbers 1, 4 | 2, 3 | 5: of 4 choices (1 2 5), (1 3 5) are right, (4 2 5), (4 3 5) not.
    assert vus([1, 1, 2, 2, 3], [1, 4, 2, 3, 5]) == 2 / 4
    # All equal: one order of 3! is right.
    assert vus([1, 2, 3], [0, 0, 0]) == pytest.approx(1 / 6)
    assert vus([3, 1, 2], [30, 10, 20]) == 1


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=2, max_size=12))
@settings(deadline=None)
def test_it_is_the_share_of_choices_in_order(rows: list[tuple[int, int]]):
    classes = sorted({label for label, _ in rows})
    found = vus([label for label, _ in rows], [float(score) for _, score in rows])
    if len(classes) < 2:
        assert found is None
        return
    shares: list[float] = []
    for choice in itertools.product(*([s for label, s in rows if label == c] for c in classes)):
        right = list(choice) == sorted(choice)
        shares.append(right / math.prod(math.factorial(n) for n in Counter(choice).values()))
    assert found == pytest.approx(sum(shares) / len(shares))


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=30))
@settings(deadline=None, max_examples=30)
def test_of_two_classes_it_is_the_auc(rows: list[tuple[bool, int]]):
    assume(len({right for right, _ in rows}) == 2)
    gold = ["1" if right else "0" for right, _ in rows]
    numbers = [float(score) for _, score in rows]
    (auc,) = estimate_metrics(measure_labels(gold, gold, scores={"1": numbers}), len(rows), metrics=["auc"])
    assert vus([int(right) for right, _ in rows], numbers) == pytest.approx(auc.value)


def test_one_class_has_no_order():
    (row,) = estimate_metrics(measure_order([2, 2], [0.1, 0.2]), 2)
    assert (row.value, row.low, row.reason) == (None, None, "every answer is of the same class: there is no order")


@pytest.mark.slow
def test_many_answers_are_exact():
    # 6,000 answers, no ties: the numbers of each class follow those of the one before.
    gold = [0] * 2_000 + [1] * 2_000 + [2] * 2_000
    assert vus(gold, [float(n) for n in range(6_000)]) == 1
    assert vus(gold, [float(-n) for n in range(6_000)]) == 0


def test_many_grades_are_no_overflow_and_too_many_are_refused():
    gold = [grade for grade in range(MAX_CLASSES) for _ in range(200)]
    assert volume_under_roc_surface(np.asarray(gold), np.asarray(gold, dtype=float))(
        np.ones(len(gold))
    ) == pytest.approx(1.0)
    (family,) = measure_order(list(range(MAX_CLASSES + 1)), [0.0] * (MAX_CLASSES + 1))
    assert family.undefined["vus"] == "51 classes, over 50. Does the gold column hold measurements, not grades?"


def edrm(gold: list[float], predicted: list[float], scale: RatingScale) -> float | None:
    (row,) = estimate_metrics(measure_grades(gold, predicted, scale), len(gold))
    return row.value


def test_as_drbenchmark_computes_it():
    # `EDRM(dict(enumerate(gold)), dict(enumerate(predicted)))` of DrBenchmark's CLISTER recipe (2023-04-29; minVal 0,
    # maxVal 5, boundAdjustment True), its function run on these lists: 0.5928571428571429.
    gold, predicted = [0.0, 1.5, 2.5, 3.5, 5.0, 4.0], [1.0, 1.5, 5.5, 3.0, 4.5, -2.0]
    assert edrm(gold, predicted, RatingScale(0, 5)) == pytest.approx(0.5928571428571429, abs=1e-12)


def test_ends_and_other_scales():
    assert edrm([1, 4], [1, 4], RatingScale(1, 7)) == 1
    assert edrm([1, 7], [7, 1], RatingScale(1, 7)) == 0
    assert edrm([4], [1], RatingScale(1, 7)) == 0


def values(gold: list[list[str]], predicted: list[list[str]]) -> dict[str, float | None]:
    return {row.metric: row.value for row in estimate_metrics(measure_rankings(gold, predicted), len(gold))}


def test_rankings_by_hand():
    gold = [["EGFR", "ErbB1"], ["BRCA1"], ["ibuprofen"], ["TP53"]]
    predicted = [
        ["erbb1 ", "BRAF"],  # a synonym, first
        ["BRCA2", "brca1", "ATM"],  # second
        ["a", "b", "c", "d", "e", "ibuprofen"],  # sixth: not among the five
        [],  # no answer
    ]
    assert values(gold, predicted) == {"strict-accuracy": 1 / 4, "lenient-accuracy": 2 / 4, "mrr": (1 + 1 / 2) / 4}


def test_the_best_rank_counts():
    assert values([["a", "b"]], [["x", "b", "a"]])["mrr"] == 1 / 2
