"""`imapeval closed`: metrics of answers that are labels, lists, tags or ranks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.options import Json, choose_one, parse_names
from imapeval.cli.output import Column, echo, emit, emit_json, format_interval
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.estimate import MetricEstimate
    from imapeval.study.data.scales import Scale


def closed(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file (.jsonl, .csv, .parquet), one answer per row.")],
    gold: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the right answers.")],
    predicted: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the predicted answers.")],
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of scores for AUC and PR-AUC: a number, or a JSON object by label.",
        ),
    ] = None,
    task: Annotated[
        str, typer.Option(metavar="TASK", help="labels, multilabel, ranking, sequence, ordinal or grade.")
    ] = "labels",
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Label that single scores are for.  [default: 1, yes or true]")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Ordinal labels, lowest first.  [default: labels are numbers]")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Lowest and highest grade, such as 0:5.")
    ] = None,
    metrics: Annotated[str | None, typer.Option(metavar="A,B", help="Metrics.  [default: all for the task]")] = None,
    json_output: Json = False,
) -> None:
    """Score answers that are not free text, each metric with its 95% confidence interval.

    labels: one label each. multilabel: a list of labels. ranking: right answers, and a list of answers, best first.
    sequence: a list of tags (B-DRUG, I-DRUG, O). ordinal: ordered labels, and a number. grade: a number on a scale, and
    a number.
    """
    from imapeval.study.closed.estimate import estimate_metrics
    from imapeval.study.closed.reading import TASKS, AnswerColumns, read_closed_answers

    choose_one(task, "--task", TASKS)
    columns = AnswerColumns(
        gold,
        predicted,
        scores,
        positive,
        None if order is None else tuple(parse_names(order, "--order", unique=False) or ()),
        None if scale is None else _parse_scale(scale),
    )
    families, answers = read_closed_answers(file, columns, task=task)  # pyright: ignore[reportArgumentType]  # checked above
    wanted = parse_names(metrics, "--metrics")
    found = estimate_metrics(families, answers, metrics=wanted)
    if json_output:
        emit_json(found)
        return
    _print(found)


def _parse_scale(text: str) -> "Scale":
    from imapeval.evaluation.samples.rows import read_number
    from imapeval.study.data.scales import Scale

    low, high = map(read_number, text.partition(":")[::2])
    if low is None or high is None or low >= high:
        raise UsageError(f"--scale {text!r} is not LOW:HIGH. Example: --scale 0:5.")
    return Scale(low, high)


def _print(rows: "Sequence[MetricEstimate]") -> None:
    columns = [
        Column("metric", lambda row: row.metric, text=True),
        Column("value", lambda row: None if row.value is None else f"{row.value:.3f}"),
        Column("95% interval", lambda row: format_interval(row.low, row.high)),
        Column("n", lambda row: row.n),
    ]
    emit(rows, columns)
    echo("95% Wilson score intervals; what is no share of answers has its variance from leaving out each in turn.")
    for reason in dict.fromkeys(row.reason for row in rows if row.reason is not None):
        echo(f"Undefined: {', '.join(row.metric for row in rows if row.reason == reason)}: {reason}.")
