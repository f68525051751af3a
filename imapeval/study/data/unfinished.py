"""Says of a run that was interrupted, or is still going on, that its results cover only some of the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from imapeval.evaluation.runs import format_command, is_being_written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from imapeval.evaluation.runs import Outcomes, Run


def describe_unfinished(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return a sentence on each run that has answers without an outcome by every metric.

    Answers are tried in the order of the data, so that a whole language or task may be missing.

    Raises:
        InputError: A file of the run is malformed.
    """
    sentences: list[str] = []
    # The outcomes of a finished run are not read again for this.
    for run in (run for run in runs if not run.manifest.get("finished")):
        live = is_being_written(run.folder)
        outcomes = run.contents.outcomes
        if untried := outcomes.samples - count_done(outcomes):
            said = f"{run.folder} is unfinished ({untried:,} of {outcomes.samples:,} answers not tried)"
            command = format_resume_command(run)
            # A command ends without a full stop, so that it can be copied.
            sentences.append(f"{said}; resume it with: {command}" if command and not live else f"{said}.")
    return tuple(sentences)


def count_done(outcomes: Outcomes) -> int:
    """Return the number of answers with an outcome by every metric."""
    return int((outcomes.count() >= max(len(outcomes.by_metric), 1)).sum())


def format_resume_command(run: Run) -> str:
    """Return the command that resumes a run; "" if it was made from Python."""
    words: Sequence[str] = run.manifest.get("command", [])
    return format_command(words, out=str(run.folder)) if words else ""
