import pytest

from imapeval.study.closed.estimate import estimate_metrics
from imapeval.study.closed.grades import measure_grades
from imapeval.study.data.rated import Scale


def edrm(gold: list[float], predicted: list[float], scale: Scale) -> float | None:
    (row,) = estimate_metrics(measure_grades(gold, predicted, scale), len(gold), resamples=1)
    return row.value


def test_as_drbenchmark_computes_it():
    # `EDRM(dict(enumerate(gold)), dict(enumerate(predicted)))` of DrBenchmark's CLISTER recipe (2023-04-29; minVal 0,
    # maxVal 5, boundAdjustment True), its function run on these lists: 0.5928571428571429.
    gold, predicted = [0.0, 1.5, 2.5, 3.5, 5.0, 4.0], [1.0, 1.5, 5.5, 3.0, 4.5, -2.0]
    assert edrm(gold, predicted, Scale(0, 5)) == pytest.approx(0.5928571428571429, abs=1e-12)


def test_ends_and_other_scales():
    assert edrm([1, 4], [1, 4], Scale(1, 7)) == 1
    assert edrm([1, 7], [7, 1], Scale(1, 7)) == 0
    assert edrm([4], [1], Scale(1, 7)) == 0
