"""Where results are stored while samples are scored."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from imapeval.errors import ServiceError
from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result
from imapeval.llm.structured.faults import FAULTS
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ResultStore(Protocol):
    """Where results are stored: on disk (`imapeval.evaluation.runs.RunWriter`) or in memory (`InMemoryStore`).

    Attributes:
        finished: Final outcomes that are already stored, by `Result.key`.
    """

    @property
    def finished(self) -> Mapping[tuple[str, str, str], Result]: ...

    def retain_imaps(self, ids: Iterable[str]) -> None:
        """Drop the imaps of all other samples, which are about to be extracted again. Called before `add`."""
        ...

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Store imaps and results."""
        ...

    def finish(self) -> None:
        """Record that the run is complete."""
        ...


@dataclass(slots=True)
class InMemoryStore:
    """A `ResultStore` that keeps imaps and results in lists."""

    finished: dict[tuple[str, str, str], Result] = field(default_factory=dict[tuple[str, str, str], Result])
    imaps: list[ImapRecord] = field(default_factory=list[ImapRecord])
    results: list[Result] = field(default_factory=list[Result])

    def retain_imaps(self, ids: Iterable[str]) -> None:
        """Do nothing: no imaps were there before."""

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Store imaps and results."""
        self.imaps.extend(imaps)
        self.results.extend(results)

    def finish(self) -> None:
        """Do nothing."""


UNUSABLE_REPLIES = 50
"""Number of answers after which a run is stopped if the model's replies could be used for none of them."""


class UnusableReplyGuard:
    """A `ResultStore` that stops a run whose model gives no usable reply, before more are paid for.

    Args:
        run: Where results are stored.
        samples: Number of samples of the run.
        allowed: How many of them may fail without stopping the run.
    """

    def __init__(self, run: ResultStore, *, samples: int, allowed: int = 0) -> None:
        self._run = run
        self._samples = samples
        self._limit = max(UNUSABLE_REPLIES, allowed + 1)
        self._scored: set[str] = set()
        self._done: Counter[str] = Counter()
        self._unusable: Counter[str] = Counter()

    @property
    def finished(self) -> Mapping[tuple[str, str, str], Result]:
        return self._run.finished

    def retain_imaps(self, ids: Iterable[str]) -> None:
        """Drop the imaps of all other samples."""
        self._run.retain_imaps(ids)

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Store imaps and results.

        Raises:
            ServiceError: No reply could be used for one of the metrics, and there are more samples. The results are
                stored.
        """
        results = list(results)
        self._run.add(imaps=imaps, results=results)
        last: dict[str, Failure] = {}
        for result in results:
            self._done[result.metric] += 1
            if not isinstance(result.outcome, Failure):
                self._scored.add(result.metric)
            elif result.outcome.kind in FAULTS:
                self._unusable[result.metric] += 1
                last[result.metric] = result.outcome
        for metric, failure in last.items():
            if self._is_hopeless(metric):
                raise ServiceError(
                    f"the model's replies could not be used for {metric} in any of {self._unusable[metric]} answers, "
                    f"so no more requests are sent. The last failure: {failure.message} If you expected that, allow "
                    "more failures with --max-failures.",
                    kind="unusable-replies",
                )

    def finish(self) -> None:
        """Record that the run is complete."""
        self._run.finish()

    def _is_hopeless(self, metric: str) -> bool:
        if metric in self._scored or self._unusable[metric] < self._limit:
            return False
        done = self._done[metric]
        for result in self.finished.values():  # of earlier sessions of the run
            if result.metric == metric:
                if result.scored:
                    return False
                done += 1
        return done < self._samples
