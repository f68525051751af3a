"""Entailment: whether one text follows from the other, by a natural language inference model.

The score is the probability of "entailment"; those of "contradiction" and "neutral" are parts. For precision the
reference is the premise and the response the hypothesis; for recall it is the other way round, that is, whether the
response says what the reference says; "both" is their mean. The model is a cross-encoder, and its configuration says
which of its labels is which.

- An empty response scores 0.
- In a pair longer than the model's maximum the end of the longer text is cut off: part "truncated".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError
from imapeval.metrics.base import TRUNCATED, option, range_parts, require_prepared, resource
from imapeval.metrics.neural.base import NeuralMetric, make_outcome, order_texts
from imapeval.metrics.neural.models.inputs import run_in_batches, tokenize_pairs
from imapeval.metrics.neural.models.loading import LoadedModel, load_model
from imapeval.metrics.neural.models.weights import identify_weights
from imapeval.types import Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.metrics.base import Case, MetricResources
    from imapeval.types import Outcome

_DIRECTIONS = {"precision": ("precision",), "recall": ("recall",), "both": ("precision", "recall")}

_LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, slots=True)
class Entailment(NeuralMetric):
    """Probability that one text follows from the other (0..1); parts `precision` and `recall` by `direction`."""

    name = "entailment"
    summary = "whether the response follows from the reference"
    formula = "probability of 'entailment' that a model of natural language inference gives (reference, response)"
    citation = "Bowman et al. 2015 and Williams et al. 2018, SNLI and MultiNLI; a model trained on them"
    languages = frozenset({"en"})
    range = (0.0, 1.0)
    part_ranges = TRUNCATED | range_parts(shares=("precision", "recall", "neutral", "contradiction"))
    empty_outcome = Score(0.0)

    model: str = option("model with the three labels of MultiNLI: a folder or a hub name", "roberta-large-mnli")
    direction: str = option(
        "precision (the response follows from the reference), recall (the other way round) or both (their mean)",
        "precision",
    )
    loaded: LoadedModel | None = resource()

    def __post_init__(self) -> None:
        if self.direction not in _DIRECTIONS:
            raise ValueError(f"direction={self.direction!r} is not one of {', '.join(_DIRECTIONS)}")

    def prepare(self, resources: MetricResources) -> Entailment:
        """Return it with its model; see `Metric.prepare`.

        Raises:
            ResourceError: Also if the model has other labels.
        """
        loaded = load_model(self.model, "classifier", device=resources.device)
        _order_labels(loaded, self.model)
        return replace(self, loaded=loaded, identity=identify_weights(self.model), precision=loaded.precision)

    def measure(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        loaded, ways = require_prepared(self.loaded, self.name), _DIRECTIONS[self.direction]
        order = _order_labels(loaded, self.model)
        pairs = [order_texts(case, way) for case in cases for way in ways]
        rows = tokenize_pairs(loaded, pairs, longest=loaded.max_tokens, cut="longest_first")

        def forward(batch: dict[str, Any]) -> Any:
            return loaded.model(**batch).logits.float().softmax(-1)[:, order]

        found: list[list[float]] = run_in_batches(loaded, rows, forward, budget=loaded.batch_tokens).tolist()
        for start in range(0, len(rows), len(ways)):
            mine = slice(start, start + len(ways))
            entailed, neutral, contradicted = zip(*found[mine], strict=True)
            parts = dict(zip(ways, entailed, strict=True))
            parts |= {"neutral": fmean(neutral), "contradiction": fmean(contradicted)}
            yield make_outcome(fmean(entailed), parts, truncated=any(row.truncated for row in rows[mine]))


def build() -> list[Entailment]:
    """Return the metrics of this module, for the registry."""
    return [Entailment()]


def _order_labels(loaded: LoadedModel, model: str) -> list[int]:
    """Return the model's indices of entailment, neutral and contradiction, which differ between models."""
    indices = {str(label).lower(): int(index) for label, index in loaded.model.config.label2id.items()}
    if indices.keys() != set(_LABELS):
        raise ResourceError(
            f"the labels of {model!r} are {', '.join(sorted(indices))}, not {', '.join(_LABELS)}. Use a natural "
            "language inference model, or name its labels in id2label and label2id of its config.json."
        )
    return [indices[label] for label in _LABELS]
