"""Small models with the real architectures, saved as their authors save them, for tests and for make_learned.py.

The weights are drawn by numpy's RandomState, whose numbers never change, in the order of their names, so that every
version of torch and transformers gives the same model. Tokenizers know single characters (or bytes), so that nothing
is trained.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

DATASETS = Path(__file__).parents[3] / "datasets"
ANSWERS = 60

ASCII = [chr(code) for code in range(33, 127)]
HAN = [chr(code) for code in range(0x4E00, 0xA000)]
WORDS = ["▁Yes", "▁No", "▁question:", "▁document:", "▁claim:", "▁summary:", "▁reference:", "▁paragraph:"]

ABBREVIATIONS = ["dr", "e.g", "i.e", "mr", "mrs", "vs", "approx", "p.o"]


def read_answers(lang: str) -> list[dict[str, str]]:
    """Return question, reference and response of the first answers, and two whose texts are cut."""
    with (DATASETS / f"sample-{lang}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, ANSWERS)]
    kept = [{"question": row["question"], "reference": row["reference"], "response": row["response"]} for row in rows]
    long = " ".join(row["response"] for row in kept)
    return [*kept, {**kept[0], "response": long[:3000]}, {**kept[1], "reference": long[:9000], "question": long[:3000]}]


def fill(model: Any, seed: int, spread: float = 0.2) -> Any:
    """Draw all parameters anew."""
    random = np.random.RandomState(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            drawn = random.normal(0.0, spread, tuple(parameter.shape))
            is_norm = "norm" in name.lower() and name.endswith("weight")
            parameter.copy_(torch.from_numpy(drawn + 1.0 if is_norm else drawn))
    return model.eval()


def save_byte_tokenizer(folder: Path, kind: str) -> int:
    """Write a byte-level BPE without merges, as RoBERTa's and BART's authors do; return the number of tokens."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in visible] + [chr(256 + n) for n in range(256 - len(visible))]
    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *letters, "<mask>"]
    numbered = {token: number for number, token in enumerate(vocabulary)}
    (folder / "vocab.json").write_text(json.dumps(numbered), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    settings = {"tokenizer_class": kind, "model_max_length": 1024}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return len(vocabulary)


def save_unigram_tokenizer(folder: Path, kind: str, special: list[str], pieces: list[str], **named: Any) -> int:
    """Write a Unigram tokenizer as XLM-RoBERTa's and T5's at the hub; return the number of tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = [*special, "▁", *pieces]
    # A word is better than its characters.
    scored = [(piece, 0.0 if piece in special else -1.0 if len(piece) > 1 else -10.0) for piece in vocabulary]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=special.index("<unk>")))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    end = ("</s>", special.index("</s>"))
    begin = [("<s>", 0)] if "<s>" in special else []
    first = "<s> " if begin else ""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first}$A </s>", pair=f"{first}$A </s> $B </s>", special_tokens=[*begin, end]
    )
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": kind, **named}), encoding="utf-8")
    return len(vocabulary)


def save_bart(folder: Path) -> Path:
    """BART as in facebook/bart-large-cnn."""
    from transformers import BartConfig, BartForConditionalGeneration

    size = save_byte_tokenizer(folder, "BartTokenizer")
    config = BartConfig(
        vocab_size=size,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=1024,
    )
    fill(BartForConditionalGeneration(config), 1).save_pretrained(folder)
    return folder


def save_t5(folder: Path) -> Path:
    """T5 as in MingZhong/unieval-sum."""
    from transformers import T5Config, T5ForConditionalGeneration

    special = ["<pad>", "</s>", "<unk>"]
    marks = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "extra_ids": 0}
    words = Counter(word for row in read_answers("en") for word in f"{row['reference']} {row['response']}".split())
    frequent = [f"▁{word}" for word, count in sorted(words.items()) if count > 1 and word.isalpha() and word.isascii()]
    pieces = [*ASCII, *WORDS, *(piece for piece in frequent if len(piece) > 2 and piece not in WORDS)]
    size = save_unigram_tokenizer(folder, "T5Tokenizer", special, pieces, model_max_length=512, **marks)
    config = T5Config(vocab_size=size, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
    fill(T5ForConditionalGeneration(config), 2).save_pretrained(folder)
    return folder


def save_nli(folder: Path) -> Path:
    """RoBERTa with the labels of roberta-large-mnli, in its order."""
    from transformers import RobertaConfig, RobertaForSequenceClassification

    labels = {"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2}
    config = _configure_roberta(RobertaConfig, save_byte_tokenizer(folder, "RobertaTokenizer"), labels)
    fill(RobertaForSequenceClassification(config), 3, spread=0.5).save_pretrained(folder)
    return folder


def save_alignscore(folder: Path) -> tuple[Path, Path]:
    """A checkpoint of AlignScore as Lightning writes it, and the encoder that it names; "roberta" is in its path."""
    from transformers import RobertaConfig, RobertaForMaskedLM, RobertaModel

    encoder = folder / "roberta-small"
    encoder.mkdir()
    config = _configure_roberta(RobertaConfig, save_byte_tokenizer(encoder, "RobertaTokenizer"), {})
    fill(RobertaForMaskedLM(config), 4).save_pretrained(encoder)
    parts = {
        "base_model": RobertaModel(config),
        "mlm_head": RobertaForMaskedLM(config).lm_head,
        "bin_layer": torch.nn.Linear(config.hidden_size, 2),
        "tri_layer": torch.nn.Linear(config.hidden_size, 3),
        "reg_layer": torch.nn.Linear(config.hidden_size, 1),
    }
    state = {
        f"{part}.{name}": tensor
        for seed, (part, module) in enumerate(parts.items(), 40)
        for name, tensor in fill(module, seed, spread=0.5).state_dict().items()
    }
    # As saved with transformers before 4.31, with which AlignScore was trained.
    state["base_model.embeddings.position_ids"] = torch.arange(config.max_position_embeddings)[None]
    _save_lightning(folder / "AlignScore-small.ckpt", state, {"model": "roberta-small", "using_pretrained": True})
    return folder / "AlignScore-small.ckpt", encoder


def save_comet(folder: Path, **changed: Any) -> tuple[Path, Path]:
    """A model of COMET as Unbabel/wmt22-comet-da, with the settings of its hparams.yaml, and its encoder."""
    import yaml
    from transformers import XLMRobertaConfig, XLMRobertaModel

    encoder = folder / "xlm-roberta-small"
    encoder.mkdir(parents=True)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    marks = {f"{name}_token": token for name, token in zip(("bos", "pad", "eos", "unk"), special, strict=True)}
    marks |= {"cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>", "model_max_length": 512}
    size = save_unigram_tokenizer(encoder, "XLMRobertaTokenizerFast", special, [*ASCII, *HAN, "<mask>"], **marks)
    config = XLMRobertaConfig(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=514,
        type_vocab_size=1,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
    )
    config.save_pretrained(encoder)
    settings: dict[str, Any] = {
        "activations": "Tanh",
        "batch_size": 4,
        "class_identifier": "regression_metric",
        "dropout": 0.1,
        "encoder_learning_rate": 1.0e-06,
        "encoder_model": "XLM-RoBERTa",
        "final_activation": None,
        "hidden_sizes": [48, 16],
        "keep_embeddings_frozen": True,
        "layer": "mix",
        "layer_norm": False,
        "layer_transformation": "sparsemax",
        "layerwise_decay": 0.95,
        "learning_rate": 1.5e-05,
        "load_pretrained_weights": True,
        "loss": "mse",
        "nr_frozen_epochs": 0.3,
        "optimizer": "AdamW",
        "pool": "avg",
        "pretrained_model": str(encoder),
        "train_data": [],
        "validation_data": [],
        "warmup_steps": 0,
        **changed,
    }
    (folder / "hparams.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    network = fill(XLMRobertaModel(config, add_pooling_layer=False), 5)
    state = {f"encoder.model.{name}": tensor for name, tensor in network.state_dict().items()}
    random = np.random.RandomState(6)
    layers = config.num_hidden_layers + 1 if settings["layer"] == "mix" else 0
    for layer in range(layers):
        drawn = torch.tensor([random.normal(0.0, 0.5)], dtype=torch.float32)
        state[f"layerwise_attention.scalar_parameters.{layer}"] = drawn
    if layers:
        state["layerwise_attention.gamma"] = torch.tensor([1.3])
        state["layerwise_attention.dropout_mask"] = torch.zeros(layers)
        state["layerwise_attention.dropout_fill"] = torch.full((layers,), -1e20)
    sizes = [config.hidden_size * 6, *settings["hidden_sizes"], 1]
    for place, (wide, narrow) in enumerate(pairwise(sizes)):
        for name, shape in (("weight", (narrow, wide)), ("bias", (narrow,))):
            drawn = torch.from_numpy(random.normal(0.0, 0.2, shape).astype(np.float32))
            state[f"estimator.ff.{place * 3}.{name}"] = drawn
    (folder / "checkpoints").mkdir()
    _save_lightning(folder / "checkpoints" / "model.ckpt", state, settings)
    return folder, encoder


def save_bleurt(folder: Path) -> Path:
    """BLEURT as bleurt-pytorch writes lucadiliello/BLEURT-20: its configuration, its names, its SentencePiece model."""
    from sentencepiece import sentencepiece_model_pb2 as schema
    from transformers import RemBertConfig, RemBertModel

    pieces = schema.ModelProto()
    kinds = schema.ModelProto.SentencePiece
    special = {"[PAD]": kinds.CONTROL, "<unk>": kinds.UNKNOWN, "[CLS]": kinds.CONTROL, "[SEP]": kinds.CONTROL}
    special["[MASK]"] = kinds.CONTROL
    for piece in [*special, "▁", *ASCII, *HAN]:
        pieces.pieces.add(piece=piece, score=0.0, type=special.get(piece, kinds.NORMAL))
    pieces.trainer_spec.model_type = schema.TrainerSpec.UNIGRAM
    pieces.trainer_spec.unk_id, pieces.trainer_spec.pad_id = 1, 0
    pieces.trainer_spec.bos_id = pieces.trainer_spec.eos_id = -1
    pieces.trainer_spec.pad_piece = "[PAD]"
    pieces.normalizer_spec.name = "identity"
    pieces.normalizer_spec.add_dummy_prefix = True
    pieces.normalizer_spec.remove_extra_whitespaces = True
    (folder / "spm.model").write_bytes(pieces.SerializeToString())
    shape = {
        "vocab_size": len(pieces.pieces),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "hidden_act": "gelu",
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    said = {"model_type": "bleurt", "architectures": ["BleurtForSequenceClassification"], "embedding_size": 16}
    config = json.dumps({**said, **shape, "tie_word_embeddings": False, "num_labels": 1})
    (folder / "config.json").write_text(config, encoding="utf-8")
    settings = {"tokenizer_class": "BleurtSPTokenizer", "do_lower_case": False, "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    network = fill(RemBertModel(RemBertConfig(input_embedding_size=16, **shape)), 7)
    state = {
        "bleurt." + name.replace("embedding_hidden_mapping_in", "embedding_projection"): tensor
        for name, tensor in network.state_dict().items()
    }
    random = np.random.RandomState(8)
    state["classifier.weight"] = torch.from_numpy(random.normal(0.0, 0.2, (1, 32)).astype(np.float32))
    state["classifier.bias"] = torch.tensor([0.3])
    state["bleurt.embeddings.position_ids"] = torch.arange(512)[None]
    torch.save(state, folder / "pytorch_model.bin")
    return folder


def save_punkt(folder: Path) -> Path:
    """A model of English sentences for nltk's Punkt, with few abbreviations; return the folder for $NLTK_DATA."""
    model = folder / "tokenizers" / "punkt_tab" / "english"
    model.mkdir(parents=True)
    (model / "abbrev_types.txt").write_text("\n".join(ABBREVIATIONS), encoding="utf-8")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (model / name).write_text("", encoding="utf-8")
    return folder


def _configure_roberta(make: Any, size: int, labels: dict[str, int]) -> Any:
    named = {"label2id": labels, "id2label": {place: label for label, place in labels.items()}} if labels else {}
    return make(
        vocab_size=size,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=1026,
        type_vocab_size=1,
        **named,
    )


def _save_lightning(file: Path, state: dict[str, Any], settings: dict[str, Any]) -> None:
    # The keys of a checkpoint that Lightning 1.7 saved for inference.
    kept = {"epoch": 0, "global_step": 1, "pytorch-lightning_version": "1.7.7", "callbacks": {}, "loops": {}}
    torch.save({**kept, "state_dict": state, "hparams_name": "kwargs", "hyper_parameters": settings}, file)
