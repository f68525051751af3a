"""Loading, sharing and cutting models; what is refused."""

import gc
import json
import shutil
import weakref
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import pytest

from imapeval.errors import ResourceError, UsageError
from imapeval.metrics.neural.models import loading
from imapeval.metrics.neural.models.loading import choose_device, keep_layers, load_model

pytestmark = pytest.mark.neural


def test_a_model_is_loaded_once_for_all_who_hold_it(tiny_bert: Path) -> None:
    loaded = load_model(str(tiny_bert), "encoder", device="cpu")
    assert load_model(str(tiny_bert), "encoder", device="cpu") is loaded
    assert (loaded.device, loaded.precision, loaded.batch_tokens) == ("cpu", "float32", 4096)
    assert not loaded.model.training
    held = weakref.ref(loaded)
    del loaded
    gc.collect()
    assert held() is None, "nobody holds it any more"


def test_the_longest_text(tiny_bert: Path, tiny_roberta: Path, tmp_path: Path) -> None:
    assert load_model(str(tiny_bert), "encoder").max_tokens == 40
    # 40 positions, of which RoBERTa leaves the first two unused, whatever its tokenizer says.
    folder = shutil.copytree(tiny_roberta, tmp_path / "roberta")
    settings = {"tokenizer_class": "RobertaTokenizer", "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    roberta = load_model(str(folder), "encoder")
    assert roberta.max_tokens == 38
    text = roberta.tokenizer(["fever " * 100], truncation=True, max_length=38, return_tensors="pt")
    assert roberta.model(**text).last_hidden_state.shape[1] == 38


def test_a_model_that_tells_no_longest_text_is_refused() -> None:
    network = SimpleNamespace(config=SimpleNamespace(), named_modules=lambda: [])
    with pytest.raises(ResourceError, match="'x'"):
        loading._find_max_tokens("x", SimpleNamespace(model_max_length=int(1e30)), network)


@pytest.mark.parametrize("layers", [0, 1, 3, 6])
def test_a_cut_model_gives_the_hidden_state_of_that_layer(tiny_bert: Path, layers: int) -> None:
    import torch

    loaded = load_model(str(tiny_bert), "encoder", device="cpu")
    shorter = keep_layers(loaded, layers)
    tokens = loaded.tokenizer(["take ibuprofen with food", "rest"], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = loaded.model(**tokens, output_hidden_states=True).hidden_states
        assert len(states) == 7, "the whole model is as it was"
        assert torch.equal(shorter.model(**tokens).last_hidden_state, states[layers])
    assert shorter.model.config.num_hidden_layers == layers
    shared = {id(tensor) for tensor in loaded.model.parameters()}
    assert {id(tensor) for tensor in shorter.model.parameters()} <= shared


def test_albert_has_one_layer_many_times(tiny_bert: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AlbertConfig, AlbertModel

    folder = shutil.copytree(tiny_bert, tmp_path / "albert")
    config = AlbertConfig(
        vocab_size=400,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=4,
        num_attention_heads=2,
        intermediate_size=8,
    )
    AlbertModel(config).save_pretrained(folder)
    loaded = load_model(str(folder), "encoder", device="cpu")
    tokens = loaded.tokenizer(["take ibuprofen with food"], return_tensors="pt")
    with torch.inference_mode():
        states = loaded.model(**tokens, output_hidden_states=True).hidden_states
        assert torch.equal(keep_layers(loaded, 2).model(**tokens).last_hidden_state, states[2])


def test_a_layer_that_is_not_there(tiny_bert: Path) -> None:
    loaded = load_model(str(tiny_bert), "encoder", device="cpu")
    with pytest.raises(ValueError, match="layer 7"):
        keep_layers(loaded, 7)


def test_weights_of_another_kind_of_model_are_refused(tiny_bert: Path) -> None:
    # transformers would fill what is missing with random numbers.
    with pytest.raises(ResourceError, match="'classifier'"):
        load_model(str(tiny_bert), "classifier")
    with pytest.raises(ResourceError, match="seq2seq"):
        load_model(str(tiny_bert), "seq2seq")


def test_damaged_weights_are_refused(tiny_bert: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bert, tmp_path / "damaged")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(ResourceError, match="damaged"):
        load_model(str(folder), "encoder")
    with pytest.raises(ResourceError, match=r"model\.safetensors"):
        load_model(str(weights), "encoder")


def test_a_device_without_enough_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packages = Mock(), MagicMock(), Mock(SafetensorError=ValueError)
    network = Mock(config=SimpleNamespace(is_encoder_decoder=False))
    network.to.side_effect = RuntimeError("CUDA out of memory")  # torch.OutOfMemoryError is one
    packages[1].AutoModel.from_pretrained.return_value = (network, {"missing_keys": []})
    monkeypatch.setattr(loading, "import_packages", lambda *_names, needed_for: packages)
    with pytest.raises(ResourceError, match="out of memory"):
        loading._load("m", tmp_path, "encoder", "cuda")


def test_the_encoder_of_a_model_with_two_halves(tiny_bert: Path, tmp_path: Path) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    folder = shutil.copytree(tiny_bert, tmp_path / "t5")
    config = T5Config(vocab_size=22_000, d_model=16, d_kv=4, d_ff=8, num_layers=2, num_heads=4)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    loaded = load_model(str(folder), "encoder", device="cpu")
    tokens = loaded.tokenizer(["take ibuprofen"], return_tensors="pt")
    state = loaded.model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    assert state.shape[-1] == 16
    assert load_model(str(folder), "seq2seq", device="cpu").model.config.is_encoder_decoder


def test_devices() -> None:
    import torch

    assert choose_device("cpu") == "cpu"
    there = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert choose_device("auto") == there
    if there == "cpu":
        with pytest.raises(UsageError, match="'cuda'"):
            choose_device("cuda")


def test_half_precision_on_gpus_only() -> None:
    import torch

    def choose(model_type: str, device: str, trained: object = torch.float32) -> object:
        return loading._choose_dtype(SimpleNamespace(model_type=model_type, dtype=trained), device, torch)

    assert choose("roberta", "cpu") == choose("t5", "cpu") == choose("llama", "cpu", torch.bfloat16) == torch.float32
    assert choose("roberta", "cuda") == choose("roberta", "mps") == torch.float16
    assert choose("t5", "cuda") == choose("llama", "cuda", torch.bfloat16) == torch.bfloat16


@pytest.mark.gpu
def test_a_model_on_the_gpu(tiny_bert: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use")
    loaded = load_model(str(tiny_bert), "encoder", device="cuda")
    assert (loaded.model.device.type, loaded.precision) == ("cuda", "float16")
