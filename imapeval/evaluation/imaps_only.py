"""A pipeline and a store for reading imaps without scoring them, so that workers can do it, too."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING

from imapeval.evaluation.imap_files import ImapRecord, dump_record
from imapeval.evaluation.pipeline import Pipeline, open_extractor, open_graph
from imapeval.evaluation.runs.reading import group_by_id
from imapeval.metrics.base import Case, Metric
from imapeval.types import Failure

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from imapeval.evaluation.runs import Result
    from imapeval.llm.protocol import Model
    from imapeval.types import Imap, Lang, Match


class _Extraction(Metric):
    """Whether imaps were read."""

    name = "extraction"
    summary = "1 if the texts were read; otherwise the failure says why not"
    requires = frozenset({"imap"})

    def score(self, case: Case) -> float:
        """Score one case; see `Metric.score`."""
        return 1.0


class _NoMatcher:
    """Relates nothing; see `Matcher`."""

    signature = "none"

    async def match(
        self, imaps: Sequence[Imap], *, langs: Sequence[Lang], questions: Sequence[str] | None = None
    ) -> list[tuple[Match, ...] | Failure]:
        """Return no matches."""
        return [() for _ in imaps]


def open_extraction_pipeline(*, kg: Path | None = None, llm: Model | None = None, votes: int = 1) -> Pipeline:
    """Return a pipeline that reads imaps and does nothing with them; see `open_extractor`."""
    return Pipeline([_Extraction()], open_extractor(open_graph(kg), llm=llm, votes=votes), _NoMatcher(), {})


@dataclass
class ImapWriter:
    """Writes imaps to a file in the order of the samples, as soon as they are available; see `ResultStore`.

    Attributes:
        ids: Ids of the samples that are still to be written, in order.
        file: The file, with a line for each imap.
        failures: Why a sample could not be read, by its id.
    """

    ids: deque[str]
    file: IO[str]
    failures: dict[str, Failure] = field(default_factory=dict[str, Failure])
    finished: dict[tuple[str, str, str], Result] = field(default_factory=dict[tuple[str, str, str], "Result"])
    _ready: dict[str, list[ImapRecord]] = field(default_factory=dict[str, list[ImapRecord]])

    def retain_imaps(self, ids: Iterable[str]) -> None:
        """Do nothing: no imaps were there before."""

    def add(self, *, imaps: Iterable[ImapRecord], results: Iterable[Result]) -> None:
        """Write the imaps of all samples before the first one that is still to be read."""
        records = group_by_id(imaps)
        for result in results:
            self._ready[result.id] = records.get(result.id, [])
            if isinstance(result.outcome, Failure):
                self.failures[result.id] = result.outcome
        while self.ids and self.ids[0] in self._ready:
            for record in self._ready.pop(self.ids.popleft()):
                self.file.write(f"{dump_record(replace(record, matches=None))}\n")

    def finish(self) -> None:
        """Go to the beginning of the file."""
        self.file.seek(0)
