"""Results of models on closed questions: accuracy, answers that could not be read, and effects of option order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.closed.choices import READINGS
from imapeval.study.intervals import ends_of
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.intervals.shares import share_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.logs import ClosedAnswer

_Question = tuple[str, frozenset[str]]
"""The text of a question, and the set of its options."""


@dataclass(frozen=True, slots=True)
class ModelResult:
    """One model on one task.

    Attributes:
        items: Number of questions.
        runs: Number of runs of the model.
        accuracy: Share of right answers; an answer without a choice counts as wrong.
        low, high: Bounds of its 95% interval: Wilson's, or from the jackknife over questions or groups if there are
            several runs or groups; None with fewer than two.
        accuracy_of_read: Share of right answers among those with a choice; None if there are none.
        readings: Number of answers by how they were read (`imapeval.study.closed.choices`); those with 0 are left out.
        by_log: Mean of each metric in the log.
        always_one: Accuracy of always choosing the option that is right most often.
        guessing: Expected accuracy of guessing; None where the number of options is not known.
    """

    task: str
    model: str
    items: int
    runs: int
    accuracy: float
    low: float | None
    high: float | None
    accuracy_of_read: float | None
    readings: dict[str, int]
    by_log: dict[str, float]
    always_one: float
    guessing: float | None


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """One model on questions whose options were shown in several orders.

    Attributes:
        items: Number of questions with several orders.
        pairs: Number of pairs of answers to the same question in different orders, where both choose an option.
        same_option: Share of pairs that choose the same option.
        same_place: Share of pairs that choose the same position, and so another option.
        by_place: Accuracy by position of the right option, counted from 1; positions that never occur are absent.
        by_order: Accuracy by order of the options: "2 1 3" shows the second option first, numbered in the order in
            which the question was first seen.
    """

    task: str
    model: str
    items: int
    pairs: int
    same_option: float | None
    same_place: float | None
    by_place: dict[int, float]
    by_order: dict[str, float]


def summarise_models(answers: Sequence[ClosedAnswer]) -> list[ModelResult]:
    """Summarise every model on every task, in the order of the answers."""
    parts: dict[tuple[str, str], list[ClosedAnswer]] = {}
    for answer in answers:
        parts.setdefault((answer.task, answer.model), []).append(answer)
    return [_summarise(task, model, part) for (task, model), part in parts.items()]


def _summarise(task: str, model: str, answers: Sequence[ClosedAnswer]) -> ModelResult:
    right = [float(answer.right or False) for answer in answers]
    counts = Counter(answer.choice.reading for answer in answers)
    read = [answer.right for answer in answers if answer.right is not None]
    clusters = number_clusters([answer.group or (answer.item,) for answer in answers])
    low, high = ends_of(share_interval(np.array(right), clusters))
    names = dict.fromkeys(name for answer in answers for name in answer.scores)
    by_item = {answer.item: answer for answer in answers}.values()
    golds = Counter(
        right
        for answer in by_item
        for right in ([answer.gold] if answer.every else [frozenset({label}) for label in answer.gold])
    )
    # Of all non-empty sets of options, one is right.
    sizes = [
        1 / (2 ** len(answer.labels) - 1) if answer.every else len(answer.gold) / len(answer.labels)
        for answer in by_item
        if answer.labels
    ]
    return ModelResult(
        task,
        model,
        items=len(by_item),
        runs=len({answer.run for answer in answers}),
        accuracy=fmean(right),
        low=low,
        high=high,
        accuracy_of_read=fmean(read) if read else None,
        readings={name: counts[name] for name in READINGS if counts[name]},
        by_log={name: fmean(a.scores[name] for a in answers if name in a.scores) for name in names},
        always_one=max(golds.values()) / len(by_item) if golds else 0.0,
        guessing=fmean(sizes) if len(sizes) == len(by_item) else None,
    )


def measure_order_effects(answers: Sequence[ClosedAnswer]) -> list[OrderEffect]:
    """Measure how the position of an option affects the choice, for models whose log has several orders of a question.

    Two answers are to the same question if its text and the set of its options are the same.
    """
    parts: dict[tuple[str, str], dict[_Question, list[ClosedAnswer]]] = {}
    first: dict[tuple[str, _Question], tuple[str, ...]] = {}
    for answer in answers:
        if len(set(answer.options)) == len(answer.options) > 1:
            question = answer.question or answer.item, frozenset(answer.options)
            first.setdefault((answer.task, question), answer.options)
            parts.setdefault((answer.task, answer.model), {}).setdefault(question, []).append(answer)
    found: list[OrderEffect] = []
    for (task, model), questions in parts.items():
        several = [
            (first[task, question], part)
            for question, part in questions.items()
            if len({answer.options for answer in part}) > 1
        ]
        if several:
            found.append(_measure_order(task, model, several))
    return found


def _measure_order(
    task: str, model: str, questions: Sequence[tuple[tuple[str, ...], Sequence[ClosedAnswer]]]
) -> OrderEffect:
    pairs = [
        (_place_of(one) == _place_of(other), _option_of(one) == _option_of(other))
        for _, answers in questions
        for one, other in combinations([answer for answer in answers if answer.choice.label is not None], 2)
        if one.options != other.options
    ]
    by_place: dict[int, list[float]] = {}
    by_order: dict[str, list[float]] = {}
    for first, answer in ((first, answer) for first, answers in questions for answer in answers):
        right = float(answer.right or False)
        by_order.setdefault(" ".join(str(first.index(option) + 1) for option in answer.options), []).append(right)
        for label in answer.gold:
            by_place.setdefault(answer.labels.index(label) + 1, []).append(right)
    return OrderEffect(
        task,
        model,
        items=len(questions),
        pairs=len(pairs),
        same_option=fmean(same for _, same in pairs) if pairs else None,
        same_place=fmean(place and not option for place, option in pairs) if pairs else None,
        by_place={place: fmean(values) for place, values in sorted(by_place.items())},
        by_order={order: fmean(values) for order, values in sorted(by_order.items())},
    )


def _place_of(answer: ClosedAnswer) -> int:
    return answer.labels.index(answer.choice.label or "")


def _option_of(answer: ClosedAnswer) -> str:
    return answer.options[_place_of(answer)]
