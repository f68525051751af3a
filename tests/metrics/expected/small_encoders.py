"""Small encoders with the real architectures, saved as their authors save them, for tests and make_embeddings.py."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

TEXT = (
    "take ibuprofen 400 mg with food and drink plenty of fluids see a doctor if the fever lasts longer than three days "
    "antibiotic therapy is not needed surgery was performed in 2019 the patient did not have any complications rest"
)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_bert(folder: Path, *, longest: int) -> Path:
    """Write a BERT whose vocabulary has some words, all letters and pieces of one, and all Chinese characters."""
    from transformers import BertConfig, BertModel, BertTokenizer

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)] + list("0123456789.,;()!")
    # The first block of Chinese characters in Unicode.
    han = map(chr, range(0x4E00, 0x9FA6))
    vocabulary = [*SPECIAL, *dict.fromkeys([*TEXT.split(), *letters, *(f"##{letter}" for letter in letters), *han])]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=longest).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=6,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=longest,
    )
    _randomise(BertModel(config), seed=5).save_pretrained(folder)
    return folder


def write_roberta(folder: Path, *, longest: int) -> Path:
    """Write a RoBERTa, its tokenizer in the form that its authors gave it, of a vocabulary of some words."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaConfig, RobertaModel

    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator([TEXT] * 4, vocab_size=400, special_tokens=special, show_progress=False)
    tokenizer.save_model(str(folder))
    # As the authors' says 512 where the model has 514 positions, of which it leaves two unused.
    settings = {"tokenizer_class": "RobertaTokenizer", "model_max_length": longest}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    config = RobertaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=longest + 2,
    )
    _randomise(RobertaModel(config), seed=6).save_pretrained(folder)
    return folder


def _randomise(model: Any, *, seed: int) -> Any:
    """Fill a model with random weights that are the same with every version of torch and numpy.

    Their spread is .5, so that tokens differ; at the usual .02 all vectors of a small random model look alike.
    """
    import torch

    numbers = np.random.RandomState(seed)
    for name, tensor in sorted(model.named_parameters()):
        if "LayerNorm" not in name:
            tensor.data = torch.from_numpy(numbers.normal(0, 0.5, tensor.shape).astype("float32"))
    return model
