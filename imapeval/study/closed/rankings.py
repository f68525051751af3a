"""Ranked answers: strict and lenient accuracy and MRR of BioASQ's factoid questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.study.closed.estimate import MetricFamily, mean_over_answers

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

TOP = 5
"""Answers that BioASQ takes to a factoid question (Tsatsaronis et al. 2015, BMC Bioinformatics 16:138, table 14)."""


def measure_rankings(gold: Sequence[Collection[str]], predicted: Sequence[Sequence[str]]) -> list[MetricFamily]:
    """Measure ranked lists: is the first answer right, is one of the first five, and at which rank.

    `strict-accuracy` is the share of questions whose first answer is right, `lenient-accuracy` of those with a right
    one among the first 5, `mrr` the mean of 1 / rank of the first right one, 0 where none of the 5 is. An answer is
    right where it equals one of the right ones but for case and outer white space.

    Args:
        gold: The right answers of each question: one thing with its synonyms.
        predicted: What was answered, best first; an empty list where nothing was.
    """
    rows: list[tuple[float, float, float]] = []
    for right, answers in zip(gold, predicted, strict=True):
        known = {_fold(answer) for answer in right}
        rank = next((rank for rank, answer in enumerate(answers[:TOP], 1) if _fold(answer) in known), None)
        rows.append((float(rank == 1), float(rank is not None), 1 / rank if rank else 0.0))
    return [MetricFamily(("strict-accuracy", "lenient-accuracy", "mrr"), mean_over_answers(rows))]


def _fold(answer: str) -> str:
    return answer.strip().casefold()
