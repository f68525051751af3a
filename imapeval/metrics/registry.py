"""Every metric by name: our own, and those of other packages.

Another package adds metrics through the entry-point group `imapeval.metrics`, each entry a callable that returns a
list of metrics:

    [project.entry-points."imapeval.metrics"]
    mine = "my_package.metrics:build"
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from imapeval.errors import ResourceError, UsageError
from imapeval.metrics import imapscore, lexical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from imapeval.metrics.base import Metric

GROUP = "imapeval.metrics"

_OURS: tuple[Callable[[], Sequence[Metric]], ...] = (imapscore.build, lexical.build)


def names() -> list[str]:
    """Return the names of all metrics, our own first."""
    return list(_registered())


def all_metrics() -> list[Metric]:
    """Return all metrics, our own first."""
    return list(_registered().values())


def get(name: str) -> Metric:
    """Return the metric of that name.

    Raises:
        UsageError: There is none; names those that come near.
    """
    registered = _registered()
    if name not in registered:
        near = difflib.get_close_matches(name, registered, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Metrics: {', '.join(registered)}."
        raise UsageError(f"unknown metric {name!r}. {hint} `imapeval metrics` describes them all.")
    return registered[name]


@cache
def _registered() -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    for build in _OURS:
        _add(metrics, build(), source="imapeval")
    for entry in metadata.entry_points(group=GROUP):
        _add(metrics, entry.load()(), source=entry.value)
    return metrics


def _add(metrics: dict[str, Metric], added: Iterable[Metric], *, source: str) -> None:
    for metric in added:
        if metric.name in metrics:
            raise ResourceError(
                f"the metric {metric.name!r} of {source} has the name of another metric. Uninstall one of the packages."
            )
        metrics[metric.name] = metric
