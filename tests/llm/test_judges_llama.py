"""Judges on a real llama.cpp server with a real model, from the sample to the outcome.

SmolLM2 knows nothing of medicine: only the shape is asked of it, and that probabilities are real.
"""

import pytest

from imapeval.evaluation.evaluate import evaluate
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.providers.openai import OpenAIModel
from imapeval.metrics.base import MetricResources
from imapeval.metrics.judges import build, client, factscore, questions
from imapeval.metrics.judges.custom import load_geval
from imapeval.types import Failure, Sample, Score

pytestmark = pytest.mark.llm

SAMPLES = [
    Sample("en", "How is a boil treated?", ("Warm cloths.",), "Put a warm wet cloth on it three times a day."),
    Sample("zh", "疖子怎么治？", ("热敷。",), "用热毛巾敷，每天三次。", lang="zh"),
]
METRICS = {metric.name: metric for metric in build()}

MOST_TOKENS = 24
"""A small model finds no end of a longer answer."""


async def judge(llama_url, tmp_path, monkeypatch, name, samples):
    monkeypatch.setattr(client, "_MAX_TOKENS", MOST_TOKENS)
    for module in (factscore, questions):
        monkeypatch.setattr(module, "MAX_LIST_TOKENS", MOST_TOKENS)
    model = CachedModel(OpenAIModel("smollm2", base_url=llama_url), tmp_path / "cache.sqlite")
    return await evaluate(samples, metrics=[METRICS[name].prepare(MetricResources(llm=model))])


@pytest.mark.slow
async def test_geval_is_weighted_by_real_probabilities(llama_url, tmp_path, monkeypatch):
    results = await judge(llama_url, tmp_path, monkeypatch, "geval:accuracy", SAMPLES)
    # Out of the cache, probabilities and all.
    assert await judge(llama_url, tmp_path, monkeypatch, "geval:accuracy", SAMPLES) == results
    for result in results:
        assert isinstance(result.outcome, Score)
        assert result.outcome.parts["weighted"] == 1.0
        assert 0.05 < result.outcome.parts["mass"] <= 1.0
        # No model is so sure of it that the mean of five scores is a whole number.
        assert 1 < result.outcome.value < 5
        assert result.outcome.value % 1 > 1e-6
        assert result.signature.startswith(
            "geval:accuracy|samples:5|weights:auto|model:openai:smollm2@http://127.0.0.1"
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["geval-noref", "prometheus", "factscore", "questeval:llm", "qafacteval:llm"])
async def test_a_judge_scores_or_says_why_not(llama_url, tmp_path, monkeypatch, name):
    low, high = METRICS[name].range
    # In Chinese it has a token for every third of a character, and takes minutes.
    (result,) = await judge(llama_url, tmp_path, monkeypatch, name, SAMPLES[:1])
    if isinstance(result.outcome, Failure):
        assert result.outcome.stage in ("metric", "llm")
        assert result.outcome.kind != "internal"
    else:
        assert low <= result.outcome.value <= high


FORM = """\
Rate how friendly the answer is.

Friendliness (1-5) - how kind its words are.

Question: {{Document}}

Answer: {{Summary}}

Evaluation Form (scores ONLY, one number from 1 to 5):

- Friendliness:"""
STEPS = "---\nname: friendly\ncriteria: how kind the words are\nsteps:\n- Read.\n- Rate.\ngiven: response\n---\n"


@pytest.mark.slow
@pytest.mark.parametrize("text", [FORM, STEPS], ids=["text", "criteria and steps"])
async def test_a_prompt_of_ones_own_is_weighted_by_real_probabilities(llama_url, tmp_path, monkeypatch, text):
    monkeypatch.setattr(client, "_MAX_TOKENS", MOST_TOKENS)
    (tmp_path / "kind.md").write_text(text, encoding="utf-8")
    model = CachedModel(OpenAIModel("smollm2", base_url=llama_url), tmp_path / "cache.sqlite")
    metric = load_geval(tmp_path / "kind.md").prepare(MetricResources(llm=model))
    (result,) = await evaluate(SAMPLES[:1], metrics=[metric])
    if text == FORM and isinstance(result.outcome, Failure):
        # Without a schema a small model says what it likes.
        assert result.outcome.kind in ("no-score", "off-scale", "different-scores", "truncated", "repetition-loop")
        return
    assert isinstance(result.outcome, Score)
    assert result.outcome.parts["weighted"] == 1.0
    assert 1 < result.outcome.value < 5
    assert result.outcome.value % 1 > 1e-6
