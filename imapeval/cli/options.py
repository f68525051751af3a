"""Options that several commands share, and how their values are read."""

import functools
import inspect
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, overload

import typer

from imapeval.errors import UsageError
from imapeval.evaluation import combine
from imapeval.evaluation.loader_names import LOADER_NAMES
from imapeval.metrics import base

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric
    from imapeval.types import Lang, Sample


class GivenOptions(dict[str, Any]):
    """The values of a command's options as JSON values, by name: given, from a file of options, or defaults."""


def spell_option(name: str) -> str:
    """Return the command-line spelling of a parameter's name, without "--"."""
    return name.strip("_").replace("_", "-")


def find_given(
    context: typer.Context, *, source: Literal["COMMANDLINE", "DEFAULT_MAP"] = "COMMANDLINE"
) -> dict[str, str]:
    """Return the options on the command line, or those from a file of options, by the names of their parameters."""
    return {
        parameter.name: parameter.opts[0]
        for parameter in context.command.params
        if (found := context.get_parameter_source(parameter.name or "")) and found.name == source
    }


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Turn each parameter of a command that is a dataclass into one option per field of the dataclass.

    `options: LlmOptions` stands for all fields of `LlmOptions`, `options: Annotated[LlmOptions, ("llm", "base_url")]`
    for these two. A parameter of type `GivenOptions` gets the values of all options. The fields are annotated as typer
    requires, and have defaults. Called from Python, the command takes the fields or the dataclass.
    """
    groups: dict[str, tuple[Callable[..., Any], list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    overview: str | None = None
    for parameter in inspect.signature(command).parameters.values():
        if parameter.annotation is GivenOptions:
            overview = parameter.name
            continue
        kind, chosen = parameter.annotation, None
        if get_origin(kind) is Annotated and is_dataclass(get_args(kind)[0]):
            kind, chosen = get_args(kind)
        if not (isinstance(kind, type) and is_dataclass(kind)):
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        by_name = {field.name: field for field in fields(kind)}
        groups[parameter.name] = kind, list(chosen or by_name)
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=by_name[name].default, annotation=by_name[name].type
            )
            for name in chosen or by_name
        ]

    @functools.wraps(command)
    def run(*args: Any, **given: Any) -> None:
        flat: dict[str, Any] = {}
        for name, value in given.items():
            flat |= {field: getattr(value, field) for field in groups[name][1]} if name in groups else {name: value}
        every = {
            spell_option(name): str(value) if isinstance(value, Path) else value
            for name, value in flat.items()
            if value is not None and name not in ("data", "json_output")
        }
        for name, (kind, names) in groups.items():
            given.setdefault(name, kind(**{field: given.pop(field) for field in names if field in given}))
        if overview is not None:
            given[overview] = GivenOptions(every)
        command(*args, **given)

    # typer reads both.
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


DEVICES = get_args(base.Device)
REFERENCES = get_args(combine.References)

DataArgument = Annotated[
    str,
    typer.Argument(
        help="A file (.jsonl, .json, .csv, .tsv, .xlsx, .parquet, .arrow; also .gz), a folder of files, - for standard "
        "input, hf:NAME[:SPLIT], or a shipped sample's name."
    ),
]
DataFilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Files (.jsonl, .json, .csv, .tsv, .xlsx, .parquet, .arrow; also .gz), which are read as one, a folder of "
        "files, URLs such as s3://..., - for standard input, hf:NAME[:SPLIT], or a shipped sample's name.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="METRIC.OPTION=VALUE",
        help="Set an option of a metric; `imapeval metrics show METRIC` lists them. Repeatable.",
    ),
]
ReferencesOption = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="How scores against several references are combined: best, mean, or consensus, the mean weighted by how "
        "much each reference agrees with the others.",
    ),
]
KgOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Use a graph made by `imapeval kg build` instead of the shipped one.")
]
LanguageOption = Annotated[
    str | None, typer.Option("--lang", metavar="LANG", help="en or zh.  [default: detected from the script]")
]
EncoderOption = Annotated[
    str,
    typer.Option(
        metavar="SPEC",
        help="Encoder for the similarity of values: use (shipped), or st:NAME_OR_PATH for a sentence-transformers "
        "model; the index of the graph's names is then built once.",
    ),
]
DeviceOption = Annotated[
    str, typer.Option(metavar="DEVICE", help="Where metrics run their models: auto, cpu, cuda or mps.")
]
ImapsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Use ready-made imaps instead of extracting them.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
MaxFailuresOption = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Exit with code 1 if more than N samples failed.  [default: if all failed]"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataOptions:
    """How DATA is read."""

    loader: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Format of DATA: {', '.join(LOADER_NAMES[:-1])} or {LOADER_NAMES[-1]}.  [default: detected]",
        ),
    ] = None
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="NAME=COLUMN",
            help="Read the field NAME, such as response, from COLUMN; from a path into nested values, such as "
            "answers.text; or, as response=gpt4,llama, from a column for each system. Repeatable.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="Treat a response equal to TEXT, such as N/A, as missing: not scored. Repeatable."
        ),
    ] = None
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Read only the first N rows; do not check the rest.")
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Take N questions at random (--seed), with the answers of all systems."),
    ] = None
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Random seed for --sample and for bootstrap intervals.")
    ] = 0
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Encoding of a text file, such as gb18030.  [default: detected]"),
    ] = None
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of an Excel file.  [default: the only one with a table]")
    ] = None
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at the first bad row. By default, a bad row is a failure, and the others are scored."
        ),
    ] = False

    def read(self, data: str | Sequence[str]) -> "Sequence[Sample]":
        """Return the samples of DATA.

        Raises:
            UsageError: An option is malformed, or there is no such file.
            InputError: The file is malformed.
        """
        from imapeval.evaluation.samples import read

        return read(
            data,
            loader=self.loader,
            columns=parse_columns(self.map_),
            missing=self.missing or (),
            limit=self.limit,
            sample=self.sample,
            seed=self.seed,
            encoding=self.encoding,
            sheet=self.sheet,
            strict=self.strict,
        )


def parse_columns(values: list[str] | None) -> dict[str, str]:
    """Parse `name=column` texts into a mapping of our names to columns.

    Raises:
        UsageError: A text is malformed, or a name is mapped twice.
    """
    columns: dict[str, str] = {}
    for value in values or ():
        name, equals, column = value.partition("=")
        if not (name and equals and column):
            raise UsageError(f"--map {value!r} is not NAME=COLUMN. Example: --map response=answer.")
        if name in columns:
            raise UsageError(f"--map is given twice for {name!r}: {columns[name]!r} and {column!r}. Keep one.")
        columns[name] = column
    return columns


def parse_settings(values: list[str] | None) -> dict[str, dict[str, str]]:
    """Parse `metric.option=value` texts into option values by metric and option.

    Raises:
        UsageError: A text is malformed, or an option is set twice.
    """
    settings: dict[str, dict[str, str]] = {}
    for text in values or ():
        name, equals, value = text.partition("=")
        metric, dot, option = name.rpartition(".")
        if not (metric and dot and option and equals):
            raise UsageError(f"--set {text!r} is not METRIC.OPTION=VALUE. Example: --set bertscore.idf=yes.")
        if option in settings.setdefault(metric, {}):
            raise UsageError(f"--set is given twice for {name}: {settings[metric][option]!r} and {value!r}. Keep one.")
        settings[metric][option] = value
    return settings


@overload
def parse_names(text: str, option: str, *, unique: bool = True) -> list[str]: ...
@overload
def parse_names(text: str | None, option: str, *, unique: bool = True) -> list[str] | None: ...
def parse_names(text: str | None, option: str, *, unique: bool = True) -> list[str] | None:
    """Return the names of a comma-separated text, with `unique` each once; None for None.

    Raises:
        UsageError: It names nothing.
    """
    if text is None:
        return None
    names = [name for name in (part.strip() for part in text.split(",")) if name]
    if not names:
        raise UsageError(f"{option} {text!r} names nothing. Separate names with commas.")
    return list(dict.fromkeys(names)) if unique else names


def choose_metrics(names: str, options: "dict[str, dict[str, str]]") -> "list[Metric]":
    """Return the metrics named in a comma-separated text, with their options set.

    Raises:
        UsageError: No metric is named, or an unknown one.
    """
    from imapeval.metrics import registry

    return registry.choose(parse_names(names, "--metrics"), options)


def choose_one(text: str, option: str, known: Sequence[Any]) -> Any:
    """Return the text if it is one of the known names.

    Raises:
        UsageError: It is not.
    """
    if text not in known:
        raise UsageError(f"unknown {option} {text!r}. Choose one of: {', '.join(known)}.")
    return text


_UNNAMED = "data"
"""Name of DATA that has none, such as the root folder."""


def name_data(data: str) -> str:
    """Return the name of DATA without suffixes; for a pattern, "." and ".." that of the folder."""
    from imapeval.evaluation.runs import name_source

    if data == "-":
        return name_source(data)
    folder = Path(data).name in ("", "..")
    # `resolve` follows links.
    return name_source(os.path.abspath(f"{data}/*" if folder else data)) or _UNNAMED  # noqa: PTH100


def make_file_stem(data: str) -> str:
    """Return a stem for the names of files made from DATA, valid on any file system."""
    return re.sub(r"[^\w.-]+", "-", name_data(data)).strip("-") or _UNNAMED


def choose_exit_code(*, failed: int, samples: int, max_failures: int | None) -> int:
    """Return 1 if more samples failed than allowed (without `max_failures`: if all failed), else 0."""
    return int(failed == samples if max_failures is None else failed > max_failures)


def require_value(value: str) -> None:
    """Raise a UsageError if a value from the command line is empty or not valid text."""
    if not value.strip():
        raise UsageError("a value is empty. Give a name, such as ibuprofen.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{value!a} is not UTF-8. Set the terminal to UTF-8.") from error


def parse_lang(lang: str | None, *values: str) -> "Lang":
    """Return the language given with --lang, by default that of the values.

    Raises:
        UsageError: The language is unknown, or a value is empty or not valid text.
    """
    from imapeval.text.language import FACT_LANGS, detect_lang

    for value in values:
        require_value(value)
    return detect_lang("".join(values)) if lang is None else choose_one(lang, "--lang", FACT_LANGS)
