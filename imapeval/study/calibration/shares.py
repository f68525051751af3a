"""The share of right answers of each system, by a metric's threshold and few ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.calibration.rogan_gladen import ShareEstimate, correct_share

if TYPE_CHECKING:
    from imapeval.study.data.rated import Rated


@dataclass(frozen=True, slots=True)
class SystemShare:
    """One system in one dimension.

    Attributes:
        system: Its name.
        dimension: Of the ratings.
        metric: Which called the answers right or wrong.
        share: The estimate; None where it is undefined.
        note: Why there is none.
    """

    system: str
    dimension: str
    metric: str
    share: ShareEstimate | None
    note: str | None = None


def estimate_shares(
    rated: Rated, metric: str, dimension: str, *, right_from: float, score_from: float, confidence: float = 0.95
) -> list[SystemShare]:
    """Estimate the share of right answers of every system.

    Sensitivity and specificity come from the system's rated answers (a metric errs more often with one system than
    with another, so those of others would not do), the share that the metric calls right from its unrated ones, so that
    the two are independent. Answers are taken for independent.

    Args:
        rated: All answers, rated or not.
        metric: Which.
        dimension: Of the ratings.
        right_from: An answer is right when its rating is no lower.
        score_from: The metric calls an answer right when its score is no worse (of a metric of which low scores are
            good: no higher).
        confidence: Of the intervals.
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
