"""Metrics of labels, sets of labels and tag sequences; values equal those of scikit-learn and seqeval.

The jackknife and permutations would take too many calls of these libraries, of milliseconds each.
"""

from __future__ import annotations

import warnings
from operator import itemgetter
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from imapeval._optional import require
from imapeval.study.closed.metrics.estimate import MetricFamily, average_over_answers, count_effective
from imapeval.study.closed.metrics.ordinal import volume_under_roc_surface

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set

    from imapeval.study.arrays import Flags, Floats


NO_ANSWER = ""
"""The prediction where none was given: it counts as wrong, and as no label."""


def write_number(value: float) -> str:
    """Return a number or boolean as CSV has it: "true", "1" also for 1.0, which Parquet has where cells are empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def match_labels(predicted: Iterable[str], gold: Iterable[str]) -> list[str]:
    """Return predictions with 1.0 as 1 where that is a right label: pandas writes 1.0 in a column with gaps."""
    known = frozenset(gold)
    return [
        text[:-2] if text.endswith(".0") and text not in known and text[:-2] in known else text for text in predicted
    ]


def measure_labels(
    gold: Sequence[str], predicted: Sequence[str], *, scores: Mapping[str, Sequence[float]] | None = None
) -> list[MetricFamily]:
    """Measure single labels: accuracy, precision, recall and F1 (micro, macro, weighted), AUC and PR-AUC.

    `auc` is the area under the ROC curve and `pr-auc` the average precision (scikit-learn's `roc_auc_score` and
    `average_precision_score`), each the mean over the labels that have scores (higher is likelier), every label against
    the rest; with two labels, scores of one are enough. They are undefined where a label has scores but no answer, or
    every answer, has the label. A missing prediction is `NO_ANSWER`.
    """
    families = [
        average_over_answers(("accuracy",), [[float(a == b)] for a, b in zip(gold, predicted, strict=True)]),
        measure_sets([{label} for label in gold], [{label} - {NO_ANSWER} for label in predicted]),
    ]
    return [*families, _measure_scores(gold, scores)] if scores else families


def measure_label_sets(gold: Sequence[Set[str]], predicted: Sequence[Set[str]]) -> list[MetricFamily]:
    """Measure sets of labels: Hamming loss, exact-match ratio, precision, recall and F1 (micro, macro, weighted).

    `hamming-loss` is the share of wrongly present or absent labels, among all labels that any answer has: lower is
    better. `exact-match-ratio` is the share of answers whose whole set is right.

    Raises:
        ValueError: No answer has a label.
    """
    labels = set[str]().union(*gold, *predicted)
    if not labels:
        raise ValueError("no answer has a label")
    wrong = [len(right ^ given) / len(labels) for right, given in zip(gold, predicted, strict=True)]
    return [
        average_over_answers(("hamming-loss", "exact-match-ratio"), [(loss, float(not loss)) for loss in wrong]),
        measure_sets(gold, predicted),
    ]


def _measure_scores(gold: Sequence[str], scores: Mapping[str, Sequence[float]]) -> MetricFamily:
    columns = [(np.array([label == right for right in gold]), np.array(column)) for label, column in scores.items()]
    names = ("auc", "pr-auc")
    for label, (is_label, _) in zip(scores, columns, strict=True):
        if is_label.all() or not is_label.any():
            reason = f"{'every' if is_label.all() else 'no'} answer is {label!r}: there is nothing to tell apart"
            return MetricFamily(names, lambda weights: [np.nan, np.nan], undefined=dict.fromkeys(names, reason))
    areas = [
        (volume_under_roc_surface(is_label, column), _average_precision(is_label, column))
        for is_label, column in columns
    ]

    def compute(weights: Floats) -> Sequence[float]:
        found = [(under_roc(weights), precision(weights)) for under_roc, precision in areas]
        defined = [pair for pair in found if not np.isnan(pair).any()]
        return [fmean(column) for column in zip(*defined, strict=True)] if defined else [np.nan, np.nan]

    number = {label: place for place, label in enumerate(dict.fromkeys(gold))}
    size: dict[str, float] = dict.fromkeys(names, count_effective([[number[label]] for label in gold]))
    return MetricFamily(names, compute, sizes=size, most=size)


def _average_precision(is_label: Flags, scores: Floats) -> Callable[[Floats], float]:
    """Return a function of weights for average precision; NaN if no answer with the label has positive weight."""
    order = np.argsort(-scores, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(scores[order]) != 0))

    def compute(weights: Floats) -> float:
        ordered = weights[order]
        both = np.add.reduceat(ordered * is_label[order], starts)
        above = np.add.reduceat(ordered, starts).cumsum()
        if not both.any():
            return np.nan
        # Precision at each distinct score, weighted by the increase in recall.
        return float((both.cumsum() / np.maximum(1.0, above)) @ both / both.sum())

    return compute


AVERAGES = ("micro", "macro", "weighted")

NAMES = tuple(f"{measure}-{average}" for average in AVERAGES for measure in ("precision", "recall", "f1"))

_NONE = 0
"""The number that stands for no label."""


def measure_sets(
    gold: Sequence[Set[Hashable]], predicted: Sequence[Set[Hashable]], *, label: Callable[..., str] = str
) -> MetricFamily:
    """Return precision, recall and F1 for answers that hold a label, several labels, or entities.

    "micro" counts all labels as one; "macro" is the mean over the labels that gold or prediction have; "weighted" the
    mean by how often gold has them. A label that is never predicted has a precision of 0, one that gold never has a
    recall of 0: the conventions of scikit-learn and seqeval. `label` returns the label of an item, which by default is
    the item.
    """
    codes: dict[str, int] = {}
    items: list[tuple[int, int, int]] = []
    for row, (right, given) in enumerate(zip(gold, predicted, strict=True)):
        for thing in sorted(right | given, key=str):  # sorted, so that sums do not depend on set order
            code = codes.setdefault(label(thing), len(codes) + 1)
            # Each thing is an item of its own; the side that lacks it gets no label.
            items.append((code if thing in right else _NONE, code if thing in given else _NONE, row))
    expected, found, rows = np.array(items, dtype=np.int64).reshape(-1, 3).T
    labels = list(codes.values())

    def compute(weights: Floats) -> Sequence[float]:
        of_items = weights[rows]
        hits = np.where(expected == found, of_items, 0.0)
        sizes = [
            np.bincount(side, weights=share, minlength=len(labels) + 1)[1:].astype(np.float64)
            for side, share in ((found, hits), (found, of_items), (expected, of_items))
        ]
        return _average(*sizes)

    if not labels:
        reason = "nothing is right in any answer, and nothing was given"
        return MetricFamily(NAMES, compute, undefined=dict.fromkeys(NAMES, reason))

    right_labels = [[codes[label(thing)] for thing in right] for right in gold]
    macro = [name for name in NAMES if name.endswith("macro") and any(gold)]
    answers, things = (count_effective(side) for side in (right_labels, [[one] for own in right_labels for one in own]))
    return MetricFamily(
        NAMES,
        compute,
        # The contents of an answer may be right or wrong together, so if all are right, the answers count.
        sizes=dict.fromkeys(macro, answers),
        most=dict.fromkeys(macro, things),
    )


def _average(hits: Floats, predicted: Floats, actual: Floats) -> list[float]:
    """Return the values of the metrics in `NAMES` from counts by label."""
    present = predicted + actual > 0
    shares = np.where(present, 1.0, 0.0), actual
    micro = _precision_recall_f1(*(side.sum(keepdims=True) for side in (hits, predicted, actual)))[:, 0]
    by_label = _precision_recall_f1(hits, predicted, actual)
    means = [by_label @ share / max(1.0, share.sum()) for share in shares]
    return [float(value) for values in (micro, *means) for value in values]


def _precision_recall_f1(hits: Floats, predicted: Floats, actual: Floats) -> Floats:
    """Return precision, recall and F1 of each label, shape (3, labels); 0 where there is nothing to divide by."""
    parts = ((hits, predicted), (hits, actual), (2 * hits, predicted + actual))
    return np.array([some / np.where(of > 0, of, 1.0) for some, of in parts])


def measure_sequences(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> list[MetricFamily]:
    """Measure tagged sequences: entity-level precision, recall and F1 (micro, macro, weighted over types).

    An entity is right where its type, its first and its last token are. Tags are `O` or a letter of B, I, E, S, a
    hyphen and a type, such as `B-DRUG`; an entity may begin with I, as seqeval's default mode allows. Intervals treat
    whole sequences as the units.

    Raises:
        MissingExtraError: seqeval is not installed.
        ValueError: The lengths of two sequences differ.
    """
    labelling: Any = require(
        "seqeval.metrics.sequence_labeling", distribution="seqeval", extra="closed", needed_for="The task 'sequence'"
    )
    for row, (right, given) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(right) != len(given):
            raise ValueError(f"sequence {row} has {len(right)} right tags and {len(given)} predicted ones")
    with warnings.catch_warnings():
        # seqeval quotes each tag without a letter, as those of parts of speech are, and quotes it unescaped.
        warnings.simplefilter("ignore")
        expected, found = ([_find_entities(labelling, tags) for tags in side] for side in (gold, predicted))
    return [measure_sets(expected, found, label=itemgetter(0))]


def _find_entities(labelling: Any, tags: Sequence[str]) -> set[tuple[str, int, int]]:
    """Return type, first and last token of each entity."""
    # seqeval would take an empty list for a list of sequences.
    return set(labelling.get_entities(list(tags))) if tags else set()
