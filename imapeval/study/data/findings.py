"""Result types of a study: what the statistics return, and what tables, charts and JSON are made of.

An undefined number is None, and `reason` says why; nothing is dropped silently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.study.checklist import ChecklistItem
    from imapeval.study.comparison.raters import AlternativeAnnotator, MetricVsRater, WorthInRaters
    from imapeval.study.correlation.baseline import MetricVsBaseline
    from imapeval.study.data.rated import Rated
    from imapeval.study.subgroups.bias import Bias
    from imapeval.study.subgroups.outlier_systems import WithoutOutliers
    from imapeval.study.subgroups.shifts import Shift

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
"""One of `correlation.coefficients.all_coefficients`: spearman, kendall_tau_b, kendall_tau_c, pearson,
pairwise_accuracy, soft_pairwise_accuracy, pairs_in_order, mediqa_eval, and those of other packages.

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


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement among raters in one dimension, by one statistic.

    Attributes:
        statistic: Name of the statistic, such as "krippendorff_alpha_interval", "icc_2_1", "weighted_kappa_quadratic",
            "exact", "mad".
        value: Value of the statistic; None where it is undefined.
        low, high: Bounds of the 95% interval.
        n: Number of answers used.
        raters: Number of raters used.
        reason: Why there is no value; in a mean also how many coefficients were undefined and left out.
    """

    dimension: str
    statistic: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    raters: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Differences:
    """How far two raters lie apart, in bins of the absolute difference (Wang et al. 2024, their agreement table).

    Attributes:
        first, second: The raters.
        bins: Share of answers in each bin, by the bin's name, in order; they sum to 1.
        mean_absolute: Mean absolute difference, on the rating scale.
        n: Number of answers that both rated.
    """

    dimension: str
    first: str
    second: str
    bins: Mapping[str, float]
    mean_absolute: float
    n: int


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How well a perfect metric could agree with the mean rating of these raters.

    Attributes:
        reliability: Reliability of the mean over raters, at most 1.
        value: The highest coefficient to be expected: the root of the reliability, or the rank coefficient that goes
            with it and with the ratings' frequencies.
        low, high: Bounds of its 95% interval.
        n: Number of answers with two or more raters.
        raters: Mean number of raters per answer.
        reason: Why there is no ceiling, such as that only averages are known.
        level: Level of the coefficients that the ceiling applies to.
    """

    dimension: str
    coefficient: CoefficientName
    reliability: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    raters: float = 0.0
    reason: str | None = None
    level: Level = "global"


@dataclass(frozen=True, slots=True)
class Corrected:
    """A correlation corrected for attenuation: what it would be with ratings without noise.

    Attributes:
        value: The measured correlation; None where it is undefined.
        ceiling: Coefficient that a perfect metric is expected to reach; None where it is unknown.
        corrected: The value divided by the ceiling, which may exceed 1 by chance; None where it is undefined.
        low, high: Bounds of its 95% interval.
        n: Answers with a rating and a score.
        reason: Why there is no corrected value or no interval, or a remark on one above 1.
    """

    metric: str
    dimension: str
    coefficient: CoefficientName
    value: float | None = None
    ceiling: float | None = None
    corrected: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Slice:
    """A metric's coefficient among some of the answers.

    Attributes:
        facet: Property by which the answers are divided: "task", "language", "system", "response characters",
            "compression" ...
        group: The group, or a range of numbers such as "120 to 340".
        dimension: The rating dimension; `ALL` for the mean over them.
        value, low, high, n, reason: As in `Correlation`.
    """

    metric: str
    facet: str
    group: str
    dimension: str
    coefficient: CoefficientName
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Whether a metric's coefficients in the groups of a facet differ by more than chance.

    Attributes:
        metric, facet, dimension, coefficient: As in `Slice`.
        groups: Number of groups that were compared.
        lowest, highest: The smallest and the largest of their coefficients.
        statistic, freedom: The test statistic Q and its degrees of freedom.
        p: The p-value, above 0.
        p_adjusted: The p-value after Holm's correction over the table that the row belongs to.
        n: Number of answers in the groups that were compared.
        reason: Why there is no result.
        sentence: The result in plain words.
    """

    metric: str
    facet: str
    dimension: str
    coefficient: CoefficientName
    groups: int = 0
    lowest: float | None = None
    highest: float | None = None
    statistic: float | None = None
    freedom: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    n: int = 0
    reason: str | None = None
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An answer that a metric and the raters rank very differently.

    Attributes:
        score, rating: Score by the metric and mean rating.
        score_rank, rating_rank: Relative rank among the answers with both, 0 (worst) to 1 (best).
    """

    id: str
    metric: str
    dimension: str
    score: float
    rating: float
    score_rank: float
    rating_rank: float


@dataclass(frozen=True, slots=True)
class MetricMatrix:
    """Correlations among metrics, with similar metrics next to each other.

    Attributes:
        metrics: Names of the m metrics, in the order of the clustering.
        values: Coefficients, m rows of m; None where undefined.
        merges: Merges of the average-linkage clustering, as scipy's `linkage` gives them: (first, second, distance,
            size).
        n: Number of answers that all metrics scored.
        smallest: Smallest number of answers behind a coefficient: those that both of its metrics scored.
    """

    metrics: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    merges: tuple[tuple[int, int, float, int], ...]
    n: int
    coefficient: CoefficientName = "spearman"
    smallest: int = 0


@dataclass(frozen=True, slots=True)
class Study:
    """All results of a study, as shown in a report.

    Attributes:
        rated: The answers.
        signatures: Signatures of the metrics, by name.
        account: Sentences on what was read and what could not be joined.
        correlations, comparisons, agreements, differences, ceilings, corrected, slices, heterogeneities, biases,
            shifts, outliers, disagreements, checklist, baselines, metric_vs_raters, alternative_annotators,
            worth_in_raters: See the types; the last three are for the metrics that agree best.
        matrix: Correlations among the metrics; None with fewer than two.
        level: The level that conclusions are drawn at.
        coefficient: The coefficient that conclusions are drawn from.
        against: The metric that each other one was compared with; None if all pairs were.
        margin: Difference below which coefficients count as equally good; None if none was stated.
        seed, resamples, confidence: Settings of the intervals.
        conclusions: Sentences, the most important first.
    """

    title: str
    rated: Rated
    signatures: Mapping[str, str]
    account: tuple[str, ...]
    correlations: tuple[Correlation, ...]
    comparisons: tuple[Comparison, ...]
    agreements: tuple[Agreement, ...]
    differences: tuple[Differences, ...]
    ceilings: tuple[Ceiling, ...]
    slices: tuple[Slice, ...]
    disagreements: tuple[Disagreement, ...]
    matrix: MetricMatrix | None
    level: Level
    coefficient: CoefficientName
    seed: int
    resamples: int
    confidence: float
    conclusions: tuple[str, ...]
    corrected: tuple[Corrected, ...] = ()
    heterogeneities: tuple[Heterogeneity, ...] = ()
    biases: tuple[Bias, ...] = ()
    shifts: tuple[Shift, ...] = ()
    outliers: tuple[WithoutOutliers, ...] = ()
    checklist: tuple[ChecklistItem, ...] = ()
    against: str | None = None
    margin: float | None = None
    baselines: tuple[MetricVsBaseline, ...] = ()
    metric_vs_raters: tuple[MetricVsRater, ...] = ()
    alternative_annotators: tuple[AlternativeAnnotator, ...] = ()
    worth_in_raters: tuple[WorthInRaters, ...] = ()
