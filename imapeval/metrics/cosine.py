"""Cosine of the sentence vectors of reference and response.

The encoder is the core's (`imapeval.graph.encoder`), which needs no extra, or any sentence-transformers model by
--encoder. It reads the first `MAX_CHARACTERS` characters of a text, and of these what its model takes; parts:
`truncated`, 1 where a text has more characters.

Empty cases: a response without a letter scores 0, being similar to nothing; a reference without one is
`Failure("no-reference-tokens")`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from imapeval.errors import UsageError
from imapeval.graph.encoder import MAX_CHARACTERS
from imapeval.signature import signature
from imapeval.types import Failure, Lang, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from imapeval.graph.encoder import Encoder
    from imapeval.metrics.base import Case, MetricResources, Requirement


@dataclass(frozen=True, slots=True)
class Cosine:
    """Sentence cosine as a metric; see the module's docstring."""

    encoder: Encoder | None = field(default=None, repr=False, compare=False, metadata={"signature": False})

    name: ClassVar[str] = "cosine"
    summary: ClassVar[str] = "cosine of the sentence vectors of reference and response"
    citation: ClassVar[str] = "Yang et al. 2020, Multilingual Universal Sentence Encoder for Semantic Retrieval"
    requires: ClassVar[frozenset[Requirement]] = frozenset({"reference", "encoder"})
    languages: ClassVar[frozenset[Lang]] = frozenset({"en", "zh"})
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)
    higher_is_better: ClassVar[bool] = True
    missing_requirements: ClassVar[str] = ""

    @property
    def signature(self) -> str:
        """See `Metric.signature`."""
        encoder = None if self.encoder is None else self.encoder.identity
        return signature(self.name, self, encoder=encoder, characters=MAX_CHARACTERS, v=1)

    def prepare(self, resources: MetricResources) -> Cosine:
        """Return it with its encoder; see `Preparable`."""
        if resources.encoder is None:
            raise UsageError("the metric 'cosine' needs a sentence encoder. Name one with --encoder.")
        return replace(self, encoder=resources.encoder)

    def score(self, cases: Sequence[Case]) -> list[Outcome]:
        """Score a batch; see `Metric.score`."""
        if self.encoder is None:
            raise TypeError("cosine has to be prepared before it can score")
        texts = list(dict.fromkeys(text for case in cases for text in (case.reference, case.response)))
        rows = dict(zip(texts, self.encoder.encode(texts).astype("float64"), strict=True))
        outcomes: list[Outcome] = []
        for case in cases:
            if not any(map(str.isalpha, case.reference[:MAX_CHARACTERS])):
                outcomes.append(Failure("metric", "no-reference-tokens", "the reference holds nothing to compare with"))
                continue
            # Vectors of length 1 only to rounding.
            cosine = float(rows[case.reference] @ rows[case.response])
            truncated = max(len(case.reference), len(case.response)) > MAX_CHARACTERS
            outcomes.append(Score(min(1.0, max(-1.0, cosine)), {"truncated": float(truncated)}))
        return outcomes


def build() -> list[Cosine]:
    """Return the metrics of this module, for the registry."""
    return [Cosine()]
