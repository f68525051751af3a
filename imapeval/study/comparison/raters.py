"""Compares metrics with raters: agreement with the other raters, and whether a metric could replace a rater.

Each rater is a metric for the ratings of the others, at the same level and by the same coefficient as the metrics. The
alternative annotator test (Calderon, Reichart and Dror 2025, "The Alternative Annotator Test for LLM-as-a-Judge", ACL)
asks for each rater whether the metric is as near to the other raters as that rater is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from imapeval._optional import require
from imapeval.errors import UsageError
from imapeval.study.agreement.constant_raters import leave_out_constant_raters
from imapeval.study.agreement.noise_ceiling import correct_for_attenuation, find_ceilings
from imapeval.study.agreement.reliability import find_single_reliability
from imapeval.study.arrays import average_known
from imapeval.study.calibration.curve import MIN_QUESTIONS, cross_fit
from imapeval.study.correlation.levels import correlate
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import choose_names
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.number_format import find_digits, write_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.agreement.noise_ceiling import Ceiling
    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.findings import CoefficientName, Correlation, Level
    from imapeval.study.data.rated import Rated

EPSILON = 0.2
"""The advantage that a metric is granted for costing less than a rater: Calderon et al. 2025 propose .2 for experts,
.15 for skilled annotators and .1 for crowd workers."""

FALSE_DISCOVERIES = 0.05
"""False discovery rate over the raters, controlled by the procedure of Benjamini and Yekutieli."""

WINNING_RATE = 0.5
"""Winning rate from which a metric passes: it does no worse than at least half of the raters."""

MIN_RATERS = 3
"""Minimum number of raters: each is compared with at least two others."""

_SMALLEST_WORTH = 0.01
"""Smallest number of raters that is written as a number."""

_RATER = "(rater)"


@dataclass(frozen=True, slots=True)
class MetricVsRater:
    """A rater and a metric, both correlated with the mean rating of the other raters, on the same answers.

    Attributes:
        dimension, level, coefficient: What the correlations are computed for.
        rater_value, metric_value: The coefficients, -1..1; None where they are undefined.
        n: Number of answers with a score, a rating by this rater and one by another.
    """

    dimension: str
    level: Level
    coefficient: CoefficientName
    rater: str
    metric: str
    rater_value: float | None
    metric_value: float | None
    n: int


@dataclass(frozen=True, slots=True)
class AlternativeAnnotator:
    """The alternative annotator test of one metric.

    Attributes:
        raters: Raters that the metric was compared with.
        winning_rate: Share of these for whom the metric, granted `epsilon`, is at least as near to the others; None if
            there are none.
        advantage: Mean share of the answers on which the metric is at least as near to the other raters; None if there
            are none.
        p_values: Uncorrected p-values by rater.
        passed: Whether the winning rate is at least `WINNING_RATE`.
        n: Answers with a score and a rating.
        reason: Why there is no result; else None.
    """

    metric: str
    dimension: str
    raters: int
    winning_rate: float | None
    advantage: float | None
    p_values: dict[str, float]
    passed: bool
    n: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class WorthInRaters:
    """The number of raters whose mean would correlate with the true quality of answers as well as a metric does.

    Attributes:
        raters: The number, not rounded: 0 where the correlation with the quality is not above 0, `math.inf` for a
            metric without error. None if it is undefined.
        low, high: Ends of its 95% interval.
        reason: Why there is no number or interval; else None.
    """

    metric: str
    dimension: str
    raters: float | None
    low: float | None
    high: float | None
    reason: str | None = None


def compare_with_raters(
    rated: Rated,
    *,
    metrics: Sequence[str] | None = None,
    coefficient: CoefficientName = "spearman",
    level: Level = "within-system",
) -> list[MetricVsRater]:
    """Correlate each rater, and each metric, with the mean rating of the others.

    Returns:
        A row per metric, for each dimension and rater.

    Raises:
        UsageError: The ratings of single raters are not known, or a name is unknown.
    """
    names = choose_names("metric", metrics, rated.metrics)
    _require_raters(rated)
    rows: list[MetricVsRater] = []
    for dimension in rated.dimensions:
        for place, rater in enumerate(rated.raters):
            own, others = _split_rater(rated.by_rater[dimension], place)
            answers = [
                np.flatnonzero(np.isfinite(own) & np.isfinite(others) & np.isfinite(rated.scores_of(metric)))
                for metric in names
            ]
            # Metrics that scored the same answers share the ranks of the ratings.
            found: dict[bytes, list[Correlation]] = {}
            for used in answers:
                alike = [metric for metric, theirs in zip(names, answers, strict=True) if np.array_equal(theirs, used)]
                if len(used) == 0 or used.tobytes() in found:
                    continue
                together = replace(
                    rated.take(used),
                    metrics=(_RATER, *alike),
                    scores=np.column_stack([own[used], *(rated.scores_of(metric)[used] for metric in alike)]),
                    dimensions=(dimension,),
                    ratings=others[used, None],
                    lower_is_better=frozenset(),
                    by_rater={},
                )
                found[used.tobytes()] = correlate(together, coefficients=(coefficient,), levels=(level,), resamples=1)
            rows += [
                MetricVsRater(
                    dimension,
                    level,
                    coefficient,
                    rater,
                    metric,
                    _take_value(found[used.tobytes()], _RATER),
                    _take_value(found[used.tobytes()], metric),
                    len(used),
                )
                for metric, used in zip(names, answers, strict=True)
                if len(used)
            ]
    return rows


def run_alternative_annotator_test(
    rated: Rated, *, metrics: Sequence[str] | None = None, epsilon: float = EPSILON, seed: int = 0
) -> list[AlternativeAnnotator]:
    """Test whether each metric could stand in for a rater.

    For each rater: on how many answers is the metric at least as near to the other raters (root mean square difference)
    as the rater is? The difference of the two shares, less epsilon, is tested by a one-sided t-test, with answers to
    one question as one observation. p-values are corrected over raters by Benjamini and Yekutieli 2001. A metric is
    first put on the raters' scale by an isotonic curve that is fitted to the mean ratings of the answers to other
    questions (`cross_fit`). `epsilon`, 0..1, is the advantage granted to the metric.

    Raises:
        UsageError: The ratings of single raters are not known, or epsilon is out of range.
        MissingExtraError: scipy is not installed.
    """
    names = choose_names("metric", metrics, rated.metrics)
    _require_raters(rated)
    if not 0 <= epsilon <= 1:
        raise UsageError(f"epsilon lies between 0 and 1, not at {epsilon:g}.")
    return [
        _test_metric(rated, metric, dimension, epsilon=epsilon, seed=seed)
        for dimension in rated.dimensions
        for metric in names
    ]


def count_worth(
    rated: Rated, *, metrics: Sequence[str] | None = None, ceilings: Sequence[Ceiling] | None = None
) -> list[WorthInRaters]:
    """Return how many raters each metric is worth for telling better answers from worse ones.

    With R the metric's correlation with the true quality (Pearson's r over all answers, corrected for the noise of the
    ratings) and p the reliability of one rating, the mean of k raters correlates with it by the root of
    k p / (1 + (k - 1) p) (Spearman and Brown), so k = R^2 (1 - p) / (p (1 - R^2)). The interval reflects the
    uncertainty of R alone; p is treated as known. Ceilings (`find_ceilings`) are computed if they are not given.

    Raises:
        UsageError: The ratings of single raters are not known, or a name is unknown.
    """
    names = choose_names("metric", metrics, rated.metrics)
    _require_raters(rated)
    ceilings = find_ceilings(rated) if ceilings is None else ceilings
    single: dict[str, float] = {}
    # Those that the reliability of the ceilings is of.
    by_rater = leave_out_constant_raters(rated).by_rater
    for row in ceilings:
        if (row.coefficient, row.level) == ("pearson", "global") and row.reliability is not None:
            single[row.dimension] = find_single_reliability(row.reliability, by_rater[row.dimension])
    rows = correlate(rated, metrics=names, coefficients=("pearson",), levels=("global",))
    found: list[WorthInRaters] = []
    for row in correct_for_attenuation([row for row in rows if row.dimension != ALL], ceilings):
        reliability = single.get(row.dimension)
        if reliability is None or not 0 < reliability < 1:
            reason = "raters always agree, so that one is worth as much as several" if reliability == 1 else row.reason
            found.append(WorthInRaters(row.metric, row.dimension, None, None, None, reason))
            continue
        raters, low, high = (_to_raters(value, reliability) for value in (row.corrected, row.low, row.high))
        found.append(WorthInRaters(row.metric, row.dimension, raters, low, high, row.reason))
    return found


def format_worth(raters: float | None) -> str | None:
    """Format a number of raters, or an end of its interval: "0.55", "12.3", "none" for 0; None stays None."""
    if raters is None:
        return None
    if raters == 0:
        return "none"
    if math.isinf(raters):
        return "no limit"
    if raters < _SMALLEST_WORTH / 2:
        return f"< {_SMALLEST_WORTH}"
    return write_score(raters, find_digits(raters, digits=2))


def _to_raters(correlation: float | None, reliability: float) -> float | None:
    if correlation is None:
        return None
    shared = max(0.0, correlation) ** 2
    if shared >= 1:
        return math.inf
    return shared * (1 - reliability) / (reliability * (1 - shared))


def _test_metric(rated: Rated, metric: str, dimension: str, *, epsilon: float, seed: int) -> AlternativeAnnotator:
    stats = require("scipy.stats", distribution="scipy", extra="study", needed_for="the alternative annotator test")
    nothing = AlternativeAnnotator(metric, dimension, 0, None, None, {}, False, 0)
    scores, table = rated.scores_of(metric), rated.by_rater[dimension]
    if np.isfinite(table).any(axis=0).sum() < MIN_RATERS:
        return replace(nothing, reason=f"fewer than {MIN_RATERS} raters")
    mean = rated.ratings_of(dimension)
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(mean))
    nothing = replace(nothing, n=len(rows))
    questions = number_clusters(rated.questions[rows])
    if int(questions.max(initial=-1)) + 1 < MIN_QUESTIONS:
        return replace(nothing, reason=f"fewer than {MIN_QUESTIONS} questions")
    if np.ptp(scores[rows]) == 0:
        return replace(nothing, reason="all scores are the same")
    scale = rated.scales.get(dimension)
    predicted = cross_fit(scores[rows], mean[rows], questions, method="isotonic", scale=scale, seed=seed)
    p_values, advantages = compare_with_each_rater(
        predicted, table[rows], questions, raters=rated.raters, epsilon=epsilon
    )
    if len(p_values) < MIN_RATERS:
        return replace(nothing, reason=f"fewer than {MIN_RATERS} raters with {MIN_QUESTIONS} questions each")
    adjusted = stats.false_discovery_control(list(p_values.values()), method="by")
    rate = float((adjusted <= FALSE_DISCOVERIES).mean())
    return AlternativeAnnotator(
        metric,
        dimension,
        len(p_values),
        rate,
        float(np.mean(list(advantages.values()))),
        p_values,
        rate >= WINNING_RATE,
        len(rows),
    )


def compare_with_each_rater(
    predicted: Floats, ratings: Floats, questions: Counts, *, raters: Sequence[str], epsilon: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Return p-values and advantages by rater, without raters of fewer than `MIN_QUESTIONS` questions.

    The metric's predictions are on the rating scale; ratings have the shape (n, raters), NaN where a rater did not
    rate; epsilon is that of `run_alternative_annotator_test`.
    """
    stats = require("scipy.stats", distribution="scipy", extra="study", needed_for="the alternative annotator test")
    p_values: dict[str, float] = {}
    advantages: dict[str, float] = {}
    for place, rater in enumerate(raters):
        own, others = ratings[:, place], np.delete(ratings, place, axis=1)
        used = np.flatnonzero(np.isfinite(own) & np.isfinite(others).any(axis=1))
        clusters = number_clusters(questions[used])
        if int(clusters.max(initial=-1)) + 1 < MIN_QUESTIONS:
            continue
        by_metric, by_rater = (np.nanmean((side[used, None] - others[used]) ** 2, axis=1) for side in (predicted, own))
        metric_wins, rater_wins = by_metric <= by_rater, by_rater <= by_metric
        apart = np.bincount(clusters, rater_wins.astype(np.float64) - metric_wins) / np.bincount(clusters)
        advantages[rater] = float(metric_wins.mean())
        # Without spread, t is undefined.
        certain = np.ptp(apart) == 0
        p_values[rater] = (
            float(apart[0] >= epsilon)
            if certain
            else float(stats.ttest_1samp(apart, epsilon, alternative="less").pvalue)
        )
    return p_values, advantages


def _require_raters(rated: Rated) -> None:
    if not rated.by_rater:
        raise UsageError(
            "the ratings do not say who gave them. Give the ratings of single raters, with a column `rater`."
        )


def _split_rater(table: Floats, place: int) -> tuple[Floats, Floats]:
    """Return the ratings of one rater and the means of the others, shape (n,) each; NaN where there are none."""
    others = np.delete(table, place, axis=1)
    return table[:, place], average_known(others, axis=1)


def _take_value(rows: Sequence[Correlation], metric: str) -> float | None:
    """Return the summary value of a metric: the mean over systems if there is one, which comes last."""
    return [row for row in rows if row.metric == metric][-1].value
