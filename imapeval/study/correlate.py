"""How well metrics agree with people: a rank correlation per metric, system and dimension of the ratings.

Answers without a score (failures) are left out of their metric's coefficients and counted in `n_missing`; nothing is
filled in. Systems are looked at one by one, because a difference between systems would otherwise be taken for
agreement within them.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.samples import system_of
from imapeval.study.coefficients import BY_NAME, undefined
from imapeval.study.findings import ALL, CoefficientName, Correlation
from imapeval.study.resample import RESAMPLES, draw, number_clusters, percentile_interval, replicate
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.runs import Result
    from imapeval.study.resample import Counts, Floats
    from imapeval.types import Sample


@dataclass(frozen=True, slots=True)
class _Cell:
    """The answers of one system that were rated in one dimension, and their scores by one metric."""

    metric: str
    system: str
    dimension: str
    ids: tuple[str, ...]
    scores: Floats
    ratings: Floats
    missing: frozenset[str]


def correlate(
    samples: Sequence[Sample],
    results: Sequence[Result],
    *,
    metrics: Sequence[str],
    ratings: Mapping[str, Mapping[str, float]] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Correlation]:
    """Correlate scores with ratings.

    Intervals are 95% percentile bootstraps over questions: all answers to a question are drawn together, and one draw
    serves every metric, system and dimension, so that means keep what their parts have in common. A resample in which
    a coefficient is undefined counts as -1 for the lower end and as +1 for the upper end.

    Args:
        samples: The run's samples.
        results: The run's outcomes.
        metrics: Which metrics, in the order of the answer.
        ratings: What people gave, by sample id and dimension; None takes the samples' own.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.

    Returns:
        A row per metric, coefficient, system and dimension; then, per metric and coefficient, their mean, where there
        are several.

    Raises:
        UsageError: No sample has a rating.
    """
    if ratings is None:
        ratings = {sample.id: sample.ratings for sample in samples}
    rated = [sample for sample in samples if ratings.get(sample.id)]
    if not rated:
        raise UsageError(
            "no sample of the run has a rating. Give them with --ratings, or score data with columns "
            "ratings.<dimension>."
        )
    codes = dict(zip((s.id for s in rated), number_clusters([s.question for s in rated]).tolist(), strict=True))
    questions = max(codes.values()) + 1
    drawn = draw(questions, seed=seed, resamples=resamples) if questions > 1 else None
    rows: list[Correlation] = []
    for metric in metrics:
        cells = list(_cells(metric, rated, results, ratings))
        for name in BY_NAME:
            rows.extend(_correlate(cells, name, drawn, codes))
    return rows


def _cells(
    metric: str, samples: Sequence[Sample], results: Sequence[Result], ratings: Mapping[str, Mapping[str, float]]
) -> Iterator[_Cell]:
    scores = {r.id: r.outcome.value for r in results if r.metric == metric and isinstance(r.outcome, Score)}
    dimensions = dict.fromkeys(dimension for sample in samples for dimension in ratings[sample.id])
    for system in dict.fromkeys(map(system_of, samples)):
        for dimension in dimensions:
            rated = [s.id for s in samples if system_of(s) == system and dimension in ratings[s.id]]
            ids = tuple(id_ for id_ in rated if id_ in scores)
            if rated:
                yield _Cell(
                    metric,
                    system,
                    dimension,
                    ids,
                    np.array([scores[id_] for id_ in ids]),
                    np.array([ratings[id_][dimension] for id_ in ids]),
                    frozenset(rated).difference(ids),
                )


def _correlate(
    cells: Sequence[_Cell], name: CoefficientName, drawn: Counts | None, codes: Mapping[str, int]
) -> Iterator[Correlation]:
    """Yield the coefficient of each cell, and their mean where there are several."""
    compute = BY_NAME[name]
    values: list[float] = []
    replicates: list[Floats] = []
    for cell in cells:
        x, y = cell.scores, cell.ratings
        n, n_missing = len(cell.ids), len(cell.missing)
        if why := undefined(x, y, names=("the score", "the rating")):
            yield Correlation(
                cell.metric, cell.system, cell.dimension, name, None, None, None, n, n_missing, why.reason
            )
            continue
        values.append(float(compute(x, y, np.ones((1, n)))[0]))
        low = high = None
        if drawn is not None:
            rows = np.array([codes[id_] for id_ in cell.ids])
            replicates.append(replicate(lambda weights, x=x, y=y: compute(x, y, weights), drawn, rows))
            interval = percentile_interval(replicates[-1], bounds=(-1.0, 1.0))
            low, high = interval.low, interval.high
        yield Correlation(cell.metric, cell.system, cell.dimension, name, values[-1], low, high, n, n_missing)
    if len(cells) > 1:
        yield _average(cells, name, values, replicates)


def _average(
    cells: Sequence[_Cell], name: CoefficientName, values: Sequence[float], replicates: Sequence[Floats]
) -> Correlation:
    left_out = len(cells) - len(values)
    low = high = None
    if replicates:
        together = np.array(replicates)
        lower, upper = (np.where(np.isnan(together), bound, together).mean(axis=0) for bound in (-1.0, 1.0))
        low, high = percentile_interval(lower).low, percentile_interval(upper).high
    return Correlation(
        cells[0].metric,
        ALL,
        ALL,
        name,
        fmean(values) if values else None,
        low,
        high,
        len({id_ for cell in cells for id_ in cell.ids}),
        len({id_ for cell in cells for id_ in cell.missing}),
        f"{left_out} of {len(cells)} coefficients are undefined and left out" if left_out else None,
    )
