"""Options that several commands share, and what their values mean."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from imapeval.errors import UsageError
from imapeval.evaluation import combine
from imapeval.metrics.base import Device

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric
    from imapeval.types import Lang

Data = Annotated[
    str, typer.Argument(help="A file (.jsonl, .csv, .parquet), hf:NAME[:SPLIT], or a shipped sample's name.")
]
Loader = Annotated[
    str | None, typer.Option(metavar="NAME", help="How to read DATA: jsonl, csv, parquet, imapscore, hf or inspect.")
]
Map = Annotated[
    list[str] | None,
    typer.Option("--map", metavar="NAME=COLUMN", help="Take NAME (such as response) from COLUMN. Repeatable."),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="A response that is this text, such as N/A, is none: not scored. Repeatable."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Read the first samples only; what follows is not checked.")]
Imaps = Annotated[Path | None, typer.Option(metavar="FILE", help="Ready imaps, in place of extracting them.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="METRIC.OPTION=VALUE",
        help="Set an option of a metric (`imapeval metrics show METRIC` lists them). Repeatable.",
    ),
]
Llm = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="Let a language model read the texts: openai:NAME, vllm:NAME or local:NAME."),
]
BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="Address of an OpenAI-compatible server for --llm.")]
Votes = Annotated[
    int,
    typer.Option(
        min=1,
        metavar="N",
        help="Read each text N times: every reading gives imaps and a score of its own, and the mean score counts.",
    ),
]
References = Annotated[
    str,
    typer.Option(
        metavar="HOW",
        help="How several references count: the best score, the mean, or consensus, the mean weighted by how far each "
        "reference agrees with the others.",
    ),
]
Relations = Annotated[
    str | None,
    typer.Option(
        metavar="WHO",
        help="Who relates two facts: llm, which may overrule wording and graph, or graph, which asks nobody.  "
        "[default: llm with --llm, else graph]",
    ),
]
Concurrency = Annotated[int | None, typer.Option(min=1, metavar="N", help="Most requests to the model at a time.")]
Rpm = Annotated[int | None, typer.Option("--rpm", min=1, metavar="N", help="Most requests to the model a minute.")]
Tpm = Annotated[int | None, typer.Option("--tpm", min=1, metavar="N", help="Most tokens of the model a minute.")]
MaxCost = Annotated[
    float | None, typer.Option(min=0, metavar="USD", help="Stop before the model costs more; the run can be continued.")
]
Price = Annotated[
    str | None,
    typer.Option(metavar="IN,OUT", help="Price of the model in USD per million tokens, such as 0.40,1.60, if unknown."),
]
Batch = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Send nothing: take what was imported to this folder of `imapeval batch`."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Tell how many calls, tokens and USD it would take; send nothing.")
]
Kg = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A graph of `imapeval kg build` in place of the shipped one.")
]
Language = Annotated[str | None, typer.Option("--lang", help="en or zh.  [default: by script]")]
Encoder = Annotated[
    str,
    typer.Option(
        metavar="SPEC",
        help="Encoder of the soft credit: use (which ships), or st:NAME_OR_PATH for a sentence-transformers model, "
        "whose index of the graph's names is built once.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
MaxFailures = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Exit with 1 when more than N samples failed.  [default: when all failed]"),
]


def parse_columns(values: list[str] | None) -> dict[str, str]:
    """Return the column by our name, of `name=column` texts.

    Raises:
        UsageError: A text is not of that form, or a name is mapped twice.
    """
    columns: dict[str, str] = {}
    for value in values or ():
        name, equals, column = value.partition("=")
        if not (name and equals and column):
            raise UsageError(f"--map {value!r} is not NAME=COLUMN. Write, for example, --map response=answer.")
        if name in columns:
            raise UsageError(f"--map names {name!r} twice. Keep one of {columns[name]!r} and {column!r}.")
        columns[name] = column
    return columns


def parse_settings(values: list[str] | None) -> dict[str, dict[str, str]]:
    """Return the values by metric and option, of `metric.option=value` texts.

    Raises:
        UsageError: A text is not of that form, or an option is set twice.
    """
    settings: dict[str, dict[str, str]] = {}
    for text in values or ():
        place, equals, value = text.partition("=")
        metric, dot, option = place.rpartition(".")
        if not (metric and dot and option and equals):
            raise UsageError(f"--set {text!r} is not METRIC.OPTION=VALUE. Write, for example, --set bertscore.idf=yes.")
        if option in settings.setdefault(metric, {}):
            raise UsageError(f"--set gives {place} twice. Keep one of {settings[metric][option]!r} and {value!r}.")
        settings[metric][option] = value
    return settings


def split_commas(text: str) -> list[str]:
    """Return the names of a text with commas between, without the space around them; none are left empty."""
    return [name for name in (part.strip() for part in text.split(",")) if name]


def choose_metrics(names: str, options: "dict[str, dict[str, str]]") -> "list[Metric]":
    """Return the metrics that a command line names, with their options.

    Raises:
        UsageError: It names none, or one that there is not.
    """
    from imapeval.metrics import registry

    wanted = split_commas(names)
    if not wanted:
        raise UsageError(f"--metrics {names!r} names no metric. `imapeval metrics` lists them.")
    return registry.choose(wanted, options)


def parse_device(text: str) -> "Device":
    """Return where models are put.

    Raises:
        UsageError: There is no such device.
    """
    return _pick(text, get_args(Device), option="--device")


def parse_references(text: str) -> combine.References:
    """Return how the scores beside several references become one.

    Raises:
        UsageError: There is no such way.
    """
    return _pick(text, get_args(combine.References), option="--references")


def _pick(text: str, known: tuple[Any, ...], *, option: str) -> Any:
    if text not in known:
        raise UsageError(f"unknown {option} {text!r}. Write one of: {', '.join(known)}.")
    return text


def make_file_stem(data: str) -> str:
    """Return a name for files made of DATA: the stem of its last part, fit for any file system."""
    return re.sub(r"[^\w.-]+", "-", Path(data).stem)


def exit_code(*, failed: int, samples: int, max_failures: int | None) -> int:
    """Return 1 where more samples failed than allowed, else 0; without a number all of them may not."""
    return int(failed == samples if max_failures is None else failed > max_failures)


def require_value(value: str) -> None:
    """Raise a UsageError where a value that a command line gives is empty, or no text."""
    if not value.strip():
        raise UsageError("a value is empty. Give a name, such as: ibuprofen")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{value!a} is not UTF-8. Set the terminal to UTF-8.") from error


def parse_lang(lang: str | None, *values: str) -> "Lang":
    """Return the language that --lang says, by default that of the values.

    Raises:
        UsageError: There is no such language, or a value is empty or no text.
    """
    from imapeval.evaluation.samples import detect_lang

    for value in values:
        require_value(value)
    if lang not in (None, "en", "zh"):
        raise UsageError(f"unknown --lang {lang!r}. Write en or zh.")
    return lang or detect_lang("".join(values))
