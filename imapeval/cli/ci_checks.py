"""What lets a CI job pass, and what its server shows of a run: for `imapeval score` and `imapeval report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.output import echo
from imapeval.errors import UsageError
from imapeval.files import open_private

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.evaluation.runs import Result, Run
    from imapeval.metrics.base import Metric
    from imapeval.report.summary import SummaryRow
    from imapeval.report.thresholds import AnyVerdict, Threshold
    from imapeval.types import Sample

Thresholds = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="METRIC=VALUE",
        help="Exit with 1 unless the mean is at least VALUE, or at most, where lower is better. Repeatable.",
    ),
]
MaxContradictions = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Exit with 1 where more facts of the answers, of all of them together, contradict their reference.",
    ),
]
Junit = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write the answers and the thresholds as JUnit XML, for CI servers.")
]
Summary = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Append a summary in Markdown, such as to $GITHUB_STEP_SUMMARY."),
]


def check_output_files(junit: str | None, summary: str | None) -> None:
    """Raise a UsageError where a file that is to be written cannot be meant: better before hours of scoring."""
    for option, path in (("--junit", junit), ("--summary", summary)):
        if path is not None and not path.strip():
            raise UsageError(f"{option} is empty. Give a file; is the variable set that should name it?")
        if path is not None and Path(path).is_dir():
            raise UsageError(f"{option} {path} is a folder. Give a file in it.")
    if junit is not None and summary is not None and Path(junit).resolve() == Path(summary).resolve():
        raise UsageError(f"--junit and --summary are both {junit}. Give two files: one is XML, the other Markdown.")


def check_run(
    run: "Run",
    thresholds: "Sequence[Threshold]",
    *,
    samples: "Sequence[Sample]",
    results: "Sequence[Result]",
    rows: "Sequence[SummaryRow]",
    metrics: "Sequence[Metric]",
    max_contradictions: int | None,
    junit: str | None,
    summary: str | None,
) -> "list[AnyVerdict]":
    """Write what is asked for, and return what became of the thresholds and of the limit of contradictions.

    Raises:
        UsageError: A file cannot be written, or there is such a limit and nothing in the run counts contradictions.
    """
    from imapeval.report.thresholds import check_contradictions, check_thresholds

    verdicts: list[AnyVerdict] = [*check_thresholds(thresholds, rows, samples=len(samples))]
    if max_contradictions is not None:
        verdicts.append(check_contradictions(max_contradictions, rows, samples=len(samples)))
    if junit is not None or summary is not None:
        from imapeval.explain.answers import collect_answers

        signatures: dict[str, str] = run.manifest["settings"]["metrics"]
        answers = collect_answers(samples, results, run.imaps(), metrics=list(signatures))
        name = Path(str(run.manifest["data"]["source"])).stem or run.folder.resolve().name
        if junit is not None:
            from imapeval.report.junit import write_junit

            text = write_junit(answers, verdicts, name=name, signatures=signatures, started=run.manifest["started"])
            _write(Path(junit), text, run.folder, mode="w")
        if summary is not None:
            from imapeval.report.markdown import write_markdown

            # A run may come from where other packages were installed; most metrics are better when they are higher.
            directions = dict.fromkeys(signatures, True) | {m.name: m.higher_is_better for m in metrics}
            text = write_markdown(answers, rows, verdicts, name=name, higher_is_better=directions)
            _write(Path(summary), text, run.folder, mode="a")
    return verdicts


def print_verdicts(verdicts: "Sequence[AnyVerdict]", *, quiet: bool) -> None:
    """Say what became of each threshold; quietly, of those that were missed."""
    for verdict in verdicts:
        if not (quiet and verdict.met):
            echo(f"threshold: {verdict}", err=not verdict.met)


def _write(path: Path, text: str, run: Path, *, mode: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, mode, encoding="utf-8", newline="\n", opener=open_private) as file:
            # What is appended must not go on with somebody's last line.
            file.write(f"\n{text}" if mode == "a" and file.seekable() and file.tell() else text)
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written ({error.strerror}). Choose another file: `imapeval report {run}` writes it "
            "without scoring again."
        ) from error
