"""What callers give: names of metrics, and texts that have yet to be checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, cast

from imapeval.errors import InputError, UsageError
from imapeval.metrics import registry
from imapeval.samples import make_sample
from imapeval.types import Failure, Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from imapeval.metrics.base import Metric
    from imapeval.types import Lang


def choose(metrics: str | Sequence[str | Metric], options: Mapping[str, Mapping[str, str]] | None) -> list[Metric]:
    """Return the metrics that are named, with their options, and those that are given, in that order.

    Raises:
        UsageError: There is none of a name, or two share one.
    """
    wanted = [name.strip() for name in metrics.split(",")] if isinstance(metrics, str) else list(metrics)
    by_name = {m.name: m for m in registry.choose([item for item in wanted if isinstance(item, str) and item], options)}
    own: dict[str, Metric] = {}
    for item in wanted:
        if not isinstance(item, str):
            if item.name in own or item.name in by_name:
                raise UsageError(f"two metrics are called {item.name!r}. Give one of them another name.")
            own[item.name] = item
    ordered = [_call(item) for item in wanted]
    # "all-offline" stands for many.
    chosen = {name: (own | by_name)[name] for name in ordered if name in own or name in by_name} | by_name
    if not chosen:
        raise UsageError(f"{metrics!r} names no metric. `imapeval metrics` lists them.")
    return list(chosen.values())


def _call(wanted: str | Metric) -> str:
    """Return what a metric is called that is named or given; a prompt file says it itself."""
    if isinstance(wanted, str):
        return registry.get(wanted).name if wanted.startswith(registry.GEVAL_FILE) else wanted
    return wanted.name


def refuse_without_llm(metrics: Sequence[Metric], **given: bool) -> None:
    """Make sure that nothing needs or describes a language model where none is named.

    Args:
        metrics: Those that were chosen.
        **given: Of each option that describes one, whether it is given.

    Raises:
        UsageError: A metric asks one, or an option is given.
    """
    for asking in (metric.name for metric in metrics if metric.requires & {"llm", "logprobs"}):
        raise UsageError(f"the metric {asking!r} asks a language model, but none is named. Give llm as well.")
    for name in (name for name, there in given.items() if there):
        raise UsageError(f"{name} is about a language model, but none is named. Give llm as well.")


def collect(
    response: str | None,
    question: str | None,
    reference: str | Sequence[str] | None,
    turns: Sequence[Turn | Mapping[str, str]] | None,
    lang: Lang | None,
    id_: str,
) -> dict[str, Any]:
    """Return what was given as the fields of a row."""
    fields: dict[str, Any] = {"id": id_, "response": response, "question": question, "lang": lang}
    if turns is not None:
        fields["turns"] = _list(turns, _tell_turn)
    if isinstance(reference, str) or reference is None:
        fields["reference"] = reference
    else:
        fields["references"] = _list(reference)
    return fields


def _list(given: Any, read: Callable[[Any], Any] = lambda item: item) -> Any:
    """Return a list of what was given; what is none is refused where samples are made, with a reason."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        return given
    return [read(item) for item in cast("Iterable[Any]", given)]


def _tell_turn(turn: Any) -> Any:
    if isinstance(turn, Turn):
        return asdict(turn)
    return dict(cast("Mapping[Any, Any]", turn)) if isinstance(turn, Mapping) else turn


def make(fields: Mapping[str, Any]) -> Sample | Failure:
    """Return the sample, or why these fields make none."""
    if fields.get("response", "") is None:
        if fields.get("turns") is None:
            return Failure("metric", "bad-input", "there is no response: whoever should have answered did not.")
        # None is no answer, unlike "". It may be the last turn.
        fields = {name: value for name, value in fields.items() if name != "response"}
    try:
        return make_sample(fields)
    except InputError as error:
        return Failure("metric", "bad-input", f"{error.problem}. {error.mend}")


def number(samples: Sequence[Sample]) -> list[Sample]:
    """Return samples with ids that are fit for a run: numbers from 1 where none has one.

    Raises:
        UsageError: Some have none, or two share one.
    """
    if not any(sample.id for sample in samples):
        return [replace(sample, id=str(number)) for number, sample in enumerate(samples, 1)]
    ids = Counter(sample.id for sample in samples)
    id_, count = ids.most_common(1)[0]
    if count > 1 or "" in ids:
        raise UsageError(
            "some answers have an id and others have none. Give every answer an id, or none."
            if "" in ids
            else f"{count} answers have the id {id_!r}. Make ids unique, for example by adding the system's name."
        )
    return list(samples)
