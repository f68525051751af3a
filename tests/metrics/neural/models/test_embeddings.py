"""Vectors of tokens: each text once, the right tokens, and a bound on what is remembered."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from imapeval.metrics.base import Case
from imapeval.metrics.neural.models import embeddings
from imapeval.metrics.neural.models.embeddings import TokenEmbedder, group_by_language, open_embedder
from imapeval.metrics.neural.models.loading import load_model

pytestmark = pytest.mark.neural

TEXTS = ["take ibuprofen with food", "rest", "see a doctor if the fever lasts", "多喝水", "fever 😀"]


def test_a_vector_does_not_depend_on_the_batch(tiny_bert: Path) -> None:
    import torch

    loaded = load_model(str(tiny_bert), "encoder", device="cpu")
    made = TokenEmbedder(loaded, "last").embed(TEXTS)
    for text in TEXTS:
        alone = TokenEmbedder(loaded, "last").embed([text])[text]
        assert alone.ids == made[text].ids
        torch.testing.assert_close(alone.vectors, made[text].vectors, rtol=0, atol=1e-5)


def test_they_are_the_models_own(tiny_bert: Path) -> None:
    import torch

    loaded = load_model(str(tiny_bert), "encoder", device="cpu")
    tokens = loaded.tokenizer("take ibuprofen", return_tensors="pt")
    with torch.inference_mode():
        states = loaded.model(**tokens, output_hidden_states=True).hidden_states
    for layer in (1, 6):
        made = open_embedder(str(tiny_bert), layer, device="cpu").embed(["take ibuprofen"])["take ibuprofen"]
        torch.testing.assert_close(made.vectors, states[layer][0])
    # Zhao et al. 2019, section 3.2: minimum, mean and maximum over the last five layers, each brought to length 1.
    units = [state[0] / state[0].norm(dim=-1, keepdim=True) for state in states[-5:]]
    first = [unit[1].tolist() for unit in units]
    expected = [
        *map(min, *first),
        *(sum(column) / 5 for column in zip(*first, strict=True)),
        *map(max, *first),
    ]
    pooled = open_embedder(str(tiny_bert), None, pool="power-means", device="cpu").embed(["take ibuprofen"])
    assert pooled["take ibuprofen"].vectors[1].tolist() == pytest.approx(expected, abs=1e-6)


def test_each_text_is_computed_once(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = TokenEmbedder(load_model(str(tiny_bert), "encoder", device="cpu"), "last")
    seen: list[str] = []
    compute = embedder._compute
    monkeypatch.setattr(embedder, "_compute", lambda texts: seen.extend(texts) or compute(texts))
    first = embedder.embed(["rest", "drink", "rest"])
    again = embedder.embed(["drink", "take", "rest"])
    assert seen == ["rest", "drink", "take"]
    assert again["rest"] is first["rest"]


def test_only_so_much_is_remembered(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # "rest" and the like are 3 tokens of 32 numbers of 4 bytes.
    monkeypatch.setattr(embeddings, "MAX_CACHE_BYTES", 2 * 3 * 32 * 4)
    embedder = TokenEmbedder(load_model(str(tiny_bert), "encoder", device="cpu"), "last")
    embedder.embed(["rest", "take"])
    embedder.embed(["rest"])
    assert set(embedder.embed(["food"])) == {"food"}
    assert set(embedder._known) == {"rest", "food"}, "what was not used for longest is forgotten"
    assert embedder._size == 2 * 3 * 32 * 4
    assert len(embedder.embed(TEXTS)) == len(TEXTS), "a batch may be larger than what is remembered"
    assert embedder._size <= 2 * 3 * 32 * 4


def test_a_batch_that_fails_leaves_what_is_remembered(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("out of memory")

    embedder = TokenEmbedder(load_model(str(tiny_bert), "encoder", device="cpu"), "last")
    first = embedder.embed(["rest", "take"])
    size = embedder._size
    compute = embedder._compute
    monkeypatch.setattr(embedder, "_compute", fail)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="out of memory"):
            embedder.embed(["rest", "take", "food"])
    assert (set(embedder._known), embedder._size) == ({"rest", "take"}, size)
    monkeypatch.setattr(embedder, "_compute", compute)
    monkeypatch.setattr(embeddings, "MAX_CACHE_BYTES", 0)
    assert embedder.embed(["rest", "food"])["rest"] is first["rest"]
    assert (embedder._known, embedder._size) == ({}, 0)


def test_a_model_cut_to_a_layer_is_loaded_once(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    monkeypatch.setattr(
        embeddings, "load_model", lambda model, *kind, **where: loads.append(model) or load_model(model, *kind, **where)
    )
    one = open_embedder(str(tiny_bert), 2, device="cpu")
    gc.collect()
    assert open_embedder(str(tiny_bert), 2, device="cpu") is one
    assert loads == [str(tiny_bert)]


def test_one_embedder_for_all_who_hold_it(tiny_bert: Path) -> None:
    one = open_embedder(str(tiny_bert), 2, device="cpu")
    assert open_embedder(str(tiny_bert), 2, device="cpu") is one
    assert open_embedder(str(tiny_bert), 3, device="cpu") is not one
    with ThreadPoolExecutor(2) as pool:
        two = [pool.submit(open_embedder, str(tiny_bert), 1, device="cpu") for _ in range(2)]
    assert two[0].result() is two[1].result()
    held = weakref.ref(one)
    del one, two
    gc.collect()
    assert held() is None


def test_tokens(tiny_bert: Path, tiny_roberta: Path) -> None:
    embedder = open_embedder(str(tiny_bert), 1, device="cpu")
    empty, short, long = embedder.tokenize(["  ", " rest ", "rest " * 20_000])
    assert (empty.is_empty, empty.special, empty.truncated) == (True, (True, True), False)
    assert (short.is_empty, short.special, short.truncated) == (False, (True, False, True), False)
    assert (len(long.ids), long.ids[1:-1], long.truncated) == (40, short.ids[1:-1] * 38, True)
    # A first word is the same token as later ones, because a space is put before it.
    roberta = open_embedder(str(tiny_roberta), 1, device="cpu")
    assert [len(set(text.ids)) for text in roberta.tokenize(["fever fever", ""])] == [3, 2]


def test_cases_that_are_in_memory_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "MAX_GROUP_CASES", 2)
    cases = [Case(str(place), "", "", "", lang) for place, lang in enumerate(("zh", "en", "zh", "zh", "en"))]
    assert list(group_by_language(cases)) == [("en", [1, 4]), ("zh", [0, 2]), ("zh", [3])]


@pytest.mark.gpu
def test_on_a_gpu_as_on_the_processor_but_for_rounding(tiny_bert: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU that torch can use")
    here = open_embedder(str(tiny_bert), 3, device="cpu").embed(TEXTS)
    there = open_embedder(str(tiny_bert), 3, device="cuda").embed(TEXTS)
    for text in TEXTS:
        cosines = torch.nn.functional.cosine_similarity(here[text].vectors, there[text].vectors.cpu(), dim=-1)
        # Half precision has 11 bits.
        assert cosines.min() > 0.999
