import hashlib
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.llm import tokens

DATASETS = Path(__file__).parents[2] / "datasets"


def texts(lang: str) -> list[str]:
    lines = (DATASETS / f"sample-{lang}.jsonl").read_text(encoding="utf-8").splitlines()
    return [row[key] for row in map(json.loads, lines) for key in ("question", "reference", "response")]


# Counted with o200k_base (tiktoken 0.12), Qwen2.5-1.5B-Instruct's and DeepSeek-V3's own tokenizers on 21 November 2026.
@pytest.mark.parametrize(
    ("lang", "counted", "off"),
    [("en", (15046, 15582, 14960), 0.15), ("zh", (20599, 16831, 15184), 0.31)],
)
def test_estimates_are_near_real_tokenizers(lang: str, counted: tuple[int, ...], off: float):
    estimated = sum(map(tokens.estimate, texts(lang)))
    assert all(estimated == pytest.approx(count, rel=off) for count in counted)


def test_no_text_has_no_tokens_and_any_text_has_one():
    assert tokens.estimate("") == 0
    assert tokens.estimate("a") == 1
    assert tokens.estimate("\ud83d") == 1


@given(st.text(), st.text())
def test_an_estimate_is_a_whole_number_that_grows_with_the_text(a: str, b: str):
    both = tokens.estimate(a + b)
    assert isinstance(both, int)
    assert max(tokens.estimate(a), tokens.estimate(b)) <= both <= tokens.estimate(a) + tokens.estimate(b)
    assert both <= math.ceil(len((a + b).encode()))


def test_what_cannot_be_counted_is_estimated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    for spec in (
        "openai:gpt-4.1-mini",
        "openai:nobody-knows",
        "vllm:Qwen/Qwen3-8B",
        "local:smollm2",
        "local:/no/such.gguf",
    ):
        assert tokens.count(spec, ["four words of text", "痛风"]) == (7, False)


def test_a_folder_with_a_tokenizer_is_counted_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    # A file may say that every text is filled up to a length, as that of all-MiniLM-L6-v2 does.
    words.enable_padding(length=128)
    words.enable_truncation(2)
    words.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    # The forms of a name that the provider takes.
    for name in (tmp_path, f" {tmp_path}", f"{tmp_path}?max_model_len=16384", f"~/{tmp_path.name}"):
        assert tokens.count(f"vllm:{name}", ["a b c", "a"]) == (4, True)


def test_a_folder_with_a_file_that_is_no_tokenizer_is_estimated(tmp_path: Path):
    pytest.importorskip("tokenizers")
    # As `git clone` leaves it without LFS.
    (tmp_path / "tokenizer.json").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n")
    assert tokens.count(f"local:{tmp_path}", ["four words of text", "痛风"]) == (7, False)


@pytest.mark.parametrize(("model", "encoding"), [("gpt-4.1-mini", "o200k_base"), ("gpt-oss-20b", "o200k_harmony")])
def test_tiktoken_is_used_once_its_table_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, model: str, encoding: str
):
    tiktoken = pytest.importorskip("tiktoken")
    url = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
    (tmp_path / hashlib.sha1(url.encode()).hexdigest()).touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    class Table:
        def encode_ordinary(self, text: str) -> list[str]:
            return list(text)

    monkeypatch.setattr(tiktoken, "get_encoding", {encoding: Table()}.__getitem__)
    assert tokens.count(f"openai:{model}", ["abc", "d"]) == (4, True)
