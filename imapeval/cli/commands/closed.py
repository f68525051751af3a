"""`imapeval closed`: metrics of answers that are labels, lists, tags or ranks."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import Json, split_commas
from imapeval.cli.output import echo, print_table
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.estimate import MetricEstimate
    from imapeval.study.closed.reading import ClosedTask
    from imapeval.study.data.rated import Scale


def closed(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file (.jsonl, .csv, .parquet), one answer a row.")],
    gold: Annotated[str, typer.Option(metavar="COLUMN", help="What is right.")],
    predicted: Annotated[str, typer.Option(metavar="COLUMN", help="What was answered.")],
    scores: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="A number, or a JSON object of one for each label, for AUC and PR-AUC."),
    ] = None,
    task: Annotated[
        str, typer.Option(metavar="TASK", help="labels, multilabel, ranking, sequence, ordinal or grade.")
    ] = "labels",
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="What single scores speak for.  [default: 1, yes or true]")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Ordinal labels, lowest first.  [default: as numbers]")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Between which numbers grades lie, such as 0:5.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Which metrics.  [default: the task's]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, help="Of the bootstrap.")] = 2000,
    json_output: Json = False,
) -> None:
    """Measure closed answers, each metric with its 95% confidence interval.

    labels: one label each. multilabel: a list of labels. ranking: right answers, and a list of answers, best first.
    sequence: a list of tags (B-DRUG, I-DRUG, O). ordinal: ordered labels, and a number. grade: a number on a scale, and
    a number.
    """
    from imapeval.study.closed.estimate import estimate_metrics
    from imapeval.study.closed.reading import TASKS, AnswerColumns, read_closed_answers

    known: dict[str, ClosedTask] = {name: name for name in TASKS}
    if task not in known:
        raise UsageError(f"unknown --task {task!r}. Tasks: {', '.join(TASKS)}.")
    columns = AnswerColumns(
        gold,
        predicted,
        scores,
        positive,
        None if order is None else _split(order, "--order"),
        None if scale is None else _parse_scale(scale),
    )
    families, answers = read_closed_answers(file, columns, task=known[task])
    wanted = None if metrics is None else _split(metrics, "--metrics")
    found = estimate_metrics(families, answers, metrics=wanted, seed=seed, resamples=resamples)
    if json_output:
        echo(json.dumps([asdict(row) for row in found], ensure_ascii=False, indent=2))
        return
    _print(found, seed=seed, resamples=resamples)


def _split(text: str, option: str) -> tuple[str, ...]:
    names = split_commas(text)
    if not names:
        raise UsageError(f"{option} {text!r} names nothing. Separate names by commas.")
    return tuple(names)


def _parse_scale(text: str) -> "Scale":
    from imapeval.evaluation.samples.rows import read_number
    from imapeval.study.data.rated import Scale

    low, high = map(read_number, text.partition(":")[::2])
    if low is None or high is None or low >= high:
        raise UsageError(f"--scale {text!r} is not LOW:HIGH. Write, for example, --scale 0:5.")
    return Scale(low, high)


def _print(rows: "Sequence[MetricEstimate]", *, seed: int, resamples: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("metric")
    for column in ("value", "95% interval", "n"):
        table.add_column(column, justify="right")
    for row in rows:
        value = "-" if row.value is None else f"{row.value:.3f}"
        interval = "-" if row.low is None or row.high is None else f"{row.low:.3f} .. {row.high:.3f}"
        table.add_row(Text(row.metric), value, interval, str(row.n))
    print_table(table)
    echo(f"95% percentile bootstrap intervals ({resamples} resamples of answers, seed {seed}).")
    for reason, names in _group_by_reason(rows).items():
        echo(f"Undefined: {', '.join(names)}: {reason}.")


def _group_by_reason(rows: "Sequence[MetricEstimate]") -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.reason is not None:
            reasons.setdefault(row.reason, []).append(row.metric)
    return reasons
