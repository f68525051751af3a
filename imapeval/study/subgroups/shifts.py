"""How far a metric's scores shift where an answer stays the same and something else is altered.

What raters find cannot have changed, so any shift of the mean is a bias: towards the text that comes first, if the two
texts were exchanged, or towards what the question suggests, if a user's opinion was added to it. Pairs of scores of one
answer are compared, which needs no ratings. Exchanging what a judge sees is how position bias is measured (Zheng et al.
2023, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, section 3.3), adding an opinion to the question how
sycophancy is (Sharma et al. 2024, Towards Understanding Sycophancy in Language Models, section 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.arrays import EQUAL
from imapeval.study.intervals import CONFIDENCE
from imapeval.study.intervals.bootstrap import RESAMPLES, mean_interval
from imapeval.study.number_format import format_decimal, format_interval, write_decimal
from imapeval.study.subgroups.bias import MIN_QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class Shift:
    """How a metric scores the same answers before and after an alteration.

    Attributes:
        alteration: What was altered, in the user's word.
        difference: Mean of the altered score less the original one, in the metric's units; negated if low scores are
            good. None if undefined.
        low, high: Ends of its 95% interval, a bootstrap over questions; None if no score changed,
            or if the mean changes of all questions are equal.
        standardised: The difference in standard deviations of the original scores; None if these are constant.
        raised, lowered: Shares of the answers whose score rose, and fell.
        shown: Whether the interval excludes 0 after Bonferroni's correction for the alterations.
        n: Answers with a score in both runs.
        questions: Different questions among them.
        reason: Why there is no difference; else None.
        sentence: The finding in words.
    """

    metric: str
    alteration: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    standardised: float | None = None
    raised: float | None = None
    lowered: float | None = None
    shown: bool = False
    n: int = 0
    questions: int = 0
    reason: str | None = None
    sentence: str = ""


def measure_shifts(
    rated: Rated,
    altered: Mapping[str, Mapping[str, Mapping[str, float]]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Shift]:
    """Measure how far each alteration shifts each metric.

    `altered` has the scores of the same answers by alteration, metric and id.

    Raises:
        UsageError: An alteration has no metric of `rated`.
    """
    rows: list[Shift] = []
    for alteration, by_metric in altered.items():
        metrics = [metric for metric in rated.metrics if metric in by_metric]
        if not metrics:
            raise UsageError(
                f"the run of {alteration!r} has none of the metrics {', '.join(rated.metrics)}, but "
                f"{', '.join(by_metric) or 'no scores'}. Score it with the same metrics."
            )
        for metric in metrics:
            found = by_metric[metric]
            sign = -1.0 if metric in rated.lower_is_better else 1.0
            scores = sign * np.array([found.get(name, np.nan) for name in rated.ids])
            row = Shift(metric, alteration)
            rows.append(_measure(row, rated, scores, tests=len(altered), seed=seed, resamples=resamples))
    return rows


def _measure(row: Shift, rated: Rated, altered: np.ndarray, *, tests: int, seed: int, resamples: int) -> Shift:
    original = rated.scores_of(row.metric)
    there = np.flatnonzero(np.isfinite(original) & np.isfinite(altered))
    original, changes = original[there], (altered - original)[there]
    changes[np.abs(changes) <= EQUAL] = 0.0
    questions: list[int] = rated.questions[there].tolist()
    row = replace(row, n=len(there), questions=len(set(questions)))
    if row.questions < MIN_QUESTIONS:
        return _conclude(replace(row, reason=f"{row.questions} questions are fewer than {MIN_QUESTIONS}"))
    # What the deviations of equal scores have is rounding.
    spread = float(original.std(ddof=1)) if np.ptp(original) else 0.0
    row = replace(
        row,
        difference=float(changes.mean()),
        standardised=float(changes.mean()) / spread if spread else None,
        raised=float((changes > 0).mean()),
        lowered=float((changes < 0).mean()),
    )
    if not changes.any():
        return _conclude(row)
    interval, corrected = (
        mean_interval(
            changes, seed=seed, clusters=questions, differences=True, confidence=confidence, resamples=resamples
        )
        for confidence in (CONFIDENCE, 1 - (1 - CONFIDENCE) / tests)
    )
    if interval is None or corrected is None:
        # All questions' mean changes are equal, and may be 0.
        return _conclude(replace(row, shown=abs(float(changes.mean())) > EQUAL))
    shown = corrected.low > 0 or corrected.high < 0
    return _conclude(replace(row, low=interval.low, high=interval.high, shown=shown))


def _conclude(row: Shift) -> Shift:
    if row.difference is None:
        return replace(row, sentence=f"{row.metric}, {row.alteration}: not measured, {row.reason}.")
    found = format_decimal(row.difference)
    if row.low is not None and row.high is not None:
        found += f" [{format_interval(row.low, row.high, digits=3, write=write_decimal)}]"
    if row.shown:
        how = "higher" if row.difference > 0 else "lower"
        said = f"{row.metric}, {row.alteration}: the same answers score {how} ({found})."
    elif not (row.raised or row.lowered):
        said = f"{row.metric}, {row.alteration}: every answer has the same score."
    else:
        said = f"{row.metric}, {row.alteration}: no shift is shown ({found})."
    return replace(row, sentence=said)
