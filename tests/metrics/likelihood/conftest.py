"""A small causal model, the same on every computer: its numbers are compared with recorded ones."""

from pathlib import Path

import numpy as np
import pytest

# Pairs that are one token, in GPT-2's writing of bytes: "Ġ" is a space. Enough to have tokens of several letters; a
# Chinese character is three tokens, which are parts of it, unless its bytes are in here ("的" is).
MERGES = (
    "t h",
    "th e",
    "i n",
    "e r",
    "Ġ the",
    "Ġ a",
    "r e",
    "o n",
    "in g",
    "Ġ s",
    "e s",
    "Ġa n",
    "Ġan d",
    "ç ļ",
    "çļ Ħ",
)


def save_tiny_causal(folder: Path) -> None:
    """Save a Llama of 2 layers and 32 dimensions for 2,048 tokens, that begins texts with a token of its own."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    merges = [tuple(merge.split()) for merge in MERGES]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<s>", *alphabet, *("".join(merge) for merge in merges)]
    tokenizer = Tokenizer(models.BPE(vocab={word: index for index, word in enumerate(words)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="<s>", model_max_length=2048
    ).save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=2048,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = LlamaForCausalLM(config)
    random = np.random.RandomState(7)  # whose numbers NumPy never changes
    with torch.no_grad():
        for _, parameter in sorted(model.named_parameters()):
            # Wide enough that tokens differ; at the usual .02 all of them are about as likely.
            parameter.copy_(torch.from_numpy(random.normal(0, 0.3, tuple(parameter.shape))))
    model.save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the model of `save_tiny_causal`."""
    folder = tmp_path_factory.mktemp("tiny-causal")
    save_tiny_causal(folder)
    return folder
