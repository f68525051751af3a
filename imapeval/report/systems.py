"""A comparison of systems as JSON, CSV, Markdown and LaTeX, with the facts behind the questions that moved most."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from imapeval.errors import UsageError
from imapeval.evaluation.runs.safe_csv import dump_records
from imapeval.explain.answers import collect_answers
from imapeval.files import write_private_file
from imapeval.report.formatting import format_coefficient, format_p
from imapeval.report.markdown import escape_markdown, tabulate
from imapeval.report.study.latex import escape_latex, format_latex_interval, format_latex_p, render_table
from imapeval.study.intervals.coverage import describe_difference_coverage, describe_mean_coverage
from imapeval.study.number_format import format_interval, format_number
from imapeval.study.systems.differences import Difference
from imapeval.study.systems.ranking import describe_questions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from imapeval.evaluation.runs import Run
    from imapeval.study.systems.answers import SystemAnswers
    from imapeval.study.systems.ranking import Change, MetricDisagreement, Standing

SUFFIXES = (".csv", ".md", ".tex")
"""Formats that `write_table` knows."""


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """All findings about some systems.

    Attributes:
        signatures: Signatures of the metrics, by name.
        standings: The leaderboard of each metric.
        differences: Differences between pairs of systems.
        disagreements: Pairs of systems that metrics put in different orders.
        changes: By the first metric, for each pair, the questions that the first system lost and gained most on.
        reasons: From `explain_changes`, by system and id.
        seed: Random seed of intervals and p-values.
        margin: Difference within which systems count as equivalent; None without one.
    """

    signatures: Mapping[str, str]
    standings: Sequence[Standing]
    differences: Sequence[Difference]
    disagreements: Sequence[MetricDisagreement]
    changes: Sequence[Change]
    reasons: Mapping[tuple[str, str], str]
    seed: int
    margin: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "metrics": dict(self.signatures),
            "leaderboard": [asdict(row) for row in self.standings],
            "differences": [asdict(row) for row in self.differences],
            "disagreements": [asdict(row) for row in self.disagreements],
            "changes": [
                asdict(row)
                | {
                    "first_reasons": [self.reasons[row.first, id_] for id_ in row.first_ids],
                    "second_reasons": [self.reasons[row.second, id_] for id_ in row.second_ids],
                }
                for row in self.changes
            ],
            "seed": self.seed,
            "margin": self.margin,
        }


def explain_changes(
    runs: Sequence[Run], answers: SystemAnswers, changes: Iterable[Change]
) -> dict[tuple[str, str], str]:
    """Return a sentence on the facts of each answer among the changes, by system and id; "" if it has no imap.

    Raises:
        InputError: A run cannot be read.
    """
    wanted = {
        (system, id_)
        for change in changes
        for system, ids in ((change.first, change.first_ids), (change.second, change.second_ids))
        for id_ in ids
    }
    reasons: dict[tuple[str, str], str] = {}
    for run, owner in zip(runs, answers.owners, strict=True):
        rows = [
            row
            for row, sample in enumerate(answers.samples)
            if answers.runs[row] == owner and (answers.systems[answers.system[row]], sample.id) in wanted
        ]
        if not rows:
            continue
        ids = {answers.samples[row].id for row in rows}
        found = collect_answers(
            [answers.samples[row] for row in rows],
            [result for result in run.results() if result.id in ids],
            run.find_imaps(ids),
            metrics=answers.metrics,
        )
        for row, answer in zip(rows, found, strict=True):
            key = answers.systems[int(answers.system[row])], answer.sample.id
            reasons[key] = reasons.get(key) or answer.facts
    return reasons


def write_table(comparison: SystemComparison, path: Path) -> None:
    """Write the leaderboard and the differences as Markdown or LaTeX (package booktabs), or the differences as CSV.

    The CSV has a column for each attribute of `Difference`.

    Raises:
        UsageError: The suffix of the path is not one of `SUFFIXES`, or the file cannot be written.
    """
    match path.suffix:
        case ".csv":
            content = dump_records(Difference, comparison.differences)
        case ".md":
            content = _write_markdown(comparison).encode(errors="replace")
        case ".tex":
            content = _write_latex(comparison).encode(errors="replace")
        case other:
            raise UsageError(f"{path}: no table is written as {other!r}. Suffixes: {', '.join(SUFFIXES)}.")
    write_private_file(path, content, fix="Choose another file.")


_STANDING_HEADS = ("metric", "system", "mean", "95% interval", "questions", "not scored", "group")
_DIFFERENCE_HEADS = ("metric", "questions", "first", "second", "difference", "95% interval", "p after Holm", "n")


def _list_cells(
    comparison: SystemComparison,
    *,
    escape: Callable[[str], str],
    write: Callable[[float | None, float | None, float | None], Sequence[str]],
    write_p: Callable[[float | None], str],
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the cells of the leaderboard and of the differences.

    `escape` is for names, `write` returns the cells of a number and its interval, `write_p` that of a p-value.
    """
    standings = [
        [
            escape(row.metric),
            escape(row.system),
            *write(row.mean, row.low, row.high),
            str(row.questions),
            str(row.unscored),
            row.groups,
        ]
        for row in comparison.standings
    ]
    differences = [
        [
            escape(row.metric),
            escape(f"{row.column} {row.group}" if row.column else "all"),
            escape(row.first),
            escape(row.second),
            *write(row.difference, row.low, row.high),
            write_p(row.p_adjusted),
            str(row.questions) + (" (not paired)" if row.apart else ""),
        ]
        for row in comparison.differences
    ]
    return standings, differences


def _describe_differences(comparison: SystemComparison) -> list[str]:
    apart = any(row.apart for row in comparison.differences)
    return [
        *(["Not paired: the two have no question in common, and each mean is over other questions."] if apart else []),
        *describe_difference_coverage(comparison.differences),
    ]


def _describe_means(comparison: SystemComparison) -> list[str]:
    said = describe_questions(comparison.standings)
    shared = bool(comparison.standings) and all(row.shared for row in comparison.standings)
    return [
        *(["Means are over the questions that every system has a score for."] if shared and not said else []),
        *describe_mean_coverage(row.resampled for row in comparison.standings),
        *said,
    ]


def _write_markdown(comparison: SystemComparison) -> str:
    def write(number: float | None, low: float | None, high: float | None) -> tuple[str, str]:
        interval = "–" if low is None or high is None else format_interval(low, high, digits=3, between=" to ")
        return "–" if number is None else format_number(number, digits=3), interval

    standings, differences = _list_cells(comparison, escape=escape_markdown, write=write, write_p=format_p)
    parts = [
        tabulate(_STANDING_HEADS, standings),
        *_describe_means(comparison),
        tabulate(_DIFFERENCE_HEADS, differences),
        *_describe_differences(comparison),
    ]
    return "\n\n".join(parts) + "\n"


def _write_latex(comparison: SystemComparison) -> str:
    def write(number: float | None, low: float | None, high: float | None) -> tuple[str]:
        return (escape_latex(format_coefficient(number)) + format_latex_interval(low, high, digits=3),)

    standings, differences = _list_cells(comparison, escape=escape_latex, write=write, write_p=format_latex_p)
    letters = (
        ["Systems that share a letter cannot be told apart (permutation tests, Holm's correction)."]
        if any(row.groups for row in comparison.standings)
        else []
    )
    note = f"Seed {comparison.seed}."
    return "\n".join(
        (
            render_table(
                ["Metric", "System", "Mean", "$n$", "Not scored", "Group"],
                standings,
                columns="lllrrl",
                caption=" ".join(
                    (
                        "Mean scores of systems, 95% intervals in brackets.",
                        *letters,
                        *_describe_means(comparison),
                    )
                ),
                label="systems",
                note=note,
            ),
            render_table(
                ["Metric", "Questions", "First", "Second", "Difference", "$p$", "$n$"],
                differences,
                columns="llllrrr",
                caption=" ".join(
                    (
                        "Differences between systems, 95% intervals in brackets; p two-sided (permutation tests), "
                        "after Holm's correction.",
                        *_describe_differences(comparison),
                    )
                ),
                label="differences",
                note=note,
            ),
        )
    )
