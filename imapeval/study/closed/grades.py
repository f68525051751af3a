"""Numbers on a scale beside the right ones: how near they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.study.closed.estimate import MetricFamily, mean_over_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.data.rated import Scale


def measure_grades(gold: Sequence[float], predicted: Sequence[float], scale: Scale) -> list[MetricFamily]:
    """Measure how near grades come to the right ones: `edrm`.

    EDRM ("exactitude en distance relative à la solution moyenne") is the mean of 1 - |right - given| / the largest
    distance that a grade on the scale can have from the right one: 1 where all are right, 0 where each is as wrong as
    can be. The measure of the French evaluation DEFT 2020 (Cardon et al. 2020) for graded similarity of medical
    sentences, as computed by DrBenchmark (Labrak et al. 2024), which first cuts what lies beyond the scale off at its
    ends.

    Args:
        gold: The right grades, on the scale.
        predicted: What was given; finite.
        scale: From the lowest to the highest grade.
    """
    rows: list[tuple[float]] = []
    for right, given in zip(gold, predicted, strict=True):
        farthest = max(right - scale.low, scale.high - right)
        rows.append((1 - abs(right - min(max(given, scale.low), scale.high)) / farthest,))
    return [MetricFamily(("edrm",), mean_over_answers(rows))]
