"""What a metric is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.types import Imap, Lang, Match, Outcome

Need = Literal["imap", "reference"]


@dataclass(frozen=True, slots=True)
class Case:
    """One response beside one reference: what a metric sees.

    A sample with several references gives several cases; `evaluate` keeps the best outcome and says which
    reference it came from.

    Attributes:
        reference: "" where the sample has none, which a metric that requires "reference" is never shown.
        imap, matches: None unless the metric requires "imap".
    """

    id: str
    question: str
    reference: str
    response: str
    lang: Lang
    imap: Imap | None = None
    matches: tuple[Match, ...] | None = None


class Metric(Protocol):
    """Gives a score, or a reason why there is none, for each case.

    Attributes:
        name: As on the command line.
        summary: One line for `imapeval metrics`.
        citation: Paper or software that defines it.
        requires: What it needs beside question and response.
        languages: Languages it is defined for.
        range: Lowest and highest possible score; None where unbounded.
        higher_is_better: Which way is good.
        signature: Everything in the metric itself that can change the number; what comes from extraction and
            matching is added by `evaluate`.
    """

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def citation(self) -> str: ...
    @property
    def requires(self) -> frozenset[Need]: ...
    @property
    def languages(self) -> frozenset[Lang]: ...
    @property
    def range(self) -> tuple[float | None, float | None]: ...
    @property
    def higher_is_better(self) -> bool: ...
    @property
    def signature(self) -> str: ...

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch.

        Returns:
            One outcome per case, in order. Undefined cases are a `Failure`; nothing is raised for a single
            case's content.
        """
        ...
