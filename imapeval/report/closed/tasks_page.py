"""Tasks of several kinds as one self-contained HTML page: means and spread, pairs of models, learning curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.report.markup import (
    Markup,
    render_coefficient,
    render_list,
    render_note,
    render_section,
    render_table,
)
from imapeval.report.page_frame import render_page, write_page
from imapeval.report.study.formatting import format_coefficient, format_interval, format_p, pluralize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from imapeval.study.closed.drbenchmark.results import TaskFindings, TaskResult, TaskTest


def write_tasks(
    findings: TaskFindings, path: Path, *, sources: Sequence[str], missing: Mapping[tuple[str, str], int] | None = None
) -> None:
    """Write the page.

    Args:
        findings: What it shows.
        path: The file; replaced if it exists.
        sources: Names of the files with the answers.
        missing: Number of missing answers by task and model.

    Raises:
        UsageError: The file cannot be written.
    """
    write_page(render_tasks(findings, sources=sources, missing=missing or {}), path)


def render_tasks(findings: TaskFindings, *, sources: Sequence[str], missing: Mapping[tuple[str, str], int]) -> str:
    """Return the page; see `write_tasks`."""
    rows = findings.results
    largest = {task: max(row.share for row in rows if row.task == task) for task in {row.task for row in rows}}
    full = [row for row in rows if row.share == largest[row.task]]
    sections = {
        "conclusions": ("Conclusions", _render_conclusions(findings, full, missing)),
        "results": ("Results", _render_results(full)),
        "pairs": ("Pairs of models", _render_pairs(findings.tests)),
        "curves": ("Learning curves", _render_curves(rows)),
        "methods": ("Methods", _render_methods(sources)),
    }
    shown = {name: section for name, section in sections.items() if section[1]}
    counts = [(len({row.model for row in rows}), "model"), (len(largest), "task"), (_count_runs(full), "run")]
    return render_page(
        "Tasks: what the models reach",
        "\n".join(markup for _, markup in shown.values()),
        kind="imapeval closed",
        lead=", ".join(pluralize(number, noun) for number, noun in counts),
        sections={name: title for name, (title, _) in shown.items()},
        skip_to="conclusions",
        styles=("study.css",),
    )


def _count_runs(rows: Sequence[TaskResult]) -> int:
    """Return the number of runs of all models on all tasks, each counted once."""
    return sum({(row.task, row.model): len(row.runs) for row in rows}.values())


def _name(text: str) -> str:
    return text or "(no name)"


def _render_conclusions(
    findings: TaskFindings, full: Sequence[TaskResult], missing: Mapping[tuple[str, str], int]
) -> Markup:
    said: list[str] = []
    main = dict(reversed([(row.task, row.metric) for row in full]))
    for best in (row for row in full if row.best and row.metric == main[row.task]):
        others = [row for row in full if (row.task, row.metric) == (best.task, best.metric) and row is not best]
        if not others:
            continue
        alike = [_name(row.model) for row in others if row.as_best]
        ahead = f"; not shown to be worse: {', '.join(alike)}" if alike else ", ahead of all others"
        said.append(
            f"{_name(best.task)}, {best.metric}: {_name(best.model)} has the highest mean, "
            f"{format_coefficient(best.mean)}{ahead}."
        )
    said += [
        f"{_name(model)} gave no answer to {count} items of {_name(task)}; they count as wrong."
        for (task, model), count in missing.items()
    ]
    said += [
        f"{_name(model)} tagged only the beginning of {cut} texts of {_name(task)} and is scored on it."
        for (task, model), cut in {(row.task, row.model): row.cut for row in full if row.cut}.items()
    ]
    return render_section("conclusions", "Conclusions", render_list(said, kind="conclusions")) if said else Markup("")


def _render_results(full: Sequence[TaskResult]) -> Markup:
    models = list(dict.fromkeys(row.model for row in full))
    cells = {(row.task, row.metric, row.model): row for row in full}
    lines = [
        [_name(task), metric, *(_format_cell(cells.get((task, metric, model))) for model in models)]
        for task, metric in dict.fromkeys((row.task, row.metric) for row in full)
    ]
    return render_section(
        "results",
        "Means over runs",
        render_note(
            "How good is each model? The mean over its runs, with the standard deviation over the runs (±); below, the "
            "95% interval over items and runs and n, the number of items. * is the best mean of a row, = one that is "
            "not shown to be worse. For all metrics higher is better."
        ),
        render_table(["task", "metric", *map(_name, models)], lines, texts=(0, 1)),
    )


def _format_cell(row: TaskResult | None) -> str:
    if row is None:
        return ""
    spread = "" if row.spread is None else f" ±{row.spread:.3f}"
    mark = " *" if row.best else " =" if row.as_best else ""
    value = f"{format_coefficient(row.mean)}{spread}{mark}"
    return render_coefficient(value, format_interval(row.low, row.high), row.items)


def _render_pairs(tests: Sequence[TaskTest]) -> Markup:
    if not tests:
        return Markup("")
    lines = [
        [
            _name(row.task),
            row.metric,
            f"{_name(row.first)} - {_name(row.second)}",
            f"{row.difference:+.3f}",
            format_interval(row.low, row.high),
            format_p(row.p_adjusted),
            "" if row.p_over_runs is None else format_p(row.p_over_runs),
        ]
        for row in tests
    ]
    return render_section(
        "pairs",
        "Pairs of models",
        render_note(
            "Which models really differ? Items and runs are both samples: p says how likely so large a difference is "
            "between equal models on other items and in other runs, corrected by Holm's method over the pairs of a "
            "task. The t-test looks at the values of the runs alone, as papers report it; it says nothing about other "
            "items."
        ),
        render_table(
            ["task", "metric", "pair", "difference", "95% interval", "p (Holm)", "t-test"], lines, texts=(0, 1, 2)
        ),
    )


def _render_curves(rows: Sequence[TaskResult]) -> Markup:
    several = {row.task for row in rows if len({one.share for one in rows if one.task == row.task}) > 1}
    if not several:
        return Markup("")
    cells = {(row.task, row.metric, row.model, row.share): row for row in rows if row.task in several}
    shares = sorted({share for *_, share in cells})
    lines = [
        [
            _name(task),
            metric,
            _name(model),
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
        render_table(["task", "metric", "model", *(f"{share:.0%}" for share in shares)], lines, texts=(0, 1, 2)),
    )


def _render_methods(sources: Sequence[str]) -> Markup:
    said = [
        f"Read: {', '.join(sources)}.",
        "F1, Spearman's rho and Hamming's score are no means of items: the jackknife's pseudo-values take the place of "
        "the scores of items.",
        "The metrics and tests are described in docs/closed.md and docs/drbenchmark.md.",
    ]
    return render_section("methods", "How it was made", render_list(said, kind="sentences"))
