"""Batches answered by a real llama.cpp server with a real model, line by line, as `vllm run-batch` would."""

import json
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from imapeval.cli.main import app

MOST_TOKENS = 30
"""The model is far too weak to end its lists; what it writes is not looked at."""

ROW = {"id": "a", "question": "阿司匹林治什么？", "reference": "阿司匹林退烧。", "response": "它用于止痛。"}


def call(*args: object) -> subprocess.CompletedProcess[str]:
    result = CliRunner().invoke(app, [*map(str, args)])
    return subprocess.CompletedProcess([*args], result.exit_code, result.stdout, result.stderr)


def post(url: str, body: object) -> object:
    content = json.dumps(body).encode()
    asked = urllib.request.Request(url, content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=300) as reply:
        return json.load(reply)


OPTIONS = ("--llm", "openai:smollm2", "--base-url", "http://127.0.0.1:9/v1")
"""Nobody listens there: whatever is scored came out of the batches."""


@pytest.fixture
def answer_batches(llama_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Export, have the server answer and import, until nothing is pending."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))

    def answer(*options: str) -> None:
        complete(llama_url, *options)

    return answer


def complete(llama_url: str, *options: str) -> None:
    for stage in range(1, 9):
        done = call("batch", "export", "data.jsonl", *OPTIONS, *options, "--out", "batches", "--json")
        assert done.returncode == 0, done.stderr
        exported = json.loads(done.stdout)
        if not exported["samples"]["pending"]:
            return
        results = Path(f"results-{stage}.jsonl")
        with results.open("w", encoding="utf-8") as file:
            for path in (Path(written["path"]) for written in exported["files"]):
                for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                    body = line["body"] | {"max_tokens": MOST_TOKENS}
                    response = {
                        "status_code": 200,
                        "request_id": "",
                        "body": post(f"{llama_url}/chat/completions", body),
                    }
                    file.write(
                        json.dumps({"id": line["custom_id"], "custom_id": line["custom_id"], "response": response})
                    )
                    file.write("\n")
        assert call("batch", "import", "batches", results).returncode == 0
    raise AssertionError("the batches do not come to an end")


@pytest.mark.llm
@pytest.mark.slow
def test_a_run_through_batches(answer_batches: Callable[..., None]):
    Path("data.jsonl").write_text(json.dumps(ROW))
    answer_batches()
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


@pytest.mark.llm
@pytest.mark.slow
def test_a_judge_through_batches_is_weighted_by_real_probabilities(answer_batches: Callable[..., None]):
    row = {
        "id": "en",
        "question": "How is a boil treated?",
        "reference": "Warm cloths.",
        "response": "Put warmth on it.",
    }
    Path("data.jsonl").write_text(json.dumps(row))
    judged = ("--metrics", "geval:accuracy")
    answer_batches(*judged)
    done = call("score", "data.jsonl", *OPTIONS, *judged, "--batch", "batches", "--out", "run", "--max-failures", "0")
    assert done.returncode == 0, done.stderr
    (result,) = map(json.loads, Path("run/results.jsonl").read_text(encoding="utf-8").splitlines())
    assert result["parts"]["weighted"] == 1.0
    assert 0 < result["parts"]["mass"] <= 1
    assert 1 < result["score"] < 5
    # Without saying that there were batches the same comes out of the cache.
    assert call("score", "data.jsonl", *OPTIONS, *judged, "--out", "again").returncode == 0
    assert Path("again/results.jsonl").read_bytes() == Path("run/results.jsonl").read_bytes()
