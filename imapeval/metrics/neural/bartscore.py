"""BARTScore (Yuan, Neubig and Liu 2021): the likelihood that a model generates one text from the other.

The score is the mean log-likelihood of the target's tokens given the source, including the special ones that the
tokenizer adds (BART: a start and an end token). Precision is that of the response given the reference, recall that of
the reference given the response, F their mean (section 3.3 of the paper). The computation is that of bart_score.py in
neulab/BARTScore, with any sequence-to-sequence model.

- An empty text consists of the special tokens alone, whose likelihood is computed like any other.
- Only the first 1,024 tokens of a text count (or the model's maximum, if that is less): part "truncated".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.metrics.base import TRUNCATED, option, require_prepared, resource
from imapeval.metrics.neural.base import NeuralMetric, make_outcome, order_texts
from imapeval.metrics.neural.models.inputs import ModelInput, run_in_batches, tokenize_texts
from imapeval.metrics.neural.models.loading import LoadedModel, load_model
from imapeval.metrics.neural.models.weights import identify_weights, import_packages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from imapeval.metrics.base import Case, MetricResources
    from imapeval.types import Outcome

_MAX_TOKENS = 1024
"""max_length of bart_score.py."""

_VOCABULARY_SHARE = 4
"""Factor by which batches are smaller than an encoder's. The output has a number for each token and vocabulary entry:
1,024 tokens by BART's 50,264 entries are 206 MB in single precision, and their logarithms as much again."""

_DIRECTIONS = {"precision": ("precision",), "recall": ("recall",), "f": ("precision", "recall")}


@dataclass(frozen=True, slots=True)
class BartScore(NeuralMetric):
    """BARTScore: a mean log-likelihood, at most 0; parts `precision` and `recall`, depending on `direction`."""

    name = "bartscore"
    summary = "BARTScore: how likely each text is, given the other"
    formula = "(log p(response | reference) + log p(reference | response)) / 2, each the mean over the text's tokens"
    citation = "Yuan et al. 2021, BARTScore: Evaluating Generated Text as Text Generation"
    languages = frozenset({"en"})
    range = (None, 0.0)
    part_ranges = TRUNCATED | dict.fromkeys(("precision", "recall"), (None, 0.0))

    model: str = option("sequence-to-sequence model: a folder or a hub name", "facebook/bart-large-cnn")
    direction: str = option("precision (reference to response), recall (response to reference) or f (their mean)", "f")
    loaded: LoadedModel | None = resource()

    def __post_init__(self) -> None:
        if self.direction not in _DIRECTIONS:
            raise ValueError(f"direction={self.direction!r} is not one of {', '.join(_DIRECTIONS)}")

    def prepare(self, resources: MetricResources) -> BartScore:
        loaded = load_model(self.model, "seq2seq", device=resources.device)
        return replace(self, loaded=loaded, identity=identify_weights(self.model), precision=loaded.precision)

    def measure(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        loaded, ways = require_prepared(self.loaded, self.name), _DIRECTIONS[self.direction]
        pairs = [order_texts(case, way) for case in cases for way in ways]
        rows = _encode(loaded, pairs)
        values: list[float] = run_in_batches(
            loaded,
            rows,
            lambda batch: _compute_log_likelihood(loaded, batch),
            budget=loaded.batch_tokens // _VOCABULARY_SHARE,
        ).tolist()
        for start in range(0, len(rows), len(ways)):
            parts = dict(zip(ways, values[start : start + len(ways)], strict=True))
            yield make_outcome(
                fmean(parts.values()), parts, truncated=any(row.truncated for row in rows[start : start + len(ways)])
            )


def build() -> list[BartScore]:
    """Return the metrics of this module, for the registry."""
    return [BartScore()]


def _encode(loaded: LoadedModel, pairs: Sequence[tuple[str, str]]) -> list[ModelInput]:
    longest = min(_MAX_TOKENS, loaded.max_tokens)
    sources = tokenize_texts(loaded, [source for source, _ in pairs], longest=longest)
    targets = tokenize_texts(loaded, [target for _, target in pairs], longest=longest)
    return [
        ModelInput(
            {
                "input_ids": source.fields["input_ids"],
                "attention_mask": source.fields["attention_mask"],
                "labels": target.fields["input_ids"],
                "label_mask": target.fields["attention_mask"],
            },
            source.truncated or target.truncated,
        )
        for source, target in zip(sources, targets, strict=True)
    ]


def _compute_log_likelihood(loaded: LoadedModel, batch: dict[str, Any]) -> Any:
    [torch] = import_packages("torch", needed_for="bartscore")
    labels = batch["labels"]
    logits = loaded.model(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        # Not as labels=...: the model would compute a loss over the vocabulary a second time.
        decoder_input_ids=loaded.model.prepare_decoder_input_ids_from_labels(labels=labels),
    ).logits
    losses = torch.nn.functional.cross_entropy(
        logits.float().flatten(0, 1), labels.flatten(), ignore_index=loaded.tokenizer.pad_token_id, reduction="none"
    )
    return -losses.view(labels.shape).sum(1) / batch["label_mask"].sum(1)
