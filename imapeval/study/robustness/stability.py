"""How far several readings of a text agreed (`Imap.stability`), and whether scores of stable imaps are better.

Readings are made with --votes; stability is the mean, over question, reference and response, of how far two readings
share their pairs (`voting.measure_stability`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.study.coefficients import undefined
from imapeval.study.influence import rank
from imapeval.study.resample import RESAMPLES, draw, mean_interval, number_clusters, percentile_interval, replicate
from imapeval.study.robustness.statistics import weigh_rank_correlation
from imapeval.study.slicing import BINS, divide

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.imapfile import ImapRecord
    from imapeval.study.rated import Rated
    from imapeval.study.resample import Counts, Floats

EVERY = "all answers"
"""The one group that holds every answer."""


@dataclass(frozen=True, slots=True)
class Stability:
    """How stable the imaps of some answers are.

    Attributes:
        facet, group: Of the answers, as in `Slice`; `EVERY` and "" for all.
        mean: Of the stability, 0..1.
        low, high: Ends of the mean's 95% interval; None where there is one question only.
        lowest_tenth: Stability that a tenth of the answers falls short of.
        n: Answers.
    """

    facet: str
    group: str
    mean: float
    low: float | None
    high: float | None
    lowest_tenth: float
    n: int


@dataclass(frozen=True, slots=True)
class StabilityError:
    """How a metric's error depends on the stability of the imap.

    Attributes:
        metric: Its name.
        dimension: Of the ratings.
        value: Spearman's rho of stability with the distance between an answer's place by the metric and its place by
            the raters; below 0 where stable imaps have smaller errors. None where it is undefined.
        low, high: Ends of its 95% interval.
        n: Answers with stability, score and rating.
        reason: Why there is no value.
    """

    metric: str
    dimension: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


def read_stability(records: Iterable[ImapRecord], ids: Sequence[str]) -> Floats:
    """Return the stability of each answer, the mean over its references; NaN where its texts were read once."""
    found: dict[str, list[float]] = {}
    for record in records:
        if record.imap.stability is not None:
            found.setdefault(record.id, []).append(record.imap.stability)
    return np.array([np.mean(found[id_]) if id_ in found else np.nan for id_ in ids], dtype=np.float64)


def summarise_stability(
    rated: Rated, stability: Floats, *, bins: int = BINS, seed: int = 0, resamples: int = RESAMPLES
) -> list[Stability]:
    """Summarise stability over all answers and over the groups that `slicing.divide` makes.

    Args:
        rated: The answers; ratings are not looked at.
        stability: Of each, shape (n,); NaN where it is not known.
        bins: Into how many groups of equal size a covariate is cut.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.

    Returns:
        All answers first; nothing where no stability is known.
    """
    known = np.flatnonzero(~np.isnan(stability))
    if not len(known):
        return []
    rated, stability = rated.take(known), stability[known]
    groups: list[tuple[str, str, Counts]] = [(EVERY, "", np.arange(len(known)))]
    for facet, members in divide(rated, facets=_name_facets(rated), bins=bins).items():
        if len(members) > 1:
            groups.extend((facet, group, rows) for group, rows in members.items())
    return [
        _summarise(facet, group, stability[rows], rated.questions[rows], seed=seed, resamples=resamples)
        for facet, group, rows in groups
    ]


def _name_facets(rated: Rated) -> list[str]:
    return ["system", *rated.facets, *rated.covariates]


def _summarise(facet: str, group: str, stability: Floats, questions: Counts, *, seed: int, resamples: int) -> Stability:
    interval = mean_interval(stability.tolist(), clusters=questions.tolist(), seed=seed, resamples=resamples)
    return Stability(
        facet=facet,
        group=group,
        mean=float(stability.mean()),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        lowest_tenth=float(np.quantile(stability, 0.1)),
        n=len(stability),
    )


def relate_stability(
    rated: Rated, stability: Floats, *, seed: int = 0, resamples: int = RESAMPLES
) -> list[StabilityError]:
    """Correlate stability with each metric's error: how far its place for an answer is from the raters'.

    Places are ranks among the answers with both, as in `find_disagreements`. Intervals are 95% percentile bootstraps
    over questions.

    Args:
        rated: The answers.
        stability: Of each, shape (n,); NaN where it is not known.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.

    Returns:
        A row per metric and dimension.
    """
    return [
        _relate(rated, stability, metric, dimension, seed=seed, resamples=resamples)
        for metric in rated.metrics
        for dimension in rated.dimensions
    ]


def _relate(
    rated: Rated, stability: Floats, metric: str, dimension: str, *, seed: int, resamples: int
) -> StabilityError:
    scores, ratings = rated.scores_of(metric), rated.ratings_of(dimension)
    rows = np.flatnonzero(~np.isnan(scores + ratings + stability))
    stable = stability[rows]
    error = np.abs(rank(scores[rows]) - rank(ratings[rows]))
    if why := undefined(stable, error, names=("the stability", "the error")):
        return StabilityError(metric, dimension, None, None, None, len(rows), why.reason)

    def correlate(weights: Floats) -> Floats:
        return weigh_rank_correlation(stable, error, weights)

    value = float(correlate(np.ones((1, len(rows))))[0])
    codes = number_clusters(rated.questions[rows].tolist())
    if codes.max() == 0:
        return StabilityError(metric, dimension, value, None, None, len(rows), "one question alone has no interval")
    replicates = replicate(correlate, draw(int(codes.max()) + 1, seed=seed, resamples=resamples), codes)
    interval = percentile_interval(replicates, bounds=(-1.0, 1.0))
    return StabilityError(metric, dimension, value, interval.low, interval.high, len(rows))
