"""What makes a CI job pass or fail, and the files its server shows: for `imapeval score` and `imapeval report`."""

import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from imapeval.cli.output import echo
from imapeval.errors import UsageError
from imapeval.files import append_to_file, private_folder, replace_file

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from imapeval.evaluation.runs import Run
    from imapeval.metrics.base import Metric
    from imapeval.report.summary import SummaryRow
    from imapeval.report.thresholds import AnyVerdict, Threshold


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Limits that a run has to meet, and the files that tell a CI server about it."""

    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Exit with code 1 unless the mean is at least VALUE (at most VALUE for metrics where lower is "
            "better). Repeatable.",
        ),
    ] = None
    max_contradictions: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Exit with code 1 if more than N facts in all answers contradict their reference."
        ),
    ] = None
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write answers and thresholds as JUnit XML for CI servers.")
    ] = None
    summary: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Append a summary in Markdown, for example to $GITHUB_STEP_SUMMARY."),
    ] = None

    @property
    def given(self) -> bool:
        """Whether any of the options is given."""
        return bool(self.threshold or self.junit or self.summary or self.max_contradictions is not None)

    def check_files(self) -> None:
        """Raise a UsageError if --junit or --summary cannot be written to: better before hours of scoring."""
        for option, path in (("--junit", self.junit), ("--summary", self.summary)):
            if path is not None and not path.strip():
                raise UsageError(f"{option} is empty. Give a file, or set the variable that should name it.")
            if path is not None and Path(path).is_dir():
                raise UsageError(f"{option} {path} is a folder. Give a file in it.")
        if self.junit and self.summary and Path(self.junit).resolve() == Path(self.summary).resolve():
            raise UsageError(f"--junit and --summary are both {self.junit}. Give two files: one is XML, one Markdown.")

    def check_run(
        self,
        run: "Run",
        thresholds: "Sequence[Threshold]",
        *,
        rows: "Sequence[SummaryRow]",
        metrics: "Sequence[Metric]",
    ) -> "list[AnyVerdict]":
        """Write the files that are asked for, and return whether each limit is met.

        Raises:
            UsageError: A file cannot be written, or contradictions are limited and nothing in the run counts them.
        """
        from imapeval.report.thresholds import check_contradictions, check_thresholds

        count = run.manifest["data"]["samples"]
        verdicts: list[AnyVerdict] = [*check_thresholds(thresholds, rows, samples=count)]
        if self.max_contradictions is not None:
            verdicts.append(check_contradictions(self.max_contradictions, rows, samples=count))
        if self.junit is not None or self.summary is not None:
            from imapeval.evaluation.runs import name_run
            from imapeval.explain.answers import open_answers

            answers = open_answers(run)
            signatures: dict[str, str] = run.manifest["settings"]["metrics"]
            name = name_run(run)
            if self.junit is not None:
                from imapeval.report.junit import iterate_junit

                started = run.manifest["started"]
                parts = iterate_junit(answers, verdicts, name=name, signatures=signatures, started=started)
                with _report_errors("--junit", self.junit, run.folder) as path:
                    replace_file(path, map(str.encode, parts))
            if self.summary is not None:
                from imapeval.report.markdown import write_markdown

                # A metric of the run may not be installed here; for most metrics higher is better.
                directions = dict.fromkeys(signatures, True) | {m.name: m.higher_is_better for m in metrics}
                text = write_markdown(answers, rows, verdicts, name=name, higher_is_better=directions)
                with _report_errors("--summary", self.summary, run.folder) as path:
                    append_to_file(path, text.encode())
        return verdicts


def print_verdicts(verdicts: "Sequence[AnyVerdict]", *, quiet: bool) -> None:
    """Print whether each limit is met; if `quiet`, only those that are not."""
    for verdict in verdicts:
        if not (quiet and verdict.met):
            echo(f"threshold: {verdict}", err=not verdict.met)


@contextmanager
def _report_errors(option: str, file: str, run: Path) -> "Generator[Path]":
    path = Path(file)
    try:
        with private_folder(path.parent):
            yield path
    except OSError as error:
        raise UsageError(
            f"cannot write {path} ({error.strerror}). Choose another file; `imapeval report {shlex.quote(str(run))} "
            f"{option} FILE` writes it without scoring again."
        ) from error
