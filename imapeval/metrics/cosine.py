"""Cosine of the sentence vectors of reference and response.

The encoder is the built-in one (`imapeval.graph.encoder`), which needs no extra, or any sentence-transformers model
named with --encoder. It reads the first `MAX_CHARACTERS` characters of a text, as far as its model takes them; part
`truncated` is 1 if a text has more characters.

Empty cases: a response without a letter scores 0, because it is similar to nothing; a reference without one is
`Failure("no-reference-tokens")`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from imapeval.errors import UsageError
from imapeval.graph.encoder import MAX_CHARACTERS
from imapeval.metrics.base import TRUNCATED, BatchMetric, require_prepared, resource
from imapeval.types import Failure, Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from imapeval.graph.encoder import Encoder
    from imapeval.metrics.base import Case, MetricResources
    from imapeval.signature import Value


@dataclass(frozen=True, slots=True)
class Cosine(BatchMetric):
    """The cosine of the sentence vectors, with its part `truncated`."""

    name = "cosine"
    summary = "cosine of the two texts' sentence vectors"
    formula = "a . b / (|a| |b|), where a and b are the vectors that the sentence encoder gives the two texts"
    citation = "Yang et al. 2020, Multilingual Universal Sentence Encoder for Semantic Retrieval"
    requires = frozenset({"reference", "encoder"})
    range = (-1.0, 1.0)
    part_ranges = TRUNCATED

    encoder: Encoder | None = resource()

    def describe_state(self) -> Mapping[str, Value]:
        return {"encoder": None if self.encoder is None else self.encoder.identity, "characters": MAX_CHARACTERS}

    def prepare(self, resources: MetricResources) -> Cosine:
        if resources.encoder is None:
            raise UsageError("the metric 'cosine' needs a sentence encoder. Name one with --encoder.")
        return replace(self, encoder=resources.encoder)

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        encoder = require_prepared(self.encoder, self.name)
        texts = list(dict.fromkeys(text for case in cases for text in (case.reference, case.response)))
        vectors = dict(zip(texts, encoder.encode(texts).astype("float64"), strict=True))
        outcomes: list[Outcome] = []
        for case in cases:
            if not any(map(str.isalpha, case.reference[:MAX_CHARACTERS])):
                message = "the reference has no letter to compare with"
                outcomes.append(Failure("metric", "no-reference-tokens", message))
                continue
            # The vectors have length 1 up to rounding.
            cosine = float(vectors[case.reference] @ vectors[case.response])
            if not math.isfinite(cosine):
                outcomes.append(Failure("metric", "not-finite", "the encoder gives a text no finite vector"))
                continue
            truncated = max(len(case.reference), len(case.response)) > MAX_CHARACTERS
            outcomes.append(Score(min(1.0, max(-1.0, cosine)), {"truncated": float(truncated)}))
        return outcomes


def build() -> list[Cosine]:
    """Return the metrics of this module, for the registry."""
    return [Cosine()]
