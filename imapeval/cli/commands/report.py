"""`imapeval report`: what a run says, for people and for CI servers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.ci_checks import (
    Junit,
    MaxContradictions,
    Summary,
    Thresholds,
    check_output_files,
    check_run,
    print_verdicts,
)
from imapeval.cli.output import echo

if TYPE_CHECKING:
    from imapeval.report.thresholds import AnyVerdict


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
    threshold: Thresholds = None,
    max_contradictions: MaxContradictions = None,
    junit: Junit = None,
    summary: Summary = None,
) -> None:
    """Write RUN/report.html again, one page that needs nothing beside it, and what CI servers show of the run."""
    from imapeval.report.run_page import write_report

    check_output_files(junit, summary)
    asked = threshold or junit or summary or max_contradictions is not None
    judged = _check_run(folder, threshold or [], max_contradictions, junit=junit, summary=summary) if asked else []
    page = write_report(folder)
    echo(str(page))
    print_verdicts(judged, quiet=False)
    if open_:
        typer.launch(page.resolve().as_uri())
    raise typer.Exit(int(not all(verdict.met for verdict in judged)))


def _check_run(
    folder: Path, limits: list[str], max_contradictions: int | None, *, junit: str | None, summary: str | None
) -> "list[AnyVerdict]":
    from imapeval.errors import UsageError
    from imapeval.evaluation.runs import Run
    from imapeval.metrics import registry
    from imapeval.report.summary import summarise
    from imapeval.report.thresholds import parse_thresholds

    run = Run(folder)
    settings = run.manifest["settings"]
    names = list(settings["metrics"])
    known = set(registry.names())
    if unknown := {limit.partition("=")[0].strip() for limit in limits}.intersection(names) - known:
        raise UsageError(
            f"{min(unknown)!r} is a metric of this run, but not known here, so neither is which way is better. "
            "Give --threshold to the `imapeval score` that makes the run."
        )
    metrics = [registry.get(name) for name in names if name in known]
    thresholds = parse_thresholds(limits, metrics, option="--threshold")
    samples, results = run.samples(), run.results()
    return check_run(
        run,
        thresholds,
        samples=samples,
        results=results,
        rows=summarise(samples, results, metrics=names, seed=settings["seed"]),
        metrics=metrics,
        max_contradictions=max_contradictions,
        junit=junit,
        summary=summary,
    )
