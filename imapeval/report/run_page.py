"""One self-contained HTML page about a run: opens from a file, loads nothing, runs nothing but its own script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from imapeval.evaluation.runs import Run
from imapeval.evaluation.samples import system_label
from imapeval.report import explorer_data, run_sections
from imapeval.report.page_frame import load_explorer, render_page, write_page
from imapeval.report.summary import summarise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Sample


def write_report(folder: Path) -> Path:
    """Write `report.html` into a run's folder, finished or not, and return its path.

    Raises:
        InputError: There is no run in the folder, or a file of it is broken.
        UsageError: The page cannot be written.
    """
    path = folder / "report.html"
    write_page(render_report(Run(folder)), path)
    return path


def render_report(run: Run) -> str:
    """Return the page."""
    settings = run.manifest["settings"]
    metrics = list(settings["metrics"])
    samples, results = run.samples(), run.results()
    rows = summarise(samples, results, metrics=metrics, seed=settings["seed"])
    failures = run_sections.render_failures(results)
    titles = {"scores": "Scores", "failures": "Failures", "answers": "Answers", "settings": "How it was made"}
    answers = (
        '<section id="answers" aria-labelledby="answers-title"><h2 id="answers-title">Answers</h2>'
        f"{load_explorer()}</section>"
    )
    return render_page(
        Path(str(run.manifest["data"]["source"])).stem or run.folder.resolve().name,
        "\n".join(
            [
                run_sections.render_scores(rows, samples, results),
                failures,
                answers,
                run_sections.render_settings(run.manifest),
            ]
        ),
        kind="imapeval report",
        lead=_describe_counts(samples, metrics),
        sections={name: title for name, title in titles.items() if failures or name != "failures"},
        skip_to="answers",
        answers=explorer_data.collect_explorer_data(samples, results, run.imaps(), metrics=metrics),
    )


def _describe_counts(samples: Sequence[Sample], metrics: Sequence[str]) -> str:
    counts = [
        (len(samples), "answer"),
        (len({sample.question for sample in samples}), "question"),
        (len({system_label(sample) for sample in samples}), "system"),
        (len(metrics), "metric"),
    ]
    return ", ".join(f"{number:,} {noun}{'' if number == 1 else 's'}" for number, noun in counts)
