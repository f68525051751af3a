"""MoverScore against its authors' programs on the same weights (expected/make_embeddings.py), and its edges."""

import itertools
import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imapeval._optional import installed
from imapeval.errors import InputError
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.neural import moverscore
from imapeval.metrics.neural.moverscore import MoverScore
from imapeval.types import Failure, Lang, Outcome, Score

EXPECTED = Path(__file__).parents[1] / "expected"
MAKE = runpy.run_path(str(EXPECTED / "make_embeddings.py"))
TOLD: dict[str, Any] = json.loads((EXPECTED / "embeddings.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _skip_without_solver(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("neural") and not installed("POT"):
        pytest.skip("needs POT: pip install 'imapeval[neural]'")


SETTINGS = [(version, ngram, how) for version, ngram in ((2, 1), (1, 1), (1, 2)) for how in ("", "idf", "stop")]
CASES = [
    # Of each version one in each language is quick enough.
    pytest.param(model, lang, *settings, marks=[] if quick else pytest.mark.slow)
    for model, lang in (("bert", "en"), ("bert", "zh"), ("minilm", "en"), ("e5", "en"), ("e5", "zh"))
    for settings in SETTINGS
    for quick in [model == "bert" and settings in ((2, 1, ""), (1, 2, "idf"))]
]


@pytest.mark.neural
@pytest.mark.parametrize(("model", "lang", "version", "ngram", "how"), CASES)
def test_it_is_the_authors_number(
    model: str, lang: Lang, version: int, ngram: int, how: str, find_model: Callable[[str], Path], tmp_path: Path
) -> None:
    rows = MAKE["read_answers"](lang)
    (tmp_path / "idf").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "stop").write_text("\n".join(MAKE["STOP_WORDS"]), encoding="utf-8")
    metric = MoverScore(
        str(find_model(model)),
        version=version,
        ngram=ngram,
        idf=str(tmp_path / "idf") if how == "idf" else "",
        stop_words=str(tmp_path / "stop") if how == "stop" else "",
    ).prepare(MetricResources())
    outcomes = metric.score_batch([Case(row["id"], "", row["reference"], row["response"], lang) for row in rows])
    expected = TOLD[f"{model}-{lang}"]["moverscore"]["-".join(filter(None, (str(version), str(ngram), how)))]
    assert len(expected) >= 50
    # They take squared distances of single precision, whose root is right to 3e-4 near 0.
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Score)] == pytest.approx(expected, abs=1e-4)


def score(metric: MoverScore, reference: str, response: str, lang: Lang = "en") -> Outcome:
    (outcome,) = metric.score_batch([Case("a", "", reference, response, lang)])
    return outcome


@pytest.mark.neural
@pytest.mark.parametrize("version", [1, 2])
def test_by_hand(version: int, tiny_bert: Path) -> None:
    """As many tokens on both sides, of equal weight: the best of all ways to pair them."""
    from imapeval.metrics.neural.models.embeddings import open_embedder

    pool = "last" if version == 2 else "power-means"
    texts = ["take ibuprofen with food", "rest and drink fluids"]
    made = open_embedder(str(tiny_bert), None, pool=pool, device="cpu").embed(texts)
    rows = [[(vector / vector.norm()).tolist() for vector in made[text].vectors] for text in texts]
    assert [len(row) for row in rows] == [6, 6], "with [CLS] and [SEP]"

    def cost(one: list[float], other: list[float]) -> float:
        square = sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
        return square if version == 1 else square**0.5

    least = min(
        sum(cost(rows[0][i], rows[1][j]) for i, j in enumerate(order)) for order in itertools.permutations(range(6))
    )
    outcome = score(MoverScore(str(tiny_bert), version=version).prepare(MetricResources(device="cpu")), *texts)
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(1 - least / 6, abs=1e-5)


@pytest.mark.neural
@pytest.mark.parametrize(("version", "ngram"), [(2, 1), (1, 1), (1, 2)])
def test_edges(version: int, ngram: int, tiny_bert: Path) -> None:
    metric = MoverScore(str(tiny_bert), version=version, ngram=ngram).prepare(MetricResources())
    assert score(metric, "rest", " ") == Score(0.0, {"truncated": 0.0})
    nothing = score(metric, " ", "rest")
    assert isinstance(nothing, Failure)
    assert nothing.kind == "no-reference-tokens"
    same = score(metric, "rest with food", "rest with food")
    assert isinstance(same, Score)
    assert same.value == pytest.approx(1.0, abs=1e-3)
    lowest, highest = metric.range
    assert lowest is not None
    assert highest is not None
    for text in ("rest " * 20_000, "fever 发热 39 ℃", "😀😀", "x", "..."):
        outcome = score(metric, "take ibuprofen", text)
        assert isinstance(outcome, Score)
        assert lowest <= outcome.value <= highest
        assert outcome.parts["truncated"] == float(len(text) > 1000)


@pytest.mark.neural
def test_what_does_not_count(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("the\nand with", encoding="utf-8")
    metric = MoverScore(str(tiny_bert), stop_words=str(tmp_path / "words")).prepare(MetricResources())
    assert metric.ready is not None
    ready = metric.ready["en"]
    import torch

    (made,) = ready.embedder.embed(["take food, with the xyz!"]).values()
    units, masses = moverscore._make_ngrams(ready, made, "references", 1, torch=torch)
    # [CLS] take food x [SEP]; "xyz" is x, ##y, ##z.
    assert len(units) == len(masses) == 5


@pytest.mark.neural
def test_a_text_that_weighs_nothing(tiny_bert: Path, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    rows = [{"reference": "rest", "response": "food"}, {"reference": "rest with food", "response": "food"}]
    samples.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    metric = MoverScore(str(tiny_bert), idf=str(samples)).prepare(MetricResources())
    for reference, response in (("rest", "take"), ("take", "food")):
        outcome = score(metric, reference, response)
        assert isinstance(outcome, Failure)
        assert outcome.kind == "no-weight"
    assert isinstance(score(metric, "food", "rest"), Score), "each side has weights of its own"


@pytest.mark.neural
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_text_of_stop_words_only(tiny_bert: Path, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "words").write_text("[CLS] [SEP] rest", encoding=encoding)
    metric = MoverScore(str(tiny_bert), stop_words=str(tmp_path / "words")).prepare(MetricResources())
    outcome = score(metric, "food", "rest rest")
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-weight"


@pytest.mark.neural
def test_the_signature_names_weights_not_paths(tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "words").write_text("the", encoding="utf-8")
    ready = MoverScore(str(tiny_bert), stop_words=str(tmp_path / "words")).prepare(MetricResources(device="cpu"))
    assert ready.signature.startswith(f"moverscore|model:en={tiny_bert.name}#")
    assert "|version:2|ngram:1|idf:|stop_words:words#" in ready.signature
    assert str(tmp_path) not in ready.signature
    assert MoverScore(str(tiny_bert)).missing_requirements == ""


def test_what_is_refused(tmp_path: Path) -> None:
    for settings in ({"version": 3}, {"version": 2, "ngram": 2}, {"version": 1, "ngram": 3}):
        with pytest.raises(ValueError, match="version"):
            MoverScore(**settings)
    assert MoverScore(version=1, ngram=2).range == (-3.0, 1.0)
    with pytest.raises(InputError, match="none"):
        moverscore._read_words(str(tmp_path / "none"))
    with pytest.raises(TypeError):
        MoverScore().score_batch([])


def test_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moverscore, "installed", lambda _: False)
    assert MoverScore().missing_requirements == "pip install 'imapeval[neural]'"
    monkeypatch.setattr(moverscore, "installed", lambda _: True)
    monkeypatch.setattr(moverscore, "describe_missing_weights", lambda *named: " ".join(named))
    assert MoverScore().missing_requirements == "moverscore distilbert-base-uncased bert-base-chinese"
