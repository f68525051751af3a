"""Tables of closed answers: scores, what was not read, places of options, open answers, other tasks, comparisons."""

from functools import partial
from typing import TYPE_CHECKING

from imapeval.cli.output import UNLIMITED, Column, echo, emit, format_estimate, interval_column
from imapeval.cli.systems import print_differences, print_standings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.comparison import RunTest
    from imapeval.study.closed.drbenchmark.results import TaskResult, TaskTest
    from imapeval.study.closed.findings import ClosedFindings, ScoreCell
    from imapeval.study.closed.models import ModelResult, OrderEffect
    from imapeval.study.closed.open_metrics import OpenFindings
    from imapeval.study.data.findings import Level

_OFF = 0.0005
"""Largest deviation of a file's value that goes unreported: half a unit of the last digit shown."""


def print_closed(found: "ClosedFindings") -> None:
    """Print all tables."""
    from imapeval.study.intervals.coverage import describe_difference_coverage

    _print_scores(found.scores)
    _print_models(found.models)
    if found.left_out:
        echo(found.describe_left_out())
    _print_orders(found.orders)
    if found.open is not None:
        _print_open(found.open)
    if found.results:
        _print_tasks(found)
    if not found.leaderboard:
        return
    for row in found.differences:
        if not row.column or row.better:
            echo(row.sentence)
    print_standings(found.leaderboard)
    print_differences([row for row in found.differences if not row.column], "Differences, over all questions")
    if any(row.column for row in found.differences):
        print_differences([row for row in found.differences if row.column], "Differences by task", group="task")
    for sentence in describe_difference_coverage(found.differences, found.runs):
        echo(sentence)
    _print_runs(found.runs)
    echo(
        "p: exact (McNemar) for answers that are right or wrong, else by permutation; over questions and runs where "
        f"models have several runs. Interval: 95%, bootstrap of questions. Seed {found.seed}."
    )


def _print_scores(rows: "Sequence[ScoreCell]") -> None:
    from imapeval.study.number_format import format_decimal, format_score

    cells = {(row.task, row.metric, row.model): row for row in rows}
    models = list(dict.fromkeys(row.model for row in rows))
    base = {(row.task, row.metric): row for row in reversed(rows)}

    def show(row: "ScoreCell") -> str:
        spread = "" if row.spread is None else f" ±{format_score(row.spread)}"
        mark = "*" if row.best else "=" if row.as_best else " "
        return f"{format_score(row.mean)}{spread} {mark}"

    columns = [
        Column("task", lambda key: key[0], text=True, wrap=False),
        Column("metric", lambda key: key[1], text=True, wrap=False),
        Column("items", lambda key: base[key].items, wrap=False),
        *(Column(model, lambda key, model=model: cells.get((*key, model)), show) for model in models),
    ]
    columns += [
        Column(name, lambda key, name=name: getattr(base[key], name), format_decimal, wrap=False)
        for name in ("majority", "chance")
        if any(getattr(row, name) is not None for row in rows)
    ]
    emit(list(dict.fromkeys((row.task, row.metric) for row in rows)), columns, title="All scores", width=UNLIMITED)
    if any(row.best for row in rows):
        echo("* best mean; = not shown to be worse; ± standard deviation over runs.")
    if any(row.chance is not None for row in rows):
        echo("majority: the most frequent right answer to every item; chance: options, or right answers, at random.")


def _print_open(found: "OpenFindings") -> None:
    from imapeval.study.closed.open_metrics import CLUSTER_CORRELATION
    from imapeval.study.data.findings import ALL
    from imapeval.study.number_format import format_decimal, format_number
    from imapeval.study.robustness.measures import describe_robustness

    cells = {(row.metric, row.level, row.system): row for row in found.correlations}

    def show(metric: str, level: "Level", system: str = ALL) -> str | None:
        row = cells.get((metric, level, system))
        return None if row is None else format_estimate(row.value, row.low, row.high, digits=2)

    columns = [
        Column("model", "model", text=True),
        Column("items", "items", wrap=False),
        Column("right\nchoice", "mean_choice", write=format_decimal, wrap=False),
        Column(f"mean\n{found.metric}", "mean_score", write=format_number, wrap=False),
        Column("both", "both", wrap=False),
        Column("closed\nonly", "closed_only", wrap=False),
        Column("open\nonly", "open_only", wrap=False),
        Column("neither", "neither", wrap=False),
    ]
    emit(found.forms, columns, title="The same questions in open form", width=UNLIMITED)
    echo(
        f"Right in open form: {found.describe_threshold()}. Right in closed form: a right option in more than half of "
        "the runs."
    )
    models = list(dict.fromkeys(row.system for row in found.correlations if row.system != ALL))
    metrics = list(dict.fromkeys(row.metric for row in found.correlations))
    columns = [Column("metric", lambda metric: metric, text=True, wrap=False)]
    if len(models) > 1:
        titles: dict[Level, str] = {
            "within-system": "within\nmodels",
            "global": "all answers",
            "system": "between\nmodels",
        }
        columns += [
            Column(title, lambda metric, level=level: show(metric, level), wrap=False)
            for level, title in titles.items()
        ]
    columns += [
        Column(model, lambda metric, model=model: show(metric, "within-system", model), wrap=False) for model in models
    ]
    emit(metrics, columns, title="Spearman's rho of open scores with the right choice", width=UNLIMITED)
    if found.clusters:
        echo(
            f"Clusters of metrics (mean |rho| of {CLUSTER_CORRELATION:g} at least): "
            f"{'; '.join(', '.join(cluster) for cluster in found.clusters)}."
        )
    for kind in dict.fromkeys((row.kind, row.lang) for row in found.robustness):
        for sentence in describe_robustness([row for row in found.robustness if (row.kind, row.lang) == kind]):
            echo(sentence)
    if found.missing:
        echo(f"Of the CareQA paper's metrics, these runs lack: {', '.join(found.missing)} (docs/closed.md).")


def _print_models(rows: "Sequence[ModelResult]") -> None:
    from imapeval.study.intervals.coverage import describe_accuracy_coverage
    from imapeval.study.number_format import format_decimal, format_percent

    not_read = {name: None for row in rows for name in row.readings if name != "read"}
    columns = [
        Column("task", "task", text=True),
        Column("model", "model", text=True),
        Column("items", "items", wrap=False),
    ]
    if any(row.runs > 1 for row in rows):
        columns.append(Column("runs", "runs", wrap=False))
    columns += [
        Column(f"{name}\n(log)", lambda row, name=name: row.by_log.get(name), format_decimal)
        for name in dict.fromkeys(name for row in rows for name in row.by_log)
    ]
    columns += [
        Column("right", "accuracy", write=format_decimal, wrap=False),
        interval_column(wrap=False),
    ]
    columns += [
        Column(
            name,
            lambda row, name=name: format_percent(row.readings.get(name, 0) / sum(row.readings.values()), digits=3),
            wrap=False,
        )
        for name in not_read
    ]
    if not_read:
        columns.append(Column("right, if\nread", "accuracy_of_read", write=format_decimal, wrap=False))
    emit(rows, columns, title="Closed questions", width=UNLIMITED)
    for sentence in describe_accuracy_coverage(rows):
        echo(sentence)
    if "unread" in not_read:
        echo("Stated choices are read in English, Chinese and French; labels and texts of options in any language.")
    for row in rows:
        if row.low is not None and row.guessing is not None and row.low <= row.guessing:
            echo(f"{row.model} is not shown to be better than guessing on {row.task or 'these questions'}.")


def _print_orders(rows: "Sequence[OrderEffect]") -> None:
    from imapeval.study.number_format import format_percent

    show = partial(format_percent, digits=3)
    columns = [
        Column("task", "task", text=True),
        Column("model", "model", text=True),
        Column("items", "items", wrap=False),
        Column("pairs", "pairs", wrap=False),
        Column("same\noption", "same_option", show, wrap=False),
        Column("same place,\nother option", "same_place", show, wrap=False),
    ]
    columns += [
        Column(f"right, if it\nis no. {place}", lambda row, place=place: row.by_place.get(place), show, wrap=False)
        for place in sorted({place for row in rows for place in row.by_place})
    ]
    emit(rows, columns, title="The same questions with options in other orders", width=UNLIMITED)
    columns = [
        Column("task", lambda line: line[0].task, text=True),
        Column("model", lambda line: line[0].model, text=True),
        Column("order", lambda line: line[1], text=True, wrap=False),
        Column("right", lambda line: show(line[0].by_order[line[1]]), wrap=False),
    ]
    lines = [(row, order) for row in rows for order in row.by_order]
    emit(lines, columns, title="Accuracy by order of options", width=UNLIMITED)
    if lines:
        echo("1 2 3: as first seen; 2 1 3 has the second option first.")


def _print_tasks(found: "ClosedFindings") -> None:
    """Print pairs of models, learning curves, and notes on the answers."""
    from imapeval.study.closed.drbenchmark.tasks import load_tasks
    from imapeval.study.intervals.coverage import describe_test_coverage
    from imapeval.study.number_format import find_digits, write_decimal

    shares_by_task: dict[str, set[float]] = {}
    for row in found.results:
        shares_by_task.setdefault(row.task, set()).add(row.share)
    _print_tests(found.tests)
    if found.tests:
        several = any(len(row.runs) > 1 for row in found.results)
        for sentence in describe_test_coverage((row.items for row in found.results), several=several):
            echo(sentence)
    if curved := [row for row in found.results if len(shares_by_task[row.task]) > 1]:
        _print_curves(curved)
    if found.tests:
        echo(
            "p: over items and runs, corrected by Holm over the pairs of a task; "
            "t-test: Student's, over the values of the runs alone, as papers report it."
        )
    published = {task.name: task.test for task in load_tasks()}
    for task, items in {row.task: row.items for row in found.results}.items():
        if items != published.get(task, items):
            echo(f"{task}: {items} test items here, {published[task]} as published.")
    for row in found.results:
        pairs = zip(row.runs, row.reported, strict=True)
        off = [(own, said) for own, said in pairs if said is not None and abs(own - said) > _OFF]
        if off:
            own, said = max(off, key=lambda pair: abs(pair[0] - pair[1]))
            said, own = (write_decimal(value, find_digits(own, said, digits=3)) for value in (said, own))
            echo(f"{row.task}, {row.model}: a file says {row.metric} {said}, where {own} is found.")
    cut = [row for row in found.results if row.cut]
    for row in {(row.task, row.model): row for row in cut}.values():
        echo(
            f"{row.model} read only the beginning of {row.cut} of {row.items} texts of {row.task} and is scored on it."
        )
    for row in found.missing:
        echo(f"{row.task}{f', {row.model}' if row.model else ''}: no answer to {row.answers}, counted as wrong.")


def _print_tests(tests: "Sequence[TaskTest]") -> None:
    from imapeval.study.number_format import format_p_value, format_signed, write_signed

    columns = [
        Column("task", "task", text=True, wrap=False),
        Column("metric", "metric", text=True, wrap=False),
        Column("pair", lambda row: f"{row.first} - {row.second}", text=True),
        Column("difference", "difference", write=format_signed, wrap=False),
        interval_column(write=write_signed, wrap=False),
        Column("p (Holm)", "p_adjusted", write=format_p_value, wrap=False),
        Column("t-test", "p_over_runs", write=format_p_value, wrap=False),
    ]
    emit(tests, columns, title="Pairs of models on other tasks", width=UNLIMITED)


def _print_curves(results: "Sequence[TaskResult]") -> None:
    from imapeval.study.intervals.coverage import describe_task_coverage
    from imapeval.study.number_format import format_percent

    cells = {(row.task, row.metric, row.model, row.share): row for row in results}
    shares = sorted({share for *_, share in cells})

    def show(cell: "TaskResult") -> str:
        return format_estimate(cell.mean, cell.low, cell.high, digits=3, ends=3)

    rows = list(dict.fromkeys(key[:3] for key in cells))
    columns = [
        Column("task", lambda row: row[0], text=True, wrap=False),
        Column("metric", lambda row: row[1], text=True, wrap=False),
        Column("model", lambda row: row[2], text=True),
        *(Column(format_percent(share), lambda row, share=share: cells.get((*row, share)), show) for share in shares),
    ]
    emit(rows, columns, title="By share of the training data, with 95% intervals", width=UNLIMITED)
    for sentence in describe_task_coverage(results):
        echo(sentence)


def _print_runs(rows: "Sequence[RunTest]") -> None:
    from imapeval.study.intervals.coverage import describe_test_coverage
    from imapeval.study.number_format import format_p_value, format_signed

    whole = "all tasks" if any(row.task for row in rows) else None
    columns = [
        Column("task", lambda row: row.task or whole, text=True),
        Column("first", "first", text=True),
        Column("second", "second", text=True),
        Column("runs", lambda row: f"{row.runs[0]}, {row.runs[1]}", wrap=False),
        Column("difference", "difference", write=format_signed, wrap=False),
        interval_column(wrap=False),
        Column("p", "p", write=format_p_value, wrap=False),
        Column("t-test over\nruns: p", "p_over_runs", write=format_p_value, wrap=False),
    ]
    emit(rows, columns, title="Several runs, over questions and runs", width=UNLIMITED)
    if rows:
        echo("The t-test over runs, as papers report it, says nothing about other questions.")
        for sentence in describe_test_coverage((row.items for row in rows), several=True):
            echo(sentence)
