from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from imapeval.study.arrays import Floats
from imapeval.study.data.rated import Rated
from imapeval.study.data.scales import RatingScale
from imapeval.study.intervals.bootstrap import number_clusters


def _build(
    by_rater: Mapping[str, Floats],
    *,
    questions: Sequence[int] | None = None,
    scales: Mapping[str, RatingScale] | None = None,
    averages: Mapping[str, Floats] | None = None,
) -> Rated:
    tables = list(by_rater.values())
    n, raters = tables[0].shape if tables else (len(next(iter((averages or {}).values()))), 0)
    means = {
        name: np.array([row[~np.isnan(row)].mean() if np.isfinite(row).any() else np.nan for row in table])
        for name, table in by_rater.items()
    }
    means |= averages or {}
    return Rated(
        ids=tuple(f"a{row}" for row in range(n)),
        questions=np.arange(n) if questions is None else number_clusters(questions),
        systems=("",) * n,
        metrics=(),
        scores=np.empty((n, 0)),
        dimensions=tuple(means),
        ratings=np.column_stack(list(means.values())),
        raters=tuple("ABCDEFGHIJKL"[:raters]),
        by_rater=by_rater,
        scales=scales or {},
    )


@pytest.fixture
def build_rated() -> Callable[..., Rated]:
    """Make answers with ratings by dimension, shape (answers, raters), or with averages, and without metrics."""
    return _build
