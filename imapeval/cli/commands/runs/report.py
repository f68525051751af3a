"""`imapeval report`: a run as an HTML page, and as files for CI servers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.ci_checks import CheckOptions, print_verdicts
from imapeval.cli.options import expand_options
from imapeval.cli.output import echo

if TYPE_CHECKING:
    from imapeval.metrics.base import Metric
    from imapeval.report.thresholds import AnyVerdict, Threshold


@expand_options
def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    *,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Write the page every few seconds until the run ends: progress, failures, cost, first answers.",
        ),
    ] = False,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    checks: CheckOptions,
) -> None:
    """Write the report of a run again, RUN/report.html, one self-contained page; and files for CI servers."""
    from imapeval.report.run_page import write_report

    checks.check_files()
    limits = _parse_limits(folder, checks) if checks.given else None
    if watch:
        _watch_run(folder, open_=open_)
    # The page first: if it cannot be written, nothing has been appended to the summary yet, and the command can be
    # repeated.
    page = folder / "report.html" if watch else write_report(folder)
    verdicts = [] if limits is None else _check_run(folder, checks, *limits)
    echo(str(page))
    print_verdicts(verdicts, quiet=False)
    if open_ and not watch:
        typer.launch(page.resolve().as_uri())
    raise typer.Exit(int(not all(verdict.met for verdict in verdicts)))


def _watch_run(folder: Path, *, open_: bool) -> None:
    """Write the page until the run has ended.

    Raises:
        typer.Exit: The run was interrupted (1), or the watching was (130).
    """
    from imapeval.report.run_page import watch_run, write_report

    try:
        for page, status in watch_run(folder):
            echo(status.text, err=True)
            if open_:
                typer.launch(page.resolve().as_uri())
                open_ = False
            if status.kind == "stopped":
                raise typer.Exit(1)
    except KeyboardInterrupt:
        # A page that is left behind must not go on loading itself.
        write_report(folder)
        raise typer.Exit(130) from None


def _parse_limits(folder: Path, checks: CheckOptions) -> "tuple[list[Threshold], list[Metric]]":
    """Return the thresholds, and the metrics of the run that are installed here.

    Raises:
        UsageError: A threshold is malformed or not for this run, or contradictions are limited and nothing in the run
            counts them.
        InputError: The run cannot be read.
    """
    from imapeval.errors import UsageError
    from imapeval.evaluation.runs import Run
    from imapeval.metrics import registry
    from imapeval.report.thresholds import check_ranges, parse_thresholds, require_contradiction_counts

    limits = checks.threshold or []
    run = Run(folder)
    names = list(run.manifest["settings"]["metrics"])
    known = set(registry.names())
    if unknown := {limit.partition("=")[0].strip() for limit in limits}.intersection(names) - known:
        raise UsageError(
            f"{min(unknown)!r} is a metric of this run that is not installed here, so it is unknown whether higher or "
            "lower is better. Give --threshold to `imapeval score` when it makes the run."
        )
    metrics = [registry.get(name) for name in names if name in known]
    thresholds = parse_thresholds(limits, metrics, option="--threshold")
    check_ranges(thresholds, run.ranges, option="--threshold")
    if checks.max_contradictions is not None:
        require_contradiction_counts(names)
    return thresholds, metrics


def _check_run(
    folder: Path, checks: CheckOptions, thresholds: "list[Threshold]", metrics: "list[Metric]"
) -> "list[AnyVerdict]":
    from imapeval.evaluation.runs import Run
    from imapeval.report.summary import summarise

    run = Run(folder)
    settings, contents = run.manifest["settings"], run.contents
    rows = summarise(
        contents.samples,
        contents.outcomes,
        metrics=list(settings["metrics"]),
        ranges=run.ranges,
        seed=settings["seed"],
    )
    return checks.check_run(run, thresholds, rows=rows, metrics=metrics)
