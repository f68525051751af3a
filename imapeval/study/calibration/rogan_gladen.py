"""Share of right answers, from a binary metric with known error rates (Rogan and Gladen).

A metric that calls answers right or wrong has a sensitivity (share of the truly right ones that it calls right) and a
specificity (share of the truly wrong ones that it calls wrong). The share that it calls right then differs from
the share that is right; Rogan and Gladen 1978 ("Estimating prevalence from the results of a screening test") convert
one into the other. Where both rates are estimated from rated answers, the interval includes their uncertainty: Lang
and Reiczigel 2014 ("Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity").
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share of right answers.

    Attributes:
        value: The share, 0..1; None where the metric does no better than chance.
        low, high: Bounds of its interval, within 0..1.
        apparent: The share that the metric calls right.
        sensitivity, specificity: Estimates for the metric.
        n: Number of answers that the metric called right or wrong.
        note: That the value was clipped to 0 or 1, or why there is none.
    """

    value: float | None
    low: float | None
    high: float | None
    apparent: float
    sensitivity: float
    specificity: float
    n: int
    note: str | None = None


def correct_share(
    called: tuple[int, int], *, hits: tuple[int, int], rejections: tuple[int, int], confidence: float = 0.95
) -> ShareEstimate:
    """Estimate the share of right answers.

    Args:
        called: Number of answers that the metric calls right, and their total. None of these may be among the rated
            ones below: the interval treats the three counts as independent.
        hits: Number of truly right answers that the metric calls right, and the number of truly right ones.
        rejections: Number of truly wrong answers that it calls wrong, and the number of truly wrong ones.
        confidence: Confidence level, above 0 and below 1.

    Raises:
        ValueError: A count is negative or above its total, or a total is 0.
    """
    for name, (count, total) in (("called", called), ("hits", hits), ("rejections", rejections)):
        if not 0 <= count <= total or total == 0:
            raise ValueError(f"{name}: {count} of {total} is not a proportion")
    apparent, sensitivity, specificity = (count / total for count, total in (called, hits, rejections))
    youden = sensitivity + specificity - 1
    if youden <= 0:
        note = (
            f"the metric is no better than chance here: sensitivity {sensitivity:.2f} and specificity "
            f"{specificity:.2f} sum to no more than 1. Choose another threshold or metric"
        )
        return ShareEstimate(None, None, None, apparent, sensitivity, specificity, called[1], note)
    raw = (apparent + specificity - 1) / youden
    value = min(1.0, max(0.0, raw))
    ends = _bound(called, hits, rejections, confidence)
    note = None if raw == value else f"the correction gave {raw:.3f}, which is cut off at {value:g}"
    if ends is None:
        note = "there is no interval: with so few rated answers the metric could be no better than chance"
    low, high = ends or (None, None)
    return ShareEstimate(value, low, high, apparent, sensitivity, specificity, called[1], note)


def _bound(
    called: tuple[int, int], hits: tuple[int, int], rejections: tuple[int, int], confidence: float
) -> tuple[float, float] | None:
    """Return the interval of Lang and Reiczigel 2014, equations 6, 7, 16 and 17; None where it is undefined."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    # Shrunk towards one half: by z squared answers for the share itself, by two answers for the two rates.
    n = called[1] + z**2
    apparent = (called[0] + z**2 / 2) / n
    right, wrong = hits[1] + 2, rejections[1] + 2
    sensitivity, specificity = (hits[0] + 1) / right, (rejections[0] + 1) / wrong
    youden = sensitivity + specificity - 1
    if youden <= 0:
        return None
    value = (apparent + specificity - 1) / youden
    of_right, of_wrong = sensitivity * (1 - sensitivity) / right, specificity * (1 - specificity) / wrong
    shift = 2 * z**2 * (value * of_right - (1 - value) * of_wrong)
    variance = (apparent * (1 - apparent) / n + value**2 * of_right + (1 - value) ** 2 * of_wrong) / youden**2
    low, high = (value + shift + sign * z * sqrt(variance) for sign in (-1, 1))
    return min(1.0, max(0.0, low)), max(0.0, min(1.0, high))


@dataclass(frozen=True, slots=True)
class SystemShare:
    """The share of right answers of one system in one dimension.

    Attributes:
        system: Name of the system.
        dimension: The rating dimension.
        metric: The metric that called the answers right or wrong.
        share: The estimate; None where it is undefined.
        note: Why there is none.
        group: The answers' group, where they were divided; "" for all answers.
    """

    system: str
    dimension: str
    metric: str
    share: ShareEstimate | None
    note: str | None = None
    group: str = ""


def estimate_shares(
    rated: Rated, metric: str, dimension: str, *, right_from: float, score_from: float, confidence: float = 0.95
) -> list[SystemShare]:
    """Estimate the share of right answers of every system.

    Sensitivity and specificity come from the system's rated answers (a metric errs more often with one system than
    with another, so those of other systems do not apply), and the share that the metric calls right comes from the
    unrated ones, so that the two are independent. Answers are assumed to be independent.

    Args:
        rated: All answers, rated or not.
        metric: Name of the metric.
        dimension: The rating dimension.
        right_from: An answer is right when its rating is no lower.
        score_from: The metric calls an answer right when its score is no worse (no higher, if low scores are
            good).
        confidence: Confidence level.
    """
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    threshold = -score_from if metric in rated.lower_is_better else score_from
    called, right = scores >= threshold, ratings >= right_from
    systems = np.array(rated.systems)
    rows: list[SystemShare] = []
    for system in dict.fromkeys(rated.systems):
        theirs = systems == system
        known = theirs & np.isfinite(scores) & np.isfinite(ratings)
        hits = int((known & right & called).sum()), int((known & right).sum())
        rejections = int((known & ~right & ~called).sum()), int((known & ~right).sum())
        open_ = theirs & np.isfinite(scores) & np.isnan(ratings)
        n, counts = int(open_.sum()), int((open_ & called).sum())
        why = None
        if hits[1] == 0 or rejections[1] == 0:
            side = "right" if hits[1] == 0 else "wrong"
            why = f"none of its rated answers is {side} at {right_from:g}, so the metric's errors are unknown"
        elif n == 0:
            why = "all its answers are rated; count them"
        share = None if why else correct_share((counts, n), hits=hits, rejections=rejections, confidence=confidence)
        rows.append(SystemShare(system, dimension, metric, share, why))
    return rows
