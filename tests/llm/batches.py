"""Batches answered by a real llama.cpp server, line by line, as `vllm run-batch` would."""

import json
import subprocess
import urllib.request
from pathlib import Path

from typer.testing import CliRunner

from imapeval.cli.main import app
from tests.llm.conftest import shorten

OPTIONS = ("--llm", "openai:smollm2", "--base-url", "http://127.0.0.1:9/v1")
"""Nobody listens there: whatever is scored came out of the batches."""


def call(*args: object) -> subprocess.CompletedProcess[str]:
    result = CliRunner().invoke(app, [*map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return subprocess.CompletedProcess([*args], result.exit_code, result.stdout, result.stderr)


def answer_batches(llama_url: str, *options: str) -> int:
    """Export what scoring data.jsonl asks, have the server answer and import, until nothing is pending.

    Returns:
        The number of answered requests.
    """
    answered = 0
    for stage in range(1, 9):
        done = call("batch", "export", "data.jsonl", *OPTIONS, *options, "--out", "batches", "--json")
        assert done.returncode == 0, done.stderr
        exported = json.loads(done.stdout)
        if not exported["samples"]["pending"]:
            return answered
        results = Path(f"results-{stage}.jsonl")
        with results.open("w", encoding="utf-8") as file:
            for path in (Path(written["path"]) for written in exported["files"]):
                for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                    file.write(json.dumps(_answer(llama_url, line)) + "\n")
                    answered += 1
        assert call("batch", "import", "batches", results).returncode == 0
    raise AssertionError("the batches do not come to an end")


def _answer(llama_url: str, line: dict) -> dict:
    form = line["body"]["response_format"]["json_schema"]
    form["schema"] = shorten(form["schema"])
    content = json.dumps(line["body"]).encode()
    asked = urllib.request.Request(f"{llama_url}/chat/completions", content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=300) as reply:
        response = {"status_code": 200, "request_id": "", "body": json.load(reply)}
    return {"id": line["custom_id"], "custom_id": line["custom_id"], "response": response}
