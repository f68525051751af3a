import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from imapeval.cli.main import app
from imapeval.types import Sample

Command = Callable[..., subprocess.CompletedProcess[str]]
"""Runs a command of imapeval; see the fixture `imapeval`."""

Process = Callable[..., "subprocess.Popen[str]"]
"""Starts one; see `imapeval_process`."""

WriteData = Callable[..., Path]
"""Writes samples to a file; see `write_data`."""


@pytest.fixture
def imapeval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command in an empty folder, within this process: most of a process's time is its start."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str | Path) -> subprocess.CompletedProcess[str]:
        result = CliRunner().invoke(app, [*map(str, args)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return subprocess.CompletedProcess([*map(str, args)], result.exit_code, result.stdout, result.stderr)

    return call


@pytest.fixture
def imapeval_process(tmp_path: Path) -> Process:
    """Start a command in an empty folder as a process of its own, to be killed or interrupted."""

    def start(*args: str | Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "imapeval", *map(str, args)]
        return subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )

    return start


@pytest.fixture
def write_data(tmp_path: Path) -> WriteData:
    """Write samples to a JSONL file."""

    def write(samples: Sequence[Sample], name: str = "data.jsonl") -> Path:
        rows = [
            {
                "id": sample.id,
                "question": sample.question,
                "references": list(sample.references),
                "response": sample.response if sample.answered else None,
                "system": sample.system,
            }
            for sample in samples
        ]
        path = tmp_path / name
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def read_results(run: str | Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the lines of a run's results, by sample and metric."""
    lines = (Path(run) / "results.jsonl").read_text(encoding="utf-8").splitlines()
    return {(row["id"], row["metric"]): row for row in map(json.loads, lines)}


def make_reply(said: str | Any, prompt_tokens: int = 100, completion_tokens: int = 10) -> tuple[int, dict[str, Any]]:
    """Return the reply of an OpenAI-compatible server, with its status: a text, or JSON."""
    content = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return 200, {"choices": [choice], "usage": usage}


def export_batch(imapeval: Command, data: str | Path, *options: str | Path, out: str = "batches") -> dict[str, Any]:
    """Call `imapeval batch export`, and return what it prints."""
    done = imapeval("batch", "export", data, "--out", out, "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answer_batch(
    exported: dict[str, Any], results: Path, answer: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Answer exported requests as a batch server does, in any order, each line on its own; return the lines."""
    files = [Path(file["path"]) for file in exported["files"]]
    lines = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    random.Random(1).shuffle(lines)
    with results.open("w", encoding="utf-8") as file:
        for number, line in enumerate(lines):
            assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
            status, body = answer(line)
            response = {"status_code": status, "request_id": f"r{number}", "body": body}
            record = {"id": f"{results.stem}-{number}", "custom_id": line["custom_id"], "response": response}
            file.write(json.dumps(record | {"error": None}) + "\n")
    return lines


def run_batches(
    imapeval: Command,
    data: str | Path,
    *options: str | Path,
    answer: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]],
) -> list[list[dict[str, Any]]]:
    """Export, answer and import until nothing is pending; return the lines of each round."""
    rounds: list[list[dict[str, Any]]] = []
    while (found := export_batch(imapeval, data, *options))["samples"]["pending"]:
        assert len(rounds) < 20, "the batches do not come to an end"
        results = Path(f"results-{len(rounds)}.jsonl")
        rounds.append(answer_batch(found, results, answer))
        done = imapeval("batch", "import", "batches", results)
        assert done.returncode == 0, done.stderr
    return rounds


class Stub(ThreadingHTTPServer):
    """A server on loopback that answers posted JSON by a function, and counts the calls.

    Attributes:
        taken: The requests whose answer was taken.
    """

    daemon_threads = True
    # With five waiting connections, as is usual, a busy machine refuses some, which are then asked again.
    request_queue_size = 256

    def __init__(self, answer: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.calls = 0
        self.taken: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # as of a killed client
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Stub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.calls += 1
        status, reply = self.server.answer(body)
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.server.taken.append(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def serve(run_server: Callable[..., Any]) -> Callable[..., Stub]:
    """Start a server that answers by a function: posted JSON in, status and JSON out."""
    return lambda answer: run_server(Stub(answer))


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide few samples among the workers of this process."""
    monkeypatch.setattr("imapeval.evaluation.workers.BATCH", 8)


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_cache: Callable[[Path], str]) -> None:
    """Keep completions in a folder of the test's, and no key of the user's."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IMAPEVAL_CACHE", make_cache(tmp_path / "cache"))
