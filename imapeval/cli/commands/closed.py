"""`imapeval closed`: answers that are options, labels, lists, tags or ranks."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.closed_tables import print_closed
from imapeval.cli.commands.study.inputs import Seed
from imapeval.cli.options import Json, choose_one, parse_names
from imapeval.cli.output import Column, echo, emit, emit_json, format_interval
from imapeval.cli.task_tables import print_tasks
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.estimate import MetricEstimate
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.closed.open_metrics import OpenFindings
    from imapeval.study.data.scales import Scale


def closed(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Logs of lm-evaluation-harness (--log_samples), Inspect or HELM, folders of these, or tables.",
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
        str, typer.Option(metavar="METRIC", help="Metric that tells whether an open answer is right.")
    ] = "imapscore",
    open_from: Annotated[
        float, typer.Option(metavar="SCORE", help="An open answer counts as right from this score on.")
    ] = 0.5,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write everything on one self-contained page.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="FILEs are predictions for DrBenchmark's tasks; copies of its data sets are below this folder.",
        ),
    ] = None,
    seed: Seed = 0,
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
        str,
        typer.Option(metavar="TASK", help="With --gold: labels, multilabel, ranking, sequence, ordinal or grade."),
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
    metrics: Annotated[
        str | None, typer.Option(metavar="A,B", help="With --gold: metrics.  [default: all for the task]")
    ] = None,
    json_output: Json = False,
) -> None:
    """Evaluate answers that are not free text, from the logs of harnesses or from a table.

    From logs: what each model got right, what could not be read, and which models differ. With --gold and --predicted:
    the metrics of one table. From a table with the columns task, kind, gold and predicted: tasks of several kinds,
    models and runs. From runs of DrBenchmark's scripts, or with --data: its tasks.

    labels: one label each. multilabel: a list of labels. ranking: right answers, and a list of answers, best first.
    sequence: a list of tags (B-DRUG, I-DRUG, O). ordinal: ordered labels, and a number. grade: a number on a scale, and
    a number.
    """
    if (gold is None) != (predicted is None):
        raise UsageError("--gold and --predicted go together. Give both, or neither.")
    if gold is None or predicted is None:
        given = {"--scores": scores, "--positive": positive, "--order": order, "--scale": scale, "--metrics": metrics}
        if unused := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"{unused[0]} is for a table with --gold and --predicted. Add these, or leave it out.")
        from imapeval.study.closed.drbenchmark.runs import holds_runs
        from imapeval.study.closed.task_table import holds_tasks

        if data is not None or any(map(holds_runs, files)) or all(map(holds_tasks, files)):
            others = {"--metric": metric, "--against": against, "--margin": margin, "--open": open_runs}
            if unused := [name for name, value in others.items() if value]:
                raise UsageError(f"{unused[0]} is for logs of multiple choice. Leave it out.")
            _show_tasks(files, data, page=page, json_output=json_output)
            return
        opened = _OpenAnswers(open_runs, open_item, open_metric, open_from) if open_runs else None
        _compare_models(
            files, opened, metric=metric, against=against, margin=margin, seed=seed, page=page, json_output=json_output
        )
        return
    if data is not None:
        raise UsageError("--data has the right answers. Leave out --gold and --predicted, or leave it out.")
    if page is not None:
        raise UsageError("--html is for logs. Leave out --gold and --predicted, or leave it out.")
    from imapeval.study.closed.estimate import estimate_metrics
    from imapeval.study.closed.reading import TASKS, AnswerColumns, read_closed_answers

    if len(files) != 1:
        raise UsageError(f"{len(files)} files are given. With --gold, give one table.")
    choose_one(task, "--task", TASKS)
    columns = AnswerColumns(
        gold,
        predicted,
        scores,
        positive,
        None if order is None else tuple(parse_names(order, "--order", unique=False) or ()),
        None if scale is None else _parse_scale(scale),
    )
    families, answers = read_closed_answers(files[0], columns, task=task)  # pyright: ignore[reportArgumentType]  # checked above
    found = estimate_metrics(families, answers, metrics=parse_names(metrics, "--metrics"))
    if json_output:
        emit_json(found)
        return
    _print_metrics(found)


def _show_tasks(files: "Sequence[Path]", data: Path | None, *, page: Path | None, json_output: bool) -> None:
    from imapeval.study.closed.drbenchmark.results import analyse_task_runs
    from imapeval.study.closed.drbenchmark.runs import read_predictions, read_runs
    from imapeval.study.closed.task_table import holds_tasks, read_task_table

    missing: dict[tuple[str, str], int] = {}
    if data is not None:
        runs = read_predictions(files, data)
    elif all(map(holds_tasks, files)):
        runs, missing = read_task_table(files)
    else:
        runs = [run for file in files for run in read_runs(file)]
    found = analyse_task_runs(runs)
    if page is not None:
        from imapeval.report.closed.tasks_page import write_tasks

        write_tasks(found, page, sources=[str(file) for file in files], missing=missing)
    if json_output:
        emit_json(
            {**asdict(found), "missing": [{"task": t, "model": m, "answers": n} for (t, m), n in missing.items()]}
        )
        return
    print_tasks(found)
    for (task, model), answers in missing.items():
        echo(f"{task}{f', {model}' if model else ''}: no answer to {answers}, counted as wrong.")
    if page is not None:
        echo(f"page: {page}")


@dataclass(frozen=True, slots=True)
class _OpenAnswers:
    """Where the answers to the open form are."""

    runs: list[Path]
    item: str | None
    metric: str
    threshold: float


def _compare_models(
    files: "Sequence[Path]",
    opened: _OpenAnswers | None,
    *,
    metric: str | None,
    against: str | None,
    margin: float | None,
    seed: int,
    page: Path | None,
    json_output: bool,
) -> None:
    from imapeval.study.closed.findings import analyse_closed_answers
    from imapeval.study.closed.logs import read_logs

    answers = read_logs(files)
    found = analyse_closed_answers(
        answers,
        None if opened is None else _read_open([answer for answer in answers if answer.labels], opened, seed=seed),
        metric=metric,
        against=against,
        margin=margin,
        seed=seed,
    )
    if page is not None:
        from imapeval.report.closed.page import write_closed

        write_closed(found, page, sources=[str(file) for file in files])
    if json_output:
        emit_json(found)
        return
    print_closed(found)
    if page is not None:
        echo(f"page: {page}")


def _read_open(answers: "Sequence[ClosedAnswer]", opened: _OpenAnswers, *, seed: int) -> "OpenFindings":
    from imapeval.evaluation.runs import Run
    from imapeval.study.closed.open_metrics import analyse_open_answers

    return analyse_open_answers(
        answers,
        [Run(folder) for folder in opened.runs],
        metric=opened.metric,
        threshold=opened.threshold,
        item_column=opened.item,
        seed=seed,
    )


def _parse_scale(text: str) -> "Scale":
    from imapeval.evaluation.samples.rows import read_number
    from imapeval.study.data.scales import Scale

    low, high = map(read_number, text.partition(":")[::2])
    if low is None or high is None or low >= high:
        raise UsageError(f"--scale {text!r} is not LOW:HIGH. Example: --scale 0:5.")
    return Scale(low, high)


def _print_metrics(rows: "Sequence[MetricEstimate]") -> None:
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
