"""Where weights are found, what is fetched, and their identity. The hub is a server on this computer."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from imapeval.errors import ResourceError
from imapeval.metrics.neural.models import weights


@pytest.fixture(autouse=True)
def _own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def test_a_folder_a_file_and_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine", model__safetensors="w", config__json="{}")
    assert weights.find_weights(str(folder)) == folder
    assert weights.find_weights(str(folder / "model.safetensors")) == folder / "model.safetensors"
    assert weights.find_weights(str(tmp_path / "none")) is None
    assert weights.find_weights(str(write(tmp_path / "empty", config__json="{}"))) is None


def test_all_parts_of_split_weights_have_to_be_there(tmp_path: Path) -> None:
    parts = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    folder = write(tmp_path, **{parts[0]: "1"})
    assert weights.find_weights(str(folder)) is None
    index = json.dumps({"weight_map": {"a": parts[0], "b": parts[1]}})
    write(folder, **{"model.safetensors.index.json": index})
    assert weights.find_weights(str(folder)) is None
    write(folder, **{parts[1]: "2"})
    assert weights.find_weights(str(folder)) == folder


def test_an_index_of_another_format_does_not_matter(tmp_path: Path) -> None:
    index = json.dumps({"weight_map": {"a": "pytorch_model-00001-of-00001.bin"}})
    folder = write(tmp_path, model__safetensors="w", **{"pytorch_model.bin.index.json": index})
    assert weights.find_weights(str(folder)) == folder


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[]", b"{}", b'{"weight_map": []}', b'{"weight_map": {"a": ["b"]}}']
)
def test_with_an_index_that_cannot_be_read_weights_are_incomplete(content: bytes, tmp_path: Path) -> None:
    folder = write(tmp_path, model__safetensors="w")
    (folder / "model.safetensors.index.json").write_bytes(content)
    assert weights.find_weights(str(folder)) is None


def cache(root: Path, name: str, **files: str) -> Path:
    """Lay out a model as the hub's cache does (huggingface_hub documentation, "Understand caching")."""
    repository = root / f"models--{name.replace('/', '--')}"
    write(repository / "refs", main="abc123")
    return write(repository / "snapshots" / "abc123", **files)


@pytest.mark.neural
def test_what_is_in_the_hubs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert weights.find_weights("owner/model") is None
    snapshot = cache(tmp_path, "owner/model", pytorch_model__bin="w")
    assert weights.find_weights("owner/model") == snapshot
    cache(tmp_path, "begun", config__json="{}")
    assert weights.find_weights("begun") is None
    assert weights.identify_weights("owner/model").startswith("model#")


def test_the_identity_is_that_of_the_content(tmp_path: Path) -> None:
    one = write(tmp_path / "one", model__safetensors="w", vocab__txt="a")
    name, _, digest = weights.identify_weights(str(one)).partition("#")
    assert name == "one"
    assert len(digest) == 12
    # README and other formats of the same weights are not read when it is loaded.
    write(one, README__md="new", pytorch_model__bin="also")
    assert weights.identify_weights(str(one)) == f"one#{digest}"
    copy = shutil.copytree(one, tmp_path / "two")
    assert weights.identify_weights(str(copy)) == f"two#{digest}"
    for changed in ({"model__safetensors": "w2"}, {"vocab__txt": "b"}, {"config__json": "{}"}):
        other = shutil.copytree(one, tmp_path / next(iter(changed)))
        assert weights.identify_weights(str(write(other, **changed))).partition("#")[2] != digest


def test_a_checkpoint_file_has_an_identity(tmp_path: Path) -> None:
    folder = write(tmp_path, model__ckpt="w")
    assert weights.identify_weights(str(folder / "model.ckpt")).startswith("model#")
    with pytest.raises(ResourceError, match="none"):
        weights.identify_weights(str(tmp_path / "none"))


def test_what_a_metric_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(write(tmp_path / "mine", model__safetensors="w"))
    monkeypatch.setattr(weights, "installed", lambda _: True)
    monkeypatch.setattr(weights, "find_in_cache", lambda _: None)
    assert weights.describe_missing_weights("bertscore", folder) == ""
    assert weights.describe_missing_weights("bertscore", folder, "a", "b/c") == (
        "weights of a and b/c: --set bertscore.model=FOLDER, or let them be fetched from the Hugging Face hub "
        "(the models of both languages are needed, whichever the texts are in)"
    )
    assert weights.describe_missing_weights("comet", "a").endswith("from the Hugging Face hub")
    monkeypatch.setattr(weights, "installed", lambda name: name != "torch")
    assert weights.describe_missing_weights("bertscore", folder) == "pip install 'imapeval[neural]'"


@pytest.mark.neural
def test_without_a_way_to_the_hub(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match=r"'no/such'.*offline"):
        weights.fetch_weights("no/such")
    with pytest.raises(ResourceError, match="/no/such"):
        weights.fetch_weights("/no/such")
    with pytest.raises(ResourceError, match=str(tmp_path)):
        weights.fetch_weights(str(write(tmp_path, config__json="{}")))


@pytest.mark.neural
@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (
            ["README.md", "config.json", "flax_model.msgpack", "model.safetensors", "pytorch_model.bin", "vocab.txt"],
            ["config.json", "model.safetensors", "vocab.txt"],
        ),
        (
            ["checkpoints/model.ckpt", "hparams.yaml", "LICENSE"],
            ["checkpoints/model.ckpt", "hparams.yaml"],
        ),
    ],
)
def test_only_what_is_read_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], wanted: list[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    asked: list[str] = []

    def download(name: str, *, allow_patterns: list[str]) -> None:
        asked.extend(allow_patterns)
        snapshot = cache(tmp_path, name)
        for file in allow_patterns:
            (snapshot / file).parent.mkdir(exist_ok=True)
            (snapshot / file).write_text("x")

    hub = SimpleNamespace(list_repo_files=lambda _: files, snapshot_download=download)
    monkeypatch.setattr(weights, "require", lambda *_, **__: hub)
    assert weights.fetch_weights("owner/model") == tmp_path / "models--owner--model" / "snapshots" / "abc123"
    assert sorted(asked) == wanted


@pytest.mark.parametrize(
    ("error", "line"), [(OSError("no route\nto host"), "no route"), (TimeoutError(""), "TimeoutError")]
)
def test_an_error_has_a_first_line(error: Exception, line: str) -> None:
    assert weights.first_line(error) == line


@pytest.mark.neural
def test_a_repository_without_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    hub = SimpleNamespace(list_repo_files=lambda _: ["README.md"], snapshot_download=lambda *_, **__: None)
    monkeypatch.setattr(weights, "require", lambda *_, **__: hub)
    with pytest.raises(ResourceError, match="'owner/data'"):
        weights.fetch_weights("owner/data")
