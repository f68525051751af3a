"""The answers of a run with their outcomes and facts, as reports, pages and exports list them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result
from imapeval.evaluation.samples import index_samples, system_label
from imapeval.evaluation.samples.spool import Mapped, spool
from imapeval.explain.comparison import describe_facts
from imapeval.study.number_format import format_score
from imapeval.types import Failure, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from imapeval.evaluation.ids import IdIndex
    from imapeval.evaluation.runs import Run
    from imapeval.types import Sample

_Item = TypeVar("_Item", Result, ImapRecord)


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """One answer with its outcomes and facts.

    Attributes:
        sample: The answer.
        outcomes: Outcomes by metric, in the run's order; None for those that an interrupted run did not reach.
        records: The imaps of the answer, read only where they are asked for.
    """

    sample: Sample
    outcomes: Mapping[str, Outcome | None]
    records: Iterable[ImapRecord]

    @property
    def record(self) -> ImapRecord | None:
        """The imap of the answer and of the reference that counts; None if there is none."""
        return find_counted_record(self.sample, self.outcomes, self.records)

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
        return describe_facts(self.record)

    @property
    def reason(self) -> str:
        """The first metric's score and the facts that the answer has and lacks; or why there is no score."""
        metric, outcome = next(iter(self.outcomes.items()))
        return describe_outcome(metric, outcome or _PENDING, self.facts)


_PENDING = Failure("metric", "pending", "The run was interrupted. Repeat the command that started it.")


def collect_answers(
    samples: Sequence[Sample],
    results: Iterable[Result],
    imaps: Iterable[ImapRecord],
    *,
    metrics: Sequence[str],
    index: IdIndex | None = None,
) -> Sequence[ScoredAnswer]:
    """Return the answers in the order of the data; each is made whenever it is asked for.

    `index` has the positions of the samples by id; if it is not given, it is made.
    """
    if index is None:
        index = index_samples(samples)
    results_by_sample, records_by_sample = _BySample(results, index), _BySample(imaps, index)

    def make(position: int) -> ScoredAnswer:
        sample = samples[position]
        found = {result.metric: result.outcome for result in results_by_sample.find(position)}
        return ScoredAnswer(sample, {name: found.get(name) for name in metrics}, records_by_sample.find(position))

    return Mapped(range(len(samples)), make)


def open_answers(run: Run) -> Sequence[ScoredAnswer]:
    """Return the answers of a run, as `collect_answers` does.

    Raises:
        InputError: The run cannot be read.
    """
    samples = run.open_samples()
    index = index_samples(samples)
    metrics = list(run.manifest["settings"]["metrics"])
    return collect_answers(samples, run.stream_results(index), run.find_imaps(), metrics=metrics, index=index)


class _BySample(Generic[_Item]):
    """Results or imaps by the positions of their samples; those after the first 10,000 are in a temporary file."""

    def __init__(self, items: Iterable[_Item], index: IdIndex) -> None:
        import numpy as np

        positions = array("q")

        def note_positions() -> Iterator[_Item]:
            for item in items:
                if (position := index.get(item.id)) is not None:
                    positions.append(position)
                    yield item

        self._items = spool(note_positions())
        self._order = np.argsort(positions, kind="stable")
        self._positions = np.asarray(positions)[self._order]

    def find(self, position: int) -> Sequence[_Item]:
        """Return those of a sample, in their order; each is read whenever it is asked for."""
        begin, end = self._positions.searchsorted((position, position + 1))
        return Mapped(self._order[begin:end].data, self._items.__getitem__)


def describe_outcome(metric: str, outcome: Outcome, facts: str) -> str:
    """Return a score with its parts and a sentence on facts; or why there is no score."""
    if isinstance(outcome, Failure):
        return describe_failure(outcome)
    return f"{metric} {format_score_with_parts(outcome)}. {facts}".rstrip()


def format_score_with_parts(score: Score) -> str:
    """Format a score and its parts: "0.574 (recall 0.5, contradictions 2)"."""
    parts = ", ".join(
        # Otherwise a count of 1,024 would be 1.02e+03.
        f"{name} {number:.0f}" if abs(number) >= 999.5 else f"{name} {number:.3g}"
        for name, number in score.parts.items()
    )
    return f"{format_score(score.value)}{f' ({parts})' if parts else ''}"


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
    imapscores = (score for name, score in scores.items() if name.startswith("imapscore"))
    counting = next(imapscores, next(iter(scores.values()), None))
    # With one reference, a part of this name belongs to a metric of another package.
    index = 0 if counting is None or len(sample.references) < 2 else int(counting.parts.get("reference", 0))
    return next((record for record in records if record.imap.reference_index == index), None)
