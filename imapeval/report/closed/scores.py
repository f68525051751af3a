"""All scores in one table, with baselines; and tasks that are not multiple choice: pairs of models, learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.closed.comparisons import name_task
from imapeval.report.formatting import format_coefficient, format_interval, format_measure, format_p, format_system
from imapeval.report.markup import Markup, render_coefficient, render_note, render_section, render_table
from imapeval.study.closed.comparison import ACCURACY
from imapeval.study.intervals.coverage import (
    describe_accuracy_coverage,
    describe_mean_coverage,
    describe_task_coverage,
    describe_test_coverage,
)
from imapeval.study.number_format import format_decimal, format_percent, format_signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.study.closed.drbenchmark.results import TaskResult, TaskTest
    from imapeval.study.closed.findings import ClosedFindings, ScoreCell


def render_scores(findings: ClosedFindings) -> Markup:
    """Return the section with every metric of every model on every task."""
    rows = findings.scores
    models = list(dict.fromkeys(row.model for row in rows))
    cells = {(row.task, row.metric, row.model): row for row in rows}
    base = {(row.task, row.metric): row for row in reversed(rows)}

    def show(row: ScoreCell | None) -> str:
        if row is None:
            return ""
        spread = "" if row.spread is None else f" ±{format_decimal(row.spread)}"
        mark = " *" if row.best else " =" if row.as_best else ""
        return render_coefficient(
            f"{format_measure(row.mean)}{spread}{mark}", format_interval(row.low, row.high), row.items
        )

    lines = [
        [
            name_task(task),
            metric,
            *(show(cells.get((task, metric, model))) for model in models),
            *(format_coefficient(value) for value in (base[task, metric].majority, base[task, metric].chance)),
        ]
        for task, metric in dict.fromkeys((row.task, row.metric) for row in rows)
    ]
    return render_section(
        "scores",
        "All scores",
        render_note(
            "How good is each model, in which form? Means over items and runs, with the standard deviation over runs "
            "(±); below, the 95% interval and n, the number of items. * is the best mean of a row, = one that is not "
            "shown to be worse (after Holm's correction); neither stands where not all models were compared. An answer "
            "to a closed question that chooses no option is not right. The open form: items that were also asked with "
            "options, with the share of right choices on the same items first. Majority: the most frequent right "
            "answer to every item, known only afterwards (of tags, the most frequent one for every token; of grades, "
            "their median). Chance: options guessed at random, or the right answers dealt out at random."
        ),
        render_table(["task", "metric", *map(format_system, models), "majority", "chance"], lines, texts=(0, 1)),
        *map(render_note, _describe_limits(findings)),
    )


def _describe_limits(findings: ClosedFindings) -> list[str]:
    return [
        *(describe_accuracy_coverage(findings.models) if findings.metric == ACCURACY else []),
        *describe_task_coverage(findings.results),
        *describe_mean_coverage(row.resampled for row in (findings.open.leaderboards if findings.open else ())),
    ]


def render_pairs(tests: Sequence[TaskTest], results: Sequence[TaskResult]) -> Markup:
    """Return the section on pairs of models on tasks that are not multiple choice; "" without any."""
    if not tests:
        return Markup("")
    lines = [
        [
            name_task(row.task),
            row.metric,
            f"{format_system(row.first)} - {format_system(row.second)}",
            format_signed(row.difference).replace("-", "−"),
            format_interval(row.low, row.high),
            format_p(row.p_adjusted),
            "" if row.p_over_runs is None else format_p(row.p_over_runs),
        ]
        for row in tests
    ]
    return render_section(
        "pairs",
        "Pairs of models on other tasks",
        render_note(
            "Which models really differ? Items and runs are both samples: p says how likely so large a difference is "
            "between equal models on other items and in other runs, corrected by Holm's method over the pairs of a "
            "task; the interval is not corrected. The t-test looks at the values of the runs alone, as papers report "
            "it; it says nothing about other items."
        ),
        render_table(
            ["task", "metric", "pair", "difference", "95% interval", "p (Holm)", "t-test"], lines, texts=(0, 1, 2)
        ),
        *map(
            render_note,
            describe_test_coverage((row.items for row in results), several=any(len(row.runs) > 1 for row in results)),
        ),
    )


def render_curves(rows: Sequence[TaskResult]) -> Markup:
    """Return the section on learning curves; "" if no task has several shares of its training data."""
    several = {row.task for row in rows if len({one.share for one in rows if one.task == row.task}) > 1}
    if not several:
        return Markup("")
    cells = {(row.task, row.metric, row.model, row.share): row for row in rows if row.task in several}
    shares = sorted({share for *_, share in cells})
    lines = [
        [
            name_task(task),
            metric,
            format_system(model),
            *(
                ""
                if (row := cells.get((task, metric, model, share))) is None
                else render_coefficient(format_coefficient(row.mean), format_interval(row.low, row.high), row.items)
                for share in shares
            ),
        ]
        for task, metric, model in dict.fromkeys(key[:3] for key in cells)
    ]
    return render_section(
        "curves",
        "With less training data",
        render_note("What does a model reach with a part of the training data? Below: the 95% interval and n."),
        render_table(["task", "metric", "model", *(format_percent(share) for share in shares)], lines, texts=(0, 1, 2)),
        *map(render_note, describe_task_coverage([row for row in rows if row.task in several])),
    )
