"""Metrics of ordered labels (volume under the ROC surface), rankings (BioASQ) and grades (EDRM)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval.study.closed.metrics.estimate import MetricFamily, average_over_answers, count_effective

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    import numpy.typing as npt

    from imapeval.study.arrays import Floats
    from imapeval.study.data.scales import RatingScale


MAX_CLASSES = 50
"""Maximum number of classes: time grows with their square, and scales with more grades are not in use."""


_EXACT = 2.0**53
"""Whole numbers below it are exact in double precision."""


def measure_order(gold: Sequence[int], scores: Sequence[float]) -> list[MetricFamily]:
    """Measure how well a number (higher stands for a higher class) orders answers of ordered classes: `vus`.

    The volume under the ROC surface is the probability that the numbers put one answer of each class, drawn at random,
    into the right order (Waegeman, De Baets and Boullart 2008, ROC analysis in ordinal regression learning; for three
    classes Mossman 1999). Chance is 1 / r! for r classes; with two it is the AUC. Equal numbers count as the share of
    their orders that is right: 1/2 for two, 1/6 for three. Computed exactly, in O(n log n + n r^2).
    """
    number = len(set(gold))
    if not 2 <= number <= MAX_CLASSES:
        reason = (
            "every answer is of the same class: there is no order"
            if number < 2
            else f"{number} classes, over {MAX_CLASSES}. Does the gold column hold measurements, not grades?"
        )
        return [MetricFamily(("vus",), lambda weights: [np.nan], undefined={"vus": reason})]
    compute_volume = volume_under_roc_surface(np.asarray(gold), np.asarray(scores, dtype=np.float64))
    size = {"vus": count_effective([[one] for one in np.unique(gold, return_inverse=True)[1].tolist()])}
    return [MetricFamily(("vus",), lambda weights: [compute_volume(weights)], sizes=size, most=size)]


def volume_under_roc_surface(gold: npt.NDArray[Any], scores: Floats) -> Callable[[Floats], float]:
    """Return a function of weights for the volume under the ROC surface; NaN where a class has no weight."""
    order = np.argsort(scores, kind="stable")
    numbers = scores[order]
    starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1]))
    present, classes = np.unique(gold, return_inverse=True)
    # A column per class and a row per answer, in the order of the numbers.
    is_class = classes[order][:, None] == np.arange(len(present))

    def compute(weights: Floats) -> float:
        ties = np.add.reduceat(weights[order][:, None] * is_class, starts, axis=0)
        sizes = ties.sum(axis=0)
        if not sizes.all():
            return np.nan
        choices = float(sizes.prod())
        # Counts are exact as long as they fit; shares do not overflow.
        return _count_chains(ties) / choices if choices < _EXACT else _count_chains(ties / sizes)

    return compute


def _count_chains(ties: Floats) -> float:
    """Return how many choices of one answer per class are in the right order; given shares, their share.

    `ties` are the answers of each class at each distinct number, shape (numbers, classes), numbers ascending.
    """
    # For each number, the count of chains of the first k classes that end before it.
    before = [np.ones(len(ties))]
    ending = np.zeros(len(ties))
    for upto in range(1, ties.shape[1] + 1):
        ending = np.zeros(len(ties))
        product = np.ones(len(ties))
        for tied in range(1, upto + 1):
            # The last `tied` classes of the chain stand at this number, where one of their tied! orders is right.
            product = product * ties[:, upto - tied] / tied
            ending += before[upto - tied] * product
        before.append(np.cumsum(ending) - ending)
    return float(ending.sum())


TOP = 5
"""Number of answers to a factoid question that BioASQ takes into account (Tsatsaronis et al. 2015, BMC Bioinformatics
16:138, table 14)."""


def measure_rankings(gold: Sequence[Collection[str]], predicted: Sequence[Sequence[str]]) -> list[MetricFamily]:
    """Measure ranked lists: is the first answer right, is one of the first five, and at which rank.

    `strict-accuracy` is the share of questions whose first answer is right, `lenient-accuracy` of those with a right
    one among the first 5, `mrr` the mean of 1 / rank of the first right one, 0 where none of the 5 is. An answer is
    right if it equals one of the right ones (one thing with its synonyms), ignoring case and surrounding white space.
    """
    rows: list[tuple[float, float, float]] = []
    for right, answers in zip(gold, predicted, strict=True):
        known = {_fold(answer) for answer in right}
        rank = next((rank for rank, answer in enumerate(answers[:TOP], 1) if _fold(answer) in known), None)
        rows.append((float(rank == 1), float(rank is not None), 1 / rank if rank else 0.0))
    return [average_over_answers(("strict-accuracy", "lenient-accuracy", "mrr"), rows)]


def _fold(answer: str) -> str:
    return answer.strip().casefold()


def measure_grades(gold: Sequence[float], predicted: Sequence[float], scale: RatingScale) -> list[MetricFamily]:
    """Measure how near grades come to the right ones: `edrm`.

    EDRM ("exactitude en distance relative à la solution moyenne") is the mean of 1 - |right - given| / the largest
    distance that a grade on the scale can have from the right one: 1 where all are right, 0 where each is as wrong as
    possible. The measure of the French evaluation DEFT 2020 (Cardon et al. 2020) for graded similarity of medical
    sentences, as computed by DrBenchmark (Labrak et al. 2024), which first cuts what lies beyond the scale off at its
    ends.
    """
    rows: list[tuple[float]] = []
    for right, given in zip(gold, predicted, strict=True):
        farthest = max(right - scale.low, scale.high - right)
        rows.append((1 - abs(right - min(max(given, scale.low), scale.high)) / farthest,))
    return [average_over_answers(("edrm",), rows)]
