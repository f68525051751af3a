"""All outputs as one self-contained HTML page: scores, what was not read, comparisons, places, open answers, tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.closed.comparisons import name_task, render_comparisons, render_orders
from imapeval.report.closed.open_questions import render_metrics_of_open, render_open
from imapeval.report.closed.scores import render_curves, render_pairs, render_scores
from imapeval.report.formatting import (
    format_coefficient,
    format_interval,
    format_measure,
    format_system,
    pluralize,
)
from imapeval.report.markup import (
    Markup,
    join,
    render_bold,
    render_figure,
    render_figures,
    render_heading,
    render_list,
    render_note,
    render_section,
    render_table,
)
from imapeval.report.page_frame import render_page, write_page
from imapeval.report.study.charts.forest_plot import draw_forest, find_axis_limits
from imapeval.study.data.findings import ALL, Correlation
from imapeval.study.intervals.coverage import describe_accuracy_coverage
from imapeval.study.number_format import format_percent, write_percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from imapeval.study.closed.findings import ClosedFindings
    from imapeval.study.closed.models import ModelResult

_NOT_READ: Mapping[str, str] = {
    "several": "it names several options and calls none final",
    "refused": "it declines to answer",
    "cut": "it ended at the token limit before it chose",
    "unread": "it states no option",
    "missing": "the log has no answer",
}


def write_closed(findings: ClosedFindings, path: Path, *, sources: Sequence[str]) -> None:
    """Write the page, in place of a file that exists; `sources` are the names of the logs.

    Raises:
        MissingExtraError: matplotlib is not installed.
        UsageError: The file cannot be written.
    """
    write_page(render_closed(findings, sources=sources), path)


def render_closed(findings: ClosedFindings, *, sources: Sequence[str]) -> str:
    """Return the page; see `write_closed`."""
    sections = {
        "conclusions": ("Conclusions", _render_conclusions(findings)),
        "scores": ("All scores", render_scores(findings)),
        "accuracy": ("Accuracy", _render_accuracy(findings.models)),
        "unread": ("Not read", _render_readings(findings.models)),
        "comparisons": (
            "Comparisons",
            render_comparisons(findings.leaderboard, findings.differences, findings.runs, metric=findings.metric),
        ),
        "orders": ("Order of options", render_orders(findings.orders)),
        "pairs": ("Other tasks", render_pairs(findings.tests, findings.results)),
        "curves": ("Learning curves", render_curves(findings.results)),
        "open": ("Open beside closed", render_open(findings.open) if findings.open else ""),
        "metrics": ("Open metrics", render_metrics_of_open(findings.open) if findings.open else ""),
        "methods": ("Methods", _render_methods(sources, findings.seed)),
    }
    shown = {name: section for name, section in sections.items() if section[1]}
    counts = [
        (len({row.model for row in findings.scores}), "model"),
        (len({row.task for row in findings.scores}), "task"),
    ]
    return render_page(
        "What the models got right",
        "\n".join(markup for _, markup in shown.values()),
        kind="imapeval closed",
        lead=", ".join(pluralize(number, noun) for number, noun in counts),
        sections={name: title for name, (title, _) in shown.items()},
        skip_to="conclusions",
    )


def _render_conclusions(findings: ClosedFindings) -> Markup:
    said = [row.sentence for row in findings.differences if row.sentence and not row.column]
    if not findings.leaderboard:
        said += [
            f"{row.model} chooses a right option in {format_percent(row.accuracy, digits=3)} of the answers to "
            f"{name_task(row.task)}{_bracket(format_interval(row.low, row.high, write=write_percent))}."
            for row in findings.models
        ]
    said += [
        f"{row.model} is not shown to be better than guessing on {name_task(row.task)}."
        for row in findings.models
        if row.low is not None and row.guessing is not None and row.low <= row.guessing
    ]
    for model in dict.fromkeys(row.model for row in findings.models):
        of_model = [row.readings for row in findings.models if row.model == model]
        answers = sum(sum(readings.values()) for readings in of_model)
        if share := 1 - sum(readings.get("read", 0) for readings in of_model) / answers:
            unread = format_percent(share, digits=3)
            said.append(f"{unread} of the answers of {model} choose no option; they count as not right.")
    if findings.left_out:
        said.append(findings.describe_left_out())
    said += _conclude_tasks(findings)
    if findings.open is not None:
        means = [
            row
            for row in findings.open.correlations
            if row.metric == findings.open.metric
            and row.level == "within-system"
            and row.value is not None
            and (row.system == ALL or len(findings.open.forms) == 1)
        ]
        said += [
            f"Within models, {row.metric} of open answers has a Spearman's ρ of {format_coefficient(row.value)} "
            f"with the right choice{_bracket(format_interval(row.low, row.high))}."
            for row in means[:1]
        ]
    if not said:
        return Markup("")
    return render_section("conclusions", "Conclusions", render_list(said, kind="conclusions"))


def _conclude_tasks(findings: ClosedFindings) -> Iterator[str]:
    full = [row for row in findings.scores if row.task in {result.task for result in findings.results}]
    main = {row.task: row.metric for row in reversed(full)}
    for best in (row for row in full if row.best and row.metric == main[row.task]):
        others = [row for row in full if (row.task, row.metric) == (best.task, best.metric) and row is not best]
        if others:
            alike = [format_system(row.model) for row in others if row.as_best]
            ahead = (
                f"; not shown to be worse: {', '.join(alike)}" if alike else ", significantly better than all others"
            )
            yield (
                f"{name_task(best.task)}, {best.metric}: {format_system(best.model)} has the highest mean, "
                f"{format_coefficient(best.mean)}{ahead}."
            )
    for row in findings.missing:
        yield (
            f"{pluralize(row.answers, 'answer')} of {format_system(row.model)} to {name_task(row.task)} "
            f"{'is missing; it counts' if row.answers == 1 else 'are missing; they count'} as wrong."
        )
    for row in {(row.task, row.model): row for row in findings.results if row.cut}.values():
        yield (
            f"{format_system(row.model)} tagged only the beginning of {pluralize(row.cut, 'text')} of "
            f"{name_task(row.task)} and is scored on it."
        )


def _bracket(interval: str) -> str:
    return f" (95% interval {interval})" if interval else ""


def _render_accuracy(rows: Sequence[ModelResult]) -> Markup:
    if not rows:
        return Markup("")
    tasks = list(dict.fromkeys(row.task for row in rows))
    drawn = {task: [_to_plot(row) for row in rows if row.task == task] for task in tasks}
    limits = find_axis_limits([row for task in drawn.values() for row in task], [])
    figures: list[Markup] = []
    for number, (task, plotted) in enumerate(drawn.items()):
        label = f"Accuracy of {pluralize(len(plotted), 'model')} on {name_task(task)}, as in the table."
        drawing = draw_forest(plotted, limits=limits, ceiling=None, name=f"accuracy-{number}", label=label)
        guessing = next((row.guessing for row in rows if row.task == task), None)
        guessing_note = "" if guessing is None else f"; guessing gives {format_coefficient(guessing)}"
        figures.append(render_figure(drawing, join([render_bold(name_task(task)), guessing_note])))
    parts = [
        render_note(
            "How often does a model choose a right option? The share of answers whose choice, read by the rules below, "
            "is right; an answer that chooses none is not right. A dot is an accuracy, the bar its 95% interval "
            "(Wilson's score interval; by leaving out each question or group in turn where there are several runs or "
            "groups), n the questions, failed the answers not read."
        ),
        render_figures(figures),
        *map(render_note, describe_accuracy_coverage(rows)),
    ]
    names = list(dict.fromkeys(name for row in rows for name in row.by_log))
    if names:
        logged = [
            [
                row.model,
                name_task(row.task),
                *(format_measure(row.by_log.get(name)) for name in names),
                format_coefficient(row.accuracy),
            ]
            for row in rows
        ]
        parts += [
            render_heading("As the harness computed it"),
            render_note(
                "Means of the metrics in the logs, as they stand there, beside the accuracy above (read). They differ "
                "where a harness reads an answer by other rules, or scores likelihoods in another way."
            ),
            render_table(["model", "task", *names, "read"], logged, texts=(0, 1)),
        ]
    return render_section("accuracy", "Accuracy", *parts)


def _to_plot(row: ModelResult) -> Correlation:
    """Return an accuracy as a row of a forest plot."""
    answers = sum(row.readings.values())
    read = row.readings.get("read", 0)
    return Correlation(
        row.model, row.model, row.task, "accuracy", row.accuracy, row.low, row.high, row.items, answers - read
    )


def _render_readings(rows: Sequence[ModelResult]) -> Markup:
    if not rows:
        return Markup("")
    names = [name for name in _NOT_READ if any(name in row.readings for row in rows)]
    if not names:
        return render_section("unread", "What could not be read", render_note("Every answer chooses an option."))
    lines = [
        [
            row.model,
            name_task(row.task),
            f"{(answers := sum(row.readings.values())):,}",
            *(format_percent(row.readings.get(name, 0) / answers, digits=3) for name in names),
            format_coefficient(row.accuracy),
            format_coefficient(row.accuracy_of_read),
        ]
        for row in rows
    ]
    reasons = "; ".join(f"{name}: {_NOT_READ[name]}" for name in names)
    return render_section(
        "unread",
        "What could not be read",
        render_note(
            f"Which answers choose no option, and why? Shares of all answers. {reasons}. An answer is read if it is, "
            "or begins with, the label of an option, states one (“the answer is B”, 故选B), or is the text of exactly "
            "one option; nothing is guessed from a letter in the prose. Statements and refusals are recognised in "
            "English, Chinese and French; of an answer in another language only labels and the text of an option are, "
            "and the rest is not read. Accuracy counts these answers as not right, "
            "“right, if read” leaves them out: where the two differ much, models differ in what they say, not only in "
            "what they know."
        ),
        render_table(["model", "task", "answers", *names, "accuracy", "right, if read"], lines, texts=(0, 1)),
    )


def _render_methods(sources: Sequence[str], seed: int) -> Markup:
    said = [
        f"Read: {', '.join(sources)}.",
        "Intervals have a confidence of 95%. Those of shares of right choices are Wilson's; those of differences "
        "between models and of other means over questions come from a bootstrap of questions; with several runs, and "
        "on tasks that are not multiple choice, they are over items and runs, or over items alone with one run. "
        "Questions of one group (several on one text) count together.",
        f"Random seed of bootstraps and permutations: {seed}.",
        "Metrics such as F1 are not means over items: in their intervals and tests, the jackknife's pseudo-value of "
        "each item takes the place of its score.",
        "The rules of reading, the metrics and the tests are described in docs/closed.md and docs/drbenchmark.md.",
    ]
    return render_section("methods", "How it was made", render_list(said, kind="sentences"))
