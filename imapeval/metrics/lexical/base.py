"""What the lexical metrics have in common: two texts in, an outcome out, nothing else needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from imapeval.signature import signature
from imapeval.types import Failure, Lang, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.metrics.base import Case, Requirement

NO_REFERENCE_TOKENS = Failure("metric", "no-reference-tokens", "the reference holds no word or number to compare with")


class LexicalMetric(ABC):
    """A metric that compares a response with a reference by their wording alone."""

    requires: frozenset[Requirement] = frozenset({"reference"})
    languages: frozenset[Lang] = frozenset({"en", "zh"})
    higher_is_better: bool = True

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """As on the command line."""

    @property
    def missing_requirements(self) -> str:
        return ""

    @property
    def signature(self) -> str:
        return signature(self.name, self, v="1")

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Metric.score`."""
        return [self.compare(case.reference, case.response, case.lang) for case in cases]

    @abstractmethod
    def compare(self, reference: str, response: str, lang: Lang) -> Outcome:
        """Score one response against one reference."""
