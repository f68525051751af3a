"""What a scorer has open, and a run in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from imapeval.evaluation.imap_files import ImapRecord
    from imapeval.evaluation.pipeline import Pipeline
    from imapeval.evaluation.runs import Result
    from imapeval.extraction.extractor import Extractor
    from imapeval.llm.protocol import Model
    from imapeval.matching.matcher import Matcher


_Item = TypeVar("_Item", "Result", "ImapRecord")


@dataclass(slots=True)
class OpenComponents:
    """What works, and in which process."""

    pid: int
    model: Model | None
    assembled: Pipeline
    imaps: tuple[Extractor, Matcher] | None = None

    def __post_init__(self) -> None:
        extractor, matcher = self.assembled.extractor, self.assembled.matcher
        if extractor is not None and matcher is not None:
            self.imaps = extractor, matcher

    @property
    def parts(self) -> tuple[Extractor, Matcher]:
        """What reads and relates."""
        if self.imaps is None:
            raise RuntimeError("not opened for reading")
        return self.imaps


@dataclass(slots=True)
class InMemoryStore:
    """A run in memory."""

    finished: dict[tuple[str, str, str], Result] = field(default_factory=dict[tuple[str, str, str], "Result"])
    records: list[ImapRecord] = field(default_factory=list["ImapRecord"])
    results: list[Result] = field(default_factory=list["Result"])

    def retain_imaps(self, ids: Iterable[str]) -> None:
        """Nothing was there before."""

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Keep them."""
        self.records.extend(imaps)
        self.results.extend(results)

    def finish(self) -> None:
        """Nothing more comes."""


def group_by_id(items: Iterable[_Item]) -> dict[str, list[_Item]]:
    """Return results or records by the id of their sample, each in their order."""
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(item.id, []).append(item)
    return groups
