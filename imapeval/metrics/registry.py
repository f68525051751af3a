"""The metrics by name: built-in ones and those of other packages.

Another package adds metrics through the entry-point group `imapeval.metrics`, each entry a callable that returns a
list of metrics:

    [project.entry-points."imapeval.metrics"]
    mine = "my_package.metrics:build"

All metrics that compare two texts are also available on imaps (`imapeval.metrics.on_imaps`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, metadata
from typing import TYPE_CHECKING

from imapeval._optional import check_offered, name_entry_point
from imapeval.errors import ResourceError, UsageError, unknown_name
from imapeval.metrics.base import Metric
from imapeval.metrics.on_imaps import MetricOnImaps, make_imap_variants
from imapeval.metrics.options import set_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


ENTRY_POINT_GROUP = "imapeval.metrics"

GEVAL_FILE = "geval-file:"
"""Prefix of the path of a custom prompt, given instead of a name (`imapeval.metrics.judges.custom`)."""

ALL_OFFLINE = "all-offline"
"""Given instead of names: every metric that can be computed here without further setup."""

_BUILTIN_MODULES = (
    "imapscore",
    "lexical",
    "cosine",
    "neural.bertscore",
    "neural.moverscore",
    "neural.bartscore",
    "neural.bleurt",
    "neural.comet",
    "neural.unieval",
    "neural.alignscore",
    "neural.entailment",
    "likelihood",
    "judges",
)
"""Modules of this package whose `build` returns metrics, in the order of the lists."""

_LLM_REQUIREMENTS = frozenset({"llm", "logprobs"})


def names() -> list[str]:
    """Return the names of all metrics, the built-in ones first."""
    return list(_registered()[0])


def all_metrics() -> list[Metric]:
    """Return all metrics, the built-in ones first."""
    return list(_registered()[0].values())


def unavailable() -> dict[str, str]:
    """Return why nothing is available of an entry point of another package, by its name."""
    return _registered()[1]


def all_offline() -> list[Metric]:
    """Return the metrics that can be computed here without a language model and without further setup."""
    return [metric for metric in all_metrics() if _is_offline(metric)]


def select_llm_metrics(metrics: Iterable[Metric]) -> list[Metric]:
    """Return the metrics that use the language model of the run."""
    return [metric for metric in metrics if metric.requires & _LLM_REQUIREMENTS]


def get(name: str) -> Metric:
    """Return the metric of that name, or of the prompt file that it names.

    Raises:
        UsageError: There is none; the message has the three nearest names.
        ResourceError: The entry point of that name cannot be used.
        InputError: The prompt file cannot be read or is invalid.
    """
    if name.startswith(GEVAL_FILE):
        from imapeval.metrics.judges.custom import open_prompt_metric

        return open_prompt_metric(name.removeprefix(GEVAL_FILE))
    registered, unusable = _registered()
    if name not in registered:
        if (reason := unusable.get(name.partition("+")[0])) is not None:
            raise ResourceError(reason)
        # Variants on imaps would be the nearest to most names.
        known = [other for other in registered if "+" in name or "+" not in other]
        # An entry point need not be called like the metrics that it would have added.
        raise unknown_name("metric", name, known, fix=" ".join(("`imapeval metrics` lists all.", *unusable.values())))
    return registered[name]


def choose(requested: Iterable[str], options: Mapping[str, Mapping[str, str]] | None = None) -> list[Metric]:
    """Return metrics with their options set.

    Args:
        requested: Names, or prompts as "geval-file:PATH"; "all-offline" stands for all metrics that can be computed
            here with these options and without a language model.
        options: Values as users write them, by name of the metric and then of the option. They hold for the metric on
            imaps too.

    Raises:
        UsageError: There is no such metric or option; or an option of a metric that is not requested; or two prompts
            have the same name.
        ResourceError, InputError: See `get`.
    """
    named = options or {}
    found: dict[str, Metric] = {}
    used: set[str] = set()
    for name in requested:
        for metric in all_metrics() if name == ALL_OFFLINE else [get(name)]:
            base = metric.metric.name if isinstance(metric, MetricOnImaps) else metric.name
            chosen = set_options(metric, named.get(base, {}))
            if name != ALL_OFFLINE or _is_offline(chosen):
                if metric.name in found and found[metric.name].signature != chosen.signature:
                    raise UsageError(
                        f"two metrics are called {metric.name!r}. Give one prompt another name in its head."
                    )
                used.add(base)
                found[metric.name] = chosen
    if unused := named.keys() - used:
        name = min(unused)
        metric = get(name)
        if isinstance(metric, MetricOnImaps):
            raise UsageError(f"{name!r} has the options of {metric.metric.name!r}. Set them by that name.")
        missing = set_options(metric, named[name]).missing_requirements
        reason = f" It cannot be computed here: {missing}." if missing else ""
        raise UsageError(
            f"an option of {name!r} is set, but the metric is not requested. Metrics: {', '.join(found)}.{reason}"
        )
    return list(found.values())


def _is_offline(metric: Metric) -> bool:
    return not metric.requires & _LLM_REQUIREMENTS and not metric.missing_requirements


@cache
def _registered() -> tuple[dict[str, Metric], dict[str, str]]:
    """Return the metrics by name, and why entry points cannot be used, by their names."""
    metrics: dict[str, Metric] = {}
    unusable: dict[str, str] = {}
    for module in _BUILTIN_MODULES:
        _add(metrics, import_module(f"imapeval.metrics.{module}").build(), source="imapeval")
    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP):
        try:
            added = _load(entry)
        except ResourceError as error:
            unusable[entry.name] = str(error)
        else:
            _add(metrics, added, source=entry.value)
    for metric in make_imap_variants(list(metrics.values())):
        metrics.setdefault(metric.name, metric)
    return metrics, unusable


def _load(entry: metadata.EntryPoint) -> list[Metric]:
    with name_entry_point(entry):
        offered = [check_offered(metric, Metric) for metric in entry.load()()]
        for metric in offered:
            if not (metric.name and metric.summary):
                raise ValueError(f"{type(metric).__name__} has no name or no summary")
        return offered


def _add(metrics: dict[str, Metric], added: Iterable[Metric], *, source: str) -> None:
    for metric in added:
        if metric.name in metrics:
            raise ResourceError(
                f"the metric {metric.name!r} of {source} has the name of another metric. Uninstall one of the packages."
            )
        metrics[metric.name] = metric
