"""Coefficients of a metric within groups of answers, by facet.

Wang et al. 2024 (imapScore, Findings of ACL), Figures 5 and 6, group answers by length and by how far the
imap compresses them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from imapeval.errors import UsageError
from imapeval.study.correlation.coefficients import comparable_coefficients, find_coefficient
from imapeval.study.data.findings import ALL, CoefficientName
from imapeval.study.data.rated import DIMENSION, SYSTEM, choose_names
from imapeval.study.intervals.bootstrap import number_clusters
from imapeval.study.intervals.coefficients import jackknife_intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from imapeval.study.arrays import Counts, Floats
    from imapeval.study.data.rated import Rated

UNKNOWN = "unknown"
"""The group of answers for which a facet or a covariate is unknown."""

BINS = 4
"""Groups of equal size that a covariate is cut into."""

MIN_QUESTIONS = 4
"""Fewest questions that a system must have in a group for its coefficient to count. Fisher's variance of a correlation
is 1 / (n - 3)."""


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
class SystemCoefficient:
    """The coefficient of one system in one group and dimension.

    Attributes:
        value: The coefficient.
        influences: Influence of each question on it, shape (questions of the study,); the squares sum to its variance.
        rows: The answers.
        questions: Number of questions that these answer.
    """

    value: float
    influences: Floats
    rows: Counts
    questions: int


@dataclass(frozen=True, slots=True)
class Group:
    """The systems of one group of answers.

    Attributes:
        cells: One for each system and dimension with a coefficient.
        left_out: Number of systems and dimensions that have scores and ratings, but no coefficient or too few
            questions.
    """

    cells: tuple[SystemCoefficient, ...]
    left_out: int

    def average(self, influences: Sequence[Floats]) -> tuple[float, Floats]:
        """Return the mean of the coefficients and of these influences, one for each cell, by numbers of answers."""
        weights = [len(cell.rows) for cell in self.cells]
        value = np.average([cell.value for cell in self.cells], weights=weights)
        return float(value), np.average(np.stack(influences), axis=0, weights=weights)


@dataclass(frozen=True, slots=True)
class SlicedMetric:
    """The groups of a facet, of one metric in one dimension.

    Attributes:
        facet, metric, dimension: What the groups belong to; `dimension` is `ALL` for the mean over them, and
            for the facet "dimension".
        groups: By name.
    """

    facet: str
    metric: str
    dimension: str
    groups: Mapping[str, Group]


def slice_answers(
    rated: Rated,
    *,
    metrics: Sequence[str] | None = None,
    coefficient: CoefficientName = "spearman",
    facets: Sequence[str] | None = None,
    bins: int = BINS,
) -> list[Slice]:
    """Compute each metric's coefficient among the answers of each group.

    Within a group systems are looked at one by one, and the mean over them is taken: a difference between systems is no
    agreement on single answers, and a group in which one system stands beside another must not look better for it.
    Unlike in the mean of `levels.correlate`, a system counts as often as it has answers in the group: one that is cut
    by length may hold four answers of one system and a hundred of another. A system with fewer than `MIN_QUESTIONS`
    questions in the group, or without a coefficient, is left out, which `reason` says.

    Intervals come from the influence of each question (`intervals.jackknife_intervals`); nothing is drawn at random.

    Args:
        rated: The answers. Those that nobody rated are left out first.
        metrics: Metrics to include; None means all.
        coefficient: The coefficient; one of `comparable_coefficients`.
        facets: By what: names of facets and covariates, "system" or "dimension"; None for all that divide the
            answers. "dimension" is all answers together, one group for each dimension of the ratings.
        bins: Into how many groups of equal size a covariate is cut; equal numbers stay together, so there may be
            fewer.

    Returns:
        For each facet, metric, dimension and group a row; where there are several dimensions also for their mean
        (`ALL`).

    Raises:
        UsageError: There is no such metric, coefficient or facet, or nothing is rated.
    """
    return [
        _summarise(sliced, name, group, coefficient, questions=rated.questions)
        for sliced in find_slices(rated, metrics=metrics, coefficient=coefficient, facets=facets, bins=bins)
        for name, group in sliced.groups.items()
    ]


def find_slices(
    rated: Rated,
    *,
    metrics: Sequence[str] | None,
    coefficient: CoefficientName,
    facets: Sequence[str] | None,
    bins: int,
) -> Iterator[SlicedMetric]:
    """Yield the groups that are compared with each other; see `slice_answers`."""
    names = choose_names("metric", metrics, rated.metrics)
    choose_names("coefficient of slices", [coefficient], comparable_coefficients())
    is_rated = np.isfinite(rated.ratings).sum(axis=1) > 0
    if not is_rated.any():
        raise UsageError("no answer has a rating. Give some with --ratings.")
    systems = number_clusters(rated.systems)
    for facet, divided in divide_answers(rated, facets=facets, bins=bins).items():
        members = {group: kept for group, rows in divided.items() if len(kept := rows[is_rated[rows]])}
        for metric in names:
            yield from _slice_metric(rated, facet, members, systems, metric, coefficient)


def _slice_metric(
    rated: Rated,
    facet: str,
    members: Mapping[str, Counts],
    systems: Counts,
    metric: str,
    coefficient: CoefficientName,
) -> Iterator[SlicedMetric]:
    by_dimension = {
        dimension: {
            group: _find_group(rated, metric, dimension, rows, systems[rows], coefficient)
            for group, rows in members.items()
        }
        for dimension in rated.dimensions
    }
    if facet == DIMENSION:
        yield SlicedMetric(facet, metric, ALL, {dimension: groups[ALL] for dimension, groups in by_dimension.items()})
        return
    for dimension, groups in by_dimension.items():
        yield SlicedMetric(facet, metric, dimension, groups)
    if len(by_dimension) > 1:
        together = {group: [groups[group] for groups in by_dimension.values()] for group in members}
        means = {
            group: Group(tuple(cell for part in parts for cell in part.cells), sum(part.left_out for part in parts))
            for group, parts in together.items()
        }
        yield SlicedMetric(facet, metric, ALL, means)


def _find_group(
    rated: Rated, metric: str, dimension: str, rows: Counts, systems: Counts, coefficient: CoefficientName
) -> Group:
    scores, ratings = rated.scores_of(metric)[rows], rated.ratings_of(dimension)[rows]
    there = ~np.isnan(scores) & ~np.isnan(ratings)
    present = np.flatnonzero(np.bincount(systems[there]))
    cells: list[SystemCoefficient] = []
    for system in present.tolist():
        own = there & (systems == system)
        codes = rated.questions[rows[own]]
        questions = _count_different(codes)
        if questions < MIN_QUESTIONS:
            continue
        value, moved = find_coefficient(coefficient).with_influences(scores[own], ratings[own])
        if not np.isnan(value):
            influences: Floats = np.zeros(int(rated.questions.max()) + 1)
            np.add.at(influences, codes, moved)
            cells.append(SystemCoefficient(value, influences, rows[own], questions))
    return Group(tuple(cells), len(present) - len(cells))


def _count_different(numbers: Counts) -> int:
    """Return how many different numbers there are, which are small and not negative.

    Unlike `np.unique` it does not sort, which took almost half of the time of slices of 100,000 answers.
    """
    return int(np.count_nonzero(np.bincount(numbers)))


def _summarise(
    sliced: SlicedMetric, name: str, group: Group, coefficient: CoefficientName, *, questions: Counts
) -> Slice:
    dimension = name if sliced.facet == DIMENSION else sliced.dimension
    n = count_answers([group])
    reason = None
    if group.left_out:
        reason = (
            f"{group.left_out} of {group.left_out + len(group.cells)} coefficients are left out: fewer than "
            f"{MIN_QUESTIONS} questions, or scores or ratings all equal"
        )
    if not group.cells:
        reason = reason or "no answer has both a score and a rating"
        return Slice(sliced.metric, sliced.facet, name, dimension, coefficient, None, None, None, n, reason)
    value, influences = group.average([cell.influences for cell in group.cells])
    clusters = _count_different(questions[np.concatenate([cell.rows for cell in group.cells])])
    low, high = jackknife_intervals(
        np.array(value), influences=influences, clusters=np.array(clusters), bounds=(-1.0, 1.0)
    )
    ends = float(low), float(high)
    return Slice(sliced.metric, sliced.facet, name, dimension, coefficient, value, *ends, n, reason)


def count_answers(groups: Sequence[Group]) -> int:
    """Return how many answers have a part in the coefficients."""
    rows = [cell.rows for group in groups for cell in group.cells]
    return _count_different(np.concatenate(rows)) if rows else 0


def divide_answers(
    rated: Rated, *, facets: Sequence[str] | None = None, bins: int = BINS
) -> dict[str, Mapping[str, Counts]]:
    """Return the rows of each group, by facet and group; the arguments are those of `slice_answers`.

    Raises:
        UsageError: There is no such facet.
    """
    found = dict(_iterate_facets(rated, bins=bins))
    if facets is None:
        return {facet: groups for facet, groups in found.items() if len(groups) > 1 or facet == DIMENSION}
    return {facet: found[facet] for facet in choose_names("facet", facets, tuple(found))}


def _iterate_facets(rated: Rated, *, bins: int) -> Iterator[tuple[str, Mapping[str, Counts]]]:
    if len(rated.dimensions) > 1:
        yield DIMENSION, {ALL: np.arange(len(rated.ids))}
    yield SYSTEM, _gather(rated.systems)
    for facet, groups in rated.facets.items():
        yield facet, _gather(groups)
    for covariate, numbers in rated.covariates.items():
        yield covariate, _bin_by_quantiles(numbers, bins)


def _gather(groups: Sequence[str]) -> dict[str, Counts]:
    rows: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group or UNKNOWN, []).append(row)
    return {group: np.array(numbers) for group, numbers in rows.items()}


def _bin_by_quantiles(numbers: Floats, bins: int) -> dict[str, Counts]:
    """Cut numbers into groups of equal size, lowest first; each is called after its lowest and highest number."""
    known = np.flatnonzero(~np.isnan(numbers))
    edges = np.unique(np.quantile(numbers[known], np.arange(1, bins) / bins)) if len(known) else np.array([])
    which = np.searchsorted(edges, numbers[known], side="left")
    cut = [known[which == bin_] for bin_ in np.unique(which)]
    names = _name_ranges([(float(numbers[rows].min()), float(numbers[rows].max())) for rows in cut])
    groups = dict(zip(names, cut, strict=True))
    if len(known) < len(numbers):
        groups[UNKNOWN] = np.flatnonzero(np.isnan(numbers))
    return groups


def _name_ranges(ranges: Sequence[tuple[float, float]]) -> list[str]:
    """Return names for ranges that do not overlap, with two decimals or as many more as tell their ends apart."""
    whole = all(end.is_integer() for range_ in ranges for end in range_)
    written = ([[f"{end:.{n}f}" for end in dict.fromkeys(range_)] for range_ in ranges] for n in itertools.count())
    return next(
        [" to ".join(range_) for range_ in names]
        for names in itertools.islice(written, 0 if whole else 2, None)
        if len({end for range_ in names for end in range_}) == sum(map(len, names))
    )
