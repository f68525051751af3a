"""BERTScore against bert_score 0.3.13 on the same weights (expected/make_embeddings.py), and its edges."""

import json
import runpy
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from imapeval.errors import InputError, MissingExtraError, ResourceError, UsageError
from imapeval.metrics.base import Case, MetricResources
from imapeval.metrics.neural import bertscore
from imapeval.metrics.neural.bertscore import BertScore
from imapeval.metrics.on_imaps import MetricOnImaps
from imapeval.types import Failure, Imap, Lang, Outcome, Pair, Score

EXPECTED = Path(__file__).parents[1] / "expected"
MAKE = runpy.run_path(str(EXPECTED / "make_embeddings.py"))
TOLD: dict[str, Any] = json.loads((EXPECTED / "embeddings.json").read_text(encoding="utf-8"))


def read_cases(lang: Lang) -> list[Case]:
    return [Case(row["id"], "", row["reference"], row["response"], lang) for row in MAKE["read_answers"](lang)]


def write_settings(folder: Path, lang: Lang, how: str) -> dict[str, str]:
    """Return the options by which a metric does what the package was told to do."""
    samples, baseline = folder / "samples.jsonl", folder / "baseline.tsv"
    samples.write_text("\n".join(map(json.dumps, MAKE["read_answers"](lang))), encoding="utf-8")
    baseline.write_text(MAKE["BASELINE"], encoding="utf-8")
    return {"raw": {}, "idf": {"idf": str(samples)}, "rescaled": {"rescale": str(baseline)}}[how]


REAL = [pytest.param(*model, marks=pytest.mark.slow) for model in (("minilm", "en"), ("e5", "en"), ("e5", "zh"))]


@pytest.mark.neural
@pytest.mark.parametrize("how", ["raw", "idf", "rescaled"])
@pytest.mark.parametrize(("model", "lang"), [("bert", "en"), ("bert", "zh"), ("roberta", "en"), *REAL])
def test_it_is_bert_scores_number(
    model: str, lang: Lang, how: str, find_model: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = find_model(model)
    metric = BertScore(str(folder), MAKE["LAYERS"][model], **write_settings(tmp_path, lang, how)).prepare(
        MetricResources()
    )
    cases = read_cases(lang)
    assert len(cases) >= 50
    outcomes = metric.score_batch(cases)
    for name, column in zip(("precision", "recall", "f1"), TOLD[f"{model}-{lang}"]["bertscore"][how], strict=True):
        found = [outcome.parts[name] for outcome in outcomes if isinstance(outcome, Score)]
        assert found == pytest.approx(column, abs=1e-5)
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Score)] == pytest.approx(column, abs=1e-5)


def score(metric: BertScore, reference: str, response: str, lang: Lang = "en") -> Outcome:
    (outcome,) = metric.score_batch([Case("a", "", reference, response, lang)])
    return outcome


@pytest.mark.neural
def test_by_hand(tiny_bert: Path) -> None:
    """Zhang et al. 2020, section 3, token by token in plain Python."""
    from imapeval.metrics.neural.models.embeddings import open_embedder

    made = open_embedder(str(tiny_bert), 2, device="cpu").embed(["take ibuprofen", "rest with food"])
    rows = [[vector.tolist() for vector in text.vectors] for text in made.values()]

    def cosine(one: list[float], other: list[float]) -> float:
        dot = sum(a * b for a, b in zip(one, other, strict=True))
        return dot / (sum(a * a for a in one) * sum(b * b for b in other)) ** 0.5

    # [CLS] and [SEP] weigh nothing, but a word may be most similar to them.
    recall = sum(max(cosine(word, other) for other in rows[1]) for word in rows[0][1:-1]) / 2
    precision = sum(max(cosine(word, other) for other in rows[0]) for word in rows[1][1:-1]) / 3
    outcome = score(
        BertScore(str(tiny_bert), 2).prepare(MetricResources(device="cpu")), "take ibuprofen", "rest with food"
    )
    assert isinstance(outcome, Score)
    assert outcome.parts == pytest.approx(
        {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
            "truncated": 0.0,
        },
        abs=1e-5,
    )


@pytest.mark.neural
def test_edges(tiny_bert: Path, tmp_path: Path) -> None:
    metric = BertScore(str(tiny_bert), 2).prepare(MetricResources())
    assert score(metric, "rest", " ") == Score(0.0, {"precision": 0.0, "recall": 0.0, "f1": 0.0, "truncated": 0.0})
    nothing = score(metric, " ", "rest")
    assert isinstance(nothing, Failure)
    assert nothing.kind == "no-reference-tokens"
    same = score(metric, "rest", "rest")
    assert isinstance(same, Score)
    assert same.value == pytest.approx(1.0)
    for text in ("rest " * 20_000, "fever 发热 39 ℃", "😀😀", "x"):
        outcome = score(metric, "take ibuprofen", text)
        assert isinstance(outcome, Score)
        assert 0 <= outcome.value <= 1
        assert outcome.parts["truncated"] == float(len(text) > 1000)
    baseline = tmp_path / "baseline.tsv"
    baseline.write_text("LAYER,P,R,F\n2,.2,.4,.5\n", encoding="utf-8")
    rescaled = score(BertScore(str(tiny_bert), 2, rescale=str(baseline)).prepare(MetricResources()), "rest", "")
    # bert_score rescales the 0 of an empty text too: (0 - b) / (1 - b).
    assert isinstance(rescaled, Score)
    assert rescaled.parts == pytest.approx({"precision": -0.25, "recall": -2 / 3, "f1": -1.0, "truncated": 0.0})


@pytest.mark.neural
def test_on_imaps_with_the_same_vectors(tiny_bert: Path) -> None:
    metric = BertScore(str(tiny_bert), 2).prepare(MetricResources())
    on_imaps = MetricOnImaps(BertScore(str(tiny_bert), 2)).prepare(MetricResources())
    assert isinstance(on_imaps.metric, BertScore)
    assert on_imaps.metric.ready is not None
    assert metric.ready is not None
    assert on_imaps.metric.ready["en"].embedder is metric.ready["zh"].embedder
    imap = Imap((Pair("drug", "?"),), (), (Pair("drug", "ibuprofen"),), (Pair("drug", "food"),))
    assert on_imaps.score_batch([Case("a", "", "x", "y", "en", imap, ())]) == [score(metric, "ibuprofen", "food")]


@pytest.mark.neural
def test_a_text_that_weighs_nothing(tiny_bert: Path, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"reference": "rest"}\n{"reference": "rest with food"}\n', encoding="utf-8")
    metric = BertScore(str(tiny_bert), 2, idf=str(samples)).prepare(MetricResources())
    outcome = score(metric, "rest", "food")
    assert isinstance(outcome, Failure)
    assert outcome.kind == "no-weight"
    assert isinstance(score(metric, "rest food", "take food"), Score)


@pytest.mark.neural
def test_both_languages_in_one_batch(tiny_bert: Path, tiny_roberta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bertscore, "DEFAULTS", {"en": str(tiny_roberta), "zh": str(tiny_bert)})
    metric = BertScore(layer=1).prepare(MetricResources())
    english, chinese = Case("a", "", "rest", "food", "en"), Case("b", "", "多喝水", "喝水", "zh")
    outcomes = metric.score_batch([chinese, english, chinese])
    (alone,) = BertScore(str(tiny_bert), 1).prepare(MetricResources()).score_batch([chinese])
    assert isinstance(alone, Score)
    for outcome in (outcomes[0], outcomes[2]):
        assert isinstance(outcome, Score)
        assert outcome.value == pytest.approx(alone.value)
    assert "en=tiny-roberta" in metric.signature
    assert "zh=tiny-bert" in metric.signature


@pytest.mark.neural
def test_the_signature_names_weights_not_paths(tiny_bert: Path, tmp_path: Path) -> None:
    metric = BertScore(str(tiny_bert), 2, **write_settings(tmp_path, "en", "rescaled"))
    assert metric.missing_requirements == ""
    ready = metric.prepare(MetricResources(device="cpu"))
    assert str(tmp_path) not in ready.signature
    assert "@2-baseline.tsv#" in ready.signature
    assert "precision:float32" in ready.signature
    assert BertScore(str(tiny_bert), 3).prepare(MetricResources(device="cpu")).signature != ready.signature
    assert "idf:samples.jsonl#" in (
        BertScore(str(tiny_bert), 2, **write_settings(tmp_path, "en", "idf")).prepare(MetricResources()).signature
    )


def test_the_layer_that_bert_score_takes() -> None:
    assert BertScore()._choose_layer("roberta-large") == 17
    assert BertScore()._choose_layer("bert-base-chinese") == 8
    assert BertScore()._choose_layer("/data/models/deberta-xlarge-mnli") == 40
    assert BertScore(layer=3)._choose_layer("roberta-large") == 3
    with pytest.raises(UsageError, match="'mine'"):
        BertScore()._choose_layer("mine")
    with pytest.raises(ValueError, match="layer=-2"):
        BertScore(layer=-2)


@pytest.mark.neural
def test_a_layer_that_the_model_lacks(tiny_bert: Path) -> None:
    with pytest.raises(UsageError, match="layer 9"):
        BertScore(str(tiny_bert), 9).prepare(MetricResources())


def test_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from imapeval.metrics.neural.models import weights

    monkeypatch.setattr(weights, "installed", lambda _: False)
    assert BertScore().missing_requirements == "pip install 'imapeval[neural]'"
    monkeypatch.setattr(weights, "installed", lambda _: True)
    monkeypatch.setattr(weights, "find_in_cache", lambda _: None)
    assert BertScore().missing_requirements.startswith(
        "weights of roberta-large and bert-base-chinese: --set bertscore.model=FOLDER"
    )
    assert BertScore().missing_requirements.endswith(
        "(the models of both languages are needed, whichever the texts are in)"
    )
    assert BertScore(model="mine").missing_requirements.startswith("weights of mine")
    with pytest.raises((MissingExtraError, ResourceError)):
        BertScore(model="/no/such", layer=1).prepare(MetricResources())
    with pytest.raises(TypeError):
        BertScore().score_batch([])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("LAYER,P,R,F\n1,.1,.1,.1\n", "layer 2"),
        ("LAYER,P,R,F\n2,1,.1,.1\n", "layer 2"),
        ("LAYER,P,R,F\n2,.1,nan,.1\n", "layer 2"),
        ("LAYER,P,R,F\n2,x,.1,.1\n", "'x'"),
        ("P,R,F\n", "layer 2"),
        ("a,b\n1,2\n", "LAYER"),
    ],
)
def test_baselines_at_fault(tmp_path: Path, text: str, value: str) -> None:
    file = tmp_path / "baseline.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=value) as caught:
        bertscore._read_baseline(file, 2)
    assert caught.value.path == file
    with pytest.raises(InputError, match="none"):
        bertscore._read_baseline(tmp_path / "none", 2)


def test_a_baseline_file_written_by_excel(tmp_path: Path) -> None:
    file = tmp_path / "baseline.csv"
    file.write_bytes("\ufeffLAYER,P,R,F\r\n2,0.8,0.7,0.6\r\n".encode())
    assert bertscore._read_baseline(file, 2) == (0.8, 0.7, 0.6)


def test_baselines_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class File(type(tmp_path)):
        def locate(self) -> Path:
            return self

    # The names of files in bert_score-0.3.13-py3-none-any.whl.
    files = [File(f"bert_score/rescale_baseline/{name}.tsv") for name in ("en/roberta-large", "zh/bert-base-chinese")]
    monkeypatch.setattr(bertscore.metadata, "files", lambda _: files)
    assert str(bertscore._find_baseline("/data/roberta-large", "en")).endswith("/en/roberta-large.tsv")
    assert str(bertscore._find_baseline("bert-base-chinese", "zh")).endswith("/zh/bert-base-chinese.tsv")
    assert bertscore._find_baseline("roberta-large", "zh") is None

    def open_language(metric: BertScore, lang: Lang, baseline: Path | None, device: str) -> str:
        return f"{lang} {baseline and baseline.name} {device}"

    monkeypatch.setattr(BertScore, "_open", open_language)
    monkeypatch.setattr(bertscore, "import_packages", lambda *_, **__: [SimpleNamespace(inference_mode=nullcontext)])
    monkeypatch.setattr(bertscore, "_score_batch", lambda _, cases, __: [Score(0.5) for _ in cases])
    resources = MetricResources(device="cpu")
    both = BertScore(rescale="bert-score").prepare(resources)
    assert both.ready == {"en": "en roberta-large.tsv cpu", "zh": "zh bert-base-chinese.tsv cpu"}
    assert set(BertScore().prepare(resources).ready or {}) == {"en", "zh"}
    # A model that is set has a baseline for one language only, in which it can be used.
    english, chinese = Case("a", "", "rest", "food", "en"), Case("b", "", "多喝水", "喝水", "zh")
    for model, case, other in (("roberta-large", english, chinese), ("bert-base-chinese", chinese, english)):
        metric = BertScore(model=model, rescale="bert-score").prepare(resources)
        assert metric.ready == {case.lang: f"{case.lang} {model}.tsv cpu"}
        missing, scored = metric.score_batch([other, case])
        assert isinstance(missing, Failure)
        assert ((missing.stage, missing.kind), scored) == (("metric", "no-baseline"), Score(0.5))
    with pytest.raises(UsageError, match="'mine'"):
        BertScore(model="mine", layer=1, rescale="bert-score").prepare(resources)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("baseline", [None, (0.8, 0.8, 0.8)])
def test_vectors_that_overflow_give_no_score(number: float, baseline: tuple[float, float, float] | None) -> None:
    for pair in ((number, number), (0.5, number), (number, 0.5)):
        outcome = bertscore._make_score(baseline, *pair, truncated=False)
        assert isinstance(outcome, Failure)
        assert (outcome.stage, outcome.kind) == ("metric", "not-finite")


def test_without_the_package_of_baselines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bertscore, "PACKAGE", "no-such-package")
    with pytest.raises(UsageError, match="pip install --no-deps no-such-package"):
        bertscore._find_baseline("roberta-large", "en")
