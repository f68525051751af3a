"""`imapeval closed`: answers that are options, labels, lists, tags or ranks."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.commands.study.inputs import Seed
from imapeval.cli.options import Json, choose_one, parse_names
from imapeval.cli.output import UNLIMITED, Column, echo, emit, emit_json, format_interval
from imapeval.cli.systems import print_differences, print_standings
from imapeval.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.comparison import RunTest
    from imapeval.study.closed.estimate import MetricEstimate
    from imapeval.study.closed.logs import ClosedAnswer
    from imapeval.study.closed.models import ModelResult, OrderEffect
    from imapeval.study.closed.open_questions import FormCounts
    from imapeval.study.data.findings import Correlation
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
    open_run: Annotated[
        Path | None,
        typer.Option(
            "--open",
            metavar="RUN",
            help="Folder of a run with answers of the same models to the same items, without options.",
        ),
    ] = None,
    open_item: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the open data with the item's id.  [default: the answer's id]"),
    ] = None,
    open_metric: Annotated[str, typer.Option(metavar="METRIC", help="Metric of the open answers.")] = "imapscore",
    open_from: Annotated[
        float, typer.Option(metavar="SCORE", help="An open answer counts as right from this score on.")
    ] = 0.5,
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
    the metrics of one table.

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
        opened = None if open_run is None else _OpenAnswers(open_run, open_item, open_metric, open_from)
        _compare_models(
            files, opened, metric=metric, against=against, margin=margin, seed=seed, json_output=json_output
        )
        return
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


@dataclass(frozen=True, slots=True)
class _OpenAnswers:
    """Where the answers to the open form are."""

    run: Path
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
    json_output: bool,
) -> None:
    from imapeval.study.closed.comparison import compare_models, gather_models
    from imapeval.study.closed.logs import read_logs
    from imapeval.study.closed.models import measure_order_effects, summarise_models
    from imapeval.study.systems.ranking import rank_systems

    answers = read_logs(files)
    results, orders = summarise_models(answers), measure_order_effects(answers)
    differences, tests, standings = [], [], []
    if len({answer.model for answer in answers}) > 1:
        differences, tests = compare_models(answers, metric=metric, against=against, margin=margin, seed=seed)
        standings = rank_systems(gather_models(answers, metric=metric), differences, seed=seed)
    elif against or metric or margin:
        raise UsageError("all answers are of one model. Give the logs of another one to compare it with.")
    correlations, forms = ([], []) if opened is None else _read_open(answers, opened, seed=seed)
    if json_output:
        emit_json(
            {
                "models": results,
                "orders": orders,
                "leaderboard": standings,
                "differences": differences,
                "runs": tests,
                "open": {"correlations": correlations, "models": forms},
            }
        )
        return
    _print_models(results)
    _print_orders(orders)
    if opened is not None:
        _print_open(correlations, forms, opened)
    if not standings:
        return
    for row in differences:
        if not row.column or row.better:
            echo(row.sentence)
    print_standings(standings)
    print_differences([row for row in differences if not row.column], "Differences, over all questions")
    if any(row.column for row in differences):
        print_differences([row for row in differences if row.column], "Differences by task", group="task")
    _print_runs(tests)
    echo(
        "p: exact (McNemar) for answers that are right or wrong, else by permutation; over questions and runs where "
        f"models have several runs. Interval: 95%, bootstrap of questions. Seed {seed}."
    )


def _read_open(
    answers: "Sequence[ClosedAnswer]", opened: _OpenAnswers, *, seed: int
) -> "tuple[list[Correlation], list[FormCounts]]":
    from imapeval.evaluation.runs import Run
    from imapeval.study.closed.open_questions import correlate_forms, count_forms, join_open_answers

    rated = join_open_answers(answers, Run(opened.run), metric=opened.metric, item_column=opened.item)
    return correlate_forms(rated, seed=seed), count_forms(rated, threshold=opened.threshold)


def _print_open(correlations: "Sequence[Correlation]", forms: "Sequence[FormCounts]", opened: _OpenAnswers) -> None:
    from imapeval.study.data.findings import ALL
    from imapeval.study.number_format import format_number

    by_model = {row.system: row for row in correlations if row.level == "within-system"}

    def show(row: "Correlation | None") -> str | None:
        if row is None or row.value is None:
            return None
        between = "" if row.low is None or row.high is None else f" [{row.low:.2f}, {row.high:.2f}]"
        return f"{row.value:.2f}{between}"

    columns = [
        Column("model", lambda row: row.model, text=True),
        Column("items", lambda row: row.items, wrap=False),
        Column("right\nchoice", lambda row: f"{row.mean_choice:.3f}", wrap=False),
        Column(f"mean\n{opened.metric}", lambda row: format_number(row.mean_score), wrap=False),
        Column("both", lambda row: row.both, wrap=False),
        Column("closed\nonly", lambda row: row.closed_only, wrap=False),
        Column("open\nonly", lambda row: row.open_only, wrap=False),
        Column("neither", lambda row: row.neither, wrap=False),
        Column("rho within model", lambda row: show(by_model.get(row.model)), wrap=False),
    ]
    emit(forms, columns, title="The same questions in open form", width=UNLIMITED)
    for level, what in (
        ("within-system", "Within models, the mean"),
        ("global", "Over all answers"),
        ("system", "Between models"),
    ):
        row = next((row for row in correlations if row.level == level and row.system == ALL), None)
        if (text := show(row)) is not None:
            echo(f"{what}: Spearman's rho of {opened.metric} with the right choice {text}.")
    echo(
        f"Right in open form: a score from {opened.threshold:g} on. Right in closed form: a right option in more than "
        "half of the runs."
    )


def _print_models(rows: "Sequence[ModelResult]") -> None:
    not_read = {name: None for row in rows for name in row.readings if name != "read"}
    columns = [
        Column("task", lambda row: row.task, text=True),
        Column("model", lambda row: row.model, text=True),
        Column("items", lambda row: row.items, wrap=False),
    ]
    if any(row.runs > 1 for row in rows):
        columns.append(Column("runs", lambda row: row.runs, wrap=False))
    columns += [
        Column(f"{name}\n(log)", lambda row, name=name: f"{v:.3f}" if (v := row.by_log.get(name)) is not None else None)
        for name in dict.fromkeys(name for row in rows for name in row.by_log)
    ]
    columns += [
        Column("right", lambda row: f"{row.accuracy:.3f}", wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high), wrap=False),
    ]
    columns += [
        Column(name, lambda row, name=name: f"{row.readings.get(name, 0) / sum(row.readings.values()):.1%}", wrap=False)
        for name in not_read
    ]
    if not_read:
        columns.append(
            Column(
                "right, if\nread",
                lambda row: None if row.accuracy_of_read is None else f"{row.accuracy_of_read:.3f}",
                wrap=False,
            )
        )
    columns += [
        Column("always\none", lambda row: f"{row.always_one:.3f}", wrap=False),
        Column("guessing", lambda row: None if row.guessing is None else f"{row.guessing:.3f}", wrap=False),
    ]
    emit(rows, columns, title="Models", width=UNLIMITED)
    for row in rows:
        if row.low is not None and row.guessing is not None and row.low <= row.guessing:
            echo(f"{row.model} is not shown to be better than guessing on {row.task or 'these questions'}.")


def _print_orders(rows: "Sequence[OrderEffect]") -> None:
    def show(share: float | None) -> str | None:
        return None if share is None else f"{share:.1%}"

    columns = [
        Column("task", lambda row: row.task, text=True),
        Column("model", lambda row: row.model, text=True),
        Column("items", lambda row: row.items, wrap=False),
        Column("pairs", lambda row: row.pairs, wrap=False),
        Column("same\noption", lambda row: show(row.same_option), wrap=False),
        Column("same place,\nother option", lambda row: show(row.same_place), wrap=False),
    ]
    columns += [
        Column(f"right, if it\nis no. {place}", lambda row, place=place: show(row.by_place.get(place)), wrap=False)
        for place in sorted({place for row in rows for place in row.by_place})
    ]
    emit(rows, columns, title="The same questions with options in other orders", width=UNLIMITED)


def _print_runs(rows: "Sequence[RunTest]") -> None:
    from imapeval.study.number_format import format_p

    def show(p: float | None) -> str | None:
        return None if p is None else format_p(p).removeprefix("p ").removeprefix("= ")

    columns = [
        Column("task", lambda row: row.task, text=True),
        Column("first", lambda row: row.first, text=True),
        Column("second", lambda row: row.second, text=True),
        Column("runs", lambda row: f"{row.runs[0]}, {row.runs[1]}", wrap=False),
        Column("difference", lambda row: f"{row.difference:+.3f}", wrap=False),
        Column("95% interval", lambda row: format_interval(row.low, row.high), wrap=False),
        Column("p", lambda row: show(row.p), wrap=False),
        Column("t-test over\nruns: p", lambda row: show(row.p_over_runs), wrap=False),
    ]
    emit(rows, columns, title="Several runs, over questions and runs", width=UNLIMITED)
    if rows:
        echo("The t-test over runs, as papers report it, says nothing of other questions.")


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
