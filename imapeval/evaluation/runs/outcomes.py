"""The outcomes of a run in arrays: some 20 bytes for each, so that those of millions of answers fit into memory."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any

from imapeval.evaluation.samples import index_samples
from imapeval.evaluation.samples.spool import Mapped
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    import numpy.typing as npt

    from imapeval.evaluation.ids import IdIndex
    from imapeval.evaluation.runs.reading import Result, Run
    from imapeval.types import Sample

KEPT_PARTS = ("recall", "precision", "contradictions")
"""The parts of scores that are kept."""


@dataclass(slots=True)
class MetricOutcomes:
    """The outcomes of a metric, in the order of the data.

    Attributes:
        positions: The samples, as their 0-based positions in the data.
        values: The scores; NaN for a failure.
        kinds: The kinds of the failures, as numbers from 1; 0 for a score.
        parts: The values of each of `KEPT_PARTS` that a score has; NaN for those without.
    """

    positions: array[int] = field(default_factory=lambda: array("Q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    kinds: array[int] = field(default_factory=lambda: array("I"))
    parts: dict[str, array[float]] = field(default_factory=dict[str, "array[float]"])

    def sort(self) -> None:
        """Sort the outcomes by their positions."""
        import numpy as np

        order = np.argsort(np.asarray(self.positions))
        if (order[1:] > order[:-1]).all():
            return
        columns: list[array[Any]] = [self.positions, self.values, self.kinds, *self.parts.values()]
        for column in columns:
            column[:] = array(column.typecode, np.asarray(column)[order].tobytes())


@dataclass(slots=True)
class FailureMessage:
    """The failures with the same message.

    Attributes:
        first: The first of them.
        metrics: The metrics, in the order of the file.
        positions: The samples, one for each failure.
    """

    first: Result
    metrics: dict[str, None] = field(default_factory=dict[str, None])
    positions: array[int] = field(default_factory=lambda: array("Q"))


class Outcomes:
    """The outcomes of a run.

    Args:
        results: The outcomes.
        metrics: The metrics; those of others are left out.
        index: Positions of the samples by id.

    Attributes:
        samples: Number of samples.
        by_metric: The outcomes by metric.
        failures: The failures by stage and kind, and by message.
        repeated: The whole results whose scores are means of repetitions, by metric, in the order of the data.
    """

    def __init__(self, results: Iterable[Result], metrics: Sequence[str], index: IdIndex) -> None:
        self.samples = len(index)
        self.by_metric = {name: MetricOutcomes() for name in metrics}
        self.failures: dict[tuple[str, str], dict[str, FailureMessage]] = {}
        self.repeated: list[Result] = []
        self._kinds: dict[str, int] = {}
        for result in results:
            position = index.get(result.id)
            if result.metric in self.by_metric and position is not None:
                self._add(self.by_metric[result.metric], position, result)
        # Replies arrive in a different order each time, and resampling depends on the order.
        for of_metric in self.by_metric.values():
            of_metric.sort()
        places = {metric: place for place, metric in enumerate(metrics)}
        self.repeated.sort(key=lambda result: (places[result.metric], index.get(result.id) or 0))

    def _add(self, of_metric: MetricOutcomes, position: int, result: Result) -> None:
        outcome = result.outcome
        if isinstance(outcome, Failure):
            value, parts = nan, dict[str, float]()
            kind = self._kinds.setdefault(outcome.kind, len(self._kinds) + 1)
            of_kind = self.failures.setdefault((outcome.stage, outcome.kind), {})
            message = of_kind.setdefault(outcome.message, FailureMessage(result))
            message.metrics[result.metric] = None
            message.positions.append(position)
        else:
            value, parts, kind = outcome.value, outcome.parts, 0
            if outcome.repetitions:
                self.repeated.append(result)
        for part in KEPT_PARTS:
            if part in of_metric.parts or part in parts:
                if part not in of_metric.parts:
                    of_metric.parts[part] = array("d", [nan]) * len(of_metric.positions)
                of_metric.parts[part].append(parts.get(part, nan))
        of_metric.positions.append(position)
        of_metric.values.append(value)
        of_metric.kinds.append(kind)

    def count(self) -> npt.NDArray[np.int64]:
        """Return the number of outcomes of each sample."""
        import numpy as np

        counts = np.zeros(self.samples, dtype=np.int64)
        for of_metric in self.by_metric.values():
            counts += np.bincount(np.asarray(of_metric.positions, dtype=np.int64), minlength=self.samples)
        return counts

    def count_failed(self) -> dict[str, int]:
        """Return the number of samples by the kind of their failures, and of all with a failure as ""."""
        every = [(kind, message) for (_, kind), messages in self.failures.items() for message in messages.values()]
        kinds = dict.fromkeys(kind for kind, _ in every)
        return {"": count_samples(message for _, message in every)} | {
            kind: count_samples(message for failure_kind, message in every if failure_kind == kind) for kind in kinds
        }

    def find_message(self, kind: str) -> str:
        """Return the message of the first failure of a kind that there is."""
        return next(message for (_, known), messages in self.failures.items() if known == kind for message in messages)

    def find_first_kinds(self) -> Sequence[str | None]:
        """Return the kind of failure of each sample's first metric without a score; None where all have one."""
        import numpy as np

        numbers = np.zeros(self.samples, dtype=np.int64)
        for of_metric in reversed(self.by_metric.values()):
            kinds = np.asarray(of_metric.kinds)
            numbers[np.asarray(of_metric.positions, dtype=np.int64)[kinds > 0]] = kinds[kinds > 0]
        return Mapped(numbers.data, [None, *self._kinds].__getitem__)

    def fill(self, metric: str, part: str | None = None) -> npt.NDArray[np.float64]:
        """Return a score of each sample, or a part of it; NaN where there is none."""
        import numpy as np

        of_metric = self.by_metric[metric]
        filled = np.full(self.samples, nan)
        filled[np.asarray(of_metric.positions, dtype=np.int64)] = (
            of_metric.values if part is None else of_metric.parts[part]
        )
        return filled


@dataclass(frozen=True, slots=True)
class RunContents:
    """What a run holds, read and checked: its table, page and summary are made of this.

    Attributes:
        samples: The samples in the order of the data; those after the first 10,000 are in a temporary file.
        index: Their positions by id.
        outcomes: The outcomes of all metrics.
    """

    samples: Sequence[Sample]
    index: IdIndex
    outcomes: Outcomes

    @classmethod
    def read(cls, run: Run) -> RunContents:
        """Read a run.

        Raises:
            InputError: See `Run.samples` and `Run.stream_results`.
        """
        samples = run.open_samples()
        index = index_samples(samples)
        metrics = list(run.manifest["settings"]["metrics"])
        return cls(samples, index, Outcomes(run.stream_results(index), metrics, index))


def count_samples(messages: Iterable[FailureMessage]) -> int:
    """Return how many samples have failed with one of these messages."""
    import numpy as np

    positions = [np.asarray(message.positions, dtype=np.int64) for message in messages]
    return len(np.unique(np.concatenate(positions))) if positions else 0
