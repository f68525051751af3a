"""Batches answered by a real llama.cpp server with a real model, line by line, as `vllm run-batch` would."""

import json
import subprocess
import urllib.request
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


@pytest.mark.llm
@pytest.mark.slow
def test_a_run_through_batches(llama_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IMAPEVAL_CACHE", str(tmp_path / "cache"))
    Path("data.jsonl").write_text(json.dumps(ROW))
    # Nobody listens there: whatever is scored came out of the batches.
    options = ("--llm", "openai:smollm2", "--base-url", "http://127.0.0.1:9/v1")
    for stage in range(1, 9):
        done = call("batch", "export", "data.jsonl", *options, "--out", "batches", "--json")
        assert done.returncode == 0, done.stderr
        exported = json.loads(done.stdout)
        if not exported["samples"]["pending"]:
            break
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
    assert exported["samples"]["pending"] == 0
    done = call(
        *("score", "data.jsonl", *options, "--batch", "batches", "--out", "run"),
        *("--metrics", "imapscore:paper,rouge1", "--max-failures", "1"),
    )
    assert done.returncode == 0, done.stderr
    written = {path.name for path in Path("run").iterdir()}
    assert written >= {"manifest.json", "results.jsonl", "imaps.jsonl", "results.csv", "report.html"}
    rows = [json.loads(line) for line in Path("run/results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted((row["id"], row["metric"]) for row in rows) == [("a", "imapscore:paper"), ("a", "rouge1")]
    kinds = [row["failure"]["kind"] for row in rows if row["failure"]]
    assert not {"pending", "unreachable", "internal"} & set(kinds)
