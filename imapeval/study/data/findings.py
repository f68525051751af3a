"""Names and results that many statistics of a study share: levels, units, coefficients and comparisons.

Each other result is a type in the module that computes it; `study.summary.compute.Study` holds them all.

An undefined number is None, and `reason` says why; nothing is dropped silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ALL = "*"
"""Stands for the system or the dimension in a row that averages over all of them."""

Level = Literal["global", "within-system", "within-question", "system"]
"""What is correlated with what (Deutsch et al. 2021, "A Statistical Analysis of Summarization Evaluation Metrics
Using Resampling Methods"):

- global: all answers together;
- within-system: the answers of one system, then the mean over systems;
- within-question: the answers of all systems to one question, then the mean over questions;
- system: the systems' mean scores with their mean ratings.
"""

Units = Literal["questions", "systems", "both"]
"""The sampled units, and so what intervals generalise to: these systems on other questions, other systems on these
questions, or other systems on other questions."""

MIN_SYSTEMS = 6
"""Minimum number of systems for an interval at level "system" and for one about other systems. Questions resampled
under fewer systems often order them all alike, so that an interval would have no width; and a test that swaps the
scores of whole systems has, with five of them, no two-sided p below 2^-4."""

CoefficientName: TypeAlias = str
"""One of `correlation.coefficients.all_coefficients`.

`pairwise_accuracy` is Deutsch, Foster and Freitag 2023 (with tie calibration), `soft_pairwise_accuracy` Thompson,
Mathur, Deutsch and Khayrallah 2024 (system level only)."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """One coefficient of one metric.

    Attributes:
        system: System that gave the answers; `ALL` in a mean, and where systems are taken together.
        dimension: The rating dimension; `ALL` in a mean over them.
        value: The coefficient, -1..1 (accuracies 0..1); None if it is undefined.
        low, high: Bounds of the 95% interval; None if the value is None or there is only one question.
        n: Number of answers with a rating and a score; at level "system", of systems that have any.
        n_missing: Number of answers with a rating and no score.
        reason: Why there is no value; in a mean also how many coefficients were undefined and left out.
        level: How answers were grouped.
        groups: Number of coefficients in a mean; 1 for a single coefficient.
        questions: Number of different questions among the n answers, which are drawn by question.
        epsilon: Tie threshold of a pairwise accuracy: scores that differ by no more count as tied (tie calibration).
        interval: Method: "bca" (bootstrap), "bootstrap" (percentiles, between systems) or "jackknife" (infinitesimal,
            of many answers); None without one.
        simultaneous_low, simultaneous_high: Bounds of the 95% intervals that hold for all metrics at once, so also for
            the one chosen for having the highest coefficient.
        units: What the intervals treat as the sample.
        error: Standard error over questions, by the infinitesimal jackknife; None where the value is None, with only
            one question, and at level "system".
        undefined: Share of the resamples in which the coefficient, or one in the mean, is undefined, as where all
            ratings drawn are equal, 0..1; None without resamples.
    """

    metric: str
    system: str
    dimension: str
    coefficient: CoefficientName
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_missing: int
    reason: str | None = None
    level: Level = "within-system"
    groups: int = 1
    questions: int = 0
    epsilon: float | None = None
    interval: str | None = None
    simultaneous_low: float | None = None
    simultaneous_high: float | None = None
    units: Units = "questions"
    error: float | None = None
    undefined: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two metrics on the same answers.

    Attributes:
        level, dimension, coefficient: What was compared; `dimension` is `ALL` for the mean over them.
        first_value, second_value: The coefficients on the answers that both scored; None where undefined.
        difference: The first minus the second.
        low, high: Bounds of the difference's 95% interval.
        interval: Method: "jackknife", "bootstrap" (of systems' means), "zou" (with williams and steiger).
        test: One of "williams", "steiger", "perm-inputs", "boot-inputs", "perm-systems".
        p: Two-sided p-value, above 0.
        p_adjusted: The p-value after Holm's correction over the table that the row belongs to.
        n: Number of answers that were rated and that both metrics scored; at the level of systems, the systems that
            gave them.
        questions: Number of different questions among them.
        reason: Why there is no result, or a caveat.
        sentence: The result in plain words.
        first_rank, second_rank: The metrics' ranks in the table of the dimension, 1 for the best; metrics that share
            one do not differ significantly. None where not all pairs were compared.
        first_as_good, second_as_good: Whether that metric is shown to be worse than the other by less than the margin,
            or not at all. None without a margin or an interval.
        unsettled: Whether `p_adjusted` is so near the significance level that another seed may put it on the other
            side.
    """

    first: str
    second: str
    level: Level
    dimension: str
    coefficient: CoefficientName
    first_value: float | None = None
    second_value: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    interval: str = ""
    test: str = ""
    p: float | None = None
    p_adjusted: float | None = None
    n: int = 0
    questions: int = 0
    reason: str | None = None
    sentence: str = ""
    first_rank: int | None = None
    second_rank: int | None = None
    first_as_good: bool | None = None
    second_as_good: bool | None = None
    unsettled: bool = False
