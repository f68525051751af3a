"""Ratings without scores, as what agreement is measured on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.bootstrap import number_clusters
from imapeval.study.data.rated import Rated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.study.data.ratings.collection import Ratings


def rated_without_scores(ratings: Ratings, *, questions: Mapping[str, str] | None = None) -> Rated:
    """Return ratings as answers without metrics.

    Args:
        ratings: What people gave.
        questions: By the answers' ids. Answers of the same question belong together; one whose question is not known
            stands for itself.
    """
    known = questions or {}
    return Rated(
        ids=ratings.ids,
        # A tuple cannot be a question's text, so that an id never falls together with one.
        questions=number_clusters([known.get(id_, (id_,)) for id_ in ratings.ids]),
        systems=("",) * len(ratings.ids),
        metrics=(),
        scores=np.empty((len(ratings.ids), 0)),
        dimensions=ratings.dimensions,
        ratings=ratings.average(),
        raters=ratings.raters,
        by_rater={name: ratings.split(name) for name in ratings.dimensions} if ratings.raters else {},
        scales=ratings.scales,
    )
