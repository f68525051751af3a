"""The base class of metrics with a neural model of their own."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from imapeval.metrics.base import TRUNCATED, BatchMetric, unsigned
from imapeval.metrics.neural.models.weights import describe_missing_weights
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from imapeval.metrics.base import Case
    from imapeval.signature import Value
    from imapeval.types import Outcome

MAX_WORDS = 100_000
"""Maximum number of words per case for metrics that pair every sentence with the reference: some ten minutes with a
model the size of roberta-large on two cores (200 tokens a second, 1.3 tokens a word). An answer of 300 words in 15
sentences and a reference of the same length have 5,000."""

NOT_FINITE = Failure("metric", "not-finite", "the model's numbers exceed its precision; use --device cpu")


@dataclass(frozen=True, slots=True)
class NeuralMetric(BatchMetric):
    """A metric with a model of its own; a subclass defines `prepare` and `measure`.

    Attributes:
        model: Folder of the weights, or their name on the hub.
        identity: Name and digest of the weights; "" until the metric is prepared.
        precision: Number format of the weights; "" until the metric is prepared.
        empty_outcome: Outcome of a response without text; None if the model gives it a score.
    """

    requires = frozenset({"reference", "weights"})
    part_ranges = TRUNCATED
    empty_outcome: ClassVar[Outcome | None] = None

    model: str = ""
    identity: str = unsigned(default="", repr=False, compare=False, kw_only=True)
    precision: str = unsigned(default="", repr=False, compare=False, kw_only=True)

    @property
    def missing_requirements(self) -> str:
        return describe_missing_weights(self.name, self.model)

    def get_signed(self) -> Self:
        return replace(self, model=self.identity) if self.identity else self

    def describe_state(self) -> Mapping[str, Value]:
        return {"precision": self.precision} if self.identity else {}

    def score_batch(self, cases: Sequence[Case]) -> list[Outcome]:
        settled = [
            self.refuse_language(case.lang) or (None if case.response.strip() else self.empty_outcome) for case in cases
        ]
        left = [case for case, outcome in zip(cases, settled, strict=True) if outcome is None]
        measured = iter(self.measure(left) if left else ())
        return [next(measured) if outcome is None else outcome for outcome in settled]

    @abstractmethod
    def measure(self, cases: Sequence[Case]) -> Iterable[Outcome]:
        """Yield one outcome per case, in order. There is at least one case, all in languages of the metric."""


def order_texts(case: Case, direction: str) -> tuple[str, str]:
    """Return (condition, target): reference and response for "precision", response and reference for "recall"."""
    return (case.reference, case.response) if direction == "precision" else (case.response, case.reference)


def make_outcome(value: float, parts: Mapping[str, float], *, truncated: bool) -> Outcome:
    """Return a model's number as an outcome, with the part "truncated": 1 if a text was truncated."""
    parts = {**parts, "truncated": float(truncated)}
    if not all(map(math.isfinite, (value, *parts.values()))):
        return NOT_FINITE
    return Score(value, parts)


def make_too_long(words: int) -> Failure:
    """Return the failure of a case whose sentence pairs have more than `MAX_WORDS` words."""
    message = (
        f"the sentences with what each is compared with come to {words} words, above {MAX_WORDS}; shorten the texts"
    )
    return Failure("metric", "too-long", message)
