"""What checkpoints are read, and what is refused."""

import pickle
import re
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from imapeval.errors import ResourceError
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.neural import comet
from imapeval.metrics.neural.alignscore import AlignScore, _cut_into_chunks
from imapeval.metrics.neural.bleurt import Bleurt, _encode
from imapeval.metrics.neural.comet import Comet
from imapeval.metrics.neural.entailment import Entailment
from imapeval.metrics.neural.models import checkpoints
from imapeval.types import Score

pytestmark = pytest.mark.neural

CPU = MetricResources(device="cpu")


class Code:
    """A pickled value that is more than a plain one."""


@pytest.fixture(scope="module")
def comet_folder(small_models: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_models.save_comet(tmp_path_factory.mktemp("comet") / "model")[0]


@pytest.fixture
def changed(comet_folder: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be spoilt."""
    return Path(shutil.copytree(comet_folder, tmp_path / "changed"))


def rewrite(folder: Path, **values: Any) -> None:
    import yaml

    file = folder / "hparams.yaml"
    file.write_text(yaml.safe_dump({**yaml.safe_load(file.read_text()), **values}))


def test_a_checkpoint_with_code_is_not_opened(tmp_path: Path) -> None:
    import torch

    file = tmp_path / "model.ckpt"
    torch.save({"state_dict": {"a": torch.ones(2)}, "callbacks": {"x": Code()}}, file)
    with pytest.raises(ResourceError, match=r"model\.ckpt") as caught:
        checkpoints.read_state(file)
    # The command that the message gives.
    command = str(caught.value).partition('python -c "')[2].removesuffix('"')
    exec(command)
    assert checkpoints.read_state(file)["a"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("content", [b"", b"no checkpoint", pickle.dumps({"a": 1}, protocol=2)])
def test_a_damaged_checkpoint(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.ckpt").write_bytes(content)
    with pytest.raises(ResourceError, match=r"model\.ckpt"):
        checkpoints.read_state(tmp_path / "model.ckpt")


def test_damaged_safetensors(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import save_file

    file = tmp_path / "model.safetensors"
    save_file({"a": torch.ones(2)}, file)
    assert checkpoints.read_state(file)["a"].tolist() == [1.0, 1.0]
    file.write_bytes(file.read_bytes()[:20])
    with pytest.raises(ResourceError, match=r"model\.safetensors"):
        checkpoints.read_state(file)


def test_a_checkpoint_without_names(tmp_path: Path) -> None:
    import torch

    file = tmp_path / "model.ckpt"
    for content in (torch.ones(2), [torch.ones(2)], {1: torch.ones(2)}, {"state_dict": torch.ones(2)}):
        torch.save(content, file)
        with pytest.raises(ResourceError, match=r"model\.ckpt"):
            checkpoints.read_state(file)


def test_the_identity_of_settings_is_that_of_the_content(tmp_path: Path) -> None:
    one = tmp_path / "one" / "small"
    one.mkdir(parents=True)
    (one / "config.json").write_text("{}")
    (one / "vocab.txt").write_text("a")
    identity = checkpoints.identify_config(str(one))
    two = shutil.copytree(one, tmp_path / "two" / "small")
    (two / "model.safetensors").write_text("weights are not read")
    assert checkpoints.identify_config(str(two)) == identity
    assert identity.startswith("small#")
    (two / "vocab.txt").write_text("b")
    assert checkpoints.identify_config(str(two)) != identity
    with pytest.raises(ResourceError, match="none"):
        checkpoints.identify_config(str(tmp_path / "none"))


def test_settings_of_an_encoder_are_found_without_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    assert checkpoints.find_config(str(tmp_path)) is None
    (tmp_path / "config.json").write_text("{}")
    assert checkpoints.find_config(str(tmp_path)) == tmp_path
    assert checkpoints.find_config("no such/name at/the hub") is None
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(ResourceError, match="'roberta-nowhere'"):
        checkpoints.fetch_config("roberta-nowhere")


def test_comet_without_its_encoder_says_what_is_lacking(changed: Path) -> None:
    rewrite(changed, pretrained_model="xlm-roberta-nowhere")
    metric = Comet(model=str(changed))
    assert metric.missing_requirements == (
        "configuration and vocabulary of xlm-roberta-nowhere: --set comet.encoder=FOLDER, or let them be fetched from "
        "the Hugging Face hub"
    )
    with pytest.raises(ResourceError, match="xlm-roberta-nowhere"):
        metric.prepare(CPU)


def test_comet_takes_the_encoder_that_is_set(changed: Path, comet_folder: Path) -> None:
    rewrite(changed, pretrained_model="xlm-roberta-nowhere")
    metric = Comet(model=str(changed), encoder=str(comet_folder / "xlm-roberta-small"))
    assert metric.missing_requirements == ""
    case = Case("1", "What helps?", "Rest.", "Sleep.", "en")
    assert metric.prepare(CPU).score_batch([case]) == Comet(model=str(comet_folder)).prepare(CPU).score_batch([case])
    ready = metric.prepare(CPU)
    assert f"encoder:{checkpoints.identify_config(metric.encoder)}" in ready.signature
    # Another vocabulary under the same name: other scores, and another signature.
    other = Path(shutil.copytree(metric.encoder, changed / "other" / "xlm-roberta-small"))
    config = other / "config.json"
    config.write_text(config.read_text() + "\n")
    assert Comet(model=str(changed), encoder=str(other)).prepare(CPU).signature != ready.signature


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"class_identifier": "unified_metric"}, "class_identifier.*'unified_metric'.*regression_metric"),
        ({"encoder_model": "BERT"}, "encoder_model.*'BERT'.*XLM-RoBERTa"),
        ({"pool": "best"}, "pool.*'best'"),
        ({"hidden_sizes": [48, 17]}, "not those of such a model"),
        ({"activations": "Nothing"}, "'Nothing'"),
    ],
)
def test_comet_models_of_other_kinds_are_refused(values: dict[str, Any], told: str, changed: Path) -> None:
    rewrite(changed, **values)
    with pytest.raises(ResourceError, match=told):
        Comet(model=str(changed)).prepare(CPU)


@pytest.mark.parametrize("settings", ["pool: avg", "pool: " + "9" * 5000, "pool: 2020-99-99", "pool: " + "[" * 5000])
def test_comet_without_settings(settings: str, changed: Path) -> None:
    (changed / "hparams.yaml").write_text(settings)
    with pytest.raises(ResourceError, match=r"hparams\.yaml"):
        Comet(model=str(changed)).prepare(CPU)
    assert "hparams.yaml" in Comet(model=str(changed)).missing_requirements


def test_comet_with_two_checkpoints(changed: Path) -> None:
    shutil.copy(changed / "checkpoints" / "model.ckpt", changed / "checkpoints" / "other.ckpt")
    with pytest.raises(ResourceError, match=re.escape(str(changed))):
        Comet(model=str(changed)).prepare(CPU)


def test_comet_without_the_mixture(changed: Path) -> None:
    import torch

    file = changed / "checkpoints" / "model.ckpt"
    state = checkpoints.read_state(file)
    del state["layerwise_attention.gamma"]
    torch.save({"state_dict": state}, file)
    with pytest.raises(ResourceError, match=r"layerwise_attention\.gamma"):
        Comet(model=str(changed)).prepare(CPU)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Martins and Astudillo 2016, section 2.2: in two dimensions (t, 0) goes to ((t + 1) / 2, (1 - t) / 2).
        ([0.5, 0.0], [0.75, 0.25]),
        ([1.5, 0.0], [1.0, 0.0]),
        ([0.0, 0.0, 0.0, 0.0], [0.25] * 4),
        ([-1.0, 0.1, 0.3], [0.0, 0.4, 0.6]),
    ],
)
def test_sparsemax(scores: list[float], expected: list[float]) -> None:
    import torch

    assert comet._sparsemax(torch, torch.tensor(scores)).tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("pool", "layer"), [("cls", "mix"), ("default", "mix"), ("max", "mix"), ("avg", 0), ("cls", 2)]
)
def test_comet_pools_as_it_says(pool: str, layer: str | int, comet_folder: Path, changed: Path) -> None:
    """Against a plain computation from the model's hidden states."""
    import torch

    rewrite(changed, pool=pool, layer=layer)
    metric = Comet(model=str(changed)).prepare(CPU)
    network = metric.network
    assert network is not None
    case = Case("1", "What helps?", "Rest a lot.", "Sleep.", "en")

    def embed(text: str) -> Any:
        tokens = network.encoder.tokenizer(text, return_tensors="pt")
        states = network.encoder.model(**tokens, output_hidden_states=True).hidden_states
        if layer == "mix":
            raw = torch.cat([checkpoints.read_state(changed / "checkpoints" / "model.ckpt")[name] for name in NAMES])
            weights = comet._sparsemax(torch, raw)
            mixed = 1.3 * sum(weight * state for weight, state in zip(weights, states, strict=True))
        else:
            mixed = states[layer]
        made = {"cls": mixed[0, 0], "default": states[-1][0, 0], "max": mixed[0].amax(0), "avg": mixed[0].mean(0)}
        return made[pool]

    with torch.no_grad():
        response, reference, question = map(embed, (case.response, case.reference, case.question))
        features = [response, reference, response * reference, (response - reference).abs()]
        features += [response * question, (response - question).abs()]
        expected = float(network.head["estimator"](torch.cat(features)))
    (outcome,) = metric.score_batch([case])
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(expected, abs=1e-5)


NAMES = [f"layerwise_attention.scalar_parameters.{layer}" for layer in range(4)]


def test_alignscore_checkpoint_in_a_folder(small_models: ModuleType, tmp_path: Path, punkt: Path) -> None:
    checkpoint, encoder = small_models.save_alignscore(tmp_path)
    case = Case("1", "?", "Rest. Drink fluids.", "Rest. Do not eat.", "en")
    file = AlignScore(model=str(checkpoint), encoder=str(encoder)).prepare(CPU)
    folder = AlignScore(model=str(tmp_path), checkpoint=checkpoint.name, encoder=str(encoder))
    assert folder.prepare(CPU).score_batch([case]) == file.score_batch([case])
    assert folder.prepare(CPU).signature == file.signature
    assert f"encoder:{checkpoints.identify_config(str(encoder))}" in file.signature
    assert (
        folder.missing_requirements
        == AlignScore(model=str(checkpoint), encoder=str(encoder)).missing_requirements
        == ""
    )
    other = AlignScore(model=str(tmp_path), encoder=str(encoder))
    assert other.missing_requirements == (
        f"AlignScore-large.ckpt in {tmp_path}: --set alignscore.checkpoint=FILE, or --set alignscore.model=FOLDER"
    )
    with pytest.raises(ResourceError, match="AlignScore-large"):
        other.prepare(CPU)


def test_alignscore_needs_its_head(small_models: ModuleType, tmp_path: Path, punkt: Path) -> None:
    import torch

    checkpoint, encoder = small_models.save_alignscore(tmp_path)
    state = checkpoints.read_state(checkpoint)
    torch.save({"state_dict": {name: state[name] for name in state if "tri_layer" not in name}}, checkpoint)
    with pytest.raises(ResourceError, match=checkpoint.stem):
        AlignScore(model=str(checkpoint), encoder=str(encoder)).prepare(CPU)


def test_chunks_end_with_sentences(punkt: Path) -> None:
    assert _cut_into_chunks("") == [""]
    assert _cut_into_chunks("One. Two.") == ["One. Two."]
    # 900 words in 9 sentences: three parts of 350 words are aimed at, each of three sentences.
    sentence = " ".join(["word"] * 99) + " end."
    assert [len(chunk.split()) for chunk in _cut_into_chunks(" ".join([sentence] * 9))] == [300, 300, 300]
    # More words than sentences allow: one sentence a chunk.
    assert [len(chunk.split()) for chunk in _cut_into_chunks(" ".join(["word"] * 900))] == [900]


def test_bleurt_cuts_as_its_authors_do() -> None:
    def find(piece: str) -> int:
        return {"[CLS]": -1, "[SEP]": -2}[piece]

    pieces: Any = SimpleNamespace(tokenize=lambda text: [ord(letter) for letter in text], find=find)
    # bleurt/encoding.py takes from the longer one; from the response where both are as long.
    for reference, response, left in (("aaaaa", "bb", (3, 2)), ("aa", "bbbbb", (2, 3)), ("aaaa", "bbbb", (3, 2))):
        row = _encode(pieces, reference, response, 8)
        assert row.fields["input_ids"] == [-1, *[97] * left[0], -2, *[98] * left[1], -2]
        assert row.fields["token_type_ids"] == [0] * (left[0] + 2) + [1] * (left[1] + 1)
        assert row.truncated
    assert not _encode(pieces, "aaa", "bb", 8).truncated


@pytest.mark.parametrize("spoil", ["config.json", "spm.model", "classifier", "embedding_size"])
def test_bleurt_of_another_make_is_refused(spoil: str, small_models: ModuleType, tmp_path: Path) -> None:
    import torch

    folder = small_models.save_bleurt(tmp_path)
    if spoil == "classifier":
        state = torch.load(folder / "pytorch_model.bin")
        del state["classifier.bias"]
        torch.save(state, folder / "pytorch_model.bin")
    elif spoil == "embedding_size":
        file = folder / "config.json"
        file.write_text(file.read_text().replace('"embedding_size": 16', '"embedding_size": 8'))
    else:
        (folder / spoil).unlink()
    with pytest.raises(ResourceError, match=re.escape(folder.name)):
        Bleurt(model=str(folder)).prepare(CPU)


def test_labels_of_another_task_are_refused(small_models: ModuleType, tmp_path: Path) -> None:
    folder = small_models.save_nli(tmp_path)
    file = folder / "config.json"
    file.write_text(file.read_text().replace("NEUTRAL", "MAYBE"))
    with pytest.raises(ResourceError, match="maybe"):
        Entailment(model=str(folder)).prepare(CPU)
