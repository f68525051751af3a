"""AlignScore (Zha et al. 2023): whether each sentence of the response is supported by the reference.

The reference is split into chunks of about 350 words at sentence ends, the response into sentences. A RoBERTa model
with a three-label head gives the probability that a chunk supports a sentence. The best chunk of each sentence counts,
and the score is the mean over the sentences (the authors' mode nli_sp). The computation is that of
alignscore/inference.py in yuh-zha/AlignScore, with the authors' checkpoint.

- An empty response claims nothing and scores 0.
- In a pair of more than 512 tokens the end of the chunk is cut off or, if the sentence alone is that long, the end of
  the longer of the two: part "truncated".
- Pairs of more than `MAX_WORDS` words in total are `Failure("too-long")`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from imapeval.errors import ResourceError
from imapeval.metrics.base import option, require_prepared, resource
from imapeval.metrics.neural.base import (
    MAX_WORDS,
    NOT_FINITE,
    NeuralMetric,
    make_outcome,
    make_too_long,
)
from imapeval.metrics.neural.models.checkpoints import (
    EncoderWithHead,
    build_encoder,
    describe_missing_config,
    get_shared,
    identify_config,
    load_config,
    load_tensors,
    read_state,
    select_by_prefix,
)
from imapeval.metrics.neural.models.inputs import run_in_batches, tokenize_pairs
from imapeval.metrics.neural.models.loading import choose_device
from imapeval.metrics.neural.models.sentences import describe_missing_punkt, identify_splitter, split_sentences
from imapeval.metrics.neural.models.weights import (
    describe_missing_weights,
    fetch_weights,
    find_weights,
    identify_weights,
    import_packages,
)
from imapeval.types import Failure, Score

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from imapeval.metrics.base import Case, MetricResources
    from imapeval.types import Outcome

_CHUNK_WORDS = 350
"""Words per chunk of the reference, as in inference.py."""

_SUPPORTED_LABEL = 0
"""Index of the label that means support, as in inference.py."""


@dataclass(frozen=True, slots=True)
class AlignScore(NeuralMetric):
    """AlignScore (0..1): mean over the response's sentences of how well the reference supports them."""

    name = "alignscore"
    summary = "AlignScore: does the reference support each sentence"
    formula = (
        "mean over the response's sentences of the highest probability, over chunks of the reference of about 350 "
        "words, that the chunk supports the sentence, by a RoBERTa"
    )
    citation = "Zha et al. 2023, AlignScore: Evaluating Factual Consistency with a Unified Alignment Function"
    languages = frozenset({"en"})
    range = (0.0, 1.0)
    empty_outcome = Score(0.0)

    model: str = option("AlignScore checkpoint: a file, or a folder or hub name that contains it", "yzha/AlignScore")
    checkpoint: str = option("file name in the folder or on the hub", "AlignScore-large.ckpt")
    encoder: str = option("folder or hub name with the configuration and vocabulary of the encoder", "roberta-large")
    sentences: str = field(default_factory=identify_splitter)
    network: EncoderWithHead | None = resource()

    @property
    def missing_requirements(self) -> str:
        return (
            describe_missing_weights(self.name, self.model)
            or self._describe_missing_checkpoint()
            or describe_missing_punkt()
            or describe_missing_config(self.name, self.encoder)
        )

    def get_signed(self) -> AlignScore:
        if self.network is None:
            return self
        checkpoint = self.identity.partition("#")[0]
        return replace(self, model=self.identity, checkpoint=checkpoint, encoder=self.network.settings["encoder"])

    def prepare(self, resources: MetricResources) -> AlignScore:
        """Return it with its model; see `Metric.prepare`.

        Raises:
            ResourceError: Also if nltk's sentence model is not installed.
        """
        split_sentences("")
        device = choose_device(resources.device)
        file = self._choose_file(fetch_weights(self.model))
        key = ("alignscore", str(file.resolve()), self.encoder, device)
        network = get_shared(key, lambda: _load(file, self.encoder, device))
        return replace(self, network=network, identity=identify_weights(str(file)), precision=network.encoder.precision)

    def _choose_file(self, path: Path) -> Path:
        return path if path.is_file() else path / self.checkpoint

    def _describe_missing_checkpoint(self) -> str:
        path = find_weights(self.model)
        if path is None or self._choose_file(path).is_file():
            return ""
        return f"{self.checkpoint} in {path}: --set {self.name}.checkpoint=FILE, or --set {self.name}.model=FOLDER"

    def measure(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        network = require_prepared(self.network, self.name)
        encoder = network.encoder
        paired = [_pair_sentences(case) for case in cases]
        flat = [pair for pairs in paired if not isinstance(pairs, Failure) for claim in pairs for pair in claim]
        rows = tokenize_pairs(encoder, flat, longest=encoder.max_tokens, cut="only_first")

        def forward(batch: dict[str, Any]) -> Any:
            logits = network.head["three-way"](encoder.model(**batch).pooler_output)
            return logits.float().softmax(-1)[:, _SUPPORTED_LABEL]

        values: list[float] = (
            run_in_batches(encoder, rows, forward, budget=encoder.batch_tokens).tolist() if rows else []
        )
        supported = iter(zip(values, rows, strict=True))
        for pairs in paired:
            if isinstance(pairs, Failure):
                yield pairs
                continue
            claims = [[next(supported) for _ in claim] for claim in pairs]
            # `max` would hide NaN, or not, depending on the order of the chunks.
            if any(math.isnan(value) for claim in claims for value, _ in claim):
                yield NOT_FINITE
                continue
            value = fmean(max(value for value, _ in claim) for claim in claims)
            yield make_outcome(value, {}, truncated=any(row.truncated for claim in claims for _, row in claim))


def build() -> list[AlignScore]:
    """Return the metrics of this module, for the registry."""
    return [AlignScore()]


def _pair_sentences(case: Case) -> list[list[tuple[str, str]]] | Failure:
    """Return for each sentence of the response its pairs with all chunks of the reference."""
    chunks, claims = _cut_into_chunks(case.reference), split_sentences(case.response)
    words = sum(len(chunk.split()) for chunk in chunks) * len(claims)
    words += sum(len(claim.split()) for claim in claims) * len(chunks)
    return make_too_long(words) if words > MAX_WORDS else [[(chunk, claim) for chunk in chunks] for claim in claims]


def _cut_into_chunks(text: str) -> list[str]:
    sentences = split_sentences(text) or [""]
    size = max(1, len(sentences) // (len(text.split()) // _CHUNK_WORDS + 1))
    return [" ".join(sentences[start : start + size]) for start in range(0, len(sentences), size)]


def _load(file: Path, encoder: str, device: str) -> EncoderWithHead:
    [torch] = import_packages("torch", needed_for="alignscore")
    if not file.is_file():
        raise ResourceError(
            f"there is no {file}. Say which checkpoint of the folder is meant: --set alignscore.checkpoint=FILE"
        )
    config, tokenizer = load_config(encoder)
    state = read_state(file)
    loaded = build_encoder(
        "RobertaModel",
        config,
        select_by_prefix(state, "base_model."),
        tokenizer=tokenizer,
        device=device,
        longest=min(tokenizer.model_max_length, config.max_position_embeddings - 2),
        source=str(file),
    )
    head = load_tensors(torch.nn.Linear(config.hidden_size, 3), select_by_prefix(state, "tri_layer."), source=str(file))
    return EncoderWithHead(
        loaded, {"three-way": head.to(device, loaded.model.dtype)}, {"encoder": identify_config(encoder)}
    )
