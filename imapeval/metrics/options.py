"""Options of metrics: their fields that were declared with `imapeval.metrics.base.option`."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from imapeval.errors import UsageError
from imapeval.metrics.on_imaps import MetricOnImaps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from imapeval.metrics.base import Metric

_BOOLEANS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """An option of a metric: the name of the field, what it sets, and its value."""

    name: str
    description: str
    value: str | float | bool


def list_options(metric: Metric) -> list[Option]:
    """Return the options of a metric; for a metric on imaps, those of the metric of texts."""
    if isinstance(metric, MetricOnImaps):
        metric = metric.metric
    if not dataclasses.is_dataclass(metric):
        return []
    fields = [field for field in dataclasses.fields(metric) if "option" in field.metadata]
    return [Option(field.name, field.metadata["option"], getattr(metric, field.name)) for field in fields]


def set_options(metric: Metric, values: Mapping[str, str]) -> Metric:
    """Return the metric with options set to values as users write them.

    Raises:
        UsageError: There is no such option, or its value is invalid.
    """
    if isinstance(metric, MetricOnImaps):
        return dataclasses.replace(metric, metric=set_options(metric.metric, values))
    known = {option.name: option.value for option in list_options(metric)}
    parsed: dict[str, str | float | bool] = {}
    for name, text in values.items():
        if name not in known:
            available = f"Options: {', '.join(known)}." if known else "It has no options."
            raise UsageError(f"the metric {metric.name!r} has no option {name!r}. {available}")
        parsed[name] = _parse_value(f"{metric.name}.{name}", text, known[name])
    instance: Any = metric
    try:
        return dataclasses.replace(instance, **parsed) if parsed else metric
    except ValueError as error:
        raise UsageError(f"invalid option of the metric {metric.name!r}: {error}") from error


def _parse_value(name: str, text: str, default: str | float | bool) -> str | float | bool:
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        if text.lower() not in _BOOLEANS:
            raise UsageError(f"{name}={text!r} is not yes or no.")
        return _BOOLEANS[text.lower()]
    try:
        number = type(default)(text)
    except ValueError as error:
        kind = "whole number" if isinstance(default, int) else "number"
        raise UsageError(f"{name}={text!r} is not a {kind}, such as {default}.") from error
    if isinstance(number, float) and not math.isfinite(number):
        raise UsageError(f"{name}={text!r} is not finite. Give a number, such as {default}.")
    return number
