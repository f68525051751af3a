"""The learned metrics beside their authors' programs, on 62 of our sample answers, and what all of them have in common.

The expected numbers are those of the programs, with the same weights: `tests/metrics/expected/make_learned.py`.
"""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from imapeval.errors import ResourceError
from imapeval.metrics.base import Case, Metric, MetricResources
from imapeval.metrics.neural import alignscore, bartscore, bleurt, comet, entailment, unieval
from imapeval.metrics.neural.base import make_outcome
from imapeval.metrics.on_imaps import make_imap_variants
from imapeval.types import Failure, Lang, Score

pytestmark = [pytest.mark.neural, pytest.mark.usefixtures("punkt")]

# Of the sample answers, with question and reference.
SHORTEST = 23
NAMES = ("bartscore", "entailment", "unieval", "alignscore", "comet", "bleurt")
TEXTS = {
    "empty": "",
    "white space": " \n ",
    "one word": "surgery",
    "emoji": "😀👍🏽",
    "mixed languages": "Take 布洛芬 400 mg，三次 a day. 多喝水。",
    "braces and marks": "{reference} </s> [SEP] <s> {0}",
}


@pytest.fixture(scope="module")
def small(small_models: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Return a metric by name, with its small model named."""

    def make(name: str) -> Any:
        folder = tmp_path_factory.mktemp(name)
        if name == "bartscore":
            return bartscore.BartScore(model=str(small_models.save_bart(folder)))
        if name == "entailment":
            return entailment.Entailment(model=str(small_models.save_nli(folder)), direction="both")
        if name == "unieval":
            return unieval.UniEval(model=str(small_models.save_t5(folder)))
        if name == "alignscore":
            checkpoint, encoder = small_models.save_alignscore(folder)
            return alignscore.AlignScore(model=str(checkpoint), encoder=str(encoder))
        if name == "bleurt":
            return bleurt.Bleurt(model=str(small_models.save_bleurt(folder)))
        settings: dict[str, Any] = {"comet": {}, "comet-layer": {"layer": 2, "pool": "max"}}
        settings["comet-norm"] = {"layer_norm": True, "layer_transformation": "softmax"}
        place, _ = small_models.save_comet(folder / "model", **settings[name])
        return comet.Comet(model=str(place))

    return cache(make)


@pytest.fixture(scope="module")
def prepared(small: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a metric by name, prepared with its small model."""
    return cache(lambda name: small(name).prepare(MetricResources(device="cpu")))


@pytest.fixture(scope="module")
def scored(prepared: Callable[[str], Any], to_cases: Callable[[Lang], list[Case]]) -> Callable[[str, Lang], Any]:
    """Return a metric's outcomes on the sample answers, whose parts are declared; none is computed twice."""

    def score(name: str, lang: Lang) -> Any:
        metric = prepared(name)
        outcomes = metric.score_batch(to_cases(lang))
        assert all(metric.part_ranges.keys() >= outcome.parts.keys() for outcome in outcomes)
        return outcomes

    return cache(score)


def values(outcomes: list[Any], part: str = "") -> list[float]:
    return [outcome.parts[part] if part else outcome.value for outcome in outcomes]


@pytest.mark.parametrize(
    ("name", "lang"),
    [
        ("alignscore", "en"),
        ("comet", "en"),
        ("comet", "zh"),
        ("comet-norm", "en"),
        ("comet-layer", "en"),
        ("bleurt", "en"),
        ("bleurt", "zh"),
    ],
)
def test_the_numbers_of_the_authors_program(name: str, lang: Lang, scored: Any, learned: Any) -> None:
    outcomes = scored(name, lang)
    assert values(outcomes) == pytest.approx(learned[name][lang], abs=1e-4)
    assert max(values(outcomes)) - min(values(outcomes)) > 0.02, "the small model tells answers apart"


def test_bartscore_as_its_authors_compute_it(scored: Any, learned: Any) -> None:
    outcomes = scored("bartscore", "en")
    expected = learned["bartscore"]["en"]
    assert values(outcomes, "precision") == pytest.approx(expected["precision"], abs=1e-4)
    assert values(outcomes, "recall") == pytest.approx(expected["recall"], abs=1e-4)
    means = [(one + other) / 2 for one, other in zip(expected["precision"], expected["recall"], strict=True)]
    assert values(outcomes) == pytest.approx(means, abs=1e-4)


def test_unieval_as_its_authors_compute_it(scored: Any, learned: Any) -> None:
    outcomes = scored("unieval", "en")
    expected = dict(learned["unieval"]["en"])
    assert values(outcomes) == pytest.approx(expected.pop("overall"), abs=1e-4)
    assert list(expected) == ["coherence", "consistency", "fluency", "relevance"]
    for dimension, numbers in expected.items():
        assert values(outcomes, dimension) == pytest.approx(numbers, abs=1e-4), dimension


def test_entailment_as_the_pipeline_of_transformers(scored: Any, learned: Any) -> None:
    outcomes = scored("entailment", "en")
    precision, recall = learned["entailment"]["en"]["precision"], learned["entailment"]["en"]["recall"]
    for part, place in (("neutral", 1), ("contradiction", 2)):
        means = [(one[place] + other[place]) / 2 for one, other in zip(precision, recall, strict=True)]
        assert values(outcomes, part) == pytest.approx(means, abs=1e-4)
    assert values(outcomes, "precision") == pytest.approx([row[0] for row in precision], abs=1e-4)
    assert values(outcomes, "recall") == pytest.approx([row[0] for row in recall], abs=1e-4)
    means = [(one[0] + other[0]) / 2 for one, other in zip(precision, recall, strict=True)]
    assert values(outcomes) == pytest.approx(means, abs=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_cut_is_said(name: str, scored: Any) -> None:
    outcomes = scored(name, "en")
    # The last has a reference of 9,000 characters, of which the small models take 510 to 1,024 tokens.
    assert outcomes[-1].parts["truncated"] == 1.0
    assert outcomes[SHORTEST].parts["truncated"] == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_a_score_does_not_depend_on_what_else_is_in_the_batch(name: str, prepared: Any, to_cases: Any) -> None:
    metric, cases = prepared(name), to_cases("en")[:6]
    together = values(metric.score_batch(cases))
    assert [metric.score_batch([case])[0].value for case in cases] == pytest.approx(together, abs=1e-5)
    assert values(metric.score_batch(cases[::-1])) == pytest.approx(together[::-1], abs=1e-5)


@pytest.mark.parametrize("response", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_odd_texts_have_a_score(name: str, response: str, prepared: Any) -> None:
    metric = prepared(name)
    outcome = metric.score_batch([Case("1", "What helps?", "Drink fluids. Rest.", response, "en")])[0]
    assert isinstance(outcome, Score)
    low, high = metric.range
    assert low is None or outcome.value >= low
    assert high is None or outcome.value <= high
    if not response.strip() and low == 0.0:
        assert outcome == Score(0.0), "an empty answer says nothing"
    back = metric.score_batch([Case("1", response, response, "Drink fluids. Rest.", "en")])[0]
    assert isinstance(back, Score)


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_of_20000_words(name: str, prepared: Any) -> None:
    long = " ".join(f"Sentence number {number} of it. It has more words." for number in range(2200))
    assert len(long.split()) > 19_000
    short = "Rest a lot, and drink fluids. " * 4
    response, reference = prepared(name).score_batch(
        [Case("1", "?", short, long, "en"), Case("2", "?", long, short, "en")]
    )
    if name in ("alignscore", "unieval"):
        # Each of 4,400 sentences beside 24 words.
        assert isinstance(response, Failure)
        assert (response.stage, response.kind) == ("metric", "too-long")
    else:
        assert response.parts["truncated"] == 1.0
    assert reference.parts["truncated"] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_languages(name: str, prepared: Any) -> None:
    metric = prepared(name)
    english, chinese = metric.score_batch(
        [Case("1", "?", "Rest.", "Rest.", "en"), Case("2", "？", "休息", "休息", "zh")]
    )
    assert isinstance(english, Score)
    if "zh" in metric.languages:
        assert isinstance(chinese, Score)
    else:
        assert chinese == Failure("metric", "language", f"{name} is for texts in en; this sample is 'zh'")


@pytest.mark.parametrize("name", NAMES)
def test_identity(name: str, prepared: Any) -> None:
    metric = prepared(name)
    assert metric.missing_requirements == ""
    assert metric.name == name
    assert metric.requires == {"reference", "weights"}
    assert "#" in metric.signature
    assert metric.signature.endswith("|precision:float32|v:1")
    assert "/" not in metric.signature, "no path of this computer"
    assert [found.name for found in make_imap_variants([metric])] == [f"{name}+imap", f"{name}+imap:pairs"]


@pytest.mark.parametrize("name", ["comet", "bleurt", "alignscore"])
def test_a_network_is_loaded_once_for_all_that_use_it(name: str, small: Any, prepared: Any) -> None:
    assert small(name).prepare(MetricResources(device="cpu")).network is prepared(name).network


@pytest.mark.parametrize("module", [bartscore, entailment, unieval, alignscore, comet, bleurt])
def test_without_weights_it_says_what_is_lacking(module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    (metric,) = module.build()
    assert metric.model in metric.missing_requirements
    assert f"--set {metric.name}.model=FOLDER" in metric.missing_requirements
    assert metric.model.split("/")[-1] in metric.signature
    with pytest.raises(TypeError):
        metric.score_batch([Case("1", "?", "Rest.", "Rest.", "en")])
    with pytest.raises(ResourceError, match=metric.model.split("/")[-1]):
        metric.prepare(MetricResources(device="cpu"))


def test_numbers_that_overflow_are_no_score() -> None:
    outcome = make_outcome(float("nan"), {}, truncated=False)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "not-finite"


def test_edge_cases(prepared: Callable[[str], Any], check_edge_cases: Callable[[Iterable[Metric]], None]) -> None:
    check_edge_cases(map(prepared, NAMES))
