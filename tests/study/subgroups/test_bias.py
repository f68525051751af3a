"""Partial correlations against scipy; corrected ones against simulated answers whose bias is known."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from imapeval.study.arrays import Floats
from imapeval.study.data.findings import ALL
from imapeval.study.data.rated import Rated
from imapeval.study.subgroups.bias import OWN_FAMILY, Bias, choose_shown, measure_bias
from tests.study.answers import make_rated

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(BENCHMARKS)  # it imports a file beside it
    benchmark = runpy.run_path(str(BENCHMARKS / "bias.py"))
make_two, make_facets = benchmark["make_two"], benchmark["make_facets"]


def make(
    n: int = 400, *, better: float = 0.0, favour: float = 0.0, raters: int = 0, noise: float = 1.0, seed: int = 1
) -> Rated:
    """Make two systems' answers: B is better by `better`, and gets `favour` more from the metric for nothing."""
    generator = np.random.default_rng(seed)
    of_b = np.arange(n) % 2
    true = generator.normal(size=n) + better * of_b
    given = true[:, None] + noise * generator.normal(size=(n, max(1, raters)))
    return make_rated(
        true + favour * of_b + generator.normal(size=n) * 0.5,
        given.mean(axis=1, keepdims=True),
        questions=np.arange(n) // 2,
        systems=tuple("Qwen2-7B" if b else "Llama-3" for b in of_b),
        by_rater={"accuracy": given} if raters else {},
        covariates={"response characters": generator.integers(10, 500, size=n).astype(np.float64)},
    )


def find(rated: Rated, name: str, **options: object) -> Bias:
    (row,) = [row for row in measure_bias(rated, **options) if row.property == name]  # pyright: ignore[reportArgumentType]
    return row


def partial(score: Floats, given: Floats, rating: Floats) -> float:
    """Correlate what is left of the ranks after a regression on those of the ratings."""
    s, p, r = (stats.rankdata(side) for side in (score, given, rating))
    left = [side - np.polyval(np.polyfit(r, side, 1), r) for side in (s, p)]
    return float(stats.pearsonr(*left).statistic)


def test_the_partial_correlation_is_scipys():
    rated = make(better=0.5, favour=0.3)
    for name, given in (
        ("response characters", rated.covariates["response characters"]),
        ("system", np.array([system == rated.systems[0] for system in rated.systems], dtype=np.float64)),
    ):
        row = find(rated, name)
        assert row.value == pytest.approx(partial(rated.scores[:, 0], given, rated.ratings[:, 0]))
        assert row.reliability is None


def test_better_systems_seem_favoured_unless_the_noise_of_ratings_is_removed():
    averages = find(make(n=2000, better=1.0), "system")
    assert averages.shown
    corrected = find(make(n=2000, better=1.0, raters=3), "system")
    assert corrected.reliability == pytest.approx(0.79, abs=0.03)  # True variance 1.25, noise 1/3.
    assert not corrected.shown
    assert abs(corrected.value or 1) < abs(averages.value or 0) / 3


@pytest.mark.parametrize("favour", [-0.5, 0.5])
def test_a_favoured_system_is_found(favour: float):
    row = find(make(n=1000, better=1.0, favour=favour, raters=3), "system")
    assert row.shown
    # The row is about the first system, which is the other one.
    assert row.group == "Llama-3"
    assert ((row.value or 0) > 0) == (favour < 0)
    assert "Llama-3" in row.sentence


@pytest.mark.parametrize("favoured", [None, "zh", "diagnosis"])
def test_languages_and_tasks_at_equal_quality(favoured: str | None):
    # Chinese answers and diagnoses are better by a standard deviation, which raters see and which is no bias.
    favour = {favoured: 0.5} if favoured else {}
    rated, quality = make_facets(np.random.default_rng(5), 1500, 1.0, favour)
    rows = {row.group: row for row in measure_bias(rated) if row.property in ("language", "task")}
    assert set(rows) == {rated.facets["language"][0], "diagnosis", "treatment", "advice"}
    for group, row in rows.items():
        of_group = np.array([label == group for label in rated.facets[row.property]], dtype=np.float64)
        # What it is with the true quality in place of the ratings.
        true = partial(rated.scores[:, 0], of_group, quality)
        assert row.value == pytest.approx(true, abs=0.04)
        assert row.low <= true <= row.high
    # A favoured task stands out, and the other tasks by as much in the other direction.
    shown = {None: set(), "zh": {rated.facets["language"][0]}, "diagnosis": {"diagnosis", "treatment", "advice"}}
    assert {group for group, row in rows.items() if row.shown} == shown[favoured]
    if favoured == "diagnosis":
        assert (rows["diagnosis"].value or 0) > 0.25 > 0 > (rows["treatment"].value or 0)
        assert "task diagnosis higher" in rows["diagnosis"].sentence


@pytest.mark.parametrize(
    ("model", "family", "own"),
    [
        ("openai:Qwen/Qwen3-8B@http://127.0.0.1:8000/v1", "qwen", {"Qwen2-7B", "HMedQA/Qwen2", "R1-Distill-Qwen"}),
        ("openai:gpt-4.1", "gpt", {"ChatGPT", "HMedQA/GPT-4", "gpt35", "o3-mini"}),
        ("openai:o4-mini", "gpt", {"ChatGPT", "HMedQA/GPT-4", "gpt35", "o3-mini"}),
        ("openai:gemini-2.5-pro", "gemini", {"PaLM-2", "medgemma-27b", "bard"}),
        ("vllm:meta-llama/Llama-3.1-8B-Instruct", "llama", {"MedAlpaca", "Meta-Llama-3"}),
        ("openai:DeepSeek-R1-Distill-Qwen-7B", "qwen, deepseek", {"Qwen2-7B", "HMedQA/Qwen2", "R1-Distill-Qwen"}),
        ("local:phi-4-mini.gguf#0123abcd", "phi", {"Phi-3"}),
        ("vllm:/models/Qwen3-8B/", "qwen", {"Qwen2-7B", "HMedQA/Qwen2", "R1-Distill-Qwen"}),
        (
            "vllm:/models--Qwen--Qwen3-8B/snapshots/01ab",
            "qwen",
            {"Qwen2-7B", "HMedQA/Qwen2", "R1-Distill-Qwen"},
        ),
        ("openai:@cf/meta/llama-3-8b@http://localhost/v1", "llama", {"MedAlpaca", "Meta-Llama-3"}),
        ("openai:mistralai/Magistral-Small-2506", "mistral", {"Mixtral-8x7B"}),
    ],
)
def test_the_own_family_is_read_from_the_signature(model: str, family: str, own: set[str]):
    # The last are of none of these families, whatever their names contain.
    names = ("Qwen2-7B", "HMedQA/Qwen2", "R1-Distill-Qwen", "ChatGPT", "HMedQA/GPT-4", "gpt35", "o3-mini", "PaLM-2")
    names += ("medgemma-27b", "bard", "MedAlpaca", "Meta-Llama-3", "Phi-3", "Mixtral-8x7B")
    names += ("HuatuoGPT-o1", "BioGPT", "palmyra-med", "dolphin", "ollama", "llama-gpt-qwen-phi-bench/nurse")
    labels = np.array(names).repeat(50)
    score = np.random.default_rng(1).normal(size=len(labels))
    rated = replace(make(len(labels)), systems=tuple(labels.tolist()), scores=score[:, None])
    row = find(rated, OWN_FAMILY, signatures={"m": f"judge|scale:0:5:0.5|model:{model}|v:1"})
    assert row.group == family
    quality = stats.rankdata(rated.ratings[:, 0])
    of_own = np.isin(labels, list(own)).astype(np.float64)
    assert row.value == pytest.approx(partial(score, of_own, quality))


@pytest.mark.parametrize(
    "signature",
    [
        "m|v:1",
        "judge|model:openai:mixtral-8x7b|v:1",
        # Named after what serves it, not after the family.
        "judge|model:openai:mine@http://qwen-server:8080/v1|v:1",
    ],
)
def test_no_system_is_of_the_own_family(signature: str):
    assert OWN_FAMILY not in {row.property for row in measure_bias(make(), signatures={"m": signature})}


def test_dimensions_and_their_mean():
    rated = make()
    rated = replace(rated, dimensions=("a", "b"), ratings=np.hstack([rated.ratings, -rated.ratings]))
    rows = measure_bias(rated)
    assert list(dict.fromkeys(row.dimension for row in rows)) == [ALL, "a", "b"]
    assert "--dimensions" in str(rows[0].reason)  # The two dimensions are one.
    assert {row.dimension for row in choose_shown(rows)} == {"a", "b"}


def test_dimensions_that_can_be_held_equal_together_are_shown_so():
    rows = measure_bias(make_two(np.random.default_rng(1), 100, 0.5))
    assert {row.dimension for row in choose_shown(rows)} == {ALL}
    # Where single dimensions are not measured either, there is nothing else to show.
    unmeasured = [replace(row, value=None) for row in rows]
    assert {row.dimension for row in choose_shown(unmeasured)} == {ALL}


def test_a_metric_that_follows_one_dimension_is_not_biased_by_what_goes_with_it():
    rated = make_two(np.random.default_rng(1), 1000, 0.5)
    row = measure_bias(rated)[0]
    assert row.dimension == ALL
    assert not row.shown
    rated = replace(rated, scores=rated.scores + 0.7 * rated.covariates["length"][:, None])
    row = measure_bias(rated)[0]
    assert row.shown
    assert "every dimension" in row.sentence


def test_the_partial_correlation_given_several_dimensions_is_that_of_regressions():
    rated = replace(make_two(np.random.default_rng(2), 300, 0.5), by_rater={}, raters=())
    row = measure_bias(rated)[0]
    s, p, *r = (stats.rankdata(x) for x in (rated.scores[:, 0], rated.covariates["length"], *rated.ratings.T))
    design = np.column_stack([np.ones(300), *r])
    left = [side - design @ np.linalg.lstsq(design, side, rcond=None)[0] for side in (s, p)]
    assert row.value == pytest.approx(float(stats.pearsonr(*left).statistic))  # scipy


def test_a_property_that_is_known_of_no_answer_does_not_count():
    rated = make(better=0.5)
    more = replace(rated, covariates={**rated.covariates, "compression": np.full(400, np.nan)})
    assert measure_bias(more) == measure_bias(rated)


def test_what_cannot_be_measured_has_a_reason():
    few = find(make(n=12), "system")
    assert (few.value, few.low, few.high, few.shown) == (None, None, None, False)
    assert "6 questions" in str(few.reason)
    noisy = find(make(n=60, raters=2, noise=30.0), "system")
    assert "noisy" in str(noisy.reason)
    assert "not measured" in noisy.sentence
