"""The files of the small model, for `fact_model_training.py`: its vocabulary, and its networks in ONNX."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import sentencepiece
import torch
from fact_model import DATA, ROOT
from onnx import helper, numpy_helper
from sentencepiece import sentencepiece_model_pb2
from torch import nn

from imapeval import _resources
from imapeval.graph.store.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fact_model_training import Comparer
    from tokenizers import Tokenizer

TEXT_SIZE = 384
"""Size of the vector of a text."""
TOKEN_SIZE = 64
"""Size of the vector of a token in the comparison of two facts."""
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


def write_vocabulary(tokenizer: Tokenizer, path: Path) -> list[int]:
    """Write a sentencepiece model of the pieces that are kept, and return their numbers in the tokenizer.

    Kept are the pieces that occur twice in the texts below, single characters, and frequent words of both languages.
    """
    counted: Counter[int] = Counter()
    texts = list(read_texts())
    for start in range(0, len(texts), 10_000):
        for encoding in tokenizer.encode_batch(texts[start : start + 10_000], add_special_tokens=False):
            counted.update(encoding.ids)
    pieces: list[tuple[str, float]] = json.loads(tokenizer.to_str())["model"]["vocab"]
    first = len(SPECIAL)
    kept = [*range(first)]
    for number, (piece, _) in enumerate(pieces[first:], first):
        # The vocabulary is sorted by frequency.
        frequent = (number < 40_000 and re.fullmatch("▁?[a-z]{2,}", piece)) or (
            number < 60_000 and re.fullmatch("▁?[\u4e00-\u9fff]{2,3}", piece)
        )
        single = re.fullmatch("▁?[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef\u2010-\u2030\u0370-\u03ff\x20-\xff]?", piece)
        if counted[number] >= 2 or frequent or single:
            kept.append(number)
    with TemporaryDirectory() as folder:
        # A model trained on arbitrary text serves as a template; its pieces are replaced below.
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["abcdefghijklmnopqrstuvwxyz 0123456789"] * 20),
            model_prefix=f"{folder}/m",
            vocab_size=60,
            normalization_rule_name="nmt_nfkc",
            hard_vocab_limit=False,
            minloglevel=2,
        )
        model: Any = sentencepiece_model_pb2.ModelProto()
        model.ParseFromString(Path(folder, "m.model").read_bytes())
    del model.pieces[:]
    kinds = model.SentencePiece
    for place, number in enumerate(kept):
        special = place < first
        kind = kinds.UNKNOWN if place == first - 1 else kinds.CONTROL if special else kinds.NORMAL
        piece, score = (SPECIAL[place], 0.0) if special else pieces[number]
        model.pieces.add(piece=piece, score=score, type=kind)
    model.trainer_spec.vocab_size = len(kept)
    for place, name in enumerate(("bos", "pad", "eos", "unk")):
        setattr(model.trainer_spec, f"{name}_id", place)
    model.trainer_spec.ClearField("model_prefix")
    path.write_bytes(model.SerializeToString())
    print(f"{len(kept)} pieces", flush=True)
    return kept


def read_texts() -> Iterator[str]:
    """Yield texts whose words the vocabulary should have, in lower case: names of the graph, and this repository."""
    yield from (name.lower() for _, name, *_ in Graph.open().all_names())
    for path in (*DATA.glob("*.jsonl"), *_resources.find("datasets").rglob("*.jsonl")):
        yield from (text.lower() for text in re.findall(r'"((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8")))
    for path in (
        *ROOT.glob("tests/matching/*.tsv"),
        *ROOT.glob("benchmarks/*.tsv"),
        *ROOT.glob("prompts/*.md"),
        *ROOT.glob("imapeval/text/data/*.tsv"),
    ):
        yield from path.read_text(encoding="utf-8").lower().splitlines()


class _Part(nn.Module):
    """A part of the model as a network of its own."""

    def __init__(self, model: Comparer, forward: Any) -> None:
        super().__init__()
        self.model = model
        self.forward = lambda *inputs: forward(model, *inputs)


def export(model: Comparer, folder: Path) -> None:
    """Write the three networks as ONNX files."""

    def encode(model: Comparer, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = model.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask[..., None].float()
        return model.norm((hidden * weights).sum(1) / weights.sum(1)), model.narrow(hidden)

    def relate(model: Comparer, *inputs: torch.Tensor) -> torch.Tensor:
        return torch.softmax(model.relate(*inputs), -1)

    def weigh(model: Comparer, question: torch.Tensor, fact: torch.Tensor) -> torch.Tensor:
        return torch.softmax(model.weigh(question, fact), -1)

    rows, ours, theirs = {0: "rows"}, {0: "rows", 1: "ours"}, {0: "rows", 1: "theirs"}
    facts = (torch.randn(3, TEXT_SIZE), torch.randn(3, 8, TOKEN_SIZE), torch.ones(3, 8, dtype=torch.bool))
    others = (torch.randn(3, TEXT_SIZE), torch.randn(3, 16, TOKEN_SIZE), torch.ones(3, 16, dtype=torch.bool))
    inputs: dict[str, tuple[Any, tuple[torch.Tensor, ...], dict[str, dict[int, str]], dict[str, dict[int, str]]]] = {
        "encoder": (
            encode,
            (torch.tensor([[0, 5, 6, 2], [0, 5, 2, 1]]), torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])),
            {"ids": ours, "mask": ours},
            {"vector": rows, "tokens": ours},
        ),
        "relations": (
            relate,
            (*facts, *others, torch.rand(3, 2)),
            {"a": rows, "p": ours, "p_mask": ours, "b": rows, "q": theirs, "q_mask": theirs, "features": rows},
            {"probabilities": rows},
        ),
        "importance": (
            weigh,
            (torch.randn(3, TEXT_SIZE), torch.randn(3, TEXT_SIZE)),
            {"question": rows, "fact": rows},
            {"probabilities": rows},
        ),
    }
    for name, (forward, examples, given, returned) in inputs.items():
        torch.onnx.export(
            _Part(model, forward).eval(),
            examples,
            str(folder / f"{name}.onnx"),
            input_names=list(given),
            output_names=list(returned),
            dynamic_axes={**given, **returned},
            opset_version=17,
            dynamo=False,
        )
        store_in_bytes(folder / f"{name}.onnx")
        print(f"{name}: {(folder / f'{name}.onnx').stat().st_size / 1e6:.1f} MB")


def store_in_bytes(path: Path) -> None:
    """Store matrices as bytes with a scale for each row or column; the network computes with 32 bits as before.

    Not with DequantizeLinear, whose results vary with the processor; a product of constants is computed when the
    file is opened, and is the same everywhere.
    """
    model = onnx.load(path)
    graph = model.graph
    matrices = {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in graph.initializer
        if tensor.data_type == onnx.TensorProto.FLOAT and np.prod(tensor.dims) >= 50_000
    }
    lookups = {node.input[0] for node in graph.node if node.op_type == "Gather"} & matrices.keys()
    kept = [tensor for tensor in graph.initializer if tensor.name not in matrices]
    nodes: list[Any] = []
    for name, weights in matrices.items():
        scales = np.abs(weights).max(axis=1 if name in lookups else 0, keepdims=True) / 127 + 1e-12
        kept.append(numpy_helper.from_array(np.round(weights / scales).astype(np.int8), f"{name}_bytes"))
        kept.append(numpy_helper.from_array(scales.astype(np.float32), f"{name}_scales"))
        if name not in lookups:
            nodes += make_product(f"{name}_bytes", f"{name}_scales", name)
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in lookups:
            # Only the rows that are looked up become numbers of 32 bits.
            (out,) = node.output
            for part in ("bytes", "scales"):
                inputs = [f"{node.input[0]}_{part}", node.input[1]]
                nodes.append(helper.make_node("Gather", inputs, [f"{out}_{part}"]))
            nodes += make_product(f"{out}_bytes", f"{out}_scales", out)
        else:
            nodes.append(node)
    # A copy: `del` would empty the nodes that are taken over.
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    kept = [onnx.TensorProto.FromString(tensor.SerializeToString()) for tensor in kept]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def make_product(numbers: str, scales: str, name: str) -> list[Any]:
    """Return the nodes that multiply bytes by their scales."""
    return [
        helper.make_node("Cast", [numbers], [f"{numbers}_cast"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", [f"{numbers}_cast", scales], [name]),
    ]
