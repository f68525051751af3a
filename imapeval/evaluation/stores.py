"""Where results are stored while samples are scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from imapeval.evaluation.imap_files import ImapRecord
from imapeval.evaluation.runs import Result

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
