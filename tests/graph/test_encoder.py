import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imapeval._optional import installed
from imapeval.errors import MissingExtraError, UsageError
from imapeval.graph import encoder as module
from imapeval.graph.encoder import MAX_CHARACTERS, UseEncoder, open_encoder


@pytest.fixture(scope="module")
def use():
    return open_encoder()


def test_rows_are_unit_vectors_of_the_stated_dimension(use):
    rows = use.encode(["ibuprofen", "布洛芬", "rest for two weeks"])
    assert rows.shape == (3, use.dimension) == (3, 512)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_text_without_a_letter_is_a_row_of_zeros(use):
    rows = use.encode(["", "   ", "...", "😀🎉", "120/80", "fever"])
    assert not rows[:5].any()
    assert rows[5].any()


def test_no_texts_give_no_rows(use):
    assert use.encode([]).shape == (0, 512)


TEXTS = ["fever", "发热", "kidney stone", "take two tablets", "头孢克肟", "rest"]


@settings(max_examples=10, deadline=None)
@given(st.permutations(TEXTS), st.integers(min_value=1, max_value=len(TEXTS)))
def test_vector_does_not_depend_on_the_batch(texts, size):
    alone = {text: _shared.encode([text])[0] for text in TEXTS}
    batch = _shared._compute(texts[:size])  # past the memory, which would make it trivially so
    np.testing.assert_allclose(batch, [alone[text] for text in texts[:size]], atol=2e-6)


def test_bytes_of_vectors_computed_alone_do_not_depend_on_the_batch():
    alone = np.concatenate([UseEncoder().encode_alone([text]) for text in TEXTS])
    assert UseEncoder().encode_alone(TEXTS).tobytes() == alone.tobytes()
    assert UseEncoder().encode_alone(TEXTS[::-1])[::-1].tobytes() == alone.tobytes()


_shared = UseEncoder()


def test_only_the_first_characters_count(use):
    text = "pain " * MAX_CHARACTERS
    np.testing.assert_array_equal(use.encode([text]), use.encode([text[:MAX_CHARACTERS]]))


def test_meaning_is_shared_between_languages(use):
    fever, fa_re, fracture = use.encode(["fever", "发热", "骨折"])
    assert fever @ fa_re > fever @ fracture + 0.1


def test_vectors_are_cached(monkeypatch):
    monkeypatch.setattr(module, "_CACHED_VECTORS", 2)
    seen: list[list[str]] = []

    def compute(texts):
        seen.append(texts)
        return np.ones((len(texts), 3), dtype=np.float32)

    memo = module._VectorCache(compute, 3)
    memo.encode(["a", "b", "a"])
    memo.encode(["b", "c"])
    memo.encode(["c", "b", "a"])
    assert seen == [["a", "b"], ["c"], ["a"]]


def test_identity_names_the_pinned_version(use):
    assert use.identity == "use-m3@0.2.1"


@pytest.mark.parametrize("spec", ["", "minilm", "st:", "USE"])
def test_an_unknown_encoder_is_rejected_with_the_valid_ones(spec):
    with pytest.raises(UsageError, match=r"'use'.*'st:NAME_OR_PATH'"):
        open_encoder(spec)


@pytest.mark.skipif(installed("sentence-transformers"), reason="sentence-transformers is installed")
def test_missing_extra_says_what_to_install():
    with pytest.raises(MissingExtraError, match=r"imapeval\[neural\]"):
        open_encoder("st:some-model")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory):
    """A random BERT of 32 dimensions with one letter per token, saved as sentence-transformers saves its models."""
    if not installed("sentence-transformers"):
        pytest.skip("needs the extra 'neural' (sentence-transformers)")
    pytest.importorskip("torch").manual_seed(0)
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz发热咳嗽"]
    (folder / "vocab.txt").write_text("\n".join([*words, *(f"##{word}" for word in words[5:])]), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(words) * 2, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
    )
    BertModel(config).save_pretrained(folder / "bert")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder / "bert")
    transformer = models.Transformer(str(folder / "bert"))
    SentenceTransformer(modules=[transformer, models.Pooling(32)], device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_sentence_transformers_model_is_an_encoder(tiny_model):
    encoder = open_encoder(f"st:{tiny_model}")
    rows = encoder.encode(["fever", "", "咳嗽"])
    assert rows.shape == (3, encoder.dimension) == (3, 32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 0, 1], atol=1e-5)
    assert encoder.identity.startswith("st:model#")
    assert open_encoder(f"st:{tiny_model}").identity == encoder.identity


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_model_that_cannot_be_opened_is_a_usage_error(tiny_model, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UsageError, match="absent"):
        open_encoder(f"st:{tiny_model.parent / 'absent'}")
