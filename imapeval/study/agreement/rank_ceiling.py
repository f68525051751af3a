"""Ceilings of rank coefficients for a metric that knows the truth, against means of categorical ratings.

Most mean ratings are tied where ratings are yes or no, or nearly all the same, and a metric without ties cannot rank
what people do not tell apart. How far that goes depends on how often each rating is given, so it is computed with the
observed frequencies. What an answer is worth is normal; what a rater sees of it is worth plus a normal error; the
rating is the category that this falls into, with limits between categories that give each rater's frequencies
(Pearson 1900; Olsson 1979, "Maximum likelihood estimation of the polychoric correlation coefficient"). The correlation
of two raters' impressions is the one that makes the mean rating as reliable as it was found to be. The expected
rating of an answer rises with its worth, so that the worth itself is the best metric in ranks that has no ties.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from imapeval.study.arrays import divide

if TYPE_CHECKING:
    from collections.abc import Callable

    from imapeval.study.agreement.statistic import AgreementStatistic
    from imapeval.study.arrays import Counts, Floats

MAX_STEPS = 20
"""Maximum number of steps from the lowest to the highest rating, as from 0 to 10 in halves. Mean ratings on finer
scales have few ties."""

_NODES = 64
"""Number of equally likely values of an answer's worth. The ceilings are within .001 of those of 1,000 nodes."""

_TERMS = 200
"""Terms of the series for the covariance of two raters; at a correlation of .99 the remainder is below 1%."""

_CORRELATIONS = 1 - np.linspace(1, 0.05, 96) ** 2
"""Correlations at which that series is tabulated: 0 to .9975, denser near 1."""

_NORMAL = NormalDist()
_CELLS = 4_000_000


_MAX_PATTERNS = 16
"""Maximum number of distinct rater sets for separate frequencies per rater: all subsets of four raters."""


class _Design(NamedTuple):
    """Who rates which answers.

    Attributes:
        steps: Number of steps between the lowest and the highest rating.
        raters: Columns of frequencies: one for each rater, or one for all if raters are drawn anew for each answer.
        patterns: The columns that an answer's mean is taken over; each answer has one of these patterns.
    """

    steps: int
    raters: int
    patterns: tuple[tuple[int, ...], ...]


class CeilingStatistic(NamedTuple):
    """The ceiling of a coefficient.

    Attributes:
        statistic: The ceiling at the estimated reliability.
        at: The ceiling at each of some reliabilities, shape (m,), with the observed frequencies.
    """

    statistic: AgreementStatistic
    at: Callable[[Floats], Floats]


def measure_rank_ceilings(ratings: Floats, reliability: AgreementStatistic) -> dict[str, CeilingStatistic] | None:
    """Return the ceilings of Spearman's rho and Kendall's tau-b, by coefficient.

    Ratings have the shape (answers, raters), and every answer has one; the reliability is that of the mean rating of
    the same answers (`reliability.measure_reliability`). None where ratings do not lie on a grid of `MAX_STEPS` steps
    or fewer.
    """
    steps = count_steps(ratings)
    if steps is None:
        return None
    table = ratings[:, (~np.isnan(ratings)).any(axis=0)]
    given = ~np.isnan(table)
    low, high = np.nanmin(table), np.nanmax(table)
    codes = np.where(given, np.rint((table - low) / (high - low) * steps), -1).astype(np.int64)
    counts = given.sum(axis=1)
    frequencies = (codes[:, :, None] == np.arange(steps + 1)).astype(np.float64)
    sets, pattern = np.unique(given, axis=0, return_inverse=True)
    if len(sets) > _MAX_PATTERNS:
        frequencies = frequencies.sum(axis=1, keepdims=True)
        sizes, pattern = np.unique(counts, return_inverse=True)
        patterns = [(0,) * size for size in sizes.tolist()]
    else:
        patterns = [tuple(np.flatnonzero(row).tolist()) for row in sets]
    design = _Design(steps, frequencies.shape[1], tuple(patterns))
    means = np.where(codes >= 0, codes, 0).sum(axis=1) / counts
    width = reliability.data.shape[1]
    data = np.column_stack(
        (
            reliability.data,
            np.ones(len(codes)),
            means,
            means**2,
            pattern.reshape(-1)[:, None] == np.arange(len(patterns)),
            frequencies.reshape(len(codes), -1),
        )
    ).astype(np.float64)

    last: dict[bytes, Floats] = {}

    def compute_both(found: Floats, covariance: Floats, sums: Floats) -> Floats:
        # The two coefficients are asked for in turn with the same numbers, and share nearly all of the work.
        key = b"".join(numbers.tobytes() for numbers in (found, covariance, sums))
        if key not in last:
            last.clear()
            last[key] = _compute(design, found, covariance, sums)
        return last[key]

    def make(place: int) -> CeilingStatistic:
        def compute(data: Floats, weights: Floats) -> Floats:
            found = reliability.compute(data[:, :width], weights)
            sums = weights @ data[:, width:]
            if design.raters == 1:
                return compute_both(found, _find_pooled_covariance(design, found, sums), sums)[place]
            return compute_both(found, found * _find_variance(sums), sums)[place]

        def compute_at(reliabilities: Floats) -> Floats:
            sums = np.tile(data[:, width:].sum(axis=0), (len(reliabilities), 1))
            if design.raters == 1:
                covariance = _find_pooled_covariance(design, reliabilities, sums)
                return compute_both(reliabilities, covariance, sums)[place]
            variance = _find_variance(sums)
            # With the same frequencies, the variance of a mean of k ratings grows by (k - 1) / k of what they share.
            grows = 1 - float((1 / counts).mean())
            own = variance * (1 - grows * reliability.value)
            return compute_both(reliabilities, reliabilities * own / (1 - grows * reliabilities), sums)[place]

        return CeilingStatistic(replace(reliability, data=data, compute=compute), compute_at)

    return {"spearman": make(0), "kendall_tau_b": make(1)}


def count_steps(ratings: Floats) -> int | None:
    """Return the number of grid steps that the ratings span; None if more than `MAX_STEPS`."""
    values = np.unique(ratings[~np.isnan(ratings)])
    # A tolerance of a millionth of the span distinguishes grids of up to 20 steps and absorbs rounding of thirds.
    for steps in range(1, MAX_STEPS + 1):
        places = (values - values[0]) / (values[-1] - values[0]) * steps
        if (np.abs(places - np.rint(places)) < 1e-6).all():
            return steps
    return None


def _find_variance(sums: Floats) -> Floats:
    """Return the variance of the mean rating for each row of sums, shape (m,)."""
    size, mean, square = sums[:, 0], divide(sums[:, 1], sums[:, 0]), divide(sums[:, 2], sums[:, 0])
    return (square - mean**2) * size / np.maximum(size - 1, 1)


def _find_pooled_covariance(design: _Design, reliability: Floats, sums: Floats) -> Floats:
    """Return the covariance of two ratings by raters drawn anew whose means are so reliable, shape (m,).

    Where the same few raters rate all answers, differences in their strictness affect the means less than they would
    with raters drawn anew. So the reliability is kept, not the covariance, by the formula of Spearman and Brown (1910).
    """
    patterns = 3 + len(design.patterns)
    sizes = np.array([len(pattern) for pattern in design.patterns])
    raters = sums[:, 3:patterns].sum(axis=1) / (sums[:, 3:patterns] @ (1 / sizes))
    counts = sums[:, patterns:]
    total: Floats = counts.sum(axis=1)
    values: Floats = np.arange(counts.shape[1], dtype=np.float64)
    variance = (counts @ values**2 - (counts @ values) ** 2 / total) / np.maximum(total - 1, 1)
    return reliability / (raters - (raters - 1) * reliability) * variance


def _compute(design: _Design, reliability: Floats, covariance: Floats, sums: Floats) -> Floats:
    """Return the ceilings of rho and tau-b for each row of sums; 0 where the mean rating is not reliable at all.

    `covariance` is that of two raters' ratings: the reliable part of the variance of the mean rating.

    Returns:
        Shape (2, m).
    """
    size, wanted = sums[:, 0], np.maximum(np.nan_to_num(covariance), 0.0)
    answers = divide(sums[:, 3 : 3 + len(design.patterns)], size[:, None])
    counts = sums[:, 3 + len(design.patterns) :].reshape(len(sums), design.raters, design.steps + 1)
    shares = _shrink(counts, wanted)
    # Thresholds between neighbouring categories.
    limits = _to_limits(1 - shares.cumsum(axis=2)[:, :, :-1])
    correlation = _find_correlation(limits, wanted)
    found = np.empty((2, len(sums)))
    longest = max(map(len, design.patterns))
    at_once = max(1, _CELLS // (_NODES * len(design.patterns) * (longest * design.steps + 1)))
    for start in range(0, len(sums), at_once):
        block = slice(start, start + at_once)
        ratings = _spread_ratings(limits[block], correlation[block])
        given, order = _spread_means(design, ratings, answers[block])
        ordered = given[:, :, order]
        found[:, block] = _find_rho(ordered), _find_tau(ordered)
    return np.where(np.isnan(reliability), np.nan, np.where(reliability > 0, np.clip(found, 0.0, 1.0), 0.0))


def _shrink(counts: Floats, covariance: Floats) -> Floats:
    """Return each rater's frequencies, shrunk towards the common ones in so far as they differ by chance.

    Raters who differ in strictness tell more answers apart together than raters who do not, so that frequencies that
    differ by chance would make the ceiling too high. What is kept of the differences is 1 - 1 / F of a two-way analysis
    of variance, as in shrinkage by empirical Bayes (Morris 1983, "Parametric Empirical Bayes Inference"). Counts of
    ratings have the shape (m, raters, categories).
    """
    sizes = np.maximum(counts.sum(axis=2), 1)
    shares = counts / sizes[:, :, None]
    if shares.shape[1] == 1:
        return shares
    values: Floats = np.arange(counts.shape[2], dtype=np.float64)
    means: Floats = shares @ values
    error = np.maximum((shares @ values**2 - means**2).mean(axis=1) - covariance, 0.0)
    by_chance, found = error / sizes.mean(axis=1), means.var(axis=1, ddof=1)
    kept = np.where(found > by_chance, 1 - np.divide(by_chance, found, out=np.ones_like(found), where=found > 0), 0.0)
    common = shares.mean(axis=1, keepdims=True)
    return common + kept[:, None, None] * (shares - common)


def _to_limits(shares: Floats) -> Floats:
    """Return the normal quantile above which a share lies, shape as `shares`."""
    inner = np.clip(shares, 1e-9, 1 - 1e-9)
    levels, places = np.unique(inner, return_inverse=True)
    limits: Floats = np.array([-_NORMAL.inv_cdf(level) for level in levels.tolist()], dtype=np.float64)
    return limits[places].reshape(shares.shape)


def _find_correlation(limits: Floats, wanted: Floats) -> Floats:
    """Return the correlation of two raters' impressions that gives their ratings a covariance, shape (m,).

    The covariance of two step functions of normal variables is a series in the powers of the correlation, by Hermite
    polynomials (the tetrachoric series of Pearson 1900). Limits between categories have the shape (m, raters, steps);
    the wanted covariance is the mean over pairs of raters, or that of two from the common frequencies.
    """
    raters = limits.shape[1]
    terms = np.empty((len(limits), _TERMS))
    before, here = np.zeros_like(limits), np.exp(-(limits**2) / 2) / np.sqrt(2 * np.pi)
    for term in range(1, _TERMS + 1):
        parts = here.sum(axis=2) / np.sqrt(term)
        squares = (parts**2).sum(axis=1)
        terms[:, term - 1] = squares if raters == 1 else (parts.sum(axis=1) ** 2 - squares) / (raters * (raters - 1))
        before, here = here, (limits * here - np.sqrt(term - 1) * before) / np.sqrt(term)
    table = terms @ (_CORRELATIONS[:, None] ** np.arange(1, _TERMS + 1)).T
    found = np.empty(len(table))
    for number, row in enumerate(table):
        found[number] = np.interp(wanted[number], row, _CORRELATIONS)
    return found


def _spread_ratings(limits: Floats, correlation: Floats) -> Floats:
    """Return the probability of each rating at each worth, shape (m, nodes, raters, steps + 1)."""
    worth = _find_nodes()[None, :, None, None]
    share = correlation[:, None, None, None]
    above = _normal_cdf((np.sqrt(share) * worth - limits[:, None]) / np.sqrt(1 - share))
    edge = np.ones((*above.shape[:-1], 1))
    return -np.diff(np.concatenate((edge, above, 0 * edge), axis=-1), axis=-1)


def _spread_means(design: _Design, ratings: Floats, answers: Floats) -> tuple[Floats, Counts]:
    """Return the probability of each mean rating at each worth, and the order of the mean ratings.

    Returns:
        Shapes (m, nodes, values) and (values,).
    """
    sums: dict[tuple[int, ...], Floats] = {(): np.ones((len(ratings), _NODES, 1))}
    for pattern in design.patterns:
        for number in range(1, len(pattern) + 1):
            if pattern[:number] not in sums:
                one_more = ratings[:, :, pattern[number - 1]]
                sums[pattern[:number]] = _add_rating(sums[pattern[: number - 1]], one_more)
    values: dict[float, int] = {}
    places = [
        [
            # Equal means of two and of three ratings are one value.
            values.setdefault(round(total / len(pattern), 9), len(values))
            for total in range(sums[pattern].shape[2])
        ]
        for pattern in design.patterns
    ]
    spread = np.zeros((len(ratings), _NODES, len(values)))
    for number, (pattern, at) in enumerate(zip(design.patterns, places, strict=True)):
        spread[:, :, at] += sums[pattern] * answers[:, number, None, None]
    return spread, np.argsort(list(values))


def _add_rating(total: Floats, rating: Floats) -> Floats:
    """Return the distribution of a sum of ratings with one more, shape (m, nodes, sums)."""
    steps = rating.shape[2] - 1
    longer = np.zeros((*total.shape[:2], total.shape[2] + steps))
    for step in range(steps + 1):
        longer[:, :, step : step + total.shape[2]] += total * rating[:, :, step, None]
    return longer


def _find_rho(given: Floats) -> Floats:
    """Return Spearman's rho of the worth with the mean rating, shape (m,).

    `given` is the probability of each mean rating, lowest first, at each worth, shape (m, nodes, values).
    """
    share = given.mean(axis=1)
    ranks = share.cumsum(axis=1) - share / 2 - 0.5
    expected = (given @ ranks[:, :, None])[:, :, 0]
    worth = (np.arange(_NODES) + 0.5) / _NODES - 0.5
    spread = (share * ranks**2).sum(axis=1) * (worth**2).mean()
    return np.divide(expected @ worth / _NODES, np.sqrt(spread), out=np.zeros(len(given)), where=spread > 0)


def _find_tau(given: Floats) -> Floats:
    """Return Kendall's tau-b of the worth with the mean rating, shape (m,); see `_find_rho`."""
    below = given.cumsum(axis=1) - given
    lower = below.cumsum(axis=2) - below
    higher = below.sum(axis=2, keepdims=True) - lower - below
    together = 2 * (given * (lower - higher)).sum(axis=(1, 2)) / _NODES**2
    untied = 1 - (given.mean(axis=1) ** 2).sum(axis=1)
    return np.divide(together, np.sqrt(untied), out=np.zeros(len(given)), where=untied > 0)


@cache
def _find_nodes() -> Floats:
    return np.array([_NORMAL.inv_cdf((node + 0.5) / _NODES) for node in range(_NODES)])


@cache
def _tabulate_normal() -> tuple[Floats, Floats]:
    places = np.linspace(-8, 8, 8001)
    return places, np.array([_NORMAL.cdf(place) for place in places.tolist()])


def _normal_cdf(numbers: Floats) -> Floats:
    """Return the normal distribution function to 1e-6, without scipy, which the core install lacks."""
    return np.interp(numbers, *_tabulate_normal())
