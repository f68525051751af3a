"""One label for each answer, or several; and scores of labels, by scikit-learn."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from imapeval.study.closed.counting import measure_sets, require_scikit_learn
from imapeval.study.closed.estimate import MetricFamily, mean_over_answers
from imapeval.study.closed.ordinal import volume_under_roc_surface

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set

    import numpy.typing as npt

    from imapeval.study.arrays import Floats

Bools: TypeAlias = "npt.NDArray[np.bool_]"

NO_ANSWER = ""
"""The prediction of one who gave none: it is wrong, and predicts nothing."""


def measure_labels(
    gold: Sequence[str], predicted: Sequence[str], *, scores: Mapping[str, Sequence[float]] | None = None
) -> list[MetricFamily]:
    """Measure single labels: accuracy, precision, recall and F1 (micro, macro, weighted), AUC and PR-AUC.

    `auc` is the area under the ROC curve and `pr-auc` the average precision (scikit-learn's `roc_auc_score` and
    `average_precision_score`), each the mean over the labels that have scores, every label against the rest. In a
    resample it is the mean over those labels that it can tell from others.

    Args:
        gold: The right label of each answer, not empty.
        predicted: The label that was given; `NO_ANSWER` where none was.
        scores: How likely each answer has a label, by label; higher is likelier. For two labels those of one are
            enough.

    Raises:
        MissingExtraError: scikit-learn is not installed.
    """
    families = [
        MetricFamily(("accuracy",), mean_over_answers([[float(a == b)] for a, b in zip(gold, predicted, strict=True)])),
        measure_sets([{label} for label in gold], [{label} - {NO_ANSWER} for label in predicted]),
    ]
    return [*families, _measure_scores(gold, scores)] if scores else families


def measure_label_sets(gold: Sequence[Set[str]], predicted: Sequence[Set[str]]) -> list[MetricFamily]:
    """Measure sets of labels: Hamming loss, exact-match ratio, precision, recall and F1 (micro, macro, weighted).

    `hamming-loss` is the share of labels that are wrongly there or not there, of all labels that any answer has:
    lower is better. `exact-match-ratio` is the share of answers whose set is right altogether.

    Args:
        gold: The right labels of each answer.
        predicted: Those that were given.

    Raises:
        MissingExtraError: scikit-learn is not installed.
        ValueError: No answer has a label.
    """
    labels = set[str]().union(*gold, *predicted)
    if not labels:
        raise ValueError("no answer has a label")
    wrong = [len(right ^ given) / len(labels) for right, given in zip(gold, predicted, strict=True)]
    return [
        MetricFamily(
            ("hamming-loss", "exact-match-ratio"), mean_over_answers([(loss, float(not loss)) for loss in wrong])
        ),
        measure_sets(gold, predicted),
    ]


def _measure_scores(gold: Sequence[str], scores: Mapping[str, Sequence[float]]) -> MetricFamily:
    metrics = require_scikit_learn()
    columns = [(np.array([label == right for right in gold]), np.array(column)) for label, column in scores.items()]
    names = ("auc", "pr-auc")
    for label, (is_label, _) in zip(scores, columns, strict=True):
        if is_label.all() or not is_label.any():
            reason = f"{'every' if is_label.all() else 'no'} answer is {label!r}: there is nothing to tell apart"
            return MetricFamily(names, lambda weights: [np.nan, np.nan], undefined=dict.fromkeys(names, reason))
    areas = [
        (volume_under_roc_surface(is_label, column), _weigh_precision(is_label, column)) for is_label, column in columns
    ]

    def weigh(weights: Floats) -> Sequence[float]:
        found = [(under_roc(weights), precision(weights)) for under_roc, precision in areas]
        told = [pair for pair in found if not np.isnan(pair).any()]
        return [fmean(column) for column in zip(*told, strict=True)] if told else [np.nan, np.nan]

    values = {
        name: fmean(float(compute(is_label, column)) for is_label, column in columns)
        for name, compute in zip(names, (metrics.roc_auc_score, metrics.average_precision_score), strict=True)
    }
    return MetricFamily(names, weigh, values)


def _weigh_precision(is_label: Bools, scores: Floats) -> Callable[[Floats], float]:
    """Return the weighing of average precision; NaN where no answer with the label has a weight."""
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(scores[order]) != 0))

    def weigh(weights: Floats) -> float:
        ordered = weights[order]
        both = np.add.reduceat(ordered * is_label[order], starts)
        above = np.add.reduceat(ordered, starts).cumsum()
        if not both.any():
            return np.nan
        # Precision at each distinct score, by how much recall grows there.
        return float((both.cumsum() / np.maximum(1.0, above)) @ both / both.sum())

    return weigh
