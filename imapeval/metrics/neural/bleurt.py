"""BLEURT-20 (Sellam et al. 2020, Pu et al. 2021): a regression of human ratings on reference and response.

RemBERT reads both as one input, and a linear layer maps its first vector to a number, about 0 to 1. The weights are
those that bleurt-pytorch 0.0.1 converted from the authors' TensorFlow checkpoint: BLEURT-20 and its smaller versions
BLEURT-20-D12, -D6 and -D3. Texts are tokenized by the authors' SentencePiece model, and truncated as in their
bleurt/encoding.py.

- With an empty response the input is the reference alone, which is scored like any other.
- In a pair of more than 512 tokens the end of the longer text is cut off: part "truncated".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from imapeval._optional import installed
from imapeval.errors import ResourceError
from imapeval.metrics.base import option, require_prepared, resource
from imapeval.metrics.neural.base import NeuralMetric, make_outcome
from imapeval.metrics.neural.models.checkpoints import (
    EncoderWithHead,
    build_encoder,
    get_shared,
    load_tensors,
    read_state,
    select_by_prefix,
)
from imapeval.metrics.neural.models.inputs import ModelInput, run_in_batches
from imapeval.metrics.neural.models.loading import choose_device
from imapeval.metrics.neural.models.weights import (
    INSTALL_HINT,
    describe_missing_weights,
    fetch_weights,
    identify_weights,
    import_packages,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from imapeval.metrics.base import Case, MetricResources
    from imapeval.types import Outcome

_PIECES = "spm.model"
"""The SentencePiece model as bleurt-pytorch names it."""

_SPECIAL = 3
"""[CLS] reference [SEP] response [SEP]."""


@dataclass(frozen=True, slots=True)
class Bleurt(NeuralMetric):
    """BLEURT: a predicted rating, unbounded."""

    name = "bleurt"
    summary = "BLEURT-20: a regression of human ratings"
    formula = "a linear layer on the first vector that RemBERT gives (reference, response), trained on human ratings"
    citation = "Sellam et al. 2020, BLEURT; Pu et al. 2021, Learning Compact Metrics for MT"

    model: str = option("BLEURT-20 as converted by bleurt-pytorch: a folder or a hub name", "lucadiliello/BLEURT-20")
    network: EncoderWithHead | None = resource()

    @property
    def missing_requirements(self) -> str:
        lack = describe_missing_weights(self.name, self.model)
        return lack if lack or installed("sentencepiece") else INSTALL_HINT

    def prepare(self, resources: MetricResources) -> Bleurt:
        device = choose_device(resources.device)
        folder = fetch_weights(self.model)
        network = get_shared(("bleurt", str(folder.resolve()), device), lambda: _load(folder, device))
        return replace(
            self, network=network, identity=identify_weights(self.model), precision=network.encoder.precision
        )

    def measure(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        network = require_prepared(self.network, self.name)
        encoder = network.encoder
        rows = [_encode(encoder.tokenizer, case.reference, case.response, encoder.max_tokens) for case in cases]

        def forward(batch: dict[str, Any]) -> Any:
            return network.head["classifier"](encoder.model(**batch).pooler_output)[:, 0]

        for row, value in zip(
            rows, run_in_batches(encoder, rows, forward, budget=encoder.batch_tokens).tolist(), strict=True
        ):
            yield make_outcome(value, {}, truncated=row.truncated)


def build() -> list[Bleurt]:
    """Return the metrics of this module, for the registry."""
    return [Bleurt()]


def _encode(pieces: Any, reference: str, response: str, longest: int) -> ModelInput:
    first, second = pieces.tokenize(reference), pieces.tokenize(response)
    room = longest - _SPECIAL
    cut = len(first) + len(second) > room
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    end = pieces.find("[SEP]")
    ids = [pieces.find("[CLS]"), *first, end, *second, end]
    types = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return ModelInput({"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types}, cut)


def _load(folder: Path, device: str) -> EncoderWithHead:
    torch, transformers, sentencepiece = import_packages("torch", "transformers", "sentencepiece", needed_for="bleurt")
    try:
        read = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        # RemBERT with other names: see modeling_bleurt.py of bleurt-pytorch.
        config = transformers.RemBertConfig(
            input_embedding_size=read["embedding_size"],
            **{
                name: read[name]
                for name in (
                    "vocab_size",
                    "hidden_size",
                    "num_hidden_layers",
                    "num_attention_heads",
                    "intermediate_size",
                    "hidden_act",
                    "max_position_embeddings",
                    "type_vocab_size",
                    "layer_norm_eps",
                    "pad_token_id",
                )
            },
        )
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / _PIECES))
    # RuntimeError: what sentencepiece 0.2 raises of an absent or damaged file.
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ResourceError(
            f"{folder} is no BLEURT-20 as bleurt-pytorch writes it, with config.json and {_PIECES}: {error!r}"
        ) from error
    file = folder / "model.safetensors"
    if not file.is_file():
        file = folder / "pytorch_model.bin"
    state = read_state(file)
    encoder = build_encoder(
        "RemBertModel",
        config,
        {
            name.replace("encoder.embedding_projection.", "encoder.embedding_hidden_mapping_in."): tensor
            for name, tensor in select_by_prefix(state, "bleurt.").items()
        },
        # The authors' tokenizer is the SentencePiece model alone (bleurt/lib/tokenizers.py).
        tokenizer=SimpleNamespace(tokenize=pieces.encode, find=pieces.piece_to_id, pad_token_id=read["pad_token_id"]),
        device=device,
        longest=read["max_position_embeddings"],
        source=str(file),
    )
    classifier = load_tensors(
        torch.nn.Linear(read["hidden_size"], 1), select_by_prefix(state, "classifier."), source=str(file)
    )
    return EncoderWithHead(encoder, {"classifier": classifier.to(device, encoder.model.dtype)}, {})
