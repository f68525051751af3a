"""The answers of a run with their outcomes and facts, as JUnit and Markdown reports list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from imapeval.evaluation.samples import system_label
from imapeval.explain.comparison import compare, write_sentence
from imapeval.types import Failure, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.runs import Result
    from imapeval.types import Sample


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One answer with its outcomes and facts.

    Attributes:
        sample: The answer.
        outcomes: Outcomes by metric, in the run's order; None if the run was interrupted before.
        record: The imap of the answer and of the reference that counts; None if there is none.
    """

    sample: Sample
    outcomes: Mapping[str, Outcome | None]
    record: ImapRecord | None

    @property
    def system(self) -> str:
        """The system that generated the answer, as reports show it."""
        return system_label(self.sample)

    @property
    def unscored(self) -> dict[str, Failure]:
        """The failures by metric; empty if every metric has a score."""
        return {
            name: _PENDING if outcome is None else outcome
            for name, outcome in self.outcomes.items()
            if not isinstance(outcome, Score)
        }

    @property
    def facts(self) -> str:
        """A sentence on the facts that the answer has and lacks; "" if there are none."""
        rows = [] if self.record is None else compare(self.record)
        return write_sentence(rows) if rows else ""

    @property
    def reason(self) -> str:
        """The first metric's score and the facts that the answer has and lacks; or why there is no score."""
        metric, outcome = next(iter(self.outcomes.items()))
        return describe_outcome(metric, outcome or _PENDING, self.facts)


_PENDING = Failure("metric", "pending", "The run was interrupted. Repeat the command that started it.")


def collect_answers(
    samples: Sequence[Sample], results: Iterable[Result], imaps: Iterable[ImapRecord], *, metrics: Sequence[str]
) -> list[ScoredAnswer]:
    """Return the answers in the order of the data."""
    outcomes = {(result.id, result.metric): result.outcome for result in results}
    records: dict[str, list[ImapRecord]] = {}
    for record in imaps:
        records.setdefault(record.id, []).append(record)
    return [
        _make_answer(sample, {name: outcomes.get((sample.id, name)) for name in metrics}, records) for sample in samples
    ]


def describe_outcome(metric: str, outcome: Outcome, facts: str) -> str:
    """Return a score with its parts and a sentence on facts; or why there is no score."""
    if isinstance(outcome, Failure):
        return describe_failure(outcome)
    parts = ", ".join(f"{name} {number:.3g}" for name, number in outcome.parts.items())
    return f"{metric} {outcome.value:.3f}{f' ({parts})' if parts else ''}. {facts}".rstrip()


def describe_failure(failure: Failure) -> str:
    """Return the reason of a failure in words."""
    return f"not scored: {failure.message} ({failure.stage}/{failure.kind})"


def find_counted_record(
    sample: Sample, outcomes: Mapping[str, Outcome | None], records: Iterable[ImapRecord]
) -> ImapRecord | None:
    """Return the imap with the reference that counts for imapScore, else for the first metric with a score.

    Returns:
        None if there is no such imap.
    """
    scores = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Score)}
    ours = (score for name, score in scores.items() if name.startswith("imapscore"))
    counting = next(ours, next(iter(scores.values()), None))
    # With one reference, a part of this name belongs to a metric of another package.
    index = 0 if counting is None or len(sample.references) < 2 else int(counting.parts.get("reference", 0))
    return next((record for record in records if record.imap.reference_index == index), None)


def _make_answer(
    sample: Sample, outcomes: Mapping[str, Outcome | None], records: Mapping[str, Sequence[ImapRecord]]
) -> ScoredAnswer:
    return ScoredAnswer(sample, outcomes, find_counted_record(sample, outcomes, records.get(sample.id, ())))
