"""Makes rated answers from numbers, for simulated studies."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from imapeval.study.arrays import Counts, Floats
from imapeval.study.data.rated import Rated

Table = ArrayLike | Mapping[str, ArrayLike]
"""Columns by name, or numbers of shape (n,) or (n, columns)."""


def make_rated(
    scores: Table | None = None,
    ratings: Table | None = None,
    *,
    by_rater: Mapping[str, Floats] | None = None,
    metrics: Sequence[str] = (),
    dimensions: Sequence[str] = (),
    questions: Sequence[int] | Counts | None = None,
    systems: Sequence[str] | Counts | None = None,
    **others: Any,
) -> Rated:
    """Make answers "0", "1" ... with these scores and ratings.

    Metrics without a name are m, or m0, m1 ..., and dimensions accuracy, or accuracy0 ...; raters are A, B ... Every
    answer has a question of its own and is by the system "", if nothing else is said; systems may be numbers, which
    become names such as "s0". Ratings that are not given are the means of those by rater, shape (n, raters) each.
    """
    by_rater = by_rater or {}
    if ratings is None:
        ratings = {name: _average(table) for name, table in by_rater.items()}
    ratings, dimensions = _read(ratings, dimensions, "accuracy")
    n = len(ratings)
    scores, metrics = _read(np.empty((n, 0)) if scores is None else scores, metrics, "m")
    raters = next(iter(by_rater.values())).shape[1] if by_rater else 0
    given = {
        "ids": tuple(map(str, range(n))),
        "questions": np.arange(n) if questions is None else np.asarray(questions),
        "systems": tuple(
            name if isinstance(name, str) else f"s{name}" for name in ([""] * n if systems is None else systems)
        ),
        "raters": tuple("ABCDEFGHIJKL"[:raters]),
    }
    return Rated(
        metrics=metrics, scores=scores, dimensions=dimensions, ratings=ratings, by_rater=by_rater, **{**given, **others}
    )


def _read(table: Table, names: Sequence[str], default: str) -> tuple[Floats, tuple[str, ...]]:
    if isinstance(table, Mapping):
        names, table = tuple(table), np.column_stack(list(table.values()))
    numbers = np.asarray(table, dtype=np.float64)
    numbers = numbers[:, None] if numbers.ndim == 1 else numbers
    columns = numbers.shape[1]
    return numbers, tuple(names) or ((default,) if columns == 1 else tuple(f"{default}{n}" for n in range(columns)))


def _average(table: Floats) -> Floats:
    return np.array([row[~np.isnan(row)].mean() if np.isfinite(row).any() else np.nan for row in table])
