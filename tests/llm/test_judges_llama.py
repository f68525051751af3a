"""Judges on a real llama.cpp server with a real model, from the sample to the outcome.

SmolLM2 knows nothing of medicine: only the shape is asked of it, and that probabilities are real.
"""

import json
from pathlib import Path

import pytest

from imapeval.evaluation.evaluate import evaluate
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.structured import faults
from imapeval.metrics.base import MetricResources
from imapeval.metrics.judges import build, client
from imapeval.metrics.judges.custom import load_geval
from imapeval.types import Failure, Sample, Score
from tests.llm.batches import OPTIONS, answer_batches, call

pytestmark = [pytest.mark.llm, pytest.mark.slow]

SAMPLES = [
    Sample("en", "How is a boil treated?", ("Warm cloths.",), "Put a warm wet cloth on it three times a day."),
    Sample("zh", "疖子怎么治？", ("热敷。",), "用热毛巾敷，每天三次。", lang="zh"),
]
METRICS = {metric.name: metric for metric in build()}


@pytest.fixture(autouse=True)
def _few_tokens(monkeypatch):
    """Where a judge asks for no form, a small model finds no end, and none with more tokens either."""
    monkeypatch.setattr(client, "_MAX_TOKENS", 30)
    monkeypatch.setattr(faults, "MORE_TOKENS", 1)


async def judge(smollm2, tmp_path, name, samples):
    model = CachedModel(smollm2, tmp_path / "cache.sqlite")
    return await evaluate(samples, metrics=[METRICS[name].prepare(MetricResources(llm=model))])


async def test_geval_is_weighted_by_real_probabilities(smollm2, tmp_path):
    results = await judge(smollm2, tmp_path, "geval:accuracy", SAMPLES)
    calls = smollm2.calls
    # Out of the cache, probabilities and all.
    assert await judge(smollm2, tmp_path, "geval:accuracy", SAMPLES) == results
    assert smollm2.calls == calls > 0
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


def test_a_judge_through_batches_is_weighted_by_real_probabilities(llama_url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    row = {
        "id": "en",
        "question": "How is a boil treated?",
        "reference": "Warm cloths.",
        "response": "Put warmth on it.",
    }
    Path("data.jsonl").write_text(json.dumps(row))
    judged = ("--metrics", "geval:accuracy")
    assert answer_batches(llama_url, *judged)
    done = call("score", "data.jsonl", *OPTIONS, *judged, "--batch", "batches", "--out", "run", "--max-failures", "0")
    assert done.returncode == 0, done.stderr
    (result,) = map(json.loads, Path("run/results.jsonl").read_text(encoding="utf-8").splitlines())
    assert result["parts"]["weighted"] == 1.0
    assert 0 < result["parts"]["mass"] <= 1
    assert 1 < result["score"] < 5
    # Without saying that there were batches the same comes out of the cache.
    assert call("score", "data.jsonl", *OPTIONS, *judged, "--out", "again").returncode == 0
    assert Path("again/results.jsonl").read_bytes() == Path("run/results.jsonl").read_bytes()


def test_repeated_ratings_vary_and_are_paid_for_once(llama_url, tmp_path, monkeypatch):
    """`imapeval study repeat`, twice."""
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    rows = [
        {"id": str(number), "question": "How is a boil treated?", "reference": "Warm cloths.", "response": response}
        for number, response in enumerate(("Put a warm wet cloth on it.", "Antibiotics for a month."))
    ]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ("study", "repeat", data, "--llm", "openai:smollm2", "--base-url", llama_url, "--votes", "4")
    command += ("--metrics", "geval:accuracy", "--threshold", "geval:accuracy=3", "--json")
    first, again = (call(*command) for _ in range(2))
    assert first.returncode == 0, first.stderr
    (found,) = json.loads(first.stdout)["metrics"]
    assert found["answers"] + found["incomplete"] == 2
    assert found["judgements"] == 4
    if found["answers"]:
        # At temperature 1 it does not rate everything alike eight times.
        assert found["variance"]["judging"] > 0
        assert [flips["votes"] for flips in found["flips"]] == [1, 2, 4]
        assert all(0 <= flips["predicted"] <= 1 for flips in found["flips"])
        assert found["cost"]["judging"] > 0
    repeated = json.loads(again.stdout)
    assert repeated["metrics"] == [found]
    assert repeated["usage"]["calls"] == repeated["usage"]["cached"] or found["incomplete"]


@pytest.mark.parametrize("name", ["prometheus", "factscore", "questeval:llm", "qafacteval:llm"])
async def test_a_judge_scores_or_says_why_not(smollm2, tmp_path, name):
    low, high = METRICS[name].range
    # In Chinese it has a token for every third of a character, and takes minutes.
    (result,) = await judge(smollm2, tmp_path, name, SAMPLES[:1])
    assert smollm2.calls
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


@pytest.mark.parametrize("text", [FORM, STEPS], ids=["text", "criteria and steps"])
async def test_a_prompt_of_ones_own_is_weighted_by_real_probabilities(smollm2, tmp_path, text):
    (tmp_path / "kind.md").write_text(text, encoding="utf-8")
    model = CachedModel(smollm2, tmp_path / "cache.sqlite")
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
