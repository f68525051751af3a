"""`imapeval closed`: answers that are options, labels, lists, tags or ranks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.closed_tables import print_closed
from imapeval.cli.commands.study.inputs import SeedOption
from imapeval.cli.options import JsonOption, choose_one, find_given, parse_names
from imapeval.cli.output import Column, echo, emit, emit_json, interval_column
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.study.closed.metrics.estimate import MetricEstimate
    from imapeval.study.data.scales import RatingScale


_OF_TABLE = ("--scores", "--task", "--positive", "--order", "--scale", "--metrics")
_OF_LOGS = ("--metric", "--against", "--margin", "--open")
_OF_OPEN = ("--open-item", "--open-metric", "--open-from")


def closed(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Logs of lm-evaluation-harness (--log_samples), Inspect or HELM, runs of DrBenchmark's scripts, "
            "folders of these, or tables; all together.",
        ),
    ],
    *,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Compare models by this metric of the logs.  [default: the accuracy of what was read]"
        ),
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Compare every other model with this one.  [default: all pairs]")
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(metavar="VALUE", help="Say which models are equivalent: they differ by less than VALUE."),
    ] = None,
    open_runs: Annotated[
        list[Path] | None,
        typer.Option(
            "--open",
            metavar="RUN",
            help="Folder of a run with answers of the same models to the same items, without options. Repeatable: "
            "other metrics, other models, answers in other words.",
        ),
    ] = None,
    open_item: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the open data with the item's id.  [default: the answer's id]"),
    ] = None,
    open_metric: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Metric that tells whether an open answer is right.  [default: imapscore]"),
    ] = None,
    open_from: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE",
            help="An open answer counts as right from this score on, or up to it where low scores are good.  "
            "[default: 0.5]",
        ),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write everything on one self-contained page.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="FILEs without right answers are predictions for DrBenchmark's tasks; copies of its data sets are "
            "below this folder.",
        ),
    ] = None,
    seed: SeedOption = 0,
    gold: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the right answers, for one table of any task.")
    ] = None,
    predicted: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With --gold: column of the predicted answers.")
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="With --gold: column of scores for AUC and PR-AUC: a number, or a JSON object by label.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="With --gold: labels, multilabel, ranking, sequence, ordinal or grade.  [default: labels]",
        ),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Label that single scores are for.  [default: 1, yes or true]")
    ] = None,
    order: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="Ordinal labels, lowest first.  [default: labels are numbers]")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Lowest and highest grade, such as 0:5.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="A,B", help="With --gold: metrics.  [default: all for the task]")
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Evaluate answers that are not free text, from the logs of harnesses or from a table.

    One table of all models on all tasks, with baselines, and which models differ. From logs: multiple choice, and what
    could not be read; with --open, open answers to the same items. From a table with the columns task, kind, gold and
    predicted: tasks of several kinds, models and runs. From runs of DrBenchmark's scripts, or with --data: its tasks.
    With --gold and --predicted: the metrics of one table.

    labels: one label each. multilabel: a list of labels. ranking: right answers, and a list of answers, best first.
    sequence: a list of tags (B-DRUG, I-DRUG, O). ordinal: the right one of ordered labels, and a predicted number.
    grade: the right grade on a scale, and a predicted number.
    """
    typed = find_given(context)
    if (gold is None) != (predicted is None):
        raise UsageError("--gold and --predicted go together. Give both, or neither.")
    if gold is None or predicted is None:
        _refuse(typed, _OF_TABLE, "a table with --gold and --predicted. Add these")
        if not open_runs:
            _refuse(typed, _OF_OPEN, "runs with answers in other words. Add one with --open")
        from imapeval.study.closed.findings import analyse_closed_answers
        from imapeval.study.closed.outputs import read_outputs, sort_outputs

        sorted_files = sort_outputs(files, predictions=data is not None)
        if not sorted_files.logs:
            _refuse(typed, _OF_LOGS, "logs of multiple choice. Add such a log")
            metric = against = margin = None
        outputs = read_outputs(sorted_files, data)
        opened = None
        if open_runs:
            from imapeval.evaluation.runs import Run
            from imapeval.study.closed.open_metrics import analyse_open_answers

            opened = analyse_open_answers(
                [answer for answer in outputs.answers if answer.labels],
                [Run(folder) for folder in open_runs],
                metric="imapscore" if open_metric is None else open_metric,
                threshold=0.5 if open_from is None else open_from,
                item_column=open_item,
                seed=seed,
            )
        found = analyse_closed_answers(
            outputs.answers,
            opened,
            runs=outputs.runs,
            missing=outputs.missing,
            metric=metric,
            against=against,
            margin=margin,
            seed=seed,
        )
        if page is not None:
            from imapeval.report.closed.page import write_closed

            write_closed(found, page, sources=[str(file) for file in [*files, *(open_runs or ())]])
        if json_output:
            emit_json(found)
            return
        print_closed(found)
        if page is not None:
            echo(f"page: {page}")
        return
    _refuse(typed, ("--data",), "FILEs without right answers. Leave out --gold and --predicted")
    _refuse(typed, (*_OF_LOGS, *_OF_OPEN, "--html"), "logs. Leave out --gold and --predicted")
    from imapeval.study.closed.metrics.estimate import estimate_metrics
    from imapeval.study.closed.reading import TASKS, AnswerColumns, read_closed_answers

    if len(files) != 1:
        raise UsageError(f"{len(files)} files are given. With --gold, give one table.")
    task = choose_one("labels" if task is None else task, "--task", TASKS)
    columns = AnswerColumns(
        gold,
        predicted,
        scores,
        positive,
        None if order is None else tuple(parse_names(order, "--order", unique=False) or ()),
        None if scale is None else _parse_scale(scale),
    )
    families, answers = read_closed_answers(files[0], columns, task=task)  # pyright: ignore[reportArgumentType]  # checked above
    estimates = estimate_metrics(families, answers, metrics=parse_names(metrics, "--metrics"))
    if json_output:
        emit_json(estimates)
        return
    _print_metrics(estimates)


def _refuse(typed: "Mapping[str, str]", options: "Sequence[str]", use: str) -> None:
    """Raise a UsageError if one of the options is typed; `use` says what they are for, and what to do for that.

    A file of options may give them, as those of another command or of another use of this one.
    """
    if given := [name for name in options if name in typed.values()]:
        raise UsageError(f"{given[0]} is for {use}, or leave out {given[0]}.")


def _parse_scale(text: str) -> "RatingScale":
    from imapeval.evaluation.samples.rows import read_number
    from imapeval.study.data.scales import RatingScale

    low, high = map(read_number, text.partition(":")[::2])
    if low is None or high is None or low >= high:
        raise UsageError(f"--scale {text!r} is not LOW:HIGH. Example: --scale 0:5.")
    return RatingScale(low, high)


def _print_metrics(rows: "Sequence[MetricEstimate]") -> None:
    from imapeval.study.intervals.coverage import describe_closed_coverage
    from imapeval.study.number_format import format_decimal

    columns = [
        Column("metric", "metric", text=True),
        Column("value", "value", write=format_decimal),
        interval_column(),
        Column("n", "n"),
    ]
    emit(rows, columns)
    echo(
        "95% Wilson score intervals; for metrics that are not a share of answers, with a jackknife variance (each "
        "answer left out in turn)."
    )
    for sentence in describe_closed_coverage(rows):
        echo(sentence)
    for reason in dict.fromkeys(row.reason for row in rows if row.reason is not None):
        echo(f"Undefined: {', '.join(row.metric for row in rows if row.reason == reason)}: {reason}.")
