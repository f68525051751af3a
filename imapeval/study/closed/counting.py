"""Precision, recall and F1 by scikit-learn, in three averages, of what answers hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval._optional import require
from imapeval.study.closed.estimate import MetricFamily

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence, Set

    from imapeval.study.arrays import Floats

AVERAGES = ("micro", "macro", "weighted")

NAMES = tuple(f"{measure}-{average}" for average in AVERAGES for measure in ("precision", "recall", "f1"))

_NONE = 0
"""The number of no label."""


def require_scikit_learn() -> Any:
    """Return scikit-learn's metrics.

    Raises:
        MissingExtraError: It is not installed.
    """
    return require(
        "sklearn.metrics", distribution="scikit-learn", extra="closed", needed_for="Metrics of closed answers"
    )


def measure_sets(
    gold: Sequence[Set[Hashable]], predicted: Sequence[Set[Hashable]], *, label: Callable[..., str] = str
) -> MetricFamily:
    """Return precision, recall and F1 of what each answer holds: a label, several, or entities.

    "micro" counts all labels as one; "macro" is the mean over the labels that gold or prediction have, in a resample
    over those that it has; "weighted" the mean by how often gold has them. A label that is never predicted has a
    precision of 0, one that gold never has a recall of 0: the conventions of scikit-learn and seqeval.

    Args:
        gold: What is right, by answer.
        predicted: What was given, by answer.
        label: The label of a thing that an answer holds; its own where things are labels.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    metrics = require_scikit_learn()
    codes: dict[str, int] = {}
    items: list[tuple[int, int, int]] = []
    for row, (right, given) in enumerate(zip(gold, predicted, strict=True)):
        for thing in sorted(right | given, key=str):  # sums do not depend on the order of a set then
            code = codes.setdefault(label(thing), len(codes) + 1)
            # Each thing is an item of its own, without a label on the side that lacks it.
            items.append((code if thing in right else _NONE, code if thing in given else _NONE, row))
    expected, found, rows = np.array(items, dtype=np.int64).reshape(-1, 3).T
    labels = list(codes.values())

    def weigh(weights: Floats) -> Sequence[float]:
        of_items = weights[rows]
        hits = np.where(expected == found, of_items, 0.0)
        sizes = [
            np.bincount(side, weights=share, minlength=len(labels) + 1)[1:].astype(np.float64)
            for side, share in ((found, hits), (found, of_items), (expected, of_items))
        ]
        return _average(*sizes)

    if not labels:
        reason = "nothing is right in any answer, and nothing was given"
        return MetricFamily(NAMES, weigh, undefined=dict.fromkeys(NAMES, reason))
    values = [
        float(value)
        for average in AVERAGES
        for value in metrics.precision_recall_fscore_support(
            expected, found, labels=labels, average=average, zero_division=0
        )[:3]
    ]
    return MetricFamily(NAMES, weigh, dict(zip(NAMES, values, strict=True)))


def _average(hits: Floats, predicted: Floats, actual: Floats) -> list[float]:
    """Return the values of `NAMES` of the counts by label."""
    present = predicted + actual > 0
    shares = np.where(present, 1.0, 0.0), actual
    micro = _rate(*(side.sum(keepdims=True) for side in (hits, predicted, actual)))[:, 0]
    by_label = _rate(hits, predicted, actual)
    means = [by_label @ share / max(1.0, share.sum()) for share in shares]
    return [float(value) for values in (micro, *means) for value in values]


def _rate(hits: Floats, predicted: Floats, actual: Floats) -> Floats:
    """Return precision, recall and F1 of each label, shape (3, labels); 0 where there is nothing to divide by."""
    parts = ((hits, predicted), (hits, actual), (2 * hits, predicted + actual))
    return np.array([some / np.where(of > 0, of, 1.0) for some, of in parts])
