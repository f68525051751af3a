"""Imaps by a real llama.cpp server with a real small model: reading, relations, batches.

SmolLM2 knows nothing of medicine: only the shape is asked of it. All that sends the long prompts of reading and
relating is in one file, so that with `--dist loadfile` it shares a server, which computes each of them once. Prompts of
reading and relating in Chinese, of which the model knows little, are sent only to scripted models.
"""

import contextlib
import json
from pathlib import Path

import pytest

from imapeval.errors import SampleError
from imapeval.evaluation.pipeline import open_graph, open_matcher
from imapeval.extraction.llm_reader import LLMReader
from imapeval.llm.middleware.cache import CachedModel
from imapeval.llm.middleware.retry import RetryingModel
from imapeval.matching.protocol import relate_values
from imapeval.types import Failure
from tests.llm.batches import OPTIONS, answer_batches, call

pytestmark = [pytest.mark.llm, pytest.mark.slow]

QUESTION = "How is a mild ankle sprain treated?"


async def test_a_question_and_an_answer_are_read_and_paid_for_once(smollm2, tmp_path):
    model = RetryingModel(smollm2)
    path = tmp_path / "completions.sqlite"
    reader = LLMReader(CachedModel(model, path), max_tokens=100)
    asked = await reader.read_question(QUESTION, lang="en")
    assert asked.query
    assert all(pair.value == "?" for pair in asked.query)
    calls = smollm2.calls
    again = LLMReader(CachedModel(model, path), max_tokens=100)
    assert await again.read_question(QUESTION, lang="en") == asked
    assert smollm2.calls == calls > 0
    answer = "Rest the ankle, cool it and keep it raised."
    # What so weak a model writes may not stand in the text.
    with contextlib.suppress(SampleError):
        found = await reader.read_answer(answer, question=QUESTION, imap=asked, lang="en")
        assert all(answer[slice(*pair.span)] == pair.value for pair in found.inform if pair.span)
    assert smollm2.calls > calls


async def test_a_pair_is_related_or_its_failure_named(smollm2, tmp_path):
    matcher = open_matcher(open_graph(), llm=CachedModel(smollm2, tmp_path / "cache.sqlite"))
    values = ("raise the head of the bed", "sleep with the upper body propped up")
    match = await relate_values(matcher, *values, lang="en")
    assert smollm2.calls
    if isinstance(match, Failure):
        assert match.stage in ("matching", "llm")
        assert match.raw
        return
    assert match.decided_by in ("llm", "encoder")
    assert match.evidence["prompt"] == "value-relation.en.v2"
    calls = smollm2.calls
    again = await relate_values(matcher, *values, lang="en")
    assert (again, again.evidence) == (match, match.evidence)
    assert smollm2.calls == calls


def test_a_run_through_batches(llama_url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    row = {"id": "a", "question": QUESTION, "reference": "Rest the ankle (脚踝).", "response": "Put ice on it."}
    Path("data.jsonl").write_text(json.dumps(row))
    # The question, then both answers.
    assert answer_batches(llama_url) >= 3
    done = call(
        *("score", "data.jsonl", *OPTIONS, "--batch", "batches", "--out", "run"),
        *("--metrics", "imapscore:paper,rouge1", "--max-failures", "1"),
    )
    assert done.returncode == 0, done.stderr
    written = {path.name for path in Path("run").iterdir()}
    assert written >= {"manifest.json", "results.jsonl", "imaps.jsonl", "results.csv", "report.html"}
    rows = [json.loads(line) for line in Path("run/results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted((row["id"], row["metric"]) for row in rows) == [("a", "imapscore:paper"), ("a", "rouge1")]
    kinds = [row["failure"]["kind"] for row in rows if row["failure"]]
    assert not {"pending", "unreachable", "internal"} & set(kinds)
