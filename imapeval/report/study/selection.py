"""Which findings of a study are shown first: the correlations behind the conclusions, and the order of metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.study.data.findings import ALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.study.data.findings import CoefficientName, Correlation, Level
    from imapeval.study.summary.compute import Study

TOP_METRICS = 4
"""Maximum number of metrics in scatter and group plots: more lines could not be told apart."""


class CorrelationTable:
    """The correlations over all systems at one level and coefficient, by metric and dimension.

    Attributes:
        columns: Dimensions; the mean over them comes first if there are several.
    """

    def __init__(self, study: Study, *, level: Level, coefficient: CoefficientName) -> None:
        rows = [row for row in study.correlations if (row.level, row.coefficient) == (level, coefficient)]
        systems = {row.system for row in rows if row.system != ALL}
        # With several systems, only rows that average over them or pool them represent all; a single system
        # represents itself.
        own = systems if len(systems) == 1 else set[str]()
        standing = [row for row in rows if row.system in own] + [row for row in rows if row.system == ALL]
        # With one dimension, the mean over dimensions is that dimension.
        only = study.rated.dimensions[0] if len(study.rated.dimensions) == 1 else ALL
        self._rows = {(row.metric, only if row.dimension == ALL else row.dimension): row for row in standing}
        found = {dimension for _, dimension in self._rows}
        single = [dimension for dimension in study.rated.dimensions if dimension in found]
        self.columns = [ALL, *single] if ALL in found else single
        self.metrics = list(dict.fromkeys(row.metric for row in rows))

    def find(self, metric: str, dimension: str) -> Correlation | None:
        """Return the row of a metric in a dimension, or None where the study has none."""
        return self._rows.get((metric, dimension))

    def list_rows(self, dimension: str) -> list[Correlation]:
        """Return the rows of all metrics in a dimension, in the study's order."""
        return [row for metric in self.metrics if (row := self.find(metric, dimension)) is not None]

    def rank(self, dimension: str) -> list[str]:
        """Return the metrics by their coefficient, best first; those without one last, in the study's order."""
        values = {row.metric: row.value for row in self.list_rows(dimension) if row.value is not None}
        # Below any coefficient.
        return sorted(self.metrics, key=lambda metric: -values.get(metric, -2.0))


def main_correlations(study: Study) -> CorrelationTable:
    """Return the correlations that conclusions are drawn from."""
    return CorrelationTable(study, level=study.level, coefficient=study.coefficient)


def main_dimension(study: Study) -> str | None:
    """Return the dimension that metrics are ranked by: the mean over all, or the only one; None if there is none."""
    return next(iter(main_correlations(study).columns), None)


def rank_metrics(study: Study) -> list[str]:
    """Return all metrics of the study, those of the highest coefficient first."""
    dimension = main_dimension(study)
    ranked = [] if dimension is None else main_correlations(study).rank(dimension)
    return list(dict.fromkeys([*ranked, *study.rated.metrics]))


def select_top_metrics(study: Study) -> list[str]:
    """Return the best metrics that have a coefficient, for plots of single metrics.

    The one that the others are compared with is among them, in place of the last where it is not one of the best.
    """
    grid, dimension = main_correlations(study), main_dimension(study)
    if dimension is None:
        return []
    rows = ((metric, grid.find(metric, dimension)) for metric in grid.rank(dimension))
    ranked = [metric for metric, row in rows if row is not None and row.value is not None]
    best = ranked[:TOP_METRICS]
    if study.against is not None and study.against in ranked[TOP_METRICS:]:
        best[-1] = study.against
    return best


def describe_selection(study: Study, shown: Sequence[str]) -> str:
    """Describe the given metrics (at least one, best first) as the beginning of a sentence."""
    if set(shown) == set(study.rated.metrics):
        return "All metrics" if len(shown) > 1 else shown[0]
    ranked, best = rank_metrics(study), list(shown)
    added = "" if best == ranked[: len(best)] else best.pop()
    if not best or best != ranked[: len(best)]:
        return ", ".join(shown)
    several = f"s with the {len(best)} highest coefficients" if len(best) > 1 else " with the highest coefficient"
    return f"The metric{several}" + (f", and {added}" if added else "")


def order_dimensions(study: Study, found: Iterable[str]) -> list[str]:
    """Return dimensions in the study's order, the mean over all first."""
    present = set(found)
    return [dimension for dimension in (ALL, *study.rated.dimensions) if dimension in present]


def list_levels(study: Study) -> Sequence[tuple[Level, CoefficientName]]:
    """Return the levels and coefficients that the study has, those of the conclusions first."""
    found: list[tuple[Level, CoefficientName]] = [(row.level, row.coefficient) for row in study.correlations]
    return sorted(dict.fromkeys(found), key=lambda pair: pair != (study.level, study.coefficient))
