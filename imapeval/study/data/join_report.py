"""Report of what was read and how runs and ratings matched."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imapeval.evaluation.ids import list_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.evaluation.runs import Run


@dataclass(frozen=True, slots=True)
class JoinReport:
    """How scores and ratings were joined.

    Attributes:
        runs: Folders of the runs.
        answers: Number of answers in all runs.
        rated: Number of answers with a rating in at least one dimension.
        not_rated: Ids of the other answers.
        by_dimension: Number of rated answers by dimension.
        raters: Number of raters; 0 if only averages are known.
        raters_per_answer: Number of answers by their number of raters, for each dimension: an answer may have more of
            them in one dimension than in another.
        rated_ids: Number of different ids among the ratings.
        strays: Rated ids that are in no run.
        failures: Number of included answers for which a metric failed, by metric.
        not_scored: Number of answers for which no run has an outcome, by metric.
        unknown_metrics: Metrics that are not installed, so that it is unknown whether high scores are good.
        unfinished: Sentences on the runs that were interrupted (`describe_unfinished`).
        left_out: Numbers of skipped ratings, by a plural phrase that describes them.
        unread: Columns of the ratings that were not read.
        notes: Remarks of the ratings reader, and about the ids of the runs.
    """

    runs: tuple[str, ...]
    answers: int
    rated: int
    not_rated: tuple[str, ...]
    by_dimension: Mapping[str, int]
    raters: int
    raters_per_answer: Mapping[str, Mapping[int, int]]
    rated_ids: int
    strays: tuple[str, ...]
    failures: Mapping[str, int]
    not_scored: Mapping[str, int]
    unknown_metrics: tuple[str, ...]
    unfinished: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    unread: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_sentences(self) -> tuple[str, ...]:
        """Return the report as sentences: first what matched, then what did not."""
        runs = "1 run" if len(self.runs) == 1 else f"{len(self.runs)} runs"
        if self.rated:
            sentences = [
                f"{self.answers} answers in {runs}, {self.rated} of them rated: {_enumerate(self.by_dimension)}.",
                _describe_raters(self.raters, self.raters_per_answer),
            ]
        else:
            sentences = [f"{self.answers} answers in {runs}, none of them rated."]
        sentences += self.unfinished
        if self.strays:
            sentences.append(
                f"{len(self.strays)} of {self.rated_ids} rated ids are in no run and are left out: "
                f"{list_first(self.strays)}."
            )
        if self.rated and self.not_rated:
            sentences.append(
                f"{len(self.not_rated)} of {self.answers} answers are not rated: {list_first(self.not_rated)}."
            )
        if self.failures:
            sentences.append(f"Answers without a score because the metric failed: {_enumerate(self.failures)}.")
        if self.not_scored:
            sentences.append(f"Answers not scored in any run: {_enumerate(self.not_scored)}.")
        if self.unknown_metrics:
            sentences.append(f"Not installed (high scores are assumed to be good): {', '.join(self.unknown_metrics)}.")
        return (*sentences, *describe_reading(self.left_out, self.unread, self.notes))


def describe_numbered_ids(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return, as sentences, which runs have row numbers as ids: a file joined with them must count the same rows."""
    return tuple(
        f"The data of {run.folder} have no ids, so the row numbers are used: the first row of the data is '1'. If the "
        "ids joined with them count the rows of another file, or in another order, the results are wrong. Give the "
        "data a column `id`, or name one with --map id=<column>, and score them again."
        for run in runs
        if run.manifest["data"].get("numbered")
    )


def describe_reading(left_out: Mapping[str, int], unread: Sequence[str], notes: Iterable[str]) -> tuple[str, ...]:
    """Return what was skipped while reading ratings, as sentences."""
    sentences: list[str] = []
    if left_out:
        phrases = ", ".join(f"{phrase} ({number})" for phrase, number in left_out.items())
        sentences.append(f"Left out of the ratings: {phrases}.")
    if unread:
        sentences.append(f"Not read as ratings: {', '.join(map(repr, unread))}.")
    return (*sentences, *notes)


def _enumerate(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


def _describe_raters(raters: int, per_answer: Mapping[str, Mapping[int, int]]) -> str:
    if raters == 0:
        return "The raters are not identified: ratings are treated as averages, and agreement among raters is unknown."
    shares = [
        f"{dimension} " + ", ".join(f"{number} ({n} answer{'' if n == 1 else 's'})" for number, n in counts.items())
        for dimension, counts in per_answer.items()
    ]
    return f"{raters} rater{'' if raters == 1 else 's'}. Raters of an answer: {'; '.join(shares)}."
