"""Checks the arguments of `Scorer`, chooses metrics by name, and turns texts and rows into samples."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from numbers import Integral, Number
from os import PathLike
from typing import TYPE_CHECKING, Any, cast, get_args

from imapeval.errors import InputError, UsageError
from imapeval.evaluation.combine import References
from imapeval.evaluation.samples import make_sample
from imapeval.evaluation.samples.columns import choose_columns
from imapeval.llm.prices import Price, parse_price
from imapeval.metrics import registry
from imapeval.metrics.base import Device, Metric
from imapeval.types import Sample, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from imapeval.evaluation.pipeline import LlmSettings
    from imapeval.evaluation.samples.columns import Columns
    from imapeval.llm.protocol import Model

_MODEL_ATTRIBUTES = ("identity", "concurrency", "complete")
"""What a `Model` has."""


def choose_metrics(
    metrics: str | Sequence[str | Metric], options: Mapping[str, Mapping[str, str]] | None
) -> list[Metric]:
    """Return the metrics in the given order: those that are named, with their options, and metric objects.

    "all-offline" stands for many, in its place.

    Raises:
        UsageError: A name is unknown, a metric is given as its class, or two metrics have the same name; or the options
            are not options by metric.
    """
    if options is not None and not (_has_names(options) and all(map(_has_names, options.values()))):
        raise UsageError(f"options is {options!r}. Give those of each metric: {{'METRIC': {{'OPTION': 'VALUE'}}}}.")
    # Callers without a type checker may pass None.
    if not isinstance(cast("object", metrics), Iterable):
        raise UsageError(f"metrics is {metrics!r}. Give names with commas between, or a list of names and metrics.")
    wanted = [name.strip() for name in metrics.split(",")] if isinstance(metrics, str) else list(metrics)
    for item in wanted:
        if isinstance(item, type):
            raise UsageError(f"{item.__name__} is a class. Give an object of it: {item.__name__}().")
        # Callers without a type checker may pass a path.
        if not isinstance(cast("object", item), str | Metric):
            raise UsageError(f"{item!r} is neither a metric nor the name of one. `imapeval metrics` lists them.")
    by_name = {m.name: m for m in registry.choose([item for item in wanted if isinstance(item, str) and item], options)}
    own: dict[str, Metric] = {}
    for item in wanted:
        if not isinstance(item, str):
            if item.name in own or item.name in by_name:
                raise UsageError(f"two metrics are called {item.name!r}. Give one of them another name.")
            own[item.name] = item
    known = own | by_name
    ordered = [name for item in wanted for name in (by_name if item == registry.ALL_OFFLINE else [_metric_name(item)])]
    chosen = {name: known[name] for name in ordered if name in known}
    if not chosen:
        raise UsageError(f"{metrics!r} names no metric. `imapeval metrics` lists them.")
    return list(chosen.values())


def _has_names(given: object) -> bool:
    return isinstance(given, Mapping) and all(isinstance(name, str) for name in cast("Mapping[Any, Any]", given))


def _metric_name(wanted: str | Metric) -> str:
    """Return the name of a metric that is given by name or as an object; a prompt file contains its own."""
    if isinstance(wanted, str):
        return registry.get(wanted).name if wanted.startswith(registry.GEVAL_FILE) else wanted
    return wanted.name


def read_price(given: Price | str | None) -> Price | None:
    """Return the price of a model, given as an object or as text in the form that `--price` takes.

    Raises:
        UsageError: It is neither.
    """
    with suppress(UsageError):
        given = parse_price(given) if isinstance(given, str) else given
    # Callers without a type checker may pass a pair.
    if not isinstance(cast("object", given), Price | None):
        raise UsageError(
            f"price is {given!r}. Give the USD per million tokens of prompts and of completions: "
            "imapeval.Price(0.40, 1.60), or the text '0.40,1.60'."
        )
    return cast("Price | None", given)


def check_no_llm_needed(metrics: Sequence[Metric], settings: LlmSettings) -> None:
    """Check that no metric needs a language model and that no setting describes one, where none is named.

    Raises:
        UsageError: A metric needs one, or a setting differs from its default.
    """
    if asking := registry.select_llm_metrics(metrics):
        raise UsageError(f"the metric {asking[0].name!r} needs a language model. Give llm as well.")
    for setting in dataclasses.fields(settings):
        if setting.name != "spec" and getattr(settings, setting.name) != setting.default:
            raise UsageError(f"{setting.name} describes a language model, but none is named. Give llm as well.")


def check_arguments(
    llm: str | Model | None,
    settings: LlmSettings,
    *,
    relations: str,
    references: str,
    kg: str | Path | None,
    encoder: str,
    device: str,
) -> None:
    """Check the language model and its settings, relations, references, graph, encoder and device.

    Raises:
        UsageError: A value has the wrong type, is too low, or is not one of the allowed names; a model is given as its
            class; or there is an address for a model that has its own.
    """
    if isinstance(llm, type):
        raise UsageError(f"llm is the class {llm.__name__}. Give an object of it: {llm.__name__}().")
    if not (llm is None or isinstance(llm, str) or all(hasattr(llm, name) for name in _MODEL_ATTRIBUTES)):
        raise UsageError(
            f"llm is {llm!r}. Give a name, such as 'openai:NAME', or a model with {', '.join(_MODEL_ATTRIBUTES)}."
        )
    for name in ("votes", "concurrency", "rpm", "tpm"):
        number = getattr(settings, name)
        if number is not None and (type(number) is not int or number < 1):
            raise UsageError(f"{name} is {number!r}. Give a whole number, 1 or more.")
    most = settings.max_cost
    # Callers without a type checker may pass a text.
    if most is not None and not (isinstance(cast("object", most), Number) and most >= 0):
        raise UsageError(f"max_cost is {most!r}. Give the most USD that the model may cost, 0 or more.")
    if not isinstance(cast("object", settings.base_url), str | None):
        raise UsageError(f"base_url is {settings.base_url!r}. Give the address of a server, http://HOST:PORT/v1.")
    if settings.base_url is not None and not isinstance(llm, str | None):
        raise UsageError(
            "base_url is the address of a model that is given by name. This one is an object: leave it out."
        )
    if not isinstance(cast("object", kg), str | PathLike | None):
        raise UsageError(f"kg is {kg!r}. Give the path of a graph that `imapeval kg build` made.")
    if not isinstance(cast("object", encoder), str):
        raise UsageError(f"encoder is {encoder!r}. Give 'use', or 'st:' and the name of a sentence-transformers model.")
    for name, value, known in (
        ("relations", relations, ("graph", "llm")),
        ("references", references, get_args(References)),
        ("device", device, get_args(Device)),
    ):
        if value not in known:
            raise UsageError(f"{name} is {value!r}. Give one of: {', '.join(known)}.")


def _turn_to_dict(turn: Any) -> Any:
    if isinstance(turn, Turn):
        return asdict(turn)
    return dict(cast("Mapping[Any, Any]", turn)) if isinstance(turn, Mapping) else turn


def check_rows(given: Any) -> list[Sample | Mapping[str, Any]]:
    """Return samples and rows, or the rows of a data frame of pandas or polars, as a list.

    Raises:
        UsageError: An item, or what was given, is something else, such as the name of a file; a sample is not one of
            texts; or two columns have the same name.
    """
    if frame_library(given) == "pandas":
        # `to_dict` would keep the last one.
        if not given.columns.is_unique:
            twice = given.columns[given.columns.duplicated()][0]
            raise UsageError(f"two columns of the data frame are called {twice!r}. Rename one.")
        # pandas has NaN, NaT and NA for what is missing.
        given = given.astype(object).where(given.notna().to_numpy(), None).to_dict("records")
    elif frame_library(given) == "polars":
        given = given.to_dicts()
    alone = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
    rows: list[Any] = [given] if alone else list(cast("Iterable[Any]", given))
    for row in rows:
        if alone or not isinstance(row, Sample | Mapping):
            shown = f"{type(row).__name__} {str(row)[:80]!r}"
            raise UsageError(
                "score_all takes a data frame, or a list of samples, or of mappings with the columns of a file; this "
                f"{'is' if alone else 'holds'} the {shown}. imapeval.read reads files."
            )
        if isinstance(row, Sample):
            _check_texts(row)
    return rows


def _check_texts(sample: Sample) -> None:
    # Callers without a type checker may pass None, or one text as the references, whose characters would count.
    references = cast("object", sample.references)
    listed = cast("Sequence[object]", references) if isinstance(references, tuple | list) else (None,)
    if not all(isinstance(text, str) for text in (cast("object", sample.question), *listed)):
        raise UsageError(
            f"the sample {sample.id!r} has the question {str(sample.question)[:80]!r} and the references "
            f"{str(cast('object', references))[:80]}. Give a text and a tuple of texts."
        )


def frame_library(given: Any) -> str | None:
    """Return the library of a data frame, "pandas" or "polars", without importing it; None for anything else."""
    # A subclass, such as that of geopandas, is a data frame as well.
    found = {kind.__module__.partition(".")[0] for kind in type(given).__mro__ if kind.__name__ == "DataFrame"}
    return next((library for library in ("pandas", "polars") if library in found), None)


def make_samples(given: Sequence[Sample | Mapping[str, Any]]) -> list[Sample]:
    """Return the sample of each item; that of an invalid row has a `fault`.

    Raises:
        UsageError: Several columns of the rows could be the same one of ours.
    """
    rows = [item if isinstance(item, Sample) else _with_lists(item) for item in given]
    try:
        columns = choose_columns([row for row in rows if isinstance(row, Mapping)], {})
    except InputError as error:
        raise UsageError(f"{error.problem}. Rename one: score_all takes the columns of a data file.") from error
    return [
        _mark_unanswered(item)
        if isinstance(item, Sample)
        else make_sample({**item, **_read_whole_ids(item, columns)}, columns)
        for item in rows
    ]


def _with_lists(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with lists, as in a file, in place of other sequences: the tuples of a `Sample`, numpy arrays."""
    return {
        str(name): [_turn_to_dict(item) for item in value] if _is_sequence(value) else value
        for name, value in row.items()
    }


def _is_sequence(value: Any) -> bool:
    # A numpy array is not a `Sequence`.
    return (
        hasattr(value, "__getitem__") and isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    )


def _mark_unanswered(sample: Sample) -> Sample:
    # Callers without a type checker may pass None.
    if cast("str | None", sample.response) is None:
        return replace(sample, response="", answered=False)
    return sample


def _read_whole_ids(row: Mapping[str, Any], columns: Columns) -> dict[str, int]:
    """Return the columns of ids that are whole numbers; pandas makes them floats as soon as one answer has none."""
    given: dict[str, object] = {name: row.get(name) for name in columns.sources.get("id", ())}
    # From 2**53 on, a float stands for several numbers, so that two ids may have become one.
    return {
        name: int(value)
        for name, value in given.items()
        if (not isinstance(value, bool) and isinstance(value, Integral))
        or (isinstance(value, float) and value.is_integer() and abs(value) < 2**53)
    }


def assign_ids(samples: Sequence[Sample]) -> list[Sample]:
    """Return samples with unique ids for a run: numbers from 1 if none has an id.

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
